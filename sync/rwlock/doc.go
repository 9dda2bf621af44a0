// Package rwlock provides a read-write lock whose waits can end by a context, a timeout or a
// select, or are polled. It is first-in-first-out, and waiting allocates nothing. A holder can
// upgrade or downgrade without letting go. With an option, readers do not disturb each other.
//
// # Which call
//
//	you want to                 read             write                   read, maybe write
//	lock, as with sync.RWMutex  RLock, RUnlock   Lock, Unlock            ULock, UUnlock
//	give up with a context      RLockContext     LockContext             ULockContext
//	give up after a time        RLockTimeout     LockTimeout             ULockTimeout
//	lock without waiting        TryRLock         TryLock                 TryULock
//	wait in select or a task    BindRead         Bind                    BindUpgradable
//	go on as writer                                                      Upgrade, UpgradeContext,
//	                                                                     UpgradeTimeout,
//	                                                                     TryUpgrade
//	go on as reader                              Downgrade               ForgoUpgrade
//	go on as upgradable reader                   DowngradeToUpgradable
//
// A [Guard] keeps lock and data together.
//
// # Order
//
// The lock goes to the waiter that has waited longest. Readers that stand one behind the other go
// in together. A waiting writer stops all readers that come later, so neither readers nor writers
// starve. When a waiting writer gives up, the readers behind it go in at once. The Try methods fail
// while a waiter is queued. While only readers hold and no waiter is queued TryRLock succeeds. Only
// Upgrade goes before all waiters.
//
// The price of this order is that each hand-off between writers costs a goroutine switch.
// [sync.RWMutex] lets running goroutines overtake those that sleep. It is many times faster where
// critical sections take a few nanoseconds and collide all the time.
//
// # Upgrading
//
// A reader that finds that it has to write cannot wait for the write lock while it holds the read
// lock: two such readers would wait for each other. So a reader that may have to write calls ULock.
// There is at most one upgradable reader, with any number of readers. To upgrade, it waits for
// these readers only.
//
// # Cancellation
//
// As for all locks of the module: [github.com/farad-go/farad] has the rules. After a failed
// upgrade the caller is still the upgradable reader.
//
// # Reader bias
//
// Readers on different processors slow each other down, because each writes to the lock. Those of a
// lock from [NewBiased] write to different places, and writers pay for it.
//
// # Synchronization
//
// In the terms of the Go memory model, as for sync.RWMutex: the n'th Unlock synchronizes before the
// return of the m'th Lock, for n < m. For each read lock there is an n such that the n'th Unlock
// synchronizes before it begins, and its RUnlock synchronizes before the return of the n+1'th Lock.
// An Upgrade counts as an RUnlock and a Lock, a Downgrade as an Unlock and an RLock.
//
// # testing/synctest
//
// Unlike with sync.RWMutex, a goroutine that waits is durably blocked, unless its context is from
// outside the bubble.
//
// # How it works
//
// An [RWLock] is a semaphore of very many permits, of which a writer takes all: internal/engine and
// docs/design/rwlock.md explain it. Read rwlock.go first, then read.go, write.go and upgradable.go.
// The package imports waiter, internal/engine and internal/xsync.
package rwlock
