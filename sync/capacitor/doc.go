// Package capacitor makes locks fair in the long run.
//
// A lock that hands itself from one goroutine to the next, in order, pays for a switch of
// goroutines each time. A lock that any running goroutine may take, like sync.Mutex, can leave
// others waiting for very long. A capacitor, after Dice and Kogan, is in between: it lets
// goroutines through in platoons. The next platoon follows when all of the last have had their
// turn.
//
//	you want                                                  use
//	bounded fairness for an existing lock                     Wrap
//	platoons of something other than lock holders             Gate
//	a mutex, or a read-write lock, with a capacitor inside    Mutex and RWMutex of farad/sync
//	permits                                                   semaphore.WithCapacitor
//
// Each type states the bound of its overtaking, takes contexts and timeouts, and allocates nothing
// for a wait.
//
// Package observe refuses both types: of a Gate nobody knows the holders. Watch the lock that is
// wrapped; its waits are those of the goroutines that have been let through.
//
// The package may import waiter, twa and internal packages but the executor. Read gate.go first,
// the paper's capacitor. wrap.go puts it round any lock, options.go has the options.
// docs/design/capacitor.md says how to choose.
package capacitor
