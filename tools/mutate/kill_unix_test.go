//go:build unix

package main

import (
	"context"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAKilledCommandLeavesNoChildren(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, "sh", "-c", "sleep 60 & echo started; wait")
	ownGroup(cmd)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, len("started\n")))
	require.NoError(t, err)
	start := time.Now()
	cancel()
	_, err = io.ReadAll(out) // ends when the last process that has the pipe does
	require.NoError(t, err)
	assert.Less(t, time.Since(start), 30*time.Second)
	assert.Error(t, cmd.Wait())
}
