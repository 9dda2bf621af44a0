package hook_test

import (
	"context"
	"slices"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/observe"
	"github.com/farad-go/farad/observe/hook"
	"github.com/farad-go/farad/waiter"
)

func read(t *testing.T, name string) observe.Lock {
	t.Helper()
	locks := observe.Read().Locks
	i := slices.IndexFunc(locks, func(l observe.Lock) bool { return l.Name == name })
	require.True(t, i >= 0, name)
	return locks[i]
}

func watched(t *testing.T, size int64) *pool {
	if observed.Inert {
		t.Skip("a build for the explorer has no records")
	}
	p := &pool{size: size, free: size}
	observe.Watch(p, t.Name(), observe.LevelHolders)
	t.Cleanup(func() { observe.Watch(p, "", observe.LevelOff) })
	return p
}

// Each hook has its count.
func TestHooksAreCounted(t *testing.T) {
	p := watched(t, 1)
	require.True(t, p.TryAcquire(1))
	require.False(t, p.TryAcquire(1))
	require.ErrorIs(t, p.Acquire(t.Context(), 2), waiter.ErrTooLarge)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error)
	go func() { got <- p.Acquire(ctx, 1) }()
	locktest.Eventually(t, "it waits", func() bool { return len(read(t, t.Name()).Waiters) == 1 })
	cancel()
	require.ErrorIs(t, <-got, context.Canceled)
	go func() { got <- p.Acquire(context.Background(), 1) }()
	locktest.Eventually(t, "it waits", func() bool { return len(read(t, t.Name()).Waiters) == 1 })
	p.Release(1)
	require.NoError(t, <-got)
	r, ok := pools.Of(p)
	require.True(t, ok)
	r.AtOnce(hook.Request{N: 1}, waiter.ErrClosed)

	l := read(t, t.Name())
	c := l.Counts
	require.Equal(t, []uint64{2, 1, 1, 1, 1}, []uint64{c.Acquired, c.Tried, c.TooLarge, c.Cancelled, c.Closed})
	require.Len(t, l.Holders, 1)
	p.Release(1)
	require.Empty(t, read(t, t.Name()).Holders)
}

// A future holds from the moment at which its owner has seen the grant, until its release.
func TestFuturesAreObserved(t *testing.T) {
	p := watched(t, 1)
	var f waiter.Future
	p.Bind(&f, 1)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	require.Len(t, read(t, t.Name()).Holders, 1)
	f.Release()
	require.Empty(t, read(t, t.Name()).Holders)
	require.True(t, p.TryAcquire(1))
	p.Bind(&f, 1)
	require.False(t, f.Poll(nil))
	require.True(t, read(t, t.Name()).Waiters[0].Future)
	f.Release()
	require.Empty(t, read(t, t.Name()).Waiters)
	p.Bind(&f, 2)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), waiter.ErrTooLarge)
	f.Release()
	p.Release(1)
	require.Equal(t, int64(1), p.free)
}

// What a handle took any goroutine releases.
func TestHandlesAreObserved(t *testing.T) {
	p := watched(t, 1)
	require.True(t, p.TryAcquire(1))
	r, _ := pools.Of(p)
	h := new(hook.Handle)
	h.Store(1)
	r.HandleTook(h, 1)
	released := make(chan bool)
	go func() { released <- r.HandleReleasing(h) }()
	require.True(t, <-released)
	require.Empty(t, read(t, t.Name()).Holders)
	require.False(t, r.HandleReleasing(h), "it has nothing any more")
}

// A lock that nobody watches joins by a slow path while all are observed, and only then.
func TestLocksJoin(t *testing.T) {
	if observed.Inert {
		t.Skip("a build for the explorer has no records")
	}
	p := &pool{size: 1, free: 1}
	_, ok := pools.Of(p)
	require.False(t, ok)
	_, ok = pools.Join(p)
	require.False(t, ok)
	observe.All(observe.LevelCounts)
	defer observe.All(observe.LevelOff)
	_, ok = pools.Of(p)
	require.False(t, ok)
	require.NoError(t, p.Acquire(t.Context(), 1))
	_, ok = pools.Of(p)
	require.True(t, ok)
	observe.Watch(p, "", observe.LevelOff)
}

// A wait that panics, as a context may, has an end.
func TestAWaitThatPanicsEnds(t *testing.T) {
	p := watched(t, 1)
	r, _ := pools.Of(p)
	require.PanicsWithValue(t, "of a context", func() {
		_ = r.Await(hook.Request{N: 1}, waiter.Limit{}, func(waiter.Limit) error { panic("of a context") })
	})
	l := read(t, t.Name())
	require.Empty(t, l.Waiters)
	require.Empty(t, l.Holders)
}

// A wrapper has a lock inside, which other processes share.
type wrapper struct{ inside *shared }

type shared struct{ on bool }

var _ = hook.Register(hook.Type[shared]{
	Name: "example.shared", Owned: true,
	Observe:    func(s *shared, on bool) { s.on = on },
	IsObserved: func(s *shared) bool { return s.on },
	Numbers:    func(*shared) hook.Numbers { return hook.Numbers{Size: 5, Free: 1, Waiting: 2, Elsewhere: 3} },
	Inside: func(x any) (*shared, bool) {
		w, ok := x.(wrapper)
		return w.inside, ok
	},
	NameOf: func(*shared) string { return "its own name" },
	Fleet:  func(*shared) *hook.Fleet { return &hook.Fleet{Losses: 7, Blocks: []hook.Block{{Permits: 3}}} },
})

func TestWhatATypeSaysIsShown(t *testing.T) {
	if observed.Inert {
		t.Skip("a build for the explorer has no records")
	}
	s := &shared{}
	observe.Watch(wrapper{s}, "", observe.LevelCounts)
	require.True(t, s.on)
	l := read(t, "its own name")
	require.Equal(t, "example.shared", l.Kind)
	require.True(t, l.Owned)
	require.Equal(t, []int64{5, 1, 1, 2}, []int64{l.Size, l.Free, l.Held, int64(l.Waiting)})
	require.Equal(t, &hook.Fleet{Losses: 7, Blocks: []hook.Block{{Permits: 3}}}, l.Fleet)
	observe.Watch(wrapper{s}, "", observe.LevelOff)
	require.False(t, s.on)
	watch := func(x any) func() { return func() { observe.Watch(x, "", observe.LevelCounts) } }
	require.PanicsWithValue(t, "observe: a nil *example.shared", watch(wrapper{}))
	require.Panics(t, watch(*s), "not a pointer")
}

// A hook allocates nothing in the steady state, and neither does a lock that nobody watches.
func TestHooksAllocateNothing(t *testing.T) {
	for name, p := range map[string]*pool{"observed": watched(t, 1), "not observed": {size: 1, free: 1}} {
		var f waiter.Future
		round := func() {
			_ = p.Acquire(context.Background(), 1)
			p.Release(1)
			p.TryAcquire(1)
			p.Release(1)
			p.Bind(&f, 1)
			f.Poll(nil)
			_ = f.Err()
			f.Release()
		}
		round()
		require.Zero(t, testing.AllocsPerRun(1000, round), name)
	}
}
