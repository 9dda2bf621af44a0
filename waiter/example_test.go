package waiter_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/farad-go/farad/waiter"
)

// gate is a lock of the simplest kind: closed until it is opened, once.
type gate struct {
	mu    sync.Mutex
	open  bool
	queue waiter.Queue
}

func (g *gate) Open() {
	var wake waiter.WakeList
	g.mu.Lock()
	g.open = true
	for w := g.queue.PopFront(); w != nil; w = g.queue.PopFront() {
		wake.Add(w, waiter.Granted)
	}
	g.mu.Unlock()
	wake.Wake()
}

func (g *gate) Wait(ctx context.Context) error {
	p := waiter.GetParker(waiter.UntilDone(ctx))
	g.mu.Lock()
	if g.open {
		g.mu.Unlock()
		p.Put()
		return nil
	}
	g.queue.PushBack(&p.Waiter)
	g.mu.Unlock()
	if p.Park(waiter.UntilDone(ctx)) {
		p.Put()
		return nil
	}
	g.mu.Lock()
	removed := g.queue.Remove(&p.Waiter)
	g.mu.Unlock()
	p.Withdraw(!removed) // if Open was faster, its token is taken
	return ctx.Err()
}

// A goroutine waits for a gate, with a context.
func ExampleParker() {
	var g gate
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(g.Wait(ctx))
	go g.Open()
	fmt.Println(g.Wait(context.Background()))
	// Output:
	// context canceled
	// <nil>
}

// The owner of a future arms its node. The goroutine that grants the request delivers the outcome.
func ExampleWaiter() {
	var w waiter.Waiter
	w.Arm(waiter.WakerFunc(func() { fmt.Println("woken") }))
	fmt.Println(w.Status() == waiter.StatusWaiting)
	w.Deliver(waiter.Granted)
	fmt.Println(w.Status() == waiter.StatusComplete, w.Outcome().Err())
	// Output:
	// true
	// woken
	// true <nil>
}

func ExampleQueue() {
	var q waiter.Queue
	ws := make([]waiter.Waiter, 3)
	for i := range ws {
		ws[i].N = int64(i)
		q.PushBack(&ws[i])
	}
	q.Remove(&ws[1])
	for w := q.PopFront(); w != nil; w = q.PopFront() {
		fmt.Println(w.N)
	}
	// Output:
	// 0
	// 2
}

func ExampleWakeList() {
	var wake waiter.WakeList
	ws := make([]waiter.Waiter, 2)
	for i := range ws {
		ws[i].Arm(waiter.WakerFunc(func() { fmt.Println("woken:", i) }))
		wake.Add(&ws[i], waiter.Granted) // with a lock held
	}
	wake.Wake() // after unlock
	// Output:
	// woken: 0
	// woken: 1
}

// An executor's task is its own waker: to be woken is to be queued.
func ExampleWaker() {
	ready := make(chan string, 1)
	var w waiter.Waker = waiter.WakerFunc(func() { ready <- "task 1" })
	w.Wake()
	fmt.Println(<-ready)
	// Output: task 1
}

func ExampleWakerFunc() {
	w := waiter.WakerFunc(func() { fmt.Println("poll me again") })
	w.Wake()
	// Output: poll me again
}

func ExampleOutcome() {
	for _, o := range []waiter.Outcome{waiter.Granted, waiter.Closed, waiter.TooLarge} {
		fmt.Println(o.Err())
	}
	// Output:
	// <nil>
	// farad: closed
	// farad: request exceeds size
}

func ExampleStatus() {
	var w waiter.Waiter
	fmt.Println(w.Status() == waiter.StatusIdle)
	w.Finish(waiter.TooLarge) // no need to wait
	fmt.Println(w.Status() == waiter.StatusComplete, w.Outcome().Err())
	// Output:
	// true
	// true farad: request exceeds size
}
