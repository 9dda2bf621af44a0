// Package twa has semaphores and mutexes on two counters and a waiting array, after Dice and Kogan:
// to acquire is one addition, to release another, however many do so at the same time, and whoever
// has to wait sleeps where the release that serves it finds it at once.
//
// [Semaphore] keeps the promises of sync/semaphore's, and [Mutex] those of sync/mutex's: strict
// FIFO order, contexts, timeouts, futures, no allocation for a wait. Which to take: sync/semaphore,
// unless many processors acquire and release one semaphore all the time that is hardly ever
// exhausted. Its compare-and-swap then fails and is repeated, where an addition succeeds. The price
// is written at the methods: an over-release may go unnoticed, Available says nothing about what
// waiters have been promised, and Resize to less takes its turn in the line.
// semaphore.WithWaitingArray makes a semaphore.Semaphore of one, for code that takes those.
//
// An [Array] can be waited on directly: for a condition, by any key. [EventCount] and [Sequencer]
// are the classic pair.
//
// Files: tickets.go is the mechanism; semaphore.go, mutex.go and future.go are façades; array.go and eventcount.go are what else uses the array.
// docs/design/twa.md has pictures.
package twa
