package engine

import (
	"time"

	"github.com/farad-go/farad/internal/order"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// An ordered engine has an [order.Order], guarded by mu, which says who comes next. The slot and
// the list hold one request between them: the staged one, which has been taken out of the order and
// will be granted next. So the fast path, the slot and the rules for large requests are those of
// every engine.
//
// Invariants, besides those of Engine:
//
//  8. A request waits in one of the slot, the list and the order, until exactly one claimer takes
//     it out, under mu or by the slot. (TestModelOrdered)
//  9. When mu is free and a request waits in the order, W is set, and one is staged unless a
//     release has just taken it out of the slot. Then no permit is free: that release has passed
//     its permit on. (TestModelOrdered)
//  10. A request is staged only when no other one is. So what comes next is decided as late as it
//     can be, and a request is overtaken as the order allows and by the staged one.
//     (TestModelOrdered, TestModelOneTenant)

// ordered reports whether e has an order.
func (e *Engine) ordered() bool { return e.Opts != nil && e.Opts.Order != nil }

// stagedLocked reports whether the slot or the list holds a request.
func (e *Engine) stagedLocked() bool { return e.list.Front() != nil || e.slot.Load() != nil }

// stageLocked moves the request that comes next out of the order, if none is staged. It reports
// whether it has moved one. What the order sheds it adds to wake. The state is o, but for W: a
// request for one permit waits in the slot only while none is free.
func (e Permits) stageLocked(o State, wake *waiting.WakeList) bool {
	if !e.ordered() || e.stagedLocked() {
		return false
	}
	w := e.Opts.Order.Pop(e.nowLocked(), wake)
	switch {
	case w == nil:
		return false
	case w.N == 1 && e.free(o) == 0:
		e.slot.Store(w)
	default:
		e.list.PushBack(w)
	}
	return true
}

// nowLocked reads the clock if the order wants to know the time.
func (e *Engine) nowLocked() int64 {
	if !e.Opts.Order.Timed() {
		return 0
	}
	return xsync.Now()
}

// waitsLocked reports whether a request waits.
func (e *Engine) waitsLocked() bool {
	return e.stagedLocked() || e.ordered() && e.Opts.Order.Len() > 0
}

// An Ordered is the [waiting.Line] of one request to an ordered engine.
type Ordered struct {
	Permits
	ticket *order.Ticket // of a request that was put into the order; nil: it was staged at once
}

// EnqueueBy is [Permits.Enqueue] at an ordered engine, at the back of what by says. It returns the
// line that the request stands in.
func (e Permits) EnqueueBy(w *waiting.Waiter, by *order.By) (Ordered, waiting.Outcome) {
	var wake waiting.WakeList
	e.mu.Lock()
	t, outcome := e.enqueueByLocked(w, by, &wake)
	e.mu.Unlock()
	deliver(e, &wake)
	return Ordered{e, t}, outcome
}

func (e Permits) enqueueByLocked(
	w *waiting.Waiter, by *order.By, wake *waiting.WakeList,
) (*order.Ticket, waiting.Outcome) {
	// A release may take the staged request out of the slot at any moment, so ask once.
	if staged := e.stagedLocked() || e.stageLocked(e.Look(), wake); !staged {
		// Nobody waits. So if W is set no permit has been free since the slot's waiter was served.
		held := e.Look()&flagWaiters != 0
		outcome := e.enqueueLocked(w, AtBack)
		if outcome == waiting.Pending {
			e.Opts.Order.Stage(by.Tenant, w.N, e.nowLocked(), held)
		}
		return nil, outcome
	}
	// One is staged, so the engine is not closed.
	if w.N > e.Size() {
		return nil, waiting.TooLarge
	}
	return e.Opts.Order.Push(w, by, e.nowLocked(), true, wake)
}

// BeginBy is [Permits.BeginUntil] at an ordered engine. The caller sleeps, and calls End.
func (e Permits) BeginBy(l waiting.Limit, n int64, by *order.By) (*waiting.Parker, Ordered, error) {
	p := waiting.GetParker(l)
	p.N = n
	line, o := e.EnqueueBy(&p.Waiter, by)
	if o == waiting.Pending {
		if l.MayEnd() {
			p.Start(l)
		}
		return p, line, nil
	}
	return nil, line, waiting.EndRequest(p, l, line, o)
}

// End ends what BeginBy has begun.
func (l Ordered) End(limit waiting.Limit, p *waiting.Parker) error {
	if !limit.MayEnd() {
		return End(p)
	}
	if !waiting.WokenIn(p, limit, l) {
		return limit.Err()
	}
	return finish(p)
}

// Unlink implements [waiting.Line].
func (l Ordered) Unlink(w *waiting.Waiter) bool {
	var wake waiting.WakeList
	l.mu.Lock()
	// In the order nobody waits behind w, so nobody has to be served.
	ok := l.ticket != nil && l.Opts.Order.Remove(l.ticket, w) || l.unlinkLocked(w, &wake)
	l.mu.Unlock()
	deliver(l, &wake)
	return ok
}

// SetQueue changes what happens when the line is long.
func (e *Engine) SetQueue(q order.Queue) {
	e.mu.Lock()
	e.Opts.Order.Set(q)
	e.mu.Unlock()
}

// Delay returns how long a request for n permits would wait, 0 if that is not known.
func (e *Engine) Delay(by *order.By, n int64) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.Opts.Order.Delay(by.Tenant, by.Weight, n)
}
