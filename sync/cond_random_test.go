//go:build !interleave

package sync

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	std "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/spec"
)

// A clock numbers the calls and the returns of goroutines.
type clock struct{ now atomic.Int64 }

func (c *clock) Invoke() int64  { return c.now.Add(1) }
func (c *clock) Respond() int64 { return c.now.Add(1) }

// A condition is a Cond, or what is wrong with it.
type condition interface {
	Wait()
	WaitContext(ctx context.Context) error
	WaitTimeout(d time.Duration) bool
	Signal()
	Broadcast()
	Waiting() int
}

// A condRun is one random history of some goroutines.
type condRun struct {
	condition
	l        Locker
	ctx      context.Context
	cancel   context.CancelFunc
	clock    clock
	begin    std.WaitGroup
	clients  [4]condClient
	finished atomic.Int32 // clients
	timed    atomic.Int32 // waits that end by themselves
	within   atomic.Int32 // waits that the context ends
	over     atomic.Bool  // what comes now is no part of the history
}

// client makes some random calls.
func (r *condRun) client(c *condClient) {
	defer r.finished.Add(1)
	r.begin.Done()
	r.begin.Wait()
	for i := range uint8(seats / len(r.clients)) {
		if rand.IntN(3) == 0 {
			runtime.Gosched()
		}
		switch n := rand.IntN(20); {
		case n < 9:
			r.waitLocked(c, uint8(c.id)*uint8(seats/len(r.clients))+i, n/3)
		case n < 13:
			c.do("signal", r.Signal, condSignal)
		case n < 16:
			c.do("lock", r.l.Lock, condLock)
			c.do("signal", r.Signal, condSignal)
			c.do("unlock", r.l.Unlock, condUnlock)
		case n < 18:
			c.do("broadcast", r.Broadcast, condBroadcast)
		default:
			c.do("cancel", r.cancel, condEnd)
		}
		if r.over.Load() {
			return
		}
	}
}

// waitLocked waits in one of three ways.
func (r *condRun) waitLocked(c *condClient, seat uint8, way int) {
	c.do("lock", r.l.Lock, condLock)
	switch w := (condWait{seat, way == 1}); way {
	case 0:
		c.wait(w, func() bool { r.Wait(); return true })
	case 1:
		r.within.Add(1)
		c.wait(w, func() bool { return r.WaitContext(r.ctx) == nil })
		r.within.Add(-1)
	default:
		r.timed.Add(1)
		c.wait(w, func() bool { return r.WaitTimeout(time.Duration(rand.IntN(20_000))) })
		r.timed.Add(-1)
	}
	if !r.over.Load() {
		c.do("unlock", r.l.Unlock, condUnlock)
	} else {
		r.l.Unlock()
	}
}

// isQuiet reports whether all clients have finished, or wait for what none will send.
func (r *condRun) isQuiet() bool {
	now := r.clock.now.Load()
	return r.timed.Load() == 0 && (r.within.Load() == 0 || r.ctx.Err() == nil) &&
		int(r.finished.Load())+r.Waiting() == len(r.clients) &&
		r.clock.now.Load() == now
}

// history runs the clients, and returns what they have done.
func (r *condRun) history(t *testing.T) []condCall {
	r.ctx, r.cancel = context.WithCancel(bg)
	defer r.cancel()
	r.begin.Add(len(r.clients))
	var all []*condClient
	for i := range r.clients {
		c := &r.clients[i]
		c.clock, c.id = &r.clock, i
		all = append(all, c)
		go r.client(c)
	}
	locktest.Eventually(t, "nothing moves any more", r.isQuiet)
	history := condHistory(all...)
	r.over.Store(true)
	locktest.Eventually(t, "all have finished", func() bool {
		r.Broadcast()
		return int(r.finished.Load()) == len(r.clients)
	})
	return history
}

// Whatever goroutines do with it, a Cond answers as the sequential one does in some order.
func TestCondHistories(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		judge := spec.NewMachine[condState]()
		for range locktest.Scaled(4000) {
			var m Mutex
			history := (&condRun{condition: NewCond(&m), l: &m}).history(t)
			if !judge.Linearizable(history) {
				t.Fatalf("not linearizable:\n%v", spec.DescribeCalls(history))
			}
		}
		t.Logf("%d different histories", judge.Judged())
	})
}

// A roughCond is a Cond with a defect.
type roughCond struct {
	Locker
	newestFirst bool
	forgets     bool // that one who has given up does not wait
	mu          std.Mutex
	line        []*roughWait
}

type roughWait struct {
	woken chan struct{}
	gone  bool
}

func (c *roughCond) Wait() { _ = c.WaitContext(bg) }

func (c *roughCond) WaitTimeout(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(bg, d)
	defer cancel()
	return c.WaitContext(ctx) == nil
}

func (c *roughCond) WaitContext(ctx context.Context) error {
	w := &roughWait{woken: make(chan struct{})}
	c.mu.Lock()
	c.line = append(c.line, w)
	c.mu.Unlock()
	c.Unlock()
	defer c.Lock()
	select {
	case <-w.woken:
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		w.gone = true
		c.line = slices.DeleteFunc(c.line, func(other *roughWait) bool { return other == w && !c.forgets })
		return ctx.Err()
	}
}

func (c *roughCond) Signal() { c.wake(1) }

func (c *roughCond) Broadcast() { c.wake(math.MaxInt) }

func (c *roughCond) wake(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; n > 0 && len(c.line) > 0; n-- {
		i := 0
		if c.newestFirst {
			i = len(c.line) - 1
		}
		close(c.line[i].woken)
		c.line = slices.Delete(c.line, i, i+1)
	}
}

func (c *roughCond) Waiting() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.line {
		if !w.gone {
			n++
		}
	}
	return n
}

// The histories are such that defects are seen.
func TestCondHistoriesTellDefects(t *testing.T) {
	for name, broken := range map[string]func(l Locker) condition{
		"the newest is woken first": func(l Locker) condition { return &roughCond{Locker: l, newestFirst: true} },
		"a signal is lost":          func(l Locker) condition { return &roughCond{Locker: l, forgets: true} },
	} {
		t.Run(name, func(t *testing.T) {
			judge := spec.NewMachine[condState]()
			locktest.Eventually(t, "a history that is not linearizable", func() bool {
				var m std.Mutex
				return !judge.Linearizable((&condRun{condition: broken(&m), l: &m}).history(t))
			})
			t.Logf("after %d different histories", judge.Judged())
		})
	}
}
