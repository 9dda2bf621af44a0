// Package semaphore provides a counting semaphore whose waits can end by a context, a timeout or a
// select, or are polled. It is strictly first-in-first-out, and waiting allocates nothing.
//
// # Which call
//
//	you want to                          use
//	wait, with a context                 Acquire
//	wait, with a timeout                 AcquireTimeout
//	take what is free, or not            TryAcquire
//	wait in Go's select                  Bind, and Done of the future
//	wait in a task of an executor        Bind, and Poll of the future
//	a handle that cannot release twice   AcquirePermit
//	any of these for one of many tenants As(tenant), and one of these
//
// # Order
//
// Requests are granted in the order in which they began to wait. Blocked goroutines, selects and
// polled tasks stand in one line. A request for few permits waits behind an older one for many, and
// TryAcquire fails while a request waits. So a large request does not starve. The price is that it
// blocks the requests behind it until it fits, and that each hand-off between goroutines costs a
// switch.
//
// The grants are in order. The scheduler may still run a goroutine first that was granted later.
//
// [WithShares] and [WithPriorities] serve tenants or classes otherwise, and [WithCapacitor] trades
// the strict order for speed. Each states a bound on overtaking.
//
// # Cancellation
//
// As for all locks of the module: [github.com/farad-go/farad] has the rules.
//
// # Synchronization
//
// In the terms of the Go memory model: a Release synchronizes before the return of every acquire
// that it serves. That is a return from Acquire or TryAcquire, a Poll that reports true, or a
// receive from Done. So do Resize and Close with the requests that they end or serve. A cancelled
// request synchronizes with nothing.
//
// # Differences from golang.org/x/sync/semaphore
//
// NewWeighted and Weighted make a change of the import path compile. The differences are:
//
//   - A request for more than the size fails at once with ErrTooLarge; x/sync waits for the
//     context.
//   - Release of more than is held panics and changes nothing; x/sync panics with a wrong count.
//   - A nil context and a negative n panic.
//   - There are timeouts, futures, permit handles, Resize, Close, a bound on the queue, and counts.
//
// # testing/synctest
//
// A goroutine that waits is durably blocked, unless its context is from outside the bubble. One
// semaphore may be used in one bubble, then outside, then in another. Go does not support waiting
// inside a bubble while goroutines outside release.
//
// # Policies
//
//	you see                                         use
//	one tenant's flood delays all others            WithShares
//	one tenant holds everything for long            WithMaxInUse, WithDebit
//	one customer has a share for each of its users  WithParent
//	urgent requests wait behind others              WithPriorities
//	requests are served that have given up          WithQueue
//	the right size is not known                     package limit
//	goroutine switches cost more than the work      WithCapacitor
//	many processors contend for the counter         WithWaitingArray
//
// Shares, priorities and queues are rules of the line only. Without contention they cost nothing.
// Caps, debits and parents of tenants cost a mutex for each acquire and release.
// docs/design/sharing.md has their bounds, and docs/guides/overload.md how to choose.
//
// [WithWaitingArray] makes package twa count the permits. It is for semaphores that many processors
// use all the time and that are hardly ever exhausted. [WithCapacitor] lets running goroutines pass
// sleeping ones, within a bound. It is for semaphores that very many goroutines exhaust all the
// time and hold for a short time.
//
// # How it works
//
// Read semaphore.go first, then internal/engine/engine.go for the algorithm and its invariants, and
// docs/design/semaphore.md for the reasons. The algorithm is Volt's, repaired: its published form
// loses wake-ups. The package imports waiter, internal/engine, internal/parking, internal/xsync and
// twa.
package semaphore
