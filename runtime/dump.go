package rt

import "fmt"

// A TaskInfo describes a task for [Executor.Dump].
type TaskInfo struct {
	Name      string // set by GoNamed or SetName, or the task's type
	Waiting   bool   // neither queued nor being polled
	WaitsFor  string // the future that it polled last, if it waits
	Cancelled bool   // asked to end
}

// Dump describes all living tasks, shard by shard and the oldest first in each. Tasks go on
// meanwhile, so the result is not a snapshot. Dump is slow, and is meant for finding tasks that
// hang.
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
	var claimed []*Task // nil for tasks that do not wait
	s.mu.Lock()
	for t := s.oldest; t != nil; t = t.newer {
		infos = append(infos, TaskInfo{Name: t.name(), Cancelled: t.isCancelled()})
		// Only the goroutine that has taken a task may read what it waits for. So Dump takes a
		// waiting task as a worker would, without polling it.
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
		infos[i].WaitsFor = describe(t.waits) // without the lock: it may call a String method of the user's
		if !t.state.CompareAndSwap(taskAlive|1, taskAlive) {
			t.state.Store(taskAlive | 1)
			t.ex.workers[t.home.Load()].enqueue(t)
		}
	}
	return infos
}

// name returns the name of the task. The caller holds the lock of the shard.
func (t *Task) name() string {
	if t.more != nil && t.more.name != "" {
		return t.more.name
	}
	return fmt.Sprintf("%T", t.poller)
}

// lockedName is name for callers without the lock who know that the task is alive.
func (t *Task) lockedName() string {
	s := &t.ex.shards[t.shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.name()
}

// describe names a future. The caller has taken the task.
func describe(f any) string {
	switch f := f.(type) {
	case nil:
		return ""
	case selected:
		return fmt.Sprintf("the first of %d futures", f)
	case fmt.Stringer:
		return fmt.Sprint(f) // survives a String that panics
	default:
		return fmt.Sprintf("%T", f)
	}
}
