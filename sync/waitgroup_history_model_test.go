//go:build interleave

package sync

import (
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/spec"
)

// A groupScene is a WaitGroup in a scenario whose calls are recorded.
type groupScene struct {
	*WaitGroup
	x       *interleave.Run
	ctx     *interleave.Context
	clients []*groupClient
}

// client returns a new client.
func (s *groupScene) client() *groupClient {
	c := &groupClient{clock: s.x, id: len(s.clients)}
	s.clients = append(s.clients, c)
	return c
}

// goes starts a client.
func (s *groupScene) goes(name string, f func(c *groupClient)) {
	c := s.client()
	s.x.Go(name, func() { f(c) })
}

func (s *groupScene) adds(c *groupClient)    { c.do("add", func() { s.Add(1) }, groupAdd(1, false)) }
func (s *groupScene) done(c *groupClient)    { c.do("done", s.Done, groupAdd(-1, false)) }
func (s *groupScene) cancels(c *groupClient) { c.do("cancel", s.ctx.Cancel, groupEnd) }

func (s *groupScene) waits(seat uint8) func(c *groupClient) {
	return func(c *groupClient) {
		c.wait(groupWait{seat, false}, func() bool { s.Wait(); return true })
	}
}

func (s *groupScene) hurries(seat uint8) func(c *groupClient) {
	return func(c *groupClient) {
		c.wait(groupWait{seat, false}, func() bool { return s.WaitTimeout(time.Second) })
	}
}

func (s *groupScene) waitsWithin(seat uint8) func(c *groupClient) {
	return func(c *groupClient) {
		c.wait(groupWait{seat, true}, func() bool { return s.WaitContext(s.ctx) == nil })
	}
}

// again is a round of one task, which the client starts and waits for.
func (s *groupScene) again(c *groupClient, seat uint8) {
	s.adds(c)
	s.goes("later task", s.done)
	s.waits(seat)(c)
}

var groupScenes = []struct {
	name string
	run  func(s *groupScene, c *groupClient)
}{
	{"wait", func(s *groupScene, c *groupClient) {
		s.adds(c)
		s.goes("task", s.done)
		s.goes("waiter", s.waits(0))
		s.goes("other waiter", s.waits(1))
	}},
	{"two tasks", func(s *groupScene, c *groupClient) {
		s.adds(c)
		s.goes("task", func(c *groupClient) { s.adds(c); s.done(c); s.done(c) })
		s.goes("waiter", s.waits(0))
	}},
	{"timeout", func(s *groupScene, c *groupClient) {
		s.adds(c)
		s.goes("task", s.done)
		s.goes("hasty", s.hurries(0))
		s.goes("waiter", s.waits(1))
	}},
	{"cancel", func(s *groupScene, c *groupClient) {
		s.adds(c)
		s.goes("task", s.done)
		s.goes("canceller", s.cancels)
		s.goes("waiter", s.waitsWithin(0))
	}},
	{"cancel, done", func(s *groupScene, c *groupClient) {
		s.adds(c)
		s.goes("task", func(c *groupClient) { s.cancels(c); s.done(c) })
		s.goes("gives up", s.waitsWithin(0))
		s.goes("waiter", s.waits(1))
	}},
	{"reuse", func(s *groupScene, c *groupClient) {
		s.adds(c)
		s.goes("task", s.done)
		s.goes("waiter", func(c *groupClient) { s.waits(0)(c); s.again(c, 1) })
	}},
	{"reuse after timeout", func(s *groupScene, c *groupClient) {
		s.adds(c)
		s.goes("task", s.done)
		s.goes("hasty", func(c *groupClient) { s.hurries(0)(c); s.again(c, 1) })
	}},
	{"too many done", func(s *groupScene, c *groupClient) {
		s.adds(c)
		for range 2 {
			s.goes("task", func(c *groupClient) {
				call := c.clock.Invoke()
				if interleave.Panics(s.Done) == nil {
					c.add("done", call, c.clock.Respond(), groupAdd(-1, false))
					return
				}
				c.add("done panics", call, c.clock.Respond(), groupAdd(-1, true))
				s.adds(c)
			})
		}
	}},
}

// Every history that the explorer can bring about is one of the sequential WaitGroup.
func TestModelWaitGroupHistories(t *testing.T) {
	for _, scene := range groupScenes {
		t.Run(scene.name, func(t *testing.T) {
			judge := spec.NewMachine[groupState]()
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				s := &groupScene{WaitGroup: new(WaitGroup), x: x, ctx: x.NewContext()}
				x.Name("wg", s.WaitGroup)
				scene.run(s, s.client())
				x.Wait()
				if history := groupHistory(s.clients...); !judge.Linearizable(history) {
					x.Fail("not linearizable:\n%v", spec.DescribeCalls(history))
				}
			})
			t.Logf("%d different histories", judge.Judged())
		})
	}
}
