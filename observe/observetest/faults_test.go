//go:build !interleave

package observetest_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/observe"
	"github.com/farad-go/farad/observe/observetest"
	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/semaphore"
)

// What the re-executed test programs run. A comment "@x" marks the line that a report is to name.

// fault skips a test that is not one of the program's, and checks it unless Main does.
func fault(t *testing.T) {
	t.Helper()
	if name := os.Getenv(only); name != "" && name != t.Name() {
		t.SkipNow()
	}
	switch os.Getenv(variable) {
	case "":
		t.Skip("for re-executed programs")
	case byCheck:
		observetest.Check(t)
	}
}

// in runs each function in a goroutine of its own, one after the other.
func in(functions ...func()) {
	for _, f := range functions {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
	}
}

type account struct {
	mu sync.Mutex
	rw sync.RWMutex
}

func (a *account) pay(to *account) {
	a.mu.Lock() // @payer
	defer a.mu.Unlock()
	to.mu.Lock() // @payee
	defer to.mu.Unlock()
}

func audit(a, b *account) {
	b.mu.Lock() // @audit1
	defer b.mu.Unlock()
	a.mu.Lock() // @audit2
	defer a.mu.Unlock()
}

func TestFaultInversion(t *testing.T) {
	fault(t)
	a, b := new(account), new(account)
	in(func() { a.pay(b) }, func() { audit(a, b) })
}

// The same places once more: one report is enough.
func TestFaultInversionOften(t *testing.T) {
	fault(t)
	for range 3 {
		a, b := new(account), new(account)
		in(func() { a.pay(b) }, func() { audit(a, b) })
	}
}

func TestFaultInversionOfReaders(t *testing.T) {
	fault(t)
	a, b := new(account), new(account)
	in(func() {
		a.rw.RLock() // @reader
		b.mu.Lock()  // @mutex
		b.mu.Unlock()
		a.rw.RUnlock()
	}, func() {
		b.mu.Lock() // @mutex2
		a.rw.Lock() // @writer
		a.rw.Unlock()
		b.mu.Unlock()
	})
}

func TestFaultInSubtest(t *testing.T) {
	if os.Getenv(variable) == "" {
		t.Skip()
	}
	t.Run("good", func(t *testing.T) { fault(t) })
	t.Run("bad", func(t *testing.T) {
		fault(t)
		a, b := new(account), new(account)
		in(func() { a.pay(b) }, func() { audit(a, b) })
	})
}

var meeting = make(chan struct{})

// Two tests at a time: the report is that of the one which has the fault.
func TestFaultParallelGood(t *testing.T) {
	fault(t)
	t.Parallel()
	<-meeting // the other has made the fault, and has not ended
	meeting <- struct{}{}
}

func TestFaultParallelBad(t *testing.T) {
	fault(t)
	t.Parallel()
	a, b := new(account), new(account)
	in(func() {
		a.mu.Lock()
		b.mu.Lock() // @parallel1
		b.mu.Unlock()
		a.mu.Unlock()
	}, func() {
		b.mu.Lock()
		a.mu.Lock() // @parallel2
		a.mu.Unlock()
		b.mu.Unlock()
	})
	meeting <- struct{}{}
	<-meeting
}

func TestFaultInBubble(t *testing.T) {
	if os.Getenv(variable) == "" {
		t.Skip()
	}
	synctest.Test(t, func(t *testing.T) {
		fault(t)
		a, b := new(account), new(account)
		in(func() {
			a.mu.Lock()
			time.Sleep(time.Hour)
			b.mu.Lock() // @bubble1
			b.mu.Unlock()
			a.mu.Unlock()
		}, func() {
			b.mu.Lock()
			time.Sleep(time.Hour)
			a.mu.Lock() // @bubble2
			a.mu.Unlock()
			b.mu.Unlock()
		})
	})
}

func TestFaultDeadlock(t *testing.T) {
	fault(t)
	a, b := new(account), new(account)
	in(a.rest, b.rest)
	var met, all sync.WaitGroup
	met.Add(2)
	all.Go(func() {
		a.mu.Lock() // @dead1
		met.Done()
		met.Wait()
		b.mu.Lock() // @dead2
	})
	all.Go(func() {
		b.mu.Lock() // @dead3
		met.Done()
		met.Wait()
		for !aMutexIsWaitedFor() { // The report names the older wait first.
			time.Sleep(time.Millisecond)
		}
		time.Sleep(10 * time.Millisecond) // The times of two waits are those of two clocks.
		a.mu.Lock()                       // @dead4
	})
	all.Wait()
}

// aMutexIsWaitedFor reports whether a goroutine waits for a mutex.
func aMutexIsWaitedFor() bool {
	return slices.ContainsFunc(observe.Read().Locks, func(l observe.Lock) bool {
		return l.Kind == "sync.Mutex" && len(l.Waiters) > 0
	})
}

func (a *account) rest() {
	a.mu.Lock()
	defer a.mu.Unlock()
}

// A goroutine waits for what it holds, and for all that is known it might be another's.
func TestFaultPossibleDeadlock(t *testing.T) {
	fault(t)
	var mu sync.Mutex
	mu.Lock() // @self1
	mu.Lock() // @self2
}

func TestFaultPermitLeaks(t *testing.T) {
	fault(t)
	s := semaphore.New(2)
	keep = s
	in(func() {
		_, _ = s.AcquirePermit(context.Background(), 1) // @permit
	})
}

func TestFaultPermitHeld(t *testing.T) {
	fault(t)
	s := semaphore.New(2)
	in(func() {
		for i := range 2 {
			_ = s.Acquire(context.Background(), 1) // @acquire
			if i == 0 {
				s.Release(1)
			}
		}
	})
	keep = s
}

var keep any

func TestFaultLockLeaks(t *testing.T) {
	fault(t)
	in(func() {
		new(account).mu.Lock() // @collected
	})
}

var global sync.RWMutex

func TestFaultHeld(t *testing.T) {
	fault(t)
	in(func() {
		global.RLock() // @held
	})
}

func TestFaultPanic(t *testing.T) {
	fault(t)
	global.RLock()
	a, b := new(account), new(account)
	in(func() { a.pay(b) }, func() { audit(a, b) })
	panic("on purpose")
}

func TestFaultFails(t *testing.T) {
	fault(t)
	global.RLock()
	t.Fatal("on purpose")
}

func TestFaultNone(t *testing.T) { fault(t) }
