//go:build unix

package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/farad-go/farad/fleet/postgres/internal/pgtest"
)

const (
	configVariable = "FARAD_EXAMPLE_WORKER"
	grace          = 5 * time.Second // for a worker to end
)

// workerMain does not return in the process of a worker, for which the program starts itself again.
func workerMain() {
	text, is := os.LookupEnv(configVariable)
	if !is {
		return
	}
	if err := os.Unsetenv(configVariable); err != nil { // a worker starts no workers
		log.Fatal(err)
	}
	var c workerConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		log.Fatal(err)
	}
	signal.Ignore(os.Interrupt) // which a terminal sends to all processes
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends by stop, or with the parent
		cancel()
		time.Sleep(grace)
		log.Fatal("the worker does not end")
	}()
	if err := runWorker(ctx, c); err != nil {
		log.Fatal(err)
	}
	os.Exit(0)
}

// A process is a worker's.
type process struct {
	*os.Process
	stdin io.Closer
	ended chan struct{}
	err   error // how it has ended; read after that
}

func startProcess(c workerConfig) (*process, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), configVariable+"="+string(text))
	cmd.Stderr, cmd.SysProcAttr = os.Stderr, &syscall.SysProcAttr{}
	pgtest.KillWithParent(cmd.SysProcAttr)
	p := &process{ended: make(chan struct{})}
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // so the thread does not end before the process
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.ended)
		}
	}()
	err = <-started
	p.Process = cmd.Process
	return p, err
}

// stop has the worker bring its jobs to an end.
func (p *process) stop() error {
	_ = p.stdin.Close() // closed already if the process has ended
	<-p.ended
	return p.err
}

// kill ends the process at once. It fails if it has ended.
func (p *process) kill() error {
	err := p.Kill()
	<-p.ended
	return err
}
