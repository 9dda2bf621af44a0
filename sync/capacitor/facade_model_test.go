//go:build interleave

package capacitor

import (
	"sync"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/sync/mutex"
)

// What locks, calls a function and unlocks does so however the function ends, and keeps out whom it
// should.
func TestModelDo(t *testing.T) {
	if interleave.RaceEnabled {
		// In an execution that is given up the deferred unlocks still run, but nothing excludes
		// others any more.
		t.Skip("for all that the race detector knows, that is a race")
	}
	type way func(f func())
	locker := func(l sync.Locker) way {
		return func(f func()) {
			l.Lock()
			defer l.Unlock()
			f()
		}
	}
	for name, of := range map[string]func() (read, write way, free func() bool){
		"mutex": func() (way, way, func() bool) {
			m := NewMutex(1)
			return nil, m.Do, m.TryLock
		},
		"wrapped": func() (way, way, func() bool) {
			w := Wrap(new(mutex.Word), 1)
			return nil, w.Do, func() bool { return w.Gate().Population() == 0 && w.TryLock() }
		},
		"read-write lock": func() (way, way, func() bool) {
			l := newRWLock(0)
			return l.RDo, l.Do, l.TryLock
		},
		"read-write lock as lockers": func() (way, way, func() bool) {
			l := newRWLock(0)
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
