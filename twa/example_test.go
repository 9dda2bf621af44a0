package twa_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// At most two workers at a time, in the order in which they come.
func ExampleSemaphore() {
	s := twa.New(2)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if err := s.Acquire(context.Background(), 1); err != nil {
				return
			}
			defer s.Release(1)
			// work
		})
	}
	wg.Wait()
	fmt.Println(s.Available(), "of", s.Size(), "permits are free")
	fmt.Println(s.AcquireTimeout(time.Second, 3))
	// Output:
	// 2 of 2 permits are free
	// twa: a request for 3 permits exceeds the size, 2
}

func ExampleMutex() {
	var m twa.Mutex
	m.Lock()
	fmt.Println(m.TryLock(), m.LockTimeout(time.Millisecond))
	m.Unlock()
	fmt.Println(m.TryLock())
	// Output:
	// false false
	// true
}

// A task polls, and is woken when it is worth polling again.
func ExampleMutex_Bind() {
	var m twa.Mutex
	m.Lock()
	runQueue := make(chan string, 1)

	var f waiter.Future
	m.Bind(&f)
	fmt.Println(f.Poll(waiter.WakerFunc(func() { runQueue <- "the task" })))
	m.Unlock()
	fmt.Println(<-runQueue, f.Poll(nil), f.Err())
	f.Release()
	// Output:
	// false
	// the task true <nil>
}

// Waiting for what one likes: a key, and a question.
func ExampleArray_WaitUntil() {
	array := twa.NewArray(64)
	var ready atomic.Bool
	go func() {
		ready.Store(true)
		array.Signal(&ready)
	}()
	fmt.Println(array.WaitUntil(context.Background(), &ready, ready.Load))
	// Output: <nil>
}

// Waiting without a question to hand over: note the sequence, look, and wait for a signal if one
// does not like what one sees. A signal that comes in between is not missed, for it moves the
// sequence.
func ExampleArray_Monitor() {
	array, ctx := twa.NewArray(64), context.Background()
	var stage atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 3 {
			stage.Add(1)
			array.Signal(&stage)
		}
	})
	var seq twa.Sequence
	for {
		seq = array.Monitor(&stage)
		if stage.Load() == 3 {
			break
		}
		if err := array.Wait(ctx, &stage, seq); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("stage", stage.Load())

	wg.Wait()
	seq = array.Monitor(&stage)
	array.Signal(&stage)
	fmt.Println(array.Wait(ctx, &stage, seq), "at once:", array.Monitor(&stage)-seq, "signal since")
	// Output:
	// stage 3
	// <nil> at once: 1 signal since
}

// Semaphores with a waiting array of their own are not slowed down by what others in the process
// wait for.
func ExampleArray() {
	array := twa.NewArray(1024)
	read, write := twa.New(8, twa.WithWaitingArray(array)), twa.New(1, twa.WithWaitingArray(array))
	fmt.Println(read.TryAcquire(8), write.TryAcquire(1))
	// Output: true true
}
