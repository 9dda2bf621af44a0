package rt

import "sync/atomic"

// counts are what one worker has counted. The worker counts in plain numbers, and publishes them
// now and then, so that no poll pays for an atomic addition.
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

// Stats are an executor's numbers at some moment. What workers count they publish every few dozen
// polls and before they sleep, so that the sums lag behind a little.
type Stats struct {
	Workers  int // in all
	Sleeping int // of them, without work
	Tasks    int // spawned and not ended

	Injected int   // tasks in the queue that all workers share
	Queued   []int // tasks in the queue of each worker; 0 for a worker without peers, whose queue is its own affair
	Sleepers int   // timers that have not fired

	Polls    uint64 // calls of Poll
	Steals   uint64 // tasks taken from a worker: by another, or because its poll took long
	Wakes    uint64 // times that a sleeping worker was woken
	Ended    uint64 // tasks
	Panics   uint64 // of tasks, and of functions of Blocking whose task had gone
	Replaced uint64 // workers whose goroutine a task has ended
}

// Stats returns the executor's numbers. It takes all its locks, one after the other.
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
