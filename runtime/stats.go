package rt

import "sync/atomic"

// counts are the numbers of one worker. The worker counts in plain integers and publishes them from
// time to time, so that no poll pays for an atomic addition.
type counts struct {
	polls, steals, wakes, ended uint64

	published struct{ polls, steals, wakes, ended atomic.Uint64 }
}

func (c *counts) publish() {
	c.published.polls.Store(c.polls)
	c.published.steals.Store(c.steals)
	c.published.wakes.Store(c.wakes)
	c.published.ended.Store(c.ended)
}

// Stats are the numbers of an executor at one moment. Workers publish their counts every 61 polls
// and before they sleep, so the sums lag behind a little.
type Stats struct {
	Workers  int // in all
	Sleeping int // workers without work
	Tasks    int // tasks that have not ended

	Injected int   // tasks in the queue that all workers share
	Queued   []int // tasks in the queue of each worker; always 0 with a single worker
	Sleepers int   // timers of tasks that have not fired

	Polls    uint64 // calls of Poll
	Steals   uint64 // tasks taken from a worker by another, or because its poll took long
	Wakes    uint64 // wakes of sleeping workers
	Ended    uint64 // tasks that have ended
	Panics   uint64 // panics of tasks, and of functions of Blocking whose task was aborted
	Replaced uint64 // workers whose goroutine a task has ended
}

// Stats returns the numbers of the executor. It takes all locks of the executor, one after the
// other.
func (ex *Executor) Stats() Stats {
	ex.made()
	s := Stats{
		Workers:  len(ex.workers),
		Sleeping: int(ex.idle.word.Load() & sleepingMask),
		Injected: ex.injection.len(),
		Sleepers: ex.timers.len(),
		Panics:   ex.panics.count(),
		Replaced: ex.swaps.Load(),
	}
	for i := range len(ex.shards) {
		sh := &ex.shards[i]
		sh.mu.Lock()
		s.Tasks += sh.size
		sh.mu.Unlock()
	}
	for _, w := range ex.workers {
		s.Queued = append(s.Queued, w.ring.len())
		s.Polls += w.counts.published.polls.Load()
		s.Steals += w.counts.published.steals.Load()
		s.Wakes += w.counts.published.wakes.Load()
		s.Ended += w.counts.published.ended.Load()
	}
	if m := ex.monitor; m != nil {
		m.mu.Lock()
		s.Steals += m.moved
		m.mu.Unlock()
	}
	return s
}
