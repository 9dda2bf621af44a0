//go:build interleave

package phased

import (
	"fmt"
	"math"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/parking"
)

// A world is a semaphore, and an array in which everything collides unless a scenario wants more
// buckets.
//
// Every critical section counts the holders; with one permit it also checks that it is the ticket's
// turn. At the end: all permits are back, and no goroutine sleeps.
type world struct {
	*interleave.Run
	*Semaphore
	permits, first int64
	turn, held     interleave.Int64
}

// use takes a permit and posts it.
func (w *world) use() {
	ticket := w.take()
	w.Assert(w.held.Add(1) <= w.permits, "too many hold a permit")
	if w.permits == 1 {
		w.Assert(ticket == w.first+w.turn.Add(1)-1, "out of turn")
	}
	w.held.Add(-1)
	w.Post()
}

func (w *world) finish() {
	w.Assert(w.grant.Load()-w.ticket.Load() == w.permits, "a permit is lost")
	w.Assert(w.array.lots.Count(func(parking.Key) bool { return true }) == 0, "a goroutine sleeps")
}

type scenario struct {
	name    string
	large   bool // not for -short
	bound   int  // preemptions, where all schedules are too many
	threads int
	rounds  int
	permits int64
	buckets int
	first   int64 // ticket
}

var scenarios = []scenario{
	{name: "2x2", threads: 2, rounds: 2, permits: 1, buckets: 1},
	{name: "3x1", threads: 3, rounds: 1, permits: 1, buckets: 1},
	{name: "wrap", threads: 2, rounds: 2, permits: 1, buckets: 1, first: math.MaxInt64 - 1},
	{name: "two buckets", threads: 3, rounds: 1, permits: 1, buckets: 2},
	{name: "two permits", threads: 3, rounds: 1, permits: 2, buckets: 1},
	{name: "3x2", threads: 3, rounds: 2, permits: 1, buckets: 1, large: true, bound: 2},
	{name: "4x1", threads: 4, rounds: 1, permits: 1, buckets: 2, large: true, bound: 2},
	{name: "4x1, two permits", threads: 4, rounds: 1, permits: 2, buckets: 1, large: true, bound: 2},
}

// configs returns the configurations that differ in a scenario with a number of waiters.
// The explorer does not spin: there Spin is Yield, and SpinThenPark is Park.
func configs(waiters int64) (cs []Config) {
	for threshold := range min(waiters, 2) + 1 {
		for _, near := range []Wait{Yield, Park} {
			for _, far := range []Wait{Yield, Park} {
				if threshold == 0 && near == Park || threshold == waiters && far == Park {
					continue // no ticket is near, or none is far
				}
				for _, conservative := range []bool{false, true} {
					cs = append(cs, Config{Threshold: threshold, Near: near, Far: far, Conservative: conservative})
				}
			}
		}
	}
	return append(
		cs,
		Config{Threshold: 1, Near: Spin, Far: SpinThenPark},
		Config{Threshold: 1, Near: SpinThenPark, Far: Spin},
	)
}

func (c Config) name() string {
	ways := map[Wait]string{Spin: "spin", Yield: "yield", SpinThenPark: "spin then park", Park: "park"}
	name := fmt.Sprintf("%d, %s, %s", c.Threshold, ways[c.Near], ways[c.Far])
	if c.Conservative {
		name += ", conservative"
	}
	return name
}

// Every schedule of goroutines that take and post, with all ways to wait: none sleeps for ever, and
// all get their permits in turn.
func TestModelPhased(t *testing.T) {
	for _, s := range scenarios {
		for _, c := range configs(int64(s.threads) - s.permits) {
			t.Run(s.name+"/"+c.name(), func(t *testing.T) {
				if s.large && (testing.Short() || interleave.RaceEnabled) {
					t.Skip("tier two")
				}
				interleave.Check(t, s.options(c), func(x *interleave.Run) {
					w := newWorld(x, s, c)
					x.Same(s.threads, "t", func(int) {
						for range s.rounds {
							w.use()
						}
					})
					x.Wait()
					w.finish()
				})
			})
		}
	}
}

// options searches all schedules, unless there are too many.
func (s scenario) options(c Config) interleave.Options {
	switch {
	case s.bound > 0:
		return interleave.Options{Mode: interleave.Bounded, Bound: s.bound}
	case c.Conservative && (c.Near.sleeps() || c.Far.sleeps()), // every post locks a bucket or two
		c.Near.sleeps() && s.buckets == 1 && testing.Short():
		return interleave.Options{Mode: interleave.Bounded, Bound: 3}
	}
	return interleave.Options{}
}

func newWorld(x *interleave.Run, s scenario, c Config) *world {
	w := &world{Run: x, permits: s.permits, first: s.first}
	w.Semaphore = New(NewArray(s.buckets), s.permits, c)
	w.ticket.Store(w.first)
	w.grant.Add(w.first)
	x.Name("w", w)
	return w
}

// Semaphores share buckets. A poke for an owner that does not sleep wakes no other, and need not.
func TestModelArrayIsShared(t *testing.T) {
	ways := []Config{{Threshold: 0, Far: Park}, {Threshold: 0, Far: Yield}}
	interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2}, func(x *interleave.Run) {
		array := NewArray(1)
		for _, c := range ways {
			w := &world{Run: x, Semaphore: New(array, 1, c), permits: 1}
			x.Same(2, c.name(), func(int) { w.use() })
		}
		x.Wait()
	})
}

// Listing 2's post pokes the ticket that becomes near, which is right where near owners poll grant.
// If they sleep, the owner whose ticket is granted sleeps for ever.
func TestModelWhoSleepsNearNeedsTheSecondPoke(t *testing.T) {
	f := interleave.Explore(interleave.Options{}, func(x *interleave.Run) {
		w := newWorld(x, scenario{permits: 0, buckets: 4}, Config{Threshold: 1, Near: Park, Far: Park})
		x.Go("taker", w.Take)
		x.Go("poster", func() { w.poke(w.grant.Add(1) - 1 + w.Threshold) })
		x.Wait()
	}).Failure
	if f == nil || f.Kind != interleave.Deadlock {
		t.Fatal("no goroutine sleeps for ever:", f)
	}
	t.Logf("%s: %s\n%s", f.Schedule, f.Message, f.Trace)
}
