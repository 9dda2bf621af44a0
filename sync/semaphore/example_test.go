package semaphore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// At most two of eight workers are at it at any time.
func ExampleSemaphore() {
	sem := semaphore.New(2)
	var now atomic.Int64
	var tooMany atomic.Bool
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := sem.Acquire(context.Background(), 1); err != nil {
				return
			}
			defer sem.Release(1)
			if now.Add(1) > 2 {
				tooMany.Store(true)
			}
			time.Sleep(time.Millisecond)
			now.Add(-1)
		})
	}
	wg.Wait()
	fmt.Println(tooMany.Load(), sem.Available())
	// Output: false 2
}

// A weighted request: the semaphore counts bytes.
func ExampleSemaphore_Acquire() {
	memory := semaphore.New(1 << 20)
	fmt.Println(memory.Acquire(context.Background(), 900<<10))

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	fmt.Println(memory.Acquire(ctx, 200<<10)) // waits until ctx is done
	fmt.Println(memory.Acquire(ctx, 2<<20))   // done context
	fmt.Println(memory.Acquire(context.Background(), 2<<20))
	memory.Release(900 << 10)
	// Output:
	// <nil>
	// context deadline exceeded
	// context deadline exceeded
	// semaphore: a request for 2097152 permits exceeds the size, 1048576
}

func ExampleSemaphore_AcquireTimeout() {
	sem := semaphore.New(1)
	fmt.Println(sem.AcquireTimeout(time.Second, 1))
	fmt.Println(sem.AcquireTimeout(time.Millisecond, 1))
	// Output:
	// <nil>
	// context deadline exceeded
}

func ExampleSemaphore_Resize() {
	sem := semaphore.New(4)
	sem.TryAcquire(4)
	sem.Resize(2) // two too many are held now
	fmt.Println(sem.Available())
	sem.Release(3)
	fmt.Println(sem.Available())
	// Output:
	// -2
	// 1
}

// Under overload a request that could only queue is told at once.
func ExampleOption() {
	sem := semaphore.New(1, semaphore.WithMaxWaiting(1))
	sem.TryAcquire(1)
	var first, second waiter.Future
	sem.Bind(&first, 1)
	sem.Bind(&second, 1)
	fmt.Println(first.Poll(nil), second.Poll(nil), second.Take())
	first.Release()
	// Output: false true farad: too many waiters
}

// Where many processors acquire and release all the time, they do it by additions, which never have
// to repeat.
func ExampleWithWaitingArray() {
	own := twa.NewArray(1024) // or nil: where all such semaphores of the process have their waiters
	sem := semaphore.New(2, semaphore.WithWaitingArray(own))
	sem.TryAcquire(2)

	var f waiter.Future // as with any semaphore
	sem.Bind(&f, 1)
	fmt.Println(f.Poll(nil), sem.Waiting())
	sem.Release(2)
	fmt.Println(f.Poll(nil), f.Err(), sem.Available(), "of", sem.Size())
	f.Release()
	// Output:
	// false 1
	// true <nil> 1 of 2
}

// Where very many goroutines want permits for a moment each, it is quicker to let those that run
// pass those that sleep, within a bound.
func ExampleWithCapacitor() {
	const express = 2 // places of the lane; 256 would be right as a rule
	sem := semaphore.New(2, semaphore.WithCapacitor(1, express))
	sem.TryAcquire(2)

	var large waiter.Future
	sem.Bind(&large, 2)
	fmt.Println(large.Poll(nil)) // it waits
	sem.Release(1)
	for range express + 1 {
		if sem.TryAcquire(1) { // a permit is free that is not enough for the one that waits
			fmt.Println("overtaken")
			sem.Release(1)
		}
	}
	sem.Release(1)
	fmt.Println(large.Poll(nil), large.Err())
	large.Release()
	// Output:
	// false
	// overtaken
	// overtaken
	// true <nil>
}

// One tenant floods the semaphore, and another still gets every second permit.
func ExampleWithShares() {
	sem := semaphore.New(1, semaphore.WithShares(nil)) // nil: all tenants weigh the same
	sem.TryAcquire(1)

	names := []string{"flood", "flood", "flood", "flood", "modest", "modest"}
	requests := make([]waiter.Future, len(names))
	for i := range requests {
		sem.As(names[i]).Bind(&requests[i], 1)
		requests[i].Poll(nil)
	}
	sem.Release(1)
	for sem.Waiting() > 0 {
		for i := range requests {
			if requests[i].Complete() {
				fmt.Print(names[i], " ")
				requests[i].Release()
			}
		}
	}
	// Output: flood flood modest flood modest
}

// A request of a tenant has the verbs of the semaphore.
func ExampleTenant() {
	sem := semaphore.New(2, semaphore.WithShares(nil))
	acme := sem.As("acme")
	if err := acme.Acquire(context.Background(), 1); err != nil {
		fmt.Println(err)
		return
	}
	defer sem.Release(1)
	fmt.Println(sem.Available(), "is free")
	// Output: 1 is free
}

// A request of a user comes before those of batch jobs. These age, so that they do not starve.
func ExampleWithPriorities() {
	const user, batch = 0, 1
	sem := semaphore.New(1, semaphore.WithPriorities(2, 1000))
	sem.TryAcquire(1)

	var first, second, urgent waiter.Future
	sem.As(batch).Bind(&first, 1)
	sem.As(batch).Bind(&second, 1)
	sem.As(user).Bind(&urgent, 1)
	for _, f := range []*waiter.Future{&first, &second, &urgent} {
		f.Poll(nil)
	}
	sem.Release(1) // to the first, which was next already
	first.Release()
	fmt.Println("the user's:", urgent.Complete(), "the second job:", second.Complete())
	urgent.Release()
	second.Release()
	// Output: the user's: true the second job: false
}

// A long line is cut short, and who is refused learns why, and when to come back.
func ExampleWithQueue() {
	sem := semaphore.New(1, semaphore.WithQueue(semaphore.Queue{MaxWaiting: 100, RefuseLate: true}))
	sem.SetQueue(semaphore.Queue{MaxWaiting: 1}) // at any time
	sem.TryAcquire(1)

	var next waiter.Future
	sem.Bind(&next, 1)
	next.Poll(nil)
	err := sem.Acquire(context.Background(), 1)
	if refusal, ok := errors.AsType[*semaphore.Refusal](err); ok {
		fmt.Println(refusal.Err, refusal.RetryAfter > 0) // too few were served to know when
	}
	fmt.Println(errors.Is(err, semaphore.ErrQueueFull))
	next.Release()
	// Output:
	// farad: too many waiters false
	// true
}

func ExamplePermit() {
	sem := semaphore.New(3)
	p, err := sem.AcquirePermit(context.Background(), 3)
	if err != nil {
		return
	}
	defer p.Release() // whatever is left of it
	part := p.Split(2)
	part.Release()
	part.Release() // does nothing
	fmt.Println(sem.Available(), p.N())

	none, err := sem.AcquirePermit(context.Background(), 4)
	none.Release() // a permit that was not acquired releases nothing
	fmt.Println(errors.Is(err, semaphore.ErrTooLarge), sem.Available())
	// Output:
	// 2 1
	// true 2
}

// Users of golang.org/x/sync/semaphore change the import path.
func ExampleNewWeighted() {
	sem := semaphore.NewWeighted(10)
	fmt.Println(sem.TryAcquire(7), sem.TryAcquire(7))
	sem.Release(7)
	// Output: true false
}

// A tenant may hold one permit of two, so the other one is free for the rest.
func ExampleWithMaxInUse() {
	sem := semaphore.New(2, semaphore.WithShares(nil), semaphore.WithMaxInUse(func(any) int64 { return 1 }))
	greedy, modest := sem.As("greedy"), sem.As("modest")
	fmt.Println(greedy.TryAcquire(1), greedy.TryAcquire(1), modest.TryAcquire(1))
	greedy.Release(1)
	modest.Release(1)
	// Output: true false true
}

// A user of an organisation is within it. Organisations take turns, and within each its users do.
func ExampleWithParent() {
	type user struct{ organisation, name string }
	sem := semaphore.New(1, semaphore.WithShares(nil), semaphore.WithParent(func(tenant any) any {
		if u, ok := tenant.(user); ok {
			return u.organisation
		}
		return nil // an organisation
	}))
	sem.TryAcquire(1)

	users := []user{{"acme", "ann"}, {"acme", "ben"}, {"acme", "cem"}, {"bolt", "dan"}}
	requests := make([]waiter.Future, len(users))
	for i, u := range users {
		sem.As(u).Bind(&requests[i], 1)
		requests[i].Poll(nil)
	}
	sem.Release(1)
	for range users {
		for i := range requests {
			if requests[i].Complete() && requests[i].Err() == nil && users[i].name != "" {
				fmt.Print(users[i].name, " ")
				users[i].name = ""
				requests[i].Release()
				break
			}
		}
	}
	// Output: ann dan ben cem
}

// A job reports how many rows it has read. The next permits go to the tenant that has read fewer.
func ExampleTenant_ReleaseCost() {
	sem := semaphore.New(1, semaphore.WithShares(nil), semaphore.WithDebit(semaphore.DebitCost))
	job := func(tenant string, rows int64) error {
		if err := sem.As(tenant).Acquire(context.Background(), 1); err != nil {
			return err
		}
		defer func() { sem.As(tenant).ReleaseCost(1, rows) }()
		return nil // read them
	}
	fmt.Println(job("acme", 1_000_000), job("bolt", 10))
	// Output: <nil> <nil>
}
