// Package farad is the front page of a module of locks that can be waited for in every way Go
// programs wait: with a context, with a timeout, in a select, or as a task of an executor, in
// first-in-first-out order and without an allocation per wait.
//
// The package itself contains nothing. Look at:
//
//	sync/semaphore     counting semaphore: Acquire with a context, AcquireTimeout, TryAcquire, futures, permit
//	                   handles, Resize, Close
//	sync/mutex         Mutex, with the same ways to wait; Word, Packed and Pointer, locks of four bytes and of two bits
//	sync/rwlock        RWLock, likewise, with upgrade, downgrade and reader bias
//	sync/capacitor     Mutex and RWLock that many may want at once, Wrap for other locks, Gate
//	twa                Semaphore and Mutex on two counters and a waiting array
//	runtime            executor of cooperative tasks, which wait for all these without a goroutine each
//	runtime/antspool   an ants pool behind a semaphore
//	waiter             how anything in the module waits; the errors that all locks share
//	examples           programs
//
// # Which lock to choose
//
//	mutual exclusion, nothing else                       sync.Mutex: it barges, which is fast, and has no context
//	the same in a fair order, or given up                mutex.Mutex
//	the same, wanted by very many at once                capacitor.Mutex
//	very many locks, or no room for one                  mutex.Packed, mutex.Word, mutex.Pointer
//	many readers, few writers, nothing else              sync.RWMutex
//	the same in a fair order, given up, or upgraded      rwlock.RWLock
//	the same, wanted by very many at once                capacitor.RWLock
//	read all the time by several processors              rwlock.New(rwlock.WithReaderBias())
//	a limit greater than one, or different weights       semaphore.Semaphore
//	the same, by many processors, hardly ever exhausted  twa.Semaphore
//
// A farad is the unit of capacitance.
package farad
