//go:build interleave

package innerlocks

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
)

// A world is a lock under exploration, and what it protects.
type world struct {
	*interleave.Run
	lock
	inside interleave.Int32
}

func (w *world) use() {
	w.Lock()
	w.leave()
}

func (w *world) try() {
	if w.TryLock() {
		w.leave()
	}
}

// leave is a critical section and an unlock.
func (w *world) leave() {
	w.Assert(w.inside.Add(1) == 1, "two inside")
	w.inside.Add(-1)
	w.Unlock()
}

// free checks that the lock is back in its initial state.
func (w *world) free() {
	w.Assert(newest(w.lock) == nil, "something is left in the lock")
	w.Assert(interleave.Panics(w.Unlock) != nil, "locked")
	w.Assert(w.TryLock() && !w.TryLock(), "not free")
	w.Unlock()
}

// Every schedule, or those within a bound: never two holders, no waiter sleeps for ever, and at the
// end the lock is free.
func TestModelLocks(t *testing.T) {
	for _, s := range []struct {
		name  string
		bound int // of preemptions; 0: all schedules
		large bool
		body  func(w *world)
	}{
		{name: "2x2", body: func(w *world) { w.Same(2, "t", func(int) { w.use(); w.use() }) }},
		{name: "3x1", body: func(w *world) { w.Same(3, "t", func(int) { w.use() }) }},
		{name: "try", body: func(w *world) {
			w.Same(2, "t", func(int) { w.use() })
			w.Go("try", w.try)
		}},
		{name: "2x3", bound: 4, body: func(w *world) { w.Same(2, "t", func(int) { w.use(); w.use(); w.use() }) }},
		{name: "3x2", bound: 3, large: true, body: func(w *world) { w.Same(3, "t", func(int) { w.use(); w.use() }) }},
		{name: "4x1", bound: 3, large: true, body: func(w *world) { w.Same(4, "t", func(int) { w.use() }) }},
	} {
		for name, create := range kinds {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				if s.large && (testing.Short() || interleave.RaceEnabled) {
					t.Skip("tier two")
				}
				o := interleave.Options{}
				if s.bound > 0 {
					o = interleave.Options{Mode: interleave.Bounded, Bound: s.bound}
				}
				interleave.Check(t, o, func(x *interleave.Run) {
					w := &world{Run: x, lock: create()}
					x.Name("l", w.lock)
					s.body(w)
					x.Wait()
					w.free()
				})
			})
		}
	}
}

// Nodes move from lock to lock: once a node has left a lock, it must not matter to that lock.
func TestModelTwoLocks(t *testing.T) {
	for name, create := range kinds {
		t.Run(name, func(t *testing.T) {
			bound := 3
			if testing.Short() || interleave.RaceEnabled {
				bound = 2
			}
			interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: bound}, func(x *interleave.Run) {
				outer, inner := &world{Run: x, lock: create()}, &world{Run: x, lock: create()}
				x.Name("outer", outer.lock)
				x.Name("inner", inner.lock)
				x.Same(2, "both", func(int) {
					outer.Lock()
					inner.use()
					outer.leave()
				})
				x.Go("one", func() { inner.use(); outer.use() })
				x.Wait()
				outer.free()
				inner.free()
			})
		})
	}
}

// How often a later goroutine that locks again and again overtakes a waiter: never more often than
// the lock's order allows, and in some schedule exactly as often.
func TestModelOvertaking(t *testing.T) {
	for name, most := range map[string]int32{"mcs": 0, "reciprocating": 1} {
		t.Run(name, func(t *testing.T) {
			seen := int32(0)
			interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 3}, func(x *interleave.Run) {
				w := &world{Run: x, lock: kinds[name]()}
				x.Name("l", w.lock)
				var released, in interleave.Int32
				w.Lock()
				alone := newest(w.lock)
				x.Go("holder", func() {
					released.Store(1)
					w.Unlock()
				})
				x.Go("watched", func() {
					w.Lock()
					in.Store(1)
					w.leave()
				})
				x.Go("other", func() {
					if newest(w.lock) == alone || released.Load() != 0 {
						return // the watched goroutine may not wait yet
					}
					for passed := int32(1); passed <= 3; passed++ {
						w.Lock()
						if in.Load() == 0 {
							x.Assert(passed <= most, "overtaken %d times", passed)
							seen = max(seen, passed)
						}
						w.leave()
					}
				})
				x.Wait()
			})
			if seen != most {
				t.Errorf("overtaken %d times, never %d", seen, most)
			}
		})
	}
}
