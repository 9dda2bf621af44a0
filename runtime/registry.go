package rt

import (
	"math/bits"

	"github.com/farad-go/farad/internal/xsync"
)

// A shard lists a part of the living tasks, so that Shutdown reaches waiting tasks and Dump sees
// all. There are many shards, so that spawning on many processors does not contend for one lock.
type shard struct {
	mu     xsync.Mutex
	oldest *Task // all guarded by mu
	newest *Task
	size   int
	closed bool

	_ [80]byte // to two cache lines
}

// shardsFor returns the number of shards for a number of workers: a power of two.
func shardsFor(workers int) int {
	if workers == 1 {
		return 1
	}
	return 1 << bits.Len(uint(4*workers-1))
}

// add lists t as living, and reports false if the shard is closed.
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

// remove takes t off the list. The caller holds the lock.
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

// close makes the shard refuse tasks, and adds the number of its tasks to left.
func (s *shard) close(left *xsync.Int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	left.Add(int64(s.size))
}

// cancelAll aborts all tasks, and returns their number. The first call that finds some sets the
// cause.
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

// extra returns the fields that most tasks do not need. The caller holds the lock of the shard, or
// the task is not spawned yet.
func (t *Task) extra() *more {
	if t.more == nil {
		t.more = new(more)
	}
	return t.more
}

// SetName names the task for [Executor.Dump] and the watchdog. It must be called before the task is
// spawned, and holds for every later life. Straight-line tasks have [GoNamed].
func (t *Task) SetName(name string) { t.extra().name = name }
