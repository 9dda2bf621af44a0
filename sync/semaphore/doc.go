// Package semaphore provides a counting semaphore that can be waited for with a context, with a
// timeout, in a select, or by polling, in strict first-in-first-out order and without an allocation
// per wait.
//
// # Which call
//
//	you want to                          use
//	wait, with a context                 Acquire
//	wait, with a timeout                 AcquireTimeout
//	take what is free, or not            TryAcquire
//	wait in Go's select                  AcquireFuture, its Done
//	wait in a task of an executor        AcquireFuture, its Poll
//	a handle that cannot release twice   AcquirePermit
//
// # Order
//
// Requests are granted in the order in which they began to wait, whoever waits and however: a
// blocked goroutine, a select and a polled task stand in one line. Nobody overtakes: a request for
// few permits waits behind an older one for many, and TryAcquire fails while somebody waits. So a
// large request cannot starve; the price is that it blocks those behind it until it fits, and that
// a lock handed from goroutine to goroutine costs a switch each time.
//
// Order is decided when a request is granted. The scheduler may run a goroutine that was granted
// later first.
//
// [WithPlatoon] gives the strict order up, for speed, and has a bound in its place.
//
// # Cancellation
//
// A context that is done never acquires. A request whose context ends leaves the queue in constant
// time; if a cancel happened before the grant, the cancel wins, and the permits go to the next. On
// every error path nothing is held.
//
// # Synchronization
//
// In the terms of the Go memory model: a Release synchronizes before the return of every acquire
// that it serves, be it by Acquire, TryAcquire, Poll, or the receipt of a value from Done. So do
// Resize and Close before the return of the requests that they end or serve. A cancelled request
// synchronizes with nothing.
//
// # Differences from golang.org/x/sync/semaphore
//
// NewWeighted and Weighted make a change of the import path compile. What differs:
//
//   - A request for more than the size fails at once with ErrTooLarge; x/sync waits for the
//     context.
//   - Release of more than is held panics and leaves the semaphore as it was; x/sync panics with
//     the count spoiled.
//   - A nil context and a negative n panic.
//   - There is more: timeouts, futures, permit handles, Resize, Close, a bound on the queue, and
//     the counts.
//
// # testing/synctest
//
// A goroutine that waits is durably blocked, unless with a context from outside the bubble: then Go
// says no. One semaphore may be used in one bubble, outside, and in another, one after the other;
// waiting inside while others release outside is something that Go itself does not support.
//
// # Policies
//
// [WithWaitingArray] has the permits counted by package twa, for semaphores that many processors
// use all the time and that are hardly ever exhausted. [WithPlatoon] lets goroutines that run pass
// those that sleep, within a bound, for semaphores that very many goroutines exhaust all the time
// and hold for a short time.
//
// # How it works
//
// See docs/design/semaphore.md in the repository, and internal/engine/engine.go for the invariants.
// The algorithm is Volt's, repaired: its published form loses wake-ups.
package semaphore
