package sync_test

import (
	"context"
	"fmt"
	"time"

	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/waiter"
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

// Readers wait by futures for a writer.
func ExampleRWMutex_BindRead() {
	var mu sync.RWMutex
	var first, second waiter.Future
	mu.Lock()
	mu.BindRead(&first)
	mu.BindRead(&second)
	fmt.Println(first.Poll(nil), second.Poll(nil))
	mu.Unlock()
	fmt.Println(first.Poll(nil), second.Poll(nil), mu.TryLock())
	first.Release()
	second.Release()
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
