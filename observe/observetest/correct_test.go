//go:build !interleave

package observetest_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/keyed"
	"github.com/farad-go/farad/sync/semaphore"
)

// Correct programs: nothing is reported of these, whether Main or Check looks.

func TestCorrectPermitIsHandedOn(t *testing.T) {
	fault(t)
	s := semaphore.New(2)
	keep = s
	var all sync.WaitGroup
	for range 20 {
		_ = s.Acquire(t.Context(), 1)
		all.Go(func() { s.Release(1) })
	}
	_ = s.Acquire(t.Context(), 2) // until all have ended, and for ever
	all.Wait()
}

// What looks for goroutines that a test has left finds none of ours.
func TestCorrectNoGoroutineIsLeft(t *testing.T) {
	fault(t)
	locktest.Eventually(t, "no goroutine of the monitor", func() bool {
		stacks := make([]byte, 1<<20)
		return !bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("farad/observe.(*monitor)"))
	})
}

// The classic: who has all permits knows that all others have ended.
func TestCorrectAllPermitsAreDropped(t *testing.T) {
	fault(t)
	in(func() {
		s := semaphore.New(2)
		go func() { _ = s.Acquire(context.Background(), 1); s.Release(1) }()
		_ = s.Acquire(context.Background(), 2)
	})
}

func TestCorrectOrderByAddress(t *testing.T) {
	fault(t)
	accounts := make([]account, 8)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				a, b := &accounts[rand.IntN(8)], &accounts[rand.IntN(8)]
				if a == b {
					continue
				}
				if uintptr(unsafe.Pointer(a)) > uintptr(unsafe.Pointer(b)) {
					a, b = b, a
				}
				a.mu.Lock()
				b.mu.Lock()
				b.mu.Unlock()
				a.mu.Unlock()
			}
		})
	}
	all.Wait()
}

func TestCorrectTriesInAnyOrder(t *testing.T) {
	fault(t)
	a, b := new(account), new(account)
	in(func() { a.pay(b) }, func() {
		b.mu.Lock()
		if a.mu.TryLock() {
			a.mu.Unlock()
		}
		b.mu.Unlock()
	})
}

// One goroutine cannot wait for itself.
func TestCorrectBothOrdersInOneGoroutine(t *testing.T) {
	fault(t)
	a, b := new(account), new(account)
	in(func() { a.pay(b); audit(a, b) })
}

// A third lock lets in one at a time.
func TestCorrectGate(t *testing.T) {
	fault(t)
	a, b := new(account), new(account)
	var gate sync.Mutex
	under := func(f func()) func() {
		return func() {
			gate.Lock()
			defer gate.Unlock()
			f()
		}
	}
	in(under(func() { a.pay(b) }), under(func() { audit(a, b) }))
}

func TestCorrectReadersInAnyOrder(t *testing.T) {
	fault(t)
	a, b := new(account), new(account)
	read := func(x, y *account) func() {
		return func() {
			x.rw.RLock()
			defer x.rw.RUnlock()
			y.rw.RLock()
			defer y.rw.RUnlock()
		}
	}
	in(read(a, b), read(b, a))
}

func TestCorrectRecursiveReads(t *testing.T) {
	fault(t)
	var l sync.RWMutex
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				l.RLock()
				l.RLock()
				l.RUnlock()
				l.RUnlock()
			}
		})
	}
	all.Wait()
}

func TestCorrectCond(t *testing.T) {
	fault(t)
	var mu, other sync.Mutex
	c := sync.NewCond(&mu)
	ready := 0
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for ready == 0 {
				c.Wait()
			}
			other.Lock()
			other.Unlock()
		})
	}
	all.Go(func() {
		other.Lock()
		other.Unlock()
		mu.Lock()
		ready = 1
		mu.Unlock()
		c.Broadcast()
	})
	all.Wait()
}

// A mutex as a signal: another goroutine unlocks it.
func TestCorrectUnlockByAnother(t *testing.T) {
	fault(t)
	var mu sync.Mutex
	for range 3 {
		mu.Lock()
		go func() {
			time.Sleep(3 * time.Millisecond) // The monitor may look meanwhile.
			mu.Unlock()
		}()
		mu.Lock()
		mu.Unlock()
	}
}

// A wait that a context ends is no deadlock.
func TestCorrectWaitsThatEnd(t *testing.T) {
	fault(t)
	a, b := new(account), new(account)
	keep = a
	a.mu.Lock()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	in(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		_ = a.mu.LockContext(ctx)
	})
	a.mu.Unlock()
}

var never = make(chan struct{})

// What a goroutine holds that lives is not left over.
func TestCorrectHolderLives(t *testing.T) {
	fault(t)
	a, held := new(account), make(chan struct{})
	keep = a
	go func() {
		a.mu.Lock()
		close(held)
		<-never
		a.mu.Unlock()
	}()
	<-held
}

func TestCorrectUnlockInCleanup(t *testing.T) {
	fault(t)
	global.Lock()
	t.Cleanup(global.Unlock)
}

func TestCorrectLocksAreDropped(t *testing.T) {
	fault(t)
	for range 1000 {
		a := new(account)
		a.rest()
		a.rw.RLock()
		a.rw.RUnlock()
	}
	runtime.GC()
}

func TestCorrectKeys(t *testing.T) {
	fault(t)
	var m keyed.Mutex[string]
	both := func(a, b string) func() {
		return func() {
			m.Lock(a, b)
			m.Unlock(a, b)
		}
	}
	in(both("a", "b"), both("b", "a"))
}

func TestCorrectTree(t *testing.T) {
	fault(t)
	var nodes [3]account
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 { // hand over hand
				nodes[0].mu.Lock()
				for i := range 2 {
					nodes[i+1].mu.Lock()
					nodes[i].mu.Unlock()
				}
				nodes[2].mu.Unlock()
			}
		})
	}
	all.Wait()
}

func TestCorrectPanicIsRecovered(t *testing.T) {
	fault(t)
	var mu sync.Mutex
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	mu.Lock()
	defer mu.Unlock()
	panic("on purpose")
}

func TestCorrectSkip(t *testing.T) {
	fault(t)
	global.RLock()
	t.Cleanup(global.RUnlock)
	t.Skip("with a lock held")
}

func TestCorrectBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault(t)
		a, b := new(account), new(account)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				a.mu.Lock()
				defer a.mu.Unlock()
				time.Sleep(time.Hour)
				b.mu.Lock()
				defer b.mu.Unlock()
				time.Sleep(time.Hour)
			})
		}
		all.Wait()
	})
}

func TestCorrectParallel(t *testing.T) {
	fault(t)
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			fault(t)
			a, b := new(account), new(account)
			in(func() { a.pay(b) }, func() { a.pay(b) })
		})
	}
}
