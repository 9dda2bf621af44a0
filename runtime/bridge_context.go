package rt

import (
	"context"

	"github.com/farad-go/farad/internal/waiting"
)

// afterEnd is [context.AfterFunc], but ctx may have no error although its channel is closed,
// which would be a panic there.
func afterEnd(ctx context.Context, f func()) (stop func() bool) {
	if a, ok := ctx.(afterFuncer); ok {
		return context.AfterFunc(endingAfterFuncer{endingContext{ctx}, a}, f)
	}
	return context.AfterFunc(endingContext{ctx}, f)
}

// An endingContext is a context that is asked for its error when it has ended, and then has one.
// Package context finds its own contexts behind it.
type endingContext struct{ context.Context }

// Err implements [context.Context].
func (c endingContext) Err() error { return waiting.ContextError(c.Context) }

// An afterFuncer is a context for which [context.AfterFunc] starts no goroutine.
type afterFuncer interface {
	AfterFunc(f func()) func() bool
}

type endingAfterFuncer struct {
	endingContext
	afterFuncer
}
