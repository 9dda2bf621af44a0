package observe

import (
	"fmt"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
)

// Watch observes a lock, given by a pointer to it, at a level. A name may be empty: then the lock
// is called by the place that first waited for it. Watching a lock again changes the name, unless
// the new one is empty, and the level.
//
// [LevelOff] ends the observation. What was known about the lock is forgotten, and the name does
// not matter. A lock that is not observed stays so. But while [All] is on, a lock joins again when
// somebody has to wait for it.
//
// Watch may be called at any moment. A holder of that moment is unknown. It panics if lock is not
// of a type that can be observed, or there is no such level.
//
// A guard is watched by its lock. A lock of package fleet is called as the fleet calls it unless
// there is another name, and its [Lock] has a [hook.Fleet]. An executor can be watched as well:
// then a [Snapshot] has its tasks. All executors are watched while any lock is observed at
// LevelHolders, so that a lock is a task's and not its worker's.
func Watch(lock any, name string, level Level) {
	if level > LevelHolders {
		panic(fmt.Sprintf("observe: Watch at level %d: there is no such level", level))
	}
	if level == LevelOff {
		name = "" // an executor would take it
	}
	if !records.Watch(lock, name, observed.Level(level)) {
		panic(fmt.Sprintf("observe: Watch of a %T, which is not a pointer to a lock that can be observed", lock))
	}
	if level == LevelOff {
		watchdog.hurry() // it ends if this was the last lock
	} else {
		watchdog.start()
	}
}

// All observes at a level the locks that are made from now on by their constructors, and those for
// which somebody has to wait from now on. It returns the level that was set before. After
// All(LevelOff) no further lock joins; those that are observed stay so.
func All(level Level) Level {
	if level > LevelHolders {
		panic(fmt.Sprintf("observe: All at level %d: there is no such level", level))
	}
	before := Level(records.All(observed.Level(level)))
	watchdog.start()
	watchdog.hurry()
	return before
}

// Read returns what is known about all observed locks, and what has been reported.
func Read() *Snapshot {
	s := readLocks()
	if len(s.Locks)+len(s.Tasks) > 0 {
		watchdog.start()
	}
	takeLeaks()
	var dropped [3]uint64
	s.Deadlocks, dropped[0] = reports.deadlocks.read()
	s.Suspicions, dropped[1] = reports.suspicions.read()
	s.Leaks, dropped[2] = reports.leaks.read()
	s.Dropped.Reports = dropped[0] + dropped[1] + dropped[2]
	return s
}

// Configure replaces the configuration.
//
// A deadlock is reported when two looks have seen it. A look reads all observed locks. If that
// takes long, looks are rarer than Period says: they take at most a twentieth of one processor.
func Configure(c Config) {
	c.setDefaults()
	watchdog.config.Store(&c)
	records.ReturnLeaks(c.ReturnLeaked)
	watchdog.hurry()
}

// On has handle be called for each report of one kind from now on, until stop is called: the type
// of its argument says which. There may be several handlers, and each report is a line in the log
// besides.
//
// A handler is called in a goroutine of its own, for one report after the other. So a handler that
// blocks holds up nobody else. If it is 64 reports behind, it misses those that follow, which
// [Dropped] counts. It may still be called for what was found before stop. A handler that panics is
// logged, and is called for the next report. On panics if handle is nil.
func On[T Deadlock | Suspicion | Leak](handle func(T)) (stop func()) {
	switch handle := any(handle).(type) {
	case func(Deadlock):
		return reports.deadlocks.add(handle)
	case func(Suspicion):
		return reports.suspicions.add(handle)
	default:
		return reports.leaks.add(handle.(func(Leak)))
	}
}
