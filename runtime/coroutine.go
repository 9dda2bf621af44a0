package rt

import (
	"iter"
	"sync"
)

// turn is what passes through a coroutine: nothing.
type turn struct{}

// A coroutine runs the function of a straight-line task, and stops where that waits. It serves one
// task after another: making one costs ten times a switch.
//
// It is a goroutine underneath, with a stack of its own, but it is switched to and from directly,
// without the scheduler of Go.
type coroutine struct {
	next  func() (turn, bool)
	stop  func()
	yield func(turn) bool
	body  body // of the task that it serves
	link  *coroutine
}

// A body is what a coroutine runs.
type body interface{ run() }

func newCoroutine() *coroutine {
	c := new(coroutine)
	c.next, c.stop = iter.Pull(func(yield func(turn) bool) {
		c.yield = yield
		for { // One turn for each task.
			c.body.run()
			c.body = nil
			if !yield(turn{}) {
				return
			}
		}
	})
	return c
}

// resume runs the body until it waits or ends.
func (c *coroutine) resume() { c.next() }

// pause is called by the body, and returns when the coroutine is resumed.
func (c *coroutine) pause() { c.yield(turn{}) }

// maxIdleCoroutines is how many coroutines an executor keeps for later tasks. Each holds a stack of
// some kilobytes.
const maxIdleCoroutines = 1024

// coroutines are those that serve no task.
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

// close ends the coroutines that are there, on a goroutine of its own: one that is locked to its
// thread, as the caller's may be, must not switch to them.
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
