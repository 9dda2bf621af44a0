package observe

import (
	"fmt"
	"time"

	"github.com/farad-go/farad/internal/observed"
)

// Watch observes a lock, given by a pointer to it, at a level. A name may be empty: then the lock
// is called by the place that first waited for it. Watching a lock again changes the name, unless
// the new one is empty, and the level. LevelOff is [Unwatch].
//
// Watch may be called at any moment. A holder of that moment is unknown. It panics if
// lock is not of a type that can be observed.
//
// A guard is watched by its lock. A lock of package fleet is called as the fleet calls it unless
// there is another name, and its [Lock] has a [Fleet]. An executor can be watched as well: then a
// [Snapshot] has its tasks. All executors are watched while any lock is observed at LevelHolders,
// so that a lock is a task's and not its worker's.
func Watch(lock any, name string, level Level) {
	if level > LevelHolders {
		panic(fmt.Sprintf("observe: Watch at level %d: there is no such level", level))
	}
	if !observed.Watch(lock, name, observed.Level(level)) {
		panic(fmt.Sprintf("observe: Watch of a %T, which is not a pointer to a lock that can be observed", lock))
	}
	watchdog.start()
}

// Unwatch ends the observation of a lock. What was known about it is forgotten. It panics as
// [Watch] does, and does nothing to a lock that is not observed.
func Unwatch(lock any) {
	if !observed.Unwatch(lock) {
		panic(fmt.Sprintf("observe: Unwatch of a %T, which is not a pointer to a lock that can be observed", lock))
	}
	watchdog.hurry()
}

// All observes at a level the locks that are made from now on by their constructors, and those for
// which somebody has to wait from now on. It returns the level that was set before. After
// All(LevelOff) no further lock joins; those that are observed stay so.
func All(level Level) Level {
	if level > LevelHolders {
		panic(fmt.Sprintf("observe: All at level %d: there is no such level", level))
	}
	before := Level(observed.All(observed.Level(level)))
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

// readLocks returns a snapshot without reports. All that is in it was there at its time At, or
// later.
func readLocks() *Snapshot {
	s := &Snapshot{At: time.Now()}
	locks, dropped := observed.Read()
	s.Dropped.Locks = dropped
	for i := range locks {
		l := &locks[i]
		s.Dropped.Holders += l.DroppedHolds
		s.Dropped.Waiters += l.DroppedWaits
		s.Locks = append(s.Locks, lockOf(l))
	}
	s.readTasks()
	return s
}

func lockOf(l *observed.Lock) Lock {
	r := Lock{
		ID: l.ID, Name: l.Name, Kind: l.Kind, Level: Level(l.Level), Owned: l.Owned, Since: observed.Wall(l.Since),
		Size: l.Size, Free: max(l.Free, 0), Held: l.Held(), Waiting: l.Waiting, Peak: l.Peak, Unknown: l.Unknown,
		Counts: Counts{
			Acquired: l.Acquired, Contended: l.Contended,
			Tried: l.Failed[observed.Tried], TooLarge: l.Failed[observed.TooLarge],
			QueueFull: l.Failed[observed.QueueFull], Cancelled: l.Failed[observed.Cancelled],
			TimedOut: l.Failed[observed.TimedOut], Closed: l.Failed[observed.Closed],
			Shed: l.Failed[observed.Shed], Expiring: l.Failed[observed.WouldExpire],
			Released: l.Released, Handed: l.Handed,
		},
		Wait: histogramOf(&l.Wait), Hold: histogramOf(&l.Hold),
	}
	if r.Name == "" {
		r.Name = place(l.Place)
	}
	for i := range l.Holders {
		h := &l.Holders[i]
		r.Holders = append(r.Holders, Holder{
			ID: h.ID, Agent: agentOf(&h.Agent), Key: h.Key, Tenant: h.Tenant, Permits: h.Permits, Shared: h.Shared,
			Since: observed.Wall(h.Since), Stack: h.Stack.PCs(), Approximate: h.Approximate,
			Blame: time.Duration(h.Blame), call: h.Call,
		})
	}
	for i := range l.Waiters {
		w := &l.Waiters[i]
		r.Waiters = append(r.Waiters, Waiter{
			ID: w.ID, Agent: agentOf(&w.Agent), Key: w.Key, Tenant: w.Tenant, Permits: w.Permits, Shared: w.Shared,
			Since: observed.Wall(w.Since), Stack: w.Stack.PCs(), CanEnd: w.CanEnd, Future: w.Future, Granted: w.Granted,
			call: w.Call,
		})
	}
	for _, k := range l.Keys {
		r.Keys = append(r.Keys, Key{Key: k.Text, Free: max(k.Free, 0), Waiting: k.Waiting, Unknown: max(k.Unknown, 0)})
	}
	for i := range l.Sites {
		x := &l.Sites[i]
		r.Sites = append(r.Sites, Site{
			Stack: x.Stack.PCs(), Waits: x.Waits, Delay: time.Duration(x.Delay), Holds: x.Holds,
			Held: time.Duration(x.Held), Handed: x.Handed, Blame: time.Duration(x.Blame),
		})
	}
	r.Fleet = fleetOf(l.Fleet)
	return r
}

func agentOf(a *observed.Agent) Agent {
	return Agent{Goroutine: a.Goroutine, Task: a.Task, Labels: a.Labels()}
}

func histogramOf(h *observed.Histogram) Histogram {
	return Histogram{Count: h.Count, Sum: time.Duration(h.Sum), Buckets: h.Buckets, First: h.First}
}
