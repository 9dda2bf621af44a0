package antspool

import (
	"context"

	"github.com/panjf2000/ants/v2"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// A Job is a function that [Pool.Go] was asked to run. No goroutine has to wait for it. A goroutine
// may receive from Done, in a select or not, or wait with rt.BlockOn; a task waits with rt.Await.
// As a future, by Poll and Release, a Job has one owner at a time. Any goroutine may call the other
// methods.
type Job struct {
	p      *Pool
	weight int64
	fn     func()
	permit waiter.Future // belongs to the goroutine that has set polling

	ctx   context.Context // of Submit; nil for Go
	reply chan error      // of Submit: nil when the function begins, or why it does not

	next, prev *Job // all below is guarded by p.mu
	in         *list
	state      jobState
	held       bool // it has its permits, and they are not the future's
	polling    bool // a goroutine is polling the future, or has released it
	woken      bool // a wake came meanwhile
	err        error
	waker      waiter.Waker
	done       chan struct{} // made by the first Done
}

// A jobState is where a job is.
//
//	state     the job is in            who moves it, and to what
//	waiting   the list waiting         poll: ready or ending; stop, doom: ending
//	ready     the list ready           look: running; stop, doom: ending
//	running   no list                  the goroutine that it runs on: ended
//	ending    the list doomed, or none who ended it, or polls its future: ended
//	ended     no list
type jobState uint8

const (
	jobWaiting jobState = iota // for permits
	jobReady                   // it has permits, and waits for a goroutine
	jobRunning                 // it has a goroutine
	jobEnding                  // it will not run; its permits are being given back
	jobEnded
)

// Go has a goroutine of the ants pool call fn when there are weight permits. It returns at once,
// and no goroutine waits: the job itself stands in the queue of the gate, and the goroutine that
// releases the permits submits it. If ants has no free goroutine then, the job keeps its permits
// and its place until there is one.
//
// If the job cannot run, it has ended when Go returns, and its Err says why. Otherwise a job ends
// as described for [Pool.Submit]. Go panics if weight is negative or fn is nil. It allocates the
// job.
func (p *Pool) Go(weight int64, fn func()) *Job {
	p.check(weight, fn)
	j := &Job{p: p, weight: weight, fn: fn}
	j.start()
	return j
}

// Stop prevents the job from beginning, and reports whether it did. Then the Err of the job is
// [ErrCancelled]. Stop returns false if the function has begun, which then goes on, or if the job
// has ended or is about to for another reason.
func (j *Job) Stop() bool {
	j.made()
	return j.stop(ErrCancelled)
}

// Release is Stop for a future: it also ends the wait of the owner.
func (j *Job) Release() {
	j.made()
	j.p.mu.Lock()
	j.waker = nil
	j.p.mu.Unlock()
	j.Stop()
}

// Done returns a channel that is closed when the job has ended and has given back its permits. All
// calls return the same channel; the first call allocates it.
func (j *Job) Done() <-chan struct{} {
	j.made()
	j.p.mu.Lock()
	defer j.p.mu.Unlock()
	if j.done == nil {
		j.done = make(chan struct{})
		if j.state == jobEnded {
			close(j.done)
		}
	}
	return j.done
}

// Poll reports whether the job has ended. If not, the end wakes w, which may be nil. It replaces
// the waker of the last Poll. If that was of another task, Poll panics.
func (j *Job) Poll(w waiter.Waker) bool {
	j.made()
	j.p.mu.Lock()
	last := j.waker
	j.p.mu.Unlock()
	if o, ok := last.(waiting.Owner); ok {
		o.Displaced(w)
	}
	j.p.mu.Lock()
	defer j.p.mu.Unlock()
	if j.state == jobEnded {
		return true
	}
	j.waker = w
	return false
}

// Err returns nil if the function has returned, [ErrAborted] if it has ended otherwise, the reason
// if it was not called, and [waiter.ErrPending] if the job has not ended.
func (j *Job) Err() error {
	j.made()
	j.p.mu.Lock()
	defer j.p.mu.Unlock()
	if j.state != jobEnded {
		return waiter.ErrPending
	}
	return j.err
}

// made panics if the job is not one of Go.
func (j *Job) made() {
	if j == nil || j.p == nil {
		panic("antspool: use of a Job that Pool.Go has not made")
	}
}

// start asks the gate for permits, unless the job has them.
func (j *Job) start() {
	p := j.p
	isClosed := p.ants.IsClosed()
	p.mu.Lock()
	switch {
	case isClosed || p.closed:
		j.state, j.err = jobEnding, ants.ErrPoolClosed
		j.polling = true // of a future without a request
		p.mu.Unlock()
		j.giveBack(j.err)
	case j.held:
		p.readyLocked(j)
		p.mu.Unlock()
		p.serve()
	default:
		p.gate.Bind(&j.permit, j.weight)
		j.polling = true
		p.waiting.pushBack(j)
		p.mu.Unlock()
		j.poll()
	}
}

// grant is a job as the waker of its own future.
type grant Job

// Wake implements [waiter.Waker]. A job that has been ended by another is that one's to give back:
// were it done here, a queue of such jobs would wake each other, one inside the other.
func (g *grant) Wake() {
	j := (*Job)(g)
	j.p.mu.Lock()
	polls := j.state == jobWaiting && !j.polling
	j.woken = !polls
	j.polling = j.polling || polls
	j.p.mu.Unlock()
	if polls {
		j.poll()
	}
}

// poll moves the job on if it has been granted its permits. The caller has set polling.
func (j *Job) poll() {
	p := j.p
	for { // Each turn follows a wake.
		complete := j.permit.Poll((*grant)(j))
		p.mu.Lock()
		switch {
		case j.state != jobWaiting: // ended by another goroutine, which has left the future to us
			p.mu.Unlock()
			j.permit.Release()
			j.giveBack(j.err)
			return
		case complete:
			if err := j.permit.Take(); err != nil {
				p.endLocked(j, err)
				p.mu.Unlock()
				j.giveBack(err)
				return
			}
			p.waiting.remove(j)
			j.held = true
			p.readyLocked(j)
			p.mu.Unlock()
			p.serve()
			return
		case !j.woken:
			j.polling = false
			p.mu.Unlock()
			return
		}
		j.woken = false
		p.mu.Unlock()
	}
}

// stop ends a job that has not begun, with err, and reports whether it did.
func (j *Job) stop(err error) bool {
	p := j.p
	p.mu.Lock()
	if j.state > jobReady {
		p.mu.Unlock()
		return false
	}
	p.endLocked(j, err)
	p.mu.Unlock()
	j.drop()
	return true
}

// drop gives back the permits of a job that was ended, or leaves that to the goroutine that polls.
func (j *Job) drop() {
	p := j.p
	p.mu.Lock()
	if !j.held {
		if j.polling { // The poll will see.
			p.mu.Unlock()
			return
		}
		j.polling = true
		p.mu.Unlock()
		j.permit.Release()
	} else {
		p.mu.Unlock()
	}
	j.giveBack(j.err)
}

// giveBack is the end of a job, which has run or will not. Permits that belong to the future have
// been given back.
func (j *Job) giveBack(err error) {
	defer j.finish(err) // even if the release panics, because the permits were released elsewhere
	if j.held {
		j.p.gate.Release(j.weight)
	}
}

// finish wakes those that wait for the end of the job.
func (j *Job) finish(err error) {
	j.p.mu.Lock()
	j.state, j.err = jobEnded, err
	w := j.waker
	j.fn, j.ctx, j.waker = nil, nil, nil
	if j.done != nil {
		close(j.done)
	}
	j.p.mu.Unlock()
	if j.reply != nil {
		j.reply <- err
	}
	if w != nil {
		w.Wake()
	}
}
