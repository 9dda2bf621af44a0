//go:build interleave

package twa

import (
	"context"
	"errors"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
)

// A request for nothing ends at once beside all others, and says whether the context had ended or
// the semaphore was closed when it began.
func TestModelNothingDoesNotWait(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		s := New(1, WithWaitingArray(NewArray(1)))
		x.Name("s", s)
		x.Assert(s.TryAcquire(1), "not free")
		ctx := x.NewContext()
		x.Go("nothing", func() {
			err := s.Acquire(ctx, 0)
			x.Assert(err == nil || errors.Is(err, context.Canceled) || errors.Is(err, ErrClosed), "nothing: %v", err)
			err = s.Acquire(bg, 0)
			x.Assert(err == nil || errors.Is(err, ErrClosed), "nothing: %v", err)
			s.Release(0)
		})
		x.Go("closer", s.Close)
		x.Go("canceller", ctx.Cancel)
		x.Wait()
		x.Assert(errors.Is(s.Acquire(ctx, 0), context.Canceled), "the context had ended")
		x.Assert(errors.Is(s.Acquire(bg, 0), ErrClosed), "it was closed")
		s.Release(1)
		x.Assert(s.Available() == 1, "%d of 1 permits are back", s.Available())
	})
}
