//go:build interleave

package twa

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// A world is a semaphore under exploration, with what a scenario may do to it and what must hold.
//
// After every step: no more permits are held than there are; and while no goroutine holds mu the
// runs of abandoned tickets are as invariant 3 of tickets.go says, as far as it speaks of single
// states. At the end: all permits are free, no goroutine sleeps, no ticket is abandoned.
type world struct {
	*interleave.Run
	s     *Semaphore
	size  int64 // at the end
	peak  int64 // the largest size
	start int64 // the number of the first ticket
	held  interleave.Int64
	gone  bool // others have gone on, maybe past what has not been looked after yet
}

var bg = context.Background()

// newWorld returns a world with an array of so many buckets, whose first ticket has the number
// start.
func newWorld(x *interleave.Run, size, start int64, buckets int) *world {
	w := &world{Run: x, s: New(size, WithWaitingArray(NewArray(buckets))), size: size, peak: size, start: start}
	w.s.t.ticket.Store(start * step)
	w.s.t.grant.Store((start + size) * step)
	x.Name("s", w.s)
	x.Name("held", &w.held)
	x.Always(w.check)
	return w
}

func (w *world) check() {
	t := &w.s.t
	w.Assert(t.free(zero) <= w.peak, "%d permits are free of at most %d", t.free(zero), w.peak)
	if t.mu.Locked() || w.gone {
		return
	}
	r := t.cold
	if r == nil {
		w.Assert(t.runs.Load() == 0, "runs are miscounted")
		return
	}
	w.Assert(len(r.begin) == len(r.end), "runs are miscounted")
	w.Assert(t.runs.Load() == int64(len(r.begin)+len(r.debts)), "runs are miscounted")
	for _, d := range r.debts {
		w.Assert(d.n > 0 && t.ticket.Load()-d.end >= 0, "a debt of %d, up to %d", d.n, d.end)
	}
	for b, e := range r.begin {
		w.Assert(e-b > 0 && r.end[e] == b, "a run from %d to %d", b, e)
		_, ok := r.begin[e]
		w.Assert(!ok, "two runs meet at %d", e)
		w.Assert(t.ticket.Load()-e > 0, "the newest tickets, from %d to %d, are abandoned", b, e)
	}
}

func (w *world) finish() {
	t := &w.s.t
	w.Assert(w.held.Load() == 0, "%d permits are still held", w.held.Load())
	w.Assert(w.s.Size() == w.size, "the size is %d, not %d", w.s.Size(), w.size)
	w.Assert(t.free(zero) == w.size, "%d of %d permits are left", t.free(zero), w.size)
	w.Assert(w.s.Waiting() == 0, "a goroutine sleeps")
	w.Assert(t.runs.Load() == 0, "%d runs of abandoned tickets and debts are left", t.runs.Load())
}

// use uses n permits, if err is nil, and gives them back.
func (w *world) use(n int64, err error) {
	if err != nil {
		return
	}
	held := w.held.Add(n)
	w.Assert(held <= w.peak, "%d permits are held of at most %d", held, w.peak)
	w.give(n)
}

func (w *world) give(n int64) {
	w.held.Add(-n)
	w.s.Release(n)
}

func (w *world) lock(n int64) {
	err := w.s.Acquire(bg, n)
	w.Assert(err == nil, "not granted: %v", err)
	w.use(n, nil)
}

func (w *world) timeout(n int64) { w.use(n, w.s.AcquireTimeout(time.Second, n)) }
func (w *world) within(ctx context.Context, n int64) {
	w.use(n, w.s.Acquire(ctx, n))
}

func (w *world) try(n int64) {
	if w.s.TryAcquire(n) {
		w.use(n, nil)
	}
}

type scenario struct {
	name    string
	size    int64
	large   bool  // not for -short, and under a bound, of 3 preemptions if not said otherwise
	bound   int   // or none: exhausted
	wide    bool  // under a bound of 2 preemptions with -short, exhausted without
	start   int64 // number of the first ticket
	buckets int   // of the array; 0: one
	twice   bool  // with two buckets as well
	body    func(w *world)
}

const none = -1

var scenarios = []scenario{
	{name: "lock/2x1", size: 1, body: func(w *world) { w.Same(2, "t", func(int) { w.lock(1) }) }},
	{name: "lock/2x2", size: 1, body: func(w *world) { w.Same(2, "t", func(int) { w.lock(1); w.lock(1) }) }},
	{name: "lock/3x1", size: 1, body: func(w *world) { w.Same(3, "t", func(int) { w.lock(1) }) }},
	{
		name:  "lock/wrap",
		size:  1,
		start: math.MaxInt64/2 - 1,
		body:  func(w *world) { w.Same(3, "t", func(int) { w.lock(1) }) },
	},
	{
		name:  "lock/wrap/one later",
		size:  1,
		start: wrap - 1,
		body:  func(w *world) { w.Same(3, "t", func(int) { w.lock(1) }) },
	},
	{name: "lock/4x1", size: 1, large: true, body: func(w *world) { w.Same(4, "t", func(int) { w.lock(1) }) }},
	{
		name:  "lock/3x2",
		size:  1,
		large: true,
		body:  func(w *world) { w.Same(3, "t", func(int) { w.lock(1); w.lock(1) }) },
	},
	{name: "two/3x1", size: 2, body: func(w *world) { w.Same(3, "t", func(int) { w.lock(1) }) }},
	{name: "sizes", size: 2, twice: true, body: func(w *world) {
		w.Same(2, "two", func(int) { w.lock(2) })
		w.Go("one", func() { w.lock(1) })
	}},
	{name: "try", size: 1, body: func(w *world) {
		w.Same(2, "t", func(int) { w.lock(1) })
		w.Go("try", func() { w.try(1) })
	}},
	{name: "try/not in vain", size: 2, body: tryNotInVain},
	{name: "try/not in vain/wrap", size: 2, start: wrap - 1, body: tryNotInVain},
	{name: "timeout", size: 1, body: func(w *world) {
		w.Go("a", func() { w.lock(1) })
		w.Go("b", func() { w.timeout(1) })
	}},
	{name: "timeout/3", size: 1, large: true, bound: none, body: func(w *world) {
		w.Same(2, "a", func(int) { w.lock(1) })
		w.Go("b", func() { w.timeout(1) })
	}},
	{name: "timeout/two of three", size: 1, large: true, body: func(w *world) {
		w.Go("a", func() { w.lock(1) })
		w.Same(2, "b", func(int) { w.timeout(1) })
	}},
	{name: "timeout/two of four", size: 1, large: true, bound: 2, body: func(w *world) {
		w.Same(2, "a", func(int) { w.lock(1) })
		w.Same(2, "b", func(int) { w.timeout(1) })
	}},
	{name: "timeout/wrap", size: 1, large: true, bound: 2, start: math.MaxInt64/2 - 1, body: func(w *world) {
		w.Same(2, "a", func(int) { w.lock(1) })
		w.Same(2, "b", func(int) { w.timeout(1) })
	}},
	{name: "timeout/sizes", size: 2, twice: true, large: true, body: func(w *world) {
		w.Same(2, "a", func(int) { w.lock(1) })
		w.Go("b", func() { w.timeout(2) })
	}},
	{name: "cancel", size: 1, body: func(w *world) {
		ctx := w.NewContext()
		w.Go("a", func() { w.lock(1) })
		w.Go("b", func() { w.within(ctx, 1) })
		w.Go("canceller", ctx.Cancel)
	}},
	{name: "cancel/three", size: 1, large: true, body: func(w *world) {
		ctx := w.NewContext()
		w.Same(2, "a", func(int) { w.lock(1) })
		w.Go("b", func() { w.within(ctx, 1) })
		w.Go("canceller", ctx.Cancel)
	}},
	{
		name:  "abandoned/two releases",
		size:  2,
		twice: true,
		body: func(w *world) { // of three in line the second has given up
			w.begin(2)
			first, second, third := w.s.t.take(1), w.s.t.take(1), w.s.t.take(1)
			w.s.t.abandon(zero, 1, second)
			w.Go("first", func() { w.give(1); w.use(1, w.s.t.await(waiting.UntilDone(bg), zero, 1, first)) })
			w.Go("third", func() { w.give(1); w.use(1, w.s.t.await(waiting.UntilDone(bg), zero, 1, third)) })
		},
	},
	// A release of two serves two. With two buckets it looks into them one after the other, with
	// one it claims both at once.
	{name: "batch", size: 2, twice: true, body: batch(2)},
	{name: "batch/of three", size: 3, twice: true, large: true, body: batch(3)}, // more than buckets
	{name: "batch/wrap", size: 2, twice: true, start: wrap - 2, body: batch(2)}, // between the two that are granted
	{name: "batch/cancel", size: 2, twice: true, large: true, body: func(w *world) {
		ctx := w.NewContext()
		w.begin(2)
		w.Go("a", func() { w.lock(1) })
		w.Go("b", func() { w.within(ctx, 1) })
		w.Go("canceller", ctx.Cancel)
		w.Go("releaser", func() { w.give(2) })
	}},
	{
		name:  "batch/cancelled",
		size:  2,
		twice: true,
		body: func(w *world) { // what comes to b, whose context has ended, goes on
			ctx := w.NewContext()
			w.begin(2)
			w.Go("b", func() { w.within(ctx, 1) })
			w.Go("a", func() { w.lock(1) })
			w.Go("releaser", func() { ctx.Cancel(); w.give(2) })
		},
	},
	{name: "batch/abandoned", size: 2, twice: true, body: batchAbandoned},
	{name: "batch/abandoned/wrap", size: 2, twice: true, start: wrap - 1, body: batchAbandoned},
	{name: "batch/abandoned/wrap in the run", size: 2, twice: true, start: wrap - 2, body: batchAbandoned},
	{name: "close", size: 1, twice: true, body: func(w *world) {
		w.Same(2, "a", func(int) { w.lock1() })
		w.Go("closer", w.s.Close)
	}},
	{name: "close/while it is held", size: 1, body: func(w *world) {
		w.begin(1)
		w.Go("a", func() { w.Assert(w.s.Acquire(bg, 1) == ErrClosed, "not closed out"); w.give(1) })
		w.Go("closer", w.s.Close)
	}},
	{name: "close/three", size: 1, twice: true, large: true, body: func(w *world) {
		w.Same(3, "a", func(int) { w.lock1() })
		w.Go("closer", w.s.Close)
	}},
	{name: "resize up", size: 1, body: func(w *world) {
		w.size, w.peak = 2, 2
		w.Same(2, "a", func(int) { w.lock(1) })
		w.Go("resizer", func() { w.s.Resize(2) })
	}},
	{name: "resize down", size: 2, body: func(w *world) {
		w.size = 1
		w.Same(2, "a", func(int) { w.lock1() })
		w.Go("resizer", func() { w.s.Resize(1) })
	}},
	{name: "resize down and up", size: 1, large: true, bound: none, body: func(w *world) {
		w.Same(2, "a", func(int) { w.lock1() })
		w.Go("resizer", func() { w.s.Resize(0); w.s.Resize(1) })
	}},
	{name: "resize down and up twice", size: 2, large: true, body: func(w *world) {
		w.Same(2, "a", func(int) { w.lock1() })
		w.Same(2, "resizer", func(int) { w.s.Resize(1); w.s.Resize(2) })
	}},
	{name: "resizes meet", size: 2, body: func(w *world) {
		w.Same(2, "resizer", func(int) { w.s.Resize(1); w.s.Resize(2) })
	}},
	{name: "resize too large", size: 2, twice: true, wide: true, body: func(w *world) {
		w.size = 1
		w.Go("two", func() { w.use(2, w.s.Acquire(bg, 2)) })
		w.Go("one", func() { w.lock1() })
		w.Go("resizer", func() { w.s.Resize(1) })
	}},

	// Numbers that wrap around.
	{name: "close/wrap", size: 1, start: wrap, body: func(w *world) {
		w.Same(2, "a", func(int) { w.lock1() })
		w.Go("closer", w.s.Close)
	}},
	{name: "close/wrap/cancel", size: 1, start: wrap, large: true, bound: 2, body: func(w *world) {
		ctx := w.NewContext()
		w.Same(2, "a", func(int) { w.lock1() })
		w.Go("b", func() { w.within(ctx, 1) })
		w.Go("canceller", ctx.Cancel)
		w.Go("closer", w.s.Close)
	}},
	{name: "resize up/wrap", size: 1, start: wrap, body: func(w *world) {
		w.size, w.peak = 2, 2
		w.Same(2, "a", func(int) { w.lock(1) })
		w.Go("resizer", func() { w.s.Resize(2) })
	}},
	{name: "resize down/wrap", size: 2, start: wrap - 1, body: func(w *world) {
		w.size = 1
		w.Same(2, "a", func(int) { w.lock1() })
		w.Go("resizer", func() { w.s.Resize(1) })
	}},
	{name: "resize down and up/wrap", size: 1, start: wrap, large: true, body: func(w *world) {
		w.Same(2, "a", func(int) { w.lock1() })
		w.Go("resizer", func() { w.s.Resize(0); w.s.Resize(1) })
	}},
	{
		name:  "resize down and up/held/wrap",
		size:  1,
		start: wrap,
		body: func(w *world) { // what is held is not granted anew
			w.begin(1)
			w.Go("a", func() { w.lock1() })
			w.Go("resizer", func() { w.s.Resize(0); w.s.Resize(1); w.give(1) })
		},
	},
	{name: "resize too large/wrap", size: 2, start: wrap, wide: true, body: func(w *world) {
		w.size = 1
		w.Go("two", func() { w.use(2, w.s.Acquire(bg, 2)) })
		w.Go("one", func() { w.lock1() })
		w.Go("resizer", func() { w.s.Resize(1) })
	}},
}

// tryNotInVain has a goroutine try while one of the two permits is always free.
func tryNotInVain(w *world) {
	w.Go("a", func() { w.lock(1); w.lock(1) })
	w.Go("try", func() {
		w.Assert(w.s.TryAcquire(1), "a try fails while a permit is free")
		w.use(1, nil)
	})
}

// batch has two acquire a permit each while all n are held, and a release of all n serve them.
func batch(n int64) func(*world) {
	return func(w *world) {
		w.begin(n)
		w.Same(2, "a", func(int) { w.lock(1) })
		w.Go("releaser", func() { w.give(n) })
	}
}

// batchAbandoned has a release of two serve the first of four in line, and, over a run of abandoned
// tickets, the last.
func batchAbandoned(w *world) {
	w.begin(2)
	first, second, third, last := w.s.t.take(1), w.s.t.take(1), w.s.t.take(1), w.s.t.take(1)
	w.s.t.abandon(zero, 1, second)
	w.s.t.abandon(zero, 1, third)
	w.Go("first", func() { w.use(1, w.s.t.await(waiting.UntilDone(bg), zero, 1, first)) })
	w.Go("last", func() { w.use(1, w.s.t.await(waiting.UntilDone(bg), zero, 1, last)) })
	w.Go("releaser", func() { w.give(2) })
}

// lock1 is lock of one permit of a semaphore that may be closed.
func (w *world) lock1() { w.use(1, w.s.Acquire(bg, 1)) }

// Every schedule of threads that acquire, release, give up, resize and close: no goroutine sleeps
// for ever, and no permit is lost.
func TestModelTickets(t *testing.T) {
	for _, s := range scenarios {
		s.run(t)
	}
}

// run explores s, with two buckets as well if it says so.
func (s scenario) run(t *testing.T) {
	t.Run(s.name, s.explore)
	if s.twice {
		s.buckets = 2
		t.Run(s.name+"/two buckets", s.explore)
	}
}

func (s scenario) explore(t *testing.T) {
	if s.start != 0 && interleave.RaceEnabled {
		t.Skip("other numbers, and nothing else, than elsewhere")
	}
	o := interleave.Options{}
	short := testing.Short() || interleave.RaceEnabled
	switch {
	case s.wide && short:
		o = interleave.Options{Mode: interleave.Bounded, Bound: 2}
	case s.large:
		if short {
			t.Skip("tier two")
		}
		switch s.bound {
		case none:
		case 0:
			o = interleave.Options{Mode: interleave.Bounded, Bound: 3}
		default:
			o = interleave.Options{Mode: interleave.Bounded, Bound: s.bound}
		}
	}
	interleave.Check(t, o, func(x *interleave.Run) {
		w := newWorld(x, s.size, s.start, max(s.buckets, 1))
		s.body(w)
		x.Wait()
		w.finish()
	})
}

// A release too many panics, and strands no waiter: it still wakes those that it has granted. If
// others run at the same time, a legal one may panic instead.
func TestModelReleaseTooMuch(t *testing.T) {
	for _, tt := range []struct {
		name    string
		size, n int64 // permits, all held, and how many of them each release returns
		times   int   // how many releases there are
	}{
		{"all", 2, 2, 2},
		{"one of one", 1, 1, 2},
		{"one, twice", 1, 1, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2}, func(x *interleave.Run) {
				s := New(tt.size, WithWaitingArray(NewArray(1)))
				x.Name("s", s)
				x.Assert(s.TryAcquire(tt.size), "not free")
				panicked := new(interleave.Int64)
				x.Go("waits", func() { x.Assert(s.Acquire(bg, 1) == nil, "not granted") })
				x.Same(tt.times, "releases", func(int) {
					defer func() {
						if recover() != nil {
							panicked.Add(1)
						}
					}()
					s.Release(tt.n)
				})
				x.Wait()
				counted := int64(tt.times) - panicked.Load()
				x.Assert(
					s.t.free(zero) == counted*tt.n-1,
					"%d are free, after %d releases of %d that did not panic",
					s.t.free(zero),
					counted,
					tt.n,
				)
			})
		})
	}
}

// A request that is refused at once takes no ticket, which others would have to wait for.
func TestModelRefusedRequestsTakeNoTicket(t *testing.T) {
	for name, acquire := range map[string]func(s *Semaphore) error{
		"acquire": func(s *Semaphore) error { return s.Acquire(bg, 2) },
		"timeout": func(s *Semaphore) error { return s.AcquireTimeout(time.Second, 2) },
		"future": func(s *Semaphore) error {
			var f waiter.Future
			s.Bind(&f, 2)
			f.Poll(nil)
			return f.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				small, closed := New(1), New(2)
				closed.Close()
				x.Always(
					func() { x.Assert(small.t.ticket.Load() == 0 && closed.t.ticket.Load() == 0, "a ticket is taken") },
				)
				x.Go(
					"t",
					func() {
						x.Assert(errors.Is(acquire(small), ErrTooLarge) && acquire(closed) == ErrClosed, "not refused")
					},
				)
				x.Wait()
			})
		})
	}
}

// Of several releases too many each panics, if no goroutine comes at the same time.
func TestModelEachReleaseTooManyPanics(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		w := newWorld(x, 1, 0, 1)
		w.peak = 3 // for a moment
		x.Same(2, "releases", func(int) {
			defer func() { w.Assert(recover() != nil, "unnoticed") }()
			w.s.Release(1)
		})
		x.Wait()
		w.finish()
	})
}

// The limit keeps its marks and its size under concurrent changes.
func TestModelLimitIsWrittenByOneAtATime(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		s := New(1, WithWaitingArray(NewArray(1)))
		x.Go("resizes", func() { s.Resize(2) })
		x.Go("closes", s.Close)
		x.Go("releases", func() {
			defer func() { x.Assert(recover() != nil, "unnoticed") }()
			s.Release(2) // too many even for the new size
		})
		x.Wait()
		x.Assert(s.Size() == 2, "%d permits in all", s.Size())
		x.Assert(s.t.limit.Load() == closing|wary|2, "limit is %x", s.t.limit.Load())
		x.Assert(s.Acquire(context.Background(), 1) == ErrClosed, "not closed")
	})
}

// A request that a Resize has removed from the line because it is too large stays removed. Another
// Resize may make room before the request is told, but the request has lost its place.
func TestModelTooLargeForAMoment(t *testing.T) {
	interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 3}, func(x *interleave.Run) {
		w := newWorld(x, 2, 0, 1)
		w.begin(2)
		f := w.queued(2, nil)
		x.Go("down", func() { w.s.Resize(1) })
		x.Go("up", func() { w.s.Resize(2) })
		x.Go("holder", func() { w.give(2) })
		x.Wait()
		err := f.Take()
		w.Assert(err == nil || errors.Is(err, ErrTooLarge), "the future ends with %v", err)
		w.useOr(2, err, ErrTooLarge)
		w.size = w.s.Size() // the later one's
		w.finish()
	})
}

// A release without waiters is one addition and a look at the two words beside, although
// a goroutine has waited before: it neither looks again nor takes the lock of a bucket. With a
// goroutine waiting it takes the lock of one, and of no other.
func TestModelReleaseLooksNowhereElse(t *testing.T) {
	for name, test := range map[string]struct {
		steps int // of a release
		body  func(x *interleave.Run) (release func())
	}{
		"semaphore": {3, func(x *interleave.Run) func() {
			s := New(2, WithWaitingArray(NewArray(8)))
			s.t.id.get()
			x.Assert(s.TryAcquire(2), "not free")
			return func() { s.Release(1) }
		}},
		"semaphore that is waited for": {8, func(*interleave.Run) func() {
			s := New(2, WithWaitingArray(NewArray(8)))
			s.t.id.get()
			s.t.take(4)
			return func() { s.Release(1) }
		}},
		"mutex": {3, func(*interleave.Run) func() {
			ms := [2]Mutex{}
			for i := range ms {
				ms[i].t.id.get()
				ms[i].Lock()
			}
			i := -1
			return func() { i++; ms[i].Unlock() }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			steps := func(releases int) int {
				return interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
					release := test.body(x)
					x.Go("releases", func() {
						for range releases {
							release()
						}
					})
					x.Wait()
				}).Steps
			}
			require.Equal(t, test.steps, steps(2)-steps(1))
		})
	}
}
