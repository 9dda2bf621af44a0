//go:build interleave

package semtest

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
)

// RunCompleteIsNotEarly checks that any goroutine may ask whether a future is complete, and that
// Complete reports nothing before the permit was free.
func RunCompleteIsNotEarly(t *testing.T, k Kind, o interleave.Options) {
	t.Helper()
	interleave.Check(t, o, func(x *interleave.Run) {
		s := k.New(1)
		x.Name("s", s)
		x.Assert(s.TryAcquire(1), "not free")
		var free interleave.Bool
		f := k.request(s, 1)
		x.Go("holder", func() { free.Store(true); s.Release(1) })
		x.Go("task", func() {
			for t := NewTask(x); !f.Poll(t); t = NewTask(x) {
				t.Sleep()
			}
			x.Assert(f.Err() == nil && f.Complete(), "looked at, and not complete")
			x.Assert(s.Size() == 1, "a semaphore of %d", s.Size())
			f.Release()
		})
		x.Go("observer", func() {
			if f.Complete() {
				x.Assert(free.Load(), "complete while the permit is held")
			}
		})
		x.Wait()
		x.Assert(s.Available() == 1, "%d of 1 permits are back", s.Available())
	})
}
