//go:build interleave

package engine

import (
	"context"
	"flag"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/waiter"
)

// O is set and cleared at every point of everything else. Nothing may be lost, nobody be woken
// wrongly, and O be as it was set in every state.

// beside has one more thread set O and, if off, clear it again.
func beside(off bool, fs ...func(w *world)) func(*world) {
	return func(w *world) {
		w.observes = true
		each(fs...)(w)
		w.Go("observer", func() {
			w.observe(true)
			if off {
				w.observe(false)
			}
		})
	}
}

// ending has one more thread clear O, which is set.
func ending(fs ...func(w *world)) func(*world) {
	return func(w *world) {
		w.observes = true
		w.observe(true)
		each(fs...)(w)
		w.Go("observer", func() { w.observe(false) })
	}
}

func (w *world) tryMust(n int64) {
	w.Assert(w.try(n), "a try failed although %d are free", n)
	w.release(n)
}

func use(n int64) func(*world)    { return func(w *world) { w.use(n) } }
func useFor(n int64) func(*world) { return func(w *world) { w.useFor(n) } }

var observing = []scenario{
	{name: "acquire", size: 1, body: beside(true, use(1), use(1))},
	{name: "acquire/2x2", size: 1, body: beside(false, func(w *world) { w.use(1); w.use(1) }, use(1))},
	{name: "acquire/ending", size: 1, body: ending(use(1), use(1))},
	{name: "acquire/many", size: 2, body: beside(true, use(2), use(1))},
	{name: "try", size: 2, body: beside(true, func(w *world) { w.tryMust(1) }, func(w *world) { w.tryMust(1) })},
	{name: "try/beside waiters", size: 1, body: beside(true, use(1), func(w *world) { w.tryUse(1) })},
	{name: "timeout", size: 1, body: beside(true, use(1), useFor(1))},
	{name: "timeout/ending", size: 1, body: ending(use(1), useFor(1))},
	{name: "future", size: 1, body: beside(true, use(1), func(w *world) {
		w.finishFuture(w.await1(w.future(1), 1), 1)
	})},
	{name: "resize/up", size: 1, body: beside(true, func(w *world) { w.resize(2) }, maybe(2))},
	{name: "close/ending", size: 1, body: ending(func(w *world) { w.e.Close() },
		func(w *world) { w.useOr(bg, 1, waiter.ErrClosed) })},
	{name: "over-release", size: 1, body: beside(true, use(1),
		func(w *world) { w.Assert(!w.e.From(w.base).Release(2), "an over-release was accepted") })},
	{name: "rw", base: Everyone, size: Everyone, body: beside(true, use(Everyone), func(w *world) { w.read() })},
}

// observingRW is exhausted up to two preemptions.
var observingRW = []scenario{
	{name: "rw/front", base: Everyone, size: Everyone, body: beside(false, func(w *world) {
		w.must(Upgradable)
		w.more(Everyone - Upgradable)
		w.release(Everyone - Upgradable)
		w.release(Upgradable)
	}, func(w *world) { w.read() })},
	{name: "rw/bias", base: Everyone, size: Everyone, bias: true, body: beside(true,
		func(w *world) { w.read() }, func(w *world) { w.read() })},
	{name: "rw/bias and writer", base: Everyone, size: Everyone, bias: true, body: beside(false,
		func(w *world) { w.read() }, use(Everyone))},
	{name: "rw/try to write beside bias", base: Everyone, size: Everyone, bias: true, body: beside(true,
		func(w *world) { w.read() }, func(w *world) {
			if w.rw.TryExclusive(Everyone, AtBack) {
				w.took(Everyone)
				w.release(Everyone)
			}
		})},
}

// observingMore takes minutes, up to three preemptions.
var observingMore = []scenario{
	{name: "acquire/3", size: 1, body: beside(false, use(1), use(1), use(1))},
	{name: "acquire/many and ending", size: 2, body: ending(use(2), use(1), use(1))},
	{name: "timeout/head lets pass", size: 2, body: ending(use(1), useFor(2), use(1))},
	{name: "cancel", size: 1, body: cancelled(true, func(w *world, ctx context.Context) {
		beside(false, use(1), func(w *world) { w.useOr(ctx, 1, context.Canceled) })(w)
	})},
	{name: "future/cancel", size: 1, body: beside(true, use(1), func(w *world) { w.drop(w.future(1), 1) })},
	{name: "resize/down", size: 2, body: beside(false, func(w *world) { w.resize(1) }, use(1), use(1))},
	{name: "resize/down, too large", size: 2, body: beside(false, func(w *world) { w.resize(1) }, maybe(2), use(1))},
	{name: "close", size: 1, body: beside(false, func(w *world) { w.e.Close() },
		func(w *world) { w.useOr(bg, 1, waiter.ErrClosed) }, func(w *world) { w.useOr(bg, 1, waiter.ErrClosed) })},
	{name: "rw/readers", base: Everyone, size: Everyone, body: beside(false,
		func(w *world) { w.read() }, func(w *world) { w.read() }, use(Everyone))},
}

func TestModelObserve(t *testing.T) { exploreAll(t, unbounded, observing) }

func TestModelObserveRW(t *testing.T) {
	exploreAll(t, interleave.Options{Mode: interleave.Bounded, Bound: 2}, observingRW)
}

func TestModelObserveMore(t *testing.T) {
	if testing.Short() || interleave.RaceEnabled {
		t.Skip("tier two")
	}
	exploreAll(t, within3, append(observingMore, observingRW...))
}

func exploreAll(t *testing.T, o interleave.Options, all []scenario) {
	t.Helper()
	for _, s := range all {
		explore(t, o, s)
		if t.Failed() && flag.Lookup("test.failfast").Value.String() == "true" {
			return // -failfast knows no subtests
		}
	}
}
