//go:build interleave

package rwlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/waiter"
)

// A pair is two numbers that writers keep equal, in two steps.
type pair struct{ a, b interleave.Int32 }

func (p *pair) write() {
	p.a.Store(p.a.Load() + 1)
	p.b.Store(p.b.Load() + 1)
}

func (p *pair) equal() bool { return p.a.Load() == p.b.Load() }

// A reader of a guard's value sees no writer at work, and no writer's work is lost. The guard is
// unlocked in the end, whatever the context and the functions have done.
func TestModelGuardExcludes(t *testing.T) {
	type guard = rwlock.Guard[pair]
	write := func(_ *interleave.Run, _ context.Context, g *guard) bool { g.Write((*pair).write); return true }
	writeContext := func(x *interleave.Run, ctx context.Context, g *guard) (entered bool) {
		err := g.WriteContext(ctx, func(p *pair) { p.write(); entered = true })
		x.Assert((err == nil) == entered, "entered %v: %v", entered, err)
		return entered
	}
	writeAndPanic := func(x *interleave.Run, _ context.Context, g *guard) bool {
		p := interleave.Panics(func() { g.Write(func(p *pair) { p.write(); panic("inside") }) })
		x.Assert(p == "inside", "panicked with %v", p)
		return true
	}
	read := func(x *interleave.Run, _ context.Context, g *guard) bool {
		g.Read(func(p *pair) { x.Assert(p.equal(), "a writer beside a reader") })
		return false
	}
	readContext := func(x *interleave.Run, ctx context.Context, g *guard) bool {
		entered := false
		err := g.ReadContext(ctx, func(p *pair) {
			x.Assert(p.equal(), "a writer beside a reader")
			entered = true
		})
		x.Assert((err == nil) == entered, "entered %v: %v", entered, err)
		return false
	}
	// By a future of the lock, which unlocks it again: no goroutine calls Err.
	byFuture := func(g *guard, bind func(*rwlock.RWLock, *waiter.Future), use func(p *pair)) {
		var f waiter.Future
		bind(g.RWLock(), &f)
		defer f.Release()
		interleave.Receive(f.Done())
		use(g.Value())
		f.Release()
	}
	writeByFuture := func(_ *interleave.Run, _ context.Context, g *guard) bool {
		byFuture(g, (*rwlock.RWLock).Bind, (*pair).write)
		return true
	}
	readByFuture := func(x *interleave.Run, _ context.Context, g *guard) bool {
		byFuture(g, (*rwlock.RWLock).BindRead, func(p *pair) { x.Assert(p.equal(), "a writer beside a reader") })
		return false
	}
	for name, ways := range map[string][2]func(*interleave.Run, context.Context, *guard) (wrote bool){
		"write by future, and write":      {writeByFuture, write},
		"write by future, and read":       {writeByFuture, read},
		"read by future, and write":       {readByFuture, write},
		"write and read":                  {write, read},
		"write and panic, and write":      {writeAndPanic, write},
		"write, and read with context":    {write, readContext},
		"write with context, and read":    {writeContext, read},
		"write with context, and write":   {writeContext, write},
		"read with context, and so write": {readContext, writeContext},
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				var g guard
				x.Name("g", &g)
				ctx := x.NewContext()
				var written interleave.Int32
				for _, way := range ways {
					x.Go("way", func() {
						if way(x, ctx, &g) {
							written.Add(1)
						}
					})
				}
				x.Go("canceller", ctx.Cancel)
				x.Wait()
				l := g.RWLock()
				x.Assert(l.Waiting() == 0 && l.TryLock(), "the lock was lost")
				l.Unlock()
				g.Read(func(p *pair) {
					n := written.Load()
					x.Assert(
						p.equal() && p.a.Load() == n,
						"%d and %d of %d writes are there",
						p.a.Load(),
						p.b.Load(),
						n,
					)
				})
			})
		})
	}
}

// A guard begins with the value that it was given.
func TestModelNewGuardHasItsValue(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		p := new(pair)
		g := rwlock.NewGuard(p)
		x.Same(2, "t", func(int) { g.Write(func(p **pair) { (*p).write() }) })
		x.Wait()
		x.Assert(p.equal() && p.a.Load() == 2, "%d of 2 writes are there", p.a.Load())
	})
}

// Scenarios of what the others leave out, small enough for tier one.
func TestModelRest(t *testing.T) {
	modelKinds(t, func(t *testing.T, biased bool) {
		for _, s := range []scenario{
			{name: "as lockers", body: func(cs *section) {
				use := func(l sync.Locker, as int64) func() {
					return func() {
						l.Lock()
						cs.enter(as, 0)
						cs.leave(as)
						l.Unlock()
					}
				}
				cs.threads(use(cs.l.RLocker(), oneReader), use(cs.l, oneWriter))
			}},
			// A context that has ended does not take the lock even for a moment.
			{name: "ended contexts, and a try to write", body: func(cs *section) {
				ctx := cs.NewContext()
				ctx.Cancel()
				cs.threads(func() {
					cs.Assert(cs.l.RLockContext(ctx) != nil, "locked")
					cs.Assert(cs.l.LockContext(ctx) != nil, "locked")
					cs.Assert(cs.l.ULockContext(ctx) != nil, "locked")
				}, func() {
					cs.Assert(cs.l.TryLock(), "the lock was taken")
					cs.l.Unlock()
				})
			}},
			{name: "upgradable with context", body: func(cs *section) {
				ctx := cs.NewContext()
				cs.threads(func() {
					if cs.l.ULockContext(ctx) == nil {
						cs.enter(oneUpgradable, 0)
						cs.upgradeIf(false)
					}
				}, cs.write, ctx.Cancel)
			}},
			{name: "upgradable with timeout, and write", body: func(cs *section) {
				cs.threads(func() {
					if cs.l.ULockTimeout(time.Second) {
						cs.enter(oneUpgradable, 0)
						cs.upgradeIf(false)
					}
				}, cs.write)
			}},
			{name: "upgrade with timeout, and read", body: func(cs *section) {
				cs.threads(func() { cs.uLock(); cs.upgradeIf(cs.l.UpgradeTimeout(time.Second)) }, cs.read)
			}},
			{name: "upgrade with timeout, and write", body: func(cs *section) {
				cs.threads(func() { cs.uLock(); cs.upgradeIf(cs.l.UpgradeTimeout(time.Second)) }, cs.write)
			}},
			// Any goroutine may ask whether a future is complete, and is never told so before its
			// share was free.
			{name: "future asked", body: func(cs *section) {
				var free interleave.Bool
				cs.l.Lock()
				var f waiter.Future
				cs.l.Bind(&f)
				cs.threads(func() { free.Store(true); cs.l.Unlock() }, func() {
					for t := semtest.NewTask(cs.Run); !f.Poll(t); t = semtest.NewTask(cs.Run) {
						t.Sleep()
					}
					cs.Assert(f.Complete() && f.Take() == nil, "polled to the end, and not complete")
					cs.writeIf(true)
				}, func() {
					if f.Complete() {
						cs.Assert(free.Load(), "complete while the lock is held")
					}
				})
			}},
		} {
			t.Run(s.name, func(t *testing.T) { s.check(t, biased) })
		}
	})
}
