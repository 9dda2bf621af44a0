//go:build interleave

package rwtest

import (
	"context"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/spec"
)

const (
	all      = 1000
	majority = all/2 + 1
)

// A client is a thread of a scenario, and what it has done.
type client struct {
	spec.Recorder
	l   Lock
	u   UpgradableLock // l; nil if it is none
	ctx *interleave.Context
}

func (c *client) lock(n int64, f func()) {
	c.Do(spec.Acquire, n, func() spec.Result { f(); return spec.Granted })
}

func (c *client) unlock(n int64, f func()) {
	c.Do(spec.Release, n, func() spec.Result { f(); return spec.Done })
}

func (c *client) try(n int64, f func() bool) bool {
	return c.Do(spec.TryAcquire, n, func() spec.Result { return resultOf(f(), spec.Refused) }) == spec.Granted
}

func (c *client) within(n int64, f func(time.Duration) bool) bool {
	return c.Do(spec.Acquire, n, func() spec.Result { return resultOf(f(time.Second), spec.Cancelled) }) == spec.Granted
}

// inTime locks in some way, unless the context ends, and unlocks.
func (c *client) inTime(n int64, lock func(context.Context) error, unlock func()) {
	got := c.Record(spec.Op{Kind: spec.Acquire, N: n, Context: true}, func() spec.Result {
		return resultOf(lock(c.ctx) == nil, spec.Cancelled)
	})
	if got == spec.Granted {
		c.unlock(n, unlock)
	}
}

func (c *client) readInTime()       { c.inTime(1, c.l.RLockContext, c.l.RUnlock) }
func (c *client) writeInTime()      { c.inTime(all, c.l.LockContext, c.l.Unlock) }
func (c *client) upgradableInTime() { c.inTime(majority, c.u.ULockContext, c.u.UUnlock) }

// writeAndCancel ends the context within a write lock.
func (c *client) writeAndCancel() {
	c.lock(all, c.l.Lock)
	c.Do(spec.Cancel, 0, func() spec.Result { c.ctx.Cancel(); return spec.Done })
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
	c.unlock(all-1, c.u.Downgrade)
	c.unlock(1, c.l.RUnlock)
}

func (c *client) upgradable() {
	c.lock(majority, c.u.ULock)
	c.unlock(majority-1, c.u.ForgoUpgrade)
	c.unlock(1, c.l.RUnlock)
}

type history struct {
	name       string
	large      bool // not for -short, and under a bound
	upgradable bool // it needs an upgradable lock
	clients    []func(*client)
}

var histories = []history{
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
	{name: "downgrade", upgradable: true, clients: []func(*client){(*client).downgrade, (*client).read}},
	{name: "downgrade, write", upgradable: true, clients: []func(*client){(*client).downgrade, (*client).write}},
	{name: "cancel before unlock, read", clients: []func(*client){(*client).writeAndCancel, (*client).readInTime}},
	{name: "cancel before unlock, write", clients: []func(*client){(*client).writeAndCancel, (*client).writeInTime}},
	{
		name:       "cancel before unlock, upgradable",
		upgradable: true,
		clients:    []func(*client){(*client).writeAndCancel, (*client).upgradableInTime},
	},
	{name: "upgradable", upgradable: true, clients: []func(*client){(*client).upgradable, (*client).upgradable}},
	{
		name:       "upgradable, read, write",
		large:      true,
		upgradable: true,
		clients:    []func(*client){(*client).upgradable, (*client).read, (*client).write},
	},
}

// RunHistories checks that every history that the explorer can bring about is one of the queueing
// semaphore of package spec, of which a writer takes all permits, a reader one, and an upgradable
// reader one more than half. So it is for FIFO locks only.
func RunHistories(t *testing.T, k Kind) {
	t.Helper()
	_, upgradable := k.New().(UpgradableLock)
	for _, h := range histories {
		if h.upgradable && !upgradable {
			continue
		}
		t.Run(h.name, func(t *testing.T) { h.check(t, k) })
	}
}

func (h history) check(t *testing.T, k Kind) {
	t.Helper()
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
		l := k.New()
		u, _ := l.(UpgradableLock)
		x.Name("l", l)
		cs, ctx := make([]client, len(h.clients)), x.NewContext()
		for i, f := range h.clients {
			cs[i] = client{Recorder: spec.Recorder{Clock: x, Client: i}, l: l, u: u, ctx: ctx}
			x.Go("client"+string(rune('1'+i)), func() { f(&cs[i]) })
		}
		x.Wait()
		var ops []spec.Op
		for i := range cs {
			ops = append(ops, cs[i].Ops...)
		}
		if !judge.Linearizable(ops) {
			x.Fail("not linearizable:\n%v", spec.Describe(ops))
		}
	})
	t.Logf("%d different histories", judge.Judged())
}
