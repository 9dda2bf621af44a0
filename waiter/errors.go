package waiter

import (
	"errors"
	"strconv"

	"github.com/farad-go/farad/internal/waiting"
)

// The errors that the locks of this module share. A caller that gets one of them holds nothing.
var (
	// ErrClosed means that the lock was closed before or during the wait.
	ErrClosed = waiting.ErrClosed

	// ErrTooLarge means that the request is for more permits than the lock has in all. A resize
	// during the wait can cause it, too. No release could satisfy such a request, so it does not
	// wait. Semaphores wrap it in an error with the numbers, so match it by [errors.Is].
	ErrTooLarge = waiting.ErrTooLarge

	// ErrQueueFull means that the request would have to wait, and no more waiters are allowed.
	ErrQueueFull = waiting.ErrQueueFull

	// ErrShed means that the request had waited for too long, while too many others came.
	ErrShed = waiting.ErrShed

	// ErrWouldExpire means that the request would have to wait until after its deadline, at the
	// rate at which others are served now.
	ErrWouldExpire = waiting.ErrWouldExpire

	// ErrCancelled is the outcome of a wait in a task that was asked to end, and of a job that was
	// stopped before it began.
	ErrCancelled = errors.New("farad: cancelled")

	// ErrPending means that a future's request has no outcome yet.
	ErrPending = waiting.ErrPending
)

// Oversized returns an [ErrTooLarge] with the numbers: n permits were asked for, of a semaphore
// with size permits in all. pkg is the semaphore's package.
func Oversized(pkg string, n, size int64) error { return &oversized{pkg, n, size} }

type oversized struct {
	pkg     string
	n, size int64
}

// Error implements error.
func (e *oversized) Error() string {
	text := e.pkg + ": a request for " + strconv.FormatInt(e.n, 10) + " permits exceeds the size, " +
		strconv.FormatInt(e.size, 10)
	if e.size == 0 {
		text += "; a semaphore that was not made by New has no permits"
	}
	return text
}

// Unwrap returns [ErrTooLarge].
func (*oversized) Unwrap() error { return ErrTooLarge }
