package rwtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/panictest"
	"github.com/farad-go/farad/internal/locktest/require"
)

var waits = []test{
	{"ServesConditions", atEveryProcs(servesConditions)},
	{"ServesConditionsOfReaders", atEveryProcs(servesConditionsOfReaders)},
	{"AnArrivalLetsReadersRunFirst", once(anArrivalLetsReadersRunFirst)},
	{"ReadersBehindAWriterAreLetInTogether", atEveryProcs(readersBehindAWriterAreLetInTogether)},
	{"CancelledWriterLetsFollowersPass", once(cancelledWriterLetsFollowersPass)},
	{"CancelInsideTheCallWins", cancelInsideTheCallWins},
	{"CancelAgainstUnlock", cancelAgainstUnlock},
	{"TryRLockNeverFailsBesideReaders", atEveryProcs(tryRLockNeverFailsBesideReaders)},
	{"WritersAreNotStarved", atEveryProcs(notStarved(Write, Read))},
	{"ReadersAreNotStarved", atEveryProcs(notStarved(Read, Write))},
}

func servesConditions(t *testing.T, _ Kind, l Lock) {
	c := sync.NewCond(l)
	asleep, ready := 0, 0
	done := make(chan struct{})
	const n = 5
	for range n {
		go func() {
			l.Lock()
			asleep++
			for ready == 0 {
				c.Wait()
			}
			ready--
			l.Unlock()
			done <- struct{}{}
		}()
	}
	locktest.Eventually(t, "all sleep", func() bool { l.RLock(); defer l.RUnlock(); return asleep == n })
	for range n {
		l.Lock()
		ready++
		c.Signal()
		l.Unlock()
		locktest.Receive(t, done)
	}
}

// A writer that finds a reader which is ready and does not run lets it run, and does not queue. The
// scheduler may have a reason of its own to run another, so a few rounds may fail.
func anArrivalLetsReadersRunFirst(t *testing.T, _ Kind, l Lock) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const rounds = 100
	queued := 0
	for range rounds {
		var reads atomic.Bool
		var all sync.WaitGroup
		all.Go(func() {
			l.RLock()
			reads.Store(true)
			runtime.Gosched()
			if l.Waiting() > 0 {
				queued++
			}
			l.RUnlock()
		})
		for !reads.Load() {
			runtime.Gosched()
		}
		l.Lock()
		l.Unlock() //nolint:staticcheck // to have got it is all that matters
		all.Wait()
	}
	require.LessOrEqual(t, queued, rounds/5)
}

// Readers sleep until a writer has done something, and then read together.
func servesConditionsOfReaders(t *testing.T, _ Kind, l Lock) {
	c := sync.NewCond(l.RLocker())
	const n = 5
	value := 0
	var asleep, together atomic.Int64
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			c.L.Lock()
			asleep.Add(1)
			for value == 0 {
				c.Wait()
			}
			together.Add(1)
			for together.Load() != n {
				runtime.Gosched()
			}
			c.L.Unlock()
		})
	}
	locktest.Eventually(t, "all sleep", func() bool { return asleep.Load() == n })
	l.Lock() // so none is between its look at the value and its sleep
	value = 1
	l.Unlock()
	c.Broadcast()
	wg.Wait()
	require.EqualValues(t, n, together.Load())
}

// Readers of all ways go in up to the next writer, and no further.
func readersBehindAWriterAreLetInTogether(t *testing.T, k Kind, l Lock) {
	const n = 10
	var inside atomic.Int64
	gates := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	var wg sync.WaitGroup
	queueReaders := func(gate chan struct{}) {
		for i := range n {
			before := l.Waiting()
			wg.Go(func() {
				k.readLock(t, l, i)
				inside.Add(1)
				<-gate
				inside.Add(-1)
				l.RUnlock()
			})
			locktest.AwaitWaiting(t, l, before+1)
		}
	}
	allIn := func() bool { return inside.Load() == n }
	l.Lock()
	queueReaders(gates[0])
	w := Queued(t, l, l.Lock)
	queueReaders(gates[1])
	l.Unlock()
	locktest.Eventually(t, "all readers up to the next writer are in", allIn)
	if k.FIFO {
		require.Equal(t, n+1, l.Waiting())
	}
	locktest.AwaitWaiting(t, l, n+1) // without FIFO the writer may be between two places
	locktest.RequireBlocked(t, w)
	require.True(t, allIn(), "and none of those behind it")
	close(gates[0])
	locktest.Receive(t, w)
	require.Zero(t, inside.Load())
	l.Unlock()
	locktest.Eventually(t, "all readers behind it are in", allIn)
	close(gates[1])
	wg.Wait()
}

// readLock read-locks l by the way with that number.
func (k Kind) readLock(t *testing.T, l Lock, way int) {
	t.Helper()
	switch n := way % 4; {
	case n == 0:
		l.RLock()
	case n == 1:
		require.NoError(require.GoOn(t), l.RLockContext(bg))
	case n == 2 || k.Bind == nil:
		require.True(require.GoOn(t), l.RLockTimeout(time.Hour))
	default:
		f := k.future(l, Read)
		<-f.Done()
		require.NoError(require.GoOn(t), f.Take())
	}
}

// When a writer gives up, the readers behind it join those that read, at once. Behind any waiter
// that gives up, a writer comes in when it can.
func cancelledWriterLetsFollowersPass(t *testing.T, _ Kind, l Lock) {
	conflicts(l, func(held, wanted State) {
		held.Lock(l)
		ctx, cancel := context.WithCancel(bg)
		head := QueuedFor(t, l, func() error { return wanted.LockContext(ctx, l) })
		read := make(chan struct{})
		go func() { l.RLock(); l.RUnlock(); close(read) }() //nolint:staticcheck // nothing in between, on purpose
		cancel()
		require.ErrorIs(t, locktest.Receive(t, head), context.Canceled)
		if held == Write {
			locktest.AwaitWaiting(t, l, 1)
			locktest.RequireBlocked(t, read)
			held.Unlock(l)
			locktest.Receive(t, read)
		} else {
			locktest.Receive(t, read)
			held.Unlock(l)
		}
		RequireState(t, l, Unlocked)
	})
}

// The context ends, and then the lock is unlocked, at any point of the call.
func cancelInsideTheCallWins(t *testing.T, k Kind) {
	conflicts(k.New(), func(held, wanted State) {
		hold := func() locktest.Held {
			l := k.New()
			held.Lock(l)
			return locktest.Held{
				Wait:    func(ctx context.Context) error { return wanted.LockContext(ctx, l) },
				Waiting: func() bool { return l.Waiting() > 0 },
				Free:    func() { held.Unlock(l) },
				Release: func() { wanted.Unlock(l) },
				After:   func(t *testing.T) { t.Helper(); RequireState(t, l, Unlocked) },
			}
		}
		locktest.RequireEarlierCancelWins(t, hold)
		panictest.RequireNothingLost(t, hold)
	})
}

// A cancel, or the end of a time, that comes at any point of a wait, and at the same time as the
// unlock: either the lock is there, or it has gone on.
func cancelAgainstUnlock(t *testing.T, k Kind) {
	for _, s := range Holds(k.New()) {
		for _, wanted := range Holds(k.New()) {
			t.Run(fmt.Sprintf("%v against %v", wanted, s), func(t *testing.T) {
				atEveryProcs(func(t *testing.T, _ Kind, l Lock) {
					rng := rand.New(rand.NewPCG(1, 1))
					for i := range locktest.Scaled(3000) {
						s.Lock(l)
						ctx, cancel := context.WithCancel(bg)
						ends := []func(){cancel, func() { s.Unlock(l) }}
						first := rng.IntN(2)
						c, behind := make(chan bool, 1), make(chan struct{})
						go func() {
							if i%2 == 0 {
								c <- wanted.LockContext(ctx, l) == nil
							} else {
								c <- wanted.LockTimeout(l, time.Duration(i%30+1)*time.Microsecond)
							}
						}()
						go func() {
							defer close(behind)
							l.Lock()
							l.Unlock() //nolint:staticcheck // nothing in between, on purpose
						}()
						for range rng.IntN(4) {
							runtime.Gosched()
						}
						var wg sync.WaitGroup
						wg.Go(ends[first])
						wg.Go(ends[1-first])
						if locktest.Receive(t, c) {
							wanted.Unlock(l)
						}
						wg.Wait()
						locktest.Receive(t, behind)
						RequireState(t, l, Unlocked)
					}
				})(t, k)
			})
		}
	}
}

// While only readers hold, upgradable ones among them, and no goroutine waits, TryRLock succeeds,
// however many do it at once.
func tryRLockNeverFailsBesideReaders(t *testing.T, _ Kind, l Lock) {
	for _, s := range Holds(l) {
		if s.excludes(Read) {
			continue
		}
		s.Lock(l)
		rounds := locktest.Scaled(100000)
		var failures atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range rounds {
					if !l.TryRLock() {
						failures.Add(1)
						continue
					}
					if i%64 == 0 {
						runtime.Gosched()
					}
					l.RUnlock()
				}
			})
		}
		wg.Wait()
		require.Zero(t, failures.Load(), "of %d, while the lock is %v", 8*rounds, s)
		s.Unlock(l)
	}
}

// The others come and go all the time; a lock that prefers them would hardly ever let the one in.
func notStarved(one, others State) func(t *testing.T, k Kind, l Lock) {
	return func(t *testing.T, _ Kind, l Lock) {
		var stop atomic.Bool
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for !stop.Load() {
					others.Lock(l)
					runtime.Gosched()
					others.Unlock(l)
				}
			})
		}
		for range 100 {
			require.True(t, one.LockTimeout(l, locktest.Patience))
			one.Unlock(l)
		}
		stop.Store(true)
		wg.Wait()
	}
}
