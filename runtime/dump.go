package rt

import "fmt"

// A TaskInfo is what [Executor.Dump] tells of a task.
type TaskInfo struct {
	Name      string // see [Task.SetName]; otherwise the task's type
	Waiting   bool   // it is neither being polled nor about to be
	WaitsFor  string // what it polled last, if it waits
	Cancelled bool   // it has been asked to end
}

// Dump describes all tasks that live, shard by shard and the oldest first in each. Tasks run on
// meanwhile, so that it is no snapshot. It is for looking for what hangs, and takes its time.
func (ex *Executor) Dump() []TaskInfo {
	ex.made()
	var all []TaskInfo
	for i := range len(ex.shards) {
		all = append(all, ex.shards[i].dump()...)
	}
	return all
}

func (s *shard) dump() []TaskInfo {
	var infos []TaskInfo
	var claimed []*Task // nil for those that do not wait
	s.mu.Lock()
	for t := s.oldest; t != nil; t = t.newer {
		infos = append(infos, TaskInfo{Name: t.name(), Cancelled: t.isCancelled()})
		// What a task waits for may be read by whoever polls it only. So this takes a waiting task
		// as a worker would, but only looks.
		if !t.state.CompareAndSwap(taskAlive, taskAlive|1) {
			claimed = append(claimed, nil)
			continue
		}
		claimed = append(claimed, t)
	}
	s.mu.Unlock()
	for i, t := range claimed {
		if t == nil {
			continue
		}
		infos[i].Waiting = true
		infos[i].WaitsFor = describe(t.waits) // which may call a String of the user's: without the lock
		if !t.state.CompareAndSwap(taskAlive|1, taskAlive) {
			t.state.Store(taskAlive | 1)
			t.ex.workers[t.home.Load()].enqueue(t)
		}
	}
	return infos
}

// name is called with the shard's lock held.
func (t *Task) name() string {
	if t.more != nil && t.more.name != "" {
		return t.more.name
	}
	return fmt.Sprintf("%T", t.poller)
}

// lockedName is for those who do not hold the lock, but know that the task lives.
func (t *Task) lockedName() string {
	s := &t.ex.shards[t.shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.name()
}

// describe says what a future is. The caller has the task that it belongs to.
func describe(f any) string {
	switch f := f.(type) {
	case nil:
		return ""
	case selected:
		return fmt.Sprintf("the first of %d futures", f)
	case fmt.Stringer:
		return fmt.Sprint(f) // which survives a String that panics
	default:
		return fmt.Sprintf("%T", f)
	}
}
