package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A paused leader is replaced, and follows when it goes on.
func TestPausedLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	client := connect(t, c.Endpoints())
	first, err := c.Leader(patient(t))
	require.NoError(t, err)
	require.NoError(t, c.Pause(first))
	second, err := c.Leader(patient(t))
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	put(t, client, "1")
	require.NoError(t, c.Resume(first))
	caughtUp(t, c, first, "1")
	require.NoError(t, c.Pause(second))
	require.NoError(t, c.Restart(patient(t), second)) // a paused one
	put(t, connect(t, c.Endpoints()[second:second+1]), "2")
}
