//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup has a command killed with all that it has started: the go command does not take its
// tests with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) == syscall.ESRCH {
			return os.ErrProcessDone
		}
		return nil
	}
}
