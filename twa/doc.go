// Package twa has semaphores and mutexes made of two counters and a waiting array, after Dice and
// Kogan. An acquire is one addition and a release is another, however many goroutines do so at the
// same time. A goroutine that has to wait sleeps where the release that serves it finds it at once.
//
// [Semaphore] keeps the promises of sync/semaphore, and [Mutex] those of sync/mutex: strict FIFO
// order, contexts, timeouts, futures, no allocation for a wait. Take sync/semaphore, unless many
// processors acquire and release one semaphore all the time and it is hardly ever exhausted: a
// compare-and-swap then fails and is repeated, where an addition succeeds. The price is stated at
// the methods: an over-release may go unnoticed, Available says nothing about what waiting requests
// have been promised, and a Resize to fewer permits waits for its turn in the line.
// semaphore.WithWaitingArray makes a semaphore.Semaphore of one, for code that takes those.
//
// An [Array] can also be waited on directly, for a condition, by any key. [EventCount] and
// [Sequencer] are the classic pair.
//
// Contexts, timeouts and allocation are those of all locks of the module:
// [github.com/farad-go/farad] has the rules.
//
// The package may import waiter, internal/parking and internal/xsync. Read tickets.go first: it is
// the mechanism. semaphore.go, mutex.go and future.go are façades; array.go and eventcount.go are
// the other users of the array. docs/design/twa.md has pictures.
package twa
