package child

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent ends a child that is paused when its parent dies: it would not notice that its
// standard input has ended. The signal is sent when the thread that has started the child ends.
// Threads of Go end only with a goroutine that has locked one and not unlocked it.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// awaitStop waits until a child has stopped or ended, and leaves the news of its end to others.
func awaitStop(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.ECHILD): // it has ended, and its end was reported already
			return nil
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
}
