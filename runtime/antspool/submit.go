package antspool

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/panjf2000/ants/v2"

	"github.com/farad-go/farad/internal/waiting"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// Submit waits for weight permits and then for a goroutine of the ants pool, which calls fn. It
// returns nil if fn has begun or is sure to begin. Otherwise fn is never called.
//
// If ctx is done, at the call or during the wait, Submit returns ctx.Err. Once fn has both its
// permits and a goroutine, ctx is checked for the last time. A cancel that happened before always
// wins: Submit gives back the permits and fn is not called. A later cancel does not stop fn, and
// Submit returns nil. A concurrent one may do either.
//
// If the gate has fewer than weight permits in all, Submit returns [semaphore.ErrTooLarge] at once.
// It panics if weight is negative, or if ctx or fn is nil. A weight of 0 does not wait for permits.
//
// A panic of fn, or runtime.Goexit, reaches ants unchanged, after the permits were given back.
//
// A job that submits to its own pool holds its goroutine and its permits while it waits. If all
// jobs do that, they wait for each other; [Pool.Go] does not wait. Submit allocates a closure if it
// does not wait, and a few words more if ctx can be cancelled. If it waits, it allocates a job and
// a channel.
func (p *Pool) Submit(ctx context.Context, weight int64, fn func()) error {
	p.check(weight, fn)
	if ctx == nil {
		panic("antspool: nil context")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	done := ctx.Done() // Before anything is held: a context of a foreign type may panic.
	held := false
	if !p.mayBlock && p.gate.TryAcquire(weight) {
		var o *offer
		if done != nil {
			o = &offer{ctx: ctx}
		}
		err := p.hand(weight, fn, o)
		switch {
		case err == nil && o != nil && !p.accepted(o, weight):
			return waiting.ContextError(ctx)
		case !errors.Is(err, ants.ErrPoolOverload):
			return err
		}
		held = true
	}
	// The goroutine that takes the job says so, or that it will not be taken.
	reply := make(chan error, 1)
	j := &Job{p: p, weight: weight, fn: fn, ctx: ctx, reply: reply, held: held}
	j.start()
	select {
	case err := <-reply:
		return err
	case <-done:
		j.stopFor(ctx)
		return <-reply
	}
}

// stopFor stops a job whose context is done, even if that panics when it is asked why.
func (j *Job) stopFor(ctx context.Context) {
	err := context.Canceled
	defer func() { j.stop(err) }()
	err = waiting.ContextError(ctx)
}

// begins is accepted, for the goroutine of ants. If the context panics after Submit has said yes,
// begins gives the permits back, as if the function had panicked.
func (p *Pool) begins(o *offer, weight int64) bool {
	answered := false
	defer func() {
		if !answered && o.verdict.Load() == verdictYes {
			p.gate.Release(weight)
		}
	}()
	yes := o.accept()
	answered = true
	return yes
}

// accepted reports, in Submit, whether the function of o, which has a goroutine, is to run. If not,
// even because the context panics, it gives the permits back.
func (p *Pool) accepted(o *offer, weight int64) bool {
	defer func() {
		if o.verdict.Load() == verdictNo {
			p.gate.Release(weight)
		}
	}()
	return o.accept()
}

// An offer is a function that has its permits, and that ants has found a goroutine for, although
// its context may be done by then. Both that goroutine and the one in Submit, which do not wait for
// each other, ask the context, and the first verdict counts. If it is no, Submit gives the permits
// back.
type offer struct {
	ctx     context.Context
	verdict atomic.Uint32 // one of the verdicts below; changes once
}

const (
	verdictNone uint32 = iota
	verdictYes
	verdictNo
)

// accept asks the context, and reports whether the function is to run. The goroutine has been
// found.
func (o *offer) accept() bool {
	o.decide()
	return o.verdict.Load() == verdictYes
}

// decide asks the context. One that panics has said no.
func (o *offer) decide() {
	verdict := verdictNo
	defer func() { o.verdict.CompareAndSwap(verdictNone, verdict) }()
	if o.ctx.Err() == nil {
		verdict = verdictYes
	}
}

// TrySubmit has a goroutine of the ants pool call fn if permits and a goroutine are free and no
// goroutine waits for them. Otherwise fn is never called. TrySubmit does not wait.
//
// The error is [ErrBusy] if permits are missing, and [ants.ErrPoolOverload] if a goroutine is
// missing, which may be one that is just ending a job. It is [ErrMayBlock] on a blocking pool, and
// otherwise as for [Pool.Submit].
func (p *Pool) TrySubmit(weight int64, fn func()) error {
	p.check(weight, fn)
	switch {
	case p.mayBlock:
		return ErrMayBlock
	case p.ants.IsClosed():
		return ants.ErrPoolClosed
	case !p.gate.TryAcquire(weight):
		switch {
		case weight > p.gate.Size():
			return waiter.Oversized("antspool", weight, p.gate.Size())
		case !p.gate.TryAcquire(0):
			return semaphore.ErrClosed
		default:
			return ErrBusy
		}
	}
	err := p.hand(weight, fn, nil)
	if errors.Is(err, ants.ErrPoolOverload) {
		p.gate.Release(weight)
	}
	return err
}

// hand gives ants a function whose permits are held. They are given back after any error but
// ErrPoolOverload. The pool must be one that does not block. If there is an offer, it has to be
// accepted.
func (p *Pool) hand(weight int64, fn func(), o *offer) error {
	p.mu.Lock()
	switch {
	case p.closed:
		p.mu.Unlock()
		p.gate.Release(weight)
		return ants.ErrPoolClosed
	case p.ready.len > 0: // whose turn it is
		p.mu.Unlock()
		return ants.ErrPoolOverload
	}
	p.handing++
	p.mu.Unlock()
	err := p.submit(func() {
		if o == nil || p.begins(o, weight) {
			p.work(task{weight: weight, fn: fn})
		}
	})
	p.mu.Lock()
	if p.handing--; p.handing == 0 && p.closed {
		p.handed.Broadcast()
	}
	p.mu.Unlock()
	if err != nil && !errors.Is(err, ants.ErrPoolOverload) {
		p.gate.Release(weight)
	}
	return err
}

// Workers returns the pool as a Pool for [rt.NewOn]. Each goroutine of the executor, for a worker
// or for [rt.Blocking], holds weight permits of the gate while it runs. If permits or a goroutine
// are missing, Submit fails at once, as [Pool.TrySubmit] does. Workers panics if weight is
// negative.
//
// An executor may also run on the ants pool directly, and bypass the gate.
func (p *Pool) Workers(weight int64) rt.Pool {
	p.made()
	checkWeight(weight)
	return workers{p, weight}
}

type workers struct {
	p      *Pool
	weight int64
}

func (w workers) Submit(fn func()) error { return w.p.TrySubmit(w.weight, fn) }

func (p *Pool) check(weight int64, fn func()) {
	p.made()
	checkWeight(weight)
	if fn == nil {
		panic("antspool: nil function")
	}
}

func checkWeight(weight int64) {
	if weight < 0 {
		panic(fmt.Sprintf("antspool: negative weight, %d", weight))
	}
}
