package rt

import (
	"fmt"
	"math"
)

// A TaskInfo describes a task for [Executor.Dump].
type TaskInfo struct {
	Name      string // set by GoNamed or SetName, or the task's type
	Waiting   bool   // neither queued nor being polled, nor looked at by another Dump at this moment
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
	s.look(math.MaxInt, func(t *Task) {
		infos = append(infos, TaskInfo{Name: t.name(), Cancelled: t.isCancelled()})
	}, func(i int, t *Task) {
		infos[i].Waiting = true
		infos[i].WaitsFor = describe(t.waits)
	})
	return infos
}

// look calls each for the oldest living tasks under the lock, at most n, and then waits without the
// lock for those of them that wait, with their number. It returns how many there are besides.
//
// Only the goroutine that has taken a task may read what it waits for. So look takes a waiting task
// as a worker would, without polling it. It has no lock then: waits may call a String method of the
// user's. If waits is nil it takes none.
func (s *shard) look(n int, each func(*Task), waits func(int, *Task)) (more int) {
	type looked struct {
		task *Task // nil: it does not wait
		row  *row  // nil: it is not observed
	}
	var taken []looked
	s.mu.Lock()
	more = s.size
	for t := s.oldest; t != nil && len(taken) < n; t = t.newer {
		each(t)
		more--
		if waits == nil || !t.state.CompareAndSwap(taskAlive, taskAlive|1) {
			taken = append(taken, looked{})
			continue
		}
		r := t.row.Load()
		if r != nil {
			r.looks.Add(1)
		}
		taken = append(taken, looked{t, r})
	}
	s.mu.Unlock()
	for i, l := range taken {
		t := l.task
		if t == nil {
			continue
		}
		waits(i, t)
		woken := !t.state.CompareAndSwap(taskAlive|1, taskAlive)
		if l.row != nil {
			l.row.looks.Add(-1)
		}
		if woken {
			t.state.Store(taskAlive | 1)
			if r := t.row.Load(); r != nil {
				r.noteWake(true)
			}
			t.ex.workers[t.home.Load()].enqueue(t)
		}
	}
	return more
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
