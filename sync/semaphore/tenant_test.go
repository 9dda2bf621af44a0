package semaphore_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// The promises that all semaphores make: of one tenant, requests are served first-in-first-out.
func TestOrderedContract(t *testing.T) {
	for name, opts := range map[string][]semaphore.Option{
		"shares":     {semaphore.WithShares(nil)},
		"priorities": {semaphore.WithPriorities(2, 4)},
		"queue":      {semaphore.WithQueue(semaphore.Queue{RefuseLate: true, Shed: semaphore.ShedCoDel, Target: time.Hour})},
	} {
		t.Run(name, func(t *testing.T) { semtest.Run(t, kind(opts...)) })
	}
}

// queuedAs queues a request of a tenant, and returns where its outcome will be told.
func queuedAs(t *testing.T, ctx context.Context, s *semaphore.Semaphore, tenant any, n int64) <-chan error {
	t.Helper()
	before := s.Waiting()
	told := make(chan error, 1)
	go func() { told <- s.As(tenant).Acquire(ctx, n) }()
	locktest.Eventually(t, "not queued", func() bool { return s.Waiting() > before })
	return told
}

// order releases the permits of s, one after the other, until nobody waits, and returns who has got
// them.
func order(t *testing.T, s *semaphore.Semaphore, waits map[string][]<-chan error) (got []string) {
	t.Helper()
	for s.Waiting() > 0 {
		s.Release(1)
		locktest.Eventually(t, "nobody was served", func() bool {
			for name, told := range waits {
				for i, c := range told {
					select {
					case err := <-c:
						require.NoError(t, err)
						waits[name] = slices.Delete(told, i, i+1)
						got = append(got, name)
						return true
					default:
					}
				}
			}
			return false
		})
	}
	s.Release(1)
	requireIdle(t, s)
	return got
}

// queueAll holds the permit of a semaphore, and has requests of these tenants wait.
func queueAll[T any](t *testing.T, s *semaphore.Semaphore, tenants []T, name func(T) string) map[string][]<-chan error {
	t.Helper()
	require.True(t, s.TryAcquire(1))
	waits := map[string][]<-chan error{}
	for _, tenant := range tenants {
		waits[name(tenant)] = append(waits[name(tenant)], queuedAs(t, bg, s, tenant, 1))
	}
	return waits
}

func same(s string) string { return s }

// The request that is next already stays so; then tenants take turns, twice as many for twice the
// weight.
func TestSharesTakeTurns(t *testing.T) {
	s := semaphore.New(1, semaphore.WithShares(nil))
	waits := queueAll(t, s, []string{"A", "A", "A", "A", "B", "B", "C"}, same)
	require.Equal(t, []string{"A", "A", "B", "C", "A", "B", "A"}, order(t, s, waits))

	s = semaphore.New(1, semaphore.WithShares(func(tenant any) int { return map[any]int{"A": 2, "B": -5, nil: 1}[tenant] }))
	waits = queueAll(t, s, []string{"B", "B", "B", "A", "A", "A", "A"}, same)
	require.Equal(t, []string{"B", "A", "B", "A", "A", "B", "A"}, order(t, s, waits), "B counts as 1")
}

func TestPrioritiesComeFirstAndAge(t *testing.T) {
	name := func(class int) string { return string(rune('0' + class)) }
	s := semaphore.New(1, semaphore.WithPriorities(3, 100))
	waits := queueAll(t, s, []int{1, 2, 2, 1, 0, 0, 1}, name)
	require.Equal(t, []string{"1", "0", "0", "1", "1", "2", "2"}, order(t, s, waits))

	s = semaphore.New(1, semaphore.WithPriorities(3, 1))
	waits = queueAll(t, s, []int{0, 2, 0, 0, 0, 0}, name)
	require.Equal(t, []string{"0", "0", "0", "2", "0", "0"}, order(t, s, waits),
		"two grants have made it as urgent as the others, which came later")
}

// Who names no tenant is one of its own: nil, or the most urgent class.
func TestRequestsWithoutATenant(t *testing.T) {
	s := semaphore.New(1, semaphore.WithPriorities(2, 100))
	require.True(t, s.TryAcquire(1))
	next, second := queuedAs(t, bg, s, 1, 1), queuedAs(t, bg, s, 1, 1)
	urgent := queued(t, bg, s, 1)
	for _, c := range []<-chan error{next, urgent, second} {
		s.Release(1)
		require.NoError(t, locktest.Receive(t, c))
	}
	s.Release(1)

	shared := semaphore.New(1, semaphore.WithShares(nil))
	require.True(t, shared.TryAcquire(1))
	var fs [4]waiter.Future
	for i, tenant := range []any{nil, nil, nil, 0} { // nil is a tenant, and no other one
		if shared.As(tenant).Bind(&fs[i], 1); i == 2 {
			fs[i].Release()
			shared.Bind(&fs[i], 1)
		}
		require.False(t, fs[i].Poll(nil))
	}
	for _, i := range []int{0, 1, 3, 2} {
		shared.Release(1)
		require.True(t, fs[i].Complete(), "request %d", i)
		require.NoError(t, fs[i].Err())
	}
	shared.Release(1)
	requireIdle(t, shared)

	plain := semaphore.New(1)
	require.NoError(t, plain.As("ignored").Acquire(bg, 1))
	require.ErrorIs(t, plain.As([]int{}).AcquireTimeout(time.Microsecond, 1), context.DeadlineExceeded)
	plain.Release(1)
	requireIdle(t, plain)
}

// All ways to ask for a tenant.
func TestEveryRequestHasATenant(t *testing.T) {
	s := semaphore.New(2, semaphore.WithShares(nil))
	require.True(t, s.As("A").TryAcquire(1))
	p, err := s.As("A").AcquirePermit(bg, 1)
	require.NoError(t, err)
	require.False(t, s.As("B").TryAcquire(1))
	require.ErrorIs(t, s.As("A").AcquireTimeout(time.Microsecond, 1), context.DeadlineExceeded)
	none, err := s.As("A").AcquirePermit(bg, 3)
	require.ErrorIs(t, err, semaphore.ErrTooLarge)
	require.Zero(t, none.N())
	next := queuedAs(t, bg, s, "A", 1)
	require.ErrorIs(t, s.As("A").Acquire(bg, 3), semaphore.ErrTooLarge, "beside one that waits")
	s.Release(1)
	require.NoError(t, locktest.Receive(t, next))
	var first, other, mine waiter.Future
	s.As("A").Bind(&first, 1)
	require.False(t, first.Poll(nil))
	s.As("A").Bind(&other, 2)
	require.False(t, other.Poll(nil))
	s.As("B").Bind(&mine, 1)
	require.False(t, mine.Poll(nil))
	s.Release(1)
	require.True(t, first.Complete())
	p.Release()
	require.True(t, mine.Complete(), "it is B's turn")
	require.False(t, other.Complete())
	first.Release()
	mine.Release()
	require.True(t, other.Complete())
	other.Release()
	s.As("C").Bind(&mine, 1)
	require.True(t, mine.Poll(nil))
	mine.Release()
	requireIdle(t, s)
}

// A tenant that cannot be one panics before anything is done, whether or not permits are free.
func TestTenantsThatCannotBe(t *testing.T) {
	type pair struct{ a, b any }
	const shares = "farad: a tenant is a comparable value that equals itself"
	const classes = "farad: the class of a request is an int from 0 to the number of classes - 1"
	for text, k := range map[string]struct {
		opt     semaphore.Option
		tenants []any
	}{
		shares: {
			semaphore.WithShares(nil),
			[]any{[]int{}, math.NaN(), pair{1, func() {}}, pair{math.NaN(), 1}, map[int]int{}},
		},
		classes: {semaphore.WithPriorities(3, 1), []any{3, -1, "1", int64(1), nil}},
	} {
		for _, size := range []int64{0, 1} {
			s := semaphore.New(size, k.opt)
			for _, tenant := range k.tenants {
				require.PanicsWithValue(t, text, func() { s.As(tenant) })
			}
			requireIdle(t, s)
		}
	}
	s := semaphore.New(1, semaphore.WithShares(nil))
	for _, tenant := range []any{nil, "", 1, 1.5, pair{1, "x"}, struct{}{}, s, time.Second, [2]int{}} {
		require.NoError(t, s.As(tenant).Acquire(bg, 1))
		s.Release(1)
	}
	var none context.Context
	require.PanicsWithValue(t, "semaphore: nil context", func() { _ = s.As(1).Acquire(none, 1) })
	require.PanicsWithValue(t, "semaphore: acquire of a negative number of permits", func() { _ = s.As(1).Acquire(bg, -1) })
	require.PanicsWithValue(t, "semaphore: acquire of a negative number of permits", func() { _ = s.As(1).AcquireTimeout(1, -1) })
	require.NoError(t, s.As(1).Acquire(bg, 0))
	require.NoError(t, s.As(1).AcquireTimeout(1, 0))
	ctx, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, s.As(1).Acquire(ctx, 1), context.Canceled)
	requireIdle(t, s)
}

func TestOrdersThatContradictThemselves(t *testing.T) {
	shares, classes := semaphore.WithShares(nil), semaphore.WithPriorities(1, 1)
	queue, most := semaphore.WithQueue(semaphore.Queue{MaxWaiting: 1}), semaphore.WithMaxWaiting(1)
	const bounds = ": both must be positive, and there are at most 256 classes"
	const other = "semaphore: WithShares, WithPriorities or WithQueue together with WithWaitingArray or WithCapacitor"
	for _, o := range []semaphore.Option{shares, classes, queue} {
		require.PanicsWithValue(t, other, func() { semaphore.New(1, o, semaphore.WithCapacitor(1, 1)) })
		require.PanicsWithValue(t, other, func() { semaphore.New(1, semaphore.WithWaitingArray(nil), o) })
	}
	require.PanicsWithValue(t, "semaphore: WithShares and WithPriorities", func() { semaphore.New(1, shares, classes) })
	require.PanicsWithValue(t, "semaphore: WithQueue and WithMaxWaiting", func() { semaphore.New(1, most, queue) })
	require.PanicsWithValue(t, "semaphore: WithPriorities(0, 1)"+bounds, func() { semaphore.WithPriorities(0, 1) })
	require.PanicsWithValue(t, "semaphore: WithPriorities(1, 0)"+bounds, func() { semaphore.WithPriorities(1, 0) })
	require.PanicsWithValue(t, "semaphore: WithPriorities(257, 1)"+bounds, func() { semaphore.WithPriorities(257, 1) })
	semaphore.New(1, semaphore.WithPriorities(256, math.MaxInt))
	const divided = "semaphore: MaxWaitingPerTenant without WithShares and WithPriorities"
	per := semaphore.Queue{MaxWaitingPerTenant: 1}
	require.PanicsWithValue(t, divided, func() { semaphore.New(1, semaphore.WithQueue(per)) })
	require.PanicsWithValue(t, divided, func() { semaphore.New(1, queue).SetQueue(per) })
	for _, q := range []semaphore.Queue{
		{MaxWaiting: -1}, {MaxWaitingPerTenant: -1}, {Target: -1}, {Interval: -1}, {Shed: 3},
	} {
		require.Panics(t, func() { semaphore.WithQueue(q) })
		require.Panics(t, func() { semaphore.New(1, shares).SetQueue(q) })
	}
	require.PanicsWithValue(t, "semaphore: SetQueue without WithQueue, WithShares or WithPriorities",
		func() { semaphore.New(1, most).SetQueue(semaphore.Queue{}) })
	semaphore.New(1, shares, semaphore.WithQueue(per)).SetQueue(semaphore.Queue{})
}

// The bounds count the request that is next; they are adjustable while requests wait.
func TestQueueBounds(t *testing.T) {
	q := semaphore.Queue{MaxWaiting: 3, MaxWaitingPerTenant: 2}
	s := semaphore.New(1, semaphore.WithShares(nil), semaphore.WithQueue(q))
	full := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, semaphore.ErrQueueFull)
		require.Equal(t, "farad: too many waiters", err.Error())
		var r *semaphore.Refusal
		require.True(t, errors.As(err, &r), "%v", err)
		require.Zero(t, r.RetryAfter, "nothing is known yet")
	}
	require.True(t, s.TryAcquire(1))
	var waits []<-chan error
	waits = append(waits, queuedAs(t, bg, s, "A", 1), queuedAs(t, bg, s, "A", 1))
	full(s.As("A").Acquire(bg, 1))
	waits = append(waits, queuedAs(t, bg, s, "B", 1))
	full(s.As("B").Acquire(bg, 1))
	full(s.As("C").AcquireTimeout(time.Hour, 1))
	var f waiter.Future
	s.As("C").Bind(&f, 1)
	require.True(t, f.Poll(nil))
	full(f.Err())
	full(f.Err())
	f.Release()
	s.SetQueue(semaphore.Queue{MaxWaiting: 4})
	waits = append(waits, queuedAs(t, bg, s, "A", 1))
	full(s.As("C").Acquire(bg, 1))
	s.SetQueue(semaphore.Queue{MaxWaiting: 1})
	require.Equal(t, 4, s.Waiting(), "those who wait stay")
	for range waits {
		s.Release(1)
	}
	for _, c := range waits {
		require.NoError(t, locktest.Receive(t, c))
	}
	s.Release(1)
	requireIdle(t, s)

	// WithMaxWaiting is MaxWaiting.
	s = semaphore.New(1, semaphore.WithShares(nil), semaphore.WithMaxWaiting(1))
	require.True(t, s.TryAcquire(1))
	w := queuedAs(t, bg, s, "A", 1)
	full(s.As("B").Acquire(bg, 1))
	s.Release(1)
	require.NoError(t, locktest.Receive(t, w))
	s.Release(1)
	requireIdle(t, s)
}

// A weight that panics leaves nothing behind: no place in line, and no future that cannot be used.
func TestAWeightThatPanics(t *testing.T) {
	testMadWeight(t, func(*semaphore.Semaphore) {})
}

func testMadWeight(t *testing.T, watch func(*semaphore.Semaphore)) {
	mad := true
	s := semaphore.New(1, semaphore.WithShares(func(any) int {
		if mad {
			panic("mad")
		}
		return 1
	}))
	watch(s)
	require.NoError(t, s.As("A").Acquire(bg, 1), "nobody asks for the weight")
	require.PanicsWithValue(t, "mad", func() { _ = s.As("B").Acquire(bg, 1) })
	require.PanicsWithValue(t, "mad", func() { _ = s.As("B").AcquireTimeout(time.Hour, 1) })
	require.PanicsWithValue(t, "mad", func() { _ = s.Acquire(bg, 1) })
	var f waiter.Future
	s.As("B").Bind(&f, 1)
	require.PanicsWithValue(t, "mad", func() { f.Poll(nil) })
	require.Zero(t, s.Waiting())
	f.Release()
	mad = false
	s.As("B").Bind(&f, 1)
	require.False(t, f.Poll(nil))
	s.Release(1)
	require.True(t, f.Complete())
	f.Release()
	requireIdle(t, s)

	require.True(t, s.TryAcquire(1))
	s.As("B").Bind(&f, 1)
	require.False(t, f.Poll(nil))
	s.Close()
	mad = true
	require.ErrorIs(t, f.Err(), semaphore.ErrClosed, "no need to know the weight")
	f.Release()
	s.Release(1)
}

// Requests that come, wait, give up, are served and refused, as several tenants, with a queue that
// changes: no permit is lost, and nobody is forgotten.
func TestOrderedStress(t *testing.T) {
	for name, opt := range map[string]semaphore.Option{
		"shares":     semaphore.WithShares(func(tenant any) int { return tenant.(int) + 1 }),
		"priorities": semaphore.WithPriorities(4, 8),
	} {
		t.Run(name, func(t *testing.T) {
			locktest.AtEveryProcs(t, func(t *testing.T) { orderedStress(t, semaphore.New(3, opt)) })
		})
	}
}

func orderedStress(t *testing.T, s *semaphore.Semaphore) {
	var wg sync.WaitGroup
	var held atomic.Int64
	rounds := locktest.Scaled(2000)
	hold := func(n int64) {
		if h := held.Add(n); h > 3 {
			t.Errorf("%d are held of 3", h)
		}
		held.Add(-n)
		s.Release(n)
	}
	for g := range 12 {
		tenant, n := g%4, int64(1+g%3)
		wg.Go(func() {
			var f waiter.Future
			for i := range rounds {
				switch i % 4 {
				case 0:
					ctx, cancel := context.WithTimeout(bg, time.Duration(i%50)*time.Microsecond)
					if s.As(tenant).Acquire(ctx, n) == nil {
						hold(n)
					}
					cancel()
				case 1:
					if s.As(tenant).AcquireTimeout(time.Duration(i%100)*time.Microsecond, n) == nil {
						hold(n)
					}
				case 2:
					s.As(tenant).Bind(&f, n)
					if i%3 == 0 {
						f.Poll(nil)
					} else {
						<-f.Done()
						if f.Err() == nil && held.Add(n) > 3 {
							t.Error("more are held than there are")
						} else if f.Err() == nil {
							held.Add(-n)
						}
					}
					f.Release()
				default:
					if err := s.As(tenant).Acquire(bg, n); err == nil {
						hold(n)
					} else if !errors.As(err, new(*semaphore.Refusal)) {
						t.Error(err)
					}
				}
			}
		})
	}
	stop := make(chan struct{})
	var other sync.WaitGroup
	other.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				s.SetQueue(semaphore.Queue{
					MaxWaiting: i % 3 * 4, RefuseLate: i%2 == 0, Shed: semaphore.Shed(i % 3),
					Target: time.Microsecond, Interval: 10 * time.Microsecond,
				})
				runtime.Gosched()
			}
		}
	})
	wg.Wait()
	close(stop)
	other.Wait()
	requireIdle(t, s)
}

// A tenant that has come and gone takes no memory.
func TestTenantsLeaveNoMemory(t *testing.T) {
	tenants := 1_000_000
	if !locktest.Stress() || locktest.RaceEnabled {
		tenants = 50_000
	}
	s := semaphore.New(1, semaphore.WithShares(nil))
	memory := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const width = 1000
	fs := make([]waiter.Future, width)
	before := memory()
	for i := range tenants {
		f := &fs[i%width]
		if i%width == 0 {
			require.True(t, s.TryAcquire(1))
		}
		s.As(i).Bind(f, 1)
		require.False(t, f.Poll(nil))
		if i%width == width-1 {
			s.Release(1)
			for j := range fs {
				fs[j].Release()
			}
			requireIdle(t, s)
		}
	}
	after := memory()
	require.Less(t, int64(after)-int64(before), int64(1<<20), "of a million tenants, a thousand at a time")
	runtime.KeepAlive(fs)
}
