package antspool_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/panjf2000/ants/v2"

	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/runtime/antspool"
	"github.com/farad-go/farad/sync/semaphore"
)

// Eight goroutines, but only 100 megabytes at a time, and no caller waits for longer than a minute.
func ExamplePool() {
	a, err := ants.NewPool(8, ants.WithNonblocking(true))
	if err != nil {
		panic(err)
	}
	p := antspool.New(a, antspool.WithGate(semaphore.New(100)))

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := make(chan string)
	for _, megabytes := range []int64{30, 70, 101} {
		err := p.Submit(ctx, megabytes, func() { done <- fmt.Sprint(megabytes, " MB: done") })
		if err != nil {
			fmt.Println(megabytes, "MB:", err)
			continue
		}
		fmt.Println(<-done)
	}
	fmt.Println(p.ReleaseTimeout(time.Minute))
	// Output:
	// 30 MB: done
	// 70 MB: done
	// 101 MB: semaphore: a request for 101 permits exceeds the size, 100
	// <nil>
}

func ExamplePool_Workers() {
	a, err := ants.NewPool(4, ants.WithNonblocking(true))
	if err != nil {
		panic(err)
	}
	p := antspool.New(a)
	defer p.Release()

	ex, err := rt.NewOn(p.Workers(1), rt.WithWorkers(2))
	if err != nil {
		panic(err)
	}
	fmt.Println("left for jobs:", p.Gate().Available())
	_, err = rt.NewOn(p.Workers(1), rt.WithWorkers(3))
	fmt.Println(err)

	h := rt.Go(ex, func(cx *rt.Context) (int, error) {
		product := 0
		err := rt.Await(cx, p.Go(1, func() { product = 6 * 7 })) // meanwhile the worker does other things
		return product, err
	})
	fmt.Println(h.Wait(context.Background()))
	fmt.Println(ex.Shutdown(context.Background()))
	// Output:
	// left for jobs: 2
	// rt: the pool has no goroutine for worker 3 of 3: antspool: not enough permits are free
	// 42 <nil>
	// <nil>
}

// A job waits in the queue of the gate; no goroutine waits for it.
func ExampleJob() {
	a, err := ants.NewPool(8, ants.WithNonblocking(true))
	if err != nil {
		panic(err)
	}
	p := antspool.New(a, antspool.WithGate(semaphore.New(1)))
	defer p.Release()

	proceed := make(chan struct{})
	first := p.Go(1, func() { <-proceed })
	second := p.Go(1, func() { fmt.Println("second") })
	third := p.Go(1, func() { fmt.Println("third") })
	fmt.Println("waiting:", p.Gate().Waiting(), "goroutines:", a.Running())
	fmt.Println("stopped:", second.Stop(), errors.Is(second.Err(), antspool.ErrCancelled))
	close(proceed)
	<-third.Done()
	fmt.Println(first.Err(), third.Err())
	// Output:
	// waiting: 2 goroutines: 1
	// stopped: true true
	// third
	// <nil> <nil>
}

func ExampleOption() {
	a, err := ants.NewPool(8, ants.WithNonblocking(true))
	if err != nil {
		panic(err)
	}
	defer a.Release()
	gate := semaphore.New(2) // for both of them together
	thumbnails := antspool.New(a, antspool.WithGate(gate))
	previews := antspool.New(a, antspool.WithGate(gate))
	rest := antspool.New(a)
	fmt.Println(thumbnails.Gate() == previews.Gate(), rest.Gate().Size())
	// Output:
	// true 8
}
