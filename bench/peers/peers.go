package peers

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/neilotoole/fifomu"
	"golang.org/x/sync/semaphore"

	"github.com/farad-go/farad/bench/measure"
	farad "github.com/farad-go/farad/sync/semaphore"
)

// A Locker is the call form that everything is measured through, so that all pay for the same
// interface calls.
type Locker interface {
	Acquire(ctx context.Context, n int64) error
	Release(n int64)
}

// A Maker is a semaphore to measure.
type Maker struct {
	Name string
	Make func(permits int64) Locker
}

// Lockers returns the semaphores that can make a goroutine wait.
func Lockers() []Maker {
	return []Maker{
		{NameXSync, func(permits int64) Locker { return semaphore.NewWeighted(permits) }},
		{NameChannel, func(permits int64) Locker { return make(Channel, permits) }},
		{measure.NameFarad, func(permits int64) Locker { return farad.New(permits) }},
	}
}

// LockerOf returns the one of that name.
func LockerOf(name string) Maker {
	all := Lockers()
	return all[slices.IndexFunc(all, func(m Maker) bool { return m.Name == name })]
}

// floor is what an uncontended semaphore cannot beat: one compare-and-swap each way. It does not
// wait: permits would become negative under contention.
type floor struct{ permits atomic.Int64 }

// NewFloor returns a floor with free permits.
func NewFloor(permits int64) Locker {
	f := new(floor)
	f.permits.Store(permits)
	return f
}

// Acquire takes n permits, whether they are there or not.
func (f *floor) Acquire(_ context.Context, n int64) error {
	for {
		o := f.permits.Load()
		if f.permits.CompareAndSwap(o, o-n) {
			return nil
		}
	}
}

// Release gives n permits back.
func (f *floor) Release(n int64) {
	for {
		o := f.permits.Load()
		if f.permits.CompareAndSwap(o, o+n) {
			return
		}
	}
}

// Channel is the semaphore that Go programs make themselves: a buffered channel whose elements are
// the permits taken.
type Channel chan struct{}

// Acquire takes one permit. It selects only if the context can end, as a careful program would.
func (c Channel) Acquire(ctx context.Context, _ int64) error {
	done := ctx.Done()
	if done == nil {
		c <- struct{}{}
		return nil
	}
	select {
	case c <- struct{}{}:
		return nil
	case <-done:
		return ctx.Err()
	}
}

// Release gives one permit back.
func (c Channel) Release(int64) { <-c }

// fifo is a fifomu.Mutex as a semaphore of one permit.
type fifo struct{ mu fifomu.Mutex }

// NewFifomu returns a free one. It has one permit, whatever the argument.
func NewFifomu(int64) Locker { return new(fifo) }

// Acquire locks. It calls LockContext only if the context can end.
func (f *fifo) Acquire(ctx context.Context, _ int64) error {
	if ctx.Done() == nil {
		f.mu.Lock()
		return nil
	}
	return f.mu.LockContext(ctx)
}

// Release unlocks.
func (f *fifo) Release(int64) { f.mu.Unlock() }

// HasPermits returns an error unless exactly want permits are free.
func HasPermits(s TryLocker, want int) error {
	for free := range want {
		if !s.TryAcquire(1) {
			return fmt.Errorf("permits are lost: %d of %d are free at the end", free, want)
		}
	}
	if s.TryAcquire(1) {
		return fmt.Errorf("there are more permits than the %d that there were", want)
	}
	for range want {
		s.Release(1)
	}
	return nil
}

// PassOn waits for a permit of l, and passes it on to the next.
func PassOn(ctx context.Context, l Locker) {
	if err := l.Acquire(ctx, 1); err != nil {
		panic(err)
	}
	l.Release(1)
}

// A TryLocker can also try to take a permit.
type TryLocker interface {
	Locker
	TryAcquire(n int64) bool
}

// TryAcquire takes a permit if one is free.
func (c Channel) TryAcquire(int64) bool {
	select {
	case c <- struct{}{}:
		return true
	default:
		return false
	}
}
