//go:build interleave

package mutex_test

import (
	"context"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/waiter"
)

// count adds one in two steps, so that two who do it at the same time lose one.
func count(n *interleave.Int32) { n.Store(n.Load() + 1) }

// Every way to the value of a guard excludes all others, and leaves the guard unlocked, whether it
// got in or not.
func TestModelGuardExcludes(t *testing.T) {
	type guard = mutex.Guard[interleave.Int32]
	ways := map[string]func(x *interleave.Run, ctx context.Context, g *guard) (entered bool){
		"do": func(_ *interleave.Run, _ context.Context, g *guard) bool {
			g.Do(count)
			return true
		},
		"do and panic": func(x *interleave.Run, _ context.Context, g *guard) bool {
			p := interleave.Panics(func() { g.Do(func(n *interleave.Int32) { count(n); panic("inside") }) })
			x.Assert(p == "inside", "panicked with %v", p)
			return true
		},
		"do with context": func(x *interleave.Run, ctx context.Context, g *guard) (entered bool) {
			err := g.DoContext(ctx, func(n *interleave.Int32) { count(n); entered = true })
			x.Assert((err == nil) == entered, "entered %v: %v", entered, err)
			return entered
		},
		"lock": func(_ *interleave.Run, _ context.Context, g *guard) bool {
			g.Mutex().Lock()
			count(g.Value())
			g.Mutex().Unlock()
			return true
		},
		"future": func(x *interleave.Run, _ context.Context, g *guard) bool {
			var f waiter.Future
			g.Mutex().Bind(&f)
			defer f.Release()
			interleave.Receive(f.Done())
			count(g.Value())
			f.Release()
			x.Assert(!f.Complete(), "complete after its unlock")
			return true
		},
		"future that is dropped": func(_ *interleave.Run, _ context.Context, g *guard) bool {
			var f waiter.Future
			g.Mutex().Bind(&f)
			defer f.Release()
			if !f.Poll(nil) {
				return false
			}
			count(g.Value())
			return true
		},
		"try": func(_ *interleave.Run, _ context.Context, g *guard) bool {
			if !g.Mutex().TryLock() {
				return false
			}
			count(g.Value())
			g.Mutex().Unlock()
			return true
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				g := new(guard)
				x.Name("g", g)
				ctx := x.NewContext()
				var entered interleave.Int32
				x.Go("way", func() {
					if way(x, ctx, g) {
						entered.Add(1)
					}
				})
				x.Go("other", func() { g.Do(count); entered.Add(1) })
				x.Go("canceller", ctx.Cancel)
				x.Wait()
				g.Do(func(n *interleave.Int32) {
					x.Assert(n.Load() == entered.Load(), "one of %d was lost", entered.Load())
				})
				x.Assert(g.Mutex().Waiting() == 0, "a goroutine still waits")
			})
		})
	}
}

// A guard begins with the value that it was given.
func TestModelNewGuardHasItsValue(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		var n interleave.Int32
		g := mutex.NewGuard(&n)
		x.Same(2, "t", func(int) { g.Do(func(n **interleave.Int32) { count(*n) }) })
		x.Wait()
		x.Assert(n.Load() == 2, "%d of 2 are counted", n.Load())
	})
}

// Locks that share a word exclude only users of the same lock. An index without a lock changes
// nothing.
func TestModelPackedLocksAreIndependent(t *testing.T) {
	interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: few}, func(x *interleave.Run) {
		p := mutex.NewPacked(2)
		x.Assert(p.Len() == 2, "%d locks of 2", p.Len())
		var inside interleave.Int32
		p.Lock(0) // and is not unlocked before the end: no goroutine waits for it
		l := p.Locker(1)
		x.Same(2, "t", func(int) {
			l.Lock()
			x.Assert(inside.Add(1) == 1, "two inside")
			inside.Add(-1)
			l.Unlock()
		})
		x.Go("stranger", func() {
			for _, f := range []func(int){p.Lock, p.Unlock, func(i int) { p.TryLock(i) }, func(i int) { p.Locker(i) }} {
				for _, i := range []int{-1, 2} {
					x.Assert(interleave.Panics(func() { f(i) }) != nil, "there is no lock %d", i)
				}
			}
		})
		x.Wait()
		x.Assert(!p.TryLock(0), "the neighbour was unlocked")
		p.Unlock(0)
		x.Assert(p.TryLock(1) && p.TryLock(0), "a lock was lost")
	})
}
