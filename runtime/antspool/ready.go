package antspool

import (
	"errors"
	"time"

	"github.com/panjf2000/ants/v2"
)

// How jobs that have permits get goroutines.
//
// They stand in the list ready. What ants is asked to run is not a job but a look at that list
// (begin): the goroutine takes the oldest job, runs it, gives its permits back, and takes the next,
// until there is none. So a job can be ended by others until it begins; jobs get goroutines in
// their order; and a job that ends and thereby lets the next one through continues with that, on
// the same goroutine, in a loop: nothing is called by what it has woken, however long the queue.
//
// Invariants:
//
//  1. At most as many jobs are ready as goroutines are sure to look at the list (lookers), or else
//     this is attended to: a goroutine is in ask, or the timer of the retries is set.
//     (TestJobsOutliveForeignWork) A looker for which ants makes a goroutine of ours wait (asking)
//     is not as sure: as long as there is one, and jobs are ready, the timer is set.
//     (TestForgottenJobsRun, TestSecondIsForgotten)
//  2. A looker looks once, and either takes the oldest job or finds none; or it leaves, and calls
//     serve. A goroutine that has counted a looker that will not come counts it out, and serves.
//     (TestPanicsKeepThePoolGoing)
//  3. No goroutine waits in a Wake: on pools that may block, ants is asked by a goroutine of our
//     own. (TestWakeDoesNotWait)
//  4. All jobs that wait are doomed in one step, before one of them gives anything back; and the
//     Wake of a doomed job does nothing. So they do not wake each other, one inside the other.
//     (TestDeepQueueEndsOnAClosedPool)

// A task is a function that has its permits, and the job that it is of, nil if it was handed to
// ants directly.
type task struct {
	fn     func()
	weight int64
	job    *Job
}

// readyLocked puts a job that has permits into the list. The caller calls serve after unlock.
func (p *Pool) readyLocked(j *Job) {
	j.state = jobReady
	p.ready.pushBack(j)
}

// serve sees to it that enough goroutines will look at the list. It does not wait.
func (p *Pool) serve() {
	if !p.mayBlock {
		p.ask()
		return
	}
	p.mu.Lock()
	ask := p.asking == 0 && p.ready.len > p.lookers
	if ask {
		p.asking++
	}
	if p.asking > 0 { // in case that ants forgets it: see retry
		p.retries.setLocked(p)
	}
	p.mu.Unlock()
	if ask {
		go p.ask()
	}
}

// ask asks ants for goroutines until there are enough.
func (p *Pool) ask() {
	for asked := false; ; asked = true { // Each turn but the last has got a goroutine.
		p.mu.Lock()
		if asked {
			p.retries.delay = 0
		}
		if p.ready.len <= p.lookers {
			p.askedLocked()
			p.mu.Unlock()
			return
		}
		p.lookers++
		p.mu.Unlock()
		if err := p.submit(p.token); err != nil {
			p.refused(err)
			return
		}
	}
}

// askedLocked is the end of ask and askAgain.
func (p *Pool) askedLocked() {
	if p.mayBlock {
		p.asking--
	}
}

// refused counts out a looker that ants has refused, and has what is ready wait for another try, or
// end.
func (p *Pool) refused(err error) {
	p.mu.Lock()
	p.lookers--
	p.askedLocked()
	if errors.Is(err, ants.ErrPoolOverload) {
		p.retries.setLocked(p)
		p.mu.Unlock()
		return
	}
	p.doomLocked(err)
	p.mu.Unlock()
	p.reap()
}

// begin is what ants runs.
func (p *Pool) begin() {
	if j := p.look(0); j != nil {
		p.work(j.task())
	}
}

// work runs t and then what is ready.
func (p *Pool) work(t task) {
	for n := 1; ; n++ {
		j := p.run(t, n)
		if j == nil {
			return
		}
		t = j.task()
	}
}

// task returns what there is to run of a job that look has returned.
func (j *Job) task() task { return task{j.fn, j.weight, j} }

// run calls the function, unless its context is done, and returns the next job. It lets panics and
// Goexit pass, and then does not take a job, because the goroutine ends.
func (p *Pool) run(t task, n int) (next *Job) {
	err := ErrAborted
	defer func() { next = p.ended(t, err, n) }()
	if t.job != nil && t.job.ctx != nil {
		if done := t.job.ctx.Err(); done != nil {
			err = done
			return nil
		}
		t.job.reply <- nil
		t.job.reply = nil
	}
	t.fn()
	err = nil
	return nil
}

// ended gives the permits back, and returns the next job unless the goroutine is ending.
//
// Before it gives them back it becomes a looker: the job that gets them need not ask for another
// goroutine.
func (p *Pool) ended(t task, err error, n int) *Job {
	looks := !errors.Is(err, ErrAborted)
	clean := false
	if looks {
		p.mu.Lock()
		p.lookers++
		p.mu.Unlock()
		defer func() {
			if !clean { // the release has panicked
				p.mu.Lock()
				p.lookers--
				p.mu.Unlock()
				p.serve()
			}
		}()
	}
	if t.job != nil {
		t.job.giveBack(err)
	} else {
		p.gate.Release(t.weight)
	}
	clean = true
	if !looks {
		return nil
	}
	return p.look(n)
}

// maxInARow is how many jobs a goroutine of a blocking pool runs before it goes back to ants, where
// others may wait for it.
const maxInARow = 64

// look takes the oldest job for the calling goroutine, a looker, which has run n of them. It
// returns nil if there is none, or the goroutine is to go back.
func (p *Pool) look(n int) *Job {
	p.mu.Lock()
	p.lookers--
	switch {
	case p.ready.len == 0:
		p.mu.Unlock()
		return nil
	case p.ants.IsClosed():
		p.doomLocked(ants.ErrPoolClosed)
		p.mu.Unlock()
		p.reap()
		return nil
	case n > 0 && (p.mayBlock && n%maxInARow == 0 || p.shrunk()):
		p.mu.Unlock()
		p.serve()
		return nil
	}
	j := p.ready.front
	p.ready.remove(j)
	j.state = jobRunning
	if p.ready.len == 0 {
		p.retries.stopLocked()
	}
	p.mu.Unlock()
	return j
}

// shrunk reports whether the ants pool has more goroutines than it should, so that one has to end.
func (p *Pool) shrunk() bool {
	c := p.ants.Cap()
	return c > 0 && p.ants.Running() > c
}

// endLocked ends a job that has not begun. What it holds is given back by drop, reap, or the
// goroutine that polls.
func (p *Pool) endLocked(j *Job, err error) {
	j.in.remove(j)
	j.state, j.err = jobEnding, err
}

// doomLocked ends all jobs that have not begun. The caller calls reap after unlock.
func (p *Pool) doomLocked(err error) {
	for _, l := range []*list{&p.ready, &p.waiting} {
		for l.front != nil {
			j := l.front
			p.endLocked(j, err)
			p.doomed.pushBack(j)
		}
	}
	p.retries.stopLocked()
}

// reap gives back what doomed jobs hold.
func (p *Pool) reap() {
	for { // Each turn ends a job.
		p.mu.Lock()
		j := p.doomed.front
		if j == nil {
			p.mu.Unlock()
			return
		}
		p.doomed.remove(j)
		p.mu.Unlock()
		j.drop()
	}
}

// The delays of the retries.
const (
	minDelay = 20 * time.Microsecond
	maxDelay = 10 * time.Millisecond
)

// retries are for when ants has no goroutine for a job that is ready, and nothing of ours need be
// running that would look when it ends.
type retries struct { // guarded by Pool.mu
	timer *time.Timer
	set   bool
	delay time.Duration
	count int // how often the timer has gone off, for tests
}

func (r *retries) setLocked(p *Pool) {
	if r.set || p.ready.len == 0 {
		return
	}
	r.set = true
	r.delay = min(max(2*r.delay, minDelay), maxDelay)
	if r.timer == nil {
		r.timer = time.AfterFunc(r.delay, p.retry)
	} else {
		r.timer.Reset(r.delay)
	}
}

func (r *retries) stopLocked() {
	if r.set && r.timer.Stop() {
		r.set = false
	}
	r.delay = 0
}

// retry is what the timer calls.
func (p *Pool) retry() {
	p.mu.Lock()
	p.retries.set = false
	p.retries.count++
	if p.asking == 0 {
		p.mu.Unlock()
		p.serve()
		return
	}
	// Goroutines of ours wait inside ants, and may miss a wake-up: ants v2.12.1 signals its
	// condition without the lock when the pool is released or a function has panicked. Then a
	// waiter that is just about to wait is forgotten until the next function ends. After a release
	// we notify the jobs ourselves. (TestForgottenJobsEndWithADirectRelease)
	if p.ants.IsClosed() {
		p.doomLocked(ants.ErrPoolClosed)
		p.mu.Unlock()
		p.reap()
		return
	}
	// If there is room, no goroutine should be waiting. One more that asks gets a goroutine, which
	// looks at the list, and its end wakes the next waiter. If that one is forgotten as well, the
	// timer starts another. (TestForgottenJobsRun, TestJobsOutliveLostWakeupsOfAnts)
	again := p.ready.len > 0 && p.ants.Running() < p.ants.Cap() && (p.asking < 2 || p.retries.delay == maxDelay)
	if again {
		p.asking++
		p.lookers++
	}
	p.retries.setLocked(p)
	p.mu.Unlock()
	if again {
		go p.askAgain()
	}
}

// askAgain asks once more, whatever the number of lookers.
func (p *Pool) askAgain() {
	if err := p.submit(p.token); err != nil {
		p.refused(err)
		return
	}
	p.mu.Lock()
	p.askedLocked()
	p.mu.Unlock()
}
