//go:build interleave

package mutex_test

import (
	"context"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/sync/mutex"
)

// A small lock, whichever it is.
type small interface {
	Lock()
	TryLock() bool
	LockContext(ctx context.Context) error
	Unlock()
}

// A packed lock, by its number.
type numbered struct {
	p mutex.Packed
	i int
}

func (n numbered) Lock()                                 { n.p.Lock(n.i) }
func (n numbered) TryLock() bool                         { return n.p.TryLock(n.i) }
func (n numbered) LockContext(ctx context.Context) error { return n.p.LockContext(ctx, n.i) }
func (n numbered) Unlock()                               { n.p.Unlock(n.i) }

// All sleepers are in one bucket here: internal/parking/lots_model.go.
func TestModelBits(t *testing.T) {
	use := func(m small, inside func()) { m.Lock(); inside(); m.Unlock() }
	type scenario struct {
		name  string
		large bool // not for -short
		body  func(x *interleave.Run, m small, inside func())
	}
	scenarios := []scenario{
		{name: "lock/2x2", body: func(x *interleave.Run, m small, inside func()) {
			x.Same(2, "t", func(int) { use(m, inside); use(m, inside) })
		}},
		{name: "lock/3x1", body: func(x *interleave.Run, m small, inside func()) {
			x.Same(3, "t", func(int) { use(m, inside) })
		}},
		{name: "lock/4x1", large: true, body: func(x *interleave.Run, m small, inside func()) {
			x.Same(4, "t", func(int) { use(m, inside) })
		}},
		{name: "lock/3x2", large: true, body: func(x *interleave.Run, m small, inside func()) {
			x.Same(3, "t", func(int) { use(m, inside); use(m, inside) })
		}},
		{name: "try", body: func(x *interleave.Run, m small, inside func()) {
			x.Same(2, "locker", func(int) { use(m, inside) })
			x.Go("trier", func() {
				if m.TryLock() {
					inside()
					m.Unlock()
				}
			})
		}},
		{name: "context", body: func(x *interleave.Run, m small, inside func()) {
			ctx := x.NewContext()
			x.Go("locker", func() { use(m, inside) })
			x.Go("waiter", func() {
				if m.LockContext(ctx) == nil {
					inside()
					m.Unlock()
				}
			})
			x.Go("canceller", ctx.Cancel)
		}},
		// A wake that comes to one who gives up goes to the next.
		{name: "context among three", large: true, body: func(x *interleave.Run, m small, inside func()) {
			ctx := x.NewContext()
			x.Same(2, "locker", func(int) { use(m, inside) })
			x.Go("waiter", func() {
				if m.LockContext(ctx) == nil {
					inside()
					m.Unlock()
				}
			})
			x.Go("canceller", ctx.Cancel)
		}},
	}
	for _, kind := range []struct {
		name string
		make func(x *interleave.Run) small
		// beside is what another thread does meanwhile, nil: nothing; after is what must then be so.
		beside func(x *interleave.Run, m small)
		after  func(x *interleave.Run, m small)
	}{
		{name: "word", make: func(*interleave.Run) small { return new(mutex.Word) }},
		{name: "pointer", make: func(*interleave.Run) small { return new(mutex.Pointer[int64]) }},
		{
			name: "pointer that is stored", make: func(*interleave.Run) small { return new(mutex.Pointer[int64]) },
			beside: func(_ *interleave.Run, m small) { m.(*mutex.Pointer[int64]).Store(&something) },
			after: func(x *interleave.Run, m small) {
				x.Assert(m.(*mutex.Pointer[int64]).Load() == &something, "the pointer was lost")
			},
		},
		{name: "packed", make: func(*interleave.Run) small { return numbered{mutex.NewPacked(2), 1} }},
		{
			name: "packed with a neighbour", make: func(*interleave.Run) small { return numbered{mutex.NewPacked(2), 1} },
			beside: func(_ *interleave.Run, m small) { m.(numbered).p.Lock(0) },
			after:  func(_ *interleave.Run, m small) { m.(numbered).p.Unlock(0) },
		},
	} {
		t.Run(kind.name, func(t *testing.T) {
			for _, s := range scenarios {
				t.Run(s.name, func(t *testing.T) {
					var o interleave.Options
					if s.large {
						if testing.Short() || interleave.RaceEnabled {
							t.Skip("tier two")
						}
						o = interleave.Options{Mode: interleave.Bounded, Bound: 3}
					}
					if kind.name != "word" { // a load more for each step: many more interleavings of the same
						o = interleave.Options{Mode: interleave.Bounded, Bound: 2}
					}
					if s.large && kind.beside != nil {
						t.Skip("with one thread more it takes minutes")
					}
					interleave.Check(t, o, func(x *interleave.Run) {
						m := kind.make(x)
						x.Name("m", m)
						var holders interleave.Int32
						s.body(x, m, func() {
							x.Assert(holders.Add(1) == 1, "two inside")
							holders.Add(-1)
						})
						if kind.beside != nil {
							x.Go("beside", func() { kind.beside(x, m) })
						}
						x.Wait()
						x.Assert(m.TryLock(), "the lock was lost")
						m.Unlock()
						if kind.after != nil {
							kind.after(x, m)
						}
					})
				})
			}
			t.Run("double unlock", func(t *testing.T) {
				interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
					m := kind.make(x)
					m.Lock()
					var panics interleave.Int32
					x.Same(2, "unlocker", func(int) {
						if interleave.Panics(m.Unlock) != nil {
							panics.Add(1)
						}
					})
					x.Wait()
					x.Assert(panics.Load() == 1, "%d panics", panics.Load())
				})
			})
		})
	}
}

var something int64
