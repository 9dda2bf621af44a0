package rt

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a future of an earlier round has come to says nothing about the one that Init or Bind has
// begun, cancelled or not.
func TestCompleteIsOfTheLastRound(t *testing.T) {
	ex := New(WithWorkers(1))
	h := Go(ex, func(*Context) (int, error) { return 0, nil })
	_, err := h.Wait(t.Context())
	require.NoError(t, err)
	var c Completion
	c.Init(&h.straight.Task)
	require.True(t, c.Poll(nil))
	require.True(t, c.complete())
	c.Init(&h.straight.Task)
	require.False(t, c.complete())
	c.Release()
	require.False(t, c.complete())

	var timer Timer
	timer.Init(0)
	require.True(t, timer.Poll(nil))
	require.True(t, timer.complete())
	timer.Init(0)
	require.False(t, timer.complete())
	timer.Release()
	require.False(t, timer.complete())
	require.NoError(t, ex.Shutdown(t.Context()))
}
