//go:build interleave

package semaphore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// O is set and cleared beside every way to acquire and release. No permit is lost, nobody sleeps
// for ever, and a try beside free permits does not fail.
func TestModelObserved(t *testing.T) {
	for kind, k := range modelKinds {
		if k.limit > 0 {
			continue
		}
		for name, use := range map[string]func(x *interleave.Run, ctx context.Context, s *semaphore.Semaphore){
			"acquire": func(x *interleave.Run, ctx context.Context, s *semaphore.Semaphore) {
				if err := s.Acquire(ctx, 1); err == nil {
					s.Release(1)
				} else {
					x.Assert(errors.Is(err, context.Canceled), "%v", err)
				}
			},
			"timeout": func(_ *interleave.Run, _ context.Context, s *semaphore.Semaphore) {
				if s.AcquireTimeout(time.Second, 1) == nil {
					s.Release(1)
				}
			},
			"try": func(_ *interleave.Run, _ context.Context, s *semaphore.Semaphore) {
				if s.TryAcquire(1) {
					s.Release(1)
				}
			},
			"permit": func(_ *interleave.Run, ctx context.Context, s *semaphore.Semaphore) {
				if p, err := s.AcquirePermit(ctx, 1); err == nil {
					p.Release()
				}
			},
			"forget": func(_ *interleave.Run, ctx context.Context, s *semaphore.Semaphore) {
				if p, err := s.AcquirePermit(ctx, 1); err == nil {
					s.Release(p.Forget())
				}
			},
			"future": func(_ *interleave.Run, _ context.Context, s *semaphore.Semaphore) {
				var f waiter.Future
				s.Bind(&f, 1)
				if f.Poll(nil) && f.Take() == nil {
					s.Release(1)
				}
				f.Release()
			},
			"resize": func(_ *interleave.Run, _ context.Context, s *semaphore.Semaphore) { s.Resize(2); s.Resize(1) },
			"close":  func(_ *interleave.Run, _ context.Context, s *semaphore.Semaphore) { s.Close() },
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2}, func(x *interleave.Run) {
					s := k.make(1)
					x.Name("s", s)
					ctx := x.NewContext()
					x.Go("t", func() { use(x, ctx, s) })
					x.Go("u", func() {
						if err := s.Acquire(context.Background(), 1); err == nil {
							s.Release(1)
						} else {
							x.Assert(name == "close" || name == "resize", "%v", err)
						}
					})
					x.Go("observer", func() {
						semaphore.Observe(s, true)
						ctx.Cancel()
						semaphore.Observe(s, false)
					})
					x.Wait()
					x.Assert(s.Available() == 1, "%d permits are free", s.Available())
					x.Assert(s.Waiting() == 0, "%d wait", s.Waiting())
				})
			})
		}
		t.Run(kind+"/try beside free ones", func(t *testing.T) {
			interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 3}, func(x *interleave.Run) {
				s := k.make(2)
				for range 2 {
					x.Go("t", func() {
						x.Assert(s.TryAcquire(1), "it failed")
						s.Release(1)
					})
				}
				x.Go("observer", func() { semaphore.Observe(s, true); semaphore.Observe(s, false) })
				x.Wait()
				x.Assert(s.Available() == 2, "%d permits are free", s.Available())
			})
		})
	}
}
