package rt

import (
	"context"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Completion is the end of a task as a [Future]. Any number of completions may wait for one task,
// each with one owner.
//
// Its Err is how the task ended: nil, a [*PanicError] or [ErrGoexit]. It must be asked before the
// task is spawned again. A task that Spawn has refused counts as one that has ended. Waiting
// allocates a few words for the first wait of a task, which later waits use again.
type Completion struct {
	_ noCopy
	f waiting.Future
	t *Task
}

// Init makes c the end of the task that t is embedded in. It panics while c waits: an earlier wait
// must have ended or been released.
func (c *Completion) Init(t *Task) {
	if t == nil {
		panic("rt: completion of a nil task")
	}
	if !restart(&c.f, joiners{t}) {
		panic("rt: Init of a completion that waits")
	}
	c.t = t
}

// Poll reports whether the task has ended. See [Future].
func (c *Completion) Poll(w waiter.Waker) bool {
	c.bind()
	return c.f.Poll(w)
}

// bind begins another wait after a Release.
func (c *Completion) bind() {
	if c.t == nil {
		panic("rt: completion without Init")
	}
	if !c.f.Bound() {
		waiting.Bind(&c.f, joiners{c.t}, 0)
	}
}

// Done returns a channel that is closed when the task has ended. It is allocated at the first Done
// of a wait.
func (c *Completion) Done() <-chan struct{} {
	c.bind()
	return c.f.Done()
}

// Err returns how the task ended, or [waiter.ErrPending] if it has not. It does not start to wait.
func (c *Completion) Err() error {
	if c.t == nil {
		return waiter.ErrPending // without Init
	}
	pending, node := c.f.Err(), c.f.Node()
	if pending != nil && (node.Status() != waiting.StatusIdle || c.t.ex == nil) {
		return pending
	}
	if pending == nil {
		node.N = 0 // the owner asks for the error: Release has nothing to give back
	}
	s := c.t.registered()
	s.mu.Lock()
	defer s.mu.Unlock()
	if pending != nil && c.t.state.Load()&taskAlive != 0 {
		return pending
	}
	if c.t.more == nil {
		return nil
	}
	return askedFor(c.t.more.err)
}

func (c *Completion) complete() bool { return c.f.Complete() }

// Release ends the wait; the task goes on.
func (c *Completion) Release() { c.f.Release() }

// completions are free for another wait.
var completions = xsync.Pool{New: func() any { return new(Completion) }}

// recycle keeps c for another wait, unless a worker still has it.
func (c *Completion) recycle() {
	if s := c.f.Node().Status(); s != waiting.StatusComplete && s != waiting.StatusIdle {
		return
	}
	c.f.Release()
	c.t = nil
	waiting.Bind(&c.f, nil, 0)
	completions.Put(c)
}

// waitEnd waits in a goroutine for the end of the task, or returns the error of ctx. If both have
// happened, it returns the error.
func (t *Task) waitEnd(ctx context.Context) error {
	l := waiting.UntilDone(ctx)
	if err := l.Cancelled(); err != nil {
		return err
	}
	p := waiting.GetParker(l)
	s := t.registered()
	s.mu.Lock()
	waits := t.joinLocked(&p.Waiter)
	s.mu.Unlock()
	if !waits {
		p.Put()
		if !l.MayEnd() {
			return nil
		}
		return l.Cancelled() // again: it may have ended before the task
	}
	_, err := waiting.Wait(p, l, joiners{t})
	if err == nil {
		p.Put()
	}
	return err
}

// joiners are the waits for the end of t, as a [waiting.Request].
type joiners struct{ t *Task }

// Start implements [waiting.Request]. The node has N = 0 until the worker notes the end in it: only
// then there is something to give back.
func (j joiners) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	if j.t.ex == nil {
		panic("rt: wait for a task that was never spawned")
	}
	s := j.t.registered()
	s.mu.Lock()
	defer s.mu.Unlock()
	w.N = 0
	w.Arm(waker)
	if !j.t.joinLocked(w) {
		return waiting.Granted
	}
	return waiting.Pending
}

// Unlink implements [waiting.Line].
func (j joiners) Unlink(w *waiting.Waiter) bool {
	s := j.t.registered()
	s.mu.Lock()
	defer s.mu.Unlock()
	return j.t.more.joiners.Remove(w)
}

// GiveBack implements [waiting.Line]: the wait goes without the error of t.
func (j joiners) GiveBack(int64) bool {
	j.t.endGivenUp()
	return true
}

// joinLocked queues n for the end of the task, and reports false if the task has ended. The caller
// holds the lock of the task's shard.
func (t *Task) joinLocked(n *waiting.Waiter) bool {
	if t.state.Load()&taskAlive == 0 {
		return false
	}
	t.extra().joiners.PushBack(n)
	return true
}

// registered returns the shard of a task that was spawned.
func (t *Task) registered() *shard { return &t.ex.shards[t.shard] }
