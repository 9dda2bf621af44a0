package waiter_test

import (
	"fmt"
	"time"

	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// A goroutine waits for a permit and for something else.
func ExampleFuture() {
	sem := semaphore.New(1)
	sem.TryAcquire(1)

	var f waiter.Future
	sem.Bind(&f, 1)
	defer f.Release() // right on every path
	select {
	case <-f.Done():
		fmt.Println("acquired")
	case <-time.After(time.Millisecond):
		fmt.Println("gave up")
	}

	sem.Release(1)
	select {
	case <-f.Done(): // it is still in the queue, and now granted
		fmt.Println("acquired:", f.Err())
	case <-time.After(time.Minute):
		fmt.Println("gave up")
	}
	f.Release() // gives the permit back; the deferred one does nothing then
	fmt.Println(sem.Available())
	// Output:
	// gave up
	// acquired: <nil>
	// 1
}

// A task polls, and is woken when it is worth polling again.
func ExampleFuture_Poll() {
	sem := semaphore.New(1)
	sem.TryAcquire(1)
	runQueue := make(chan string, 1)

	var f waiter.Future
	sem.Bind(&f, 1)
	fmt.Println(f.Poll(waiter.WakerFunc(func() { runQueue <- "the task" })))
	sem.Release(1)
	fmt.Println(<-runQueue, f.Poll(nil), f.Err())
	f.Release()
	// Output:
	// false
	// the task true <nil>
}

// What is needed for longer than the future is taken from it.
func ExampleFuture_Take() {
	var mu sync.Mutex
	var f waiter.Future
	lock := func(patience <-chan time.Time) error {
		mu.Bind(&f)
		defer f.Release() // does nothing after Take
		select {
		case <-f.Done():
			return f.Take()
		case <-patience:
			return f.Err()
		}
	}
	fmt.Println(lock(nil), mu.TryLock())
	fmt.Println(lock(time.After(time.Millisecond)))
	mu.Unlock()
	fmt.Println(mu.TryLock())
	// Output:
	// <nil> false
	// farad: request is pending
	// true
}
