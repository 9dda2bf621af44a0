// Package waiter is what users of this module's locks need to wait without blocking, and what
// authors of executors and of further locks need.
//
// # For programs that use the locks
//
// [Future]: a request that does not block its owner, to any lock of the module.
// The errors: [ErrClosed], [ErrTooLarge], [ErrQueueFull], [ErrShed], [ErrWouldExpire],
// [ErrPending] and [ErrCancelled]. The locks' packages repeat those of their methods.
// [UseChannels] has goroutines wait in channels, for profiles that see nothing else.
//
// # For authors of executors
//
// [Waker], [WakerFunc]: how an executor learns that a future is worth polling.
//
// # For authors of locks
//
// A lock implements [Request]: three methods, over a line of [Waiter]s of its own. [Bind] then
// makes a [Future] wait for it, and [Wait] a goroutine, until a [Limit] ends the wait. An [Outcome]
// travels with each wake-up. The example of Request is such a lock.
//
// The engine below is internal/waiting.
package waiter
