package runtime

import "github.com/farad-go/farad/waiter"

// A Completion is the end of a task as a [Future]. Any number of them may wait for one task, each with one owner.
//
// Its Err is how the task ended: nil, a [*PanicError] or [ErrGoexit]. It must be asked before the task is spawned again. A
// task that Spawn has refused has not run, and is taken for one that has ended.
type Completion struct {
	_ noCopy
	w waiter.Waiter
	t *Task
}

// Init makes c the end of the task that t is embedded in. An earlier wait must have ended, or been cancelled.
func (c *Completion) Init(t *Task) {
	if t == nil {
		panic("runtime: completion of a nil task")
	}
	settle(&c.w)
	switch c.w.Status() {
	case waiter.StatusIdle:
	case waiter.StatusComplete:
		c.w.Reset()
	default:
		panic("runtime: Init of a completion that waits")
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

// Done returns a channel that carries one value when the task has ended. A Poll right after that may still say false, for a few
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
	s := c.shard()
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.t.more == nil {
		return nil
	}
	return c.t.more.err
}

// ended returns nil if the task has ended, and [waiter.ErrPending] if not. It does not begin to wait.
func (c *Completion) ended() error {
	settle(&c.w)
	switch c.w.Status() {
	case waiter.StatusComplete:
		return nil
	case waiter.StatusIdle:
		if c.t == nil || c.t.ex == nil {
			return waiter.ErrPending
		}
		s := c.shard()
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.t.state.Load()&taskAlive == 0 {
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
	case waiter.StatusIdle, waiter.StatusComplete: // what is complete stays so
		return
	default:
	}
	s := c.shard()
	s.mu.Lock()
	unlinked := c.t.more.joiners.Remove(&c.w)
	s.mu.Unlock()
	if unlinked {
		c.w.Reset()
		return
	}
	c.w.Abandon()
}

// start begins the wait.
func (c *Completion) start(w waiter.Waker) waiter.Status {
	if c.t == nil {
		panic("runtime: completion without Init")
	}
	if c.t.ex == nil {
		panic("runtime: wait for a task that was never spawned")
	}
	s := c.shard()
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.t.state.Load()&taskAlive == 0 {
		c.w.Finish(waiter.Granted)
		return waiter.StatusComplete
	}
	c.w.Arm(w)
	c.t.extra().joiners.PushBack(&c.w)
	return waiter.StatusWaiting
}

func (c *Completion) shard() *shard { return &c.t.ex.shards[c.t.shard] }
