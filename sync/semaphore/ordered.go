package semaphore

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/order"
	"github.com/farad-go/farad/internal/waiting"
)

// An ordered is the policy of [WithShares], [WithPriorities] and [WithQueue]. The permits are those
// of the semaphore's own engine, so its fast paths are those of every semaphore. What waits stands
// in the engine's order.
type ordered struct {
	s      *Semaphore
	order  *order.Order // guarded by the engine's lock, but for Check, Weigh and RefusesLate
	nobody any          // the tenant of who names none
}

// newOrdered makes s, which is zero, an ordered one.
func newOrdered(s *Semaphore, n int64, o *options) *ordered {
	p := &ordered{s: s, order: newOrder(o)}
	if o.order.Classes > 0 {
		p.nobody = 0
	}
	o.Order = p.order
	s.permits().Init(min(n, MaxPermits), &o.Options)
	return p
}

// newOrder makes the order that o asks for.
func newOrder(o *options) *order.Order {
	switch {
	case o.twa || o.members > 0:
		panic("semaphore: WithShares, WithPriorities or WithQueue together with WithWaitingArray or WithCapacitor")
	case o.order.Shares && o.order.Classes > 0:
		panic("semaphore: WithShares and WithPriorities")
	case o.queue && o.MaxWaiting > 0:
		panic("semaphore: WithQueue and WithMaxWaiting")
	case o.MaxWaiting > 0:
		o.order.MaxWaiting, o.MaxWaiting = o.MaxWaiting, 0
	}
	made := order.New(o.order)
	checkQueue(made, o.order.Queue)
	return made
}

func (p *ordered) permits() engine.Permits { return p.s.permits() }

func checkQueue(o *order.Order, q order.Queue) {
	q.Check()
	if q.MaxWaitingPerTenant > 0 && !o.Divided() {
		panic("semaphore: MaxWaitingPerTenant without WithShares and WithPriorities")
	}
}

func (p *ordered) set(q order.Queue) {
	checkQueue(p.order, q)
	p.permits().SetQueue(q)
}

// ask sets by, which is zero, to who asks, and until when. work says that l is a context's, which
// ends the work, too: a timeout ends the wait alone.
func (p *ordered) ask(by *order.By, l waiting.Limit, work bool, tenant any) {
	by.Tenant, by.Weight = tenant, p.order.Weigh(tenant)
	if p.order.RefusesLate() {
		by.Deadline = l.Deadline()
		if work {
			by.Permits = p.Size()
		}
	}
}

// acquire waits for n permits, n > 0, after a try has failed. [Tenant.Acquire] does the same in
// its own body: the processor mispredicts each return after a sleep.
func (p *ordered) acquire(l waiting.Limit, by *order.By, n int64) error {
	k, line, err := p.permits().BeginBy(l, n, by)
	if k != nil {
		k.Sleeper().SleepInline()
		err = line.End(l, k)
	}
	return p.explain(err, by, n)
}

// explain returns err, with when to come back if a queue has refused the request, or with the
// numbers if it is too large.
func (p *ordered) explain(err error, by *order.By, n int64) error {
	err = p.s.named(err, n)
	if isRefusal(err) {
		return &Refusal{err, p.permits().Delay(by, n)}
	}
	return err
}

func isRefusal(err error) bool {
	return err == ErrQueueFull || err == ErrShed || err == ErrWouldExpire //nolint:errorlint // they are never wrapped
}

// Acquire implements policy, and so do the others.
func (p *ordered) Acquire(ctx context.Context, n int64) error {
	if n == 0 {
		return p.closed()
	}
	l := waiting.Until(ctx, 0)
	var by order.By
	p.ask(&by, l, true, p.nobody)
	return p.acquire(l, &by, n)
}

func (p *ordered) AcquireTimeout(d time.Duration, n int64) error {
	l := waiting.After(d)
	var by order.By
	p.ask(&by, l, false, p.nobody)
	return p.acquire(l, &by, n)
}

func (p *ordered) TryAcquire(n int64) bool {
	if n == 0 {
		return p.closed() == nil
	}
	return p.permits().TryObserved(n)
}

func (p *ordered) closed() error {
	if p.s.e.IsClosed() {
		return ErrClosed
	}
	return nil
}

func (p *ordered) Release(n int64) {
	if n > 0 && !p.permits().Release(n) {
		panic(overReleased("released", n, p.Size(), p.Available()))
	}
}

func (p *ordered) Size() int64 { return p.permits().Size() }

func (p *ordered) Available() int64 { return p.permits().Available() }

func (p *ordered) held() int64 { return p.permits().Held() }

func (p *ordered) Waiting() int { return p.s.e.Waiting() }

func (p *ordered) Resize(n int64) { p.permits().Resize(min(n, MaxPermits)) }

func (p *ordered) Close() {} // the engine is closed already

// An orderedRequest is a request of an ordered semaphore.
type orderedRequest struct {
	p      *ordered
	tenant any
	line   engine.Ordered
}

func (p *ordered) request(f *waiting.Future) waiting.Request {
	r := waiting.Reuse[orderedRequest](f)
	*r = orderedRequest{p: p, tenant: p.nobody}
	return r
}

// Start implements [waiting.Request].
func (r *orderedRequest) Start(w *waiting.Waiter, waker waiting.Waker) (o waiting.Outcome) {
	r.line, o = r.p.permits().StartBy(w, waker, r.by)
	return o
}

func (r *orderedRequest) by() (by order.By) {
	r.p.ask(&by, waiting.Limit{}, false, r.tenant)
	return by
}

func (r *orderedRequest) whose() any { return r.tenant }

func (r *orderedRequest) as(tenant any) { r.tenant = tenant }

func (r *orderedRequest) explain(err error, n int64) error {
	if !isRefusal(err) {
		return err
	}
	by := r.by()
	return r.p.explain(err, &by, n)
}

// Unlink implements [waiting.Line].
func (r *orderedRequest) Unlink(w *waiting.Waiter) bool { return r.line.Unlink(w) }

// GiveBack implements [waiting.Line].
func (r *orderedRequest) GiveBack(n int64) bool { return r.p.permits().GiveBack(n) }
