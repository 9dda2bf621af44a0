package interleave

import (
	"context"
	"sync/atomic"
)

// Context is a modelled context. Its Err and its done channel change in two steps, as those of
// package context do.
type Context struct {
	context.Context // values and deadline

	// Watchable allows many waits on this context to share one AfterFunc.
	Watchable bool

	err  Bool
	done object
	edge atomic.Uint32 // what the race detector sees of done
	c    chan struct{}
	fns  []*registration
}

// NewContext returns a context that Cancel ends.
func (x *Run) NewContext() *Context {
	n := len(x.contexts)
	if n == len(x.spares) {
		x.spares = append(x.spares, make(chan struct{}))
	}
	c := &Context{Context: context.Background(), c: x.spares[n]}
	x.adopt(&c.done)
	x.contexts = append(x.contexts, c)
	return c
}

// Done returns a channel that stands for the context in [Signal.ReceiveOr]. It is never closed in
// fact.
//
//go:norace
func (c *Context) Done() <-chan struct{} { return c.c }

// Err returns [context.Canceled] after Cancel.
//
//go:norace
func (c *Context) Err() error {
	if c.err.Load() {
		return context.Canceled
	}
	return nil
}

// Cancel ends the context, and starts what AfterFunc has registered.
//
//go:norace
func (c *Context) Cancel() {
	if c.err.Swap(true) {
		return
	}
	x := current
	if !x.quiet {
		x.step(&c.done, opWrite)
		if x.tracing {
			x.say(&c.done, "close")
		}
	}
	c.done.Ready = true
	c.edge.Add(1)
	for _, r := range c.fns {
		r.start(x)
	}
}

// AfterFunc has Cancel start f in a thread of its own. The function that it returns takes that
// back, and reports whether it was in time.
//
//go:norace
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	x := current
	r := &registration{c: c, f: f}
	if !x.quiet && !x.step(&c.done, opWrite) {
		return r.stop
	}
	c.edge.Add(1)
	if c.done.Ready {
		r.start(x)
	} else {
		c.fns = append(c.fns, r)
	}
	return r.stop
}

// A registration is a function that waits for the end of a context.
type registration struct {
	c *Context
	f func() // nil: started, or taken back
}

//go:norace
func (r *registration) start(x *Run) {
	if f := r.f; f != nil {
		r.f = nil
		x.Go("AfterFunc", f)
	}
}

//go:norace
func (r *registration) stop() bool {
	x := current
	if !x.quiet && !x.step(&r.c.done, opWrite) {
		return false
	}
	r.c.edge.Add(1)
	if r.f == nil {
		return false
	}
	r.f = nil
	return true
}

//go:norace
func (x *Run) contextOf(done <-chan struct{}) *Context {
	for _, c := range x.contexts {
		if c.Done() == done {
			return c
		}
	}
	panic("interleave: a done channel of no context of this execution")
}

// Watchable implements [model.Explorer].
func (explorer) Watchable(ctx context.Context) bool {
	c, ok := ctx.(*Context)
	return ok && c.Watchable
}

// AfterFunc implements [model.Explorer].
func (explorer) AfterFunc(ctx context.Context, f func()) (stop func() bool, ok bool) {
	if c, ok := ctx.(*Context); ok {
		return c.AfterFunc(f), true
	}
	return nil, false
}
