// Package keyed provides locks that are found by a key: one for each user, file or row that a
// program works on right now. [Mutex] and [RWMutex] are ready as zero values, and [NewSemaphore]
// gives each key the same number of permits. Waiting allocates nothing.
//
// # Which call
//
//	you want to                               use
//	lock a key                                Lock, Unlock
//	share a key with other readers            RWMutex: RLock, RUnlock
//	let some n work on a key at a time        Semaphore: Acquire, Release
//	give up with a context, or after a time   LockContext, LockTimeout, ...
//	lock a key if it is free                  TryLock, TryRLock, TryAcquire
//	lock several keys without deadlock        the same: Lock(a, b), Unlock(a, b)
//	know how many keys are in use             Len
//
// # Memory
//
// A key costs memory only while it is held or waited for, less than 200 bytes with its share of the
// table. Nothing has to be registered or removed. The table shrinks with the number of keys. What
// stays is the shards: a lock of this package takes about 18 kB for each processor, 150 kB at most,
// from its first use on. So it is for many keys; for few that are known use an array of mutexes.
//
// # Keys
//
// Two different keys never share a lock, whatever their hashes. They may share a shard of the
// table, which a call holds for a few instructions. A key must be equal to itself and comparable. A
// call with another one panics, and has changed nothing: with NaN, or with an interface whose
// dynamic type is a slice, map or function. Keys are compared by ==, so a pointer is a key by its
// address.
//
// # Order
//
// The requests for one key are granted in the order in which they began to wait. A request waits
// for all older ones of its key, even if it is compatible with the holders. So a writer does not
// starve behind readers, nor a request for many permits behind those for few. The Try calls fail
// while a request waits. The price is that each hand-off under contention costs a goroutine switch,
// as with package mutex.
//
// # Several keys
//
// A call with several keys enters the lines of all of them at one instant, and then waits until it
// holds them all. So two calls stand in the same order in every line that they share, and one of
// them gets all keys first. Calls that lock one key after the other have no such guarantee: they
// may deadlock, with each other and with calls for several keys.
//
// # Cancellation
//
// As for all locks of the module: [github.com/farad-go/farad] has the rules. A caller
// that gets an error holds none of several keys.
//
// # Synchronization
//
// In the terms of the Go memory model, and for each key alone: an unlock synchronizes before the
// return of every later lock of the key. An RUnlock synchronizes before the return of every later
// Lock, and a Release before the return of every acquire that it serves.
//
// # testing/synctest
//
// A goroutine that waits is durably blocked, unless its context is from outside the bubble.
//
// # How it works
//
// A hash table in shards, each under a mutex, has an entry for each key in use: the number of held
// permits and the line of waiters. A mutex is a semaphore of one permit, and a writer takes all of
// very many. Read lines.go first (the requests), then shard.go (the table) and all.go (several
// keys). The package imports waiter and internal/xsync.
package keyed
