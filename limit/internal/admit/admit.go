// Package admit is how a request waits for its permits, and when one that has been refused may come
// again. The module grpclimit has the same of its own: a module imports only public packages of
// others, so that versions that differ fit.
package admit

import (
	"context"
	"errors"
	"time"

	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync/semaphore"
)

// A Request is one that wants permits.
type Request struct {
	Tenant  any  // whose it is
	Named   bool // it has a tenant
	N       int64
	Longest time.Duration // how long it may wait; 0: any time
}

// Wait waits for the permits of r until ctx ends or the longest wait is over. The end of that is a
// deadline for the semaphore, like one of ctx. If it passes first the error is
// [context.DeadlineExceeded], and ctx has not ended.
func Wait(ctx context.Context, l *limit.Limiter, r Request) (*limit.Permit, error) {
	if r.Longest > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Longest)
		defer cancel()
	}
	if !r.Named {
		return l.Acquire(ctx, r.N)
	}
	if err := l.Semaphore().As(r.Tenant).Acquire(ctx, r.N); err != nil {
		return nil, err
	}
	return l.Start(r.N), nil
}

// again is when a request may come again if nothing is known of the line.
const again = time.Second

// RetryAfter returns how long a client waits before it repeats a request that err has refused, or 0
// if a repetition is not expected to help: the request is larger than the limit, or the semaphore
// is closed.
func RetryAfter(err error) time.Duration {
	if errors.Is(err, semaphore.ErrTooLarge) || errors.Is(err, semaphore.ErrClosed) {
		return 0
	}
	var refusal *semaphore.Refusal
	if errors.As(err, &refusal) && refusal.RetryAfter > 0 {
		return refusal.RetryAfter
	}
	return again
}
