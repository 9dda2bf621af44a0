package rt

import (
	"math/bits"

	"github.com/farad-go/farad/internal/xsync"
)

// A shard has a part of the tasks that live: so that Shutdown reaches those that wait, and Dump
// sees them all. There are many shards, so that spawning on many processors does not queue at one
// lock.
type shard struct {
	mu     xsync.Mutex
	oldest *Task // all guarded by mu
	newest *Task
	size   int
	closed bool

	_ [80]byte // to two cache lines
}

// shardsFor returns the number of shards for so many workers: a power of two.
func shardsFor(workers int) int {
	if workers == 1 {
		return 1
	}
	return 1 << bits.Len(uint(4*workers-1))
}

// add lists t as living, unless the shard is closed.
func (s *shard) add(t *Task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if m := t.more; m != nil {
		m.err = nil
	}
	t.older, t.newer = s.newest, nil
	if s.newest == nil {
		s.oldest = t
	} else {
		s.newest.newer = t
	}
	s.newest = t
	s.size++
	return true
}

// remove is called with the lock held.
func (s *shard) remove(t *Task) {
	if t.older == nil {
		s.oldest = t.newer
	} else {
		t.older.newer = t.newer
	}
	if t.newer == nil {
		s.newest = t.older
	} else {
		t.newer.older = t.older
	}
	t.older, t.newer = nil, nil
	s.size--
}

// close has the shard take no more tasks, and adds the number of those that it has.
func (s *shard) close(left *xsync.Int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	left.Add(int64(s.size))
}

// Cause returns why tasks were cancelled by a Shutdown: the cause of its context, and of the first
// if several have cancelled some. It is nil if none were.
func (ex *Executor) Cause() error {
	ex.made()
	return ex.cause.Load()
}

// cancelAll cancels every task, and returns how many there were. If there are any, the cause is
// that of the first call that found some.
func (ex *scheduler) cancelAll(cause error) int {
	n := 0
	for i := range len(ex.shards) {
		s := &ex.shards[i]
		s.mu.Lock()
		for t := s.oldest; t != nil; t = t.newer {
			if n == 0 {
				ex.cause.CompareAndSwap(nil, cause)
			}
			t.Abort()
			n++
		}
		s.mu.Unlock()
	}
	return n
}

// extra returns what most tasks do not have. It is called with the shard's lock held, or before the
// task is spawned.
func (t *Task) extra() *more {
	if t.more == nil {
		t.more = new(more)
	}
	return t.more
}

// SetName gives the task a name, for [Executor.Dump] and the watchdog. It must be called before the
// task is spawned, and holds for every time that it is.
func (t *Task) SetName(name string) { t.extra().name = name }
