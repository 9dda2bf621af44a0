//go:build interleave

package engine

import (
	"context"
	"slices"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/internal/order"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// A world is an engine under exploration, with what a scenario may do to it and what must hold
// after every step.
//
// Always checked: the invariants of engine.go as far as they speak of single states, that the queue
// grows only at its end and keeps its order, that a granted waiter has not left it from behind
// another, and that no more permits are held than there have ever been. At the end: all permits are
// back, no waiter is queued, no flag is left.
type world struct {
	*interleave.Run
	e  *Engine
	rw *RW // e, if the base is Everyone; else nil

	base, size, peak int64 // peak: the largest size so far
	maxWaiting       int

	// held counts permits in use. It is an atomic so that the explorer tries all orders of what
	// happens inside; with a plain variable nothing would ever happen between an acquire and its
	// release.
	held interleave.Int64

	observes bool     // a thread sets and clears O, so that tries go on as the façades' do
	observed tristate // what O must be

	after func() // what a scenario has to do when all threads have ended; nil: nothing

	tenants  [8]any // by thread: whose requests it makes, at an ordered engine
	divided  bool   // its tenants differ: passing has who waits, and no line is followed
	anyOrder bool   // the same, and nobody checks who has overtaken whom
	classes  bool   // tenants are classes, with that aging
	aging    int
	passing  []*passed

	queue  []queued // as it was when mu was last free
	front  [8]bool  // by thread: it is about to queue before all others
	full   bool     // as many waited as may
	jumped [8]bool  // by thread: its waiter left the queue from behind another: it was not granted
}

// A tristate is what is known of O: nothing while it is being changed.
type tristate uint8

const (
	unobserved tristate = iota
	changing
	observed
)

// queued is a waiter in line, and the thread that put it there.
type queued struct {
	w     *waiting.Waiter
	owner int
}

var bg = context.Background()

func newWorld(x *interleave.Run, s scenario) *world {
	w := &world{Run: x, e: new(Engine), base: s.base, size: s.size, peak: s.size, maxWaiting: s.maxWaiting}
	switch {
	case s.order != nil:
		c := *s.order
		c.MaxWaiting = s.maxWaiting
		w.divided, w.anyOrder, w.classes, w.aging = s.divided, s.anyOrder, c.Classes > 0, c.Aging
		w.e.From(s.base).Init(s.size, &Options{Order: order.New(c)})
	case s.base != Everyone:
		w.e.From(s.base).Init(s.size, &Options{MaxWaiting: s.maxWaiting})
	case s.bias:
		w.rw = (*RW)(w.e)
		w.rw.InitBias()
	default:
		w.rw = (*RW)(w.e)
	}
	x.Name("e", w.e)
	x.Name("held", &w.held)
	x.Always(w.check)
	return w
}

// A subject is what the threads work with: the permits of an engine, or a read-write lock.
type subject interface {
	waiting.Request
	TryAcquire(n int64) bool
	TryObserved(n int64) bool
	Acquire(l waiting.Limit, n int64, at Place) error
	Release(n int64) bool
}

func (w *world) permits() subject {
	switch {
	case w.rw != nil:
		return w.rw
	case w.e.ordered():
		return &orderedSubject{Permits: w.e.From(w.base), w: w}
	}
	return w.e.From(w.base)
}

// check compares a state with the invariants.
func (w *world) check() {
	o := w.e.Look()
	free := w.e.From(w.base).free(o)
	w.Assert(free <= w.peak, "invariant 1: %d permits are free of at most %d", free, w.peak)
	if is := w.isObserved(); is != changing {
		w.Assert(o.IsObserved() == (is == observed), "invariant 7: O is %t", o.IsObserved())
		w.Assert(is != observed || w.rw == nil || !o.isBiased(), "observed, and biased")
	}
	if w.e.mu.Locked() {
		return
	}
	line := w.line()
	if w.e.ordered() {
		w.checkOrdered(o, free, line)
	}
	switch {
	case w.divided:
		w.followDivided(line, (&orderedSubject{w: w}).by)
	case !w.anyOrder:
		w.follow(line)
	}
	w.Assert(w.e.waitingLocked() == len(line), "%d are queued, not %d", len(line), w.e.waitingLocked())
	if w.maxWaiting > 0 {
		w.Assert(len(line) <= w.maxWaiting, "%d are queued of at most %d", len(line), w.maxWaiting)
		w.full = w.full || len(line) == w.maxWaiting
	}
	slot := w.e.slot.Load()
	if slot != nil {
		w.Assert(slot.N == 1 && free == 0, "invariants 2, 3: in the slot, for %d, beside %d free permits", slot.N, free)
		w.Assert(w.e.held(o) > 0, "invariant 3: in the slot, and no permit is held")
	}
	w.Assert(w.rw == nil || !o.isBiased() || o&flagWaiters == 0, "biased, and W is set")
	if len(line) == 0 && o&(flagWaiters|flagClosed) == flagWaiters {
		w.Assert(free <= 0, "invariant 2: W is set, none is queued, and %d are free", free)
	}
	if len(line) > 0 {
		w.Assert(o&flagWaiters != 0, "invariants 2, 9: a waiter is queued, and W is clear")
		w.Assert(free < line[0].N, "invariant 2: the oldest waiter needs %d, and %d are free", line[0].N, free)
	}
}

// line returns the queued requests, oldest first.
func (w *world) line() (line []*waiting.Waiter) {
	if s := w.e.slot.Load(); s != nil {
		line = append(line, s)
	}
	for q := w.e.list.Front(); q != nil; q = w.e.list.Next(q) {
		line = append(line, q)
	}
	if w.e.ordered() {
		w.e.Opts.Order.All(func(q *waiting.Waiter) { line = append(line, q) })
	}
	return line
}

// follow compares the queue with what it was when mu was last free.
func (w *world) follow(line []*waiting.Waiter) {
	if r := w.Running(); w.front[r] && len(line) > 0 &&
		!slices.ContainsFunc(w.queue, func(q queued) bool { return q.w == line[0] }) {
		w.front[r] = false
		w.jumped[r] = false
		w.queue = slices.Insert(w.queue, 0, queued{line[0], r})
	}
	var stay []queued
	for _, q := range w.queue {
		switch i := len(stay); {
		case i < len(line) && line[i] == q.w:
			stay = append(stay, q)
		case i < len(line) && slices.Contains(line[i:], q.w):
			w.Fail("invariant 3: the queue has changed its order")
		case i > 0:
			w.jumped[q.owner] = true
		}
	}
	for _, n := range line[len(stay):] {
		stay = append(stay, queued{n, w.Running()})
		w.jumped[w.Running()] = false
	}
	w.queue = stay
}

// more gets n permits for a thread that holds some which bar all others, before any waiter.
func (w *world) more(n int64) {
	if w.permits().TryAcquire(n) {
		w.held.Add(n)
		return
	}
	w.front[w.Running()] = true
	err := w.permits().Acquire(waiting.UntilDone(bg), n, AtFront)
	w.front[w.Running()] = false
	w.Assert(err == nil, "acquire: %v", err)
	w.took(n)
}

// read is use of a reader's permit as the façade does it.
func (w *world) read() {
	if w.rw.TryRead() {
		w.jumped[w.Running()] = false
	} else {
		w.must(Reader)
		w.held.Add(-Reader)
		w.rw.Rebias()
	}
	w.took(Reader)
	w.release(Reader)
}

// finish checks what is left when all threads have ended and given back what they held.
func (w *world) finish() {
	w.Assert(w.held.Load() == 0, "%d permits are still held", w.held.Load())
	w.Assert(w.e.From(w.base).Size() == w.size, "the size is %d, not %d", w.e.From(w.base).Size(), w.size)
	if w.rw != nil && w.rw.MayHide() {
		w.rw.Unbias()
	}
	w.Assert(w.e.From(w.base).Available() == w.size, "%d of %d permits are left", w.e.From(w.base).Available(), w.size)
	w.Assert(w.e.Waiting() == 0, "%d are still queued", w.e.Waiting())
	w.Assert(w.e.IsClosed() || w.e.Look()&^flagObserved&flags == 0, "flags are left: %b", w.e.Look()&flags)
}

// took accounts for n permits that the running thread has got.
func (w *world) took(n int64) {
	w.Assert(!w.jumped[w.Running()], "overtaken: granted from behind another")
	held := w.held.Add(n)
	w.Assert(held <= w.most(), "%d permits are held of at most %d", held, w.most())
}

// What a scenario's threads do, as the façades do it.

func (w *world) try(n int64) bool {
	ok := w.permits().TryAcquire(n) || w.observes && w.permits().TryObserved(n)
	w.jumped[w.Running()] = false // of an earlier request; now that a step has been made, which follow sees first
	if ok {
		w.took(n)
	}
	return ok
}

func (w *world) acquire(ctx context.Context, n int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.try(n) {
		return nil
	}
	err := w.permits().Acquire(waiting.UntilDone(ctx), n, AtBack)
	if err == nil {
		w.took(n)
	}
	return err
}

func (w *world) acquireTimeout(n int64) error {
	if w.try(n) {
		return nil
	}
	err := w.permits().Acquire(waiting.After(time.Second), n, AtBack)
	if err == nil {
		w.took(n)
	}
	return err
}

// begin has n permits held before the threads run, for one of them to release.
func (w *world) begin(n int64) {
	w.Assert(w.permits().TryAcquire(n), "no permits to begin with")
	w.held.Add(n)
}

func (w *world) release(n int64) {
	w.held.Add(-n)
	w.Assert(w.permits().Release(n), "a release of what is held was refused")
}

// must acquires n permits without any way to fail.
func (w *world) must(n int64) {
	err := w.acquire(bg, n)
	w.Assert(err == nil, "acquire: %v", err)
}

// use acquires n permits and gives them back.
func (w *world) use(n int64) {
	w.must(n)
	w.release(n)
}

// useOr is use that may end with one of the errors, or, if it is given, must.
func (w *world) useOr(ctx context.Context, n int64, errs ...error) {
	w.endOr(w.acquire(ctx, n), n, errs)
}

// useFor is useOr with a timeout, which is one of the errors.
func (w *world) useFor(n int64, errs ...error) {
	w.endOr(w.acquireTimeout(n), n, append(errs, context.DeadlineExceeded))
}

func (w *world) endOr(err error, n int64, errs []error) {
	if err == nil {
		w.release(n)
		return
	}
	w.Assert(slices.Contains(errs, err), "acquire: %v", err)
	w.Assert(err != waiter.ErrQueueFull || w.full || w.anyOrder || interleave.RaceEnabled, "refused by a queue that was never full")
}

// resize is for scenarios in which one thread resizes.
func (w *world) resize(size int64) {
	w.note(size)
	w.e.From(w.base).Resize(size)
}

// observe sets or clears O, in scenarios in which one thread does.
func (w *world) observe(on bool) {
	w.noteObserved(changing)
	is := unobserved
	if on {
		is = observed
	}
	if w.rw != nil {
		w.rw.Observe(on)
		w.Assert(!on || !w.rw.MayHide(), "observed, and biased")
	} else {
		w.e.Observe(on)
	}
	w.noteObserved(is)
}

// What the world itself knows of the size is not the race detector's business.

//go:norace
func (w *world) note(size int64) { w.size, w.peak = size, max(w.peak, size) }

//go:norace
func (w *world) noteObserved(is tristate) { w.observed = is }

//go:norace
func (w *world) isObserved() tristate { return w.observed }

//go:norace
func (w *world) most() int64 { return w.peak }

func (w *world) task() *semtest.Task { return semtest.NewTask(w.Run) }

func (w *world) future(n int64) *waiting.Future {
	f := new(waiting.Future)
	waiting.Bind(f, w.permits(), n)
	w.jumped[w.Running()] = false // as in try
	return f
}

// await polls f, each time with a waker of its own, and twice before it sleeps.
func (w *world) await(f *waiting.Future, n int64) error {
	for !f.Poll(w.task()) {
		t := w.task()
		if f.Poll(t) {
			break
		}
		t.Sleep()
	}
	return w.end(f, n)
}

// await1 is await with one poll before each sleep.
func (w *world) await1(f *waiting.Future, n int64) error {
	for {
		t := w.task()
		if f.Poll(t) {
			return w.end(f, n)
		}
		t.Sleep()
	}
}

// awaitDone waits for f by its channel.
func (w *world) awaitDone(f *waiting.Future, n int64) error {
	interleave.Receive(f.Done())
	return w.end(f, n)
}

// drop polls f once, and cancels it, twice, unless the poll has ended it.
func (w *world) drop(f *waiting.Future, n int64) {
	if f.Poll(w.task()) {
		if w.end(f, n) == nil {
			w.release(n)
		}
		return
	}
	f.Release()
	f.Release()
}

// lose polls f once, and cancels it whatever the poll has said: something else was quicker.
func (w *world) lose(f *waiting.Future) {
	f.Poll(w.task())
	f.Release()
}

// end takes the outcome of f, which is complete.
func (w *world) end(f *waiting.Future, n int64) error { return w.ended(f.Take(), n) }

// look is end, but leaves what was granted with f.
func (w *world) look(f *waiting.Future, n int64) error { return w.ended(f.Err(), n) }

func (w *world) ended(err error, n int64) error {
	w.Assert(err != waiter.ErrPending, "complete, and no outcome")
	if err == nil {
		w.took(n)
	}
	return err
}
