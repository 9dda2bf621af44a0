//go:build interleave

package sync

import (
	"fmt"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/require"
)

// A watching is what happens to the bit that says that a lock is observed. The zero watching is
// nothing.
type watching struct {
	name   string
	always bool // it is set before all others begin, and stays
	beside bool // a thread of its own sets and clears it, at every point of what others do
}

var watchings = []watching{{name: "always", always: true}, {name: "beside", beside: true}}

func (o watching) is() bool { return o.always || o.beside }

// tierOne is the part of watchings that tier one has for what is large. It sets and clears the
// bit beside a mutex, a cond and the futures of a read-write lock.
func tierOne() []watching {
	if testing.Short() {
		return watchings[:1]
	}
	return watchings
}

// withBit is what can be observed.
type withBit interface {
	isObserved() bool
	setObserved(on bool)
}

// begin is called with a new lock.
func (o watching) begin(x *interleave.Run, l withBit) {
	l.setObserved(o.always)
	if o.beside {
		x.Go("watcher", func() { toggle(l) })
	}
}

func toggle(l withBit) {
	l.setObserved(true)
	l.setObserved(false)
}

// end is called when all threads have ended. It leaves a lock that is not observed.
func (o watching) end(x *interleave.Run, l withBit) {
	x.Assert(l.isObserved() == o.always, "the bit was lost, or came back")
	l.setObserved(false)
}

// subject returns s for a lock with the bit.
func (o watching) subject(s mutextest.Subject) mutextest.Subject {
	create, after := s.New, s.After
	s.New = func() mutextest.Small {
		l := create()
		l.(withBit).setObserved(o.always)
		return l
	}
	if o.beside {
		s.Beside = func(l mutextest.Small) { toggle(l.(withBit)) }
	}
	s.After = func(x *interleave.Run, l mutextest.Small) {
		o.end(x, l.(withBit))
		after(x, l)
	}
	return s
}

// Whether it is observed makes no difference to a mutex, in every way to lock and to give up.
func TestModelObservedMutex(t *testing.T) {
	for _, o := range watchings {
		for _, used := range lanes() {
			t.Run(fmt.Sprintf("%s/used %d", o.name, used), func(t *testing.T) {
				if used != 1 && testing.Short() {
					t.Skip("tier two")
				}
				mutextest.RunModelOf[Mutex](t, o.subject(mutextest.Subject{
					New:   func() mutextest.Small { return newMutex(used) },
					Bound: 2,
					After: func(x *interleave.Run, m mutextest.Small) {
						x.Assert(m.(*Mutex).gate.isOpen(), "the gate is not open")
					},
				}), knownRaces()...)
			})
		}
	}
}

// Nor to a read-write lock.
func TestModelObservedRWMutex(t *testing.T) {
	for _, o := range tierOne() {
		for _, s := range rwScenarios {
			t.Run(o.name+"/"+s.name, func(t *testing.T) { s.check(t, Express-1, o) })
		}
		t.Run(o.name+"/as mutex", func(t *testing.T) {
			mutextest.RunModelOf[RWMutex](t, o.subject(mutextest.Subject{
				New:   func() mutextest.Small { return newRWMutex(Express - 1) },
				Bound: 2,
				After: func(x *interleave.Run, m mutextest.Small) { requireUnlocked(x, m.(*RWMutex)) },
			}), knownRaces()...)
		})
	}
	for _, o := range watchings {
		for _, line := range []string{"R W", "W r", "y R", "x w", "t x", "k K", "e r"} {
			t.Run(fmt.Sprintf("%s/futures/%s", o.name, line), func(t *testing.T) {
				interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2},
					func(x *interleave.Run) { rwFutures(x, o, "w", line, Express) })
			})
		}
	}
}

// The bound of an observed lock is that of any other, and as tight: no place of the lane is lost.
func TestModelObservedBypass(t *testing.T) {
	for _, o := range watchings {
		check := func(name string, overtaken func(x *interleave.Run) int) {
			t.Run(o.name+"/"+name, func(t *testing.T) {
				most := 0
				interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2},
					func(x *interleave.Run) { most = max(most, overtaken(x)) })
				if !interleave.RaceEnabled {
					require.Equal(t, Express, most, "the bound is not tight")
				}
			})
		}
		check("mutex", func(x *interleave.Run) int { return bypass(x, o, 0, []int{3}) })
		for _, s := range []struct{ line, others string }{{"w", "rrr"}, {"r", "rwr"}} {
			check("read-write lock/"+s.line+"/"+s.others, func(x *interleave.Run) int {
				return rwBypass(x, o, "r", s.line, s.others)
			})
		}
	}
}

// Nor is there one to conds and wait groups.
func TestModelObservedCond(t *testing.T) {
	for _, o := range watchings {
		for _, s := range condScenarios {
			t.Run(o.name+"/"+s.name, func(t *testing.T) {
				interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
					w := newCondWorld(x)
					o.begin(x, w.Cond)
					s.run(w)
					x.Wait()
					x.Assert(w.Waiting() == s.left, "%d wait, not %d", w.Waiting(), s.left)
					x.Assert(w.isOccupied() == (s.left > 0), "a line of %d is occupied: %v", s.left, w.isOccupied())
					o.end(x, w.Cond)
				})
			})
		}
	}
}

func TestModelObservedWaitGroup(t *testing.T) {
	for _, o := range tierOne() {
		for _, s := range groupScenarios {
			t.Run(o.name+"/"+s.name, func(t *testing.T) {
				interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
					wg := new(WaitGroup)
					o.begin(x, wg)
					s.run(x, wg)
					x.Wait()
					o.end(x, wg)
					x.Assert(wg.state.Load() == 0, "the state is %x", wg.state.Load())
					x.Assert(wg.line.Len() == 0, "%d are in the line", wg.line.Len())
				})
			})
		}
	}
}
