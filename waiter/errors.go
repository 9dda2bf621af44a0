package waiter

import (
	"context"
	"errors"
)

// The errors that all locks of this module share. On every error path the caller holds nothing.
var (
	// ErrClosed is the outcome of a request to a lock that has been closed, before or during the
	// wait.
	ErrClosed = errors.New("farad: closed")

	// ErrTooLarge is the outcome of a request for more permits than there are in all, at the time
	// of the request or after a resize during the wait. No release could ever satisfy it, so it
	// does not wait.
	ErrTooLarge = errors.New("farad: request exceeds size")

	// ErrQueueFull is the outcome of a request that would have had to wait where no more waiters
	// are allowed.
	ErrQueueFull = errors.New("farad: too many waiters")

	// ErrCancelled is the outcome of a wait in a task that was asked to end, and of a job that was
	// stopped before it began.
	ErrCancelled = errors.New("farad: cancelled")

	// ErrPending is what a future reports while its request has no outcome yet.
	ErrPending = errors.New("farad: request is pending")
)

// ContextError returns the error of a context whose done channel is closed. One that breaks its
// contract and has none must not make a wait that was given up look like a success: that is
// [context.Canceled].
func ContextError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Canceled
}
