package sync

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

var bg = context.Background()

// do calls f with l locked, and unlocks l however f ends.
func do(l sync.Locker, f func()) {
	l.Lock()
	defer l.Unlock()
	f()
}

// newMutex returns an unlocked mutex of whose express lane so many places have been used.
func newMutex(used int) *Mutex {
	m := &Mutex{used: uint32(used)} //nolint:gosec // which is small
	m.word.Store(m.free(0))
	return m
}

// forEachLane runs f with an express lane that has all its places, with one that has one place
// left, and with one that is full.
func forEachLane(t *testing.T, f func(t *testing.T, create func() *Mutex)) {
	t.Helper()
	for name, create := range map[string]func() *Mutex{
		"zero":    func() *Mutex { return new(Mutex) },
		"one":     func() *Mutex { return newMutex(Express - 1) },
		"used up": func() *Mutex { return newMutex(Express) },
	} {
		t.Run(name, func(t *testing.T) { f(t, create) })
	}
}

// requireFree checks that m can be locked, once, and that its gate is open.
func requireFree(t *testing.T, m *Mutex) {
	t.Helper()
	require.Zero(t, m.Waiting())
	require.True(t, m.TryLock(), "the lock was lost")
	require.False(t, m.TryLock(), "two locks were made of one")
	m.Unlock()
	require.True(t, m.gate.isOpen(), "the gate is not open")
}

// What all mutexes and their futures promise.
func TestContract(t *testing.T) {
	forEachLane(t, func(t *testing.T, create func() *Mutex) {
		mutextest.RunOf[Mutex](t, create, false)
	})
}

func TestPanicsNameThePackage(t *testing.T) {
	for msg, call := range map[string]func(){
		"sync: unlock of unlocked mutex": new(Mutex).Unlock,
		"sync: nil context":              func() { _ = new(Mutex).LockContext(nil) }, //nolint:staticcheck // nil on purpose
	} {
		require.PanicsWithValue(t, msg, call)
	}
}

// Alone, a goroutine uses all places of the lane, and then goes through the gate: which opens the
// lane again.
func TestOneGoroutineUsesTheWholeLane(t *testing.T) {
	const q = 2
	m := newMutex(Express - q)
	passed := func() bool { return m.word.Load()&admitted != 0 }
	for _, lock := range []func(){
		m.Lock,
		func() { require.True(t, m.TryLock()) },
		func() { require.NoError(t, m.LockContext(bg)) },
	} {
		for range q {
			lock()
			require.False(t, passed())
			m.Unlock()
		}
		lock()
		require.True(t, passed())
		m.Unlock()
		m.used = Express - q
	}
}

// Alone, one locks as often as one likes: when the lane is full one goes through the gate.
func TestNoneIsKeptOutWithoutWaiters(t *testing.T) {
	forEachLane(t, func(t *testing.T, create func() *Mutex) {
		m := create()
		for range 3 * (Express + 2) {
			require.True(t, m.TryLock())
			m.Unlock()
			do(m, func() {})
			require.True(t, m.LockTimeout(time.Hour))
			m.Unlock()
			require.NoError(t, m.LockContext(bg))
			m.Unlock()
		}
		requireFree(t, m)
	})
}

// With the lane full, a try does not overtake a waiter.
func TestFullLaneKeepsTriesOut(t *testing.T) {
	m := newMutex(Express - 1)
	m.Lock() // the last place of the lane
	locked := make(chan struct{})
	go func() {
		m.Lock()
		close(locked)
	}()
	locktest.AwaitWaiting(t, m, 1)
	require.False(t, m.TryLock())
	m.Unlock()
	for { // Until the one that waits has it.
		select {
		case <-locked:
			m.Unlock()
			requireFree(t, m)
			return
		default:
			require.False(t, m.TryLock(), "overtaken")
			runtime.Gosched()
		}
	}
}

func TestLockTimeoutGivesUp(t *testing.T) {
	forEachLane(t, func(t *testing.T, create func() *Mutex) {
		m := create()
		require.False(t, m.LockTimeout(0))
		require.False(t, m.LockTimeout(-1))
		m.Lock()
		require.False(t, m.LockTimeout(time.Millisecond), "as the admitted one")
		held := make(chan struct{})
		go func() {
			defer close(held)
			if m.LockTimeout(time.Hour) {
				m.Unlock()
			}
		}()
		locktest.AwaitWaiting(t, m, 1)
		require.False(t, m.LockTimeout(time.Millisecond), "at the gate")
		m.Unlock()
		locktest.Receive(t, held)
		requireFree(t, m)
	})
}

// A deferred unlock unlocks however the function ends.
func TestDeferredUnlockUnlocksHoweverTheFunctionEnds(t *testing.T) {
	forEachLane(t, func(t *testing.T, create func() *Mutex) {
		m := create()
		for range 2 * (Express + 1) {
			ran := false
			do(m, func() {
				require.False(t, m.TryLock())
				ran = true
			})
			require.True(t, ran)
			require.PanicsWithValue(t, "boom", func() { do(m, func() { panic("boom") }) })
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				do(m, runtime.Goexit)
			}()
			locktest.Receive(t, gone)
		}
		requireFree(t, m)
	})
}

// Every way to lock and to give up at the same time. Never two inside, nothing is lost, and no
// goroutine starves.
func TestMutualExclusionUnderEverything(t *testing.T) {
	forEachLane(t, func(t *testing.T, create func() *Mutex) {
		locktest.AtEveryProcs(t, func(t *testing.T) {
			m, inside, done := create(), atomic.Int32{}, int64(0)
			work := func() {
				require.EqualValues(require.GoOn(t), 1, inside.Add(1), "two inside")
				done++
				if rand.IntN(64) == 0 {
					runtime.Gosched()
				}
				inside.Add(-1)
			}
			var wg sync.WaitGroup
			var locked atomic.Int64
			rounds := locktest.Scaled(4000)
			for range 8 {
				wg.Go(func() {
					for range rounds {
						ok := true
						switch rand.IntN(6) {
						case 0, 1:
							m.Lock()
						case 2:
							ok = m.TryLock()
						case 3:
							ok = m.LockTimeout(time.Duration(rand.IntN(50)) * time.Microsecond)
						case 4:
							ctx, cancel := context.WithTimeout(bg, time.Duration(rand.IntN(50))*time.Microsecond)
							ok = m.LockContext(ctx) == nil
							cancel()
						default:
							do(m, work)
							locked.Add(1)
							continue
						}
						if ok {
							work()
							m.Unlock()
							locked.Add(1)
						}
					}
				})
			}
			wg.Wait()
			require.Equal(t, locked.Load(), done)
			requireFree(t, m)
		})
	})
}

// The bound, measured: at most (p + 1) · Express later arrivals overtake the p'th in the queue.
func TestOvertakingIsBounded(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		m := new(Mutex)
		var acquired int64 // guarded by m
		var stop atomic.Bool
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				for !stop.Load() {
					m.Lock()
					acquired++
					m.Unlock()
				}
			})
		}
		var total atomic.Int64
		for range 3 {
			wg.Go(func() {
				for range locktest.Scaled(3000) {
					// Lock, with a look at the queue between arriving and waiting.
					m.Lock()
					q := stand(m, rwWriter)
					p := int64(m.gate.waiting()) // at least as many as are ahead
					before := acquired
					m.Unlock()
					q.await()
					require.NoError(require.GoOn(t), m.compete(waiting.Limit{}, true))
					// Those ahead have had their turn, too.
					require.LessOrEqual(require.GoOn(t), acquired-before, (p+1)*Express+p)
					total.Add(1)
					acquired++
					m.Unlock()
				}
			})
		}
		locktest.Eventually(
			t,
			"all have been in",
			func() bool { return total.Load() == int64(3*locktest.Scaled(3000)) },
		)
		stop.Store(true)
		wg.Wait()
		requireFree(t, m)
	})
}

// One goroutine only locks, another only unlocks, as soon as it sees that the mutex is locked. It
// need not see what the first has counted, and so the count may be too large. Still the lane ends.
func TestLaneEndsThoughAnotherUnlocksTooSoon(t *testing.T) {
	for _, used := range []uint16{Express, Express + 1, math.MaxUint16} {
		m := new(Mutex)
		m.Lock()
		m.used = uint32(used)
		m.Unlock()
		require.Equal(t, full, m.word.Load())
		m.Lock()
		require.Zero(t, uint16(m.used), "the lane was not renewed")
		m.Unlock()
	}
}
