// Package rwlock provides a read-write lock that can be waited for with a context, with a timeout,
// in a select, or by polling, in first-in-first-out order and without an allocation per wait; that
// can be upgraded and downgraded without letting go; and whose readers, if asked for, do not
// disturb each other.
//
// # Which call
//
//	you want to                                    read               write             read, maybe write
//	lock, as with sync.RWMutex                     RLock, RUnlock     Lock, Unlock      ULock, UUnlock
//	lock, and give up with a context               RLockContext       LockContext       ULockContext
//	lock, and give up after a time                 RLockTimeout       LockTimeout       ULockTimeout
//	lock if that needs no waiting                  TryRLock           TryLock           TryULock
//	wait in Go's select, or in a task              LockFuture         LockFuture        LockFuture
//	go on as writer                                                                     Upgrade, UpgradeContext,
//	                                                                                    UpgradeTimeout, TryUpgrade
//	go on as reader                                                   Downgrade         ForgoUpgrade
//	go on as upgradable reader                                        DowngradeToUpgradable
//
// Data and lock travel together in a [Guard].
//
// # Order
//
// The lock goes to whoever has waited longest, whoever waits and however; readers who stand in line
// one behind the other go in together. So a writer who waits bars all readers who come later, and
// neither readers nor writers can starve. When a waiting writer gives up, the readers behind it go
// in at once, beside those who are there. Trying never overtakes: it fails while somebody waits. A
// TryRLock does not fail for any other reason as long as only readers hold. Upgrade, alone, goes
// before all who wait.
//
// The price of the order is that under contention by writers each hand-over costs a switch.
// [sync.RWMutex] lets running goroutines overtake those that sleep, and is many times faster where
// critical sections are a few nanoseconds long and collide all the time.
//
// # Upgrading
//
// A reader who finds that it has to write cannot wait for the lock as it is: two who did would wait
// for each other. So whoever may have to write says so beforehand, by ULock. There is one
// upgradable reader at a time, beside any number of readers. It waits for these when it upgrades,
// and for nobody else.
//
// # Cancellation
//
// A context that is done never locks. A wait that ends by its context or its time leaves the queue
// in constant time. If a cancel happened before the lock was handed over, the cancel wins, and the
// lock goes to the next. On every error path the lock is not held, or after a failed upgrade held
// as before.
//
// # Reader bias
//
// Readers on different processors slow each other down although nobody waits: each writes to the
// lock. With [WithReaderBias] they write to different places instead, and writers pay for it. See
// there.
//
// # Synchronization
//
// In the terms of the Go memory model, as for sync.RWMutex: the n'th Unlock synchronizes before the
// return of the m'th Lock, for n < m, however it is waited for. For each read lock there is an n
// such that the n'th Unlock synchronizes before it begins, and its RUnlock synchronizes before the
// return of the n+1'th Lock. An Upgrade is an RUnlock and a Lock in this, a Downgrade an Unlock and
// an RLock.
//
// # testing/synctest
//
// Unlike with sync.RWMutex, a goroutine that waits is durably blocked, unless with a context from
// outside the bubble.
//
// # How it works
//
// An [RWLock] is a semaphore of very many permits, of which a writer takes all: see internal/engine
// and docs/design/rwlock.md.
package rwlock
