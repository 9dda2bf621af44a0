package mutextest

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/panictest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/waiter"
)

// What does not depend on order.
var small = []test{
	{"ZeroMutexIsUnlocked", zeroMutexIsUnlocked},
	{"UnlockOfUnlockedPanicsAndLeavesTheLockUsable", unlockOfUnlockedPanicsAndLeavesTheLockUsable},
	{"ConcurrentDoubleUnlockPanicsOnce", concurrentDoubleUnlockPanicsOnce},
	{"EachUnlockTooManyPanics", eachUnlockTooManyPanics},
	{"AnotherGoroutineMayUnlock", anotherGoroutineMayUnlock},
	{"NilContextPanics", nilContextPanics},
	{"DoneContextNeverLocks", doneContextNeverLocks},
	{"ErrorIsTheContexts", errorIsTheContexts},
	{"CancelBeforeUnlockWins", cancelBeforeUnlockWins},
	{"CancelInsideTheCallWins", cancelInsideTheCallWins},
	{"CancelAgainstUnlock", cancelAgainstUnlock},
	{"CancelledHeadLetsFollowersPass", cancelledHeadLetsFollowersPass},
	{"OneContextSharedByManyWaitersCancelsAll", oneContextSharedByManyWaitersCancelsAll},
	{"ForeignContextsCancelToo", foreignContextsCancelToo},
	{"ContextWithoutAnErrorNeverLocks", contextWithoutAnErrorNeverLocks},
	{"ServesConditions", servesConditions},
	{"MutualExclusionUnderEverything", mutualExclusionUnderEverything},
}

func zeroMutexIsUnlocked(t *testing.T, k kind) {
	RequireFree(t, k.mutex())
	for _, w := range k.ways() {
		m := k.mutex()
		require.NoError(t, w.lock(bg, m), w.name)
		require.False(t, m.TryLock(), w.name)
		require.Zero(t, m.Waiting(), w.name)
		m.Unlock()
		RequireFree(t, m)
	}
}

func unlockOfUnlockedPanicsAndLeavesTheLockUsable(t *testing.T, k kind) {
	m := k.mutex()
	refused := func() {
		t.Helper()
		for range 2 {
			locktest.RequireMisuse(t, m.Unlock)
		}
		RequireFree(t, m)
		locktest.RequireMisuse(t, m.Unlock)
		RequireFree(t, m)
	}
	refused()
	waitOnce(t, bg, m)
	refused()
	ctx, cancel := context.WithCancel(bg)
	m.Lock()
	first, second := queued(t, ctx, m, lockContext), queued(t, bg, m, lockContext)
	cancel()
	require.ErrorIs(t, locktest.Receive(t, first), context.Canceled)
	m.Unlock()
	require.NoError(t, locktest.Receive(t, second))
	m.Unlock()
	refused()
}

// Two unlocks at the same time, of one lock: one of them is wrong, and only one.
func concurrentDoubleUnlockPanicsOnce(t *testing.T, k kind) { unlockAtOnce(t, k, 2) }

func eachUnlockTooManyPanics(t *testing.T, k kind) { unlockAtOnce(t, k, 3) }

// unlockAtOnce unlocks n times at the same time what was locked once.
func unlockAtOnce(t *testing.T, k kind, n int) {
	t.Helper()
	locktest.AtEveryProcs(t, func(t *testing.T) {
		m := k.mutex()
		panics := make(chan bool, n)
		for range locktest.Scaled(10000) {
			m.Lock()
			for range n {
				go func() {
					defer func() { panics <- recover() != nil }()
					m.Unlock()
				}()
			}
			panicked := 0
			for range n {
				if locktest.Receive(t, panics) {
					panicked++
				}
			}
			require.Equal(t, n-1, panicked)
		}
		RequireFree(t, m)
	})
}

func anotherGoroutineMayUnlock(t *testing.T, k kind) {
	m := k.mutex()
	m.Lock()
	go m.Unlock()
	m.Lock()
	m.Unlock() //nolint:staticcheck // nothing in between, on purpose
	RequireFree(t, m)
}

func nilContextPanics(t *testing.T, k kind) {
	m := k.mutex()
	var none context.Context
	locks := func() { _ = m.LockContext(none) }
	semtest.RequirePanic(t, "nil context", locks)
	RequireFree(t, m)
	m.Lock()
	semtest.RequirePanic(t, "nil context", locks)
	m.Unlock()
	RequireFree(t, m)
}

func doneContextNeverLocks(t *testing.T, k kind) {
	m := k.mutex()
	ctx, cancel := context.WithCancel(bg)
	cancel()
	late, stop := context.WithDeadline(bg, time.Now().Add(-time.Second))
	defer stop()
	for range 100 { // a channel with select would lock about every second time
		require.True(t, m.LockContext(ctx) == context.Canceled)          //nolint:errorlint // that very error
		require.True(t, m.LockContext(late) == context.DeadlineExceeded) //nolint:errorlint // that very error
	}
	RequireFree(t, m)
	m.Lock()
	require.ErrorIs(t, m.LockContext(ctx), context.Canceled)
	m.Unlock()
	RequireFree(t, m)
}

func errorIsTheContexts(t *testing.T, k kind) {
	m := k.mutex()
	cause := errors.New("because")
	ctx, cancel := context.WithCancelCause(bg)
	m.Lock()
	c := queued(t, ctx, m, lockContext)
	cancel(cause)
	err := locktest.Receive(t, c)
	require.True(t, err == ctx.Err(), "no wrapping") //nolint:errorlint // that is the point
	require.ErrorIs(t, context.Cause(ctx), cause)
	m.Unlock()
	RequireFree(t, m)
}

// The cancel happens before the unlock, so it wins, although both may be visible when the waiter
// wakes.
func cancelBeforeUnlockWins(t *testing.T, k kind) {
	for _, watched := range []bool{false, true} {
		for range locktest.Scaled(300) {
			m := k.mutex()
			ctx, cancel := context.WithCancel(bg)
			if watched { // enough waits to have the context watched
				for range 20 {
					waitOnce(t, ctx, m)
				}
			}
			m.Lock()
			c := queued(t, ctx, m, lockContext)
			cancel()
			m.Unlock()
			require.ErrorIs(t, locktest.Receive(t, c), context.Canceled)
			RequireFree(t, m)
		}
	}
}

// The context ends, and then the mutex is unlocked, at any point of the call.
func cancelInsideTheCallWins(t *testing.T, k kind) {
	hold := func() locktest.Held {
		m := k.mutex()
		m.Lock()
		return locktest.Held{
			Wait:    m.LockContext,
			Waiting: func() bool { return m.Waiting() > 0 },
			Free:    m.Unlock,
			Release: m.Unlock,
			After:   func(t *testing.T) { t.Helper(); RequireFree(t, m) },
		}
	}
	locktest.RequireEarlierCancelWins(t, hold)
	panictest.RequireNothingLost(t, hold)
}

// A cancel that comes at any point of a wait, and at the same time as the unlock: either the lock
// is there, or the context's error, and then the lock has gone on.
func cancelAgainstUnlock(t *testing.T, k kind) {
	for _, w := range k.cancellable() {
		t.Run(w.name, func(t *testing.T) {
			locktest.AtEveryProcs(t, func(t *testing.T) {
				m := k.mutex()
				rng := rand.New(rand.NewPCG(1, 1))
				for range locktest.Scaled(4000) {
					m.Lock()
					ctx, cancel := context.WithCancel(bg)
					ends := []func(){cancel, m.Unlock}
					first := rng.IntN(2)
					c := make(chan error, 1)
					go func() { c <- w.lock(ctx, m) }()
					for range rng.IntN(4) {
						runtime.Gosched()
					}
					var wg sync.WaitGroup
					wg.Go(ends[first])
					wg.Go(ends[1-first])
					if err := locktest.Receive(t, c); err == nil {
						m.Unlock()
					} else {
						require.True(t, err == context.Canceled, "%v", err) //nolint:errorlint // that very error
					}
					wg.Wait()
					RequireFree(t, m)
				}
			})
		})
	}
}

func cancelledHeadLetsFollowersPass(t *testing.T, k kind) {
	m := k.mutex()
	for _, w := range k.cancellable() {
		m.Lock()
		ctx, cancel := context.WithCancel(bg)
		head, follower := queued(t, ctx, m, w), queued(t, bg, m, w)
		cancel()
		require.ErrorIs(t, locktest.Receive(t, head), context.Canceled)
		locktest.AwaitWaiting(t, m, 1)
		locktest.RequireBlocked(t, follower)
		m.Unlock()
		require.NoError(t, locktest.Receive(t, follower))
		m.Unlock()
		RequireFree(t, m)
	}
}

func oneContextSharedByManyWaitersCancelsAll(t *testing.T, k kind) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		m := k.mutex()
		ctx, cancel := context.WithCancel(bg)
		for range 20 { // to have it watched
			waitOnce(t, ctx, m)
		}
		m.Lock()
		const n = 100
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() { require.ErrorIs(require.GoOn(t), m.LockContext(ctx), context.Canceled) })
		}
		locktest.AwaitWaiting(t, m, n)
		behind := queued(t, bg, m, lockContext)
		cancel()
		wg.Wait()
		m.Unlock()
		require.NoError(t, locktest.Receive(t, behind))
		m.Unlock()
		RequireFree(t, m)
	})
}

func foreignContextsCancelToo(t *testing.T, k kind) {
	m := k.mutex()
	ctx := locktest.NewForeignContext()
	for range 20 {
		waitOnce(t, ctx, m)
	}
	m.Lock()
	c := queued(t, ctx, m, lockContext)
	why := errors.New("foreign")
	ctx.End(why)
	require.Equal(t, why, locktest.Receive(t, c))
	m.Unlock()
	RequireFree(t, m)
}

// A context whose done channel is closed although it has no error must not make a wait that was
// given up a success.
type errlessContext struct{ context.Context }

func (errlessContext) Err() error { return nil }

func contextWithoutAnErrorNeverLocks(t *testing.T, k kind) {
	m := k.mutex()
	m.Lock()
	ctx, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, m.LockContext(errlessContext{ctx}), context.Canceled)
	m.Unlock()
	RequireFree(t, m)
}

func servesConditions(t *testing.T, k kind) {
	const n = 5
	m := k.mutex()
	c := sync.NewCond(m)
	asleep, allowed := 0, 0 // guarded by m
	woken := make(chan struct{}, n)
	for range n {
		go func() {
			m.Lock()
			for asleep++; allowed == 0; {
				c.Wait()
			}
			allowed--
			m.Unlock()
			woken <- struct{}{}
		}()
	}
	locktest.Eventually(t, "all sleep", func() bool {
		m.Lock()
		defer m.Unlock()
		return asleep == n
	})
	wake := func(number int, how func()) {
		m.Lock()
		allowed = number
		m.Unlock()
		how()
		for range number {
			locktest.Receive(t, woken)
		}
	}
	wake(1, c.Signal)
	wake(1, c.Signal)
	wake(n-2, c.Broadcast)
	RequireFree(t, m)
}

// Everything happens at once, at random. No two hold the lock, and no lock is lost or made.
func mutualExclusionUnderEverything(t *testing.T, k kind) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		m := k.mutex()
		shared, cancel := context.WithCancel(bg)
		defer cancel()
		inside, entered := 0, 0 // guarded by m: the race detector sees two holders
		var mine [8]int
		var wg sync.WaitGroup
		for g := range mine {
			wg.Go(func() {
				u := user{k: k, m: m, rng: rand.New(rand.NewPCG(uint64(g), 1)), shared: shared}
				if k.bind != nil {
					u.f = new(waiter.Future)
				}
				for range locktest.Scaled(8000) {
					if !u.lock() {
						continue
					}
					inside++
					if u.rng.IntN(8) == 0 {
						runtime.Gosched() // others come while it is held
					}
					if inside != 1 {
						t.Errorf("%d are inside", inside)
					}
					inside--
					entered++
					mine[g]++
					m.Unlock()
				}
			})
		}
		wg.Wait()
		for _, n := range mine {
			require.NotZero(t, n)
			entered -= n
		}
		require.Zero(t, entered, "two wrote at the same time")
		RequireFree(t, m)
	})
}

// A user locks a mutex in every way.
type user struct {
	k      kind
	m      Small
	f      *waiter.Future
	rng    *rand.Rand
	shared context.Context
}

// lock tries to lock in some way, and reports whether it has.
func (u *user) lock() bool {
	ctx, cancel := context.WithTimeout(bg, time.Duration(u.rng.IntN(50))*time.Microsecond)
	defer cancel()
	ways := 5
	if _, timed := u.m.(Mutex); timed {
		ways = 7
	}
	if u.f != nil {
		ways = 10
	}
	switch u.rng.IntN(ways) {
	case 0:
		u.m.Lock()
		return true
	case 1:
		return u.m.TryLock()
	case 2:
		return u.m.LockContext(u.shared) == nil
	case 3:
		return u.m.LockContext(ctx) == nil
	case 4:
		go cancel()
		return u.m.LockContext(ctx) == nil
	case 5, 6:
		return u.m.(Mutex).LockTimeout(time.Duration(u.rng.IntN(20)) * time.Microsecond)
	case 7: // in a select that may give up
		u.k.bind(u.m, u.f)
		defer u.f.Release()
		select {
		case <-u.f.Done():
			return u.rng.IntN(4) > 0 && u.f.Take() == nil
		case <-ctx.Done():
			return false
		}
	case 8: // polled a few times, with another waker each time, and cancelled
		u.k.bind(u.m, u.f)
		defer u.f.Release()
		for range u.rng.IntN(4) {
			if u.f.Poll(locktest.NewChannelWaker()) {
				return u.rng.IntN(4) > 0 && u.f.Take() == nil
			}
		}
		return false
	default:
		return u.k.lockByPoll(ctx, u.m) == nil
	}
}
