//go:build interleave

package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/spec"
	"github.com/farad-go/farad/sync/rwlock"
)

// Every history of a read-write lock must be one of the queueing semaphore of
// internal/locktest/spec, of which a writer takes all permits, a reader one, and an upgradable
// reader one more than half.

const (
	all      = 1000
	majority = all/2 + 1
)

// A client is a thread of a scenario, and what it has done.
type client struct {
	x   *interleave.Run
	l   *rwlock.RWLock
	ctx *interleave.Context
	id  int
	ops []spec.Op
}

func (c *client) do(k spec.Kind, n int64, f func() spec.Result) spec.Result {
	return c.record(spec.Op{Kind: k, N: n}, f)
}

func (c *client) record(o spec.Op, f func() spec.Result) spec.Result {
	o.Client = c.id
	o.Call = c.x.Invoke()
	o.Result = f()
	o.Return = c.x.Respond()
	c.ops = append(c.ops, o)
	return o.Result
}

func (c *client) lock(n int64, f func()) {
	c.do(spec.Acquire, n, func() spec.Result { f(); return spec.Granted })
}

func (c *client) unlock(n int64, f func()) {
	c.do(spec.Release, n, func() spec.Result { f(); return spec.Done })
}

func (c *client) try(n int64, f func() bool) bool {
	return c.do(spec.TryAcquire, n, func() spec.Result { return resultOf(f(), spec.Refused) }) == spec.Granted
}

func (c *client) within(n int64, f func(time.Duration) bool) bool {
	return c.do(spec.Acquire, n, func() spec.Result { return resultOf(f(time.Second), spec.Cancelled) }) == spec.Granted
}

// inTime locks in some way, unless the context ends, and unlocks.
func (c *client) inTime(n int64, lock func(context.Context) error, unlock func()) {
	got := c.record(spec.Op{Kind: spec.Acquire, N: n, Context: true}, func() spec.Result {
		return resultOf(lock(c.ctx) == nil, spec.Cancelled)
	})
	if got == spec.Granted {
		c.unlock(n, unlock)
	}
}

func (c *client) readInTime()       { c.inTime(1, c.l.RLockContext, c.l.RUnlock) }
func (c *client) writeInTime()      { c.inTime(all, c.l.LockContext, c.l.Unlock) }
func (c *client) upgradableInTime() { c.inTime(majority, c.l.ULockContext, c.l.UUnlock) }

// writeAndCancel ends the context within a write lock.
func (c *client) writeAndCancel() {
	c.lock(all, c.l.Lock)
	c.do(spec.Cancel, 0, func() spec.Result { c.ctx.Cancel(); return spec.Done })
	c.unlock(all, c.l.Unlock)
}

func resultOf(ok bool, otherwise spec.Result) spec.Result {
	if ok {
		return spec.Granted
	}
	return otherwise
}

func (c *client) read()  { c.lock(1, c.l.RLock); c.unlock(1, c.l.RUnlock) }
func (c *client) write() { c.lock(all, c.l.Lock); c.unlock(all, c.l.Unlock) }

func (c *client) tryRead() {
	if c.try(1, c.l.TryRLock) {
		c.unlock(1, c.l.RUnlock)
	}
}

func (c *client) tryWrite() {
	if c.try(all, c.l.TryLock) {
		c.unlock(all, c.l.Unlock)
	}
}

func (c *client) writeWithin() {
	if c.within(all, c.l.LockTimeout) {
		c.unlock(all, c.l.Unlock)
	}
}

func (c *client) downgrade() {
	c.lock(all, c.l.Lock)
	c.unlock(all-1, c.l.Downgrade)
	c.unlock(1, c.l.RUnlock)
}

func (c *client) upgradable() {
	c.lock(majority, c.l.ULock)
	c.unlock(majority-1, c.l.UDowngrade)
	c.unlock(1, c.l.RUnlock)
}

var histories = []struct {
	name    string
	large   bool // not for -short, and under a bound
	clients []func(*client)
}{
	{name: "read, write", clients: []func(*client){(*client).read, (*client).write}},
	{name: "read, read, write", large: true, clients: []func(*client){(*client).read, (*client).read, (*client).write}},
	{
		name:    "read, write, write",
		large:   true,
		clients: []func(*client){(*client).read, (*client).write, (*client).write},
	},
	{name: "try", clients: []func(*client){(*client).tryRead, (*client).tryWrite}},
	{
		name:    "try write, read twice",
		clients: []func(*client){(*client).tryWrite, func(c *client) { c.read(); c.read() }},
	},
	{name: "try read, write", clients: []func(*client){(*client).tryRead, (*client).write}},
	{
		name:    "try among three",
		large:   true,
		clients: []func(*client){(*client).tryRead, (*client).tryWrite, (*client).write},
	},
	{name: "write gives up", clients: []func(*client){(*client).writeWithin, (*client).read}},
	{
		name:    "write gives up among three",
		large:   true,
		clients: []func(*client){(*client).writeWithin, (*client).read, (*client).read},
	},
	{name: "downgrade", clients: []func(*client){(*client).downgrade, (*client).read}},
	{name: "downgrade, write", clients: []func(*client){(*client).downgrade, (*client).write}},
	{name: "cancel before unlock, read", clients: []func(*client){(*client).writeAndCancel, (*client).readInTime}},
	{name: "cancel before unlock, write", clients: []func(*client){(*client).writeAndCancel, (*client).writeInTime}},
	{
		name:    "cancel before unlock, upgradable",
		clients: []func(*client){(*client).writeAndCancel, (*client).upgradableInTime},
	},
	{name: "upgradable", clients: []func(*client){(*client).upgradable, (*client).upgradable}},
	{
		name:    "upgradable, read, write",
		large:   true,
		clients: []func(*client){(*client).upgradable, (*client).read, (*client).write},
	},
}

func TestModelHistories(t *testing.T) {
	modelKinds(t, func(t *testing.T, opts []rwlock.Option) {
		for _, h := range histories {
			t.Run(h.name, func(t *testing.T) {
				o := interleave.Options{}
				switch {
				case h.large && (testing.Short() || interleave.RaceEnabled):
					t.Skip("tier two")
				case h.large:
					o = interleave.Options{Mode: interleave.Bounded, Bound: 3}
				case interleave.RaceEnabled: // Results are judged without it, in all schedules; two accesses meet in few.
					o = interleave.Options{Mode: interleave.Bounded, Bound: 2}
				}
				judge := spec.NewJudge(all)
				interleave.Check(t, o, func(x *interleave.Run) {
					l := rwlock.New(opts...)
					x.Name("l", l)
					cs, ctx := make([]client, len(h.clients)), x.NewContext()
					for i, f := range h.clients {
						cs[i] = client{x: x, l: l, ctx: ctx, id: i}
						x.Go("client"+string(rune('1'+i)), func() { f(&cs[i]) })
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
	})
}

// modelKinds runs f for the plain lock and for the biased one.
func modelKinds(t *testing.T, f func(t *testing.T, opts []rwlock.Option)) {
	t.Helper()
	t.Run("plain", func(t *testing.T) { f(t, nil) })
	t.Run("bias", func(t *testing.T) { f(t, []rwlock.Option{rwlock.WithReaderBias()}) })
}
