package capacitor

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/panictest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/twa"
)

// wrappings are the policies that have a bound, with the length of their platoons.
var wrappings = map[string]struct {
	b    int64
	opts []Option
}{
	"strict":            {4, nil},
	"platoons of one":   {1, nil},
	"express":           {1, []Option{WithExpress(8)}},
	"express of two":    {2, []Option{WithExpress(8)}},
	"only if contended": {4, []Option{WhenContended()}},
	"on an array":       {4, []Option{WithWaitingArray(twa.NewArray(1))}},
}

// What all mutexes promise except their order. Those tests need a known successor, which platoons
// of one give.
func TestWrappedContract(t *testing.T) {
	for name, p := range wrappings {
		t.Run(name, func(t *testing.T) {
			mutextest.RunSmall(t, func() mutextest.Small { return Wrap(new(mutex.Word), 1, p.opts...) })
		})
	}
}

// Every way to lock and to give up at the same time, with platoons of several: never two inside,
// and no goroutine stays behind the gate.
func TestWrappedExcludesUnderEverything(t *testing.T) {
	for name, p := range wrappings {
		t.Run(name, func(t *testing.T) {
			locktest.AtEveryProcs(t, func(t *testing.T) {
				l := Wrap(new(mutex.Word), p.b, p.opts...)
				var inside atomic.Int32
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() {
						for i := range locktest.Scaled(2000) {
							switch i % 3 {
							case 0:
								l.Lock()
							case 1:
								if !l.TryLock() {
									continue
								}
							default:
								ctx, cancel := context.WithTimeout(bg, time.Duration(i%50)*time.Microsecond)
								err := l.LockContext(ctx)
								cancel()
								if err != nil {
									continue
								}
							}
							require.EqualValues(require.GoOn(t), 1, inside.Add(1), "two inside")
							inside.Add(-1)
							l.Unlock()
						}
					})
				}
				wg.Wait()
				require.Zero(t, l.Gate().Population())
				require.Zero(t, l.Waiting())
				do(l, func() {})
			})
		})
	}
}

// A lifo serves the newest waiter. It is as unfair as possible.
type lifo struct {
	mu    sync.Mutex
	taken bool
	line  []chan struct{}
}

func (l *lifo) Lock() {
	l.mu.Lock()
	if !l.taken {
		l.taken = true
		l.mu.Unlock()
		return
	}
	turn := make(chan struct{})
	l.line = append(l.line, turn)
	l.mu.Unlock()
	<-turn
}

func (l *lifo) TryLock() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken {
		return false
	}
	l.taken = true
	return true
}

func (l *lifo) Unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.line); n > 0 {
		close(l.line[n-1])
		l.line = l.line[:n-1]
		return
	}
	l.taken = false
}

// Behind a gate all goroutines get equally far, though the lock does all it can against it.
// Rounds are counted, not time.
func TestUnfairLocksBecomeFair(t *testing.T) {
	for name, p := range wrappings {
		t.Run(name, func(t *testing.T) {
			locktest.AtEveryProcs(t, func(t *testing.T) {
				const goroutines = 12
				l := Wrap(new(lifo), p.b, p.opts...)
				var counts [goroutines]int64 // this and what follows is guarded by l
				present, stop := 0, false
				var wg sync.WaitGroup
				for i := range counts {
					wg.Go(func() {
						for first := true; ; first = false {
							l.Lock()
							if first {
								present++
							}
							if present == goroutines { // all have come: now it counts
								counts[i]++
							}
							stop = stop || counts[i] == int64(locktest.Scaled(4000)) // the first ends it
							if i%3 == 0 || present < goroutines {
								runtime.Gosched()
							}
							ended := stop
							l.Unlock()
							if ended {
								return
							}
						}
					})
				}
				wg.Wait()
				for i := range counts {
					require.NotZero(t, counts[i], "goroutine %d: %v", i, counts)
				}
				require.Zero(t, l.Gate().Population())
			})
		})
	}
}

// The trial of a fractional bypass sends most past the gate, and the rest through it; what is
// counted at the gate is those.
func TestBypassIsByChance(t *testing.T) {
	l := Wrap(new(sync.Mutex), 1, WithBypass(0.9))
	const n = 10_000
	for range n {
		do(l, func() {})
	}
	through := l.Gate().Platoon()
	require.InDelta(t, n/10, through, n/20, "through the gate")
	for range n {
		require.True(t, l.TryLock())
		l.Unlock()
		require.NoError(t, l.LockContext(bg))
		l.Unlock()
	}
	require.InDelta(t, 3*n/10, l.Gate().Platoon(), 3*n/20)
}

func TestBypassExcludes(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		l := Wrap(new(mutex.Word), 2, WithBypass(0.5))
		var inside atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range locktest.Scaled(4000) {
					if i%4 == 0 && !l.TryLock() {
						continue
					} else if i%4 != 0 {
						l.Lock()
					}
					require.EqualValues(require.GoOn(t), 1, inside.Add(1))
					inside.Add(-1)
					l.Unlock()
				}
			})
		}
		wg.Wait()
		require.Zero(t, l.Gate().Population())
	})
}

func TestUncontendedLockSkipsTheGate(t *testing.T) {
	l := Wrap(new(mutex.Word), 2, WhenContended())
	for range 10 {
		do(l, func() {})
	}
	require.Zero(t, l.Gate().free()-2, "no goroutine has passed")
	require.Zero(t, l.Gate().Platoon())
}

// A goroutine that has bypassed the gate does not depart, even if it gives up.
func TestGivingUpPastTheGate(t *testing.T) {
	l := Wrap(new(mutex.Word), 1, WithBypass(1-1e-12))
	l.Lock()
	ctx, cancel := context.WithTimeout(bg, time.Millisecond)
	defer cancel()
	require.ErrorIs(t, l.LockContext(ctx), context.DeadlineExceeded)
	require.EqualValues(t, 1, l.Gate().free(), "a goroutine has passed")
	l.Unlock()
	require.True(t, l.TryLock())
	l.Unlock()
}

// bare has of a lock what every lock has, and tries has a TryLock besides.
type (
	bare  struct{ l sync.Locker }
	tries struct {
		bare
		try func() bool
	}
)

func (b bare) Lock()          { b.l.Lock() }
func (b bare) Unlock()        { b.l.Unlock() }
func (t tries) TryLock() bool { return t.try() }

// A waiter behind the gate, in a lock without contexts, gives up when its context ends, and leaves
// the gate to others.
func TestWaitBehindTheGateEndsWithItsContext(t *testing.T) {
	word := new(mutex.Word)
	for name, inner := range map[string]sync.Locker{
		"sync.Mutex": new(sync.Mutex), "lifo": new(lifo), "word": tries{bare{word}, word.TryLock},
	} {
		for policy, p := range wrappings {
			t.Run(name+"/"+policy, func(t *testing.T) {
				l := Wrap(inner, max(p.b, 2), p.opts...)
				for _, past := range []bool{false, true} {
					l.Lock()
					ctx, cancel := context.WithCancel(bg)
					ends := make(chan error, 1)
					go func() { ends <- l.LockContext(ctx) }()
					locktest.Eventually(t, "behind the gate", func() bool { return l.Waiting() == 1 })
					if past { // the next unlock serves it
						l.Unlock()
						require.NoError(t, locktest.Receive(t, ends))
						require.False(t, l.TryLock())
						cancel()
					} else {
						cancel()
						require.ErrorIs(t, locktest.Receive(t, ends), context.Canceled)
					}
					require.Zero(t, l.Waiting())
					l.Unlock()
					require.Zero(t, l.Gate().Population())
				}
				do(l, func() {})
			})
		}
	}
}

// Fractional bypass sends some past the gate who are no platoon's.
func TestWaitPastTheGateEndsWithItsContext(t *testing.T) {
	l := Wrap(new(sync.Mutex), 1, WithBypass(1-1e-12))
	l.Lock()
	ctx, cancel := context.WithTimeout(bg, time.Millisecond)
	defer cancel()
	require.ErrorIs(t, l.LockContext(ctx), context.DeadlineExceeded)
	require.EqualValues(t, 1, l.Gate().free(), "a goroutine has passed")
	l.Unlock()
	require.NoError(t, l.LockContext(bg))
	l.Unlock()
}

// Behind a gate of one no goroutine waits, whatever the lock can do; elsewhere a lock that can do
// nothing but lock is told at once.
func TestLockContextNeedsALockThatCanGiveUp(t *testing.T) {
	const text = "capacitor: LockContext needs a lock with a LockContext or a TryLock"
	inner := bare{new(sync.Mutex)}
	one := Wrap(inner, 1)
	require.NoError(t, one.LockContext(bg))
	ctx, cancel := context.WithTimeout(bg, time.Millisecond)
	defer cancel()
	require.ErrorIs(t, one.LockContext(ctx), context.DeadlineExceeded)
	one.Unlock()
	for _, l := range []*Wrapped[bare]{Wrap(inner, 2), Wrap(inner, 1, WithBypass(0.5))} {
		require.PanicsWithValue(t, text, func() { _ = l.LockContext(bg) }, "although it is free")
		do(l, func() {}) // which waits for ever, if need be
	}
}

func TestWaitingForALockThatDoesNotTell(t *testing.T) {
	require.Zero(t, Wrap(new(sync.Mutex), 1).Waiting())
}

func TestGateOfAWrappedLockHasItsOptions(t *testing.T) {
	require.Nil(t, Wrap(new(mutex.Word), 1).gate.array)
	require.True(t, Wrap(new(mutex.Word), 1, WithWaitingArray(nil)).gate.array != nil)
}

func TestBadWrappingsPanic(t *testing.T) {
	type locker struct{ sync.Locker }
	require.PanicsWithValue(t, "capacitor: the lock has no TryLock", func() { Wrap(locker{}, 1).TryLock() })
	require.Panics(t, func() { Wrap(locker{new(sync.Mutex)}, 1).TryLock() })
}

// A deferred unlock unlocks and departs however the function ends.
func TestDeferredUnlockDepartsHoweverTheFunctionEnds(t *testing.T) {
	l := Wrap(new(mutex.Word), 1)
	require.PanicsWithValue(t, "boom", func() { do(l, func() { panic("boom") }) })
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		do(l, runtime.Goexit)
	}()
	locktest.Receive(t, gone)
	ran := false
	do(l, func() {
		require.False(t, l.TryLock())
		ran = true
	})
	require.True(t, ran)
	require.True(t, l.TryLock())
	l.Unlock()
	require.Zero(t, l.Gate().Population())
}

func TestGate(t *testing.T) {
	for name, opts := range map[string][]Option{
		"queue": nil, "array": {WithWaitingArray(nil)}, "small array": {WithWaitingArray(twa.NewArray(1))},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewGate(2, opts...)
			require.EqualValues(t, 2, g.Size())
			require.ErrorIs(t, g.ArriveTimeout(0), context.DeadlineExceeded, "although it is open")
			require.NoError(t, g.Arrive(bg))
			require.True(t, g.TryArrive())
			require.False(t, g.TryArrive(), "closed")
			require.Equal(t, int64(2), g.Population())
			require.Contains(t, g.ArriveTimeout(time.Millisecond).Error(), "deadline")
			require.Contains(t, g.ArriveTimeout(0).Error(), "deadline")

			next := make(chan error, 3)
			for range 3 {
				before := g.Waiting()
				go func() { next <- g.Arrive(bg) }()
				locktest.AwaitWaiting(t, g, before+1)
			}
			g.Depart()
			locktest.RequireBlocked(t, next)
			require.EqualValues(t, 1, g.Population())
			g.Depart() // the last one: two of the three pass
			require.NoError(t, locktest.Receive(t, next))
			require.NoError(t, locktest.Receive(t, next))
			locktest.RequireBlocked(t, next)
			require.EqualValues(t, 1, g.Platoon())
			g.Depart()
			g.Depart()
			require.NoError(t, locktest.Receive(t, next))
			g.Depart()
			require.Zero(t, g.Population())
			const text = "capacitor: depart without arrive (arrived 1, departed 1, platoons of 2)"
			require.PanicsWithValue(t, text, g.Depart)
			require.True(t, g.TryArrive(), "as it was")
			g.Depart()
		})
	}
}

// What a waiting array cannot count is refused: a gate of more would let too many depart.
func TestPlatoonsAreNoLargerThanTheArrayAllows(t *testing.T) {
	const text = "capacitor: platoons of 2199023255552: " +
		"in a waiting array the number must be from 1 to 1099511627776"
	require.PanicsWithValue(t, text, func() { NewGate(1<<41, WithWaitingArray(nil)) })
	require.PanicsWithValue(t, text, func() { Wrap(new(mutex.Word), 1<<41, WithWaitingArray(nil)) })
	for name, g := range map[string]*Gate{
		"array": NewGate(twa.MaxPermits, WithWaitingArray(nil)),
		"queue": NewGate(1 << 41),
	} {
		t.Run(name, func(t *testing.T) {
			require.Zero(t, g.Population())
			require.Panics(t, g.Depart)
			require.NoError(t, g.Arrive(bg))
			require.EqualValues(t, 1, g.Population())
			g.Depart()
			require.Zero(t, g.Population())
			require.Panics(t, g.Depart)
		})
	}
}

// A cancel that comes before the gate opens wins, wherever it comes: inside each call to the
// context, too. The place is still there for the next.
func TestEarlierCancelWinsAtTheGate(t *testing.T) {
	for name, opts := range map[string][]Option{
		"queue": nil, "array": {WithWaitingArray(twa.NewArray(1))},
	} {
		t.Run(name, func(t *testing.T) {
			hold := func() locktest.Held {
				g := NewGate(1, opts...)
				require.True(t, g.TryArrive())
				return locktest.Held{
					Wait:    g.Arrive,
					Waiting: func() bool { return g.Waiting() > 0 },
					Free:    g.Depart,
					Release: g.Depart,
					After: func(t *testing.T) {
						require.Zero(t, g.Population())
						require.Zero(t, g.Waiting())
						require.True(t, g.TryArrive())
					},
				}
			}
			locktest.RequireEarlierCancelWins(t, hold)
			panictest.RequireNothingLost(t, hold)
		})
	}
}

func TestZeroGateIsOfOne(t *testing.T) {
	var g Gate
	require.EqualValues(t, 1, g.Size())
	for range 3 {
		require.True(t, g.TryArrive())
		require.False(t, g.TryArrive())
		//nolint:staticcheck // nil on purpose
		require.PanicsWithValue(t, "capacitor: nil context", func() { _ = g.Arrive(nil) })
		g.Depart()
	}
	require.EqualValues(t, 3, g.Platoon())
}

// Alone, a goroutine uses all places of the lane, and then goes through the gate: which opens the
// lane again.
func TestOneGoroutineUsesTheWholeLane(t *testing.T) {
	const q = 2
	w := Wrap(new(mutex.Word), 1, WithExpress(q))
	for i, lock := range []func(){
		w.Lock,
		func() { require.True(t, w.TryLock()) },
		func() { require.NoError(t, w.LockContext(bg)) },
	} {
		for range q {
			lock()
			require.False(t, w.passed)
			w.Unlock()
		}
		lock()
		require.True(t, w.passed)
		w.Unlock()
		require.EqualValues(t, i+1, w.Gate().Platoon())
	}
}

var bg = context.Background()

// do calls f with l locked, and unlocks l however f ends.
func do(l sync.Locker, f func()) {
	l.Lock()
	defer l.Unlock()
	f()
}

// A madLock panics, or ends the goroutine, when it is told to.
type madLock struct {
	sync.Mutex
	mad func()
}

func (m *madLock) Lock() { m.mad(); m.Mutex.Lock() }

func (m *madLock) TryLock() bool { m.mad(); return m.Mutex.TryLock() }

func (m *madLock) LockContext(context.Context) error { m.mad(); m.Mutex.Lock(); return nil }

// An inner lock that panics, or ends the goroutine, leaves nobody in the gate.
func TestAPanickingInnerLockLosesNothing(t *testing.T) {
	for end, mad := range map[string]func(){"panic": func() { panic("mad") }, "Goexit": runtime.Goexit} {
		for name, lock := range map[string]func(w *Wrapped[*madLock]){
			"Lock":        func(w *Wrapped[*madLock]) { w.Lock() },
			"TryLock":     func(w *Wrapped[*madLock]) { w.TryLock() },
			"LockContext": func(w *Wrapped[*madLock]) { _ = w.LockContext(t.Context()) },
		} {
			for policy, opts := range map[string][]Option{
				"strict": nil, "express": {WithExpress(1)}, "when contended": {WhenContended()},
			} {
				inner := &madLock{mad: mad}
				w := Wrap(inner, 1, opts...)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					defer func() { _ = recover() }()
					lock(w)
				}()
				locktest.Receive(t, ended)
				require.Zero(t, w.Gate().Population(), "%s in %s, %s", end, name, policy)
				inner.mad = func() {}
				require.True(t, w.TryLock())
				w.Unlock()
			}
		}
	}
}
