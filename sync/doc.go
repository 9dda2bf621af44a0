// Package sync takes the place of the standard library's package sync: change the import, and
// nothing else. Its locks are fair, and a wait for them can end by a context or a timeout.
//
//	import "github.com/farad-go/farad/sync"
//
// Everything of the standard package is here under the same name. [Mutex], [RWMutex], [Cond] and
// [WaitGroup] are Farad's; the rest is the standard library's own. Misuse of a lock ends the
// process, with the standard library's words.
//
// [Mutex] is a capacitor, after Dice and Kogan. A goroutine that runs anyway may take a free lock
// by an express lane; the goroutines that wait are let in one by one, in their order, each after at
// most [Express] of the others. So a switch of goroutines is paid for once in many acquisitions,
// and no waiter starves. [RWMutex] is the same for readers and writers. Strict order is that of
// packages mutex and rwlock.
//
// A [Cond] and a [WaitGroup] have a line of waiters that a waiter can leave, when its context ends
// or its time has passed.
//
// A [waiter.Future] waits for a lock in a select, or as a task that polls: see [Mutex.Bind].
//
// Contexts, timeouts and allocation are those of all locks of the module:
// [github.com/farad-go/farad] has the rules.
//
// The package may import waiter and internal packages but the executor. Read mutex.go first: one
// word and a queue; rwmutex.go is built likewise. gate.go is what both queue at, and lane.go says
// how long an express lane is. request.go and future.go are the futures. alias.go has the standard
// library's types, and bubble.go and across.go are for testing/synctest. cond.go and waitgroup.go
// stand alone. docs/design/capacitor.md explains the express lane, docs/design/cond.md those two.
package sync
