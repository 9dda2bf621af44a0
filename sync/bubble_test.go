//go:build !interleave

package sync

import (
	"context"
	"iter"
	"os"
	"runtime"
	"runtime/pprof"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/internal/linked"
	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A way is one way to lock a lock, which waits if need be.
type way struct {
	lock, unlock func()
	waiting      func() int
}

var (
	globalMutex   Mutex
	globalRWMutex RWMutex
)

// eachWay calls f with each way to lock a lock, and with each that may end the wait early. The
// locks are those of the package, and others.
func eachWay(t *testing.T, f func(t *testing.T, mine, theirs way)) {
	t.Helper()
	for name, ways := range map[string]func() []way{
		"Mutex": func() []way {
			return waysOfMutex(new(Mutex))
		},
		"package-level Mutex": func() []way { return waysOfMutex(&globalMutex) },
		"RWMutex":             func() []way { return waysOfRWMutex(new(RWMutex)) },
		"package-level RWMutex": func() []way {
			return waysOfRWMutex(&globalRWMutex)
		},
	} {
		for i := range ways() {
			for j := range ways() {
				ws := ways()
				if i >= firstRead && j >= firstRead {
					continue // readers do not exclude one another
				}
				t.Run(name, func(t *testing.T) { f(t, ws[i], ws[j]) })
			}
		}
	}
}

// firstRead is the first of the ways that lock for reading.
const firstRead = 3

func waysOfMutex(m *Mutex) []way {
	return []way{
		{m.Lock, m.Unlock, m.Waiting},
		{func() { lockContext(m.LockContext) }, m.Unlock, m.Waiting},
		{func() { mustBe(m.LockTimeout(time.Hour)) }, m.Unlock, m.Waiting},
	}
}

func waysOfRWMutex(l *RWMutex) []way {
	return []way{
		{l.Lock, l.Unlock, l.Waiting},
		{func() { lockContext(l.LockContext) }, l.Unlock, l.Waiting},
		{func() { mustBe(l.LockTimeout(time.Hour)) }, l.Unlock, l.Waiting},
		{l.RLock, l.RUnlock, l.Waiting},
		{func() { lockContext(l.RLockContext) }, l.RUnlock, l.Waiting},
		{func() { mustBe(l.RLockTimeout(time.Hour)) }, l.RUnlock, l.Waiting},
	}
}

// lockContext locks with a context of the caller's bubble.
func lockContext(lock func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	mustBe(lock(ctx) == nil)
}

func mustBe(ok bool) {
	if !ok {
		panic("gave up")
	}
}

func awaitTrue(f func() bool) {
	for !f() {
		runtime.Gosched()
	}
}

// withBubbles is for tests of programs with bubbles: this one's.
func withBubbles(t *testing.T) {
	t.Helper()
	require.True(t, isTest() && linked.Bubbles())
	setCanBubble(true)
	t.Cleanup(func() { setCanBubble(false) })
}

// setCanBubble is not seen by the race detector: what is left of an earlier test, the last steps of
// an unlock or of a Done, may still ask.
//
//go:norace
func setCanBubble(can bool) {
	canBubble = can
	rwArrival, rwTooFar = arrivals(can)
}

func TestTestsAreKnownByTheirArguments(t *testing.T) {
	all := os.Args
	defer func() { os.Args = all }()
	for _, args := range [][]string{
		{"/tmp/go-build1/b001/x", "-test.timeout=10m0s"},
		{"./x.test"},
		{`C:\x.test.exe`},
		{"bazel-bin/x_test"},
		{"x_test.exe", "arg"},
	} {
		os.Args = args
		require.True(t, isTest(), args)
	}
	for _, args := range [][]string{{"./x"}, {"test"}, {"x.tests", "-test"}, {"x.exe", "a test.v"}, nil} {
		os.Args = args
		require.False(t, isTest(), args)
	}
}

// What all mutexes promise, in a program with bubbles.
func TestContractWithBubbles(t *testing.T) {
	withBubbles(t)
	mutextest.RunOf[Mutex](t, func() *Mutex { return new(Mutex) }, false)
	forEachRW(t, runRWContract)
}

func TestBubblesHaveNumbers(t *testing.T) {
	require.Zero(t, bubble())
	var first uint64
	synctest.Test(t, func(t *testing.T) {
		first = bubble()
		require.NotZero(t, first)
		go func() {
			runtime.LockOSThread() // A coroutine is bound to the thread then.
			defer runtime.UnlockOSThread()
			require.Equal(t, first, bubble())
		}()
		synctest.Wait()
		next, stop := iter.Pull(func(yield func(uint64) bool) { yield(bubble()) })
		defer stop()
		in, _ := next()
		require.Equal(t, first, in)
		t.Setenv("GODEBUG", "tracebacklabels=1") // The header of a stack trace has the labels then.
		pprof.Do(t.Context(), pprof.Labels("key]", "synctest bubble 77]"), func(context.Context) {
			require.Equal(t, first, bubble())
		})
	})
	synctest.Test(t, func(t *testing.T) { require.Greater(t, bubble(), first) })
}

// Within a bubble all waits are durable, and time goes on.
func TestWaitsInABubbleAreDurable(t *testing.T) {
	withBubbles(t)
	eachWay(t, func(t *testing.T, holder, waits way) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			holder.lock()
			var got atomic.Bool
			go func() {
				waits.lock()
				got.Store(true)
				waits.unlock()
			}()
			synctest.Wait()
			require.Equal(t, 1, holder.waiting())
			time.Sleep(time.Minute)
			require.False(t, got.Load())
			holder.unlock()
			synctest.Wait()
			require.True(t, got.Load())
			require.Equal(t, time.Minute, time.Since(start))
		})
		require.Empty(t, rows.of)
	})
}

// Goroutines of a bubble and others wait for one another, and nothing ends the process: neither a
// channel of the bubble that is used outside, nor a deadlock that is none.
func TestContentionAcrossABubblesBorder(t *testing.T) {
	withBubbles(t)
	eachWay(t, func(t *testing.T, outside, inside way) {
		outside.lock()
		go func() {
			awaitTrue(func() bool { return outside.waiting() > 0 })
			time.Sleep(time.Millisecond) // the goroutine of the bubble sleeps
			outside.unlock()
		}()
		synctest.Test(t, func(*testing.T) {
			inside.lock() // the only goroutine of the bubble: if the wait were durable, a deadlock
			inside.unlock()
		})

		var held, done atomic.Bool
		go func() {
			defer done.Store(true)
			awaitTrue(held.Load)
			outside.lock()
			outside.unlock()
		}()
		synctest.Test(t, func(t *testing.T) {
			inside.lock()
			held.Store(true)
			awaitTrue(func() bool { return inside.waiting() > 0 })
			time.Sleep(time.Minute)
			require.False(t, done.Load())
			inside.unlock()
		})
		awaitTrue(done.Load)
		require.Empty(t, rows.of)
	})
}

// A goroutine of the bubble that waits behind one from outside does not wait durably: the bubble's
// time stands still until it has the lock.
func TestWaitBehindAStrangerIsNotDurable(t *testing.T) {
	withBubbles(t)
	eachWay(t, func(t *testing.T, outside, inside way) {
		var held, last atomic.Bool
		go func() {
			awaitTrue(held.Load)
			outside.lock()
			awaitTrue(func() bool { return outside.waiting() > 0 })
			time.Sleep(10 * time.Millisecond)
			outside.unlock()
		}()
		synctest.Test(t, func(t *testing.T) {
			inside.lock()
			held.Store(true)
			awaitTrue(func() bool { return inside.waiting() > 0 })
			inside.unlock()
			go func() {
				inside.lock()
				last.Store(true)
				inside.unlock()
			}()
			synctest.Wait()
			require.True(t, last.Load(), "the bubble was thought to be at rest while the lock was held outside")
		})
		require.Empty(t, rows.of)
	})
}

// A grant that meets a cancel is given back, and goes to the next.
func TestGrantThatComesTooLateIsGivenBack(t *testing.T) {
	withBubbles(t)
	locktest.AtEveryProcs(t, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var m Mutex
			ctx, cancel := context.WithCancel(t.Context())
			m.Lock()
			var second atomic.Bool
			go func() {
				if m.LockContext(ctx) == nil {
					m.Unlock()
				}
			}()
			synctest.Wait()
			go func() {
				m.Lock()
				second.Store(true)
				m.Unlock()
			}()
			synctest.Wait()
			require.Equal(t, 2, m.Waiting())
			m.Unlock()
			cancel()
			synctest.Wait()
			require.True(t, second.Load())
		})
		require.Empty(t, rows.of)
	})
}

// Readers of a bubble and others share the lock, and neither passes a writer that waits.
func TestReadersShareAcrossABubblesBorder(t *testing.T) {
	withBubbles(t)
	var l RWMutex
	var held, shared, writes, left, done atomic.Bool
	go func() {
		awaitTrue(held.Load)
		l.RLock() // beside the bubble, which still holds it
		go func() {
			l.Lock()
			writes.Store(true)
			l.Unlock()
		}()
		awaitTrue(func() bool { return l.Waiting() == 1 })
		require.False(t, l.TryRLock(), "past a writer")
		shared.Store(true)
		awaitTrue(left.Load) // Before, the lock would become the bubble's own, whose reader goes first.
		require.False(t, writes.Load())
		l.RUnlock()
		done.Store(true)
	}()
	synctest.Test(t, func(t *testing.T) {
		l.RLock()
		held.Store(true)
		awaitTrue(shared.Load)
		require.False(t, l.TryRLock(), "past a writer")
		go func() {
			awaitTrue(func() bool { return l.Waiting() == 2 })
			l.RUnlock()
			left.Store(true)
		}()
		l.RLock() // behind the writer
		require.True(t, writes.Load())
		l.RUnlock()
	})
	awaitTrue(done.Load)
	require.Empty(t, rows.of)
}

// Of two goroutines that make a lock bubbled at the same time, the second changes nothing.
func TestRowIsMadeOnce(t *testing.T) {
	withBubbles(t)
	synctest.Test(t, func(t *testing.T) {
		var m Mutex
		var l RWMutex
		m.Lock()
		l.RLock()
		makeRow(&m)
		makeRow(&l)
		require.False(t, m.TryLock() || l.TryLock())
		m.Unlock()
		l.RUnlock()
		require.Empty(t, rows.of)
	})
}

// Others look at locks, try them and unlock them, while these become bubbled and plain again.
func TestOthersBesideABubble(t *testing.T) {
	withBubbles(t)
	locktest.AtEveryProcs(t, func(t *testing.T) {
		var m Mutex
		var l RWMutex
		var inM, inL, ended, gone atomic.Int32
		use := func(inside *atomic.Int32, unlock func()) {
			if inside.Add(1) != 1 {
				t.Error("two inside")
			}
			inside.Add(-1)
			unlock()
		}
		go func() {
			for ended.Load() == 0 {
				if m.Waiting() > 1 || l.Waiting() > 1 {
					t.Error("there is only one who may wait")
				}
				if m.TryLock() {
					use(&inM, m.Unlock)
				}
				if l.TryLock() {
					use(&inL, l.Unlock)
				}
				if l.TryRLock() {
					l.RUnlock()
				}
			}
			gone.Store(1)
		}()
		synctest.Test(t, func(*testing.T) {
			for range locktest.Scaled(2000) {
				m.Lock()
				use(&inM, m.Unlock)
				l.RLock()
				l.RUnlock()
				l.Lock()
				use(&inL, l.Unlock)
			}
		})
		ended.Store(1)
		awaitTrue(func() bool { return gone.Load() == 1 })
		require.Empty(t, rows.of)
	})
}

// A holder, whose admission a bubble has taken over, renews the lane. Then it unlocks, which makes
// the lock plain again, and only then the bubble's goroutine looks at the lane, as open does if
// somebody is in line. The word orders the two: otherwise the race detector reports them.
func TestLaneIsRenewedBesideABubble(t *testing.T) {
	withBubbles(t)
	var m Mutex
	var l RWMutex
	laneIsRenewedBesideABubble(t, &m, &m.lane, func() bool {
		return m.word.CompareAndSwap(parking.Unlocked, admitted|parking.Locked)
	})
	laneIsRenewedBesideABubble(t, &l, &l.lane, func() bool {
		return l.word.CompareAndSwap(0, rwAdmitted|rwWriter)
	})
}

func laneIsRenewedBesideABubble(t *testing.T, l bubbling, lane *lane, enter func() bool) {
	t.Helper()
	var step xsync.Uint32
	await := func(n uint32) { // The race detector does not see it.
		for xsync.Glance32(&step) != n {
			runtime.Gosched()
		}
	}
	late := &leavingLate{l, func() {
		step.Store(2)
		await(3)
	}}
	go func() {
		if !l.gateOf().tryPass() || !enter() {
			panic("the lock is not free")
		}
		step.Store(1)
		await(2)
		lane.renew(false, false)
		if ok, here := unjoin(late, rwWriter); !ok || !here {
			panic("the bubble does not have the lock")
		}
		step.Store(3)
	}()
	await(1)
	makeRow(late)
	require.Equal(t, uint32(3), step.Load()) // That orders what follows.
	require.False(t, l.isBubbled())
	require.True(t, l.gateOf().isOpen())
	require.Empty(t, rows.of)
}

// A leavingLate is a lock that calls before, and looks at the lane, when one leaves it.
type leavingLate struct {
	bubbling
	before func()
}

func (l *leavingLate) leave() {
	l.before()
	l.cedes()
	l.bubbling.leave()
}

// An unlock of what is held in the other way only panics, also in a bubble.
func TestMisuseInABubble(t *testing.T) {
	withBubbles(t)
	synctest.Test(t, func(t *testing.T) {
		var l RWMutex
		l.Lock()
		require.PanicsWithValue(t, rUnlockOfUnlockedRWMutex.words, l.RUnlock)
		l.Unlock()
		l.RLock()
		require.PanicsWithValue(t, unlockOfUnlockedRWMutex.words, l.Unlock)
		l.RUnlock()
		require.Empty(t, rows.of)
	})
}

// After a bubble a lock is as it was, and fast.
func TestBubbledLockIsPlainAgain(t *testing.T) {
	withBubbles(t)
	t.Run("plain", func(t *testing.T) { bubbledLockIsPlainAgain(t, false) })
	t.Run("observed", func(t *testing.T) { bubbledLockIsPlainAgain(t, true) })
}

func bubbledLockIsPlainAgain(t *testing.T, watch bool) {
	t.Helper()
	var m Mutex
	var l RWMutex
	m.setObserved(watch)
	l.setObserved(watch)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m.Lock()
		l.RLock()
		require.Len(t, rows.of, 2)
		require.False(t, m.TryLock())
		require.True(t, l.TryRLock())
		require.False(t, l.TryLock())
		require.ErrorIs(t, m.LockContext(ctx), context.DeadlineExceeded)
		require.False(t, l.LockTimeout(time.Second))
		require.Zero(t, m.Waiting()+l.Waiting())
		m.Unlock()
		l.RUnlock()
		l.RUnlock()
		require.Panics(t, m.Unlock)
		require.Panics(t, l.Unlock)
		require.Panics(t, l.RUnlock)
		require.Empty(t, rows.of)
		require.False(t, m.isBubbled() || l.isBubbled())
	})
	m.Lock() // A lane is full then: this one opens it again.
	m.Unlock()
	l.Lock()
	l.Unlock()
	require.Equal(t, watch, m.isObserved() && l.isObserved())
	require.Zero(t, m.word.Load()&^observing)
	require.True(t, m.takeLane(1) && l.takeLane(rwWriter))
}

// Goroutines of two bubbles and of none lock and unlock, and some give up.
func TestCrowdAcrossBorders(t *testing.T) {
	withBubbles(t)
	locktest.AtEveryProcs(t, func(t *testing.T) {
		var m Mutex
		var l RWMutex
		var inside, readers, turns, ended atomic.Int64
		n := int64(locktest.Scaled(300))
		work := func() {
			var f waiter.Future
			for i := range n {
				m.Lock()
				if inside.Add(1) != 1 {
					panic("two inside")
				}
				inside.Add(-1)
				m.Unlock()
				ctx, cancel := context.WithCancel(context.Background())
				if i%3 == 0 {
					go cancel()
				}
				if m.LockContext(ctx) == nil {
					m.Unlock()
				}
				cancel()
				m.Bind(&f)
				f.Poll(nil)
				f.Release() // gives up wherever it stands, or unlocks
				if i%5 == 0 {
					var wg WaitGroup
					wg.Go(func() {})
					wg.Wait()
				}
				if i%4 == 0 {
					l.Lock()
					if readers.Load() != 0 {
						panic("a reader beside a writer")
					}
					l.Unlock()
				} else if l.RLockContext(ctx) == nil || l.TryRLock() {
					readers.Add(1)
					readers.Add(-1)
					l.RUnlock()
				}
				turns.Add(1)
			}
		}
		crowd := func() {
			for range 3 {
				go func() {
					defer ended.Add(1)
					work()
				}()
			}
		}
		t.Run("all", func(t *testing.T) {
			crowd()
			for range 2 {
				t.Run("bubble", func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(*testing.T) { crowd() })
				})
			}
		})
		awaitTrue(func() bool { return ended.Load() == 9 })
		require.Equal(t, 9*n, turns.Load())
		require.Empty(t, rows.of)
		require.True(t, m.TryLock())
		require.True(t, l.TryLock())
	})
}

// Futures take part, too.
func TestFuturesOfBubbledLocks(t *testing.T) {
	withBubbles(t)
	synctest.Test(t, func(t *testing.T) {
		var m Mutex
		var l RWMutex
		var f, g waiter.Future
		m.Bind(&f)
		require.True(t, f.Poll(nil))
		require.NoError(t, f.Err())
		l.Lock()
		l.BindRead(&g)
		require.False(t, g.Poll(nil))
		require.Equal(t, 1, l.Waiting())
		g.Release()
		require.Zero(t, l.Waiting())
		l.BindRead(&g)
		done := g.Done()
		synctest.Wait()
		l.Unlock()
		<-done
		require.NoError(t, g.Err())
		g.Release()
		f.Release()
		require.Empty(t, rows.of)
	})
}

// A wait for tasks that the bubble has counted is durable. One for others is not, and they may end
// outside.
func TestWaitGroupsInBubbles(t *testing.T) {
	withBubbles(t)
	waits := map[string]func(wg *WaitGroup){
		"Wait":        (*WaitGroup).Wait,
		"WaitContext": func(wg *WaitGroup) { lockContext(wg.WaitContext) },
		"WaitTimeout": func(wg *WaitGroup) { mustBe(wg.WaitTimeout(time.Hour)) },
	}
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var wg WaitGroup
				wg.Go(func() { time.Sleep(time.Minute) })
				go wait(&wg)
				start := time.Now()
				wait(&wg)
				require.Equal(t, time.Minute, time.Since(start))
				require.Empty(t, groups.of)
			})
			var wg WaitGroup
			wg.Add(2)
			go func() {
				awaitTrue(func() bool { return wg.Waiting() == 2 })
				time.Sleep(time.Millisecond)
				wg.Done()
				wg.Done()
			}()
			synctest.Test(t, func(*testing.T) {
				go wait(&wg)
				wait(&wg)
			})
			require.Empty(t, groups.of)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var wg WaitGroup
		wg.Add(1)
		require.False(t, wg.WaitTimeout(time.Minute))
		wg.Done()
		wg.Wait()
	})
	var wg WaitGroup
	wg.Add(1)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			awaitTrue(func() bool { return wg.Waiting() == 1 })
			cancel()
		}()
		require.ErrorIs(t, wg.WaitContext(ctx), context.Canceled)
	})
	wg.Done()
	wg.Wait()
}

// A holder of a lock, or a waiter for it, when a bubble comes, is a user of the row. The plain
// lines run dry.
func TestOthersComeOver(t *testing.T) {
	withBubbles(t)
	mutex := func() (holder, waits way, futures [2]*waiter.Future) {
		var m Mutex
		var f, g waiter.Future
		m.Bind(&f)
		m.Bind(&g)
		w := waysOfMutex(&m)[0]
		return w, w, [2]*waiter.Future{&f, &g}
	}
	rw := func(i int) func() (holder, waits way, futures [2]*waiter.Future) {
		return func() (holder, waits way, futures [2]*waiter.Future) {
			var l RWMutex
			var f, g waiter.Future
			l.Bind(&f)
			if i == firstRead {
				l.Bind(&g)
			} else {
				l.BindRead(&g)
			}
			ways := waysOfRWMutex(&l)
			return ways[i], ways[0], [2]*waiter.Future{&f, &g}
		}
	}
	for name, lock := range map[string]func() (holder, waits way, futures [2]*waiter.Future){
		"Mutex":                mutex,
		"RWMutex, by a writer": rw(0),
		"RWMutex, by a reader": rw(firstRead),
	} {
		for _, used := range []int{0, Express} { // With a full lane, the holder comes by the gate.
			for _, first := range []int{0, 1, 2} { // of those that wait, which is the goroutine
				t.Run(name, func(t *testing.T) {
					holder, waits, futures := lock()
					for range used {
						holder.lock()
						holder.unlock()
					}
					holder.lock()
					var got, left atomic.Bool
					for i := range 3 {
						if i != first {
							require.False(t, futures[i-min(1, i/(first+1))].Poll(nil))
							continue
						}
						go func() {
							waits.lock()
							waits.unlock()
							got.Store(true)
						}()
						awaitTrue(func() bool { return holder.waiting() == i+1 })
					}
					go func() {
						awaitTrue(func() bool { return holder.waiting() == 4 })
						holder.unlock()
						for _, f := range futures {
							awaitTrue(f.Complete)
							time.Sleep(time.Millisecond)
							f.Release()
						}
						left.Store(true)
					}()
					synctest.Test(t, func(*testing.T) {
						for !got.Load() { // If the bubble waited durably it would be a deadlock.
							waits.lock()
							waits.unlock()
						}
					})
					awaitTrue(left.Load)
					rows.mu.Lock()
					defer rows.mu.Unlock()
					require.Empty(t, rows.of)
				})
			}
		}
	}
}

// A bubble may take the admission of a holder that has entered the lock and not yet renewed the
// lane. The race detector sees it: the holder does nothing that others could synchronize with.
func TestABubbleComesBeforeTheLaneIsRenewed(t *testing.T) {
	withBubbles(t)
	var m Mutex
	var l RWMutex
	m.word.Or(full)
	l.word.Or(rwFull | rwCrowded)
	for _, lock := range []interface {
		admitting
		stdsync.Locker
	}{&m, &l} {
		var wg stdsync.WaitGroup
		wg.Go(func() {
			lock.Lock() // by the gate, for the lane is full
			for !lock.isBubbled() {
				runtime.Gosched()
			}
			lock.Unlock()
		})
		awaitTrue(func() bool { return !lock.gateOf().isOpen() })
		wg.Go(func() {
			lock.Lock()
			lock.Unlock()
		})
		awaitTrue(func() bool { return lock.gateOf().state.Load() == gateWaiting })
		synctest.Test(t, func(*testing.T) {
			lock.Lock()
			lock.Unlock()
		})
		wg.Wait()
	}
}

// A reader's future that comes over while others read has the lock at once.
func TestFutureComesOverBesideReaders(t *testing.T) {
	withBubbles(t)
	var l RWMutex
	var f waiter.Future
	var written atomic.Bool
	l.RLock()
	go func() {
		l.Lock()
		l.Unlock()
		written.Store(true)
	}()
	awaitTrue(func() bool { return l.Waiting() == 1 })
	l.word.Or(rwFull) // The lane has no place left, by which the future would pass the writer.
	l.BindRead(&f)
	require.False(t, f.Poll(nil), "past a writer")
	synctest.Test(t, func(*testing.T) {
		if l.TryRLock() { // in any case the lock is bubbled now, and the writer leaves the gate
			l.RUnlock()
		}
		awaitTrue(f.Complete)
	})
	require.NoError(t, f.Err())
	require.False(t, written.Load())
	f.Release()
	l.RUnlock()
	awaitTrue(written.Load)
	require.Empty(t, rows.of)
}

// A future comes over under the lock of its line: so its owner, who gives up under that lock, finds
// it in the one line or the other. Here another stands in the way of the step, and the line stays
// locked.
func TestFutureComesOverUnderTheLock(t *testing.T) {
	withBubbles(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // who lets others run sees what they can do
	var l RWMutex
	var f waiter.Future
	l.word.Store(rwCrowded | rwFull) // The lane has no place left.
	require.True(t, l.gate.tryPass())
	l.BindRead(&f)
	require.False(t, f.Poll(nil))
	l.word.Add(rwReader) // somebody reads
	makeRow(&l)
	rows.mu.Lock()
	goOn := OnceFunc(rows.mu.Unlock)
	defer goOn() // whatever fails
	var opened, left atomic.Bool
	go func() { l.gate.open(&l); opened.Store(true) }()
	locktest.Eventually(t, "the line stays locked", func() bool {
		var passed atomic.Bool
		go func() {
			parking.Default().Line(l.key()).Unlock()
			passed.Store(true)
		}()
		for range 1000 {
			if passed.Load() {
				return false
			}
			runtime.Gosched()
		}
		return true
	})
	go func() { f.Release(); left.Store(true) }()
	goOn()
	awaitTrue(func() bool { return opened.Load() && left.Load() })
	l.RUnlock()
	require.Empty(t, rows.of)
	require.False(t, f.Complete())
}

// Two locks have one line of sleepers: who makes the one bubbled, and who gives up a place in the
// row of the other, do not wait for each other.
func TestRowsAndLinesAreLockedInOneOrder(t *testing.T) {
	withBubbles(t)
	bucket := func(m *Mutex) uint64 {
		k := m.key()
		return parking.Mix(uint64(k.Hash), uint64(k.Part)) & uint64(parking.Default().Buckets()-1)
	}
	held, made := new(Mutex), new(Mutex)
	for kept := []*Mutex{made}; bucket(made) != bucket(held); kept = append(kept, made) {
		made = new(Mutex)
	}
	var ended, gone atomic.Bool
	go func() {
		var f waiter.Future
		for !ended.Load() {
			held.Bind(&f)
			f.Poll(nil)
			f.Release()
		}
		gone.Store(true)
	}()
	synctest.Test(t, func(*testing.T) {
		held.Lock()
		for range locktest.Scaled(100000) {
			made.Lock()
			made.Unlock()
		}
		held.Unlock()
	})
	ended.Store(true)
	awaitTrue(gone.Load)
	require.Empty(t, rows.of)
}

// A goroutine of a bubble that has had to wait for a stranger holds the lock as any other of the
// bubble does: those who wait for it wait durably.
func TestWaitsAreDurableAgainAfterAStranger(t *testing.T) {
	withBubbles(t)
	eachWay(t, func(t *testing.T, outside, inside way) {
		outside.lock()
		go func() {
			awaitTrue(func() bool { return outside.waiting() > 0 })
			outside.unlock()
		}()
		synctest.Test(t, func(*testing.T) {
			inside.lock()
			var done atomic.Bool
			go func() {
				outside.lock() // a way for goroutines of the bubble as well
				outside.unlock()
				done.Store(true)
			}()
			time.Sleep(time.Minute) // for ever, if time stands still while that one waits
			inside.unlock()
			synctest.Wait()
			require.True(t, done.Load())
		})
		require.Empty(t, rows.of)
	})
}

// A future that has been granted the lock, and abandoned before it was woken, is a user of
// the bubble in which it waited, whichever goroutine wakes it.
func TestAbandonedFutureCountsInItsBubble(t *testing.T) {
	withBubbles(t)
	var l RWMutex
	var first, second waiter.Future
	l.BindRead(&first)
	l.BindRead(&second)
	var waits, stranger, last atomic.Bool
	l.Lock()
	go func() {
		awaitTrue(waits.Load)
		go func() {
			awaitTrue(func() bool { return l.Waiting() == 3 })
			l.Unlock() // abandons the second by the waker of the first: both are served at once
		}()
		l.Lock() // behind the futures
		stranger.Store(true)
		awaitTrue(func() bool { return l.Waiting() > 0 })
		time.Sleep(time.Millisecond)
		last.Store(true)
		l.Unlock()
	}()
	synctest.Test(t, func(t *testing.T) {
		first.Poll(wakerFunc(second.Release))
		second.Poll(nil)
		waits.Store(true)
		awaitTrue(first.Complete)
		first.Release()
		awaitTrue(stranger.Load)
		l.Lock() // If this wait were durable the bubble would be a deadlock.
		require.True(t, last.Load())
		l.Unlock()
	})
	require.Empty(t, rows.of)
}

type wakerFunc func()

func (f wakerFunc) Wake() { f() }

// An unlock is that of the holder, wherever it is called.
func TestUnlockByAnotherCountsInTheHoldersBubble(t *testing.T) {
	withBubbles(t)
	eachWay(t, func(t *testing.T, outside, inside way) {
		var held, waits atomic.Bool
		go func() {
			awaitTrue(held.Load)
			go func() {
				awaitTrue(func() bool { return outside.waiting() > 0 })
				inside.unlock()
			}()
			outside.lock()
			waits.Store(true)
			awaitTrue(func() bool { return outside.waiting() > 0 })
			time.Sleep(time.Millisecond)
			outside.unlock()
		}()
		synctest.Test(t, func(*testing.T) {
			inside.lock()
			held.Store(true)
			awaitTrue(waits.Load)
			inside.lock() // If this wait were durable the bubble would be a deadlock.
			inside.unlock()
		})
		require.Empty(t, rows.of)
	})
}

// An Add that does not raise the counter notes nothing.
func TestAddOfNothingNotesNothing(t *testing.T) {
	withBubbles(t)
	synctest.Test(t, func(t *testing.T) {
		var wg WaitGroup
		wg.Add(0)
		require.Empty(t, groups.of)
		require.Panics(t, func() { wg.Add(-1) })
		require.Empty(t, groups.of)
	})
}

// A wait across a border is told of a reuse that comes too early, as any other.
func TestWaitAcrossIsToldOfAnEarlyReuse(t *testing.T) {
	var wg WaitGroup
	wg.state.Store(1) // a waiter of the next round
	require.PanicsWithValue(t, "sync: WaitGroup is reused before previous Wait has returned", func() {
		_ = wg.waitAcross(waiting.Limit{})
	})
}

// An Add that has made the counter zero, and tells so late, does not speak for the next one.
func TestAddThatTellsLateChangesNothing(t *testing.T) {
	withBubbles(t)
	synctest.Test(t, func(t *testing.T) {
		var wg WaitGroup
		wg.Add(1)
		wg.tellBubble(-1, 0)
		require.False(t, wg.isForeign())
		wg.Done()
		require.Empty(t, groups.of)
	})
}

// While a bubble has the lock, its goroutines wait durably for it, whether or not others wait as
// well, and wherever they stood before.
func TestTimeGoesOnWhileTheBubbleHasTheLock(t *testing.T) {
	withBubbles(t)
	eachWay(t, func(t *testing.T, outside, inside way) {
		var held, ended atomic.Bool
		outside.lock()
		go func() {
			awaitTrue(func() bool { return outside.waiting() == 3 })
			outside.unlock()
		}()
		go func() {
			awaitTrue(held.Load)
			outside.lock()
			outside.unlock()
			ended.Store(true)
		}()
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var done atomic.Int32
			turn := func() {
				inside.lock()
				held.Store(true)
				awaitTrue(func() bool { return done.Load() > 0 || inside.waiting() > 0 })
				time.Sleep(time.Minute) // for ever, if another stops the clock
				inside.unlock()
				done.Add(1)
			}
			for range 3 {
				go turn()
			}
			time.Sleep(time.Hour)
			require.EqualValues(t, 3, done.Load())
			require.Equal(t, time.Hour, time.Since(start))
		})
		awaitTrue(ended.Load)
		require.Empty(t, rows.of)
	})
}

// A context ends a wait for a stranger, wherever it is made and cancelled.
func TestContextEndsAWaitForAStranger(t *testing.T) {
	withBubbles(t)
	var m Mutex
	m.Lock()
	outside, cancel := context.WithCancel(context.Background())
	outside.Done() // The first to ask makes the channel.
	go func() {
		awaitTrue(func() bool { return m.Waiting() == 2 })
		cancel()
	}()
	synctest.Test(t, func(t *testing.T) {
		inside, cancel := context.WithCancel(t.Context())
		go func() {
			require.ErrorIs(t, m.LockContext(outside), context.Canceled)
			cancel()
		}()
		require.ErrorIs(t, m.LockContext(inside), context.Canceled)
	})
	require.Zero(t, m.Waiting())
	m.Unlock()
	require.Empty(t, rows.of)
}

// A cancel that comes before the last Done wins, in a wait that is not durable as in any other.
func TestWaitAcrossEarlierCancelWins(t *testing.T) {
	withBubbles(t)
	for _, method := range []string{"Err", "Done"} {
		for nth := int64(1); ; nth++ {
			var wg WaitGroup
			wg.Add(1)
			asleep := false
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				c := locktest.NewTrapContext(ctx, method, nth, func() { cancel(); wg.Done() })
				go func() {
					awaitTrue(func() bool { return ctx.Err() != nil || wg.Waiting() == 1 })
					asleep = c.Spring()
				}()
				require.Equal(t, context.Canceled, wg.WaitContext(c), "call %d of %s", nth, method)
			})
			require.Zero(t, wg.state.Load())
			if asleep {
				break
			}
		}
	}
}

// A context whose methods panic, or end the goroutine, leaves nobody in a line, and no lock locked:
// also if that happens during a wait for a stranger.
func TestPanicsOfContextsInAWaitForAStranger(t *testing.T) {
	withBubbles(t)
	type stranger struct {
		wait    func(ctx context.Context) error
		waiting func() int
		free    func()
		unlock  func()
		isFree  func() bool
	}
	for name, hold := range map[string]func() stranger{
		"Mutex": func() stranger {
			var m Mutex
			m.Lock()
			return stranger{m.LockContext, m.Waiting, m.Unlock, m.Unlock, func() bool { return tries(&m) }}
		},
		"RWMutex": func() stranger {
			var l RWMutex
			l.Lock()
			return stranger{l.RLockContext, l.Waiting, l.Unlock, l.RUnlock, func() bool { return tries(&l) }}
		},
		"WaitGroup": func() stranger {
			var wg WaitGroup
			wg.Add(1)
			return stranger{wg.WaitContext, wg.Waiting, wg.Done, func() {}, func() bool { return wg.state.Load() == 0 }}
		},
	} {
		for _, end := range []func(){func() { panic("of the context") }, runtime.Goexit} {
			for _, method := range []string{"Err", "Done"} {
				for _, cancels := range []bool{true, false} {
					for nth, again := int64(1), true; again; nth++ {
						s := hold()
						synctest.Test(t, func(t *testing.T) {
							ctx, cancel := context.WithCancel(t.Context())
							defer cancel()
							var failed atomic.Bool
							c := locktest.NewTrapContext(ctx, method, nth, func() { failed.Store(true); end() })
							returned := make(chan error, 1)
							go func() {
								err := context.Canceled
								defer func() {
									_ = recover()
									returned <- err
								}()
								err = s.wait(c)
							}()
							awaitTrue(func() bool { return failed.Load() || s.waiting() == 1 })
							if cancels {
								cancel()
							} else {
								s.free()
							}
							err := <-returned
							if cancels {
								s.free()
							}
							if err == nil {
								s.unlock()
							}
							again = failed.Load()
							require.Zero(t, s.waiting(), "%s, call %d of %s", name, nth, method)
							require.True(t, s.isFree(), "%s, call %d of %s", name, nth, method)
						})
					}
				}
			}
		}
	}
	require.Empty(t, rows.of)
}

// tries reports whether l is free.
func tries(l interface {
	TryLock() bool
	Unlock()
},
) bool {
	ok := l.TryLock()
	if ok {
		l.Unlock()
	}
	return ok
}
