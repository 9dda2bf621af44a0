// Package admit is what the adapters of limiters have in common: how a request waits for its
// permits, and when one that has been refused may come again.
package admit

import (
	"context"
	"errors"
	"time"

	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync/semaphore"
)

// Wait waits for n permits of l until ctx ends, but no longer than longest if that is positive. The
// end of that time is a deadline for the semaphore, like one of ctx. If it passes first the error
// is [context.DeadlineExceeded], and ctx has not ended.
func Wait(ctx context.Context, l *limit.Limiter, n int64, longest time.Duration) (*limit.Permit, error) {
	if longest > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, longest)
		defer cancel()
	}
	return l.Acquire(ctx, n)
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
	return again
}
