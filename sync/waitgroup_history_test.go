package sync

import (
	"fmt"
	"strings"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/spec"
)

// A groupState is a WaitGroup between two steps, as a sequential program. The step that makes the
// counter zero releases all who wait.
type groupState struct {
	counter int
	ended   bool // the context has
	seat    [seats]groupSeat
}

// A groupSeat is what became of a wait.
type groupSeat uint8

const (
	groupAbsent   groupSeat = iota
	groupWaits              // it found a counter that was not zero
	groupReleased           // after it had waited
	groupPassed             // it found zero
	groupLate               // released, or passed, after the context had ended
)

type (
	groupCall = spec.Call[groupState]
	groupStep = func(*groupState) bool
)

func groupEnd(s *groupState) bool { s.ended = true; return true }

// groupAdd returns the step of an Add. It panics if the counter gets negative, and counts
// nevertheless.
func groupAdd(delta int, panics bool) groupStep {
	return func(s *groupState) bool {
		s.counter += delta
		if s.counter == 0 {
			for i, seat := range s.seat {
				switch {
				case seat != groupWaits:
				case s.ended:
					s.seat[i] = groupLate
				default:
					s.seat[i] = groupReleased
				}
			}
		}
		return s.counter < 0 == panics
	}
}

// A groupWait is a wait in a history.
type groupWait struct {
	seat   uint8
	within bool // the context ends it
}

// String returns its name in a history.
func (w groupWait) String() string {
	if w.within {
		return fmt.Sprintf("wait %d within the context", w.seat)
	}
	return fmt.Sprintf("wait %d", w.seat)
}

// comes is the first step of a wait.
func (w groupWait) comes(s *groupState) bool {
	switch {
	case s.counter != 0:
		s.seat[w.seat] = groupWaits
	case s.ended:
		s.seat[w.seat] = groupLate
	default:
		s.seat[w.seat] = groupPassed
	}
	return true
}

// returns is the last step of a wait that has seen zero. A cancel before that would have won.
func (w groupWait) returns(s *groupState) bool {
	switch s.seat[w.seat] {
	case groupReleased, groupPassed:
		return true
	case groupLate:
		return !w.within
	default:
		return false
	}
}

// leaves is the last step of a wait that has given up. A duration ends only waits that have begun:
// they do not begin when the counter is zero.
func (w groupWait) leaves(s *groupState) bool {
	seat := s.seat[w.seat]
	if w.within {
		return seat != groupAbsent && s.ended
	}
	return seat == groupWaits || seat == groupReleased
}

// A groupClient records what one goroutine does with a WaitGroup.
type groupClient struct {
	clock spec.Clock
	id    int
	calls []groupCall
}

func (c *groupClient) add(name string, call, ret int64, step groupStep) {
	c.calls = append(c.calls, groupCall{Client: c.id, Name: name, Call: call, Return: ret, Step: step})
}

// do records a call of one step.
func (c *groupClient) do(name string, f func(), step groupStep) {
	call := c.clock.Invoke()
	f()
	c.add(name, call, c.clock.Respond(), step)
}

// wait records a wait. f reports whether it has seen zero.
func (c *groupClient) wait(w groupWait, f func() bool) {
	call := c.clock.Invoke()
	saw := f()
	ret := c.clock.Respond()
	c.add(w.String()+": comes", call, ret, w.comes)
	if saw {
		c.add(w.String()+": returns", call, ret, w.returns)
	} else {
		c.add(w.String()+": gives up", call, ret, w.leaves)
	}
}

// groupHistory returns the history of the clients.
func groupHistory(clients ...*groupClient) (calls []groupCall) {
	for _, c := range clients {
		calls = append(calls, c.calls...)
	}
	return calls
}

// The sequential WaitGroup, asked with histories in which one call comes after the other.
func TestWaitGroupSpecification(t *testing.T) {
	steps := map[byte]func(w groupWait) groupStep{
		'+': func(w groupWait) groupStep { return w.comes },
		'!': func(w groupWait) groupStep { return w.returns },
		'-': func(w groupWait) groupStep { return w.leaves },
	}
	calls := map[string]groupStep{
		"add": groupAdd(1, false), "done": groupAdd(-1, false), "panic": groupAdd(-1, true), "cancel": groupEnd,
	}
	parse := func(history string) []groupCall {
		var c groupClient
		for i, word := range strings.Fields(history) {
			step := calls[word]
			if step == nil { // as +0: seat 0 comes; c+0: the same with the context
				text, within := strings.CutPrefix(word, "c")
				step = steps[text[0]](groupWait{text[1] - '0', within})
			}
			c.add(word, int64(2*i), int64(2*i+1), step)
		}
		return c.calls
	}
	for history, want := range map[string]bool{
		"+0 !0":                               true,
		"+0 -0":                               false, // there was nothing to wait for
		"add +0 !0":                           false, // early
		"add +0 done !0":                      true,
		"add +0 -0 done":                      true,
		"add +0 done -0":                      true, // both came together
		"add add +0 done !0":                  false,
		"add add +0 done +1 done !0 !1":       true,
		"add +0 done !0 add +1 done !1":       true,
		"add +0 done !0 add +1 !1":            false, // of the first round
		"add panic":                           false,
		"add done panic add":                  true,
		"add done done":                       false,
		"add c+0 c-0 cancel":                  false,
		"add c+0 cancel c-0":                  true,
		"add c+0 cancel done c!0":             false, // the cancel was first
		"add c+0 done cancel c!0":             true,
		"add c+0 done cancel c-0":             true,
		"add +0 cancel done !0":               true, // not its context
		"cancel c+0 c-0":                      true,
		"cancel c+0 c!0":                      false,
		"cancel +0 !0":                        true,
		"!0":                                  false,
		"c-0":                                 false,
		"cancel c-0":                          false,
		"add c+0 +1 cancel c-0 done !1":       true,
		"add c+0 +1 cancel c-0 !1":            false,
		"add +0 done add +1 -1 done !0 +2 !2": true,
	} {
		require.Equal(t, want, spec.NewMachine[groupState]().Linearizable(parse(history)), history)
	}
}
