// Package farad is the front page of a module of mutexes, read-write locks and semaphores whose
// waits end by context, timeout or select, in FIFO order, without allocating.
//
// The package itself contains nothing. Start with one of these:
//
//	sync/semaphore     a counting semaphore: weights, timeouts, futures, Resize, Close
//	sync/mutex         Mutex, and locks of four bytes and of two bits
//	sync/rwlock        RWLock, with upgrade, downgrade and reader bias
//	sync               a drop-in for package sync, whose waits end by context or timeout too
//	sync/keyed         a mutex, a read-write lock or a semaphore for each key
//	sync/capacitor     bounded fairness for an existing lock
//	runtime            package rt: an executor of tasks that wait for all these
//	runtime/antspool   a pool of ants behind a semaphore
//	twa                a semaphore and a mutex on tickets and a waiting array
//	waiter             the mechanism of waiting, for authors of locks and futures
//
// docs/guides/choosing.md in the repository says which one to use. A farad is the unit of
// capacitance.
package farad
