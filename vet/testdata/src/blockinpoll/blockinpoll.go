package blockinpoll

import (
	"context"
	std "sync"
	"time"

	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

func straight(ctx context.Context, ex *rt.Executor, sem *semaphore.Semaphore, mu *sync.Mutex, c chan int) {
	rt.Go(ex, func(cx *rt.Context) (int, error) {
		if err := sem.Acquire(ctx, 1); err != nil { // want `Acquire blocks the worker of the task: await a future`
			return 0, err
		}
		defer sem.Release(1)
		time.Sleep(time.Second)                     // want `time.Sleep blocks the worker of the task: use rt.Sleep`
		if err := mu.LockContext(ctx); err != nil { // want `LockContext blocks the worker of the task`
			return 0, err
		}
		mu.Unlock()
		return <-c, nil // want `a receive blocks the worker of the task`
	})
}

func named(cx *rt.Context) (int, error) {
	var wg std.WaitGroup
	wg.Wait() // want `Wait blocks the worker of the task`
	var ours sync.WaitGroup
	ours.Wait() // want `Wait blocks the worker of the task`
	return 0, nil
}

func goNamed(ex *rt.Executor) { rt.GoNamed(ex, "name", named) }

type poll struct {
	rt.Task
	c chan int
}

func (p *poll) Poll(cx *rt.Context) bool {
	select { // want `select without default blocks the worker of the task: use rt.Select`
	case <-p.c:
	case <-cx.Context().Done():
	}
	return true
}

func spawn(ex *rt.Executor, c chan int) error { return ex.Spawn(&poll{c: c}) }

func okFutures(ex *rt.Executor, sem *semaphore.Semaphore) {
	rt.Go(ex, func(cx *rt.Context) (int, error) {
		var f waiter.Future
		sem.Bind(&f, 1)
		defer f.Release()
		if err := rt.Await(cx, &f); err != nil {
			return 0, err
		}
		<-f.Done() // it is complete
		return 0, rt.Sleep(cx, time.Second)
	})
}

func fetch(ctx context.Context) error { return nil }

func okOfOthers(ctx context.Context, ex *rt.Executor) {
	rt.Go(ex, func(cx *rt.Context) (int, error) { return 0, fetch(ctx) })
}

func okBlocking(ex *rt.Executor, c chan int) {
	rt.Go(ex, func(cx *rt.Context) (int, error) {
		return rt.Blocking(cx, func() (int, error) {
			time.Sleep(time.Second)
			return <-c, nil
		})
	})
}

func okTries(ex *rt.Executor, sem *semaphore.Semaphore, c chan int) {
	rt.Go(ex, func(cx *rt.Context) (int, error) {
		if sem.TryAcquire(1) {
			sem.Release(1)
		}
		select {
		case n := <-c:
			return n, nil
		default:
		}
		return 0, nil
	})
}

func okBriefly(ex *rt.Executor, mu *sync.Mutex, n *int) {
	rt.Go(ex, func(cx *rt.Context) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		*n++
		return *n, nil
	})
}

func okOutside(ctx context.Context, ex *rt.Executor, sem *semaphore.Semaphore, c chan int) error {
	if err := sem.Acquire(ctx, 1); err != nil {
		return err
	}
	defer sem.Release(1)
	rt.Go(ex, func(cx *rt.Context) (int, error) { return 0, nil })
	time.Sleep(time.Second)
	<-c
	return nil
}

func okGoroutine(ex *rt.Executor, c chan int) {
	rt.Go(ex, func(cx *rt.Context) (int, error) {
		go func() { <-c }()
		return 0, nil
	})
}

type other struct{ c chan int }

// Poll is of no task.
func (o *other) okPoll() { <-o.c }

type step struct {
	rt.Task
	f waiter.Future
}

func (s *step) Poll(cx *rt.Context) bool { return cx.Poll(&s.f) }

func okStep(ex *rt.Executor) error { return ex.Spawn(&step{}) }
