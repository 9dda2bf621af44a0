//go:build interleave

package twa

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/waiter"
)

// future returns a future for n permits that has not been started.
func (w *world) future(n int64) *waiter.Future {
	f := new(waiter.Future)
	w.s.Bind(f, n)
	return f
}

// queued returns a future that waits before the threads run.
func (w *world) queued(n int64, waker waiter.Waker) *waiter.Future {
	f := w.future(n)
	w.Assert(!f.Poll(waker), "it does not have to wait")
	return f
}

// begin has n permits held before the threads run, for one of them to give back.
func (w *world) begin(n int64) {
	w.Assert(w.s.TryAcquire(n), "no permits to begin with")
	w.held.Add(n)
}

// useOr is use of what a future has got, or of nothing if it has ended with one of the errors.
func (w *world) useOr(n int64, err error, errs ...error) {
	expected := slices.ContainsFunc(errs, func(e error) bool { return errors.Is(err, e) })
	w.Assert(err == nil || expected, "future: %v", err)
	w.use(n, err)
}

func (w *world) await(f *waiter.Future) error  { return await(w.Run, f) }
func (w *world) await1(f *waiter.Future) error { return await1(w.Run, f) }
func (w *world) awaitDone(f *waiter.Future) error {
	interleave.Receive(f.Done())
	return end(w.Run, f)
}

// drop polls f once, and cancels it, twice, unless the poll has ended it.
func (w *world) drop(f *waiter.Future, n int64, errs ...error) {
	if f.Poll(semtest.NewTask(w.Run)) {
		w.useOr(n, end(w.Run, f), errs...)
		return
	}
	f.Release()
	f.Release()
}

// await polls f, each time with a waker of its own, and twice before it sleeps.
func await(x *interleave.Run, f *waiter.Future) error {
	for !f.Poll(semtest.NewTask(x)) {
		t := semtest.NewTask(x)
		if f.Poll(t) {
			break
		}
		t.Sleep()
	}
	return end(x, f)
}

// await1 is await with one poll before each sleep.
func await1(x *interleave.Run, f *waiter.Future) error {
	for t := semtest.NewTask(x); !f.Poll(t); {
		t.Sleep()
	}
	return end(x, f)
}

// lose polls f once, and cancels it whatever the poll has said: something else was quicker.
func lose(x *interleave.Run, f *waiter.Future) {
	f.Poll(semtest.NewTask(x))
	f.Release()
}

func end(x *interleave.Run, f *waiter.Future) error {
	err := f.Take()
	x.Assert(!errors.Is(err, waiter.ErrPending), "complete, and no outcome")
	return err
}

// each has each thread do one thing.
func each(fs ...func(w *world)) func(*world) {
	return func(w *world) {
		for i, f := range fs {
			w.Go("t"+string(rune('1'+i)), func() { f(w) })
		}
	}
}

// lost runs a body while one permit of one is held, and futures for one permit each wait in a line.
// A thread gives the permit back, others cancel the futures of these numbers, and one more waits
// for the rest.
func lost(futures int, gone ...int) func(*world) {
	return func(w *world) {
		w.begin(1)
		fs := make([]*waiter.Future, futures)
		for i := range fs {
			fs[i] = w.queued(1, nil)
		}
		w.Go("holder", func() { w.give(1) })
		for _, i := range gone {
			w.Go("dropper"+string(rune('1'+i)), func() { fs[i].Release() })
		}
		if len(gone) < futures {
			w.Go("owner", func() {
				for i, f := range fs {
					if !slices.Contains(gone, i) {
						w.useOr(1, w.await1(f))
					}
				}
			})
		}
	}
}

// calledBack has two futures in line behind one permit that is held; what the waker of the first
// does is to cancel the second. A thread then does something that wakes the first, while another
// gives the permit back.
func calledBack(errs []error, act func(w *world, head *waiter.Future)) func(*world) {
	return func(w *world) {
		w.begin(1)
		head := w.queued(2, nil)
		last := w.future(1)
		f := w.queued(1, waiter.WakerFunc(last.Release))
		w.Assert(!last.Poll(nil), "it does not have to wait")
		w.Go("t", func() {
			act(w, head)
			head.Release()
			w.useOr(1, w.awaitDone(f), errs...) // the end of f releases last
		})
		w.Go("holder", func() { w.give(1) })
	}
}

const wrap = math.MaxInt64/2 - 1

var futureScenarios = []scenario{
	{name: "poll", size: 1, body: each(
		func(w *world) { w.lock(1) },
		func(w *world) { w.useOr(1, w.await(w.future(1))) })},
	{name: "poll without a waker", size: 1, body: each(
		func(w *world) { w.lock(1) },
		func(w *world) {
			f := w.future(1)
			for !f.Poll(nil) {
				interleave.Yield()
			}
			w.useOr(1, end(w.Run, f))
		})},
	{name: "both poll", size: 1, body: func(w *world) {
		w.Same(2, "t", func(int) { w.useOr(1, w.await1(w.future(1))) })
	}},
	{name: "poll/3", size: 1, large: true, bound: none, body: each(
		func(w *world) { w.lock(1) }, func(w *world) { w.lock(1) },
		func(w *world) { w.useOr(1, w.await1(w.future(1))) })},
	{name: "all poll", size: 1, large: true, body: func(w *world) {
		w.Same(3, "t", func(int) { w.useOr(1, w.await(w.future(1))) })
	}},
	{name: "done", size: 1, body: each(
		func(w *world) { w.lock(1) },
		func(w *world) { w.useOr(1, w.awaitDone(w.future(1))) })},
	{name: "done after poll", size: 1, body: each(
		func(w *world) { w.lock(1) },
		func(w *world) {
			f, t := w.future(1), semtest.NewTask(w.Run)
			if !f.Poll(t) {
				f.Done()
				t.Sleep() // Done does not lose the waker
				for !f.Poll(t) {
					t.Sleep()
				}
			}
			w.useOr(1, end(w.Run, f))
		})},
	{name: "done after poll without a waker", size: 1, body: each(
		func(w *world) { w.lock(1) },
		func(w *world) {
			f := w.future(1)
			f.Poll(nil)
			w.useOr(1, w.awaitDone(f))
		})},
	{name: "sizes", size: 2, body: each(
		func(w *world) { w.lock(2) }, func(w *world) { w.lock(1) },
		func(w *world) { w.useOr(2, w.await1(w.future(2))) })},
	{name: "try", size: 1, large: true, bound: none, body: each(
		func(w *world) { w.lock(1) }, func(w *world) { w.try(1) },
		func(w *world) { w.drop(w.future(1), 1) })},

	// One future, again and again.
	{name: "rounds", size: 1, large: true, bound: none, body: each(
		func(w *world) { w.lock(1); w.lock(1) },
		func(w *world) {
			f := w.future(1)
			w.useOr(1, w.awaitDone(f))
			w.s.Bind(f, 1)
			w.useOr(1, w.await1(f))
			w.s.Bind(f, 1)
			w.useOr(1, w.awaitDone(f))
		})},
	{name: "rounds after errors", size: 1, body: func(w *world) {
		w.size, w.peak = 2, 2
		w.Go("resizer", func() { w.s.Resize(2) })
		w.Go("t", func() {
			f := w.future(2)
			w.useOr(2, w.await1(f), ErrTooLarge)
			w.s.Bind(f, 2)
			w.useOr(2, w.awaitDone(f), ErrTooLarge)
			w.s.Bind(f, 1)
			w.useOr(1, w.await1(f))
		})
	}},

	// A request for nothing has no tickets to give back, whatever the one before it had. (It gave
	// back a run of none, which stayed: schedule b20.)
	{name: "nothing", size: 1, body: func(w *world) {
		w.begin(1)
		f := w.queued(1, nil)
		w.Go("locker", func() { w.lock(1) })
		w.Go("owner", func() {
			f.Release()
			w.s.Bind(f, 0)
			lose(w.Run, f)
			w.give(1)
		})
	}},

	// Cancelled at every point.
	{name: "drop", size: 1, body: each(
		func(w *world) { w.lock(1); w.lock(1) },
		func(w *world) { w.drop(w.future(1), 1) })},
	{name: "drop/wrap", size: 1, large: true, start: wrap, body: each(
		func(w *world) { w.lock(1) }, func(w *world) { w.lock(1) },
		func(w *world) { w.drop(w.future(1), 1) })},
	{name: "drop and again", size: 1, body: each(
		func(w *world) { w.lock(1) },
		func(w *world) {
			f := w.future(1)
			w.drop(f, 1)
			w.s.Bind(f, 1)
			w.useOr(1, w.await1(f))
		})},
	{name: "drop/3", size: 1, large: true, bound: none, body: each(
		func(w *world) { w.lock(1) }, func(w *world) { w.lock(1) },
		func(w *world) { w.drop(w.future(1), 1) })},
	{name: "drop/all", size: 1, large: true, body: func(w *world) {
		w.Same(3, "t", func(int) { w.drop(w.future(1), 1) })
	}},
	{name: "drop/sizes", size: 2, large: true, bound: none, twice: true, body: each(
		func(w *world) { w.lock(1) }, func(w *world) { w.lock(1) },
		func(w *world) { w.drop(w.future(2), 2) })},
	{name: "drop beside timeout", size: 1, large: true, body: each(
		func(w *world) { w.lock(1) }, func(w *world) { w.timeout(1) },
		func(w *world) { w.drop(w.future(1), 1) })},
	{name: "lose", size: 1, body: each(
		func(w *world) { w.lock(1) },
		func(w *world) { f := w.future(1); lose(w.Run, f); w.s.Bind(f, 1); lose(w.Run, f) })},
	{name: "lose/3", size: 1, large: true, bound: none, body: each(
		func(w *world) { w.lock(1) }, func(w *world) { w.lock(1) },
		func(w *world) { lose(w.Run, w.future(1)) })},
	{name: "lose/two permits", size: 2, body: each( // what is given back is not the newest any more
		func(w *world) { w.lock(1) }, func(w *world) { w.lock(1) },
		func(w *world) { lose(w.Run, w.future(1)) })},
	{name: "lose and again", size: 1, body: each(
		func(w *world) { w.lock(1) },
		func(w *world) {
			f := w.future(1)
			lose(w.Run, f)
			w.s.Bind(f, 1)
			w.useOr(1, w.await1(f)) // begins anew, though a claimer may have to end with it first
		})},
	{name: "done after cancel", size: 1, body: each(
		func(w *world) { w.lock(1) },
		func(w *world) {
			f := w.future(1)
			f.Done()
			f.Release()
			w.s.Bind(f, 1)
			w.useOr(1, w.awaitDone(f))
		})},
	{name: "cancel twice", size: 1, body: func(w *world) {
		w.begin(1)
		f := w.queued(1, nil)
		w.Go("holder", func() { w.give(1) })
		w.Go("dropper", func() { f.Release(); f.Release(); f.Release() })
		w.Go("locker", func() { w.lock(1) })
	}},

	// Wherever in the line it stands.
	{name: "line/only", size: 1, body: lost(1, 0)},
	{name: "line/before one", size: 1, body: lost(2, 0)},
	{name: "line/behind one", size: 1, body: lost(2, 1)},
	{name: "line/between two", size: 1, large: true, bound: none, body: lost(3, 1)},
	{name: "line/between two/wrap", size: 1, large: true, bound: none, start: wrap - 1, body: lost(3, 1)},
	{name: "line/both", size: 1, body: lost(2, 0, 1)},
	{name: "line/both/wrap", size: 1, start: wrap, body: lost(2, 0, 1)},
	{name: "line/neighbours in front", size: 1, large: true, bound: none, body: lost(3, 0, 1)},
	{name: "line/neighbours behind", size: 1, large: true, bound: none, body: lost(3, 1, 2)},
	{name: "line/first and last", size: 1, large: true, bound: none, body: lost(3, 0, 2)},
	{name: "line/all of three", size: 1, large: true, bound: 2, body: lost(3, 0, 1, 2)},
	{name: "line/one of a batch", size: 2, twice: true, body: func(w *world) { // which one release grants
		w.begin(2)
		f, g := w.queued(1, nil), w.queued(1, nil)
		w.Go("holder", func() { w.give(2) })
		w.Go("dropper", func() { f.Release() })
		w.Go("owner", func() { w.useOr(1, w.await1(g)) })
	}},
	{name: "line/before a thread", size: 1, body: func(w *world) {
		w.begin(1)
		f := w.queued(1, nil)
		w.Go("holder", func() { w.give(1) })
		w.Go("dropper", func() { f.Release() })
		w.Go("locker", func() { w.lock(1) })
	}},
	{name: "line/large in front of small", size: 2, body: func(w *world) {
		w.begin(1)
		large, small := w.queued(2, nil), w.queued(1, nil)
		w.Go("holder", func() { w.give(1) })
		w.Go("dropper", func() { large.Release() })
		w.Go("owner", func() { w.useOr(1, w.await1(small)) })
	}},

	// Two of one owner, who waits for either, and drops the other.
	{name: "two/first is dropped", size: 1, body: two(0)},
	{name: "two/second is dropped", size: 1, body: two(1)},
	{name: "two/whichever comes first", size: 1, body: each(
		func(w *world) { w.lock(1) },
		func(w *world) {
			f, g, t := w.future(1), w.future(1), semtest.NewTask(w.Run)
			for !f.Poll(t) && !g.Poll(t) {
				t.Sleep()
			}
			if f.Poll(t) {
				g.Release()
				w.useOr(1, end(w.Run, f))
			} else {
				f.Release()
				w.useOr(1, end(w.Run, g))
			}
		})},

	{name: "resize up", size: 1, body: func(w *world) {
		w.size, w.peak = 2, 2
		w.Go("locker", func() { w.lock(1) })
		w.Go("owner", func() { w.useOr(1, w.await1(w.future(1))) })
		w.Go("resizer", func() { w.s.Resize(2) })
	}},
	{name: "resize up/drop", size: 1, large: true, bound: none, body: resizeUpDrop},
	{name: "resize up/drop/wrap", size: 1, large: true, start: wrap, body: resizeUpDrop},
	{name: "resize too large", size: 2, wide: true, body: func(w *world) {
		w.size = 1
		w.Go("locker", func() { w.lock1() })
		w.Go("owner", func() { w.useOr(2, w.await1(w.future(2)), ErrTooLarge) })
		w.Go("resizer", func() { w.s.Resize(1) })
	}},
	{name: "resize too large/drop", size: 2, large: true, bound: none, body: func(w *world) {
		w.size = 1
		w.begin(1)
		f, g := w.queued(2, nil), w.queued(1, nil)
		w.Go("dropper", func() { f.Release() })
		w.Go("owner", func() { w.give(1); w.useOr(1, w.await1(g)) })
		w.Go("resizer", func() { w.s.Resize(1) })
	}},
	{name: "resize down and up/drop", size: 2, large: true, bound: none, body: func(w *world) {
		w.begin(2)
		f := w.queued(2, nil)
		w.Go("dropper", func() { f.Release() })
		w.Go("holder", func() { w.give(1); w.give(1) })
		w.Go("resizer", func() { w.s.Resize(1); w.s.Resize(2) })
	}},
	{name: "resize to nothing and back", size: 1, large: true, body: func(w *world) {
		w.Go("locker", func() { w.lock1() })
		w.Go("owner", func() { w.useOr(1, w.awaitDone(w.future(1)), ErrTooLarge) })
		w.Go("resizer", func() { w.s.Resize(0); w.s.Resize(1) })
	}},

	{name: "close", size: 1, body: each(
		func(w *world) { w.lock1() },
		func(w *world) { w.useOr(1, w.await1(w.future(1)), ErrClosed) },
		func(w *world) { w.s.Close() })},
	{name: "close/done", size: 1, body: each(
		func(w *world) { w.lock1() },
		func(w *world) { w.useOr(1, w.awaitDone(w.future(1)), ErrClosed) },
		func(w *world) { w.s.Close() })},
	{name: "close/drop", size: 1, body: each(
		func(w *world) { w.lock1() },
		func(w *world) { w.drop(w.future(1), 1, ErrClosed) },
		func(w *world) { w.s.Close() })},
	{name: "close/drop/wrap", size: 1, start: wrap, body: each(
		func(w *world) { w.lock1() },
		func(w *world) { w.drop(w.future(1), 1, ErrClosed) },
		func(w *world) { w.s.Close() })},
	{name: "close/lose", size: 1, body: each(
		func(w *world) { w.lock1() },
		func(w *world) { lose(w.Run, w.future(1)) },
		func(w *world) { w.s.Close() })},
	{name: "close/line", size: 1, large: true, twice: true, body: func(w *world) {
		w.begin(1)
		f, g := w.queued(1, nil), w.queued(1, nil)
		w.Go("dropper", func() { f.Release() })
		w.Go("owner", func() { w.give(1); w.useOr(1, w.await1(g), ErrClosed) })
		w.Go("closer", w.s.Close)
	}},
	{name: "close/resize/drop", size: 2, large: true, bound: 2, body: func(w *world) {
		w.size = 1
		w.begin(1)
		f := w.queued(2, nil)
		w.Go("dropper", func() { f.Release() })
		w.Go("holder", func() { w.give(1) })
		w.Go("closer", w.s.Close)
		w.Go("resizer", func() { w.s.Resize(1) })
	}},

	// Wakes come after unlock: a waker may call back.
	{
		name:  "called back/cancel",
		size:  2,
		large: true,
		bound: none,
		body: calledBack(nil, func(_ *world, head *waiter.Future) {
			head.Release()
		}),
	},
	{name: "called back/resize", size: 2, large: true, body: calledBack(nil, func(w *world, _ *waiter.Future) {
		w.s.Resize(1)
		w.s.Resize(2)
	})},
	{name: "called back/close", size: 2, body: calledBack([]error{ErrClosed}, func(w *world, _ *waiter.Future) {
		w.s.Close()
	})},
}

// resizeUpDrop has two futures in line while a Resize makes room for one and a release for the
// other, and the first is cancelled.
func resizeUpDrop(w *world) {
	w.size, w.peak = 2, 2
	w.begin(1)
	f, g := w.queued(1, nil), w.queued(1, nil)
	w.Go("dropper", func() { f.Release() })
	w.Go("owner", func() { w.give(1); w.useOr(1, w.await1(g)) })
	w.Go("resizer", func() { w.s.Resize(2) })
}

// two has one thread wait in a line with two futures, and drop one of them.
func two(gone int) func(*world) {
	return each(
		func(w *world) { w.lock(1) },
		func(w *world) {
			fs := [2]*waiter.Future{w.future(1), w.future(1)}
			t := semtest.NewTask(w.Run)
			for _, f := range fs {
				f.Poll(t)
			}
			fs[gone].Release()
			w.useOr(1, w.await1(fs[1-gone]))
		})
}

// Every schedule of futures that are waited for, dropped and used again, against all else: no
// permit is lost or made, no goroutine is left behind.
func TestModelFutures(t *testing.T) {
	for _, s := range futureScenarios {
		s.run(t)
	}
}

// The same of a mutex, as far as it is about places in the line; the rest is TestModelMutex.
func TestModelFuturesOfMutex(t *testing.T) {
	for name, body := range map[string]func(x *interleave.Run, m *Mutex, inside func(err error)){
		"dropped before another": func(x *interleave.Run, m *Mutex, inside func(error)) {
			f, g := queuedBehind(x, m)
			x.Go("holder", func() { inside(nil) })
			x.Go("dropper", func() { f.Release(); f.Release() })
			x.Go("task", func() { inside(await1(x, g)) })
		},
		"dropped behind another": func(x *interleave.Run, m *Mutex, inside func(error)) {
			f, g := queuedBehind(x, m)
			x.Go("holder", func() { inside(nil) })
			x.Go("dropper", func() { g.Release() })
			x.Go("task", func() { inside(await1(x, f)) })
		},
		"both dropped": func(x *interleave.Run, m *Mutex, inside func(error)) {
			f, g := queuedBehind(x, m)
			x.Go("holder", func() { inside(nil) })
			x.Go("dropper", func() { f.Release() })
			x.Go("another", func() { g.Release(); m.Lock(); inside(nil) })
		},
		"waker cancels": func(x *interleave.Run, m *Mutex, inside func(error)) {
			f, g := queuedBehind(x, m)
			x.Assert(!f.Poll(waiter.WakerFunc(g.Release)), "it does not have to wait")
			x.Go("holder", func() { inside(nil) })
			x.Go("selector", func() { interleave.Receive(f.Done()); inside(end(x, f)) })
			x.Go("locker", func() { m.Lock(); inside(nil) })
		},
		"try": func(x *interleave.Run, m *Mutex, inside func(error)) {
			x.Go("trier", func() {
				if m.TryLock() {
					inside(nil)
				}
			})
			x.Go("task", func() { inside(await1(x, lockFuture(m))) })
			x.Go("loser", func() { lose(x, lockFuture(m)) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := interleave.Options{}
			if testing.Short() || interleave.RaceEnabled { // all schedules are for tier two
				o = interleave.Options{Mode: interleave.Bounded, Bound: 2}
			}
			interleave.Check(t, o, func(x *interleave.Run) {
				m := new(Mutex)
				m.t.array = NewArray(1)
				x.Name("m", m)
				var holders interleave.Int32
				body(x, m, func(err error) {
					x.Assert(err == nil, "future: %v", err)
					x.Assert(holders.Add(1) == 1, "two inside")
					holders.Add(-1)
					m.Unlock()
				})
				x.Wait()
				x.Assert(m.Waiting() == 0 && m.t.runs.Load() == 0, "a goroutine sleeps, or a ticket is abandoned")
				x.Assert(m.TryLock(), "the lock was lost")
				x.Assert(!m.TryLock(), "two locks were made of one")
			})
		})
	}
}

func lockFuture(m *Mutex) *waiter.Future {
	f := new(waiter.Future)
	m.Bind(f)
	return f
}

// queuedBehind locks m and returns two futures that wait for it.
func queuedBehind(x *interleave.Run, m *Mutex) (f, g *waiter.Future) {
	m.Lock()
	f, g = lockFuture(m), lockFuture(m)
	x.Assert(!f.Poll(nil) && !g.Poll(nil), "it does not have to wait")
	return f, g
}
