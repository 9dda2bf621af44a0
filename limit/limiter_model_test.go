//go:build interleave

package limit_test

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync/semaphore"
)

// counted is a controller that returns 2, 3, 1, 2 and so on, and notices a second caller.
type counted struct {
	x       *interleave.Run
	updates int64
	inside  interleave.Int64
}

func (c *counted) Limit() int64 { return 1 + (c.updates+1)%3 }

func (c *counted) Update(limit.Sample) int64 {
	c.x.Assert(c.inside.Add(1) == 1, "two update at a time")
	c.updates++
	c.inside.Add(-1)
	return c.Limit()
}

// The permits of a request are released once, whichever goroutine ends it.
func TestModelPermitsEndOnce(t *testing.T) {
	ends := map[string]func(*limit.Permit){"dropped": (*limit.Permit).Dropped, "ignore": (*limit.Permit).Ignore}
	for first, end := range ends {
		for second, other := range ends {
			t.Run(first+", "+second, func(t *testing.T) {
				interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
					c := &counted{x: x}
					l := limit.New(semaphore.New(0), c, limit.WithWindow(0, 1))
					p, _ := l.TryAcquire(2)
					x.Name("l", l)
					x.Name("p", p)
					x.Go("a", func() { end(p) })
					x.Go("b", func() { other(p) })
					x.Wait()
					x.Assert(l.InFlight() == 0, "%d in flight", l.InFlight())
					atRest(x, l, c)
				})
			})
		}
	}
}

// An end of a window while another updates leaves the limit to the next window; the size is the
// last limit.
func TestModelTheSizeIsTheLastLimit(t *testing.T) {
	t.Run("requests", func(t *testing.T) {
		interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 3}, func(x *interleave.Run) {
			c := &counted{x: x}
			l := limit.New(semaphore.New(0), c, limit.WithWindow(0, 1))
			x.Name("l", l)
			for _, name := range []string{"a", "b"} {
				x.Go(name, func() {
					for range 2 {
						if p, ok := l.TryAcquire(1); ok {
							p.Dropped()
						}
					}
				})
			}
			x.Wait()
			atRest(x, l, c)
		})
	})
}

// One goroutine at a time has the controller and resizes, beside one that waits and is granted or
// gives up.
func TestModelOneUpdaterAtATime(t *testing.T) {
	t.Run("beside a waiter", func(t *testing.T) {
		interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2}, func(x *interleave.Run) {
			c := &counted{x: x}
			l := limit.New(semaphore.New(0), c, limit.WithWindow(0, 1))
			p, _ := l.TryAcquire(1)
			q, _ := l.TryAcquire(1)
			ctx := x.NewContext()
			x.Name("l", l)
			x.Go("a", p.Dropped)
			x.Go("b", q.Dropped)
			x.Go("waiter", func() {
				if r, err := l.Acquire(ctx, 1); err == nil {
					r.Dropped()
				}
			})
			x.Go("canceller", ctx.Cancel)
			x.Wait()
			atRest(x, l, c)
		})
	})
}

// What is counted as in flight is never more than the permits that there are.
func TestModelInFlightIsHeld(t *testing.T) {
	t.Run("three for two", func(t *testing.T) {
		interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
			l := limit.New(semaphore.New(0), &limit.AIMD{Max: 2, Min: 2})
			x.Name("l", l)
			for _, name := range []string{"a", "b", "c"} {
				x.Go(name, func() {
					if p, ok := l.TryAcquire(1); ok {
						n := l.InFlight()
						x.Assert(n <= 2, "%d in flight", n)
						p.Ignore()
					}
				})
			}
			x.Wait()
		})
	})
}

func atRest(x *interleave.Run, l *limit.Limiter, c *counted) {
	sem := l.Semaphore()
	x.Assert(l.Limit() == c.Limit(), "the limit is %d, not %d", l.Limit(), c.Limit())
	x.Assert(sem.Size() == c.Limit(), "the size is %d, not %d", sem.Size(), c.Limit())
	x.Assert(sem.Available() == c.Limit(), "%d of %d permits are free", sem.Available(), c.Limit())
	x.Assert(sem.Waiting() == 0 && l.InFlight() == 0, "%d wait, %d in flight", sem.Waiting(), l.InFlight())
}
