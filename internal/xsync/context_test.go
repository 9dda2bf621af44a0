package xsync

import (
	"context"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest/require"
)

type valueContext struct{ context.Context }

type emptyContext struct{}

func (emptyContext) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }
func (emptyContext) Done() <-chan struct{}                   { return nil }
func (emptyContext) Err() error                              { return context.Canceled }
func (emptyContext) Value(any) any                           { return nil }

// A context that may end is never taken for one that does not.
func TestMayEnd(t *testing.T) {
	bg := context.Background()
	Learn(bg)
	require.False(t, MayEnd(bg), "asking costs more than it need")
	cancelled, cancel := context.WithCancel(bg)
	cancel()
	timed, stop := context.WithTimeout(bg, time.Hour)
	defer stop()
	for name, ctx := range map[string]context.Context{
		"nil":         nil,
		"todo":        context.TODO(),
		"cancelled":   cancelled,
		"with time":   timed,
		"with value":  context.WithValue(bg, valueContext{}, 1),
		"no cancel":   context.WithoutCancel(cancelled),
		"embedding":   valueContext{bg},
		"pointer":     &valueContext{cancelled},
		"empty":       emptyContext{},
		"of the test": t.Context(),
	} {
		require.True(require.GoOn(t), MayEnd(ctx), name)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { MayEnd(cancelled) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { Learn(cancelled) }))
}

// A context of package context panics never, once its type has been seen; any other may.
func TestMayPanic(t *testing.T) {
	bg := context.Background()
	cancelled, cancel := context.WithCancel(bg)
	cancel()
	timed, stop := context.WithTimeout(bg, time.Hour)
	defer stop()
	all := map[string]context.Context{"cancelled": cancelled, "with time": timed}
	for name, ctx := range all {
		Learn(ctx)
		require.False(require.GoOn(t), MayPanic(ctx), name)
	}
	for name, ctx := range map[string]context.Context{
		"nil": nil, "with value": context.WithValue(bg, valueContext{}, 1), "no cancel": context.WithoutCancel(cancelled),
		"embedding": valueContext{cancelled}, "pointer": &valueContext{cancelled}, "empty": emptyContext{},
		"named alike": &cancelCtx{cancelled},
	} {
		Learn(ctx)
		require.True(require.GoOn(t), MayPanic(ctx), name)
	}
	for name, ctx := range all {
		require.False(require.GoOn(t), MayPanic(ctx), "%s, after others", name)
	}
}

// cancelCtx has the name of a type of package context.
type cancelCtx struct{ context.Context }
