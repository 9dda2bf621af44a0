//go:build !interleave

package sync

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	std "sync"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/spec"
)

// A group is a WaitGroup, or what is wrong with it.
type group interface {
	Add(delta int)
	Done()
	Go(f func())
	Wait()
	WaitContext(ctx context.Context) error
	WaitTimeout(d time.Duration) bool
}

// A groupRun is one random history of some goroutines.
type groupRun struct {
	group
	ctx     context.Context
	cancel  context.CancelFunc
	clock   clock
	goes    std.WaitGroup // tasks that Go has started, for a group that does not wait for them
	mu      std.Mutex
	clients []*groupClient // guarded by mu
}

// client returns a new client.
func (r *groupRun) client() *groupClient {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &groupClient{clock: &r.clock, id: len(r.clients)}
	r.clients = append(r.clients, c)
	return c
}

func (r *groupRun) add(c *groupClient, delta int) {
	c.do(fmt.Sprintf("add %d", delta), func() { r.Add(delta) }, groupAdd(delta, false))
}

func (r *groupRun) done(c *groupClient) { c.do("done", r.Done, groupAdd(-1, false)) }

// task is a task that has been counted.
func (r *groupRun) task() {
	c := r.client()
	for range rand.IntN(3) {
		switch rand.IntN(4) {
		case 0:
			r.add(c, 2)
			r.done(c)
			r.done(c)
		case 1:
			r.add(c, 3)
			r.add(c, -3)
		case 2:
			r.starts(c)
		default:
			runtime.Gosched()
		}
	}
	r.done(c)
}

// starts starts a task by Go. Its Done comes after the function's end, before the group is done.
func (r *groupRun) starts(c *groupClient) {
	task := r.client()
	r.goes.Add(1)
	c.do("go", func() {
		r.Go(func() {
			task.add("done by go", r.clock.Invoke(), spec.Never, groupAdd(-1, false))
			r.goes.Done()
		})
	}, groupAdd(1, false))
}

// waits waits twice, in some way. The seats are from the first on.
func (r *groupRun) waits(first uint8) {
	c := r.client()
	for seat := first; seat < first+2; seat++ {
		if rand.IntN(2) == 0 {
			runtime.Gosched()
		}
		switch way := rand.IntN(4); way {
		case 0:
			c.wait(groupWait{seat, true}, func() bool { return r.WaitContext(r.ctx) == nil })
		case 1:
			c.wait(groupWait{seat, false}, func() bool { return r.WaitTimeout(time.Duration(rand.IntN(20_000))) })
		case 2:
			c.do("cancel", r.cancel, groupEnd)
		default:
			c.wait(groupWait{seat, false}, func() bool { r.Wait(); return true })
		}
	}
}

// history returns what was done in two rounds. The second begins when all waits have returned.
func (r *groupRun) history(t *testing.T) []groupCall {
	r.ctx, r.cancel = context.WithCancel(bg)
	defer r.cancel()
	me := r.client()
	for round := range uint8(2) {
		const tasks, waiters = 3, seats / 4
		r.add(me, tasks)
		ended := make(chan struct{})
		go func() {
			var all std.WaitGroup
			for range tasks {
				all.Go(r.task)
			}
			for i := range uint8(waiters) {
				all.Go(func() { r.waits(round*seats/2 + 2*i) })
			}
			all.Wait()
			close(ended)
		}()
		locktest.Receive(t, ended)
		me.wait(groupWait{seats - 1, false}, func() bool { r.Wait(); return true })
		r.goes.Wait()
	}
	history := groupHistory(r.clients...)
	end := r.clock.Invoke()
	for i := range history {
		history[i].Return = min(history[i].Return, end)
	}
	return history
}

// Whatever goroutines do with it, a WaitGroup answers as the sequential one does in some order.
func TestWaitGroupHistories(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		judge := spec.NewMachine[groupState]()
		for range locktest.Scaled(4000) {
			history := (&groupRun{group: new(WaitGroup)}).history(t)
			if !judge.Linearizable(history) {
				t.Fatalf("not linearizable:\n%v", spec.DescribeCalls(history))
			}
		}
		t.Logf("%d different histories", judge.Judged())
	})
}

// A roughGroup is a WaitGroup with a defect.
type roughGroup struct {
	WaitGroup
	early bool // does not wait for the last task
	deaf  bool // does not look at a context again
}

func (g *roughGroup) Wait() {
	for g.early && g.state.Load()>>counterShift > 1 {
		runtime.Gosched()
	}
	if !g.early {
		g.WaitGroup.Wait()
	}
}

func (g *roughGroup) WaitContext(ctx context.Context) error {
	if g.deaf && ctx.Err() == nil {
		g.WaitGroup.Wait()
		return nil
	}
	return g.WaitGroup.WaitContext(ctx)
}

// The histories are such that defects are seen.
func TestWaitGroupHistoriesTellDefects(t *testing.T) {
	for name, broken := range map[string]func() group{
		"a wait returns before the last task is done": func() group { return &roughGroup{early: true} },
		"a cancel before the last Done is not seen":   func() group { return &roughGroup{deaf: true} },
	} {
		t.Run(name, func(t *testing.T) {
			judge := spec.NewMachine[groupState]()
			locktest.Eventually(t, "a history that is not linearizable", func() bool {
				return !judge.Linearizable((&groupRun{group: broken()}).history(t))
			})
			t.Logf("after %d different histories", judge.Judged())
		})
	}
}
