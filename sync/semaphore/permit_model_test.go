//go:build interleave

package semaphore_test

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/sync/semaphore"
)

// Whatever several goroutines do with the same handles, each permit is released once.
func TestModelPermitsAreReleasedOnce(t *testing.T) {
	type handles struct{ p, q *semaphore.Permit } // of two permits and of one
	release := func(h handles) { h.p.Release() }
	split := func(h handles) {
		var part *semaphore.Permit
		interleave.Panics(func() { part = h.p.Split(1) }) // where another has released all of them
		part.Release()
	}
	merge := func(h handles) { h.p.Merge(h.q) }
	for name, does := range map[string][2]func(handles){
		"release, release": {release, release},
		"split, release":   {split, release},
		"split, split":     {split, split},
		"merge, release":   {merge, release},
		"merge, split":     {merge, split},
		"merge, merge":     {merge, merge},
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				s := semaphore.New(3)
				var h handles
				h.p, _ = s.TryAcquirePermit(2)
				h.q, _ = s.TryAcquirePermit(1)
				x.Name("s", s)
				x.Name("p", h.p)
				x.Name("q", h.q)
				x.Go("a", func() { does[0](h) })
				x.Go("b", func() { does[1](h) })
				x.Wait()
				h.p.Release()
				h.q.Release()
				x.Assert(s.Available() == 3, "%d of 3 permits are back", s.Available())
			})
		})
	}
}

// Not even for a moment is a handle empty that is merged into itself: a Release at that moment
// would find nothing.
func TestModelMergeIntoItselfDoesNothing(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		s := semaphore.New(2)
		p, _ := s.TryAcquirePermit(2)
		x.Name("s", s)
		x.Name("p", p)
		x.Go("merger", func() { p.Merge(p) })
		x.Go("releaser", func() {
			p.Release()
			x.Assert(s.Available() == 2, "%d of 2 permits are back", s.Available())
		})
		x.Wait()
	})
}
