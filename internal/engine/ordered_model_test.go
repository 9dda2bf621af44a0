//go:build interleave

package engine

import (
	"context"
	"slices"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/order"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// An orderedSubject is what the threads of a scenario work with at an ordered engine, as the façade
// does. As a request it is that of one future.
type orderedSubject struct {
	Permits
	w    *world
	who  any // whose requests these are; nil: the running thread's tenant's
	line Ordered
}

// by returns who asks.
func (s *orderedSubject) by() order.By {
	switch {
	case s.who != nil:
		return s.w.byOf(s.who)
	case s.w.divided || s.w.anyOrder:
		return s.w.byOf(s.w.tenants[s.w.Running()])
	}
	return s.w.byOf(nil) // also before the threads run
}

func (w *world) byOf(tenant any) order.By {
	if tenant == nil && w.classes {
		tenant = 0
	}
	return order.By{Tenant: tenant, Weight: w.e.Opts.Order.Weigh(tenant)}
}

func (s *orderedSubject) Acquire(l waiting.Limit, n int64, _ Place) error {
	by := s.by()
	p, line, err := s.BeginBy(l, n, &by)
	if p == nil {
		return err
	}
	p.Sleeper().SleepInline()
	return line.End(l, p)
}

func (s *orderedSubject) Start(w *waiting.Waiter, waker waiting.Waker) (o waiting.Outcome) {
	s.line, o = s.StartBy(w, waker, s.by)
	return o
}

func (s *orderedSubject) Unlink(w *waiting.Waiter) bool { return s.line.Unlink(w) }

// as makes the requests of the running thread those of a tenant.
func (w *world) as(tenant any) { w.tenants[w.Running()] = tenant }

// checkOrdered checks the invariants of ordered.go.
func (w *world) checkOrdered(o State, free int64, line []*waiting.Waiter) {
	staged := w.stagedNow()
	w.Assert(staged <= 1, "invariant 10: %d requests are staged", staged)
	if w.e.Opts.Order.Len() > 0 {
		w.Assert(o&flagWaiters != 0, "invariant 9: a request is in the order, and W is clear")
		w.Assert(staged == 1 || free <= 0, "invariant 9: %d permits are free, and none is staged", free)
	}
	for i, q := range line {
		w.Assert(!slices.Contains(line[:i], q), "invariant 8: a request waits in two places")
	}
}

func (w *world) stagedNow() int {
	staged := w.e.list.Len()
	if w.e.slot.Load() != nil {
		staged++
	}
	return staged
}

// A passed is a request that waits, with what others have got before it.
type passed struct {
	w     *waiting.Waiter
	by    order.By
	own   int64         // permits of the tenant's requests in the order up to this one
	first []passer      // those that were there when it came
	got   map[any]int64 // by tenant: all but what was staged when it came
	later int64         // by those that came later
}

type passer struct {
	w      *waiting.Waiter
	staged bool
}

// mostAtOnce is the largest request of the scenarios whose bounds are checked.
const mostAtOnce = 2

// followDivided checks the bounds of overtaking, in scenarios in which nobody gives up: who leaves
// was granted. by returns who asks for what is new.
func (w *world) followDivided(line []*waiting.Waiter, by func() order.By) {
	for _, q := range slices.Clone(w.passing) {
		if slices.Contains(line, q.w) {
			continue
		}
		w.passing = slices.DeleteFunc(w.passing, func(r *passed) bool { return r == q })
		for _, r := range w.passing {
			w.passes(q, r)
		}
	}
	staged := w.stagedNow()
	for i, n := range line {
		if slices.ContainsFunc(w.passing, func(q *passed) bool { return q.w == n }) {
			continue
		}
		q := &passed{w: n, by: by(), got: map[any]int64{}}
		for _, r := range w.passing {
			at := slices.Index(line, r.w)
			q.first = append(q.first, passer{r.w, at < staged})
			if at >= staged && r.by.Tenant == q.by.Tenant {
				q.own += r.w.N
			}
		}
		if i >= staged {
			q.own += n.N
		}
		w.passing = append(w.passing, q)
	}
}

// passes notes that q was granted while r waits.
func (w *world) passes(q, r *passed) {
	at := slices.IndexFunc(r.first, func(p passer) bool { return p.w == q.w })
	if at < 0 {
		r.later += q.w.N
	}
	if at < 0 || !r.first[at].staged {
		r.got[q.by.Tenant] += q.w.N
	}
	switch class, ok := r.by.Tenant.(int); {
	case r.own == 0: // it was staged at once: see below
		w.Assert(r.later == 0, "the request that is next was overtaken")
	case !w.classes:
		for tenant, got := range r.got {
			if tenant != r.by.Tenant {
				weight := int64(w.e.Opts.Order.Weigh(tenant))
				most := (r.own*weight+int64(r.by.Weight)-1)/int64(r.by.Weight) + mostAtOnce
				w.Assert(got <= most, "%v has got %d before %v, and at most %d may it", tenant, got, r.by.Tenant, most)
			}
		}
	case ok && class > 0:
		most := int64(class*w.aging) - 1 + mostAtOnce
		w.Assert(r.later <= most, "class %d was overtaken for %d permits of at most %d", class, r.later, most)
	default:
		w.Assert(r.later == 0, "class 0 was overtaken")
	}
}

// flood has n requests of a tenant wait, each of which gives back what it is granted at once.
func (w *world) flood(tenant any, n int) {
	for range n {
		f, s := new(waiting.Future), &orderedSubject{Permits: w.e.From(w.base), w: w, who: tenant}
		waiting.Bind(f, s, 1)
		w.Assert(!f.Poll(waiter.WakerFunc(func() { f.Release() })), "no request waits")
		w.followDivided(w.line(), s.by)
	}
}

// useAs has the thread's tenant use n permits.
func useAs(tenant any, n int64) func(w *world) {
	return func(w *world) { w.as(tenant); w.use(n) }
}

var shares, classes = &order.Config{Shares: true}, &order.Config{Classes: 3, Aging: 1}

// doubled gives the tenant 2 twice the weight.
var doubled = &order.Config{Shares: true, Weight: func(tenant any) int {
	if tenant == 2 {
		return 2
	}
	return 1
}}

var ordered = []scenario{
	{name: "shares/flood", size: 1, order: shares, body: func(w *world) {
		w.begin(1)
		w.flood(1, 5)
		w.Go("b", func() { w.as(2); w.use(1) })
		w.Go("holder", func() { w.release(1) })
	}},
	{name: "shares/flood, weight", size: 1, order: doubled, body: func(w *world) {
		w.begin(1)
		w.flood(1, 4)
		w.Go("b", func() { w.as(2); w.use(1); w.use(1) })
		w.Go("holder", func() { w.release(1) })
	}},
	{name: "shares/flood of the heavy", size: 1, order: doubled, body: func(w *world) {
		w.begin(1)
		w.flood(2, 6)
		w.Go("b", func() { w.as(1); w.use(1) })
		w.Go("holder", func() { w.release(1) })
	}},
	{name: "shares/three", size: 1, order: shares, body: each(useAs(1, 1), useAs(2, 1), useAs(2, 1))},
	{name: "shares/large", size: 2, order: shares, body: each(useAs(1, 2), useAs(2, 1), useAs(1, 1))},
	{name: "shares/large among a flood", size: 2, order: shares, body: func(w *world) {
		w.begin(2)
		w.flood(1, 4)
		w.Go("b", func() { w.as(2); w.use(2) })
		w.Go("holder", func() { w.release(1); w.release(1) })
	}},
	{name: "classes/flood of the urgent", size: 1, order: classes, body: func(w *world) {
		w.begin(1)
		w.flood(0, 1)
		w.Go("slow", func() { w.as(2); w.use(1) })
		w.Go("urgent", func() { w.as(0); w.use(1); w.use(1); w.use(1) })
		w.Go("holder", func() { w.release(1) })
	}},
	{name: "classes/flood of the urgent that come later", size: 1, order: classes, body: func(w *world) {
		w.begin(1)
		w.flood(0, 1)
		w.flood(2, 1)
		w.flood(0, 5)
		w.Go("holder", func() { w.release(1) })
	}},
	{name: "shares/resize beside a hand-over", size: 1, order: shares, body: func(w *world) {
		w.begin(1)
		w.flood(1, 3)
		w.Go("holder", func() { w.release(1) })
		w.Go("resizer", func() { w.resize(1) })
	}},
	{name: "shares/two hand over", size: 2, order: shares, body: func(w *world) {
		w.begin(2)
		w.flood(1, 2)
		w.flood(2, 2)
		w.Go("holder", func() { w.release(1) })
		w.Go("other", func() { w.release(1) })
	}},
	{name: "shares/two hand over beside a debt", size: 2, order: shares, body: func(w *world) {
		w.begin(2)
		w.flood(1, 2)
		w.Go("holder", func() { w.release(1) })
		w.Go("other", func() { w.release(1) })
		w.Go("resizer", func() { w.resize(1) })
	}},
	{name: "shares/debt beside a hand-over", size: 2, order: shares, body: func(w *world) {
		w.begin(2)
		w.flood(1, 2)
		w.Go("holder", func() { w.release(1); w.release(1) })
		w.Go("resizer", func() { w.resize(1) })
	}},
	{name: "classes/three", size: 1, order: classes, body: each(useAs(0, 1), useAs(1, 1), useAs(2, 1))},
	{name: "classes/large", size: 2, order: classes, body: each(useAs(2, 2), useAs(0, 1), useAs(1, 1))},
}

// leaving has requests of several tenants end in every way.
var leaving = []scenario{
	{name: "timeout", size: 1, body: each(useAs(1, 1), func(w *world) { w.as(2); w.useFor(1) }, useAs(2, 1))},
	{name: "timeout of the large", size: 2, body: each(
		useAs(1, 1), func(w *world) { w.as(2); w.useFor(2) }, useAs(1, 1))},
	{name: "cancel", size: 1, body: cancelled(true, func(w *world, ctx context.Context) {
		w.Go("a", func() { w.as(1); w.use(1) })
		w.Go("b", func() { w.as(2); w.useOr(ctx, 1, context.Canceled) })
	})},
	{name: "timeout beside one who holds", size: 1, body: func(w *world) {
		w.begin(1)
		w.flood(1, 1)
		w.Go("t", func() {
			w.as(2)
			w.Assert(w.acquireTimeout(1) == context.DeadlineExceeded, "acquired what another holds")
			w.release(1)
		})
	}},
	{name: "close beside one who holds", size: 1, body: func(w *world) {
		w.begin(1)
		w.flood(1, 1)
		w.Go("closer", func() { w.e.Close() })
		w.Go("t", func() {
			w.as(2)
			w.Assert(w.acquire(bg, 1) == waiter.ErrClosed, "acquired what another holds")
			w.release(1)
		})
	}},
	{name: "future", size: 1, body: each(
		useAs(1, 1), func(w *world) { w.as(2); w.drop(w.future(1), 1) }, useAs(0, 1))},
	{name: "future and again", size: 1, body: each(
		useAs(1, 1), func(w *world) {
			w.as(2)
			f := w.future(1)
			w.drop(f, 1)
			waiting.Bind(f, w.permits(), 1)
			w.finishFuture(w.await1(f, 1), 1)
		})},
	{name: "resize", size: 2, body: each(
		func(w *world) { w.resize(1) }, func(w *world) { w.as(1); w.useOr(bg, 2, waiter.ErrTooLarge) }, useAs(2, 1))},
	{name: "resize of those in the order", size: 2, body: func(w *world) {
		w.begin(2)
		w.Go("holder", func() { w.release(2) })
		w.Go("resizer", func() { w.resize(1) })
		w.Go("a", func() { w.as(1); w.useOr(bg, 2, waiter.ErrTooLarge) })
		w.Go("b", func() { w.as(2); w.useOr(bg, 2, waiter.ErrTooLarge) })
	}},
	{name: "close", size: 1, body: each(
		func(w *world) { w.e.Close() },
		func(w *world) { w.as(1); w.useOr(bg, 1, waiter.ErrClosed) },
		func(w *world) { w.as(2); w.useOr(bg, 1, waiter.ErrClosed) })},
	{name: "close of those in the order", size: 1, body: func(w *world) {
		w.begin(1)
		w.Go("holder", func() { w.release(1) })
		w.Go("closer", func() { w.e.Close() })
		w.Go("a", func() { w.as(1); w.useOr(bg, 1, waiter.ErrClosed) })
		w.Go("b", func() { w.as(2); w.useFor(1, waiter.ErrClosed) })
	}},
	{name: "set", size: 1, body: each(
		func(w *world) { w.e.SetQueue(order.Queue{MaxWaiting: 1}) },
		func(w *world) { w.as(1); w.useOr(bg, 1, waiter.ErrQueueFull) },
		func(w *world) { w.as(2); w.useOr(bg, 1, waiter.ErrQueueFull) },
		func(w *world) { w.as(2); w.useOr(bg, 1, waiter.ErrQueueFull) })},
	{name: "shed", size: 1, body: func(w *world) {
		w.e.SetQueue(order.Queue{Shed: order.ShedAdaptiveLIFO, Target: 1, Interval: 1})
		w.begin(1)
		w.flood(0, 1)
		w.Go("holder", func() { w.release(1) })
		w.Same(3, "t", func(int) { w.as(1); w.useOr(bg, 1, waiter.ErrShed) })
	}},
	{name: "demand for the time", size: 1, body: each(
		useAs(1, 1), useAs(2, 1), func(w *world) {
			d := w.e.Delay(&order.By{Tenant: 1, Weight: 1}, 1)
			w.Assert(d == 0, "after two requests the rate is known: %v", d)
		})},
}

// A change is something that is done to an ordered engine that is in use.
type change func(w *world)

func set(q order.Queue) change { return func(w *world) { w.e.SetQueue(q) } }

func sized(n int64) change { return func(w *world) { w.resize(n) } }

func watch(on bool) change { return func(w *world) { w.observe(on) } }

func closing(w *world) { w.e.Close() }

// mayEnd are the ways in which a request may end beside changes.
var mayEnd = []error{
	waiter.ErrClosed, waiter.ErrTooLarge, waiter.ErrQueueFull, waiter.ErrShed, waiter.ErrWouldExpire,
}

// changed has two tenants wait for an engine of two permits, and a thread make changes, at every
// point of what they and the holder do.
func changed(changes ...change) func(w *world) {
	return func(w *world) {
		w.observes = true
		w.begin(2)
		w.flood(1, 1)
		w.Go("holder", func() { w.release(2) })
		w.Go("large", func() { w.as(2); w.useOr(bg, 2, mayEnd...) })
		w.Go("changer", func() {
			for _, c := range changes {
				c(w)
			}
		})
	}
}

// atOnce has the queue, the size and the observation of an engine change at once.
var atOnce = []scenario{
	{name: "set, resize, observe", size: 2, body: changed(set(order.Queue{MaxWaiting: 1}), sized(1), watch(true))},
	{name: "resize, set, close", size: 2, body: changed(sized(1), set(order.Queue{MaxWaiting: 1}), closing)},
	{name: "observe, shed, resize", size: 2, body: changed(watch(true), set(shedding), sized(3))},
	{name: "shed, close, set", size: 2, body: changed(set(shedding), closing, set(order.Queue{}))},
	{name: "shrink, shed, grow", size: 2, body: changed(sized(0), set(shedding), sized(2))},
	{name: "close, resize, observe", size: 2, body: changed(closing, sized(1), watch(true))},
	{name: "refuse late, shrink, close", size: 2, body: changed(
		set(order.Queue{RefuseLate: true, Shed: order.ShedCoDel, Target: 1, Interval: 1}), sized(1), closing)},
	{name: "two who change", size: 2, body: func(w *world) {
		w.observes = true
		w.begin(2)
		w.flood(1, 2)
		w.Go("holder", func() { w.release(2) })
		w.Go("setter", func() { w.e.SetQueue(shedding); w.observe(true) })
		w.Go("closer", func() { w.resize(1); w.e.Close() })
	}},
}

// shedding ends all requests that have waited at all, but the last one.
var shedding = order.Queue{Shed: order.ShedAdaptiveLIFO, Target: 1, Interval: 1}

// Of one tenant, or in one class, all scenarios of a line that is first-in-first-out hold.
func TestModelOneTenant(t *testing.T) {
	for name, c := range map[string]*order.Config{"line": {}, "shares": shares, "classes": classes} {
		if name != "shares" && testing.Short() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, s := range tierOne {
				if s.base == Everyone {
					continue
				}
				s.order = c
				explore(t, orderedOptions(), s)
			}
		})
	}
}

// In every schedule a request is overtaken as far as the policy allows.
func TestModelOrdered(t *testing.T) {
	for _, s := range ordered {
		s.divided = true
		explore(t, orderedOptions(), s)
	}
}

// However requests leave, no permit is lost, and nobody waits for ever.
func TestModelLeaving(t *testing.T) {
	for name, c := range map[string]*order.Config{"shares": shares, "classes": classes} {
		t.Run(name, func(t *testing.T) {
			for _, s := range leaving {
				s.order, s.anyOrder = c, true
				explore(t, orderedOptions(), s)
			}
		})
	}
}

// Whatever is changed at once, no permit is lost, and nobody waits for ever.
func TestModelChangesAtOnce(t *testing.T) {
	for name, c := range map[string]*order.Config{"line": {}, "shares": shares, "classes": classes} {
		t.Run(name, func(t *testing.T) {
			for _, s := range atOnce {
				s.order, s.anyOrder = c, true
				explore(t, orderedOptions(), s)
			}
		})
	}
}

func orderedOptions() interleave.Options {
	if testing.Short() || interleave.RaceEnabled {
		return interleave.Options{Mode: interleave.Bounded, Bound: 2}
	}
	return within3
}
