// Package waiter is how everything in this module waits: goroutines, selects and polled tasks.
//
// A request stands in a queue as a node, a [Waiter]. A goroutine's node is part of a [Parker], in
// which the goroutine sleeps. A task's or a select's node is part of a [Future]. A release unlinks
// the node, and delivers the outcome after it has released its lock. So all kinds of waiters stand
// in one line, and waiting allocates nothing.
//
// # For programs that use the locks
//
// [Future]: a request that does not block its owner, to any lock of the module. The errors:
// [ErrClosed], [ErrTooLarge], [ErrQueueFull], [ErrShed], [ErrWouldExpire], [ErrPending] and
// [ErrCancelled]. The locks' packages repeat those of their methods. [UseChannels] has goroutines
// wait in channels, for profiles that see nothing else.
//
// # For authors of executors, futures and locks
//
// These are meant to stay as they are:
//
//	Waker, WakerFunc, Owner   how an executor is told that a future is worth polling
//	Limit                     when a wait ends early: context, duration, or never
//	Parker                    how a goroutine sleeps until Deliver tells its node an outcome
//	the errors                what a lock returns
//
// # For this module only
//
// Everything else is exported because the packages of this module share it. It may change in any
// release:
//
//	Waiter, Outcome, Status   the node, and the hand-shake between its owner and its claimer
//	Queue, WakeList           the order; waking in batches after the lock is released
//	Line, Wait, Keep          the one place where a wait ends early and a late grant is given back
//	Request, Bind, Reuse      what a lock is to its futures: request.go
//	InBubble, ContextError    testing/synctest; contexts that break their contract
//
// The package imports the standard library, internal/xsync and internal/linked. To understand it,
// read waiter.go first (the node), then parker.go and wait.go (a goroutine's wait), then future.go
// and request.go. The files watch.go and context.go make many waits on one context share one
// registration.
package waiter
