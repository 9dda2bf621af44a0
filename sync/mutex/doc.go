// Package mutex provides a mutual exclusion lock that can be waited for with a context, with a
// timeout, in a select, or by polling, in strict first-in-first-out order and without an allocation
// per wait.
//
// # Which call
//
//	you want to                          use
//	lock, as with sync.Mutex             Lock, Unlock
//	lock, and give up with a context     LockContext
//	lock, and give up after a time       LockTimeout
//	lock if it is free                   TryLock
//	wait in Go's select                  LockFuture, its Done
//	wait in a task of an executor        LockFuture, its Poll: rt.Await(cx, &f)
//	keep lock and data together          Guard
//	have very many, or no room           Word (4 bytes), Packed (2 bits each), Pointer (2 bits of a pointer)
//
// What follows is about Mutex. The small ones can be given up with a context, too, but are not
// fair, and have no futures; their own documentation has more.
//
// # Order
//
// The lock goes to whoever has waited longest, whoever waits and however. TryLock fails while
// somebody waits. So nobody starves; the price is that under contention each hand-over costs a
// switch, and that a [sync.Mutex], which lets a running goroutine overtake those that sleep, is
// several times faster there. For a lock that is hardly ever contended the two cost the same.
//
// # Cancellation
//
// A context that is done never locks. A wait that ends by its context or its time leaves the queue
// in constant time. If a cancel happened before the lock was handed over, the cancel wins, and the
// lock goes to the next. On every error path the lock is not held.
//
// # Synchronization
//
// In the terms of the Go memory model, as for sync.Mutex: the n'th unlock synchronizes before the
// return of the m'th lock, for n < m, be it by Lock, TryLock, LockContext, LockTimeout, Poll, or
// the receipt of a value from Done.
//
// # testing/synctest
//
// Unlike with sync.Mutex, a goroutine that waits is durably blocked, unless with a context from
// outside the bubble.
//
// # How it works
//
// A [Mutex] is a semaphore of one permit: see internal/engine and docs/design/semaphore.md.
package mutex
