//go:build race

package interleave

import "runtime"

// RaceEnabled reports whether the race detector is on.
const RaceEnabled = true

// raceErrors returns how many races have been reported.
func raceErrors() int { return runtime.RaceErrors() }

// A coro is a coroutine that the race detector does not see: a goroutine that runs only while
// another waits for it, with the edges of the hand-over hidden. All that orders two threads is then
// what the code under test has ordered. (iter.Pull declares edges of its own.)
type coro struct {
	in, out chan bool
	exited  bool // by runtime.Goexit
}

//go:norace
func newCoro(body func(*coro)) *coro {
	c := &coro{in: make(chan bool), out: make(chan bool)}
	go c.run(body)
	return c
}

//go:norace
func (c *coro) run(body func(*coro)) {
	c.exited = true
	defer c.end()
	if c.receive() {
		body(c)
	}
	c.exited = false
}

//go:norace
func (c *coro) end() {
	runtime.RaceDisable()
	close(c.out)
	runtime.RaceEnable()
}

//go:norace
func (c *coro) receive() bool {
	runtime.RaceDisable()
	ok := <-c.in
	runtime.RaceEnable()
	return ok
}

//go:norace
func (c *coro) resume() {
	runtime.RaceDisable()
	c.in <- true
	_, ok := <-c.out
	runtime.RaceEnable()
	if !ok && c.exited { // as iter.Pull does
		runtime.Goexit()
	}
}

//go:norace
func (c *coro) pause() bool {
	runtime.RaceDisable()
	c.out <- true
	runtime.RaceEnable()
	return c.receive()
}

//go:norace
func (c *coro) close() {
	runtime.RaceDisable()
	select {
	case c.in <- false:
		<-c.out
	case <-c.out: // it has exited
	}
	runtime.RaceEnable()
}
