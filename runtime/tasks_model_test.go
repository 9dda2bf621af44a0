//go:build interleave

package rt

import (
	"context"
	"errors"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// Scenarios of how tasks and goroutines wait: handles, contexts, joins, and what is between tasks
// and goroutines. Coroutines are threads in them, one for each straight-line task: see
// coroutine_model.go.

// newTasks returns a lab with a worker and coroutines.
func newTasks(x *interleave.Run) *lab {
	l := newLab(x, 1)
	coroutineThread = func(body func()) { x.Go("co", body) }
	l.ex.spawn = func(fn func()) error { x.Go("blocking", fn); return nil }
	return l
}

// party counts a thread, or a task, for which the workers stay, and returns what ends it.
func (l *lab) party() (ended func()) {
	l.left.Add(1)
	return l.ended
}

// wait starts a thread that waits for h by its Wait.
func (l *lab) wait(ctx context.Context, h *JoinHandle[int], ended func(v int, err error)) {
	gone := l.party()
	l.Go("waiter", func() {
		ended(h.Wait(ctx))
		gone()
	})
}

// patient is a future whose poller waits until something changes if it is woken again and again,
// which must be by itself, because the future is about to be free or complete.
type patient struct {
	Future
	polls int
}

func (p *patient) Poll(w waiter.Waker) bool {
	if p.Future.Poll(w) {
		return true
	}
	if p.polls++; p.polls > 3 {
		interleave.Yield()
	}
	return false
}

// caught is a future that keeps the waker of its last poll, and counts its polls.
type caught struct {
	Future
	waker waiter.Waker
	polls int
}

func (c *caught) Poll(w waiter.Waker) bool {
	if c.polls++; c.polls > 20 {
		panic("polled without end")
	}
	c.waker = w
	return c.Future.Poll(w)
}

// seven says that a wait was successful.
func (l *lab) seven(v int, err error) { l.Assert(v == 7 && err == nil, "%d, %v", v, err) }

// told is the function of a straight-line task that returns 7 when it is told to.
func told(f Future) func(cx *Context) (int, error) {
	return func(cx *Context) (int, error) { return 7, Await(cx, f) }
}

// silent is a context whose channel is closed while it has no error.
type silent struct{ *interleave.Context }

func (silent) Err() error                  { return nil }
func (s silent) explored() context.Context { return s.Context }

// requireCancelled is for the outcome of a wait whose cancel came before the grant: the only
// right one is the error.
func requireCancelled(x *interleave.Run, err error) {
	x.Assert(err == context.Canceled, "cancelled, then granted: %v", err)
}

// bounds are the ways to wait for a future, but no longer than for a context.
var bounds = []struct {
	name string
	wait func(ctx context.Context, f Future) error
}{
	{"blockOn", BlockOn},
	{"bound", func(ctx context.Context, f Future) error { return BlockOn(context.Background(), WithContext(ctx, f)) }},
}

func boundScenarios() (all []experiment) {
	for _, b := range bounds {
		all = append(
			all,
			experiment{
				b.name + "/grant against cancel",
				func(x *interleave.Run) { // one or the other, and no permit is lost
					s := held(1)
					ctx := x.NewContext()
					x.Go("waiter", func() {
						f := request(s)
						if err := b.wait(ctx, f); err != nil {
							requireCancelled(x, err)
						}
						f.Release()
					})
					x.Go("canceller", ctx.Cancel)
					x.Go("releaser", func() { s.Release(1) })
					x.Wait()
					x.Assert(s.Available() == 1 && s.Waiting() == 0, "a permit was lost or made")
				},
				0,
			},
			experiment{b.name + "/cancel before the grant", func(x *interleave.Run) {
				s := held(1)
				ctx := x.NewContext()
				x.Go("waiter", func() { requireCancelled(x, b.wait(ctx, request(s))) })
				x.Go("canceller", func() { ctx.Cancel(); s.Release(1) })
				x.Wait()
				x.Assert(s.Available() == 1 && s.Waiting() == 0, "a permit was lost or made")
			}, 0},
			experiment{
				b.name + "/no error at the close",
				func(x *interleave.Run) { // it ends, and does not look without end
					s := held(1)
					ctx := silent{x.NewContext()}
					x.Go("waiter", func() { requireCancelled(x, b.wait(ctx, request(s))) })
					x.Go("canceller", ctx.Cancel)
					x.Wait()
					s.Release(1)
					x.Assert(s.Available() == 1 && s.Waiting() == 0, "a permit was lost or made")
				},
				0,
			},
		)
	}
	return all
}

var tasksTierOne = append(boundScenarios(), []experiment{
	{"bound/second round", func(x *interleave.Run) { // given up, it hears of the context the next time
		s := held(1)
		ctx := x.NewContext()
		inner := request(s)
		f := WithContext(ctx, inner)
		x.Go("waiter", func() {
			if !f.Poll(nil) {
				f.Release()
				s.Bind(inner, 1)
			}
			requireCancelled(x, BlockOn(context.Background(), f))
		})
		x.Go("canceller", ctx.Cancel)
		x.Wait()
		s.Release(1)
		x.Assert(s.Available() == 1 && s.Waiting() == 0, "a permit was lost or made")
	}, 0},

	{"handle/two waits", func(x *interleave.Run) { // both get the value
		l := newTasks(x)
		s := held(1)
		h := Go(l.ex, told(request(s)))
		l.wait(context.Background(), h, l.seven)
		l.wait(context.Background(), h, l.seven)
		l.start()
		x.Go("releaser", func() { s.Release(1) })
		l.finish()
	}, 0},
	{"handle/two ends", func(x *interleave.Run) { // a waiter that gives up, at any time, takes nothing from the other
		l := newTasks(x)
		h := Go(l.ex, func(*Context) (int, error) { return 7, nil })
		ctx := x.NewContext()
		l.wait(ctx, h, func(v int, err error) {
			x.Assert(v == 7 && err == nil || err == context.Canceled, "%d, %v", v, err)
			l.seven(h.Wait(context.Background())) // with the same parker
		})
		l.wait(context.Background(), h, l.seven)
		l.start()
		x.Go("canceller", ctx.Cancel)
		l.finish()
	}, 0},
	{"handle/cancel before the end", func(x *interleave.Run) {
		l := newTasks(x)
		s := held(1)
		gone := l.party()
		h := Go(l.ex, func(cx *Context) (int, error) { defer gone(); return 7, Await(cx, request(s)) })
		ctx := x.NewContext()
		l.wait(ctx, h, func(_ int, err error) { requireCancelled(x, err) })
		l.start()
		x.Go("canceller", func() { ctx.Cancel(); s.Release(1) })
		l.finish()
	}, 0},
	{"handle/await and wait", func(x *interleave.Run) { // a task, a goroutine and a select
		l := newTasks(x)
		h := Go(l.ex, func(*Context) (int, error) { return 7, nil })
		gone := l.party()
		Go(l.ex, func(cx *Context) (int, error) {
			l.seven(h.Await(cx))
			gone()
			return 0, nil
		})
		l.wait(context.Background(), h, l.seven)
		done := h.Done()
		l.start()
		l.finish()
		select {
		case <-done:
		default:
			x.Fail("Done is not closed")
		}
	}, 0},
	{"context/late cancel", func(x *interleave.Run) { // of the life before, or of the next one, task and context
		l := newLab(x, 1)
		var cancelled interleave.Bool
		t := l.task("t", func(s *subject, cx *Context, polls int32) bool {
			ctx := cx.Context()
			if polls > 1 {
				await(cancelled.Load)
				x.Assert((ctx.Err() != nil) == s.isCancelled(), "context and task differ: %v", ctx.Err())
			}
			return true
		})
		l.left.Add(1) // the second life
		c := completionOf(t)
		l.start(t)
		x.Go("canceller", func() { t.Abort(); cancelled.Store(true) })
		x.Go("owner", func() {
			x.Assert(BlockOn(context.Background(), c) == nil, "an error")
			l.spawn(t)
		})
		l.finish()
	}, 0},

	{"handle/owner and another", func(x *interleave.Run) { // a waiter that has seen the end gets the result
		l := newTasks(x)
		h := Go(l.ex, func(*Context) (int, error) { return 7, nil })
		gone := l.party()
		x.Go("owner", func() { x.Assert(BlockOn(context.Background(), h) == nil, "an error"); gone() })
		l.wait(context.Background(), h, func(v int, err error) {
			l.seven(v, err)
			l.seven(h.Result())
			x.Assert(h.Err() == nil, "%v", h.Err())
		})
		l.start()
		l.finish()
	}, 0},

	{"context/cancel", func(x *interleave.Run) { // against the task that makes it, and its end
		l := newTasks(x)
		var ctx context.Context
		h := Go(l.ex, func(cx *Context) (int, error) {
			ctx = cx.Context()
			x.Assert(cx.Context() == ctx, "another one")
			return 7, nil
		})
		l.wait(context.Background(), h, func(_ int, err error) {
			if err == nil {
				x.Assert(ctx.Err() != nil, "the task has ended, and its context has not")
				x.Assert(context.Cause(ctx) == ErrCancelled || context.Cause(ctx) == errEnded, "%v", context.Cause(ctx))
			}
		})
		l.start()
		x.Go("canceller", h.Abort)
		l.finish()
	}, 0},
	{
		"context/cancel of a task that goes on",
		func(x *interleave.Run) { // when Cancel has returned, the context has ended
			l := newTasks(x)
			var made interleave.Pointer[context.Context]
			var aborted interleave.Bool
			h := Go(l.ex, func(cx *Context) (int, error) {
				ctx := cx.Context()
				made.Store(&ctx)
				await(aborted.Load)
				x.Assert(context.Cause(ctx) == ErrCancelled, "%v", context.Cause(ctx))
				return 7, nil
			})
			l.wait(context.Background(), h, func(int, error) {})
			l.start()
			x.Go("canceller", func() {
				h.Abort()
				if ctx := made.Load(); ctx != nil {
					x.Assert((*ctx).Err() != nil, "cancelled, and the context has not ended")
				}
				aborted.Store(true)
			})
			l.finish()
		},
		0,
	},

	{"join of many/wakes", func(x *interleave.Run) { // from two sides: the last of them is not lost
		a, b := held(1), held(1)
		all := AllOf(request(a), request(b))
		x.Go("waiter", func() {
			x.Assert(BlockOn(context.Background(), all) == nil, "lost")
			a.Release(1)
			b.Release(1)
		})
		x.Go("a", func() { a.Release(1) })
		x.Go("b", func() { b.Release(1) })
		x.Wait()
		x.Assert(a.Available() == 1 && b.Available() == 1, "a permit was lost or made")
	}, 0},
	{"join of many/steps", func(x *interleave.Run) { // a part that is woken twice is polled twice
		a, b := held(1), held(1)
		all := AllOf(AllOf(request(a), request(b)), request(semaphore.New(1)))
		x.Go("waiter", func() { x.Assert(BlockOn(context.Background(), all) == nil, "lost") })
		x.Go("a", func() { a.Release(1) })
		x.Go("b", func() { b.Release(1) })
		x.Wait()
	}, 0},
	{"join of many/another waker", func(x *interleave.Run) { // the one of the last poll is woken
		a, b := held(1), held(1)
		all := AllOf(request(a), request(b))
		x.Go("waiter", func() {
			if !all.Poll(waiter.WakerFunc(func() {})) {
				x.Assert(BlockOn(context.Background(), all) == nil, "lost")
			}
		})
		x.Go("a", func() { a.Release(1); b.Release(1) })
		x.Wait()
	}, 0},

	{"blocking/result against abort", func(x *interleave.Run) {
		l := newTasks(x)
		h := Go(l.ex, func(cx *Context) (int, error) { return Blocking(cx, func() (int, error) { return 7, nil }) })
		l.wait(context.Background(), h, func(v int, err error) {
			x.Assert(v == 7 && err == nil || v == 0 && err == ErrCancelled, "%d, %v", v, err)
		})
		l.start()
		x.Go("canceller", h.Abort)
		l.finish()
		x.Assert(l.ex.running == 0, "%d functions are counted", l.ex.running)
	}, 0},
	{"blocking/result", func(x *interleave.Run) { // it comes before, while and after the task falls asleep
		l := newTasks(x)
		h := Go(l.ex, func(cx *Context) (int, error) { return Blocking(cx, func() (int, error) { return 7, nil }) })
		l.wait(context.Background(), h, l.seven)
		l.start()
		l.finish()
	}, 0},
}...)

// The larger ones, up to two preemptions.
var tasksTierTwo = []experiment{
	{"join of many/given up", func(x *interleave.Run) { // and waited for again
		a, b := held(1), held(1)
		fa, fb := request(a), request(b)
		all := AllOf(fa, fb)
		x.Go("waiter", func() {
			if !all.Poll(nil) {
				all.Release()
				a.Bind(fa, 1)
				b.Bind(fb, 1)
			}
			x.Assert(BlockOn(context.Background(), &patient{Future: all}) == nil, "lost")
			a.Release(1)
			b.Release(1)
		})
		x.Go("a", func() { a.Release(1); b.Release(1) })
		x.Wait()
		x.Assert(a.Available() == 1 && b.Available() == 1, "a permit was lost or made")
	}, 3},
	{"join of many/late wakes", func(x *interleave.Run) { // while it is given up: it can be waited for again
		s := held(1)
		fa, fb := request(s), request(s)
		a := &caught{Future: fa}
		all := AllOf(a, fb)
		all.Poll(nil)
		x.Go("owner", func() {
			all.Release()
			s.Bind(fa, 1)
			s.Bind(fb, 1)
			for range 2 {
				x.Assert(!all.Poll(nil), "complete")
				x.Assert(a.polls < 6, "%d polls", a.polls)
			}
			all.Release()
		})
		late := a.waker
		x.Go("claimer", func() { late.Wake(); late.Wake() })
		x.Wait()
	}, 3},
	{"panic/wait that is given up", func(x *interleave.Run) { // it gets the panic, or that is reported
		l := newTasks(x)
		reports := l.panics()
		s := held(1)
		h := Go(l.ex, func(cx *Context) (int, error) { _ = Await(cx, request(s)); panic("boo") })
		ctx := x.NewContext()
		l.wait(ctx, h, func(_ int, err error) {
			var e *PanicError
			x.Assert(errors.As(err, &e) || err == context.Canceled, "%v", err)
			if e == nil { // by then, or soon: the worker may be at it
				await(func() bool { return reports.Load() == 1 })
			}
		})
		l.start()
		x.Go("canceller", ctx.Cancel)
		x.Go("releaser", func() { s.Release(1) })
		l.finish()
		x.Assert(reports.Load() <= 1, "%d reports", reports.Load())
	}, 2},
	{"select/aborted", func(x *interleave.Run) { // of a grant and a cancel
		l := newTasks(x)
		a, b := held(1), held(1)
		h := Go(l.ex, func(cx *Context) (int, error) {
			i, err := Select(cx, request(a), request(b))
			l.Assert((i == 0) == (err == nil) && (err == nil || err == ErrCancelled && i == -1), "%d, %v", i, err)
			if err == nil {
				a.Release(1)
			}
			return 7, nil
		})
		l.wait(context.Background(), h, func(_ int, err error) {
			l.Assert(err == nil || err == ErrCancelled, "%v", err)
		})
		l.start()
		x.Go("releaser", func() { a.Release(1) })
		x.Go("canceller", h.Abort)
		l.finish()
		b.Release(1)
		l.requireIdle(a, b)
	}, 2},
	{"handle/await that is aborted", func(x *interleave.Run) {
		l := newTasks(x)
		gone := l.party()
		h := Go(l.ex, func(*Context) (int, error) { defer gone(); return 7, nil })
		waits := Go(l.ex, func(cx *Context) (int, error) { return h.Await(cx) })
		l.wait(context.Background(), waits, func(v int, err error) {
			x.Assert(v == 7 && err == nil || err == ErrCancelled, "%d, %v", v, err)
		})
		l.start()
		x.Go("canceller", waits.Abort)
		l.finish()
	}, 2},
	{"select/straight line", func(x *interleave.Run) { // two grants: one wins, the other is given back
		l := newTasks(x)
		a, b := held(1), held(1)
		h := Go(l.ex, func(cx *Context) (int, error) {
			i, err := Select(cx, request(a), request(b))
			l.Assert(err == nil, "%v", err)
			[]*semaphore.Semaphore{a, b}[i].Release(1)
			return 7, nil
		})
		l.wait(context.Background(), h, l.seven)
		l.start()
		x.Go("a", func() { a.Release(1) })
		x.Go("b", func() { b.Release(1) })
		l.finish()
		l.requireIdle(a, b)
	}, 2},
}

func TestModelTasks(t *testing.T) {
	defer func() { coroutineThread = nil }()
	run(t, interleave.Options{}, tasksTierOne)
}

func TestModelTasksLarge(t *testing.T) {
	if testing.Short() || interleave.RaceEnabled {
		t.Skip("tier two")
	}
	defer func() { coroutineThread = nil }()
	for _, e := range tasksTierTwo {
		run(t, interleave.Options{Mode: interleave.Bounded, Bound: e.bound}, []experiment{e})
	}
}
