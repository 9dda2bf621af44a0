//go:build interleave

package semtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/spec"
	"github.com/farad-go/farad/waiter"
)

// A Client is a thread of a scenario, and what it has done.
type Client struct {
	S Semaphore

	spec.Recorder
	ctx *interleave.Context
	k   Kind
	x   *interleave.Run
}

// A Body is what a client does. The context ends if the history says so, or a client calls Cancel.
type Body = func(c *Client, ctx context.Context)

// A History is a scenario whose calls and returns are recorded.
type History struct {
	Name    string
	Size    int64
	Large   bool // not for -short, and under a bound
	Cancel  bool // one more client cancels the context
	Clients []Body
}

// Bodies returns them as a slice.
func Bodies(bodies ...Body) []Body { return bodies }

// Locks returns the body that acquires n permits and gives them back.
func Locks(n int64) Body { return func(c *Client, _ context.Context) { c.Lock(n) } }

// ResultOf returns the result of an acquire that has returned err.
func (c *Client) ResultOf(err error) spec.Result {
	switch {
	case err == nil:
		return spec.Granted
	case errors.Is(err, waiter.ErrClosed):
		return spec.Closed
	case errors.Is(err, waiter.ErrTooLarge):
		return spec.TooLarge
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return spec.Cancelled
	}
	c.x.Fail("unexpected: %v", err)
	return spec.None
}

// Acquire acquires n permits in some way.
func (c *Client) Acquire(n int64, how func() spec.Result) bool {
	return c.Do(spec.Acquire, n, how) == spec.Granted
}

// Use acquires n permits in some way and gives them back.
func (c *Client) Use(n int64, how func() error) {
	if c.Acquire(n, func() spec.Result { return c.ResultOf(how()) }) {
		c.Release(n)
	}
}

// Lock uses n permits, without a context.
func (c *Client) Lock(n int64) { c.LockContext(bg, n) }

// LockContext uses n permits unless ctx, which may be the history's, ends.
func (c *Client) LockContext(ctx context.Context, n int64) {
	o := spec.Op{Kind: spec.Acquire, N: n, Context: ctx == c.ctx}
	got := c.Record(o, func() spec.Result { return c.ResultOf(c.S.Acquire(ctx, n)) })
	if got == spec.Granted {
		c.Release(n)
	}
}

// Cancel ends the context.
func (c *Client) Cancel() {
	c.Do(spec.Cancel, 0, func() spec.Result { c.ctx.Cancel(); return spec.Done })
}

// LockAndCancel uses n permits, and ends the context while it has them.
func (c *Client) LockAndCancel(n int64) {
	if c.Acquire(n, func() spec.Result { return c.ResultOf(c.S.Acquire(bg, n)) }) {
		c.Cancel()
		c.Release(n)
	}
}

// LockTimeout uses n permits unless time passes.
func (c *Client) LockTimeout(n int64) {
	c.Use(n, func() error { return c.S.AcquireTimeout(time.Second, n) })
}

// Try uses n permits if they are free.
func (c *Client) Try(n int64) {
	got := c.Do(spec.TryAcquire, n, func() spec.Result {
		if c.S.TryAcquire(n) {
			return spec.Granted
		}
		return spec.Refused
	})
	if got == spec.Granted {
		c.Release(n)
	}
}

// Release releases n permits, and may panic.
func (c *Client) Release(n int64) {
	c.Do(spec.Release, n, func() spec.Result {
		if interleave.Panics(func() { c.S.Release(n) }) != nil {
			return spec.Panicked
		}
		return spec.Done
	})
}

// Await uses n permits, and waits for them by a future's channel.
func (c *Client) Await(n int64) {
	c.Use(n, func() error {
		f := c.k.request(c.S, n)
		interleave.Receive(f.Done())
		return f.Take()
	})
}

// Poll uses n permits, and polls a future until it has them.
func (c *Client) Poll(n int64) {
	c.Use(n, func() error {
		f, t := c.k.request(c.S, n), NewTask(c.x)
		for !f.Poll(t) {
			t.Sleep()
		}
		return f.Take()
	})
}

// AwaitRelease uses n permits of a future, which gives them back: no goroutine calls Err.
func (c *Client) AwaitRelease(n int64) {
	f := c.k.request(c.S, n)
	c.Acquire(n, func() spec.Result { interleave.Receive(f.Done()); return spec.Granted })
	c.Do(spec.Release, n, func() spec.Result { f.Release(); return spec.Done })
	f.Release()
}

// PollRelease polls a future for n permits once, and releases it, whatever it has then.
func (c *Client) PollRelease(n int64) {
	f := c.k.request(c.S, n)
	got := c.Acquire(n, func() spec.Result {
		if f.Poll(nil) {
			return c.ResultOf(f.Err())
		}
		f.Release()
		return spec.Abandoned
	})
	if got {
		c.Do(spec.Release, n, func() spec.Result { f.Release(); return spec.Done })
	}
	f.Release()
}

// Drop polls a future for n permits once, and releases it unless it is complete.
func (c *Client) Drop(n int64) {
	got := c.Acquire(n, func() spec.Result {
		f := c.k.request(c.S, n)
		if f.Poll(nil) {
			return c.ResultOf(f.Take())
		}
		f.Release()
		return spec.Abandoned
	})
	if got {
		c.Release(n)
	}
}

// Lose polls a future for n permits once, and releases it: something else was quicker, if only by a
// little.
func (c *Client) Lose(n int64) {
	c.Acquire(n, func() spec.Result {
		f := c.k.request(c.S, n)
		f.Poll(nil)
		f.Release()
		return spec.Abandoned
	})
}

// Resize changes the size.
func (c *Client) Resize(n int64) {
	c.Do(spec.Resize, n, func() spec.Result { c.S.Resize(n); return spec.Done })
}

// Close closes the semaphore.
func (c *Client) Close() {
	c.Do(spec.Close, 0, func() spec.Result { c.S.Close(); return spec.Done })
}

// The scenarios that every semaphore must pass.
var histories = []History{
	{Name: "lock", Size: 1, Clients: Bodies(Locks(1), Locks(1))},
	{Name: "lock twice", Size: 1, Clients: Bodies(
		func(c *Client, _ context.Context) { c.Lock(1); c.Lock(1) }, Locks(1))},
	{Name: "lock/3", Size: 1, Large: true, Clients: Bodies(Locks(1), Locks(1), Locks(1))},
	{Name: "sizes", Size: 2, Clients: Bodies(Locks(2), Locks(1))},
	{Name: "sizes/3", Size: 2, Large: true, Clients: Bodies(Locks(2), Locks(1), Locks(1))},
	{Name: "try", Size: 1, Clients: Bodies(
		Locks(1), func(c *Client, _ context.Context) { c.Try(1); c.Try(1) })},
	{Name: "try/3", Size: 1, Large: true, Clients: Bodies(
		Locks(1), Locks(1), func(c *Client, _ context.Context) { c.Try(1) })},
	{Name: "split", Size: 2, Large: true, Clients: Bodies(
		func(c *Client, _ context.Context) {
			if c.Acquire(2, func() spec.Result { return c.ResultOf(c.S.Acquire(bg, 2)) }) {
				c.Release(1)
				c.Release(1)
			}
		}, Locks(2), Locks(1))},
	{Name: "timeout", Size: 1, Clients: Bodies(
		Locks(1), func(c *Client, _ context.Context) { c.LockTimeout(1) })},
	{Name: "timeout/3", Size: 2, Large: true, Clients: Bodies(
		Locks(1), func(c *Client, _ context.Context) { c.LockTimeout(2) }, Locks(1))},
	{Name: "cancel", Size: 1, Cancel: true, Clients: Bodies(
		Locks(1), func(c *Client, ctx context.Context) { c.LockContext(ctx, 1) })},
	// A request that begins while a permit is free must not take the one that is released after the
	// cancel.
	{Name: "cancel/before release", Size: 1, Clients: Bodies(
		Does(func(c *Client) { c.LockAndCancel(1) }),
		func(c *Client, ctx context.Context) { c.LockContext(ctx, 1) },
	)},
	{Name: "cancel/before release/3", Size: 2, Large: true, Clients: Bodies(
		Does(func(c *Client) { c.LockAndCancel(1) }),
		func(c *Client, ctx context.Context) { c.LockContext(ctx, 2) },
		Locks(1),
	)},
	{Name: "cancel/before resize", Size: 0, Clients: Bodies(
		Does(func(c *Client) { c.Cancel(); c.Resize(1) }),
		func(c *Client, ctx context.Context) { c.LockContext(ctx, 1) },
	)},
	{Name: "resize up", Size: 1, Clients: Bodies(
		Locks(1), Locks(1), func(c *Client, _ context.Context) { c.Resize(2) })},
	{Name: "resize too large", Size: 2, Clients: Bodies(
		Locks(2), Locks(1), func(c *Client, _ context.Context) { c.Resize(1) })},
	// A Resize ends what waits then, not what comes after a later Resize.
	{Name: "resize twice", Size: 2, Large: true, Clients: Bodies(
		Locks(1), func(c *Client, _ context.Context) { c.Resize(1) },
		func(c *Client, _ context.Context) { c.Resize(2); c.Lock(2); c.Lock(2) })},
	{Name: "close", Size: 1, Clients: Bodies(
		Locks(1), Locks(1), func(c *Client, _ context.Context) { c.Close() })},
	{Name: "close/try", Size: 1, Clients: Bodies(
		Locks(1), func(c *Client, _ context.Context) { c.Try(1) }, func(c *Client, _ context.Context) { c.Close() })},
	{Name: "close/cancel", Size: 1, Large: true, Cancel: true, Clients: Bodies(
		Locks(1),
		func(c *Client, ctx context.Context) { c.LockContext(ctx, 1) },
		func(c *Client, _ context.Context) { c.Close() },
	)},
}

// Does returns the body of a client that needs no context.
func Does(f func(*Client)) Body { return func(c *Client, _ context.Context) { f(c) } }

var (
	awaits = Does(func(c *Client) { c.Await(1) })
	polls  = Does(func(c *Client) { c.Poll(1) })
	drops  = Does(func(c *Client) { c.Drop(1) })
	loses  = Does(func(c *Client) { c.Lose(1) })

	awaitsAndReleases = Does(func(c *Client) { c.AwaitRelease(1) })
	pollsAndReleases  = Does(func(c *Client) { c.PollRelease(1) })

	closes = Does((*Client).Close)
)

// The scenarios that every semaphore with futures must pass.
var futureHistories = []History{
	{Name: "future", Size: 1, Clients: Bodies(Locks(1), awaits)},
	{Name: "future/poll", Size: 1, Clients: Bodies(Locks(1), polls)},
	{Name: "future/poll/3", Size: 1, Large: true, Clients: Bodies(Locks(1), Locks(1), polls)},
	{Name: "future/release", Size: 1, Clients: Bodies(Locks(1), awaitsAndReleases)},
	{Name: "future/poll and release", Size: 1, Clients: Bodies(Locks(1), pollsAndReleases)},
	{Name: "future/drop", Size: 1, Clients: Bodies(Locks(1), drops)},
	{Name: "future/drop/3", Size: 1, Large: true, Clients: Bodies(Locks(1), Locks(1), drops)},
	{Name: "future/lose", Size: 1, Clients: Bodies(Locks(1), loses)},
	{Name: "future/both drop", Size: 1, Large: true, Clients: Bodies(Locks(1), drops, drops)},
	{
		Name:    "future/sizes",
		Size:    2,
		Large:   true,
		Clients: Bodies(Locks(1), Does(func(c *Client) { c.Drop(2) }), awaits),
	},
	{Name: "future/try", Size: 1, Large: true, Clients: Bodies(Locks(1), drops, Does(func(c *Client) { c.Try(1) }))},
	{
		Name:    "future/resize up",
		Size:    1,
		Large:   true,
		Clients: Bodies(Locks(1), awaits, Does(func(c *Client) { c.Resize(2) })),
	},
	{Name: "close/future", Size: 1, Clients: Bodies(Locks(1), awaits, closes)},
	{Name: "close/future/drop", Size: 1, Clients: Bodies(Locks(1), drops, closes)},
	{Name: "close/seen", Size: 1, Large: true, Clients: Bodies(Does((*Client).DropWhileHolding), Locks(1), closes)},
}

// DropWhileHolding asks for a permit more while it holds one: the answer may show that the
// semaphore is closed.
func (c *Client) DropWhileHolding() {
	if c.Acquire(1, func() spec.Result { return c.ResultOf(c.S.Acquire(bg, 1)) }) {
		c.Drop(1)
		c.Release(1)
	}
}

// RunHistories runs the scenarios that every semaphore must pass, and skips the known ones.
func RunHistories(t *testing.T, k Kind, known ...Known) {
	t.Helper()
	CheckHistories(t, k, histories, known...)
	if k.Bind != nil {
		CheckHistories(t, k, futureHistories, known...)
	}
	t.Run("available", func(t *testing.T) {
		locktest.SkipKnown(t, "available", known)
		checkAvailable(t, k)
	})
}

// checkAvailable checks that Available, which may be out of date, is a number that was true once.
func checkAvailable(t *testing.T, k Kind) {
	t.Helper()
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		s := k.New(2)
		x.Name("s", s)
		x.Go("user", func() {
			for range 2 {
				if s.TryAcquire(1) {
					s.Release(1)
				}
			}
		})
		x.Go("reader", func() {
			n := s.Available()
			x.Assert(n == 1 || n == 2, "%d of 2 permits are available while at most 1 is held", n)
		})
		x.Wait()
	})
}

// CheckHistories checks that every history that the explorer can bring about is one that the
// sequential queueing semaphore of internal/locktest/spec could have given: linearizability. The
// orders of calls and returns are explored like those of the operations themselves, so these
// scenarios must be small.
func CheckHistories(t *testing.T, k Kind, hs []History, known ...Known) {
	t.Helper()
	for _, h := range hs {
		t.Run(h.Name, func(t *testing.T) {
			locktest.SkipKnown(t, h.Name, known)
			o := interleave.Options{}
			switch {
			case h.Large && k.Delegates:
				t.Skip("explored of what it delegates to")
			case h.Large && (testing.Short() || interleave.RaceEnabled):
				t.Skip("tier two")
			case h.Large:
				o = interleave.Options{Mode: interleave.Bounded, Bound: 3}
			case interleave.RaceEnabled, k.Delegates && testing.Short():
				// Without the race detector results are judged in all schedules, here or of what it
				// delegates to, and in tier two. With it: two accesses meet in few.
				o = interleave.Options{Mode: interleave.Bounded, Bound: 2}
			}
			judge := spec.NewJudge(h.Size)
			interleave.Check(t, o, func(x *interleave.Run) { h.run(x, k, judge) })
			t.Logf("%d different histories", judge.Judged())
		})
	}
}

func (h *History) run(x *interleave.Run, k Kind, judge *spec.Judge) {
	s := k.New(h.Size)
	x.Name("s", s)
	cs := make([]Client, len(h.Clients))
	ctx := x.NewContext()
	for i, f := range h.Clients {
		cs[i] = Client{S: s, Recorder: spec.Recorder{Clock: x, Client: i}, ctx: ctx, k: k, x: x}
		x.Go("client"+string(rune('1'+i)), func() { f(&cs[i], ctx) })
	}
	canceller := Client{Recorder: spec.Recorder{Clock: x, Client: len(cs)}, ctx: ctx, x: x}
	if h.Cancel {
		x.Go("canceller", canceller.Cancel)
	}
	x.Wait()
	ops := canceller.Ops
	for i := range cs {
		ops = append(ops, cs[i].Ops...)
	}
	if !judge.Linearizable(ops) {
		x.Fail("not linearizable:\n%v", spec.Describe(ops))
	}
}
