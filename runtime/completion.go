package rt

import (
	"context"

	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Completion is the end of a task as a [Future]. Any number of them may wait for one task, each
// with one owner.
//
// Its Err is how the task ended: nil, a [*PanicError] or [ErrGoexit]. It must be asked before the
// task is spawned again. A task that Spawn has refused has not run, and is taken for one that has
// ended.
type Completion struct {
	_ noCopy
	w waiter.Waiter
	t *Task
}

// Init makes c the end of the task that t is embedded in. An earlier wait must have ended, or been
// cancelled.
func (c *Completion) Init(t *Task) {
	if t == nil {
		panic("rt: completion of a nil task")
	}
	settle(&c.w)
	switch c.w.Status() {
	case waiter.StatusIdle:
	case waiter.StatusComplete:
		c.w.Reset()
	default:
		panic("rt: Init of a completion that waits")
	}
	c.t = t
}

// Poll reports whether the task has ended. See [Future].
func (c *Completion) Poll(w waiter.Waker) bool {
	s := c.w.Status()
	if s == waiter.StatusIdle {
		return c.start(w) == waiter.StatusComplete
	}
	return repoll(&c.w, s, w)
}

// Done returns a channel that carries one value when the task has ended. A receive takes the value
// out, and the next Done puts it back. A Poll right after a receive may still say false, for a few
// instructions of the task's worker; Err waits for them.
func (c *Completion) Done() <-chan struct{} {
	for { // Each turn waits for the last steps of the task's worker.
		settle(&c.w)
		ch, s := c.w.Chan()
		if ch == nil {
			continue
		}
		if s == waiter.StatusIdle {
			c.start(nil)
		}
		return ch
	}
}

// Err returns how the task ended, [waiter.ErrPending] if it has not.
func (c *Completion) Err() error {
	if err := c.ended(); err != nil {
		return err
	}
	s := c.t.registered()
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.t.more == nil {
		return nil
	}
	return observed(c.t.more.err)
}

// ended returns nil if the task has ended, and [waiter.ErrPending] if not. It does not begin to
// wait.
func (c *Completion) ended() error {
	settle(&c.w)
	switch c.w.Status() {
	case waiter.StatusComplete:
		return nil
	case waiter.StatusIdle:
		if c.t == nil || c.t.ex == nil {
			return waiter.ErrPending
		}
		s := c.t.registered()
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.t.state.Load()&taskAlive == 0 {
			c.w.N = 0 // it has not been told
			c.w.Finish(waiter.Granted)
			return nil
		}
	default:
	}
	return waiter.ErrPending
}

func (c *Completion) complete() bool { return c.w.Status() == waiter.StatusComplete }

// Cancel ends the wait; the task goes on.
func (c *Completion) Cancel() {
	switch c.w.Status() {
	case waiter.StatusIdle:
		return
	case waiter.StatusComplete: // and stays so
		c.giveUp()
		return
	default:
	}
	s := c.t.registered()
	s.mu.Lock()
	unlinked := c.t.more.joiners.Remove(&c.w)
	s.mu.Unlock()
	if unlinked {
		c.w.Reset()
		return
	}
	if !c.w.Abandon() && c.w.Status() == waiter.StatusComplete {
		c.giveUp()
	}
}

// giveUp is the end of a wait that was told of the task's end, and goes without the error.
func (c *Completion) giveUp() {
	if c.w.N != 0 {
		c.w.N = 0
		c.t.endGivenUp()
	}
}

// start begins the wait.
func (c *Completion) start(w waiter.Waker) waiter.Status {
	if c.t == nil {
		panic("rt: completion without Init")
	}
	if c.t.ex == nil {
		panic("rt: wait for a task that was never spawned")
	}
	s := c.t.registered()
	s.mu.Lock()
	defer s.mu.Unlock()
	c.w.N = 0 // until it is told
	c.w.Arm(w)
	if !c.t.joinLocked(&c.w) {
		c.w.Finish(waiter.Granted)
		return waiter.StatusComplete
	}
	return waiter.StatusWaiting
}

// completions are those of waits that have ended.
var completions = xsync.Pool{New: func() any { return new(Completion) }}

// recycle keeps c for another wait, unless it has been left to the task's worker.
func (c *Completion) recycle() {
	switch c.w.Status() {
	case waiter.StatusComplete:
		c.w.Reset()
	case waiter.StatusIdle:
	default:
		return
	}
	c.t = nil
	completions.Put(c)
}

// waitEnd waits in a goroutine for the end of the task, or returns the error of ctx. If both have
// happened, that is the error.
func (t *Task) waitEnd(ctx context.Context) error {
	l := waiter.UntilDone(ctx)
	if err := l.Cancelled(); err != nil {
		return err
	}
	p := waiter.GetParker(l)
	s := t.registered()
	s.mu.Lock()
	waits := t.joinLocked(&p.Waiter)
	s.mu.Unlock()
	if !waits {
		p.Put()
		if !l.MayEnd() {
			return nil
		}
		return l.Cancelled() // once more: it may have ended before the task
	}
	_, err := waiter.Wait(p, l, joiners{t})
	if err == nil {
		p.Put()
	}
	return err
}

// joiners are the goroutines that wait for the end of t, as a [waiter.Line].
type joiners struct{ t *Task }

func (j joiners) Unlink(w *waiter.Waiter) bool {
	s := j.t.registered()
	s.mu.Lock()
	defer s.mu.Unlock()
	return j.t.more.joiners.Remove(w)
}

// GiveBack says that nobody has seen the error of t.
func (j joiners) GiveBack(int64) bool {
	j.t.endGivenUp()
	return true
}

// joinLocked queues n for the end of the task, and reports false if the task has ended already.
// The caller has the lock of the task's shard.
func (t *Task) joinLocked(n *waiter.Waiter) bool {
	if t.state.Load()&taskAlive == 0 {
		return false
	}
	t.extra().joiners.PushBack(n)
	return true
}

// registered returns the shard that has the task, which was spawned.
func (t *Task) registered() *shard { return &t.ex.shards[t.shard] }
