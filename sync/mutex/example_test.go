package mutex_test

import (
	"context"
	"fmt"
	"time"

	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/waiter"
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
func ExampleMutex_Bind() {
	var mu mutex.Mutex
	mu.Lock()

	var f waiter.Future
	mu.Bind(&f)
	defer f.Release() // right on every path
	select {
	case <-f.Done():
		fmt.Println("locked")
	case <-time.After(time.Millisecond):
		fmt.Println("gave up")
	}

	mu.Unlock()
	<-f.Done() // it is still in line
	fmt.Println("locked:", !mu.TryLock())
	f.Release() // the deferred one does nothing then
	fmt.Println("unlocked:", mu.TryLock())
	// Output:
	// gave up
	// locked: true
	// unlocked: true
}

// Data and lock travel together.
func ExampleGuard() {
	type account struct{ balance int }
	a := mutex.NewGuard(account{balance: 10})

	a.Do(func(a *account) { a.balance += 5 })
	a.Do(func(a *account) { fmt.Println(a.balance) })
	// Output: 15
}

// A lock for each of very many things.
func ExamplePacked() {
	balances := make([]int, 10_000)
	locks := mutex.NewPacked(len(balances)) // 2.5 kB

	deposit := func(account, amount int) {
		locks.Lock(account)
		defer locks.Unlock(account)
		balances[account] += amount
	}
	deposit(4711, 10)
	deposit(4711, 5)
	fmt.Println(balances[4711])
	// Output: 15
}

// A lock in a pointer that is there anyway.
func ExamplePointer() {
	type node struct{ visits int }
	var head mutex.Pointer[node]
	head.Store(new(node))

	head.Lock()
	head.Load().visits++
	head.Unlock()

	head.Lock()
	fmt.Println(head.Load().visits)
	head.Unlock()
	// Output: 1
}

// A lock of four bytes.
func ExampleWord() {
	type cell struct {
		mu    mutex.Word
		count int32
	}
	c := new(cell)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()

	c.mu.Lock()
	fmt.Println(c.mu.LockContext(ctx))
	c.count++
	c.mu.Unlock()
	fmt.Println(c.count)
	// Output:
	// context deadline exceeded
	// 1
}

// The lock of a guard in Go's select.
func ExampleGuard_Value() {
	g := mutex.NewGuard(41)
	var f waiter.Future
	g.Mutex().Bind(&f)
	defer f.Release()
	select {
	case <-f.Done():
		*g.Value()++ // locked
		fmt.Println(*g.Value())
	case <-time.After(time.Minute):
	}
	// Output: 42
}
