package rt

import (
	"iter"
	"sync"
)

// turn is the empty value that passes through a coroutine.
type turn struct{}

// A coroutine runs the function of a straight-line task, and stops where that waits. It serves one
// task after another, because making one costs ten times as much as a switch.
//
// Underneath it is a goroutine with its own stack. The worker switches to it directly, without Go's
// scheduler.
type coroutine struct {
	next  func() (turn, bool)
	stop  func()
	yield func(turn) bool
	body  body // of the task that it runs
	link  *coroutine
	seat  *seat // nil until it runs an observed task
}

// A body is what a coroutine runs.
type body interface{ run() }

func newCoroutine() *coroutine {
	c := new(coroutine)
	c.next, c.stop = iter.Pull(func(yield func(turn) bool) {
		c.yield = yield
		defer func() { c.seat.leave() }()
		for { // One turn for each task.
			c.body.run()
			c.body = nil
			c.stand()
			if !yield(turn{}) {
				return
			}
		}
	})
	return c
}

// resume runs the body until it waits or ends.
func (c *coroutine) resume() { c.next() }

// pause is called by the body. It returns when the coroutine is resumed.
func (c *coroutine) pause() { c.yield(turn{}) }

// maxIdleCoroutines is how many coroutines an executor keeps for later tasks. Each holds a stack of
// a few kilobytes.
const maxIdleCoroutines = 1024

// coroutines is the free list of coroutines.
type coroutines struct {
	mu   sync.Mutex
	free *coroutine
	n    int
}

func (p *coroutines) get() *coroutine {
	p.mu.Lock()
	c := p.free
	if c != nil {
		p.free = c.link
		p.n--
	}
	p.mu.Unlock()
	if c == nil {
		return makeCoroutine()
	}
	c.link = nil
	return c
}

// put takes back a coroutine whose body has ended.
func (p *coroutines) put(c *coroutine) {
	p.mu.Lock()
	kept := p.n < maxIdleCoroutines && reusable()
	if kept {
		c.link = p.free
		p.free = c
		p.n++
	}
	p.mu.Unlock()
	if !kept {
		c.stop()
	}
}

// close ends the free coroutines, on a separate goroutine: the caller's may be locked to its
// thread, and must not switch to them then.
func (p *coroutines) close() {
	p.mu.Lock()
	c := p.free
	p.free, p.n = nil, 0
	p.mu.Unlock()
	if c == nil {
		return
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for ; c != nil; c = c.link {
			c.stop()
		}
	}()
	<-stopped
}
