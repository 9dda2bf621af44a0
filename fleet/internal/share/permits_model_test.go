//go:build interleave

package share

import (
	"errors"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A counter is a share under exploration, without an agent, and what must hold of its permits after
// every step.
type counter struct {
	*interleave.Run
	Share
	used     xsync.Int64 // permits in use, of those that are held
	resizing int         // threads that may make a debt now
	observed bool        // a thread sets and clears O
	closes   bool        // a thread closes the share

	free int64      // as it was after the last step
	line []*Request // as it was when mu was last free
}

func newCounter(x *interleave.Run, given, bound int64) *counter {
	c := &counter{Run: x}
	c.Init(new(Bell), func() bool { return true })
	c.Bound(bound)
	c.Resize(given)
	c.free = given
	x.Name("permits", &c.permits)
	x.Always(c.check)
	return c
}

// check compares a state with the invariants of permits.
func (c *counter) check() {
	p := &c.permits
	o := p.word.Load()
	free := o >> permitShift
	c.Assert(free >= min(0, c.free) || c.resizing > 0, "invariant 1: granted what is not there: %d are free", free)
	c.free = free
	if p.mu.Locked() {
		return
	}
	c.Assert(c.used.Load() <= p.heldIn(o), "invariant 1: %d are used, %d held", c.used.Load(), p.heldIn(o))
	var line []*Request
	for r := p.line.head; r != nil; r = r.next {
		c.Assert(r.waits && r.n <= p.bound, "a request for %d of at most %d is in line, waits: %t", r.n, p.bound, r.waits)
		line = append(line, r)
	}
	c.Assert(len(line) == p.line.len, "%d wait, not %d", len(line), p.line.len)
	c.Assert(o&flagWaiters != 0 == (len(line) > 0), "invariant 2: W is %d, %d wait", o&flagWaiters, len(line))
	c.Assert(len(line) == 0 || free < line[0].n, "invariant 2: the oldest request waits although %d are free", free)
	c.Assert(o&flagClosed == 0 || len(line) == 0, "a request waits for what is closed")
	c.Assert(c.observed || o&flagObserved == 0, "O is set")
	kept := 0
	for _, r := range c.line {
		if kept < len(line) && line[kept] == r {
			kept++
			continue
		}
		c.Assert(kept == 0 || r.outcome != waiter.Granted, "invariant 2: a request has overtaken another one")
	}
	c.line = line
}

// end runs the threads, and checks that all permits are back.
func (c *counter) end() {
	c.Run.Wait()
	held, free, given := c.Held(), c.Available(), c.Given()
	c.Assert(held == 0 && free == given, "%d are held, %d free, %d given", held, free, given)
	c.Assert(!c.IsObserved(), "O is set, or was set again")
	oldest, all := c.Demand(1)
	c.Assert(c.Waiting() == 0 && oldest == 0 && all == 0, "%d wait at the end, for %d", c.Waiting(), all)
}

func (c *counter) leave(n int64) {
	c.used.Add(n)
	c.used.Add(-n)
	c.Assert(c.Release(n), "a release of what is held was refused")
}

// acquire takes n permits as package fleet does, until l ends the wait.
func (c *counter) acquire(l waiter.Limit, n int64) error {
	if c.Try(n) || c.observed && c.TryObserved(n) {
		return nil
	}
	return c.Share.Wait(l, n)
}

func (c *counter) use(n int64) {
	err := c.acquire(waiter.Limit{}, n)
	if err == nil {
		c.leave(n)
		return
	}
	c.Assert(c.closes && errors.Is(err, waiter.ErrClosed), "%v", err)
}

func (c *counter) useUntil(l waiter.Limit, n int64) {
	if c.acquire(l, n) == nil {
		c.leave(n)
	}
}

func (c *counter) tryUse(n int64) {
	if c.Try(n) {
		c.leave(n)
	}
}

func (c *counter) resize(n int64) {
	c.resizing++
	c.Resize(n)
	c.resizing--
}

// hold has a thread release n permits that are held when the scenario begins.
func (c *counter) hold(n int64) {
	c.Assert(c.Try(n), "they are not free")
	c.Go("holder", func() { c.leave(n) })
}

// giveUp makes a request by a future, and ends it whatever has come of it.
func (c *counter) giveUp(n int64) {
	var f waiter.Future
	var r Request
	r.Of(&c.Share)
	waiter.Bind(&f, &r, n)
	f.Poll(nil)
	f.Release()
}

// What one goroutine does to the permits meets what others do, at every point.
func TestModelPermits(t *testing.T) {
	use := func(n int64) func(*counter) { return func(c *counter) { c.use(n) } }
	try := func(n int64) func(*counter) { return func(c *counter) { c.tryUse(n) } }
	resize := func(n ...int64) func(*counter) {
		return func(c *counter) {
			for _, n := range n {
				c.resize(n)
			}
		}
	}
	giveUp := func(n int64) func(*counter) { return func(c *counter) { c.giveUp(n) } }
	soon := func(n int64) func(*counter) { return func(c *counter) { c.useUntil(waiter.After(1), n) } }
	tooMuch := func(c *counter) { // of the one that it has
		c.Assert(!c.Release(2), "an over-release was accepted")
		c.leave(1)
	}
	closeIt := func(c *counter) { c.Close() }
	toggle := func(c *counter) {
		c.Observe(true)
		c.Observe(false)
	}
	for _, s := range []struct {
		name         string
		given, bound int64
		setup        func(c *counter)
		threads      []func(c *counter)
	}{
		{name: "use", given: 1, bound: 1, threads: []func(*counter){use(1), use(1)}},
		{name: "try", given: 1, bound: 1, threads: []func(*counter){use(1), use(1), try(1)}},
		{name: "three", given: 1, bound: 1, threads: []func(*counter){use(1), use(1), use(1)}},
		{name: "large", given: 2, bound: 2, threads: []func(*counter){use(2), use(1), try(1)}},
		{name: "large beside small", given: 2, bound: 2, threads: []func(*counter){use(2), use(1), use(1)}},
		{
			name: "releases of what one request waits for", given: 2, bound: 2, threads: []func(*counter){use(2)},
			setup: func(c *counter) { c.hold(1); c.hold(1) },
		},
		{name: "a release too large", given: 1, bound: 1, threads: []func(*counter){use(1), func(c *counter) {
			c.Assert(!c.Release(2), "an over-release was accepted")
		}}},
		{
			name: "a release too large beside shrinking", given: 2, bound: 2, threads: []func(*counter){tooMuch, resize(1)},
			setup: func(c *counter) { c.Assert(c.Try(1), "not free") },
		},
		{
			name: "a release too large beside growth", given: 1, bound: 2, threads: []func(*counter){tooMuch, resize(2)},
			setup: func(c *counter) { c.Assert(c.Try(1), "not free") },
		},
		{name: "a try does not fail beside others", given: 2, bound: 2, threads: []func(*counter){func(c *counter) {
			c.Assert(c.Try(1), "one was free at any time")
			c.leave(1)
		}, func(c *counter) {
			c.Assert(c.Try(1), "one was free at any time")
			c.leave(1)
		}}},

		{name: "growth", given: 0, bound: 1, threads: []func(*counter){use(1), try(1), resize(1)}},
		{name: "growth for a large one", given: 0, bound: 2, threads: []func(*counter){use(2), use(1), resize(1, 2)}},
		{name: "shrinking", given: 2, bound: 2, threads: []func(*counter){use(1), use(1), resize(1)}},
		{
			name: "shrinking below what is held", given: 2, bound: 2, threads: []func(*counter){use(1), resize(1)},
			setup: func(c *counter) { c.hold(2) },
		},
		{name: "there and back", given: 1, bound: 2, threads: []func(*counter){use(1), resize(2, 1)}},
		{name: "there and back beside tries", given: 1, bound: 2, threads: []func(*counter){try(1), try(2), resize(2, 1)}},
		{name: "resizes", given: 1, bound: 1, threads: []func(*counter){use(1), resize(2), resize(3)}},
		{name: "nothing for a while", given: 1, bound: 1, threads: []func(*counter){use(1), use(1), resize(0, 1)}},

		{
			name: "unlink", given: 1, bound: 1, threads: []func(*counter){soon(1), use(1)},
			setup: func(c *counter) { c.hold(1) },
		},
		{name: "unlink of a large one", given: 1, bound: 2, threads: []func(*counter){soon(2), use(1)}},
		{name: "unlink beside growth", given: 0, bound: 1, threads: []func(*counter){soon(1), use(1), resize(1)}},
		{name: "cancel", given: 1, bound: 1, setup: func(c *counter) {
			c.hold(1)
			ctx := c.NewContext()
			c.Go("cancelled", func() { c.useUntil(waiter.UntilDone(ctx), 1) })
			c.Go("canceller", ctx.Cancel)
		}, threads: []func(*counter){use(1)}},
		{
			name: "future gives up", given: 1, bound: 1, threads: []func(*counter){giveUp(1), use(1)},
			setup: func(c *counter) { c.hold(1) },
		},
		{
			name: "futures give up", given: 1, bound: 1, threads: []func(*counter){giveUp(1), giveUp(1)},
			setup: func(c *counter) { c.hold(1) },
		},
		{
			name: "futures give up what one release has granted", given: 2, bound: 2,
			threads: []func(*counter){giveUp(1), giveUp(1)},
			setup:   func(c *counter) { c.hold(2) },
		},

		{name: "bound", given: 1, bound: 2, threads: []func(*counter){
			func(c *counter) {
				err := c.acquire(waiter.Limit{}, 2)
				c.Assert(errors.Is(err, waiter.ErrTooLarge), "%v", err)
			}, use(1), func(c *counter) { c.Bound(1) },
		}},
		{name: "bound that rises", given: 2, bound: 1, threads: []func(*counter){
			func(c *counter) {
				if err := c.Share.Wait(waiter.Limit{}, 2); !errors.Is(err, waiter.ErrTooLarge) {
					c.Assert(err == nil, "%v", err)
					c.leave(2)
				}
			}, func(c *counter) { c.Bound(2) },
		}, setup: func(c *counter) { c.hold(1) }},

		{
			name: "close", given: 1, bound: 1, threads: []func(*counter){use(1), try(1), closeIt},
			setup: func(c *counter) { c.closes = true; c.hold(1) },
		},
		{
			name: "close beside growth", given: 0, bound: 1, threads: []func(*counter){use(1), closeIt, resize(1)},
			setup: func(c *counter) { c.closes = true },
		},
		{
			name: "close beside unlink", given: 1, bound: 1, threads: []func(*counter){soon(1), closeIt, giveUp(1)},
			setup: func(c *counter) { c.closes = true; c.hold(1) },
		},
		{name: "close beside bound", given: 0, bound: 1, threads: []func(*counter){
			func(c *counter) {
				err := c.acquire(waiter.Limit{}, 1)
				c.Assert(errors.Is(err, waiter.ErrTooLarge) || errors.Is(err, waiter.ErrClosed), "%v", err)
			}, closeIt, func(c *counter) { c.Bound(0) },
		}},

		{
			name: "observed", given: 1, bound: 1, threads: []func(*counter){use(1), use(1), toggle},
			setup: func(c *counter) { c.observed = true },
		},
		{name: "observed, and a try", given: 2, bound: 2, threads: []func(*counter){func(c *counter) {
			c.Assert(c.TryObserved(1), "one was free at any time")
			c.leave(1)
		}, try(1), toggle}, setup: func(c *counter) { c.observed = true }},
		{
			name: "observed beside unlink", given: 1, bound: 1, threads: []func(*counter){use(1), soon(1), toggle},
			setup: func(c *counter) { c.observed = true },
		},
		{
			name: "observed beside resize", given: 1, bound: 1, threads: []func(*counter){use(1), resize(0, 1), toggle},
			setup: func(c *counter) { c.observed = true },
		},
		{
			name: "observed beside close", given: 1, bound: 1, threads: []func(*counter){use(1), closeIt, toggle},
			setup: func(c *counter) { c.observed, c.closes = true, true; c.hold(1) },
		},
		{name: "observed beside bound", given: 1, bound: 2, threads: []func(*counter){
			func(c *counter) {
				err := c.acquire(waiter.Limit{}, 2)
				c.Assert(errors.Is(err, waiter.ErrTooLarge), "%v", err)
			}, func(c *counter) { c.Bound(1) }, toggle,
		}, setup: func(c *counter) { c.observed = true }},
	} {
		t.Run(s.name, func(t *testing.T) {
			interleave.Check(t, everyTrace(), func(x *interleave.Run) {
				c := newCounter(x, s.given, s.bound)
				if s.setup != nil {
					s.setup(c)
				}
				for _, f := range s.threads {
					x.Go("user", func() { f(c) })
				}
				c.end()
			})
		})
	}
}

// A release grants a future, which is given up at that moment, and a goroutine. What the future has
// refused is granted again before the goroutine runs, and the goroutine is woken once: another wake
// would end a later wait of it.
func TestModelAFutureRefusesBesideAGoroutine(t *testing.T) {
	if testing.Short() {
		t.Skip("tier two")
	}
	interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 3}, func(x *interleave.Run) {
		c := newCounter(x, 2, 2)
		x.Assert(c.Try(2), "they are not free")
		var f waiter.Future
		var r Request
		r.Of(&c.Share)
		waiter.Bind(&f, &r, 1)
		x.Assert(!f.Poll(nil), "they are free")
		x.Go("dropper", f.Release)
		x.Go("holder", func() { c.leave(2) })
		x.Go("waiter", func() { c.use(1); c.use(2) })
		x.Go("other", func() { c.use(2) })
		c.end()
	})
}

// everyTrace is a search that is exhaustive, unless the race detector slows it down.
func everyTrace() interleave.Options {
	if interleave.RaceEnabled {
		return interleave.Options{Mode: interleave.Bounded, Bound: 2}
	}
	return interleave.Options{}
}

// All at once is too much for every trace.
func TestModelPermitsTogether(t *testing.T) {
	interleave.Check(t, interleave.Options{Mode: interleave.PCT, Depth: 5, Executions: 3000}, func(x *interleave.Run) {
		c := newCounter(x, 1, 2)
		c.observed = true
		c.hold(1)
		x.Go("user", func() { c.use(1) })
		x.Go("large", func() { c.useUntil(waiter.After(1), 2) })
		x.Go("future", func() { c.giveUp(1) })
		x.Go("try", func() { c.tryUse(1) })
		x.Go("resizer", func() {
			c.resize(2)
			c.resize(0)
			c.resize(1)
		})
		x.Go("observer", func() {
			c.Observe(true)
			c.Observe(false)
		})
		c.end()
	})
}

// Somebody releases what others hold, once, at any moment. Of all releases one is refused, by
// whoever comes last: also where that takes back what was granted to a future that was given up.
func TestModelMisuseIsNoticedOnce(t *testing.T) {
	interleave.Check(t, everyTrace(), func(x *interleave.Run) {
		c := newCounter(x, 1, 1)
		var refused xsync.Int64
		release := func() {
			ok := false
			if interleave.Panics(func() { ok = c.Release(1) }) != nil || !ok {
				refused.Add(1)
			}
		}
		c.Assert(c.Try(1), "not free")
		x.Go("holder", release)
		x.Go("misuse", release)
		x.Go("future", func() {
			if interleave.Panics(func() { c.giveUp(1) }) != nil {
				refused.Add(1)
			}
		})
		x.Wait()
		c.Assert(refused.Load() == 1 && c.Held() == 0, "%d were refused, %d are held", refused.Load(), c.Held())
	})
}

// What becomes idle is reported, also by whoever takes back what was granted to a future that was
// given up.
func TestModelWhatIsIdleIsRung(t *testing.T) {
	interleave.Check(t, everyTrace(), func(x *interleave.Run) {
		c := newCounter(x, 1, 2)
		var bell Bell
		bell.Init(func() {})
		c.bell = &bell
		c.attention.Store(onIdle)
		fell, held := false, int64(0)
		x.Always(func() {
			now := c.permits.heldIn(c.permits.word.Load())
			fell, held = fell || now < held, now
		})
		x.Go("large", func() { c.giveUp(2) })
		x.Go("small", func() { c.giveUp(1) })
		c.end()
		c.Assert(!fell || bell.rung.Load(), "what was held is idle, and the driver does not know")
	})
}

// A request that waits is not overtaken by a try, which does not wait.
func TestModelTryOvertakesNobody(t *testing.T) {
	interleave.Check(t, everyTrace(), func(x *interleave.Run) {
		c := newCounter(x, 1, 1)
		var f waiter.Future
		var r Request
		var waits xsync.Bool
		c.hold(1)
		x.Go("future", func() {
			r.Of(&c.Share)
			waiter.Bind(&f, &r, 1)
			f.Poll(nil)
			waits.Store(true)
		})
		x.Go("try", func() {
			if waited := waits.Load(); c.Try(1) {
				c.Assert(!waited, "a try has overtaken a request")
				c.leave(1)
			}
		})
		x.Wait()
		c.Assert(f.Err() == nil, "%v", f.Err())
		f.Release()
	})
}

// The same beside two futures that are given up at a time. What is still held of their grants goes
// back, so the share forgets nothing that the agent has to return.
func TestModelMisuseBesideTwoFutures(t *testing.T) {
	interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 3}, func(x *interleave.Run) {
		c := newCounter(x, 0, 2)
		var refused xsync.Int64
		try := func(f func()) func() {
			return func() {
				if interleave.Panics(f) != nil {
					refused.Add(1)
				}
			}
		}
		x.Go("driver", try(func() { c.resize(2) }))
		x.Go("misuse", func() {
			if !c.Release(1) {
				refused.Add(1)
			}
		})
		x.Go("future", try(func() { c.giveUp(1) }))
		x.Go("future", try(func() { c.giveUp(1) }))
		x.Wait()
		c.Assert(refused.Load() == 1 && c.Held() == 0, "%d were refused, %d are held", refused.Load(), c.Held())
	})
}
