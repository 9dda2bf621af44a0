package antspool

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/panjf2000/ants/v2"

	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// Submit waits for weight permits, then for a goroutine of the ants pool, and has fn called there.
// It returns nil if fn has begun or is sure to. Otherwise fn is never called.
//
// If ctx is done, already or during the wait, Submit returns ctx.Err. A function is accepted when
// it has both its permits and a goroutine: ctx is asked once more then. A cancel that happened
// before always wins: fn is not called, and Submit gives back what it took. A cancel that comes
// later does not stop fn, and Submit returns nil. One that comes at the same time may do either.
//
// If the gate has fewer than weight permits in all, Submit returns [semaphore.ErrTooLarge] without
// waiting. It panics if weight is negative, or ctx or fn is nil. A weight of 0 does not wait for
// permits.
//
// A panic of fn reaches ants as if there were nothing in between, and so does runtime.Goexit. The
// permits are back before.
//
// A job that submits to its own pool keeps its goroutine and its permits meanwhile, and if all do
// it they wait for each other; [Pool.Go] does not wait. Submit allocates a closure if it does not
// wait, and a few words more if ctx can be cancelled; a job and a channel if it waits.
func (p *Pool) Submit(ctx context.Context, weight int64, fn func()) error {
	p.check(weight, fn)
	if ctx == nil {
		panic("antspool: nil context")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	held := false
	if !p.mayBlock && p.gate.TryAcquire(weight) {
		var o *offer
		if ctx.Done() != nil {
			o = &offer{ctx: ctx}
		}
		err := p.hand(weight, fn, o)
		switch {
		case err == nil && o != nil && !o.accept():
			p.gate.Release(weight)
			return waiter.ContextError(ctx)
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
	case <-ctx.Done():
		j.stop(waiter.ContextError(ctx))
		return <-reply
	}
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
	verdict := verdictYes
	if o.ctx.Err() != nil {
		verdict = verdictNo
	}
	o.verdict.CompareAndSwap(verdictNone, verdict)
	return o.verdict.Load() == verdictYes
}

// TrySubmit has fn called by a goroutine of the ants pool, if the permits and a goroutine are free
// and nobody waits for them. Otherwise fn is never called. It does not wait.
//
// The error is [ErrBusy] if it fails for want of permits, [ants.ErrPoolOverload] for want of a
// goroutine, which may be one that is just ending a job; [ErrMayBlock] if the pool is not a
// non-blocking one; otherwise one as of [Pool.Submit].
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
			return semaphore.ErrTooLarge
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
		if o == nil || o.accept() {
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

// Workers returns the pool as one for [rt.NewOn]: each goroutine that the executor occupies, for a
// worker or for [rt.Blocking], holds weight permits as long, so that the gate knows of it. If they
// are not free, or there is no goroutine, Submit fails at once, as [Pool.TrySubmit] does. It panics
// if weight is negative.
//
// An executor runs on the ants pool itself as well, beside the gate.
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
