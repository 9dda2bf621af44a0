package antspool

import (
	"context"
	"errors"

	"github.com/panjf2000/ants/v2"

	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
)

// Submit waits for weight permits, then for a goroutine of the ants pool, and has fn called there. It returns nil if fn
// has begun or is sure to. Otherwise fn is never called.
//
// If ctx is done, already or during the wait, Submit returns ctx.Err; a context that is done before fn would begin wins,
// unless a goroutine has been found already. If the gate has fewer than weight permits in all, Submit returns
// [semaphore.ErrTooLarge] without waiting. It panics if weight is negative, or ctx or fn is nil. A weight of 0 does not
// wait for permits.
//
// A panic of fn reaches ants as if there were nothing in between, and so does runtime.Goexit. The permits are back
// before.
//
// A job that submits to its own pool keeps its goroutine and its permits meanwhile, and if all do it they wait for
// each other; [Pool.Go] does not wait. Submit allocates a closure if it does not wait, and a job if it does.
func (p *Pool) Submit(ctx context.Context, weight int64, fn func()) error {
	check(weight, fn)
	if ctx == nil {
		panic("antspool: nil context")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	held := false
	if !p.mayBlock && p.gate.TryAcquire(weight) {
		err := p.hand(weight, fn)
		if !errors.Is(err, ants.ErrPoolOverload) {
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
		j.stop(ctx.Err())
		return <-reply
	}
}

// TrySubmit has fn called by a goroutine of the ants pool, if the permits and a goroutine are free and nobody waits for
// them. Otherwise fn is never called. It does not wait.
//
// The error is [ErrBusy] if it fails for want of permits, [ants.ErrPoolOverload] for want of a goroutine, which may be
// one that is just ending a job; [ErrMayBlock] if the pool is not a non-blocking one; otherwise one as of [Pool.Submit].
func (p *Pool) TrySubmit(weight int64, fn func()) error {
	check(weight, fn)
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
	err := p.hand(weight, fn)
	if errors.Is(err, ants.ErrPoolOverload) {
		p.gate.Release(weight)
	}
	return err
}

// hand gives ants a function whose permits are held. They are given back after any error but ErrPoolOverload. The pool
// must be one that does not block.
func (p *Pool) hand(weight int64, fn func()) error {
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
	err := p.ants.Submit(func() { p.work(task{weight: weight, fn: fn}) })
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

// Workers returns the pool as one for [rt.NewOn]: each goroutine that the executor occupies, for a worker or for
// [rt.Blocking], holds weight permits as long, so that the gate knows of it. If they are not free, or there is no
// goroutine, Submit fails at once, as [Pool.TrySubmit] does. It panics if weight is negative.
//
// An executor runs on the ants pool itself as well, beside the gate.
func (p *Pool) Workers(weight int64) rt.Pool {
	checkWeight(weight)
	return workers{p, weight}
}

type workers struct {
	p      *Pool
	weight int64
}

func (w workers) Submit(fn func()) error { return w.p.TrySubmit(w.weight, fn) }

func check(weight int64, fn func()) {
	checkWeight(weight)
	if fn == nil {
		panic("antspool: nil function")
	}
}

func checkWeight(weight int64) {
	if weight < 0 {
		panic("antspool: negative weight")
	}
}
