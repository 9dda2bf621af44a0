package engine

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newEngine(size int64) *Engine {
	e := new(Engine)
	e.From(0).Init(size, nil)
	return e
}

func acquire(e *Engine, n int64) {
	if !e.From(0).TryAcquire(n) {
		if err := e.From(0).Acquire(waiting.UntilDone(context.Background()), n, AtBack); err != nil {
			panic(err)
		}
	}
}

// awaitWaiting waits until n requests are queued.
func awaitWaiting(t *testing.T, e *Engine, n int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); e.Waiting() != n; runtime.Gosched() {
		require.True(t, time.Now().Before(deadline), "%d wait, not %d", e.Waiting(), n)
	}
}

// requireInvariants checks the numbered invariants of the file in whatever state the engine is.
func requireInvariants(t *testing.T, e *Engine) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.Look()
	avail := e.From(0).Available()
	head := e.list.Front()
	slot := e.slot.Load() // its waiter may leave while we look, but none comes
	if slot == nil && head == nil {
		return
	}
	require.NotZero(require.GoOn(t), o&flagWaiters, "2: a waiter is queued and W is clear")
	if slot != nil { // not to be touched: it may have been claimed, and used again
		require.Less(require.GoOn(t), avail, int64(1), "2: a permit floats beside the slot's waiter")
		require.GreaterOrEqual(require.GoOn(t), avail, int64(0), "3: a slot in spite of a debt")
	} else {
		require.Less(require.GoOn(t), avail, head.N, "2: the oldest waiter fits")
	}
}

// With the mutex in the test's hands, whatever completes has not taken it.
func TestUncontendedNeverTakesTheMutex(t *testing.T) {
	e := newEngine(3)
	e.mu.Lock()
	for range 100 {
		require.True(t, e.From(0).TryAcquire(1))
		require.True(t, e.From(0).TryAcquire(2))
		require.False(t, e.From(0).TryAcquire(1))
		require.True(t, e.From(0).Release(2))
		require.True(t, e.From(0).Release(1))
	}
	e.mu.Unlock()

	// And again after contention has come and gone.
	acquire(e, 3)
	done := make(chan struct{})
	go func() { acquire(e, 1); close(done) }()
	awaitWaiting(t, e, 1)
	e.From(0).Release(3)
	<-done
	e.From(0).Release(1)
	e.mu.Lock()
	require.True(t, e.From(0).TryAcquire(3))
	require.True(t, e.From(0).Release(3))
	e.mu.Unlock()
}

func TestHandOffThroughTheSlotTakesNoMutex(t *testing.T) {
	e := newEngine(1)
	acquire(e, 1)
	done := make(chan struct{})
	go func() { acquire(e, 1); close(done) }()
	awaitWaiting(t, e, 1)
	e.mu.Lock()
	require.True(t, e.From(0).Release(1))
	<-done
	require.EqualValues(t, 0, e.From(0).Available(), "the permit went straight to the waiter")
	e.mu.Unlock()
	require.True(t, e.From(0).Release(1))
	require.EqualValues(t, 1, e.From(0).Available())
}

// After a cancel or a locked release the oldest waiter stands in the slot, where the next release
// needs no mutex.
func TestSlotIsRefilled(t *testing.T) {
	e := newEngine(2)
	acquire(e, 2)
	var fs [4]waiting.Future
	for i := range fs {
		waiting.Bind(&fs[i], e.From(0), 1)
		require.False(t, fs[i].Poll(nil))
	}
	fs[0].Release() // was in the slot
	e.mu.Lock()
	require.True(t, e.From(0).Release(1))
	e.mu.Unlock()
	require.True(t, fs[1].Poll(nil))
	require.True(t, e.From(0).Release(1)) // finds the slot empty
	require.True(t, fs[2].Poll(nil))
	e.mu.Lock()
	require.True(t, e.From(0).Release(1))
	e.mu.Unlock()
	require.True(t, fs[3].Poll(nil))
	require.True(t, e.From(0).Release(2))
	require.EqualValues(t, 2, e.From(0).Available())
}

// Under contention most releases find a waiter in the slot, which is all it takes not to need the
// mutex.
func TestContendedReleaseGoesThroughTheSlot(t *testing.T) {
	for _, procs := range []int{1, 2, 4, 16} {
		old := runtime.GOMAXPROCS(procs)
		e := newEngine(2)
		var slots, all atomic.Int64
		var wg sync.WaitGroup
		const enough = 10000
		deadline := time.Now().Add(20 * time.Second)
		acquire(
			e,
			2,
		) // until all are there: from then on the order keeps them queueing, and they stay until enough has been seen
		for range 8 {
			wg.Go(func() {
				for all.Load() < enough && time.Now().Before(deadline) {
					acquire(e, 1)
					runtime.Gosched()
					if e.Look()&flagWaiters != 0 {
						all.Add(1)
						if e.slot.Load() != nil {
							slots.Add(1)
						}
					}
					e.From(0).Release(1)
				}
			})
		}
		awaitWaiting(t, e, 8)
		e.From(0).Release(2)
		wg.Wait()
		runtime.GOMAXPROCS(old)
		require.GreaterOrEqual(t, all.Load(), int64(enough), "hardly any contention")
		require.Greater(t, slots.Load(), all.Load()/2, "of %d releases at %d procs", all.Load(), procs)
	}
}

// A random mixture of everything, looked at from inside all the time.
func TestPermitsAreConserved(t *testing.T) {
	rounds := 20000
	if testing.Short() {
		rounds = 3000
	}
	for _, procs := range []int{1, 2, 4, 16} {
		old := runtime.GOMAXPROCS(procs)
		e := newEngine(3)
		var held atomic.Int64
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for g := range 5 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), uint64(procs)))
				var f waiting.Future
				for range rounds {
					n := 1 + rng.Int64N(3)
					got := false
					switch rng.IntN(4) {
					case 0:
						got = e.From(0).TryAcquire(n)
					case 1:
						got = e.From(0).Acquire(waiting.After(time.Duration(1+rng.IntN(2000))), n, AtBack) == nil
					case 2:
						ctx, cancel := context.WithCancel(context.Background())
						go cancel()
						got = e.From(0).Acquire(waiting.UntilDone(ctx), n, AtBack) == nil
					case 3:
						waiting.Bind(&f, e.From(0), n)
						got = f.Poll(nil) && f.Take() == nil
						f.Release()
					}
					if got {
						require.LessOrEqual(require.GoOn(t), held.Add(n), int64(3))
						held.Add(-n)
						for ; n > 0; n-- {
							require.True(require.GoOn(t), e.From(0).Release(1))
						}
					}
				}
			})
		}
		var watcher sync.WaitGroup
		watcher.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					requireInvariants(t, e)
					runtime.Gosched()
				}
			}
		})
		wg.Wait()
		close(stop)
		watcher.Wait()
		runtime.GOMAXPROCS(old)
		// A permit refused by a future that was cancelled during its grant may still be on its way
		// back.
		for deadline := time.Now().Add(20 * time.Second); e.From(0).Available() != 3 && time.Now().Before(deadline); {
			runtime.Gosched()
		}
		require.EqualValues(t, 3, e.From(0).Available())
		require.Zero(t, e.Waiting())
		require.Zero(t, e.Look()&flagWaiters, "W stays behind")
	}
}

// Types whose zero value has permits count from a base.
func TestZeroEngineCountsFromItsBase(t *testing.T) {
	const base = 1
	var e Engine
	require.EqualValues(t, 1, e.From(base).Size())
	require.True(t, e.From(base).TryAcquire(1))
	require.EqualValues(t, 0, e.From(base).Available())
	require.False(t, e.From(base).TryAcquire(1))
	var f waiting.Future
	waiting.Bind(&f, e.From(base), 1)
	require.False(t, f.Poll(nil))
	require.True(t, e.From(base).Release(1))
	require.True(t, f.Poll(nil))
	require.True(t, e.From(base).Release(1))
	require.False(t, e.From(base).Release(1))
	e.From(base).Resize(3)
	require.EqualValues(t, 3, e.From(base).Available())
	require.True(t, e.From(base).TryAcquire(3))
	e.From(base).Resize(1)
	require.EqualValues(t, -2, e.From(base).Available())
	require.True(t, e.From(base).Release(3))
	require.False(t, e.From(base).Release(1))
	require.EqualValues(t, 1, e.From(base).Available())
}

// A future is one request at a time, and a granted one is not forgotten: Bind asks for an end to
// it.
func TestBindRefusesARequestThatHasNotEnded(t *testing.T) {
	e, other := newEngine(1), newEngine(5)
	var f, g waiting.Future
	for range 3 {
		waiting.Bind(&f, e.From(0), 1)
		waiting.Bind(&f, e.From(0), 1)
		require.True(t, f.Poll(nil))
		require.Panics(t, func() { waiting.Bind(&f, other.From(0), 2) }, "granted, and not taken")
		waiting.Bind(&g, e.From(0), 1)
		require.False(t, g.Poll(nil))
		require.Panics(t, func() { waiting.Bind(&g, other.From(0), 2) }, "queued")
		require.True(t, f.Request() == e.From(0) && g.Request() == e.From(0), "Bind refuses, and changes something")
		require.NoError(t, f.Take())
		waiting.Bind(&f, e.From(0), 1)
		require.True(t, e.From(0).Release(1))
		require.True(t, g.Poll(nil))
		g.Release()
		require.EqualValues(t, 1, e.From(0).Available(), "the permits that Bind has refused to forget")
	}
}

func TestFutureTellsHowFarItIs(t *testing.T) {
	e := newEngine(1)
	require.True(t, e.From(0).TryAcquire(1))
	var f waiting.Future
	pending := func(complete bool) {
		t.Helper()
		require.Equal(t, waiter.ErrPending, f.Err())
		require.Equal(t, complete, f.Complete())
	}
	require.False(t, f.Complete())
	waiting.Bind(&f, e.From(0), 1)
	pending(false) // not started
	require.False(t, f.Poll(nil))
	pending(false)
	require.True(t, e.From(0).Release(1))
	require.True(t, f.Complete())
	require.NoError(t, f.Err())
	require.True(t, f.Complete(), "looked at")
	require.NoError(t, f.Take())
	pending(false)
	waiting.Bind(&f, e.From(0), 1)
	pending(false) // what has been granted is of the request before
	require.False(t, f.Poll(nil))
	pending(false)
	f.Release()
	pending(false)
	require.True(t, e.From(0).Release(1))
	// A second request that is dropped before it is started.
	waiting.Bind(&f, e.From(0), 1)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Take())
	waiting.Bind(&f, e.From(0), 1)
	f.Release()
	pending(false)
	require.True(t, e.From(0).Release(1))
}

// 0 permits are always available, with any waiters and debts; but not in a closed engine.
func TestRequestForNothingIsGrantedUntilClose(t *testing.T) {
	e := newEngine(2)
	ask := func() error {
		var f waiting.Future
		waiting.Bind(&f, e.From(0), 0)
		require.True(t, f.Poll(nil))
		require.True(t, f.Complete())
		return f.Err()
	}
	require.NoError(t, ask())
	require.True(t, e.From(0).TryAcquire(2))
	require.NoError(t, ask(), "all are held")
	var f waiting.Future
	waiting.Bind(&f, e.From(0), 1)
	require.False(t, f.Poll(nil))
	require.NoError(t, ask(), "a request waits")
	f.Release()
	e.From(0).Resize(1)
	require.NoError(t, ask(), "a debt")
	e.Close()
	require.Equal(t, waiter.ErrClosed, ask())
}

// With the mutex in the test's hands, whatever completes has not taken it.
func TestClosedEngineRefusesFuturesWithoutTheMutex(t *testing.T) {
	e := newEngine(1)
	e.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	for n := range int64(3) {
		ended := make(chan error, 1)
		go func() {
			var f waiting.Future
			waiting.Bind(&f, e.From(0), n)
			f.Poll(nil)
			ended <- f.Err()
		}()
		select {
		case err := <-ended:
			require.Equal(t, waiter.ErrClosed, err)
		case <-time.After(20 * time.Second):
			require.Fail(t, "asleep")
		}
	}
}

// A grant that meets an abandoned future comes back to the engine, through the slot and through the
// list.
func TestRefusedGrantIsPassedOn(t *testing.T) {
	for _, n := range []int64{1, 2} {
		e := newEngine(2)
		require.True(t, e.From(0).TryAcquire(2))
		var f waiting.Future
		waiting.Bind(&f, e.From(0), n)
		require.False(t, f.Poll(nil))
		// The claim, as Release and serve make it, with the owner's Cancel before the delivery.
		if n == 1 {
			w := e.slot.Swap(nil)
			f.Release()
			require.Equal(t, waiting.StatusBusy, f.Node().Status())
			require.False(t, w.Deliver(waiting.Granted))
			require.True(t, e.From(0).Release(2))
		} else {
			var wake waiting.WakeList
			e.mu.Lock()
			require.True(t, e.From(0).addLocked(2))
			e.From(0).serveLocked(&wake)
			e.mu.Unlock()
			require.EqualValues(t, 0, e.From(0).Available())
			f.Release()
			f.Release() // twice
			deliver(e.From(0), &wake)
		}
		require.Equal(t, waiting.StatusIdle, f.Node().Status())
		require.EqualValues(t, 2, e.From(0).Available())
		require.Zero(t, e.Waiting())
		waiting.Bind(&f, e.From(0), 1)
		require.True(t, f.Poll(nil))
		f.Release()
	}
}

// image is a node's memory.
type image [unsafe.Sizeof(waiting.Waiter{})]byte

func snapshot(fs []waiting.Future) []image {
	out := make([]image, len(fs))
	for i := range fs {
		out[i] = *(*image)(unsafe.Pointer(fs[i].Node()))
	}
	return out
}

// A cancel writes to the node and to its neighbours, however many wait.
func TestCancelTouchesThreeNodes(t *testing.T) {
	for _, n := range []int{10, 1000, 30000} {
		e := newEngine(1)
		require.True(t, e.From(0).TryAcquire(1))
		fs := make([]waiting.Future, n)
		for i := range fs {
			waiting.Bind(&fs[i], e.From(0), 1)
			require.False(t, fs[i].Poll(nil))
		}
		for _, victim := range []int{n / 2, 1, n - 1} {
			before := snapshot(fs)
			fs[victim].Release()
			touched := 0
			for i, after := range snapshot(fs) {
				if before[i] != after {
					touched++
				}
			}
			require.LessOrEqual(t, touched, 3, "with %d waiters", n)
			require.GreaterOrEqual(t, touched, 2)
		}
		for i := range fs {
			fs[i].Release()
		}
		require.True(t, e.From(0).Release(1))
	}
}
