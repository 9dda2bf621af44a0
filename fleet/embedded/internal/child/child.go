// Package child runs roles of a program in processes of their own, which tests kill and pause: the
// program starts itself again, and Main finds the role in the environment.
//
// A process that is killed or paused is a fault that no goroutine can imitate. A child never
// outlives its parent.
package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"time"
)

const (
	roleVariable   = "FARAD_CHILD_ROLE"
	configVariable = "FARAD_CHILD_CONFIG"

	// grace is what a role has to return after the end of its parent.
	grace = 5 * time.Second
)

// A Role is what a child does. The context ends when the parent calls Stop, or ends itself. What
// the role says is a line of JSON each, which the parent reads by Next.
type Role[C any] func(ctx context.Context, config C, say func(line any) error) error

var roles sync.Map // the names that were given to Main

// Main does not return in a process that Start has started for this role: it calls run, and exits
// with 0 if run returned nil. In all other processes it returns at once. It stands at the beginning
// of main or TestMain, once for each role. A role may itself start those that stand before it.
func Main[C any](role string, run Role[C]) {
	roles.Store(role, nil)
	if os.Getenv(roleVariable) != role {
		return
	}
	err := main(run)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", role, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func main[C any](run Role[C]) error {
	var config C
	if err := json.Unmarshal([]byte(os.Getenv(configVariable)), &config); err != nil {
		return err
	}
	// A terminal interrupts all processes; the parent decides in what order they end.
	signal.Ignore(os.Interrupt)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // Stop writes one
		cancel()
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent has ended
		time.Sleep(grace)
		os.Exit(1)
	}()
	var mu sync.Mutex
	lines := json.NewEncoder(os.Stdout)
	return run(ctx, config, func(line any) error {
		mu.Lock()
		defer mu.Unlock()
		return lines.Encode(line)
	})
}

// A Process is a child.
type Process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser

	mu     sync.Mutex // guards stdout: Next reads
	stdout *os.File
	lines  *bufio.Reader

	done chan struct{} // closed when the process has ended
	err  error         // how; read after done
}

// Start starts a child, whose environment is that of this process and env. The role must have been
// given to Main in this process.
func Start[C any](role string, config C, env ...string) (*Process, error) {
	// Without this, the child would do what the parent does: start children.
	if _, ok := roles.Load(role); !ok {
		return nil, fmt.Errorf("child: main or TestMain must begin with Main for the role %q", role)
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(program), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role, configVariable+"="+string(text))
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.SysProcAttr = dieWithParent()
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// Not StdoutPipe: its lines would be lost when the process ends.
	read, write, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, p.stdin.Close())
	}
	p.stdout, p.lines, p.cmd.Stdout = read, bufio.NewReader(read), write
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, p.stdin.Close(), read.Close(), write.Close())
	}
	_ = write.Close() // the child has it; nothing was written here
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	return p, nil
}

// Pid returns the process's number.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Next reads the next line that the role has said into v, a pointer. It returns io.EOF after the
// last line of a process that has ended. A role waits while many of its lines are unread.
func (p *Process) Next(v any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	line, err := p.lines.ReadBytes('\n')
	switch {
	case err == nil:
		return json.Unmarshal(line, v)
	case errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed):
		_ = p.stdout.Close() // of a pipe that was only read
		return io.EOF        // half a line is what a kill has left
	default:
		return err
	}
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits until the process has ended and returns nil if it exited with 0. The lines that it has
// said stay readable.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Kill ends the process at once, also a paused one, and returns when it has ended.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// Stop ends the context of the role, and waits like Wait. It kills a process that has not ended
// within that time, as a paused one.
func (p *Process) Stop(within time.Duration) error {
	_, _ = p.stdin.Write([]byte{0}) // fails if the process has ended
	t := time.AfterFunc(within, func() { _ = p.Kill() })
	defer t.Stop()
	return p.Wait()
}

// Pause stops the process until Resume, as a machine that is suspended stops: it returns when the
// process does nothing any more. Systems without these signals return errors.ErrUnsupported.
func (p *Process) Pause() error { return pause(p.cmd.Process) }

// Resume lets a paused process go on.
func (p *Process) Resume() error { return resume(p.cmd.Process) }
