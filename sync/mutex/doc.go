// Package mutex provides mutual exclusion locks whose waits can end by a context, a timeout or a
// select, or are polled. [Mutex] is strictly first-in-first-out. Waiting allocates nothing.
//
// # Which call
//
//	you want to                          use
//	lock, as with sync.Mutex             Lock, Unlock
//	lock, and give up with a context     LockContext
//	lock, and give up after a time       LockTimeout
//	lock if it is free                   TryLock
//	wait in Go's select                  Bind, and Done of the future
//	wait in a task of an executor        Bind, and rt.Await(cx, &f)
//	keep lock and data together          Guard
//	have very many, or no room           Word (4 bytes), Packed (2 bits), Pointer (2 of a pointer)
//
// The rest of this page is about Mutex. The small locks have contexts and timeouts, too. They are
// not fair and have no futures; see their own documentation.
//
// # Order
//
// An unlock hands the lock to the waiter that has waited longest, whether it is a goroutine, a
// select or a task. TryLock fails while a waiter is queued. So no waiter starves. The goroutine
// that gets the lock runs at once, on the processor of the one that unlocks, which goes to the end
// of the scheduler's queue. So the lock does not lie idle, and the line gets shorter. The price is
// the turn of the goroutine that unlocks: on a machine whose processors are all busy that may be
// some slices of time. docs/design/convoy.md has the reasons.
//
// # Cancellation
//
// As for all locks of the module: [github.com/farad-go/farad] has the rules.
//
// # Synchronization
//
// In the terms of the Go memory model, as for sync.Mutex: the n'th unlock synchronizes before the
// return of the m'th lock, for n < m. A lock is a return from Lock, TryLock, LockContext or
// LockTimeout, a Poll that reports true, or a receive from Done.
//
// # testing/synctest
//
// Unlike with sync.Mutex, a goroutine that waits is durably blocked, unless its context is from
// outside the bubble.
//
// # How it works
//
// A [Mutex] is a semaphore of one permit: internal/engine and docs/design/semaphore.md explain it.
// The small locks are two bits and a table of sleepers: internal/parking. Read mutex.go first, then
// word.go. The package imports waiter, internal/engine, internal/parking and internal/xsync.
package mutex
