// Package capacitor has locks that are fair in the long run and, where many want them, several
// times as quick as locks that are fair at every step.
//
// A lock that hands itself from one goroutine to the next, in order, pays for a switch of
// goroutines each time. One that lets whoever runs take it, as sync.Mutex does, leaves some waiting
// for very long. A capacitor, after Dice and Kogan, is between them: it lets goroutines through in
// platoons, and the next platoon when all of the last have had their turn.
//
//	you want                                                  use
//	a mutex for short critical sections that many want        Mutex
//	a read-write lock for such                                RWLock
//	a lock of your own, or somebody else's, made fair         Wrap
//	platoons of something else than lock holders              Gate
//
// [Mutex] has platoons of one, and between them an express lane for goroutines that run anyway: the
// switch is paid once for up to [Express] acquisitions, and whoever waits is overtaken by a number
// of others that is known. [RWLock] is the same for readers and writers.
//
// What bounds the overtaking is said at each type. All of them take contexts; none allocates for a
// wait. None can be waited for in a select or by polling: for that there are sync/mutex,
// sync/rwlock, and semaphore.WithCapacitor.
//
// [Stats] tells how near to that they come.
//
// Files: mutex.go is one word and a queue, and so is rwlock.go; gate.go is the paper's capacitor;
// wrap.go puts it round any lock; lane.go is how long an express lane is; stats.go is what they
// observe. docs/design/capacitor.md says how to choose.
package capacitor
