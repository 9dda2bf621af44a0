package locktest

import (
	"context"
	"sync/atomic"
)

// A ForeignContext is a context that package context did not make.
type ForeignContext struct {
	context.Context
	done chan struct{}
	err  atomic.Pointer[error]
}

// NewForeignContext returns one that has not ended.
func NewForeignContext() *ForeignContext {
	return &ForeignContext{Context: context.Background(), done: make(chan struct{})}
}

// Done implements [context.Context].
func (c *ForeignContext) Done() <-chan struct{} { return c.done }

// Err implements [context.Context].
func (c *ForeignContext) Err() error {
	if e := c.err.Load(); e != nil {
		return *e
	}
	return nil
}

// End ends the context, with err.
func (c *ForeignContext) End(err error) {
	c.err.Store(&err)
	close(c.done)
}
