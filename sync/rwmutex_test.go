package sync

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// usedUp returns a lock of whose express lane all places have been used.
func usedUp() *RWMutex {
	l := new(RWMutex)
	l.word.Store(rwFull | rwCrowded)
	return l
}

// forEachRW runs f with a lock whose express lane has all its places, and with one whose lane is
// full.
func forEachRW(t *testing.T, f func(t *testing.T, create func() *RWMutex)) {
	t.Helper()
	for name, create := range map[string]func() *RWMutex{"zero": func() *RWMutex { return new(RWMutex) }, "used up": usedUp} {
		t.Run(name, func(t *testing.T) { f(t, create) })
	}
}

func requireRWFree(t *testing.T, l *RWMutex) {
	t.Helper()
	require.Zero(t, l.Waiting())
	require.Zero(t, l.word.Load()&^rwLane, "the lock was lost, or a flag left")
	require.True(t, l.gate.isOpen(), "the gate is not open")
}

func TestRWContract(t *testing.T) { forEachRW(t, runRWContract) }

func runRWContract(t *testing.T, create func() *RWMutex) {
	t.Helper()
	rwtest.Run(t, rwtest.Kind{
		Package: "sync",
		New:     func() rwtest.Lock { return create() },
		Bind: func(f *waiter.Future, l rwtest.Lock, s rwtest.State) {
			lock, _ := l.(*RWMutex)
			if s == rwtest.Read {
				lock.BindRead(f)
			} else {
				lock.Bind(f)
			}
		},
	})
}

// The writers of a read-write lock are those of a mutex.
func TestRWContractOfAMutex(t *testing.T) {
	const why = "the text is that of a read-write lock: TestRWContract"
	mutextest.RunOf[RWMutex](
		t, func() *RWMutex { return new(RWMutex) }, false,
		mutextest.Known{Test: "FutureNeedsAMutex", Why: why},
	)
}

func TestRWPanicsNameThePackage(t *testing.T) {
	for msg, call := range map[string]func(){
		"sync: Unlock of unlocked RWMutex":  new(RWMutex).Unlock,
		"sync: RUnlock of unlocked RWMutex": new(RWMutex).RUnlock,
		"sync: nil context":                 func() { _ = new(RWMutex).RLockContext(nil) }, //nolint:staticcheck // nil on purpose
	} {
		require.PanicsWithValue(t, msg, call)
	}
}

// Alone, one locks as often as one likes: when the lane is full one goes through the gate. Each who
// does renews the lane.
func TestRWNoneIsKeptOutWithoutWaiters(t *testing.T) {
	l := new(RWMutex)
	for range 3 * (Express + 2) {
		l.RLock()
		require.True(t, l.TryRLock())
		require.True(t, l.RLockTimeout(time.Hour))
		require.NoError(t, l.RLockContext(bg))
		for range 4 {
			l.RUnlock()
		}
		l.Lock()
		l.Unlock()
		require.True(t, l.TryLock())
		l.Unlock()
	}
	requireRWFree(t, l)
	for _, once := range []func(){func() { do(l, func() {}) }, func() { do(l.RLocker(), func() {}) }} {
		l.word.Store(rwFull | rwCrowded)
		once()
		require.Zero(t, l.word.Load(), "the lane was not renewed")
	}
}

// While a writer waits, readers join the current readers until the lane is full. Then they cannot
// enter in any way before the writer has held the lock.
func TestRWReadersBesideAWaitingWriterAreFew(t *testing.T) {
	l := new(RWMutex)
	l.RLock()
	in := make(chan struct{})
	go func() {
		l.Lock()
		close(in)
	}()
	locktest.AwaitWaiting(t, l, 1)
	for range Express {
		require.True(t, l.TryRLock())
		l.RUnlock()
	}
	require.False(t, l.TryRLock(), "overtakes the writer")
	require.False(t, l.RLockTimeout(time.Millisecond), "overtakes the writer")
	late := make(chan struct{})
	go func() {
		l.RLock()
		close(late)
	}()
	locktest.AwaitWaiting(t, l, 2)
	locktest.RequireBlocked(t, in)
	l.RUnlock()
	locktest.Receive(t, in)
	locktest.RequireBlocked(t, late)
	l.Unlock()
	locktest.Receive(t, late)
	l.RUnlock()
	requireRWFree(t, l)
}

// A writer that gives up leaves nothing behind that makes a reader's try fail.
func TestRWWriterWhoGivesUpLeavesNoTrace(t *testing.T) {
	forEachRW(t, func(t *testing.T, create func() *RWMutex) {
		l := create()
		l.RLock()
		require.False(t, l.LockTimeout(time.Millisecond))
		require.Zero(t, l.word.Load()&rwSleeping)
		l.RUnlock()
		requireRWFree(t, l)
	})
}

// A deferred unlock unlocks however the function ends.
func TestRWDeferredUnlockUnlocksHoweverTheFunctionEnds(t *testing.T) {
	forEachRW(t, func(t *testing.T, create func() *RWMutex) {
		l := create()
		for name, locker := range map[string]sync.Locker{"write": l, "read": l.RLocker()} {
			ran := false
			do(locker, func() {
				require.False(t, l.TryLock())
				beside := l.TryRLock()
				require.Equal(t, name == "read", beside)
				if beside {
					l.RUnlock()
				}
				ran = true
			})
			require.True(t, ran)
			require.PanicsWithValue(t, "boom", func() { do(locker, func() { panic("boom") }) })
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				do(locker, runtime.Goexit)
			}()
			locktest.Receive(t, gone)
			requireRWFree(t, l)
		}
	})
}

// The bound, measured: at most (p + 1) · Express later arrivals overtake the p'th in the line.
func TestRWOvertakingIsBounded(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		l := new(RWMutex)
		var came atomic.Int64 // so many have come in
		var stop atomic.Bool
		var wg sync.WaitGroup
		for g := range 6 {
			wg.Go(func() {
				for i := 0; !stop.Load(); i++ {
					if i%8 == g {
						do(l, func() { came.Add(1) })
					} else {
						do(l.RLocker(), func() { came.Add(1) })
					}
				}
			})
		}
		const watched = 3
		var total atomic.Int64
		n := locktest.Scaled(2000)
		for range watched {
			wg.Go(func() {
				for range n {
					// Lock, with a look at the line between arriving and waiting.
					l.Lock()
					q := stand(l, rwWriter)
					l.setCrowded(true)           // Admitted at once, it waits from here on.
					p := int64(l.gate.waiting()) // at least as many as are ahead
					before := came.Load()
					l.Unlock()
					q.await()
					require.NoError(require.GoOn(t), l.compete(waiting.Limit{}, rwWriter, true))
					// Those ahead have had their turn, too.
					require.LessOrEqual(require.GoOn(t), came.Load()-before, (p+1)*Express+p)
					total.Add(1)
					came.Add(1)
					l.Unlock()
				}
			})
		}
		locktest.Eventually(t, "all have been in", func() bool { return total.Load() == int64(watched*n) })
		stop.Store(true)
		wg.Wait()
		requireRWFree(t, l)
	})
}

// A waker may try the lock, as often as it likes: a try does not wait for the gate to be opened by
// those that call the waker.
func TestRWWakerMayTry(t *testing.T) {
	for _, inLine := range []int{1, 2} {
		l, tries := new(RWMutex), 0
		l.Lock()
		futures := make([]waiter.Future, inLine)
		for i := range futures {
			l.BindRead(&futures[i])
			require.False(t, futures[i].Poll(waiter.WakerFunc(func() {
				for range Express + 1 {
					if l.TryRLock() {
						tries++
						l.RUnlock()
					}
				}
			})))
		}
		l.Unlock()
		require.NotZero(t, tries)
		for i := range futures {
			futures[i].Release()
		}
		requireRWFree(t, l)
	}
}
