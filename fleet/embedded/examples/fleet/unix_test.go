//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A worker may be paused at that time.
func TestInterruptLeavesNoProcess(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, "-seconds=600")
	cmd.Env = append(os.Environ(), runAsProgram+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stdout, stderr output
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	group := -cmd.Process.Pid
	defer func() { _ = syscall.Kill(group, syscall.SIGKILL) }()

	const long = time.Minute
	paused := func() bool { return strings.Contains(stderr.String(), "is paused") }
	require.Eventually(t, paused, long, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(group, syscall.SIGINT)) // as a terminal does: to all of them
	ended, ok := errors.AsType[*exec.ExitError](cmd.Wait())
	require.True(t, ok)
	require.Equal(t, exitInterrupted, ended.ExitCode(), "%s", &stderr)
	require.Contains(t, stderr.String(), "stopped early")
	require.Contains(t, stdout.String(), "jobs done")
	// The process that adopts the children has to read how they have ended.
	gone := func() bool { return errors.Is(syscall.Kill(group, 0), syscall.ESRCH) }
	require.Eventually(t, gone, long, 10*time.Millisecond)
}
