package engine

import (
	"context"

	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// Acquire waits for n permits, n > 0, after a try has failed. It returns nil, the error of l, or
// that of an outcome; with any error the caller holds nothing. It allocates nothing in the steady
// state.
//
// A cancel that happened before the grant wins. After each grant the context is asked once more, by
// Woken if the caller has slept, otherwise by Keep.
func (e Permits) Acquire(l waiter.Limit, n int64, at Place) error {
	p := waiter.GetParker(l)
	p.N = n
	o := e.Enqueue(&p.Waiter, at)
	if o == waiter.Pending {
		p.Start(l)
		p.Sleeper().SleepInline()
	}
	return await(e, l, p, o)
}

// Await is the second half of Acquire, for callers that do something between queueing and waiting.
// o is what Enqueue returned for p, and l the limit of p. Await puts p.
func (e Permits) Await(l waiter.Limit, p *waiter.Parker, o waiter.Outcome) error {
	if o == waiter.Pending {
		p.Start(l)
	}
	return await(e, l, p, o)
}

// await ends a wait that has started. Its line is that of an engine: [Permits] or [RW].
func await[L waiter.Line](line L, l waiter.Limit, p *waiter.Parker, o waiter.Outcome) error {
	n := p.N
	if o == waiter.Pending {
		o, err := waiter.EndWait(p, l, line)
		if err != nil {
			return err
		}
		p.Put()
		return o.Err()
	}
	p.Put()
	if o == waiter.Granted {
		return waiter.KeepUntil(l, line, n)
	}
	return o.Err()
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
func (e Permits) Begin(n int64) (*waiter.Parker, error) {
	if e.spin(n) {
		return nil, nil
	}
	p := waiter.GetParker(waiter.Limit{})
	p.N = n
	o := e.Enqueue(&p.Waiter, AtBack)
	if o == waiter.Pending {
		return p, nil
	}
	p.Put()
	return nil, o.Err()
}

// End ends what Begin has begun.
func End(p *waiter.Parker) error {
	p.Sleeper().Sleep()
	return told(p)
}

// BeginUntil and EndUntil are Begin and End of a wait with a limit.
func (e Permits) BeginUntil(l waiter.Limit, n int64) (*waiter.Parker, error) {
	if e.spin(n) {
		return nil, waiter.KeepUntil(l, e, n)
	}
	p := waiter.GetParker(l)
	p.N = n
	o := e.Enqueue(&p.Waiter, AtBack)
	if o == waiter.Pending {
		p.Start(l)
		return p, nil
	}
	return nil, await(e, l, p, o)
}

// EndUntil ends what BeginUntil has begun.
func (e Permits) EndUntil(l waiter.Limit, p *waiter.Parker) error {
	if !waiter.WokenIn(p, l, e) {
		return l.Err()
	}
	return told(p)
}

// Wait is BeginUntil, the sleep and EndUntil, for callers whose speed matters less.
func (e Permits) Wait(l waiter.Limit, n int64) error {
	p, err := e.BeginUntil(l, n)
	if p == nil {
		return err
	}
	p.Sleeper().SleepInline()
	return e.EndUntil(l, p)
}

// told returns the error of p's outcome, and puts p.
func told(p *waiter.Parker) error {
	o := p.Outcome()
	p.Put()
	return o.Err()
}

// Keep is called when n permits have just been acquired. If ctx is done it gives them back and
// returns ctx.Err().
func (e Permits) Keep(ctx context.Context, n int64) error {
	return waiter.Keep(ctx, e, n)
}
