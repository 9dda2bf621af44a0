//go:build unix && !linux

package pgtest

import "syscall"

func dieWithParent(*syscall.SysProcAttr) {}

// KillWithParent does nothing: only Linux has this.
func KillWithParent(*syscall.SysProcAttr) {}
