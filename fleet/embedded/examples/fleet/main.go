// Fleet shows permits that several processes share, while processes are killed and paused.
//
//	go run ./examples/fleet [flags]
//
// It starts a cluster of three etcd members and six workers, all of them processes of their own.
// The workers do jobs, which need one to four permits each, and share 40 permits. Now and then a
// worker or a member is killed and started again, or a worker is paused for longer than its lease
// lasts. A chart shows who holds how many permits. If standard error is no terminal there are lines
// instead.
//
// The parent has the ledger: the list of jobs, and which are done. A job whose worker has lost its
// permits goes back to the list. Workers do not look whether they still have their permits when
// they have done a job. So a worker that was paused comes back with results of jobs that others
// have done since. The ledger refuses these results, because it checks the token of the permits
// that each comes with.
//
// At the end the program shows how many jobs were done, how many of them twice, and how many would
// have been done twice without the check; the longest wait for permits, and that of a worker which
// was paused meanwhile; and how long it took until others got the permits of a worker that was
// killed.
//
// Ctrl-C ends the run early, with the counts until then. No process is left over.
//
// The exit code is one of:
//
//	0    success
//	1    a job was done twice, more permits were held than there are, or something else failed
//	2    wrong usage
//	130  stopped by Ctrl-C or SIGTERM
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/farad-go/farad/fleet/embedded/internal/child"
	"github.com/farad-go/farad/fleet/embedded/internal/cluster"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT
)

const members = 3

// options is the command line.
type options struct {
	seconds int
	workers int
	quiet   bool
}

func main() {
	cluster.Main()
	child.Main(workerRole, runWorker)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills: the children end with this process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// parseArgs reads the command line. It has told the user about an error it returns.
func parseArgs(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.seconds, "seconds", 20, "for how long things are broken, `1` to 3600")
	flags.IntVar(&o.workers, "workers", 6, "how many processes share the permits, `2` to 40")
	flags.BoolVar(&o.quiet, "quiet", false, "show the counts at the end only")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("there is nothing to be done with %q", flags.Arg(0))
	case o.seconds < 1 || o.seconds > 3600:
		err = fmt.Errorf("-seconds cannot be %d: want 1 to 3600", o.seconds)
	case o.workers < 2 || o.workers > 40:
		err = fmt.Errorf("-workers cannot be %d: want 2 to 40", o.workers)
	}
	if err != nil {
		fmt.Fprintln(stderr, "fleet:", err)
	}
	return o, err
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseArgs(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	}
	s, err := play(ctx, o, stderr)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(stderr, "fleet:", err)
	}
	failed := err != nil
	if s != nil {
		r := s.report()
		failed = errors.Join(err, r.write(stdout)) != nil || !r.sound()
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "stopped early")
		return exitInterrupted
	case failed:
		return exitFailed
	}
	return exitOK
}

// play starts everything, breaks things for the time of o, and ends everything. It returns nil and
// an error if something could not be started.
func play(ctx context.Context, o options, stderr io.Writer) (s *show, err error) {
	c, err := cluster.Start(ctx, members)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	l := newLedger()
	address, closeLedger, err := l.serve()
	if err != nil {
		return nil, err
	}
	defer closeLedger()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s = newShow(c, l, workerConfig{Endpoints: c.Endpoints(), Ledger: address}, o.workers, cancel)
	defer s.draw(stderr, o.quiet)()
	defer s.killWorkers()
	if err := s.startWorkers(); err != nil {
		return s, err
	}
	s.breakThings(ctx, time.Duration(o.seconds)*time.Second)
	if ctx.Err() != nil {
		return s, context.Cause(ctx)
	}
	return s, s.stopWorkers()
}
