//go:build interleave

package semaphore_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// modelKinds are the kinds of semaphores: those with a limit let one wait. Each execution makes its
// own: an execution that is pruned leaves its sleepers in its array.
var modelKinds = map[string]struct {
	make  func(n int64) *semaphore.Semaphore
	limit int
}{
	"plain":                {modelKind(), 0},
	"plain, limited":       {modelKind(semaphore.WithMaxWaiting(1)), 1},
	"array":                {modelArray(), 0},
	"capacitor":            {modelKind(semaphore.WithCapacitor(1, 1)), 0},
	"capacitor, no lane":   {modelKind(semaphore.WithCapacitor(1, 0)), 0},
	"capacitor, limited":   {modelKind(semaphore.WithCapacitor(1, 1), semaphore.WithMaxWaiting(1)), 1},
	"capacitor, and array": {modelArray(semaphore.WithCapacitor(1, 1)), 0},
	"shares":               {modelKind(semaphore.WithShares(nil)), 0},
	"caps":                 {modelKind(accounts["caps"]...), 0},
	"time":                 {modelKind(accounts["time"]...), 0},
	"queue":                {modelKind(semaphore.WithQueue(semaphore.Queue{MaxWaiting: 1})), 1},
}

// modelKind returns what makes semaphores with opts.
func modelKind(opts ...semaphore.Option) func(n int64) *semaphore.Semaphore {
	return func(n int64) *semaphore.Semaphore { return semaphore.New(n, opts...) }
}

// modelArray is modelKind with an array of its own for each semaphore, in which all sleepers meet.
func modelArray(opts ...semaphore.Option) func(n int64) *semaphore.Semaphore {
	return func(n int64) *semaphore.Semaphore {
		return semaphore.New(n, append(slices.Clip(opts), semaphore.WithWaitingArray(twa.NewArray(1)))...)
	}
}

func modelOptions() interleave.Options {
	if testing.Short() || interleave.RaceEnabled {
		return interleave.Options{Mode: interleave.Bounded, Bound: 2}
	}
	return interleave.Options{Mode: interleave.Bounded, Bound: 3}
}

// A handle exists exactly if the permits do. Its Release returns them once, while another waits,
// gives up, or is refused because enough wait already. No more wait than the limit.
func TestModelPermitOfAWait(t *testing.T) {
	for name, k := range modelKinds {
		t.Run(name, func(t *testing.T) {
			interleave.Check(t, modelOptions(), func(x *interleave.Run) {
				s := k.make(1)
				x.Name("s", s)
				ctx := x.NewContext()
				var held interleave.Int64
				use := func(p *semaphore.Permit, err error) {
					x.Assert((p == nil) == (err != nil), "%v beside a handle", err)
					if err == nil {
						x.Assert(held.Add(1) == 1, "two hold one permit")
						x.Assert(p.N() == 1, "the handle holds %d", p.N())
						held.Add(-1)
					} else {
						x.Assert(p.N() == 0, "no handle holds %d", p.N())
						x.Assert(errors.Is(err, ctx.Err()) || k.limit > 0 && errors.Is(err, semaphore.ErrQueueFull), "%v", err)
					}
					p.Release()
					p.Release()
				}
				x.Go("holder", func() { use(s.AcquirePermit(bg, 1)) })
				x.Go("waiter", func() { use(s.AcquirePermit(ctx, 1)) })
				if k.limit > 0 {
					x.Go("third", func() { use(s.AcquirePermit(bg, 1)) })
					x.Go("observer", func() {
						n := s.Waiting()
						x.Assert(n <= k.limit, "%d wait, and at most %d may", n, k.limit)
					})
				} else {
					x.Go("canceller", ctx.Cancel)
				}
				x.Wait()
				x.Assert(s.Available() == 1 && s.Waiting() == 0, "%d of 1 permits are back", s.Available())
			})
		})
	}
}

// A wait with a timeout beside one without: the permit is at one of them, and in the end at none.
func TestModelTimeouts(t *testing.T) {
	for name, k := range modelKinds {
		if k.limit > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			interleave.Check(t, modelOptions(), func(x *interleave.Run) {
				s := k.make(1)
				x.Name("s", s)
				var held interleave.Int64
				use := func(err error) {
					if err == nil {
						x.Assert(held.Add(1) == 1, "two hold one permit")
						held.Add(-1)
						s.Release(1)
					}
				}
				x.Go("locker", func() { use(s.Acquire(bg, 1)) })
				x.Go("hasty", func() { use(s.AcquireTimeout(time.Second, 1)) })
				x.Go("future", func() {
					var f waiter.Future
					s.Bind(&f, 1)
					f.Poll(semtest.NewTask(x))
					f.Release()
				})
				x.Wait()
				x.Assert(s.Available() == 1 && s.Waiting() == 0, "%d of 1 permits are back", s.Available())
			})
		})
	}
}

// No future is reported complete before its permit was free.
func TestModelFutureIsNotCompleteTooEarly(t *testing.T) {
	for name, k := range modelKinds {
		t.Run(name, func(t *testing.T) {
			semtest.RunCompleteIsNotEarly(t, semtest.Kind{
				New:  func(n int64) semtest.Semaphore { return k.make(n) },
				Bind: bind,
			}, modelOptions())
		})
	}
}

// The drop-in of golang.org/x/sync/semaphore hands one permit from one to the other.
func TestModelWeighted(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		s := semaphore.NewWeighted(1)
		x.Name("s", s)
		var held interleave.Int64
		x.Same(2, "t", func(int) {
			x.Assert(s.Acquire(bg, 1) == nil, "not acquired")
			x.Assert(held.Add(1) == 1, "two hold one permit")
			held.Add(-1)
			s.Release(1)
		})
		x.Wait()
		x.Assert(s.TryAcquire(1), "the permit was lost")
	})
}

// Whatever a context says: a wait ends without an error if and only if it has got its permit, and
// none is lost.
func TestModelForeignContexts(t *testing.T) {
	for name, k := range modelKinds {
		for _, end := range semtest.ForeignEnds {
			t.Run(name+"/"+end.Name, func(t *testing.T) {
				interleave.Check(t, modelOptions(), func(x *interleave.Run) {
					s, c := k.make(1), semtest.NewForeign(x)
					x.Name("s", s)
					x.Assert(s.TryAcquire(1), "not free")
					x.Go("holder", func() { s.Release(1) })
					x.Go("waiter", func() {
						for range 2 {
							err := s.Acquire(c, 1)
							x.Assert(
								err == nil || errors.Is(err, semtest.ErrForeign) || errors.Is(err, context.Canceled),
								"%v",
								err,
							)
							if err == nil {
								s.Release(1)
							}
						}
					})
					x.Go("canceller", func() { end.End(c) })
					x.Wait()
					x.Assert(s.Available() == 1 && s.Waiting() == 0, "%d of 1 permits are back", s.Available())
				})
			})
		}
	}
}
