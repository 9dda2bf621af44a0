package pgtest

import "syscall"

// dieWithParent has a process end when the thread ends that has started it.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }

// KillWithParent has a process killed when the thread ends that has started it, paused or not.
func KillWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
