package engine

import (
	"context"
	"time"

	"github.com/farad-go/farad/waiter"
)

// Acquire waits for n permits, n > 0, after a try has failed. It returns nil, ctx.Err(), or an
// outcome's error; with any error the caller holds nothing. It allocates nothing in the steady
// state.
//
// A cancel that happened before the grant wins: after each grant the context is asked once more.
// Park does so for the one who has slept, Keep for the one who has not.
func (e *Engine) Acquire(ctx context.Context, base, n int64, at Place) error {
	done := ctx.Done()
	p := waiter.GetParker(ctx, done)
	p.N = n
	return e.Await(ctx, done, base, p, e.Enqueue(base, &p.Waiter, at))
}

// Await is the second half of Acquire, for callers that have something to do when they stand in the
// queue: o is what Enqueue returned for p, which was got for ctx and done, its channel. Await puts
// p back.
func (e *Engine) Await(
	ctx context.Context,
	done <-chan struct{},
	base int64,
	p *waiter.Parker,
	o waiter.Outcome,
) error {
	if o == waiter.Pending {
		if !p.Park(ctx, done) {
			e.withdraw(base, p)
			return waiter.ContextError(ctx)
		}
		o = p.Outcome()
		p.Put()
		return o.Err()
	}
	n := p.N
	p.Put()
	if o == waiter.Granted {
		return e.Keep(ctx, base, n)
	}
	return o.Err()
}

// Keep is for n permits that have just been acquired. It returns nil if ctx had not ended before;
// otherwise it gives them back and returns ctx.Err(). To ask before the acquire is not enough:
// between the question and the grant the context may end, and then the permits become free; even
// the word may be what it was.
func (e *Engine) Keep(ctx context.Context, base, n int64) error {
	err := ctx.Err()
	if err != nil {
		e.giveBack(base, n)
	}
	return err
}

// AcquireTimeout is Acquire with a deadline d from now and no context.
func (e *Engine) AcquireTimeout(d time.Duration, base, n int64, at Place) error {
	p := waiter.GetParker(context.Background(), nil)
	p.N = n
	return e.AwaitTimeout(d, base, p, e.Enqueue(base, &p.Waiter, at))
}

// AwaitTimeout is the second half of AcquireTimeout, as Await is of Acquire.
func (e *Engine) AwaitTimeout(d time.Duration, base int64, p *waiter.Parker, o waiter.Outcome) error {
	if o == waiter.Pending {
		if !p.ParkTimeout(d) {
			e.withdraw(base, p)
			return context.DeadlineExceeded
		}
		o = p.Outcome()
	}
	p.Put()
	return o.Err()
}

// withdraw ends a wait that was given up. If a claimer was faster and granted the request, the
// grant is passed on.
func (e *Engine) withdraw(base int64, p *waiter.Parker) {
	n := p.N
	if p.Withdraw(!e.Cancel(base, &p.Waiter)) == waiter.Granted {
		e.giveBack(base, n)
	}
}
