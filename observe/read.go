package observe

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/farad-go/farad/internal/observed/agents"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/observe/hook"
)

// readLocks returns a snapshot without reports. All that is in it was there at its time At, or
// later.
func readLocks() *Snapshot {
	s := &Snapshot{At: time.Now()}
	locks, dropped := records.Read()
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

// readTasks adds the executors to a snapshot that has the locks.
func (s *Snapshot) readTasks() {
	names := map[uint64]string{}
	for _, x := range agents.ReadExecutors() {
		name := cmp.Or(x.Name, place(x.Place), "executor "+strconv.FormatUint(x.ID, 10))
		s.Dropped.Tasks += x.Dropped
		s.Panicked += x.Panicked
		for _, t := range x.Tasks {
			names[t.ID] = t.Name
			s.Tasks = append(s.Tasks, Task{
				ID: t.ID, Executor: name, Name: t.Name, Spawned: place(t.Spawned), State: t.State, WaitsFor: t.WaitsFor,
				Since: records.Wall(t.Since), Age: s.At.Sub(records.Wall(t.Born)), Polls: t.Polls,
				Busy: time.Duration(t.Busy), Idle: time.Duration(t.Idle), SelfWakes: t.SelfWakes, Locks: t.Locks,
			})
		}
		for _, p := range x.Panics {
			s.Panics = append(s.Panics, Panic{At: p.At, Task: p.Task, Value: p.Value, Stack: p.Stack})
		}
	}
	slices.SortStableFunc(s.Tasks, func(a, b Task) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(s.Panics, func(a, b Panic) int { return a.At.Compare(b.At) })
	for i := range s.Locks {
		l := &s.Locks[i]
		for j := range l.Holders {
			l.Holders[j].Agent.Name = names[l.Holders[j].Agent.Task]
		}
		for j := range l.Waiters {
			l.Waiters[j].Agent.Name = names[l.Waiters[j].Agent.Task]
		}
	}
}

func lockOf(l *records.Lock) Lock {
	r := Lock{
		ID: l.ID, Name: l.Name, Kind: l.Kind, Level: Level(l.Level), Owned: l.Owned, Since: records.Wall(l.Since),
		Size: l.Size, Free: max(l.Free, 0), Held: l.Held(), Waiting: l.Waiting, Peak: l.Peak, Unknown: l.Unknown,
		Counts: Counts{
			Acquired: l.Acquired, Contended: l.Contended,
			Tried: l.Failed[records.Tried], TooLarge: l.Failed[records.TooLarge],
			QueueFull: l.Failed[records.QueueFull], Cancelled: l.Failed[records.Cancelled],
			TimedOut: l.Failed[records.TimedOut], Closed: l.Failed[records.Closed],
			Shed: l.Failed[records.Shed], Expiring: l.Failed[records.WouldExpire],
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
			Since: records.Wall(h.Since), Stack: h.Stack.PCs(), Approximate: h.Approximate,
			Blame: time.Duration(h.Blame), call: h.Call,
		})
	}
	for i := range l.Waiters {
		w := &l.Waiters[i]
		r.Waiters = append(r.Waiters, Waiter{
			ID: w.ID, Agent: agentOf(&w.Agent), Key: w.Key, Tenant: w.Tenant, Permits: w.Permits, Shared: w.Shared,
			Since: records.Wall(w.Since), Stack: w.Stack.PCs(), CanEnd: w.CanEnd, Future: w.Future, Granted: w.Granted,
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
	r.Fleet, _ = l.Fleet.(*hook.Fleet)
	return r
}

func agentOf(a *agents.Agent) Agent {
	return Agent{Goroutine: a.Goroutine, Task: a.Task, Labels: a.Labels()}
}

func histogramOf(h *records.Histogram) Histogram {
	return Histogram{Count: h.Count, Sum: time.Duration(h.Sum), Buckets: h.Buckets, First: h.First}
}

// An agentKey distinguishes agents; it is zero for those that are not known.
type agentKey struct {
	id   uint64
	task bool
}

func keyOf(a Agent) agentKey {
	if a.Task != 0 {
		return agentKey{a.Task, true}
	}
	return agentKey{a.Goroutine, false}
}
