package sync

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/spec"
)

// seats is how many waits a history may have.
const seats = 12

// A condState is a Cond and its lock between two steps, as a sequential program. A goroutine that a
// signal has claimed is woken in the same step.
type condState struct {
	held   bool // the lock is
	ended  bool // the context has
	come   uint8
	reach  uint8 // what come was at the latest signal or broadcast
	queued uint8
	queue  [seats]uint8 // the seats of those who wait, the oldest first; zeroes behind them
	seat   [seats]condSeat
}

// A condSeat is a wait in a condState.
type condSeat struct {
	number uint8 // what come was when it came; 0: it has not
	state  condSeatState
	called bool // woken by a broadcast
	late   bool // woken after the context had ended
}

type condSeatState uint8

const (
	condAbsent condSeatState = iota
	condWaits
	condWoken
	condGone // gave up
)

type (
	condCall = spec.Call[condState]
	condStep = func(*condState) bool
)

func condLock(s *condState) bool   { ok := !s.held; s.held = true; return ok }
func condUnlock(s *condState) bool { ok := s.held; s.held = false; return ok }
func condEnd(s *condState) bool    { s.ended = true; return true }

func condSignal(s *condState) bool {
	s.reach = s.come
	s.signalNext()
	return true
}

func condBroadcast(s *condState) bool {
	s.reach = s.come
	for s.queued > 0 {
		s.seat[s.queue[0]].called = true
		s.wake()
	}
	return true
}

// signalNext wakes the oldest, if that one had come at the latest signal.
func (s *condState) signalNext() {
	if s.queued > 0 && s.seat[s.queue[0]].number <= s.reach {
		s.wake()
	}
}

// wake wakes the oldest.
func (s *condState) wake() {
	seat := &s.seat[s.queue[0]]
	seat.state, seat.late = condWoken, s.ended
	s.remove(0)
}

// remove takes the seat at a place out of the queue.
func (s *condState) remove(place int) {
	s.queued--
	copy(s.queue[place:], s.queue[place+1:s.queued+1])
	s.queue[s.queued] = 0
}

// A condWait is a wait in a history.
type condWait struct {
	seat   uint8
	within bool // the context ends it
}

// String returns its name in a history.
func (w condWait) String() string {
	if w.within {
		return fmt.Sprintf("wait %d within the context", w.seat)
	}
	return fmt.Sprintf("wait %d", w.seat)
}

// enter is the first step of a wait: it is in the line.
func (w condWait) enter(s *condState) bool {
	s.come++
	s.seat[w.seat] = condSeat{number: s.come, state: condWaits}
	s.queue[s.queued] = w.seat
	s.queued++
	return true
}

// wakes is the last step of a wait that a signal or a broadcast has ended. A cancel before that
// would have won.
func (w condWait) wakes(s *condState) bool {
	seat := s.seat[w.seat]
	return seat.state == condWoken && (!w.within || !seat.late)
}

// leaves is the step in which a wait gives up. A signal that has met it goes to the next.
func (w condWait) leaves(s *condState) bool {
	if w.within && !s.ended {
		return false
	}
	seat := &s.seat[w.seat]
	switch {
	case seat.state == condWaits:
		s.remove(slices.Index(s.queue[:s.queued], w.seat))
	case seat.state == condWoken && !seat.called:
		s.signalNext()
	case seat.state != condWoken:
		return false // has not come
	}
	seat.state = condGone
	return true
}

// stays is the step of a wait that has not ended when nothing moves any more.
func (w condWait) stays(s *condState) bool {
	return s.seat[w.seat].state == condWaits && (!w.within || !s.ended)
}

// With the lock: unlocking and entering are one step, as seen from the others. So are the end of
// the wait and locking again, but not giving up and locking again.

func (w condWait) unlocksAndEnters(s *condState) bool { return condUnlock(s) && w.enter(s) }
func (w condWait) wakesAndLocks(s *condState) bool    { return w.wakes(s) && condLock(s) }
func (w condWait) goneAndLocks(s *condState) bool {
	return s.seat[w.seat].state == condGone && condLock(s)
}

// A condClient records what one goroutine does with a Cond.
type condClient struct {
	clock   spec.Clock
	id      int
	calls   []condCall
	pending []condCall // of a wait that has not returned
}

func (c *condClient) add(name string, call, ret int64, step condStep) {
	c.calls = append(c.calls, condCall{Client: c.id, Name: name, Call: call, Return: ret, Step: step})
}

// do records a call of one step.
func (c *condClient) do(name string, f func(), step condStep) {
	call := c.clock.Invoke()
	f()
	c.add(name, call, c.clock.Respond(), step)
}

// wait records a wait with the lock. f reports whether it was woken.
func (c *condClient) wait(w condWait, f func() bool) {
	call := c.clock.Invoke()
	name := w.String()
	c.pending = []condCall{
		{Client: c.id, Name: name + ": unlocks", Call: call, Step: w.unlocksAndEnters},
		{Client: c.id, Name: name + ": stays", Call: call, Step: w.stays},
	}
	woken := f()
	ret := c.clock.Respond()
	c.pending = nil
	c.add(name+": unlocks", call, ret, w.unlocksAndEnters)
	if woken {
		c.add(name+": woken, locks", call, ret, w.wakesAndLocks)
	} else {
		c.add(name+": gives up", call, ret, w.leaves)
		c.add(name+": gone, locks", call, ret, w.goneAndLocks)
	}
}

// condHistory returns the history of the clients when nothing moves any more.
func condHistory(clients ...*condClient) []condCall {
	var calls []condCall
	last := int64(0)
	for _, c := range clients {
		calls = append(calls, c.calls...)
		for _, call := range slices.Concat(c.calls, c.pending) {
			last = max(last, call.Call, call.Return)
		}
	}
	for _, c := range clients {
		for i, call := range c.pending {
			call.Return = last + 1
			if i > 0 { // It stays when all else has happened.
				call.Call, call.Return = last+2, last+3
			}
			calls = append(calls, call)
		}
	}
	return calls
}

// The sequential Cond, asked with histories in which one call comes after the other.
func TestCondSpecification(t *testing.T) {
	steps := map[byte]func(w condWait) condStep{
		'+': func(w condWait) condStep { return w.enter },
		'!': func(w condWait) condStep { return w.wakes },
		'-': func(w condWait) condStep { return w.leaves },
		'.': func(w condWait) condStep { return w.stays },
	}
	calls := map[string]condStep{
		"signal": condSignal, "broadcast": condBroadcast, "cancel": condEnd, "lock": condLock, "unlock": condUnlock,
	}
	parse := func(history string) []condCall {
		var c condClient
		for i, word := range strings.Fields(history) {
			step := calls[word]
			if step == nil { // as +0: seat 0 enters; c+0: the same with the context
				text, within := strings.CutPrefix(word, "c")
				step = steps[text[0]](condWait{text[1] - '0', within})
			}
			c.add(word, int64(2*i), int64(2*i+1), step)
		}
		return c.calls
	}
	for history, want := range map[string]bool{
		"+0 signal !0":                       true,
		"+0 .0":                              true,
		"+0 -0":                              true,
		"+0 +1 signal !0 .1":                 true,
		"+0 +1 signal !1 .0":                 false, // the newest
		"+0 signal .0":                       false, // lost
		"+0 +1 signal -0 !1":                 true,
		"+0 +1 signal -0 .1":                 false, // lost with the one who gave up
		"+0 +1 -0 signal !1":                 true,
		"+0 +1 -0 signal .1":                 false,
		"signal +0 .0":                       true,
		"signal +0 !0":                       false, // from before
		"+0 signal +1 -0 .1":                 true,
		"+0 signal +1 -0 !1":                 false,
		"+0 signal +1 signal -0 !1":          true,
		"+0 signal +1 +2 signal -0 !1 !2":    true, // two signals and both late enough
		"+0 +1 signal !0 !1":                 false,
		"+0 +1 broadcast !0 !1":              true,
		"+0 +1 broadcast !0 .1":              false,
		"+0 broadcast +1 -0 .1":              true,
		"+0 broadcast +1 +2 signal -0 !1 .2": true,
		"+0 broadcast +1 +2 signal -0 !1 !2": false,
		"c+0 cancel c-0":                     true,
		"c+0 c-0 cancel":                     false,
		"c+0 cancel c.0":                     false,
		"c+0 cancel signal c!0":              false, // the cancel was first
		"c+0 signal cancel c!0":              true,
		"c+0 +1 signal cancel c-0 !1":        true,
		"c+0 +1 cancel signal c-0 !1":        true,
		"c+0 +1 cancel signal c-0 .1":        false,
		"+0 cancel signal !0":                true, // not its context
		"lock unlock lock":                   true,
		"lock lock":                          false,
		"unlock":                             false,
	} {
		require.Equal(t, want, spec.NewMachine[condState]().Linearizable(parse(history)), history)
	}
}
