package pgtest

import "syscall"

// dieWithParent has a process end when the thread ends that has started it.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }
