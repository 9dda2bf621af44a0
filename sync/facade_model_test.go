//go:build interleave

package sync

import (
	"sync"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
)

// A goroutine that locks, calls a function and defers the unlock unlocks however the function ends.
func TestModelDeferredUnlock(t *testing.T) {
	if interleave.RaceEnabled {
		// In an execution that is given up the deferred unlocks still run, but nothing excludes
		// others any more.
		t.Skip("for all that the race detector knows, that is a race")
	}
	type way func(f func())
	locker := func(l sync.Locker) way { return func(f func()) { do(l, f) } }
	for name, of := range map[string]func() (read, write way, free func() bool){
		"mutex": func() (way, way, func() bool) {
			m := freshMutex(Express - 1)
			return nil, locker(m), m.TryLock
		},
		"read-write lock": func() (way, way, func() bool) {
			l := newRWMutex(0)
			return locker(l.RLocker()), locker(l), l.TryLock
		},
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2}, func(x *interleave.Run) {
				read, write, free := of()
				var a, b interleave.Int32
				write2 := func() { // two steps
					a.Store(a.Load() + 1)
					b.Store(b.Load() + 1)
				}
				x.Go("writer", func() { write(write2) })
				x.Go("panics", func() {
					p := interleave.Panics(func() { write(func() { write2(); panic("inside") }) })
					x.Assert(p == "inside", "panicked with %v", p)
				})
				if read != nil {
					x.Go("reader", func() {
						read(func() { x.Assert(a.Load() == b.Load(), "a writer beside a reader") })
					})
				}
				x.Wait()
				x.Assert(a.Load() == 2 && b.Load() == 2, "%d of 2 writes are there", a.Load())
				x.Assert(free(), "the lock was lost")
			})
		})
	}
}
