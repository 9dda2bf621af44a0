// Package observe shows who holds the locks of this module, who waits for them, and since when. It
// finds deadlocks, suspicious waits and leaks in a program that runs, without a rebuild. A lock
// that is not observed costs what it did before.
//
//	observe.Watch(&mu, "users", observe.LevelHolders) // this lock
//	observe.All(observe.LevelCounts)                  // all made or waited for from now on
//	http.Handle("/debug/locks", observe.Handler())    // the page
//
// # Which call
//
//	to                                         use
//	observe one lock, or stop that             Watch, or Watch at LevelOff
//	observe all locks                          All
//	look, in a browser or with curl            Handler
//	look, in the program                       Read, which returns a Snapshot
//	react to a deadlock, suspicion or leak     On
//	set thresholds, and where reports go       Configure
//	see where permits and time go              go tool pprof and Handler, or Snapshot.WriteProfile
//	have metrics                               observe/prometheus, observe/otel, observe/series
//
// # Levels
//
// At [LevelCounts] a lock counts its requests by how they ended, and measures a sample of waits
// and holds; long ones it measures always. At [LevelHolders] it also keeps each hold and each
// wait: who, since when, and the stack. Only there can deadlocks be found, and only then do
// reports know who. docs/BENCHMARKS.md has the costs.
//
// A lock may be observed, or no longer observed, at any moment. A holder of that moment stays
// unknown until it releases.
//
// # Deadlocks
//
// A [Deadlock] is a set of waits none of which can end. Each waits without a limit, and all who
// could let it in are known and wait in the set themselves. For one mutex each that is a cycle.
// For several permits, or for readers and writers, it is a knot: all holders must be stuck, not
// just one. A request is stuck as well behind one that is stuck, as the order of the line has it:
// a reader that reads again behind a waiting writer. A goroutine that waits for a lock that it
// holds is a deadlock alone.
//
// Nothing is reported that could end. A wait with a context or a timeout breaks every deadlock. So
// does a wait for something that this package does not see, such as a channel, a cond or a wait
// group, whose waiters anybody may wake. It assumes that nobody closes or resizes the lock or
// aborts a task in order to end the deadlock. A wait counts if it was there at two looks, so a
// report comes after one to two times [Config].Period, and no report is put together from what was
// never there at the same time.
//
// Each deadlock is reported once. Those who come later and wait for it are not another one.
//
// Our locks belong to no goroutine: any may release. So it counts how they are used:
//
//   - What holds a mutex or a read-write lock is taken for its owner, until another goroutine has
//     released that lock. A goroutine that waits for what it holds itself may have handed it on, so
//     the lock must have been released by who had locked it before.
//   - A semaphore's permits are often acquired by one goroutine and released by another. So
//     they count only if what was acquired with the same stack has always been released by who
//     had acquired it, at least once.
//
// One case cannot be distinguished: if two readers hold a lock, and one of them releases for the
// other, the wrong one is taken for the reader that is left.
//
// Where it is not certain, and the waits are longer than [Config].LongWait, there is a
// [Suspicion] instead: a possible deadlock.
//
// A task that waits by a future is stuck only if it is straight-line, and waits for nothing but
// locks. A goroutine that has begun a future is not stuck: it may do something else.
//
// # Suspicions
//
// A [Suspicion] may be a fault: a wait or a hold longer than its threshold; two locks that were
// taken in both orders, although nothing has deadlocked yet; a possible deadlock, as above; a task
// that was woken and not polled for long, or that wakes itself all the time. Orders are learned at
// [LevelHolders], from each acquire that is not a try.
//
// # Goroutines that nobody can wake
//
// A goroutine that waits for a lock which nobody else can reach is no deadlock of the above kind if
// nobody is known to hold the lock. From Go 1.27 on, the profile goroutineleak finds it, if the
// lock is at [LevelHolders] and neither a context nor a time may end the wait. Waits for Mutex and
// RWMutex of package sync are never in it.
//
// # Reports
//
// Each report is one line in the log, at slog.LevelError or slog.LevelWarn, stays in [Read] and on
// the page as one of the last hundred of its kind, and goes to the handlers of [On]. Nothing is
// done about it.
//
// # Memory and goroutines
//
// The registry keeps no lock alive. All that is kept has a bound; what there is no room for is
// dropped and counted in [Dropped]. At [LevelHolders] a future is known by a weak pointer, and Go
// keeps those into one object in a list: many thousand futures of one slice are slow. One goroutine
// exists while a lock is observed.
//
// # testing/synctest
//
// Locks can be observed in bubbles. If locks are observed only there no goroutine looks at them:
// there are no reports, and [Read] shows all else. A bubble reports itself when all of it is
// blocked.
//
// # How it works
//
// internal/observed has the hooks that the locks call, and the records. Here, read snapshot.go
// first. graph.go and knot.go find deadlocks, suspicion.go and order.go suspicions; monitor.go says
// when, report.go calls the handlers. watch.go makes snapshots; handler.go and page.go show them,
// as do text.go and dot.go; profile.go is for pprof. The package does not import the locks: they
// register themselves.
package observe
