//go:build !race

package interleave

import "iter"

// RaceEnabled reports whether the race detector is on.
const RaceEnabled = false

func raceErrors() int { return 0 }

// turn is what passes through a coroutine: nothing.
type turn struct{}

// A coro is a coroutine. A switch costs about a third of one through channels.
type coro struct {
	next func() (turn, bool)
	stop func()
	out  func(turn) bool
}

// newCoro returns a coroutine that will run body.
func newCoro(body func(*coro)) *coro {
	c := new(coro)
	c.next, c.stop = iter.Pull(func(yield func(turn) bool) {
		c.out = yield
		body(c)
	})
	return c
}

// resume runs the coroutine until its next pause.
func (c *coro) resume() { c.next() }

// pause gives control back to the caller that resumed the coroutine. It reports whether the
// coroutine was resumed again. If not, it has been closed.
func (c *coro) pause() bool { return c.out(turn{}) }

// close ends a coroutine that is paused.
func (c *coro) close() { c.stop() }
