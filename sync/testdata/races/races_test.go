// Package sync_test has tests for the race detector, in the manner of its own: the order of their
// steps is by time, so that nothing else orders them. TestRacesAreSeen compiles them.
package sync_test

import (
	"context"
	"testing"
	"time"

	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/waiter"
)

func inSteps(first, second func()) {
	new(sync.Mutex).Lock() // The first lock asks whether there are bubbles, and says so to the others.
	c := make(chan bool)
	go func() { first(); c <- true }()
	time.Sleep(100 * time.Millisecond)
	second()
	<-c
}

func TestRaceFailedTryLock(t *testing.T) {
	x, mu := 0, new(sync.Mutex)
	inSteps(
		func() { x++; mu.Lock(); time.Sleep(300 * time.Millisecond); mu.Unlock() },
		func() { mu.TryLock(); x++ },
	)
}

func TestRaceFailedTries(t *testing.T) {
	x, mu := 0, new(sync.RWMutex)
	inSteps(
		func() { x++; mu.Lock(); time.Sleep(300 * time.Millisecond); mu.Unlock() },
		func() { mu.TryRLock(); mu.TryLock(); x++ },
	)
}

func TestRaceReadersWithContexts(t *testing.T) {
	x, mu := 0, new(sync.RWMutex)
	step := func() {
		mu.RLockContext(context.WithoutCancel(t.Context()))
		x++
		mu.RUnlock()
	}
	inSteps(step, step)
}

func TestRaceReadersThatTry(t *testing.T) {
	x, mu := 0, new(sync.RWMutex)
	step := func() {
		mu.TryRLock()
		x++
		mu.RUnlock()
	}
	inSteps(step, step)
}

// Contexts of two types, each of which is new to the locks.
func TestRaceContextsAreLearned(t *testing.T) {
	type one struct{ context.Context }
	type other struct{ context.Context }
	x := 0
	step := func(ctx context.Context) {
		mu := new(sync.Mutex)
		mu.LockContext(ctx)
		mu.Unlock()
	}
	inSteps(func() { x++; step(one{t.Context()}) }, func() { step(other{t.Context()}); x++ })
}

func TestRaceDoneBesideDone(t *testing.T) {
	x, wg, other := 0, new(sync.WaitGroup), new(sync.WaitGroup)
	wg.Add(3)
	other.Add(2)
	inSteps(func() { x++; wg.Done(); other.Done() }, func() { wg.Done(); other.Done(); x++ })
}

func TestNoRaceReadersAndWriters(t *testing.T) {
	x, mu := 0, new(sync.RWMutex)
	read := func() { mu.RLock(); _ = x; mu.RUnlock() }
	write := func() { mu.Lock(); x++; mu.Unlock() }
	for range 100 {
		inTurn(read, read, write, read)
		inTurn(func() { mu.TryRLock(); _ = x; mu.RUnlock() }, func() { mu.LockTimeout(time.Hour); x++; mu.Unlock() })
		var f waiter.Future
		mu.Bind(&f)
		inTurn(func() { mu.RLockTimeout(time.Hour); _ = x; mu.RUnlock() }, func() { <-f.Done(); x++; f.Release() })
		mu.BindRead(&f)
		inTurn(write, func() { <-f.Done(); _ = x; f.Release() }, write)
	}
}

func inTurn(steps ...func()) {
	done := make(chan bool)
	for _, step := range steps {
		go func() { step(); done <- true }()
	}
	for range steps {
		<-done
	}
}

func TestNoRaceWaitsThatGiveUp(t *testing.T) {
	for range 100 {
		x, wg := [2]int{}, new(sync.WaitGroup)
		for i := range x {
			wg.Go(func() { x[i]++ })
		}
		if !wg.WaitTimeout(time.Microsecond) {
			inTurn(wg.Wait, wg.Wait)
			wg.Wait()
		}
		x[0]++
		x[1]++
		wg.Go(func() { x[0]++ })
		wg.WaitContext(t.Context())
		x[0]++
	}
}

// What panics does not leave the detector without sight.
func TestNoRaceNilLocks(t *testing.T) {
	var mu *sync.Mutex
	var rw *sync.RWMutex
	var wg *sync.WaitGroup
	for _, call := range []func(){
		mu.Lock, func() { mu.TryLock() }, mu.Unlock,
		rw.Lock, rw.RLock, func() { rw.TryLock() }, func() { rw.TryRLock() }, rw.Unlock, rw.RUnlock,
		func() { wg.Add(1) }, wg.Done, wg.Wait,
	} {
		x, after := 0, new(sync.Mutex)
		step := func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
				after.Lock()
				x++
				after.Unlock()
			}()
			call()
		}
		inTurn(step, step)
	}
}
