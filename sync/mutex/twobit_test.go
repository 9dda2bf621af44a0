package mutex_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/mutex"
)

// A packedLock is one of several in a word.
type packedLock struct {
	p mutex.Packed
	i int
}

func (l packedLock) Lock()                                 { l.p.Lock(l.i) }
func (l packedLock) TryLock() bool                         { return l.p.TryLock(l.i) }
func (l packedLock) LockContext(ctx context.Context) error { return l.p.LockContext(ctx, l.i) }
func (l packedLock) LockTimeout(d time.Duration) bool      { return l.p.LockTimeout(d, l.i) }
func (l packedLock) Unlock()                               { l.p.Unlock(l.i) }
func (l packedLock) Waiting() int                          { return l.p.Waiting(l.i) }

// twoBits make locks of each kind.
var twoBits = map[string]func() mutextest.Small{
	"word":    func() mutextest.Small { return new(mutex.Word) },
	"pointer": func() mutextest.Small { return new(mutex.Pointer[int]) },
	"packed":  func() mutextest.Small { return packedLock{mutex.NewPacked(40), 17} },
}

// forEachTwoBit runs f for each kind.
func forEachTwoBit(t *testing.T, f func(t *testing.T, m mutextest.Small)) {
	t.Helper()
	for name, create := range twoBits {
		t.Run(name, func(t *testing.T) { f(t, create()) })
	}
}

// What all mutexes promise but for their order.
func TestTwoBitsContract(t *testing.T) {
	for name, create := range twoBits {
		t.Run(name, func(t *testing.T) { mutextest.RunSmall(t, create) })
	}
}

func TestTwoBitsNameThePackage(t *testing.T) {
	forEachTwoBit(t, func(t *testing.T, m mutextest.Small) {
		require.PanicsWithValue(t, "mutex: unlock of unlocked mutex", m.Unlock)
		//nolint:staticcheck // nil on purpose
		require.PanicsWithValue(t, "mutex: nil context", func() { _ = m.LockContext(nil) })
	})
}

// Sleepers are woken one by one, oldest first. A sleeper that gives up does not swallow a wake.
func TestTwoBitsWakeOneByOne(t *testing.T) {
	forEachTwoBit(t, func(t *testing.T, m mutextest.Small) {
		m.Lock()
		order := make(chan int, 3)
		ctx, cancel := context.WithCancel(bg)
		gaveUp := make(chan error, 1)
		for i := range 3 {
			go func() {
				m.Lock()
				order <- i
				m.Unlock()
			}()
			locktest.AwaitWaiting(t, m, i+1)
		}
		go func() { gaveUp <- m.LockContext(ctx) }()
		locktest.AwaitWaiting(t, m, 4)
		cancel()
		require.ErrorIs(t, locktest.Receive(t, gaveUp), context.Canceled)
		locktest.AwaitWaiting(t, m, 3)
		m.Unlock()
		for i := range 3 {
			require.Equal(t, i, locktest.Receive(t, order))
		}
		m.Lock() // the last holder may still be unlocking
		defer m.Unlock()
	})
}

// One goroutine holds the lock nearly all the time, and takes it again as soon as it has unlocked
// it. So sleepers have futile wakes, and must get the lock all the same.
func TestTwoBitsStarveNone(t *testing.T) {
	forEachTwoBit(t, func(t *testing.T, m mutextest.Small) {
		stop, done := make(chan struct{}), make(chan struct{})
		var holder sync.WaitGroup
		holder.Go(func() {
			for {
				m.Lock()
				time.Sleep(100 * time.Microsecond)
				m.Unlock()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
		go func() {
			defer close(done)
			for range 10 {
				time.Sleep(100 * time.Microsecond)
				m.Lock()
				runtime.Gosched()
				m.Unlock()
			}
		}()
		locktest.Receive(t, done)
		close(stop)
		holder.Wait()
	})
}

func TestPackedLocksAreIndependent(t *testing.T) {
	p := mutex.NewPacked(33)
	require.Equal(t, 33, p.Len())
	for i := range p.Len() {
		require.True(t, p.TryLock(i), "lock %d", i)
	}
	for i := range p.Len() {
		require.False(t, p.TryLock(i), "lock %d", i)
	}
	woken := make(chan int, 2)
	for _, i := range []int{16, 17} {
		go func() { p.Lock(i); woken <- i }()
		locktest.AwaitWaiting(t, packedLock{p, i}, 1)
	}
	p.Unlock(15) // a neighbour's: it wakes none
	require.True(t, p.TryLock(15))
	p.Unlock(17)
	require.Equal(t, 17, locktest.Receive(t, woken))
	require.Equal(t, 1, p.Waiting(16), "woken by another's unlock")
	p.Unlock(16)
	require.Equal(t, 16, locktest.Receive(t, woken))
	for i := range p.Len() {
		p.Unlock(i) // it is still locked, or was taken by who was woken
	}
}

func TestPackedLockersAreTheLocks(t *testing.T) {
	p := mutex.NewPacked(3)
	lockers := []sync.Locker{p.Locker(0), p.Locker(1), p.Locker(2)}
	for i, l := range lockers {
		l.Lock()
		require.False(t, p.TryLock(i), "lock %d", i)
	}
	for i, l := range lockers {
		l.Unlock()
		require.True(t, p.TryLock(i), "lock %d", i)
		p.Unlock(i)
		require.PanicsWithValue(t, "mutex: unlock of unlocked mutex", l.Unlock)
	}
}

func TestPackedChecksNumbers(t *testing.T) {
	var zero mutex.Packed
	require.PanicsWithValue(t, "mutex: lock 0 of 0", func() { zero.Lock(0) })
	p := mutex.NewPacked(3)
	require.PanicsWithValue(t, "mutex: lock 3 of 3", func() { p.Unlock(3) })
	require.PanicsWithValue(t, "mutex: lock -1 of 3", func() { p.TryLock(-1) })
	require.PanicsWithValue(t, "mutex: lock 4 of 3", func() { p.Locker(4) })
	require.PanicsWithValue(t, "mutex: lock 3 of 3", func() { _ = p.LockContext(bg, 3) })
	none := mutex.NewPacked(0)
	require.Zero(t, none.Len())
	require.PanicsWithValue(t, "mutex: lock 0 of 0", func() { none.Unlock(0) })
}

func TestPointerAndLockAreIndependent(t *testing.T) {
	var p mutex.Pointer[int]
	require.Nil(t, p.Load())
	p.Lock()
	require.Nil(t, p.Load(), "locked and nil")
	n := new(int)
	p.Store(n)
	require.Same(t, n, p.Load())
	require.False(t, p.TryLock(), "a store unlocks")
	p.Unlock()
	require.Same(t, n, p.Load())
	p.Store(nil)
	require.Nil(t, p.Load())
	require.True(t, p.TryLock())
	p.Store(nil)
	require.False(t, p.TryLock())
	p.Unlock()
	require.Nil(t, p.Load())
}

func TestPointerRefusesWhatHasNoRoomForBits(t *testing.T) {
	const text = "mutex: Pointer to something that is too small, or not aligned to 4 bytes"
	require.PanicsWithValue(t, text, func() { new(mutex.Pointer[byte]).Store(new(byte)) })
	require.PanicsWithValue(t, text, func() { new(mutex.Pointer[struct{}]).Store(new(struct{})) })
	bytes := new([16]byte)
	var p mutex.Pointer[[8]byte]
	require.PanicsWithValue(t, text, func() { p.Store((*[8]byte)(bytes[1:])) })
	require.Nil(t, p.Load(), "the panic has changed something")
}

// Four bytes, aligned to as many, are just enough.
func TestPointerToFourBytes(t *testing.T) {
	var p mutex.Pointer[int32]
	n := new(int32)
	p.Lock()
	p.Store(n)
	require.Same(t, n, p.Load())
	p.Unlock()
	require.Same(t, n, p.Load())
}

// The collector must see an object through a pointer that is locked, and must not stumble over one
// that is nil.
func TestPointerKeepsItsObjectAlive(t *testing.T) {
	type object struct{ self, number int }
	ps := make([]mutex.Pointer[object], 64)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	var users sync.WaitGroup
	for g := range 4 {
		users.Go(func() {
			for i := range 4000 {
				p := &ps[(i*7+g)%len(ps)]
				p.Lock()
				switch o := p.Load(); {
				case o == nil:
					p.Store(&object{i, -i})
				case o.self != -o.number:
					t.Error("the object was collected")
				case i%3 == 0:
					p.Store(nil)
				default:
					p.Store(&object{i, -i})
				}
				_ = make([]object, 64) // what is freed is used again
				p.Unlock()
			}
		})
	}
	users.Wait()
	close(stop)
	wg.Wait()
	for i := range ps {
		if o := ps[i].Load(); o != nil {
			require.Equal(require.GoOn(t), o.self, -o.number)
		}
	}
}
