package sync_test

import (
	"context"
	"fmt"
	"time"

	"github.com/farad-go/farad/sync"
)

// A consumer waits for an item, but not for ever.
func ExampleCond() {
	c := sync.NewCond(new(sync.Mutex))
	var items []string

	get := func(ctx context.Context) (string, error) {
		c.L.Lock()
		defer c.L.Unlock()
		for len(items) == 0 {
			if err := c.WaitContext(ctx); err != nil {
				return "", err // with the lock held, which is unlocked here
			}
		}
		item := items[0]
		items = items[1:]
		return item, nil
	}

	go func() {
		c.L.Lock()
		items = append(items, "tea")
		c.L.Unlock()
		c.Signal()
	}()
	fmt.Println(get(context.Background()))

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := get(ctx)
	fmt.Println(err)
	// Output:
	// tea <nil>
	// context deadline exceeded
}

// A goroutine that polls something now and then, but at once after a signal.
func ExampleCond_WaitTimeout() {
	var (
		mu    sync.Mutex
		c     = sync.NewCond(&mu)
		polls int
	)
	mu.Lock()
	for polls < 3 {
		woken := c.WaitTimeout(time.Millisecond)
		polls++
		fmt.Println("woken:", woken)
	}
	mu.Unlock()
	// Output:
	// woken: false
	// woken: false
	// woken: false
}

func ExampleWaitGroup() {
	var wg sync.WaitGroup
	var sums [3]int
	for i := range sums {
		wg.Go(func() {
			for n := range 10 * (i + 1) {
				sums[i] += n
			}
		})
	}
	wg.Wait()
	fmt.Println(sums)
	// Output: [45 190 435]
}

// A server waits for its requests to end, but not for ever.
func ExampleWaitGroup_WaitContext() {
	var requests sync.WaitGroup
	end := make(chan struct{})
	requests.Go(func() { <-end }) // one that takes long

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := requests.WaitContext(ctx); err != nil {
		fmt.Println("stopped anyway:", err)
	}

	close(end)
	fmt.Println(requests.WaitContext(context.Background()))
	// Output:
	// stopped anyway: context deadline exceeded
	// <nil>
}
