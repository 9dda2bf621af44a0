// Package cli has what the commands of the examples share: exit codes, an end by a signal or after some time, and flags.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
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

// ExitCode returns the code of a command that was stopped by the end of its context, if stopped is not nil, or else has
// done all that it could, with or without failures.
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

// WithSignals returns a context that the first SIGINT or SIGTERM cancels, with [ErrInterrupted] or [ErrTerminated].
func WithSignals(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		// A second signal kills the process, in case the first one finds it in a read that never returns, as on a
		// network file system whose server is gone.
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

// Parse reads the command line, and has check look at what it says. It has told the user about an error it returns, and how the
// command is used.
func Parse(fs *flag.FlagSet, args []string, check func() error) error {
	if err := fs.Parse(args); err != nil {
		return err
	}
	err := check()
	if err != nil {
		fmt.Fprintf(fs.Output(), "%s: %v\n", fs.Name(), err)
		fs.Usage()
	}
	return err
}

// UsageCode returns the exit code of a command that an error of [Parse] has stopped: asking for help is not wrong.
func UsageCode(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return ExitOK
	}
	return ExitUsage
}

// ByteSize is the value of a flag such as 64MiB. It implements [flag.Value].
type ByteSize int64

// String returns the size in the form in which Set takes it.
func (b *ByteSize) String() string { return humanize.IBytes(uint64(*b)) }

// Set parses a size.
func (b *ByteSize) Set(s string) error {
	n, err := humanize.ParseBytes(s)
	if err != nil {
		return err
	}
	if n > math.MaxInt {
		return errors.New("more than this machine can address")
	}
	*b = ByteSize(n)
	return nil
}

// IsTerminal reports whether what is written to w is seen by somebody at once.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
