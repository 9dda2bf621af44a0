//go:build interleave

package sync

import (
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/spec"
	"github.com/farad-go/farad/internal/waiting"
)

// A condScene is a condWorld whose calls are recorded. Most have no locks in them, which would only
// order the steps that are to be explored.
type condScene struct {
	condWorld
	ctx     *interleave.Context
	clients []*condClient
	seats   uint8
	stayers []condStayer
}

// A condStayer is a wait without a goroutine. It is looked at in the end.
type condStayer struct {
	wait condWait
	w    *waiting.Waiter
}

// client returns a new client.
func (s *condScene) client() *condClient {
	c := &condClient{clock: s.x, id: len(s.clients)}
	s.clients = append(s.clients, c)
	return c
}

// goes starts a client.
func (s *condScene) goes(name string, f func(c *condClient)) {
	c := s.client()
	s.x.Go(name, func() { f(c) })
}

// stays puts a wait without a goroutine into the line.
func (s *condScene) stays(c *condClient) {
	w := condWait{seat: s.seats}
	s.seats++
	p := waiting.GetParker(waiting.Limit{})
	c.do(w.String()+": enters", func() { s.enter(p) }, w.enter)
	s.stayers = append(s.stayers, condStayer{w, &p.Waiter})
}

// leaves starts a client that waits in the line already, and may give up.
func (s *condScene) leaves(c *condClient, within bool) {
	w := condWait{s.seats, within}
	s.seats++
	l := waiting.After(time.Second)
	if within {
		l = waiting.UntilDone(s.ctx)
	}
	var wait func() bool
	c.do(w.String()+": enters", func() { wait = s.queued(l) }, w.enter)
	s.goes("gives up", func(c *condClient) {
		call := c.clock.Invoke()
		if wait() {
			c.add(w.String()+": woken", call, c.clock.Respond(), w.wakes)
		} else {
			c.add(w.String()+": gives up", call, c.clock.Respond(), w.leaves)
		}
	})
}

// waits is a client that does it all itself, with the lock.
func (s *condScene) waits(within bool) func(c *condClient) {
	w := condWait{s.seats, within}
	s.seats++
	return func(c *condClient) {
		s.locked(c, func() {
			c.wait(w, func() bool {
				if within {
					return s.WaitContext(s.ctx) == nil
				}
				return s.WaitTimeout(time.Second)
			})
		})
	}
}

// locked is that of a condWorld, recorded.
func (s *condScene) locked(c *condClient, f func()) {
	c.do("lock", s.L.Lock, condLock)
	f()
	c.do("unlock", s.L.Unlock, condUnlock)
}

func (s *condScene) signals(c *condClient) { c.do("signal", s.Signal, condSignal) }
func (s *condScene) calls(c *condClient)   { c.do("broadcast", s.Broadcast, condBroadcast) }
func (s *condScene) cancels(c *condClient) { c.do("cancel", s.ctx.Cancel, condEnd) }

// end records which of those who stay wait still.
func (s *condScene) end(c *condClient) {
	for _, stayer := range s.stayers {
		name, step := ": woken", stayer.wait.wakes
		if (condLine{s.Cond}).Unlink(stayer.w) {
			name, step = ": stays", stayer.wait.stays
		}
		c.do(stayer.wait.String()+name, func() {}, step)
	}
}

var condScenes = []struct {
	name string
	run  func(s *condScene, c *condClient)
}{
	{"signal", func(s *condScene, c *condClient) {
		s.leaves(c, false)
		s.stays(c)
		s.goes("signaller", s.signals)
	}},
	{"cancel", func(s *condScene, c *condClient) {
		s.leaves(c, true)
		s.stays(c)
		s.goes("signaller", s.signals)
		s.goes("canceller", s.cancels)
	}},
	{"cancel, signal", func(s *condScene, c *condClient) {
		s.leaves(c, true)
		s.stays(c)
		s.goes("both", func(c *condClient) { s.cancels(c); s.signals(c) })
	}},
	{"lock, timeout", func(s *condScene, _ *condClient) {
		s.goes("hasty", s.waits(false))
		s.goes("signaller", func(c *condClient) { s.locked(c, func() { s.signals(c) }) })
	}},
	{"lock, cancel", func(s *condScene, c *condClient) {
		s.stays(c)
		s.goes("hasty", s.waits(true))
		s.goes("signaller", func(c *condClient) { s.signals(c); s.signals(c) })
		s.goes("canceller", s.cancels)
	}},
	{"two signals", func(s *condScene, c *condClient) {
		s.leaves(c, false)
		s.stays(c)
		s.stays(c)
		s.goes("signaller", s.signals)
		s.goes("other", s.signals)
	}},
	{"two give up", func(s *condScene, c *condClient) {
		s.leaves(c, false)
		s.leaves(c, false)
		s.stays(c)
		s.goes("signaller", s.signals)
	}},
	{"comes between signals", func(s *condScene, c *condClient) {
		s.leaves(c, false)
		s.goes("signaller", func(c *condClient) {
			s.signals(c)
			s.stays(c)
			s.stays(c)
			s.signals(c)
		})
	}},
	{"comes beside a signal", func(s *condScene, c *condClient) {
		s.leaves(c, false)
		s.goes("signaller", s.signals)
		s.goes("comes", s.stays)
	}},
	{"broadcast", func(s *condScene, c *condClient) {
		s.leaves(c, false)
		s.stays(c)
		s.goes("caller", s.calls)
		s.goes("comes", s.stays)
	}},
	{"broadcast, signal", func(s *condScene, c *condClient) {
		s.leaves(c, false)
		s.goes("caller", func(c *condClient) {
			s.calls(c)
			s.stays(c)
			s.stays(c)
			s.signals(c)
		})
	}},
	{"broadcast beside a signal", func(s *condScene, c *condClient) {
		s.leaves(c, false)
		s.stays(c)
		s.goes("caller", s.calls)
		s.goes("signaller", s.signals)
	}},
}

// Every history that the explorer can bring about is one of the sequential Cond.
func TestModelCondHistories(t *testing.T) {
	for _, scene := range condScenes {
		t.Run(scene.name, func(t *testing.T) {
			judge := spec.NewMachine[condState]()
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				s := &condScene{condWorld: newCondWorld(x), ctx: x.NewContext()}
				c := s.client()
				scene.run(s, c)
				x.Wait()
				s.end(c)
				if history := condHistory(s.clients...); !judge.Linearizable(history) {
					x.Fail("not linearizable:\n%v", spec.DescribeCalls(history))
				}
			})
			t.Logf("%d different histories", judge.Judged())
		})
	}
}
