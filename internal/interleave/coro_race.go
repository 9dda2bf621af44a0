//go:build race

package interleave

import "runtime"

const raceEnabled = true

// raceErrors returns how many races have been reported.
func raceErrors() int { return runtime.RaceErrors() }

// A coro is a coroutine that the race detector does not see: a goroutine that runs only while another waits for it, with
// the edges of the hand-over hidden. All that orders two threads is then what the code under test has ordered.
// (iter.Pull declares edges of its own.)
type coro struct {
	in, out chan bool
}

func newCoro(body func(*coro)) *coro {
	c := &coro{in: make(chan bool), out: make(chan bool)}
	go c.run(body)
	return c
}

//go:norace
func (c *coro) run(body func(*coro)) {
	if c.receive() {
		body(c)
	}
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
	<-c.out
	runtime.RaceEnable()
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
	c.in <- false
	<-c.out
	runtime.RaceEnable()
}
