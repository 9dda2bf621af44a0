package waiter_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/farad-go/farad/waiter"
)

// A gate is a lock of the simplest kind: closed until it is opened, once. It is a [waiter.Request].
type gate struct {
	mu   sync.Mutex
	open bool
	line []*waiter.Waiter
}

// Start implements [waiter.Request].
func (g *gate) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open {
		return waiter.Granted
	}
	w.Arm(waker)
	g.line = append(g.line, w)
	return waiter.Pending
}

// Unlink implements [waiter.Request].
func (g *gate) Unlink(w *waiter.Waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.line, w)
	if i < 0 {
		return false
	}
	g.line = slices.Delete(g.line, i, i+1)
	return true
}

// GiveBack implements [waiter.Request]: a gate has no permits to take back.
func (g *gate) GiveBack(int64) bool { return true }

func (g *gate) Open() {
	g.mu.Lock()
	line := g.line
	g.open, g.line = true, nil
	g.mu.Unlock()
	for _, w := range line {
		w.Deliver(waiter.Granted)
	}
}

// Wait waits until the gate is open, or ctx is done.
func (g *gate) Wait(ctx context.Context) error { return waiter.Wait(waiter.UntilDone(ctx), g, 1) }

// Bind makes f a request to pass.
func (g *gate) Bind(f *waiter.Future) { waiter.Bind(f, g, 1) }

// The author of a lock writes three methods. Goroutines, selects and tasks wait for it then, all in
// one line.
func ExampleRequest() {
	var g gate
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println("goroutine:", g.Wait(ctx))

	var f waiter.Future
	g.Bind(&f)
	defer f.Release()
	select {
	case <-f.Done():
	case <-time.After(time.Millisecond):
		fmt.Println("select:", f.Err())
	}

	go g.Open()
	fmt.Println("goroutine:", g.Wait(context.Background()))
	<-f.Done()
	fmt.Println("select:", f.Err())
	// Output:
	// goroutine: context canceled
	// select: farad: request is pending
	// goroutine: <nil>
	// select: <nil>
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
