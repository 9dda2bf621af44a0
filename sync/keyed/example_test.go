package keyed_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/farad-go/farad/sync/keyed"
)

// One at a time for each user, and different users at the same time.
func ExampleMutex() {
	var users keyed.Mutex[string]
	visits := map[string]*int{"ann": new(int), "bob": new(int)}

	var wg sync.WaitGroup
	for range 100 {
		for user, n := range visits {
			wg.Go(func() {
				users.Lock(user)
				defer users.Unlock(user)
				*n++
			})
		}
	}
	wg.Wait()
	fmt.Println(*visits["ann"], *visits["bob"])
	fmt.Println("keys in use:", users.Len())
	// Output:
	// 100 100
	// keys in use: 0
}

// Giving up with a context, and after a time.
func ExampleMutex_LockContext() {
	var rows keyed.Mutex[int]
	rows.Lock(17)

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println(rows.LockContext(ctx, 17))
	fmt.Println(rows.LockTimeout(time.Millisecond, 17))
	fmt.Println(rows.TryLock(18))
	// Output:
	// context deadline exceeded
	// false
	// true
}

// Two accounts at once, without an order of locks to keep to.
func ExampleMutex_Lock() {
	var accounts keyed.Mutex[string]
	balances := map[string]*int{"ann": new(int), "bob": new(int)}
	transfer := func(from, to string, amount int) {
		accounts.Lock(from, to)
		defer accounts.Unlock(from, to)
		*balances[from] -= amount
		*balances[to] += amount
	}

	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() { transfer("ann", "bob", 3) })
		wg.Go(func() { transfer("bob", "ann", 2) })
	}
	wg.Wait()
	fmt.Println(*balances["ann"], *balances["bob"])
	// Output: -100 100
}

// Many read a file, or one writes it.
func ExampleRWMutex() {
	var files keyed.RWMutex[string]
	files.RLock("a.txt")
	fmt.Println(files.TryRLock("a.txt"), files.TryLock("a.txt"), files.TryLock("b.txt"))
	files.RUnlock("a.txt")
	files.RUnlock("a.txt")
	fmt.Println(files.TryLock("a.txt"))
	// Output:
	// true false true
	// true
}

// At most two requests to each host at a time.
func ExampleSemaphore() {
	hosts := keyed.NewSemaphore[string](2)
	ctx := context.Background()
	for range 2 {
		if err := hosts.Acquire(ctx, "example.org", 1); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(hosts.TryAcquire("example.org", 1), hosts.TryAcquire("example.com", 1))
	hosts.Release("example.org", 2)
	fmt.Println(hosts.TryAcquire("example.org", 1))
	// Output:
	// false true
	// true
}
