package sync_test

import (
	"context"
	"fmt"
	"time"

	"github.com/farad-go/farad/sync"
)

func ExampleMutex() {
	var (
		mu    sync.Mutex
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
	var mu sync.Mutex
	mu.Lock()
	var f sync.LockFuture
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
	var mu sync.RWMutex
	var first, second sync.RWLockFuture
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
func ExampleRWMutex() {
	var (
		mu    sync.RWMutex
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
