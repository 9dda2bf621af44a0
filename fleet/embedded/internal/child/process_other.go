//go:build !linux

package child

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }

// awaitStop relies on the signal alone: the process stops soon after.
func awaitStop(int) error { return nil }
