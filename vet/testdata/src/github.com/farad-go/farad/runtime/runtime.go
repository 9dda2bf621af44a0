// Package rt stands for the real one: its types and methods, without what they do.
package rt

import (
	"context"
	"time"

	"github.com/farad-go/farad/waiter"
)

type (
	Executor struct{ n int }
	Context  struct{ n int }
	Task     struct{ n int }
)

type Future interface {
	Poll(w waiter.Waker) bool
	Err() error
}

type Poller interface {
	Poll(cx *Context) bool
	base() *Task
}

func (t *Task) base() *Task { return t }

func (ex *Executor) Spawn(p Poller) error    { return nil }
func (cx *Context) Spawn(p Poller) error     { return nil }
func (cx *Context) Poll(f Future) bool       { return true }
func (cx *Context) Context() context.Context { return nil }

func Go[T any](ex *Executor, f func(*Context) (T, error)) int                { return 0 }
func GoNamed[T any](ex *Executor, s string, f func(*Context) (T, error)) int { return 0 }
func Await(cx *Context, f Future) error                                      { return nil }
func Timeout(f Future, d time.Duration) Future                               { return f }
func Sleep(cx *Context, d time.Duration) error                               { return nil }
func Blocking[T any](cx *Context, f func() (T, error)) (T, error)            { return f() }
