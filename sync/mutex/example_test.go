package mutex_test

import (
	"context"
	"fmt"
	"time"

	"github.com/farad-go/farad/sync/mutex"
)

// Giving up with a context, and after a time.
func ExampleMutex() {
	var mu mutex.Mutex
	mu.Lock()

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println(mu.LockContext(ctx))
	fmt.Println(mu.LockTimeout(time.Millisecond))

	mu.Unlock()
	fmt.Println(mu.LockContext(context.Background()))
	mu.Unlock()
	// Output:
	// context deadline exceeded
	// false
	// <nil>
}

// A lock in Go's select.
func ExampleLockFuture() {
	var mu mutex.Mutex
	mu.Lock()

	var f mutex.LockFuture
	f.Init(&mu)
	defer f.Cancel() // right on every path
	select {
	case <-f.Done():
		fmt.Println("locked")
	case <-time.After(time.Millisecond):
		fmt.Println("gave up")
	}

	mu.Unlock()
	<-f.Done() // it is still in line
	if f.Err() == nil {
		fmt.Println("locked")
		mu.Unlock()
	}
	// Output:
	// gave up
	// locked
}

// Data and lock travel together.
func ExampleGuard() {
	type account struct{ balance int }
	a := mutex.NewGuard(account{balance: 10})

	a.Do(func(a *account) { a.balance += 5 })
	a.Do(func(a *account) { fmt.Println(a.balance) })
	// Output: 15
}
