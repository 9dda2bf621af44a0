package limit

import (
	"errors"
	"time"

	"github.com/farad-go/farad/sync/semaphore"
)

// again is when a request may come again if nothing is known of the line.
const again = time.Second

// RetryAfter returns how long a client waits before it repeats a request that got no permit because
// of err: what a [semaphore.Refusal] says, or a second. It returns 0 if a repetition is not
// expected to help: the request is larger than the limit, or the semaphore is closed. It is for
// authors of middleware.
func RetryAfter(err error) time.Duration {
	if errors.Is(err, semaphore.ErrTooLarge) || errors.Is(err, semaphore.ErrClosed) {
		return 0
	}
	if refusal, ok := errors.AsType[*semaphore.Refusal](err); ok && refusal.RetryAfter > 0 {
		return refusal.RetryAfter
	}
	return again
}
