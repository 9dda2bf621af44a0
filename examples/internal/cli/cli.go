// Package cli has what the commands of the examples share: flags and their help, exit codes, an end
// by a signal or after some time, a progress bar, and a walk over files.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
)

// The exit codes of the commands.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitTimeout     = 124 // like timeout(1)
	ExitInterrupted = 130 // 128 + SIGINT
	ExitTerminated  = 143 // 128 + SIGTERM
)

// Why a command stopped early: the causes of its context.
var (
	ErrInterrupted = errors.New("interrupted")
	ErrTerminated  = errors.New("terminated")
	ErrTimeout     = errors.New("timeout")
)

// ExitCode returns the code of a command that was stopped by the end of its context, if stopped is
// not nil, or else has done all that it could, with or without failures.
func ExitCode(stopped error, failures bool) int {
	switch {
	case errors.Is(stopped, ErrTimeout):
		return ExitTimeout
	case errors.Is(stopped, ErrTerminated):
		return ExitTerminated
	case stopped != nil:
		return ExitInterrupted
	case failures:
		return ExitFailed
	default:
		return ExitOK
	}
}

// WithSignals returns a context that the first SIGINT or SIGTERM cancels, with [ErrInterrupted] or
// [ErrTerminated].
func WithSignals(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		// A second signal kills the process, in case the first one finds it in a read that never
		// returns, as on a network file system whose server is gone.
		signal.Stop(signals)
		if s == os.Interrupt {
			cancel(ErrInterrupted)
		} else {
			cancel(ErrTerminated)
		}
	}()
	return ctx
}

// WithTimeout returns a context that ends after d, with [ErrTimeout]; never if d is 0.
func WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return parent, func() {}
	}
	return context.WithTimeoutCause(parent, d, ErrTimeout)
}

// IsTerminal reports whether what is written to w is read on a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width returns how many columns the terminal has that w is, and many if w is none.
func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// Stopped prints why a command was stopped early, if it was.
func Stopped(stderr io.Writer, why error) {
	if why != nil {
		fmt.Fprintln(stderr, "stopped early:", why)
	}
}
