package engine

import (
	"context"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// Acquire waits for n permits, n > 0, after a try has failed. It returns nil, the error of l, or
// that of an outcome; with any error the caller holds nothing. It allocates nothing in the steady
// state.
//
// A cancel that happened before the grant wins. After each grant the context is asked once more, by
// Woken if the caller has slept, otherwise by Keep.
func (e Permits) Acquire(l waiting.Limit, n int64, at Place) error {
	p := waiting.GetParker(l)
	p.N = n
	o := e.Enqueue(&p.Waiter, at)
	if o == waiting.Pending {
		p.Start(l)
		p.Sleeper().SleepInline()
	}
	return waiting.EndRequest(p, l, e, o)
}

// Await is the second half of Acquire, for callers that do something between queueing and waiting.
// o is what Enqueue returned for p, and l the limit of p. Await puts p.
func (e Permits) Await(l waiting.Limit, p *waiting.Parker, o waiting.Outcome) error {
	if o == waiting.Pending {
		p.Start(l)
	}
	return waiting.EndRequest(p, l, e, o)
}

// spin takes n permits within a moment, if it makes sense to wait so. It joins no queue, so it ends
// when another request does.
func (e Permits) spin(n int64) bool {
	for i := 0; e.Look()&flags == 0 && xsync.Spin(i); i++ {
		if e.TryAcquire(n) {
			return true
		}
	}
	return false
}

// Begin is the first part of an Acquire at the back of the line, without a limit. The others are
// SleepInline of the parker's Sleeper, and End. A caller whose speed matters makes the three calls
// itself: see SleepInline. Begin returns nil, and the error of the outcome, if there is nothing to
// wait for.
func (e Permits) Begin(n int64) (*waiting.Parker, error) {
	if e.spin(n) {
		return nil, nil
	}
	p := waiting.GetParker(waiting.Limit{})
	p.N = n
	o := e.Enqueue(&p.Waiter, AtBack)
	if o == waiting.Pending {
		return p, nil
	}
	p.Put()
	return nil, o.Err()
}

// End ends what Begin has begun.
func End(p *waiting.Parker) error {
	p.Sleeper().Sleep()
	return finish(p)
}

// BeginUntil and EndUntil are Begin and End of a wait with a limit.
func (e Permits) BeginUntil(l waiting.Limit, n int64) (*waiting.Parker, error) {
	if e.spin(n) {
		return nil, waiting.KeepUntil(l, e, n)
	}
	p := waiting.GetParker(l)
	p.N = n
	o := e.Enqueue(&p.Waiter, AtBack)
	if o == waiting.Pending {
		p.Start(l)
		return p, nil
	}
	return nil, waiting.EndRequest(p, l, e, o)
}

// EndUntil ends what BeginUntil has begun.
func (e Permits) EndUntil(l waiting.Limit, p *waiting.Parker) error {
	if !waiting.WokenIn(p, l, e) {
		return l.Err()
	}
	return finish(p)
}

// Wait is BeginUntil, the sleep and EndUntil, for callers whose speed matters less.
func (e Permits) Wait(l waiting.Limit, n int64) error {
	p, err := e.BeginUntil(l, n)
	if p == nil {
		return err
	}
	p.Sleeper().SleepInline()
	return e.EndUntil(l, p)
}

// finish puts p, and returns the error of its outcome.
func finish(p *waiting.Parker) error {
	o := p.Outcome()
	p.Put()
	return o.Err()
}

// Keep is called when n permits have just been acquired. If ctx is done it gives them back and
// returns ctx.Err().
func (e Permits) Keep(ctx context.Context, n int64) error {
	return waiting.Keep(ctx, e, n)
}
