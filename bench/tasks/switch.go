package tasks

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// A yielder yields, and does nothing else.
type yielder struct {
	rt.Task
	left  int
	ended *sync.WaitGroup
}

// Poll implements [rt.Poller].
func (y *yielder) Poll(cx *rt.Context) bool {
	if y.left--; y.left >= 0 {
		return cx.Yield()
	}
	y.ended.Done()
	return true
}

// pollYields measures the bare yield of a poll task.
func pollYields(l *measure.Lap) error {
	ex := executorOf(l)
	var ended sync.WaitGroup
	ended.Add(1)
	y := &yielder{left: l.Todo, ended: &ended}
	err := l.Clock(l.Todo, func() error {
		if err := ex.Spawn(y); err != nil {
			return err
		}
		ended.Wait()
		return nil
	})
	return errors.Join(err, shutdown(ex))
}

// floorPairs measures acquire and release of the floor: two atomic operations that read and write.
func floorPairs(l *measure.Lap) error {
	return l.Clock(l.Todo, func() error { return pairs(peers.NewFloor(1), l.Todo) })
}

// pairs is not inlined, so that the compiler does not see which locker it is.
//
//go:noinline
func pairs(k peers.Locker, n int) error {
	for range n {
		if err := k.Acquire(context.Background(), 1); err != nil {
			return err
		}
		k.Release(1)
	}
	return nil
}

// straight runs f in a straight-line task.
func straight(l *measure.Lap, f func(cx *rt.Context) error) error {
	ex := executorOf(l)
	h := rt.Go(ex, func(cx *rt.Context) (struct{}, error) { return struct{}{}, f(cx) })
	_, err := h.Wait(context.Background())
	return errors.Join(err, shutdown(ex))
}

// awaitReady measures a wait that is none: the permit is free.
func awaitReady(l *measure.Lap) error {
	return straight(l, func(cx *rt.Context) error {
		var f waiter.Future
		s := semaphore.New(1)
		return l.Clock(l.Todo, func() error {
			for range l.Todo {
				s.Bind(&f, 1)
				if err := rt.Await(cx, &f); err != nil {
					return err
				}
				f.Release()
			}
			return nil
		})
	})
}

// pollReady is the loop of awaitReady without Await.
func pollReady(l *measure.Lap) error {
	var f waiter.Future
	s := semaphore.New(1)
	return l.Clock(l.Todo, func() error {
		for range l.Todo {
			s.Bind(&f, 1)
			if !f.Poll(nil) {
				return errors.New("the permit is not free")
			}
			if err := f.Err(); err != nil {
				return err
			}
			f.Release()
		}
		return nil
	})
}

// awaitYield measures a straight-line task that pauses and is resumed, alone.
func awaitYield(l *measure.Lap) error {
	return straight(l, func(cx *rt.Context) error {
		return l.Clock(l.Todo, func() error {
			for range l.Todo {
				if err := rt.Yield(cx); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// awaitHandOff measures two straight-line tasks that hand one permit to each other. Both wait when
// the first gets it, so that a release hands it over, and its task queues up again at once: each
// turn is one switch, and no other happens.
func awaitHandOff(l *measure.Lap) error {
	ex := executorOf(l)
	s := semaphore.New(1)
	if !s.TryAcquire(1) {
		return errors.New("a new semaphore has no permit")
	}
	each, all := l.Share(2)
	turns := func(cx *rt.Context) (struct{}, error) {
		var f waiter.Future
		for range each {
			s.Bind(&f, 1)
			if err := rt.Await(cx, &f); err != nil {
				return struct{}{}, err
			}
			f.Release()
		}
		return struct{}{}, nil
	}
	ping, pong := rt.Go(ex, turns), rt.Go(ex, turns)
	whenWaiting(s, 2)
	err := l.Clock(all, func() error {
		s.Release(1)
		_, err1 := ping.Wait(context.Background())
		_, err2 := pong.Wait(context.Background())
		return errors.Join(err1, err2)
	})
	if err = errors.Join(err, shutdown(ex)); err != nil {
		return err
	}
	// One task has the last turn for itself, if it comes to that.
	if polls := ex.Stats().Polls; polls+1 < uint64(all) {
		return fmt.Errorf("%d turns in %d polls: the permit was not handed over", all, polls)
	}
	return nil
}

// whenWaiting returns when n wait for permits of s.
func whenWaiting(s *semaphore.Semaphore, n int64) {
	for s.Waiting() < int(n) {
		time.Sleep(100 * time.Microsecond)
	}
}

// coroutineSwitches measures a bare coroutine: into it and back.
func coroutineSwitches(l *measure.Lap) error {
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		for yield(struct{}{}) {
		}
	})
	defer stop()
	return l.Clock(l.Todo, func() error {
		for range l.Todo {
			if _, ok := next(); !ok {
				return errors.New("the coroutine has ended")
			}
		}
		return nil
	})
}
