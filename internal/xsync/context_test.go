package xsync

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		assert.True(t, MayEnd(ctx), name)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { MayEnd(cancelled) }))
}
