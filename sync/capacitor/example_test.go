package capacitor_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/farad-go/farad/sync/capacitor"
)

func ExampleMutex() {
	var (
		mu    capacitor.Mutex
		count int
		wg    sync.WaitGroup
	)
	for range 100 {
		wg.Go(func() {
			for range 100 {
				mu.Lock()
				count++
				mu.Unlock()
			}
		})
	}
	wg.Wait()

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	mu.Lock()
	fmt.Println(count, mu.LockContext(ctx))
	mu.Unlock()
	// Output: 10000 context deadline exceeded
}

// A goroutine waits for the mutex and for something else at once.
func ExampleLockFuture() {
	var mu capacitor.Mutex
	mu.Lock()
	var f capacitor.LockFuture
	f.Init(&mu)
	defer f.Unlock() // right on every path
	select {
	case <-f.Done():
		fmt.Println("locked")
	case <-time.After(time.Millisecond):
		fmt.Println("not locked in time")
	}
	mu.Unlock()
	<-f.Done()
	fmt.Println(f.Err(), mu.TryLock())
	// Output:
	// not locked in time
	// <nil> false
}

// Readers wait by futures for a writer.
func ExampleRWLockFuture() {
	var mu capacitor.RWLock
	var first, second capacitor.RWLockFuture
	mu.Lock()
	first.InitRead(&mu)
	second.InitRead(&mu)
	fmt.Println(first.Poll(nil), second.Poll(nil))
	mu.Unlock()
	fmt.Println(first.Poll(nil), second.Poll(nil), mu.TryLock())
	first.Unlock()
	second.Unlock()
	// Output:
	// false false
	// true true false
}

// Many read, and now and then a goroutine writes. A goroutine that no longer wants to wait for the
// readers gives up.
func ExampleRWLock() {
	var (
		mu    capacitor.RWLock
		price = map[string]int{"tea": 3}
		wg    sync.WaitGroup
	)
	for i := range 100 {
		wg.Go(func() {
			if i%10 == 0 {
				mu.Lock()
				price["tea"]++
				mu.Unlock()
				return
			}
			mu.RLock()
			_ = price["tea"]
			mu.RUnlock()
		})
	}
	wg.Wait()

	mu.RLock()
	fmt.Println(price["tea"], mu.TryRLock(), mu.LockTimeout(time.Millisecond))
	mu.RUnlock()
	mu.RUnlock()
	// Output: 13 true false
}

// Any lock can be wrapped. With this bound at most 9 later arrivals get the lock first.
func ExampleWrap() {
	mu := capacitor.Wrap(new(sync.Mutex), 10)
	mu.Lock()
	fmt.Println(mu.Gate().Population(), mu.TryLock())
	mu.Unlock()
	// Output: 1 false
}

// Visitors of a cave go in threes, and the next three when all have come out.
func ExampleGate() {
	gate := capacitor.NewGate(3)
	fmt.Println(gate.TryArrive(), gate.TryArrive(), gate.TryArrive(), gate.TryArrive())
	gate.Depart()
	gate.Depart()
	fmt.Println(gate.Population(), gate.TryArrive())
	gate.Depart()
	fmt.Println(gate.Population(), gate.TryArrive())
	// Output:
	// true true true false
	// 1 false
	// 0 true
}

func ExampleOption() {
	mu := capacitor.Wrap(new(sync.Mutex), 2, capacitor.WithExpress(64))
	for range 10 {
		mu.Lock()
		mu.Unlock() //nolint:staticcheck // nothing in between, on purpose
	}
	fmt.Println("no goroutine has passed the gate:", mu.Gate().Platoon() == 0)
	// Output: no goroutine has passed the gate: true
}

func ExampleWithWaitingArray() {
	gate := capacitor.NewGate(10, capacitor.WithWaitingArray(nil))
	if err := gate.Arrive(context.Background()); err != nil {
		return
	}
	defer gate.Depart()
	fmt.Println(gate.Population())
	// Output: 1
}
