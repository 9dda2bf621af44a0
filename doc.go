// Package farad is the front page of a module of locks that can be waited for in every way Go programs wait: with a
// context, with a timeout, in a select, or as a task of an executor, in first-in-first-out order and without an
// allocation per wait.
//
// The package itself contains nothing. Look at:
//
//	sync/semaphore     counting semaphore: Acquire with a context, AcquireTimeout, TryAcquire, futures, permit
//	                   handles, Resize, Close
//	waiter             how anything in the module waits; the errors that all locks share
//	examples/hashtree  a program under two limits, open files and bytes in memory
//
// # Which lock to choose
//
// For mutual exclusion that is never waited for in vain, [sync.Mutex] is hard to beat: it barges, which is fast, and
// has no context. A semaphore of this module is for the cases that [sync] leaves out: a wait that may be given up, a
// limit greater than one, requests of different weight, a fair order.
//
// A farad is the unit of capacitance.
package farad
