//go:build interleave

package lanes

import (
	"context"
	"fmt"
	"testing"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/sync/mutex"
)

// A world is a gate under exploration.
type world struct {
	*interleave.Run
	*Gate
	inside interleave.Int64
	passed interleave.Int64
}

func newWorld(x *interleave.Run, lanes int, b int64) *world {
	w := &world{Run: x, Gate: New(lanes, b)}
	x.Name("g", w.Gate)
	for i := range w.lanes {
		x.Name(fmt.Sprintf("lane %d", i), &w.lanes[i])
	}
	return w
}

// options searches with the given number of preemptions, or all schedules if it is 0; with -short,
// with fewer.
func options(t *testing.T, preemptions int, large bool) interleave.Options {
	switch {
	case large && (testing.Short() || interleave.RaceEnabled):
		t.Skip("tier two")
	case testing.Short():
		preemptions = 2
	case preemptions == 0:
		return interleave.Options{}
	}
	return interleave.Options{Mode: interleave.Bounded, Bound: preemptions}
}

func (w *world) key(lane int) uint64 { return keyOf(lane, len(w.lanes)) }

// come arrives in a lane.
func (w *world) come(ctx context.Context, lane int) bool {
	if w.Arrive(ctx, w.key(lane)) != nil {
		return false
	}
	w.Assert(w.inside.Add(1) <= w.Size(), "more inside than a platoon")
	w.passed.Add(1)
	return true
}

func (w *world) leave() {
	w.inside.Add(-1)
	w.Depart(0)
}

// pass arrives and departs.
func (w *world) pass(lane int) {
	w.Assert(w.come(bg, lane), "not admitted")
	w.leave()
}

// finish checks that all that have passed are counted, and no permit is lost.
func (w *world) finish() {
	n := w.passed.Load()
	w.Assert(w.Waiting() == 0, "a goroutine is left")
	w.Assert(w.departed.Load() == n%w.Size(), "miscounted: %d have passed", n)
	w.Assert(w.free() == w.Size()-n%w.Size(), "%d may still pass", w.free())
}

// Never more than a platoon inside, no waiter sleeps for ever, and every arrival is counted once,
// in any combination of lanes.
func TestModelGate(t *testing.T) {
	for _, s := range []struct {
		name  string
		lanes int
		share int64
		bound int // of preemptions; 0: all schedules
		large bool
		body  func(w *world)
	}{
		{name: "one lane", lanes: 1, share: 1, bound: 3, body: func(w *world) { w.Same(3, "t", func(int) { w.pass(0) }) }},
		{name: "again", lanes: 2, share: 1, bound: 3, body: func(w *world) { w.Same(2, "t", func(int) { w.pass(0); w.pass(0) }) }},
		{name: "all in a lane", lanes: 2, share: 1, body: func(w *world) { w.Same(3, "t", func(int) { w.pass(0) }) }},
		{name: "in two lanes", lanes: 2, share: 1, bound: 3, body: func(w *world) {
			w.Same(2, "t", func(int) { w.pass(0) })
			w.Go("other", func() { w.pass(1) })
		}},
		{name: "four", lanes: 2, share: 1, bound: 2, large: true, body: func(w *world) {
			w.Same(2, "t", func(int) { w.pass(0) })
			w.Same(2, "u", func(int) { w.pass(1) })
		}},
		{name: "four, three lanes", lanes: 3, share: 1, bound: 2, large: true, body: func(w *world) { w.Same(4, "t", func(int) { w.pass(1) }) }},
		{name: "shares of two", lanes: 2, share: 2, bound: 2, large: true, body: func(w *world) {
			w.Same(3, "t", func(int) { w.pass(0); w.pass(0) })
		}},
		{name: "cancel", lanes: 2, share: 1, bound: 2, large: true, body: func(w *world) {
			ctx := w.NewContext()
			w.Same(2, "t", func(int) { w.pass(0) })
			w.Go("hasty", func() {
				if w.come(ctx, 0) {
					w.leave()
				}
			})
			w.Go("canceller", ctx.Cancel)
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			interleave.Check(t, options(t, s.bound, s.large), func(x *interleave.Run) {
				w := newWorld(x, s.lanes, s.share)
				s.body(w)
				x.Wait()
				w.finish()
			})
		})
	}
}

// As many goroutines as there are permits arrive while the platoon changes, and stay inside. So
// each of them must get a permit, in whatever lane it lies. Others arrive and give up; they must
// not leave a permit behind.
func TestModelNoneWaitsBesideAPermit(t *testing.T) {
	for _, s := range []struct {
		name  string
		lanes int
		share int64
		stay  []int // their lanes
		hasty []int
		bound int
		large bool
	}{
		{name: "a lane that no goroutine comes to", lanes: 2, share: 1, bound: 2, stay: []int{0, 0}},
		{name: "the first", lanes: 2, share: 1, bound: 2, stay: []int{1, 1}},
		{name: "one gives up", lanes: 2, share: 1, bound: 1, stay: []int{0, 0}, hasty: []int{1}, large: true},
		{name: "one gives up in the same lane", lanes: 2, share: 1, bound: 1, stay: []int{0, 0}, hasty: []int{0}, large: true},
		{name: "two give up", lanes: 2, share: 1, bound: 1, stay: []int{0}, hasty: []int{0, 1}, large: true},
	} {
		t.Run(s.name, func(t *testing.T) {
			interleave.Check(t, options(t, s.bound, s.large), func(x *interleave.Run) {
				w := newWorld(x, s.lanes, s.share)
				for range w.Size() {
					x.Assert(w.Arrive(bg, 0) == nil, "closed")
				}
				for range w.Size() - 1 {
					w.Depart(0)
				}
				ctx := w.NewContext()
				x.Go("last", func() {
					w.Depart(0)
					ctx.Cancel()
				})
				for i, lane := range s.stay {
					x.Go(fmt.Sprintf("stays %d", i), func() { w.come(bg, lane) })
				}
				for i, lane := range s.hasty {
					x.Go(fmt.Sprintf("hasty %d", i), func() {
						if w.Arrive(ctx, w.key(lane)) == nil { // It passed after all, and departs.
							w.lanes[lane].permits().Release(1)
							w.balance()
						}
					})
				}
				x.Wait()
			})
		})
	}
}

// Without the balance a lane without arrivals keeps its share, and arrivals in the other lane wait
// for ever.
func TestModelWithoutBalanceNonePasses(t *testing.T) {
	arrive := func(g *Gate, own int) {
		l := &g.lanes[own]
		if !l.permits().TryAcquire(1) {
			_ = l.permits().Acquire(waiting.UntilDone(bg), 1, engine.AtBack)
		}
	}
	f := interleave.Explore(interleave.Options{}, func(x *interleave.Run) {
		w := newWorld(x, 2, 1)
		x.Same(2, "t", func(int) {
			arrive(w.Gate, 0)
			w.Depart(0)
		})
		x.Wait()
	}).Failure
	if f == nil || f.Kind != interleave.Deadlock {
		t.Fatal("no goroutine waits for ever:", f)
	}
	t.Logf("%s: %s\n%s", f.Schedule, f.Message, f.Trace)
}

// A contest is a watched goroutine that queues in a lane behind others, and later arrivals. The
// result is how many of the latter get in first.
type contest struct {
	name   string
	lanes  int
	share  int64
	p      int   // how many queue in front of it
	others []int // how often each comes; the i'th in lane i+1, or in the first
	bound  int   // preemptions
	most   int   // the number that is reached
	moved  bool  // the share of its lane has moved away before
	large  bool
}

var contests = []contest{
	{name: "one lane", lanes: 1, share: 2, others: []int{3}, bound: 2, most: 1},
	{name: "one lane, second", lanes: 1, share: 1, p: 1, others: []int{3}, bound: 2, most: 0},
	{name: "two lanes", lanes: 2, share: 1, others: []int{4}, bound: 2, most: 2},
	{name: "two lanes, second", lanes: 2, share: 1, p: 1, others: []int{5}, bound: 1, most: 3, large: true},
	{name: "two lanes of two", lanes: 2, share: 2, others: []int{7}, bound: 2, most: 5, large: true},
	{name: "two lanes of two, second", lanes: 2, share: 2, p: 1, others: []int{7}, bound: 1, most: 4, large: true},
	{name: "three lanes", lanes: 3, share: 1, others: []int{3, 3}, bound: 1, most: 4, large: true},
	{name: "moved away", lanes: 2, share: 1, others: []int{5}, bound: 2, most: 3, moved: true},
}

// promised returns the bound that Gate promises.
func (c contest) promised() int {
	b, share := c.lanes*int(c.share), int(c.share)
	r := (c.p + share) / share // ⌈(p+1)/b⌉
	n := r*(b-share) + b - 1
	if c.moved {
		n += share
	}
	return n
}

// The bound holds in every schedule, and some schedule reaches it. The watched goroutine queues
// before the others arrive. Those in front of it, and those inside, depart at any time.
func TestModelBypass(t *testing.T) {
	for _, c := range contests {
		t.Run(c.name, func(t *testing.T) {
			o := options(t, c.bound, c.large)
			if c.most > c.promised() {
				t.Fatalf("%d is more than promised", c.most)
			}
			seen := 0
			interleave.Check(t, o, func(x *interleave.Run) {
				n := c.hold(x)
				x.Assert(n <= c.promised(), "overtaken %d times", n)
				seen = max(seen, n)
			})
			if seen != c.most {
				t.Errorf("overtaken %d times, never %d", seen, c.most)
			}
		})
	}
}

// hold runs the contest, and returns how often the watched goroutine was overtaken.
func (c contest) hold(x *interleave.Run) int {
	w := newWorld(x, c.lanes, c.share)
	var inner mutex.Word
	var in, passed interleave.Int32
	own := &w.lanes[0]
	// The permits of its lane are taken by goroutines inside, or have moved to the next lane.
	x.Assert(own.permits().TryAcquire(c.share), "closed")
	inside := int(c.share)
	if c.moved {
		w.lanes[1].permits().Release(c.share)
		inside = 0
	}
	x.Go("inside", func() {
		for range inside {
			w.Depart(0)
		}
	})
	for i := range c.p + 1 {
		f := new(waiting.Future)
		waiting.Bind(f, own.permits(), 1)
		f.Poll(nil)
		x.Go(fmt.Sprintf("queued %d", i), func() {
			w.balance()
			interleave.Receive(f.Done())
			x.Assert(f.Take() == nil, "not admitted")
			inner.Lock()
			if i == c.p {
				in.Store(1)
			}
			inner.Unlock()
			w.Depart(0)
		})
	}
	for i, n := range c.others {
		x.Go(fmt.Sprintf("other %d", i), func() {
			for range int(n) {
				if in.Load() != 0 {
					return // it cannot be overtaken any more
				}
				x.Assert(w.Arrive(bg, w.key((i+1)%c.lanes)) == nil, "not admitted")
				inner.Lock()
				if in.Load() == 0 {
					passed.Add(1)
				}
				inner.Unlock()
				w.Depart(0)
			}
		})
	}
	x.Wait()
	return int(passed.Load())
}

// The paper's proposal as it reads, one gate per lane: the explorer finds a goroutine that has
// passed its gate, and that the platoons of another lane overtake more often than any stated bound.
// With a Gate it finds none that is overtaken more than B - 1 times.
func TestModelSeparateGatesBoundNothing(t *testing.T) {
	const most = 5 // several platoons; any other number will do
	search := interleave.Options{Mode: interleave.Bounded, Bound: 2}
	f := interleave.Explore(search, func(x *interleave.Run) { heldUp(x, NewSeparate(2, 1), most) }).Failure
	if f == nil || f.Kind != interleave.Assertion {
		t.Fatal("no goroutine is overtaken so often:", f)
	}
	t.Logf("%s: %s\n%s", f.Schedule, f.Message, f.Trace)
	interleave.Check(t, search, func(x *interleave.Run) { heldUp(x, New(2, 1), 1) })
}

// heldUp lets one goroutine pass the first of two lanes, and another the second again and again. It
// fails if the first is overtaken more often than most.
func heldUp(x *interleave.Run, g Lanes, most int32) {
	watched, other := keyOf(0, 2), keyOf(1, 2)
	var inner mutex.Word
	var in, passed interleave.Int32
	x.Name("inner", &inner)
	x.Assert(g.Arrive(bg, watched) == nil, "closed")
	x.Go("watched", func() {
		inner.Lock()
		in.Store(1)
		inner.Unlock()
		g.Depart(watched)
	})
	x.Go("other", func() {
		for range int(most) + 1 {
			x.Assert(g.Arrive(bg, other) == nil, "not admitted")
			inner.Lock()
			if in.Load() == 0 {
				n := passed.Add(1)
				x.Assert(n <= most, "overtaken %d times", n)
			}
			inner.Unlock()
			g.Depart(other)
		}
	})
	x.Wait()
}

// Depart panics only if there is one departure too many, whatever moves at the same time. Here a
// permit moves for a waiter that gives up, and so is seen in one lane and then in another.
func TestModelNoneIsAccusedWrongly(t *testing.T) {
	interleave.Check(t, options(t, 0, false), func(x *interleave.Run) {
		w := newWorld(x, 2, 1)
		x.Assert(w.lanes[1].permits().TryAcquire(1), "closed") // the permit of the goroutine that departs
		f := new(waiting.Future)
		waiting.Bind(f, w.lanes[1].permits(), 1)
		f.Poll(nil)
		x.Go("mover", w.balance)
		x.Go("gives up", func() {
			f.Release()
			w.balance()
		})
		x.Go("inside", func() { w.Depart(0) })
		x.Wait()
		x.Assert(w.free() == 1 && w.departed.Load() == 1, "%d may still pass", w.free())
		x.Assert(interleave.Panics(func() { w.Depart(0) }) != nil, "one too many")
		x.Assert(w.free() == 1 && w.departed.Load() == 1, "not as it was")
	})
}

// A lock behind lanes excludes, and a goroutine that has unlocked it has left the lanes.
func TestModelLock(t *testing.T) {
	for name, create := range map[string]func() Lanes{
		"one tally": func() Lanes { return New(2, 1) },
		"separate":  func() Lanes { return NewSeparate(2, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Check(t, options(t, 2, false), func(x *interleave.Run) {
				var turn, inside interleave.Int64
				g := create()
				l := Wrap(new(mutex.Word), g, func() uint64 { return keyOf(int(turn.Add(1)%2), 2) })
				x.Same(3, "t", func(int) {
					l.Lock()
					x.Assert(inside.Add(1) == 1, "two inside")
					inside.Add(-1)
					l.Unlock()
				})
				x.Wait()
				x.Assert(
					interleave.Panics(func() { g.Depart(keyOf(0, 2)); g.Depart(keyOf(0, 2)) }) != nil,
					"a goroutine is left behind the lanes",
				)
			})
		})
	}
}
