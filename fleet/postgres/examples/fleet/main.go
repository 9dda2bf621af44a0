//go:build unix

// Fleet gives each of three tenants a cap of its own: how many of its jobs run at a time, over all
// processes. Meanwhile the server and the processes fail.
//
//	go run ./examples/fleet [flags]
//
// It starts a PostgreSQL server, from Debian's package, and six workers, which are processes of
// their own. Now and then a worker or the server is killed and started again, a worker is paused
// for longer than its lease lasts, or the caps change. The terminal shows who holds how many
// permits of which tenant, and who waits; if standard error is no terminal there are lines instead.
//
// The jobs are in the same database as the permits. A transaction that begins a job, or writes its
// result, first checks the token of the permit by one statement (database.go). So a worker that
// was paused, and comes back with a result of a job that others have done since, is refused.
//
// At the end there is a picture of who held how many permits when, and a table: how many jobs were
// done, how many of them twice, how many ran at a time, and how many results were refused.
//
// The exit code is one of:
//
//	0    success
//	1    a job was not done once, more ran than the cap, or something else failed
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
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT
)

func main() {
	workerMain()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills: the children end with this process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	flags.SetOutput(stderr)
	long := flags.Duration("for", 20*time.Second, "for how long things fail; each does once at least")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "fleet: there is nothing to be done with %q\n", flags.Arg(0))
		return exitUsage
	}
	err := play(ctx, *long, stdout, stderr)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "stopped early")
		return exitInterrupted
	case err != nil:
		fmt.Fprintln(stderr, "fleet:", err)
		return exitFailed
	}
	return exitOK
}
