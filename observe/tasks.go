package observe

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/farad-go/farad/internal/observed"
)

// readTasks adds the executors to a snapshot that has the locks.
func (s *Snapshot) readTasks() {
	names := map[uint64]string{}
	for _, x := range observed.ReadExecutors() {
		name := cmp.Or(x.Name, place(x.Place), "executor "+strconv.FormatUint(x.ID, 10))
		s.Dropped.Tasks += x.Dropped
		s.Panicked += x.Panicked
		for _, t := range x.Tasks {
			names[t.ID] = t.Name
			s.Tasks = append(s.Tasks, Task{
				ID: t.ID, Executor: name, Name: t.Name, Spawned: place(t.Spawned), State: t.State, WaitsFor: t.WaitsFor,
				Since: observed.Wall(t.Since), Age: s.At.Sub(observed.Wall(t.Born)), Polls: t.Polls,
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
