// Package capacitor has locks that are fair in the long run. Where many goroutines want them, they
// are several times as fast as locks that are fair at every step.
//
// A lock that hands itself from one goroutine to the next, in order, pays for a switch of
// goroutines each time. A lock that any running goroutine may take, like sync.Mutex, can leave
// others waiting for very long. A capacitor, after Dice and Kogan, is in between: it lets
// goroutines through in platoons. The next platoon follows when all of the last have had their
// turn.
//
//	you want                                                  use
//	a mutex for short critical sections that many want        Mutex
//	a read-write lock for such sections                       RWLock
//	bounded fairness for an existing lock                     Wrap
//	platoons of something other than lock holders             Gate
//
// [Mutex] has platoons of one, and between them an express lane for goroutines that are running
// anyway: a switch is paid for once in up to [Express] acquisitions, and a waiting goroutine is
// overtaken by a known number of others at most. [RWLock] is the same for readers and writers.
//
// Each type states the bound of its overtaking. All of them take contexts and timeouts, and none
// allocates for a wait. [LockFuture] and [RWLockFuture] wait for a lock in a select, or as a task
// that polls. For permits there is semaphore.WithCapacitor.
//
// The package may import waiter, twa and internal packages but the executor. Read mutex.go first:
// one word and a queue; rwlock.go is built likewise. gate.go is the paper's capacitor, wrap.go puts
// it round any lock, lane.go says how long an express lane is, request.go and future.go are the
// futures, options.go the options. docs/design/capacitor.md says how to choose.
package capacitor
