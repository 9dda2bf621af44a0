//go:build interleave

package sync

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// A gated is a gate under exploration, and how many are inside.
type gated struct {
	*interleave.Run
	m      *Mutex // of which only the gate matters
	g      *gate  // its
	inside *interleave.Int32
}

func newGated(x *interleave.Run, name string) gated {
	m := new(Mutex)
	x.Name(name, m)
	return gated{x, m, &m.gate, new(interleave.Int32)}
}

// use is what one does that may have been admitted.
func (w gated) use(err error) {
	if err == nil {
		w.Assert(w.inside.Add(1) == 1, "two are admitted")
		w.inside.Add(-1)
		w.open()
	}
}

func (w gated) open() { w.g.open(w.m) }

func (w gated) pass()     { _, _, err := w.g.pass(w.m, rwWriter, waiting.Limit{}); w.use(err) }
func (w gated) hasty()    { _, _, err := w.g.pass(w.m, rwWriter, waiting.After(time.Second)); w.use(err) }
func (w gated) newcomer() { w.use(map[bool]error{false: waiter.ErrPending}[w.g.tryPass()]) }

// Never are two admitted, none stands in line for ever, and in the end the gate is open: while one
// opens it, one that waits gives up, and others come. All the lines of all gates are in one bucket.
func TestModelGate(t *testing.T) {
	for _, s := range []struct {
		name  string
		large bool
		body  func(x *interleave.Run, w gated)
	}{
		{"3x1", false, func(x *interleave.Run, w gated) { x.Same(3, "t", func(int) { w.pass() }) }},
		{"2x2", false, func(x *interleave.Run, w gated) { x.Same(2, "t", func(int) { w.pass(); w.pass() }) }},
		{"3x2", true, func(x *interleave.Run, w gated) { x.Same(3, "t", func(int) { w.pass(); w.pass() }) }},
		{"open, cancel and newcomer", false, func(x *interleave.Run, w gated) {
			w.g.tryPass()
			x.Go("opener", w.open)
			x.Go("hasty", w.hasty)
			x.Go("newcomer", w.newcomer)
		}},
		{"cancel and pass", false, func(x *interleave.Run, w gated) {
			w.g.tryPass()
			x.Go("opener", w.open)
			x.Go("hasty", w.hasty)
			x.Go("passer", w.pass)
		}},
		{"cancel in the middle", true, func(x *interleave.Run, w gated) {
			w.g.tryPass()
			x.Go("opener", w.open)
			x.Same(2, "hasty", func(int) { w.hasty() })
			x.Go("passer", w.pass)
		}},
		{"cancels", false, func(x *interleave.Run, w gated) {
			x.Same(3, "hasty", func(int) { w.hasty() })
		}},
		{"cancel behind one who stays", false, func(x *interleave.Run, w gated) {
			w.g.tryPass()
			x.Same(2, "hasty", func(int) { w.hasty() })
		}},
		// What the opener of one does to the line does not touch that of the other.
		{"two in one bucket", false, func(x *interleave.Run, w gated) {
			other := newGated(x, "h")
			w.g.tryPass()
			other.g.tryPass()
			x.Go("passer", w.pass)
			x.Go("other's passer", other.pass)
			x.Go("opener", func() { w.open(); other.open() })
		}},
		{"cancel beside another's line", false, func(x *interleave.Run, w gated) {
			other := newGated(x, "h")
			q := stand(w.m, rwWriter)
			q.await()
			other.g.tryPass()
			x.Go("hasty", w.hasty)
			x.Go("other's passer", other.pass)
			x.Go("opener", func() { other.open(); w.open() })
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			o := interleave.Options{}
			if s.large {
				if testing.Short() || interleave.RaceEnabled {
					t.Skip("tier two")
				}
				o = interleave.Options{Mode: interleave.Bounded, Bound: 3}
			}
			interleave.Check(t, o, func(x *interleave.Run) {
				*parking.Default() = *parking.New(1)
				w := newGated(x, "g")
				s.body(x, w)
				x.Wait()
				if strings.HasSuffix(s.name, "who stays") {
					x.Assert(w.g.state.Load() == gateClosed, "nobody is in line")
					w.open()
				}
				x.Assert(w.g.isOpen() && w.g.waiting() == 0, "the gate is not open")
			})
		})
	}
}

// Those in line are admitted in their order, whichever of them gives up, and whatever stands in
// the same bucket.
func TestModelGateOrder(t *testing.T) {
	for hasty := range 3 {
		t.Run(fmt.Sprintf("%d gives up", hasty), func(t *testing.T) {
			interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 3}, func(x *interleave.Run) {
				*parking.Default() = *parking.New(1)
				w := newGated(x, "g")
				w.g.tryPass()
				var next interleave.Int32
				for i := range int32(3) {
					if int(i) == hasty {
						x.Go("hasty", w.hasty)
						continue
					}
					q := stand(w.m, rwWriter)
					x.Go(fmt.Sprintf("t%d", i), func() {
						q.await()
						x.Assert(next.Load() <= i, "overtaken")
						next.Store(i)
						w.use(nil)
					})
				}
				x.Go("opener", w.open)
				x.Wait()
				x.Assert(w.g.isOpen() && w.g.waiting() == 0, "the gate is not open")
			})
		})
	}
}
