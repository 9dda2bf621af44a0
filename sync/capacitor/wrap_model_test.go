//go:build interleave

package capacitor

import (
	"fmt"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/twa"
)

// Gates on both semaphores: never more than a platoon inside, no goroutine waits for ever, and
// every arrival is counted once.
func TestModelGate(t *testing.T) {
	type world struct {
		*interleave.Run
		g      *Gate
		inside interleave.Int64
		passed interleave.Int64
	}
	through := func(w *world) {
		w.Assert(w.inside.Add(1) <= w.g.Size(), "more inside than a platoon")
		w.passed.Add(1)
		w.inside.Add(-1)
		w.g.Depart()
	}
	pass := func(w *world) {
		w.Assert(w.g.Arrive(bg) == nil, "not admitted")
		through(w)
	}
	for _, s := range []struct {
		name  string
		b     int64
		large bool
		body  func(w *world)
	}{
		{name: "one by one", b: 1, body: func(w *world) { w.Same(3, "t", func(int) { pass(w) }) }},
		{name: "two of three", b: 2, body: func(w *world) { w.Same(3, "t", func(int) { pass(w) }) }},
		{name: "again", b: 2, body: func(w *world) { w.Same(2, "t", func(int) { pass(w); pass(w) }) }},
		{name: "two of four", b: 2, large: true, body: func(w *world) { w.Same(4, "t", func(int) { pass(w) }) }},
		{name: "try", b: 1, body: func(w *world) {
			w.Same(2, "t", func(int) { pass(w) })
			w.Go("try", func() {
				if w.g.TryArrive() {
					through(w)
				}
			})
		}},
		{name: "cancel", b: 1, large: true, body: func(w *world) {
			ctx := w.NewContext()
			w.Same(2, "t", func(int) { pass(w) })
			w.Go("hasty", func() {
				if w.g.Arrive(ctx) == nil {
					through(w)
				}
			})
			w.Go("canceller", ctx.Cancel)
		}},
		{name: "timeout", b: 1, body: func(w *world) {
			w.Go("t", func() { pass(w) })
			w.Go("hasty", func() {
				if w.g.ArriveTimeout(time.Second) == nil {
					through(w)
				}
			})
		}},
		{name: "timeout of one of two", b: 2, body: func(w *world) {
			w.Same(2, "t", func(int) { pass(w) })
			w.Go("hasty", func() {
				if w.g.ArriveTimeout(time.Second) == nil {
					through(w)
				}
			})
		}},
		{name: "all in time", b: 1, large: true, body: func(w *world) {
			w.Same(3, "hasty", func(int) {
				if w.g.ArriveTimeout(time.Second) == nil {
					through(w)
				}
			})
		}},
		{name: "cancel before depart", b: 1, body: func(w *world) { // the gate guards ended
			ctx, ended := w.NewContext(), false
			w.Go("canceller", func() {
				w.Assert(w.g.Arrive(bg) == nil, "not admitted")
				ctx.Cancel()
				ended = true
				through(w)
			})
			w.Go("hasty", func() {
				if w.g.Arrive(ctx) == nil {
					w.Assert(!ended, "let in, though the context had ended before the departure")
					through(w)
				}
			})
		}},
	} {
		for _, name := range []string{"queue", "array"} {
			t.Run(s.name+"/"+name, func(t *testing.T) {
				o := interleave.Options{}
				switch {
				case s.large && (testing.Short() || interleave.RaceEnabled):
					t.Skip("tier two")
				case s.large, testing.Short(): // all schedules of the others are for tier two
					o = interleave.Options{Mode: interleave.Bounded, Bound: 2}
				}
				interleave.Check(t, o, func(x *interleave.Run) {
					var opts []Option
					if name == "array" { // one for each execution: one that is pruned leaves its sleepers
						opts = append(opts, WithWaitingArray(twa.NewArray(1)))
					}
					w := &world{Run: x, g: NewGate(s.b, opts...)}
					x.Name("g", w.g)
					s.body(w)
					x.Wait()
					n := w.passed.Load()
					x.Assert(w.g.Population() == 0 && w.g.Waiting() == 0, "a goroutine is left")
					x.Assert(w.g.Platoon() == n/s.b && w.g.departed.Load() == n%s.b, "miscounted: %d have passed", n)
					x.Assert(w.g.free() == s.b-n%s.b, "%d may still pass", w.g.free())
				})
			})
		}
	}
}

// Of two concurrent departures after one arrival, one panics, and changes nothing.
func TestModelDepartWithoutArrive(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		g := NewGate(1)
		x.Name("g", g)
		x.Assert(g.TryArrive(), "not open")
		var panics interleave.Int64
		x.Same(2, "t", func(int) {
			if interleave.Panics(g.Depart) != nil {
				panics.Add(1)
			}
		})
		x.Wait()
		x.Assert(panics.Load() == 1, "%d departures panicked", panics.Load())
		x.Assert(
			g.free() == 1 && g.departed.Load() == 0 && g.Platoon() == 1,
			"%d may pass, of platoon %d",
			g.free(),
			g.Platoon(),
		)
	})
}

// The policies, round a lock of two bits.
var policies = map[string]struct {
	b    int64
	opts []Option
}{
	"strict, 1":    {1, nil},
	"strict, 2":    {2, nil},
	"express":      {1, []Option{WithExpress(1)}},
	"express, 2":   {2, []Option{WithExpress(1)}},
	"if contended": {2, []Option{WhenContended()}},
	"array":        {2, []Option{WithWaitingArray(nil)}},
	"bypass":       {1, []Option{WithBypass(0.5)}},
}

func TestModelWrapped(t *testing.T) {
	for name, p := range policies {
		t.Run(name, func(t *testing.T) {
			mutextest.RunSmallModel(t, mutextest.Subject{
				New:   func() mutextest.Small { return Wrap(new(mutex.Word), p.b, p.opts...) },
				Bound: 2,
				After: func(x *interleave.Run, m mutextest.Small) {
					x.Assert(m.(*Wrapped[*mutex.Word]).gate.Population() == 0, "a goroutine is left behind the gate")
				},
			})
		})
	}
}

// The same around a lock without contexts: a goroutine with a context tries the lock, and sleeps
// between tries.
func TestModelWrappedTries(t *testing.T) {
	for name, p := range policies {
		t.Run(name, func(t *testing.T) {
			mutextest.RunSmallModel(t, mutextest.Subject{
				New: func() mutextest.Small {
					word := new(mutex.Word)
					return Wrap(tries{bare{word}, word.TryLock}, max(p.b, 2), p.opts...)
				},
				Bound: 2,
				After: func(x *interleave.Run, m mutextest.Small) {
					w := m.(*Wrapped[tries])
					x.Assert(w.gate.Population() == 0, "a goroutine is left behind the gate")
					x.Assert(w.trying.Load() == 0, "a goroutine still tries")
				},
			})
		})
	}
}

// A goroutine may take the lock for a place of the express lane that is gone meanwhile. It gives
// the lock back, and tells a goroutine that has tried it then. That one would sleep for ever: the
// other queues behind it.
func TestModelLastPlaceOfTheLane(t *testing.T) {
	o := interleave.Options{Mode: interleave.Bounded, Bound: 3}
	interleave.Check(t, o, func(x *interleave.Run) {
		word := new(mutex.Word)
		w := Wrap(tries{bare{word}, word.TryLock}, 1, WithExpress(1))
		x.Name("w", w)
		ctx := x.NewContext()
		x.Go("admitted", func() {
			x.Assert(w.LockContext(ctx) == nil, "not locked")
			w.Unlock()
		})
		x.Same(2, "express", func(int) { do(w, func() {}) })
		x.Wait()
		x.Assert(w.gate.Population() == 0 && w.Waiting() == 0, "a goroutine is left")
	})
}

// The bound of each policy: how many later arrivals get in before one that has passed the gate
// already.
func TestModelWrappedBypass(t *testing.T) {
	for name, s := range map[string]struct {
		policy string
		most   int32
		others []int
	}{
		"strict, 1":    {"strict, 1", 0, []int{1, 1}},
		"strict, 2":    {"strict, 2", 1, []int{2}},
		"strict, 2, 3": {"strict, 2", 1, []int{1, 1}},
		"express":      {"express", 1, []int{2}},
		"express, 3":   {"express", 1, []int{1, 1}},
		"express, 2":   {"express, 2", 2, []int{3}},
		"if contended": {"if contended", 1, []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			o := interleave.Options{}
			if len(s.others) > 1 {
				if testing.Short() || interleave.RaceEnabled {
					t.Skip("tier two")
				}
				o = interleave.Options{Mode: interleave.Bounded, Bound: 2}
			}
			p := policies[s.policy]
			interleave.Check(t, o, func(x *interleave.Run) {
				w := Wrap(new(mutex.Word), p.b, p.opts...)
				x.Name("w", w)
				var in, passed interleave.Int32
				x.Assert(w.gate.TryArrive(), "closed")
				x.Go("watched", func() {
					w.inner.Lock()
					w.passed = true
					in.Store(1)
					w.Unlock()
				})
				for i, n := range s.others {
					x.Go(fmt.Sprintf("other %d", i), func() {
						for range int(n) {
							w.Lock()
							if in.Load() == 0 {
								n := passed.Add(1)
								x.Assert(n <= s.most, "overtaken %d times", n)
							}
							w.Unlock()
						}
					})
				}
				x.Wait()
				x.Assert(w.gate.Population() == 0, "a goroutine is left behind the gate")
			})
		})
	}
}

// However many look at the lane at once, no more take it than it has places.
func TestModelLaneHasSoManyPlaces(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		w := Wrap(new(mutex.Word), 1, WithExpress(1))
		x.Name("w", w)
		x.Assert(w.gate.TryArrive(), "closed")
		var past interleave.Int32
		x.Same(2, "t", func(int) {
			if w.tryPast() {
				past.Add(1)
				w.Unlock()
			}
		})
		x.Wait()
		x.Assert(past.Load() == 1, "%d on a lane of one place", past.Load())
	})
}

// With WhenContended an arrival skips the gate if none is behind it or in line. None overtakes a
// waiter in line, not even while the gate reopens.
func TestModelNoneGoesPastTheLine(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		w := Wrap(new(mutex.Word), 1, WhenContended())
		x.Name("w", w)
		x.Assert(w.gate.TryArrive(), "closed")
		p := waiting.GetParker(waiting.Limit{})
		p.N = 1
		o := w.gate.permits().Enqueue(&p.Waiter, engine.AtBack)
		var in interleave.Bool
		x.Go("in line", func() {
			x.Assert(w.gate.permits().Await(waiting.Limit{}, p, o) == nil, "not admitted")
			w.inner.Lock()
			w.passed = true
			in.Store(true)
			w.Unlock()
		})
		x.Go("inside", w.gate.Depart)
		x.Go("comes", func() {
			w.Lock()
			x.Assert(in.Load(), "overtaken")
			w.Unlock()
		})
		x.Wait()
		x.Assert(w.gate.isIdle(), "a goroutine is left behind the gate")
	})
}

// A look at the line of an array with more buckets takes more steps.
func TestModelGateSleepsInTheArrayGiven(t *testing.T) {
	stepsIn := func(a *twa.Array) int {
		return interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
			g := NewGate(1, WithWaitingArray(a))
			x.Go("reader", func() { g.Waiting() })
			x.Wait()
		}).Steps
	}
	require.Greater(t, stepsIn(twa.NewArray(8)), stepsIn(nil), "that of the process has one bucket here")
}

// The lane has its places again before the gate opens, not after. A late refill would serve a
// platoon that has used its places already, and more than the bound would overtake a goroutine that
// has passed the gate.
func TestModelLaneIsFullWhenTheGateOpens(t *testing.T) {
	for name, opts := range map[string][]Option{
		"queue": {WithExpress(1)},
		"array": {WithExpress(1), WithWaitingArray(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 3}, func(x *interleave.Run) {
				*parking.Default() = *parking.New(1)
				w := Wrap(new(mutex.Word), 1, opts...)
				x.Name("w", w)
				x.Assert(w.gate.TryArrive(), "closed")
				var passed, in interleave.Bool // the watched one: the gate, the lock
				var before interleave.Int32
				x.Go("departs", w.gate.Depart)
				x.Go("watched", func() {
					x.Assert(w.gate.Arrive(bg) == nil, "not admitted")
					passed.Store(true)
					w.inner.Lock()
					w.passed = true
					in.Store(true)
					w.Unlock()
				})
				x.Go("other", func() {
					for range 2 {
						behind := passed.Load()
						if !w.tryPast() {
							continue
						}
						if behind && !in.Load() {
							n := before.Add(1)
							x.Assert(n <= 1, "overtaken %d times, by a lane of one place", n)
						}
						w.Unlock()
					}
				})
				x.Wait()
				x.Assert(w.gate.Population() == 0, "a goroutine is left behind the gate")
			})
		})
	}
}
