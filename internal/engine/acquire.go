package engine

import (
	"context"

	"github.com/farad-go/farad/waiter"
)

// Acquire waits for n permits, n > 0, after a try has failed. It returns nil, the error of l, or
// that of an outcome; with any error the caller holds nothing. It allocates nothing in the steady
// state.
//
// A cancel that happened before the grant wins. After each grant the context is asked once more, by
// Park if the caller has slept, otherwise by Keep.
func (e *Engine) Acquire(l waiter.Limit, base, n int64, at Place) error {
	p := waiter.GetParker(l)
	p.N = n
	return e.Await(l, base, p, e.Enqueue(base, &p.Waiter, at))
}

// Await is the second half of Acquire, for callers that do something between queueing and waiting.
// o is what Enqueue returned for p, and l the limit of p. Await puts p.
func (e *Engine) Await(l waiter.Limit, base int64, p *waiter.Parker, o waiter.Outcome) error {
	n := p.N
	if o == waiter.Pending {
		o, err := waiter.Wait(p, l, e.From(base))
		if err != nil {
			return err
		}
		p.Put()
		return o.Err()
	}
	p.Put()
	if o == waiter.Granted {
		return waiter.Keep(e.From(base), n, l.Cancelled())
	}
	return o.Err()
}

// Keep is called when n permits have just been acquired. If ctx is done it gives them back and
// returns ctx.Err().
func (e *Engine) Keep(ctx context.Context, base, n int64) error {
	return waiter.Keep(e.From(base), n, ctx.Err())
}
