//go:build unix

package child

import (
	"os"
	"syscall"
)

func pause(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return awaitStop(p.Pid)
}

func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
