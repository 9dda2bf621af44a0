//go:build interleave

package engine

import (
	"context"
	"flag"
	"strings"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/order"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// The scenarios of the engine. Each runs the source that is shipped. Those of tier one are
// exhausted without a bound on preemptions. Tier two, which -short leaves out, is what takes
// minutes, or is exhausted up to three preemptions. Tier three is sampled.

type scenario struct {
	name       string
	base, size int64
	maxWaiting int
	bias       bool
	order      *order.Config // of an ordered engine
	divided    bool          // of which requests have several tenants; see world
	anyOrder   bool
	body       func(w *world)
}

var (
	unbounded = interleave.Options{}
	inHalves  = interleave.Options{Shards: 2}
	within3   = interleave.Options{Mode: interleave.Bounded, Bound: 3}
)

var tierOne = []scenario{
	// Two threads, several rounds.
	{name: "lock/2x1", size: 1, body: same(2, func(w *world) { w.use(1) })},
	{name: "lock/2x2", size: 1, body: same(2, func(w *world) { w.use(1); w.use(1) })},
	{name: "lock/base", base: 1, size: 1, body: same(2, func(w *world) { w.use(1); w.use(1) })},
	{name: "waiting", size: 1, body: each(
		func(w *world) { w.use(1) }, func(w *world) { w.use(1) },
		func(w *world) { n := w.e.Waiting(); w.Assert(0 <= n && n <= 1, "%d waiting", n) })},
	{name: "lock/3x1", size: 1, body: same(3, func(w *world) { w.use(1) })},
	{name: "try/2x2", size: 1, body: each(
		func(w *world) { w.use(1); w.use(1) },
		func(w *world) { w.tryUse(1); w.tryUse(1) })},
	{name: "try/3", size: 1, body: each(
		func(w *world) { w.use(1) }, func(w *world) { w.use(1) }, func(w *world) { w.tryUse(1) })},

	// Permits of several kinds.
	{name: "split/both", size: 2, body: each(
		func(w *world) { w.must(2); w.release(1); w.release(1) },
		func(w *world) { w.must(2); w.release(1); w.release(1) })},
	{name: "multi", size: 2, body: each(
		func(w *world) { w.use(2) }, func(w *world) { w.use(1) }, func(w *world) { w.use(1) })},
	{name: "sizes", size: 3, body: each(
		func(w *world) { w.use(3) }, func(w *world) { w.use(2) }, func(w *world) { w.use(1) })},
	{name: "sizes/2x2", size: 3, body: each(
		func(w *world) { w.use(3); w.use(1) }, func(w *world) { w.use(2); w.use(2) })},
	{name: "readers and writer", size: 2, body: func(w *world) {
		w.Same(2, "reader", func(int) { w.use(1) })
		w.Go("writer", func() { w.use(2) })
	}},

	// Cancel at every point: by a timeout, by a context that is waited for with a select, and by a
	// watched context.
	{name: "timeout/2", size: 1, body: same(2, func(w *world) { w.useFor(1) })},
	{name: "timeout/2x2", size: 1, body: each(
		func(w *world) { w.use(1); w.use(1) },
		func(w *world) { w.useFor(1); w.useFor(1) })},
	{name: "timeout/3", size: 1, body: each(
		func(w *world) { w.use(1) }, func(w *world) { w.use(1) }, func(w *world) { w.useFor(1) })},
	{name: "timeout/head lets pass", size: 2, body: each(
		func(w *world) { w.must(1); w.release(1) }, func(w *world) { w.useFor(2) })},
	{name: "timeout/multi", size: 2, body: each(
		func(w *world) { w.use(2) }, func(w *world) { w.useFor(1) }, func(w *world) { w.useFor(2) })},
	{name: "cancel/select", size: 1, body: cancelled(false, func(w *world, ctx context.Context) {
		w.Go("a", func() { w.use(1) })
		w.Go("b", func() { w.useOr(ctx, 1, context.Canceled); w.use(1) })
	})},
	{name: "cancel/watch", size: 1, body: cancelled(true, func(w *world, ctx context.Context) {
		w.Go("a", func() { w.use(1) })
		w.Go("b", func() { w.useOr(ctx, 1, context.Canceled); w.useOr(ctx, 1, context.Canceled) })
	})},
	{name: "cancel/watch of two", size: 1, body: cancelled(true, func(w *world, ctx context.Context) {
		w.Same(2, "t", func(int) { w.useOr(ctx, 1, context.Canceled) })
	})},

	// Futures.
	{name: "future/poll", size: 1, body: each(
		func(w *world) { w.use(1) },
		func(w *world) { w.finishFuture(w.await(w.future(1), 1), 1) })},
	{name: "future/poll without a waker", size: 1, body: each(
		func(w *world) { w.use(1) },
		func(w *world) {
			f := w.future(1)
			for !f.Poll(nil) {
				interleave.Yield()
			}
			w.finishFuture(w.end(f, 1), 1)
		})},
	{name: "future/both poll", size: 1, body: same(2, func(w *world) { w.finishFuture(w.await1(w.future(1), 1), 1) })},
	{name: "future/3", size: 1, body: each(
		func(w *world) { w.use(1) }, func(w *world) { w.use(1) },
		func(w *world) { w.finishFuture(w.await1(w.future(1), 1), 1) })},
	{name: "future/done", size: 1, body: each(
		func(w *world) { w.use(1) },
		func(w *world) {
			f := w.future(1)
			w.finishFuture(w.awaitDone(f, 1), 1)
			waiting.Bind(f, w.permits(), 1)
			w.finishFuture(w.awaitDone(f, 1), 1)
		})},
	{name: "future/done after poll", size: 1, body: each(
		func(w *world) { w.use(1) },
		func(w *world) {
			f, t := w.future(1), w.task()
			if !f.Poll(t) {
				f.Done()
				t.Sleep() // Done does not lose the waker
				for !f.Poll(t) {
					t.Sleep()
				}
			}
			w.finishFuture(w.end(f, 1), 1)
		})},
	{name: "future/done after poll without a waker", size: 1, body: each(
		func(w *world) { w.use(1) },
		func(w *world) {
			f := w.future(1)
			f.Poll(nil)
			w.finishFuture(w.awaitDone(f, 1), 1)
		})},
	{name: "future/cancel", size: 1, body: each(
		func(w *world) { w.use(1); w.use(1) },
		func(w *world) { w.drop(w.future(1), 1) })},
	{name: "future/cancel and again", size: 1, body: each(
		func(w *world) { w.use(1) },
		func(w *world) {
			f := w.future(1)
			w.drop(f, 1)
			waiting.Bind(f, w.permits(), 1)
			w.finishFuture(w.await1(f, 1), 1)
		})},
	{name: "future/lose once", size: 1, body: each(
		func(w *world) { w.use(1) },
		func(w *world) { w.lose(w.future(1)) })},
	{name: "future/done after cancel", size: 1, body: each(
		func(w *world) { w.use(1) },
		func(w *world) {
			f := w.future(1)
			f.Done()
			f.Release()
			waiting.Bind(f, w.permits(), 1) // a claimer may not be done with it
			w.finishFuture(w.awaitDone(f, 1), 1)
		})},
	{name: "future/lose", size: 1, body: each(
		func(w *world) { w.use(1) },
		func(w *world) { f := w.future(1); w.lose(f); waiting.Bind(f, w.permits(), 1); w.lose(f) })},
	{name: "future/lose and again", size: 1, body: each(
		func(w *world) { w.use(1) },
		func(w *world) {
			f := w.future(1)
			w.lose(f)
			waiting.Bind(f, w.permits(), 1)
			w.finishFuture(w.await1(f, 1), 1)
		})},
	{name: "future/release", size: 1, body: each(
		func(w *world) { w.use(1) },
		func(w *world) { w.releaseFuture(w.future(1)) })},
	{name: "future/release and again", size: 1, body: each(
		func(w *world) { w.use(1) },
		func(w *world) {
			f := w.future(1)
			w.releaseFuture(f)
			waiting.Bind(f, w.permits(), 1)
			w.awaitHeld(f)
			w.releaseHeld(f)
		})},
	{name: "future/done twice", size: 1, body: each(
		func(w *world) { w.use(1) },
		func(w *world) {
			f := w.future(1)
			interleave.Receive(f.Done())
			w.finishFuture(w.awaitDone(f, 1), 1)
		})},
	{name: "future/done again", size: 1, body: doneAgain},
	{name: "future/done of a round that has ended", size: 1, body: func(w *world) {
		w.begin(1)
		f := new(waiting.Future)
		waiting.Bind(f, w.permits(), 1)
		done := f.Done()
		w.Go("holder", func() { w.release(1) })
		w.Go("owner", func() {
			complete := f.Complete()
			f.Release()
			if complete {
				interleave.Receive(done)
			}
			waiting.Bind(f, w.permits(), 1)
			w.finishFuture(w.awaitDone(f, 1), 1)
		})
	}},
	{name: "future/complete", size: 1, body: observedFuture},
	{name: "future/multi", size: 2, body: each(
		func(w *world) { w.use(2) }, func(w *world) { w.use(1) },
		func(w *world) { w.finishFuture(w.await1(w.future(2), 2), 2) })},

	// Resize: growth serves, shrinking makes a debt that is paid first.
	{name: "resize/up", size: 1, body: each(
		func(w *world) { w.resize(2) }, maybe(2), func(w *world) { w.use(1) })},
	{name: "resize/up from nothing", size: 0, body: each(
		func(w *world) { w.resize(1) }, func(w *world) { w.useOr(bg, 1, waiter.ErrTooLarge) })},
	{name: "resize/down", size: 2, body: each(
		func(w *world) { w.resize(1) }, func(w *world) { w.use(1) }, func(w *world) { w.use(1) })},
	{name: "resize/down too large", size: 2, body: each(
		func(w *world) { w.resize(1) },
		func(w *world) { w.useOr(bg, 2, waiter.ErrTooLarge) },
		func(w *world) { w.use(1) },
	)},
	{name: "resize/down and up", size: 2, body: each(
		func(w *world) { w.resize(1); w.resize(2) }, maybe(2), maybe(2))},
	{name: "resize/debt keeps the order", size: 2, body: func(w *world) {
		w.begin(2)
		w.Go("holder", func() { w.release(2) })
		w.Same(2, "t", func(int) { w.use(1) })
		w.Go("resizer", func() { w.resize(1) })
	}},
	{name: "resize/to nothing and back", size: 1, body: each(
		func(w *world) { w.resize(0); w.resize(1) },
		func(w *world) { w.useOr(bg, 1, waiter.ErrTooLarge) }, func(w *world) { w.useOr(bg, 1, waiter.ErrTooLarge) })},
	{name: "resize/by two", size: 1, body: func(w *world) {
		w.Go("a", func() { w.note(2); w.e.From(w.base).Resize(2) })
		w.Go("b", func() { w.note(3); w.e.From(w.base).Resize(3) })
		w.Go("c", func() { w.use(1) })
		w.after = func() {
			w.size = w.e.From(w.base).Size()
			w.Assert(w.size == 2 || w.size == 3, "the size is %d", w.size)
		}
	}},

	// Close.
	{name: "close", size: 1, body: each(
		func(w *world) { w.e.Close() },
		func(w *world) { w.useOr(bg, 1, waiter.ErrClosed) }, func(w *world) { w.useOr(bg, 1, waiter.ErrClosed) })},
	{name: "close/against timeout", size: 1, body: each(
		func(w *world) { w.e.Close() },
		func(w *world) { w.useOr(bg, 1, waiter.ErrClosed) }, func(w *world) { w.useFor(1, waiter.ErrClosed) })},
	{name: "close/against future's cancel", size: 1, body: each(
		func(w *world) { w.e.Close() },
		func(w *world) { w.useOr(bg, 1, waiter.ErrClosed) },
		func(w *world) { w.drop(w.future(1), 1) })},
	{name: "close/against resize", size: 1, body: each(
		func(w *world) { w.e.Close() }, func(w *world) { w.resize(2) },
		func(w *world) { w.useOr(bg, 2, waiter.ErrClosed, waiter.ErrTooLarge) })},

	// Over-release changes nothing, with or without waiters.
	{name: "over-release", size: 1, body: each(
		func(w *world) { w.use(1) },
		func(w *world) { w.Assert(!w.e.From(w.base).Release(2), "an over-release was accepted") },
		func(w *world) { w.use(1) })},

	// An over-release that races with a resize changes nothing either, as long as no other
	// operation restores the word.
	{name: "over-release/against shrinking", size: 3, body: overRelease(2)},
	{name: "over-release/against growth", size: 2, body: overRelease(3)},

	// Wakes come after unlock: a waker may call back.
	{name: "called back/release", size: 2, body: calledBack(2, func(w *world, _ []*waiting.Future) {
		w.release(2)
	}, 2)},
	{name: "called back/resize", size: 2, body: calledBack(2, func(w *world, _ []*waiting.Future) {
		w.resize(4)
		w.release(2)
	}, 2)},
	{name: "called back/cancel", size: 2, body: calledBack(1, func(w *world, f []*waiting.Future) {
		f[0].Release()
		w.release(1)
	}, 2, 1)},
	{name: "called back/close", size: 2, body: calledBack(2, func(w *world, _ []*waiting.Future) {
		w.e.Close()
		w.release(2)
	}, 2)},

	// The read-write lock; its façade has more.
	{name: "front", base: Everyone, size: Everyone, body: each(
		func(w *world) { w.must(Upgradable); w.more(Everyone - Upgradable); w.release(Everyone) },
		func(w *world) { w.use(Everyone) }, func(w *world) { w.read() })},
	{name: "front/in parts", base: Everyone, size: Everyone, body: each(
		func(w *world) {
			w.must(Upgradable)
			w.more(Everyone - Upgradable)
			w.release(Everyone - Upgradable)
			w.release(Upgradable - Reader)
			w.release(Reader)
		},
		func(w *world) { w.use(Everyone) })},
	{name: "bias/2", base: Everyone, size: Everyone, bias: true, body: each(
		func(w *world) { w.read(); w.read() }, func(w *world) { w.use(Everyone) })},
	{name: "bias/back before a release", base: Everyone, size: Everyone, bias: true, body: func(w *world) {
		for range 2 { // There is no room for the reader.
			w.Assert(w.rw.Hide(0), "no room")
		}
		w.held.Add(2 * Reader)
		w.Go("releaser", func() {
			w.held.Add(-Reader)
			w.Assert(w.rw.releaseSlow(Reader), "a release of what is held was refused")
			w.release(Reader)
		})
		w.Go("reader", func() { w.read() })
	}},

	// A limit on the queue.
	{
		name:       "max waiting",
		size:       1,
		maxWaiting: 1,
		body:       same(3, func(w *world) { w.useOr(bg, 1, waiter.ErrQueueFull) }),
	},
}

var tierTwo = []struct {
	scenario
	o interleave.Options
}{
	{scenario{name: "lock/2x3", size: 1, body: same(2, func(w *world) { w.use(1); w.use(1); w.use(1) })}, inHalves},
	{scenario{name: "split", size: 2, body: func(w *world) {
		w.Go("splitter", func() { w.must(2); w.release(1); w.release(1) })
		w.Same(2, "user", func(int) { w.use(1) })
	}}, inHalves},
	{scenario{name: "try/3x2", size: 1, body: func(w *world) {
		w.Same(2, "user", func(int) { w.use(1) })
		w.Go("trier", func() { w.tryUse(1); w.tryUse(1) })
	}}, unbounded},
	{scenario{name: "lock/3x2", size: 1, body: same(3, func(w *world) { w.use(1); w.use(1) })}, within3},
	{
		scenario{name: "lock/4x1", size: 1, body: same(4, func(w *world) { w.use(1) })},
		within3,
	}, // 4.5 million without a bound: two minutes
	{scenario{name: "two permits/4x1", size: 2, body: same(4, func(w *world) { w.use(1) })}, within3},
	{scenario{name: "readers and writer/4", size: 3, body: func(w *world) {
		w.Same(3, "reader", func(int) { w.use(1) })
		w.Go("writer", func() { w.use(3) })
	}}, within3},
	{scenario{name: "timeout/3x2", size: 1, body: each(
		func(w *world) { w.use(1); w.use(1) }, func(w *world) { w.useFor(1); w.use(1) },
		func(w *world) { w.useFor(1); w.use(1) })}, within3},
	{scenario{name: "timeout/all", size: 1, body: same(3, func(w *world) { w.useFor(1) })}, inHalves},
	{scenario{name: "cancel/watch shared", size: 1, body: cancelled(true, func(w *world, ctx context.Context) {
		w.Same(2, "t", func(int) { w.useOr(ctx, 1, context.Canceled); w.useOr(ctx, 1, context.Canceled) })
	})}, within3},
	{scenario{name: "cancel/select shared", size: 1, body: cancelled(false, func(w *world, ctx context.Context) {
		w.Same(3, "t", func(int) { w.useOr(ctx, 1, context.Canceled) })
	})}, inHalves},
	{scenario{name: "future/cancel among three", size: 1, body: func(w *world) {
		w.Same(2, "user", func(int) { w.use(1) })
		w.Go("future", func() { w.drop(w.future(1), 1) })
	}}, inHalves},
	{scenario{name: "future/all poll", size: 1, body: same(3, func(w *world) {
		w.finishFuture(w.await(w.future(1), 1), 1)
	})}, within3},
	{scenario{name: "future/all cancel", size: 1, body: same(3, func(w *world) { w.drop(w.future(1), 1) })}, within3},
	{scenario{name: "timeout/head lets pass", size: 2, body: each(
		func(w *world) { w.use(1) }, func(w *world) { w.useFor(2) }, func(w *world) { w.use(1) })}, unbounded},
	{scenario{name: "resize/against timeout", size: 1, body: each(
		func(w *world) { w.resize(2); w.resize(1) },
		func(w *world) { w.use(1) }, func(w *world) { w.useFor(1) })}, unbounded},
	{scenario{name: "resize/debt", size: 3, body: each(
		func(w *world) { w.resize(1); w.resize(2) }, func(w *world) { w.must(1); w.release(1); w.use(1) },
		func(w *world) { w.use(1) }, func(w *world) { w.useOr(bg, 2, waiter.ErrTooLarge) })}, within3},
	{scenario{name: "resize/against cancel", size: 2, body: each(
		func(w *world) { w.resize(1); w.resize(2) }, func(w *world) { w.use(1); w.use(1) },
		func(w *world) { w.drop(w.future(1), 1) }, func(w *world) { w.useFor(2, waiter.ErrTooLarge) })}, within3},
	{scenario{name: "bias/3", base: Everyone, size: Everyone, bias: true, body: each(
		func(w *world) { w.read() }, func(w *world) { w.read() }, func(w *world) { w.useFor(Everyone) })}, within3},
	{scenario{name: "close/all at once", size: 2, body: each(
		func(w *world) { w.e.Close() }, func(w *world) { w.useOr(bg, 2, waiter.ErrClosed) },
		func(w *world) { w.useFor(1, waiter.ErrClosed) },
		func(w *world) { w.drop(w.future(1), 1) })}, within3},
}

// What is too large to be exhausted under any bound is sampled.
var tierThree = []scenario{
	{name: "lock/6x3", size: 1, body: same(6, func(w *world) { w.use(1); w.use(1); w.use(1) })},
	{name: "everything", size: 3, body: cancelled(true, func(w *world, ctx context.Context) {
		w.Go("resizer", func() { w.resize(2); w.resize(4); w.resize(3) })
		w.Go("a", func() { w.use(1); w.useOr(ctx, 2, context.Canceled); w.must(2); w.release(1); w.release(1) })
		w.Go("b", func() { w.useFor(2); w.useOr(bg, 3, waiter.ErrTooLarge); w.tryUse(1) })
		w.Go("c", func() { w.drop(w.future(2), 2); w.finishFuture(w.await(w.future(1), 1), 1) })
		w.Go("d", func() { w.finishFuture(w.awaitDone(w.future(1), 1), 1); w.useFor(1) })
	})},
	{name: "everything, closed", size: 2, body: cancelled(false, func(w *world, ctx context.Context) {
		w.Go("closer", func() { w.e.Close() })
		w.Go("a", func() { w.useOr(bg, 1, waiter.ErrClosed); w.useOr(ctx, 2, waiter.ErrClosed, context.Canceled) })
		w.Go("b", func() { w.useFor(2, waiter.ErrClosed); w.useFor(1, waiter.ErrClosed) })
		w.Go("c", func() { w.drop(w.future(2), 2); w.drop(w.future(1), 1) })
		w.Go("d", func() { w.useOr(bg, 1, waiter.ErrClosed); w.tryUse(1) })
	})},
}

// maybe acquires n permits unless that is too much at the moment.
func maybe(n int64) func(w *world) {
	return func(w *world) { w.useOr(bg, n, waiter.ErrTooLarge) }
}

// overRelease returns one permit more than is held, while another thread resizes.
func overRelease(size int64) func(*world) {
	return func(w *world) {
		w.begin(1)
		w.Go("resizer", func() { w.resize(size) })
		w.Go("t", func() {
			w.Assert(!w.e.From(w.base).Release(2), "an over-release was accepted")
			w.release(1)
		})
	}
}

// calledBack queues futures of the given sizes, and one more, whose cancel is what the waker of the
// one before does. A thread then does something that wakes them, while held permits are held.
func calledBack(held int64, act func(w *world, f []*waiting.Future), sizes ...int64) func(*world) {
	return func(w *world) {
		w.begin(held)
		last := new(waiting.Future)
		waiting.Bind(last, w.permits(), 1)
		var fs []*waiting.Future
		for _, n := range sizes {
			f := new(waiting.Future)
			waiting.Bind(f, w.permits(), n)
			w.Assert(!f.Poll(waiter.WakerFunc(func() { last.Release() })), "no request waits")
			fs = append(fs, f)
		}
		w.Assert(!last.Poll(nil), "no request waits")
		w.Go("t", func() {
			act(w, fs)
			for _, f := range fs {
				f.Release()
			}
		})
	}
}

// releaseFuture polls f once, looks at what it was granted if it was at once, and releases it,
// twice.
func (w *world) releaseFuture(f *waiting.Future) {
	if f.Poll(w.task()) {
		w.Assert(w.look(f, 1) == nil, "not granted")
		w.held.Add(-1)
	}
	for range 2 {
		f.Release()
	}
}

// awaitHeld polls f until it has its permit, which stays with it.
func (w *world) awaitHeld(f *waiting.Future) {
	for t := w.task(); !f.Poll(t); t = w.task() {
		t.Sleep()
	}
	w.Assert(w.look(f, 1) == nil, "not granted")
}

// releaseHeld releases f, which has a permit that is counted as held.
func (w *world) releaseHeld(f *waiting.Future) {
	w.held.Add(-f.Node().N)
	f.Release()
	w.Assert(!f.Complete(), "complete after its release")
}

// doneAgain has a future learn of its grant by a poll, and wait by its channel in the next round.
// That begins with the channel empty: the value of the first round has been sent by then, and never
// comes later.
func doneAgain(w *world) {
	var waits interleave.Int64
	w.begin(1)
	w.Go("holder", func() { w.release(1) })
	w.Go("owner", func() {
		f := w.future(1)
		f.Done()
		for !f.Poll(nil) {
			interleave.Yield()
		}
		w.Assert(w.end(f, 1) == nil, "not granted")
		waiting.Bind(f, w.permits(), 1)
		f.Done()
		waits.Store(1)
		w.finishFuture(w.awaitDone(f, 1), 1)
	})
	w.Go("second holder", func() {
		for waits.Load() == 0 {
			interleave.Yield()
		}
		w.release(1) // what the owner has taken in the first round
	})
}

// observedFuture has a thread ask whether a future is complete, which its owner uses twice.
func observedFuture(w *world) {
	var released, ended interleave.Int64
	w.begin(1)
	f := new(waiting.Future)
	waiting.Bind(f, w.permits(), 1)
	w.Go("holder", func() {
		released.Store(1)
		w.release(1)
	})
	w.Go("owner", func() {
		w.awaitHeld(f)
		w.Assert(f.Complete(), "looked at, and not complete")
		w.releaseHeld(f)
		w.begin(1) // so that the second request waits, and is dropped
		ended.Store(1)
		waiting.Bind(f, w.permits(), 1)
		w.Assert(!f.Poll(nil), "granted what another holds")
		f.Release()
		w.release(1)
	})
	w.Go("watcher", func() {
		e := ended.Load()
		c := f.Complete()
		w.Assert(!c || released.Load() == 1, "complete before the permit was released")
		w.Assert(!c || e == 0, "complete, although the second request has not been granted")
		f.Complete()
	})
}

// cancelled has one more thread cancel a context.
func cancelled(watchable bool, f func(w *world, ctx context.Context)) func(*world) {
	return func(w *world) {
		ctx := w.NewContext()
		ctx.Watchable = watchable
		f(w, ctx)
		w.Go("canceller", ctx.Cancel)
	}
}

func (w *world) finishFuture(err error, n int64) {
	w.Assert(err == nil, "future: %v", err)
	w.release(n)
}

func (w *world) tryUse(n int64) {
	if w.try(n) {
		w.release(n)
	}
}

// same has n threads do the same.
func same(n int, f func(w *world)) func(*world) {
	return func(w *world) { w.Same(n, "t", func(int) { f(w) }) }
}

// each has each thread do one thing.
func each(fs ...func(w *world)) func(*world) {
	return func(w *world) {
		for i, f := range fs {
			w.Go("t"+string(rune('1'+i)), func() { f(w) })
		}
	}
}

func explore(t *testing.T, o interleave.Options, s scenario) {
	t.Helper()
	t.Run(s.name, func(t *testing.T) {
		interleave.Check(t, o, func(x *interleave.Run) {
			w := newWorld(x, s)
			s.body(w)
			w.Wait()
			if w.after != nil {
				w.after()
			}
			w.finish()
		})
	})
}

func TestModel(t *testing.T) {
	for _, s := range tierOne {
		explore(t, unbounded, s)
		if t.Failed() && flag.Lookup("test.failfast").Value.String() == "true" {
			return // -failfast knows no subtests
		}
	}
}

func TestModelLarge(t *testing.T) {
	if testing.Short() || interleave.RaceEnabled {
		t.Skip("tier two")
	}
	for _, s := range tierTwo {
		explore(t, s.o, s.scenario)
	}
}

func TestModelSampled(t *testing.T) {
	executions := 20_000
	if testing.Short() || interleave.RaceEnabled {
		executions = 1000
	}
	for _, s := range tierThree {
		for _, o := range []interleave.Options{
			{Mode: interleave.Random}, {Mode: interleave.PCT, Depth: 3}, {Mode: interleave.PCT, Depth: 6},
		} {
			o.Executions, o.Seed = executions, 1
			n := s
			n.name += "/" + o.Mode.String() + strings.Repeat("+", o.Depth/6)
			explore(t, o, n)
		}
	}
}

// BenchmarkExplorer measures how fast executions are, in the scenario of three threads that lock
// and unlock: with the checks after every step, and without.
func BenchmarkExplorer(b *testing.B) {
	for _, checked := range []bool{false, true} {
		name := "bare"
		if checked {
			name = "checked"
		}
		b.Run(name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				r := interleave.Explore(unbounded, func(x *interleave.Run) {
					if checked {
						w := newWorld(x, scenario{size: 1})
						for range 3 {
							x.Go("t", func() { w.use(1) })
						}
						x.Wait()
						w.finish()
						return
					}
					var e Engine
					e.From(0).Init(1, nil)
					for range 3 {
						x.Go("t", func() {
							if !e.From(0).TryAcquire(1) && e.From(0).Acquire(waiting.UntilDone(bg), 1, AtBack) != nil {
								x.Fail("not acquired")
							}
							e.From(0).Release(1)
						})
					}
					x.Wait()
				})
				n += r.Executions + r.Pruned
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "executions/s")
		})
	}
}
