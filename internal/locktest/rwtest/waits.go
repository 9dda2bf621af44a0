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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
)

var waits = []test{
	{"ServesConditions", atEveryProcs(servesConditions)},
	{"ServesConditionsOfReaders", atEveryProcs(servesConditionsOfReaders)},
	{"ReadersBehindAWriterAreLetInTogether", atEveryProcs(readersBehindAWriterAreLetInTogether)},
	{"CancelledWriterLetsFollowersPass", once(cancelledWriterLetsFollowersPass)},
	{"CancelInsideTheCallWins", cancelInsideTheCallWins},
	{"CancelAgainstUnlock", cancelAgainstUnlock},
	{"TryRLockNeverFailsBesideReaders", atEveryProcs(tryRLockNeverFailsBesideReaders)},
	{"WritersAreNotStarved", atEveryProcs(notStarved(asWriter, asReader))},
	{"ReadersAreNotStarved", atEveryProcs(notStarved(asReader, asWriter))},
	{"MutualExclusionUnderEverything", atEveryProcs(mutualExclusionUnderEverything)},
}

func servesConditions(t *testing.T, l Lock) {
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

// Readers sleep until a writer has done something, and then read together.
func servesConditionsOfReaders(t *testing.T, l Lock) {
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

// Up to the next writer, and no further.
func readersBehindAWriterAreLetInTogether(t *testing.T, l Lock) {
	const n = 10
	var inside atomic.Int64
	gates := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	var wg sync.WaitGroup
	queueReaders := func(gate chan struct{}) {
		for i := range n {
			before := l.Waiting()
			wg.Go(func() {
				switch i % 3 {
				case 0:
					l.RLock()
				case 1:
					assert.NoError(t, l.RLockContext(bg))
				default:
					assert.True(t, l.RLockTimeout(time.Hour))
				}
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
	w := Queued(t, l, returned(l.Lock))
	queueReaders(gates[1])
	l.Unlock()
	locktest.Eventually(t, "all readers up to the next writer are in", allIn)
	locktest.AwaitWaiting(t, l, n+1) // the writer may be on its way from the one place to the other
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

// Behind a writer that gives up readers come in at once, beside who reads; and behind any that
// gives up a writer comes in when it can.
func cancelledWriterLetsFollowersPass(t *testing.T, l Lock) {
	for _, s := range holds {
		for _, first := range holds {
			s.lock(l)
			if s == asReader && first == asReader {
				l.RUnlock() // it would not wait
				continue
			}
			ctx, cancel := context.WithCancel(bg)
			head := Queued(t, l, func() error { return first.lockContext(ctx, l) })
			read := make(chan struct{})
			go func() { l.RLock(); l.RUnlock(); close(read) }() //nolint:staticcheck // nothing in between, on purpose
			cancel()
			require.ErrorIs(t, locktest.Receive(t, head), context.Canceled)
			if s == asWriter {
				locktest.AwaitWaiting(t, l, 1)
				locktest.RequireBlocked(t, read)
				s.unlock(l)
				locktest.Receive(t, read)
			} else {
				locktest.Receive(t, read)
				s.unlock(l)
			}
			requireState(t, l, asNobody)
		}
	}
}

// The context ends, and then the lock is unlocked, at any point of the call.
func cancelInsideTheCallWins(t *testing.T, create func() Lock) {
	for _, held := range holds {
		for _, wanted := range holds {
			if held == asReader && wanted == asReader {
				continue // which does not wait
			}
			locktest.RequireEarlierCancelWins(t, func() locktest.Held {
				l := create()
				held.lock(l)
				return locktest.Held{
					Wait:    func(ctx context.Context) error { return wanted.lockContext(ctx, l) },
					Waiting: func() bool { return l.Waiting() > 0 },
					Free:    func() { held.unlock(l) },
					After:   func(t *testing.T) { t.Helper(); requireState(t, l, asNobody) },
				}
			})
		}
	}
}

// A cancel, or the end of a time, that comes at any point of a wait, and at the same time as the
// unlock: either the lock is there, or it has gone on.
func cancelAgainstUnlock(t *testing.T, create func() Lock) {
	for _, s := range holds {
		for _, who := range holds {
			t.Run(fmt.Sprintf("%v against %v", who, s), func(t *testing.T) {
				atEveryProcs(func(t *testing.T, l Lock) {
					rng := rand.New(rand.NewPCG(1, 1))
					for i := range locktest.Scaled(3000) {
						s.lock(l)
						ctx, cancel := context.WithCancel(bg)
						ends := []func(){cancel, func() { s.unlock(l) }}
						first := rng.IntN(2)
						c, behind := make(chan bool, 1), make(chan struct{})
						go func() {
							if i%2 == 0 {
								c <- who.lockContext(ctx, l) == nil
							} else {
								c <- who.lockTimeout(l, time.Duration(i%30+1)*time.Microsecond)
							}
						}()
						go func() { l.Lock(); l.Unlock(); close(behind) }() //nolint:staticcheck // nothing in between, on purpose
						for range rng.IntN(4) {
							runtime.Gosched()
						}
						var wg sync.WaitGroup
						wg.Go(ends[first])
						wg.Go(ends[1-first])
						if locktest.Receive(t, c) {
							who.unlock(l)
						}
						wg.Wait()
						locktest.Receive(t, behind)
						requireState(t, l, asNobody)
					}
				})(t, create)
			})
		}
	}
}

// While only readers hold, and nobody waits, TryRLock succeeds, however many do it at once.
func tryRLockNeverFailsBesideReaders(t *testing.T, l Lock) {
	l.RLock()
	defer l.RUnlock()
	RequireTryRLock(t, l)
}

// RequireTryRLock has eight goroutines read-lock l all the time by trying, and fails if one of them
// does not get it.
func RequireTryRLock(t *testing.T, l Lock) {
	t.Helper()
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
	require.Zero(t, failures.Load(), "of %d", 8*rounds)
}

// The others come and go all the time; a lock that prefers them would hardly ever let the one in.
func notStarved(one, others state) func(t *testing.T, l Lock) {
	return func(t *testing.T, l Lock) {
		var stop atomic.Bool
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for !stop.Load() {
					others.lock(l)
					runtime.Gosched()
					others.unlock(l)
				}
			})
		}
		for range 100 {
			require.True(t, one.lockTimeout(l, locktest.Patience))
			one.unlock(l)
		}
		stop.Store(true)
		wg.Wait()
	}
}

// Everything at once, at random. What the lock protects is plain variables: who gets in wrongly is
// seen by the race detector, or by the two being different, or by the count at the end.
func mutualExclusionUnderEverything(t *testing.T, l Lock) {
	var a, b int
	var wrote [8]int
	var wg sync.WaitGroup
	for g := range wrote {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			pause := func() {
				if rng.IntN(8) == 0 {
					runtime.Gosched()
				}
			}
			for range locktest.Scaled(10000) {
				s := holds[rng.IntN(5)/3]
				if !enter(rng, l, s) {
					continue
				}
				if s == asWriter {
					a++
					pause()
					b++
					wrote[g]++
				}
				was := a
				pause()
				if a != b || a != was {
					t.Error("a writer beside somebody")
				}
				s.unlock(l)
			}
		})
	}
	wg.Wait()
	for _, n := range wrote {
		require.NotZero(t, n)
		a -= n
	}
	require.Zero(t, a, "two wrote at the same time")
}

// enter gets in by one of the ways, or not.
func enter(rng *rand.Rand, l Lock, s state) bool {
	soon := time.Duration(1+rng.IntN(30)) * time.Microsecond // often too short
	switch rng.IntN(5) {
	case 0:
		s.lock(l)
		return true
	case 1:
		return s.try(l)
	case 2:
		return s.lockTimeout(l, soon)
	case 3:
		ctx, cancel := context.WithTimeout(bg, soon)
		defer cancel()
		return s.lockContext(ctx, l) == nil
	default:
		ctx, cancel := context.WithCancel(bg)
		go cancel()
		return s.lockContext(ctx, l) == nil
	}
}
