package engine

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// Acquire waits for n permits, n > 0, after TryAcquire has failed. It returns nil, ctx.Err(), or an outcome's error;
// with any error the caller holds nothing. It allocates nothing in the steady state.
func (e *Engine) Acquire(ctx context.Context, base, n int64) error {
	done := ctx.Done()
	p := waiter.GetParker(ctx, done)
	p.N = n
	o := e.Enqueue(base, &p.Waiter)
	if o == waiter.Pending {
		if o = p.Park(done); o == waiter.Pending {
			e.withdraw(base, p)
			return ctx.Err()
		}
	}
	p.Put()
	// The cancel wins if it happened before the grant. What happened before the grant is visible here.
	if o == waiter.Granted && done != nil && xsync.IsDone(done) {
		e.giveBack(base, n)
		return ctx.Err()
	}
	return o.Err()
}

// AcquireTimeout is Acquire with a deadline d from now and no context.
func (e *Engine) AcquireTimeout(d time.Duration, base, n int64) error {
	p := waiter.GetParker(context.Background(), nil)
	p.N = n
	o := e.Enqueue(base, &p.Waiter)
	if o == waiter.Pending {
		if o = p.ParkTimeout(d); o == waiter.Pending {
			e.withdraw(base, p)
			return context.DeadlineExceeded
		}
	}
	p.Put()
	return o.Err()
}

// withdraw ends a wait that was given up. If a claimer was faster, its outcome is consumed, and a grant passed on.
func (e *Engine) withdraw(base int64, p *waiter.Parker) {
	n, granted := p.N, false
	if !e.Cancel(base, &p.Waiter) {
		granted = p.Take() == waiter.Granted
	}
	p.Put()
	if granted {
		e.giveBack(base, n)
	}
}
