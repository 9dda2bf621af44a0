//go:build interleave

package semaphore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/spec"
	"github.com/farad-go/farad/sync/semaphore"
)

// Every history that the explorer can bring about must be one that the sequential queueing semaphore of internal/spec
// could have given: linearizability. The orders of calls and returns are explored like those of the operations themselves,
// so these scenarios are smaller than the engine's.

// A client is a thread of a scenario, and what it has done.
type client struct {
	x   *interleave.Run
	s   *semaphore.Semaphore
	id  int
	ops []spec.Op
}

func (c *client) do(k spec.Kind, n int64, f func() spec.Result) spec.Result {
	call := c.x.Invoke()
	r := f()
	c.ops = append(c.ops, spec.Op{Client: c.id, Kind: k, N: n, Call: call, Return: c.x.Respond(), Result: r})
	return r
}

func resultOf(c *client, err error) spec.Result {
	switch {
	case err == nil:
		return spec.Granted
	case errors.Is(err, semaphore.ErrClosed):
		return spec.Closed
	case errors.Is(err, semaphore.ErrTooLarge):
		return spec.TooLarge
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return spec.Cancelled
	}
	c.x.Fail("unexpected: %v", err)
	return spec.None
}

// acquire acquires n permits in some way.
func (c *client) acquire(n int64, how func() error) bool {
	return c.do(spec.Acquire, n, func() spec.Result { return resultOf(c, how()) }) == spec.Granted
}

// use acquires n permits in some way and gives them back.
func (c *client) use(n int64, how func() error) {
	if c.acquire(n, how) {
		c.release(n)
	}
}

func (c *client) lock(n int64) { c.use(n, func() error { return c.s.Acquire(bg, n) }) }

func (c *client) lockContext(ctx context.Context, n int64) {
	c.use(n, func() error { return c.s.Acquire(ctx, n) })
}

func (c *client) lockTimeout(n int64) {
	c.use(n, func() error { return c.s.AcquireTimeout(time.Second, n) })
}

func (c *client) try(n int64) {
	got := c.do(spec.TryAcquire, n, func() spec.Result {
		if c.s.TryAcquire(n) {
			return spec.Granted
		}
		return spec.Refused
	})
	if got == spec.Granted {
		c.release(n)
	}
}

func (c *client) release(n int64) {
	c.do(spec.Release, n, func() spec.Result {
		if interleave.Panics(func() { c.s.Release(n) }) != nil {
			return spec.Panicked
		}
		return spec.Done
	})
}

func (c *client) resize(n int64) {
	c.do(spec.Resize, n, func() spec.Result { c.s.Resize(n); return spec.Done })
}

func (c *client) close() {
	c.do(spec.Close, 0, func() spec.Result { c.s.Close(); return spec.Done })
}

// await waits for a future by its channel.
func (c *client) await(n int64) {
	c.use(n, func() error {
		var f semaphore.AcquireFuture
		f.Init(c.s, n)
		interleave.Receive(f.Done())
		return f.Err()
	})
}

// drop polls a future once and cancels it, unless it is complete.
func (c *client) drop(n int64) {
	got := c.do(spec.Acquire, n, func() spec.Result {
		var f semaphore.AcquireFuture
		f.Init(c.s, n)
		if f.Poll(nil) {
			return resultOf(c, f.Err())
		}
		f.Cancel()
		return spec.Abandoned
	})
	if got == spec.Granted {
		c.release(n)
	}
}

type history struct {
	name    string
	size    int64
	large   bool // not for -short, and under a bound
	cancel  bool // one more thread cancels the context
	clients []func(c *client, ctx context.Context)
}

func locks(n int64) func(*client, context.Context) {
	return func(c *client, _ context.Context) { c.lock(n) }
}

var histories = []history{
	{name: "lock", size: 1, clients: clients(locks(1), locks(1))},
	{name: "lock twice", size: 1, clients: clients(
		func(c *client, _ context.Context) { c.lock(1); c.lock(1) }, locks(1))},
	{name: "lock/3", size: 1, large: true, clients: clients(locks(1), locks(1), locks(1))},
	{name: "sizes", size: 2, clients: clients(locks(2), locks(1))},
	{name: "sizes/3", size: 2, large: true, clients: clients(locks(2), locks(1), locks(1))},
	{name: "try", size: 1, clients: clients(
		locks(1), func(c *client, _ context.Context) { c.try(1); c.try(1) })},
	{name: "try/3", size: 1, large: true, clients: clients(
		locks(1), locks(1), func(c *client, _ context.Context) { c.try(1) })},
	{name: "split", size: 2, large: true, clients: clients(
		func(c *client, _ context.Context) {
			if c.acquire(2, func() error { return c.s.Acquire(bg, 2) }) {
				c.release(1)
				c.release(1)
			}
		}, locks(2), locks(1))},
	{name: "timeout", size: 1, clients: clients(
		locks(1), func(c *client, _ context.Context) { c.lockTimeout(1) })},
	{name: "timeout/3", size: 2, large: true, clients: clients(
		locks(1), func(c *client, _ context.Context) { c.lockTimeout(2) }, locks(1))},
	{name: "cancel", size: 1, cancel: true, clients: clients(
		locks(1), func(c *client, ctx context.Context) { c.lockContext(ctx, 1) })},
	{name: "future", size: 1, clients: clients(
		locks(1), func(c *client, _ context.Context) { c.await(1) })},
	{name: "future/drop", size: 1, clients: clients(
		locks(1), func(c *client, _ context.Context) { c.drop(1) })},
	{name: "future/drop/3", size: 1, large: true, clients: clients(
		locks(1), locks(1), func(c *client, _ context.Context) { c.drop(1) })},
	{name: "resize up", size: 1, clients: clients(
		locks(1), locks(1), func(c *client, _ context.Context) { c.resize(2) })},
	{name: "resize down", size: 2, large: true, clients: clients(
		locks(1), locks(1), func(c *client, _ context.Context) { c.resize(1) })},
	{name: "resize too large", size: 2, clients: clients(
		locks(2), locks(1), func(c *client, _ context.Context) { c.resize(1) })},
	{name: "close", size: 1, clients: clients(
		locks(1), locks(1), func(c *client, _ context.Context) { c.close() })},
	{name: "close/future", size: 1, clients: clients(
		locks(1), func(c *client, _ context.Context) { c.await(1) }, func(c *client, _ context.Context) { c.close() })},
	// Close was two steps: the holder saw it, and then its release granted the waiter in the slot. It failed with the
	// schedule a10.b11.c5.a11.c3.b16.
	{name: "close/seen before it is done", size: 1, clients: clients(
		func(c *client, _ context.Context) {
			if c.acquire(1, func() error { return c.s.Acquire(bg, 1) }) {
				c.drop(1)
				c.release(1)
			}
		}, locks(1), func(c *client, _ context.Context) { c.close() })},
	{name: "over-release", size: 1, clients: clients(
		locks(1), locks(1), func(c *client, _ context.Context) { c.release(2) })},
}

func clients(fs ...func(*client, context.Context)) []func(*client, context.Context) { return fs }

func TestModelHistories(t *testing.T) {
	for _, h := range histories {
		t.Run(h.name, func(t *testing.T) {
			o := interleave.Options{}
			if h.large {
				if testing.Short() || interleave.RaceEnabled {
					t.Skip("tier two")
				}
				o = interleave.Options{Mode: interleave.Bounded, Bound: 3}
			}
			judge := spec.NewJudge(h.size)
			interleave.Check(t, o, func(x *interleave.Run) {
				s := semaphore.New(h.size)
				x.Name("s", s)
				cs := make([]client, len(h.clients))
				ctx := x.NewContext()
				for i, f := range h.clients {
					cs[i] = client{x: x, s: s, id: i}
					x.Go("client"+string(rune('1'+i)), func() { f(&cs[i], ctx) })
				}
				if h.cancel {
					x.Go("canceller", ctx.Cancel)
				}
				x.Wait()
				var ops []spec.Op
				for i := range cs {
					ops = append(ops, cs[i].ops...)
				}
				if !judge.Linearizable(ops) {
					x.Fail("not linearizable:\n%v", spec.Describe(ops))
				}
			})
			t.Logf("%d different histories", judge.Judged())
		})
	}
}
