// Baton shows the use of a waiting array: waking only the goroutine that can proceed.
//
//	go run ./examples/baton [flags]
//
// Many runners stand in a ring, and one of them has the baton. It passes the baton on and waits
// until the baton has come round. So each runner waits for a different condition, in one of three
// ways:
//
//   - On a sync.Cond that all share. It cannot wake a particular runner, so each pass wakes all of
//     them, and all but one go back to sleep.
//   - On a twa.Array. A runner sleeps under its own key, and a pass signals that key.
//   - On a twa.EventCount. A pass is an event, and a runner waits for the number of its turn.
//
// A table shows how often per second the baton was passed, and how often per pass a runner woke up
// or arrived and checked for the baton. The program checks that the baton was never in two hands,
// and that all runners got equally far. Ctrl-C ends the run early, with a table of the passes until
// then.
//
// The exit code is one of:
//
//	0    success
//	1    the baton was in two hands or was lost, or the output could not be written
//	2    wrong usage
//	130  stopped by Ctrl-C (128 + SIGINT)
//	143  stopped by SIGTERM (128 + SIGTERM)
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/farad-go/farad/examples/internal/cli"
)

// options is the command line.
type options struct {
	runners int
	time    time.Duration
}

func main() {
	os.Exit(run(cli.WithSignals(context.Background()), os.Args[1:], os.Stdout, os.Stderr))
}

// parseArgs reads the command line. It has reported any error that it returns.
func parseArgs(args []string, stdout, stderr io.Writer) (options, error) {
	o := options{runners: 1000, time: time.Second}
	cmd := cli.Command{
		Name: "baton",
		About: "Baton has runners in a ring pass a baton on, and compares three ways to wait for it: " +
			"one that wakes all of them at each pass, and two that wake the one whose turn it is.",
		Example: "-runners 100 -time 2s",
	}
	cmd.Int(&o.runners, "runners", 2, 100_000, "how many stand in the ring")
	cmd.Duration(&o.time, "time", time.Millisecond, "how long they run, each way")
	_, err := cmd.Parse(args, stdout, stderr)
	return o, err
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseArgs(args, stdout, stderr)
	if err != nil {
		return cli.UsageCode(err)
	}
	failed := false
	var results []result
	for _, w := range ways {
		if ctx.Err() != nil {
			break
		}
		r := race(ctx, o, w.ring(o.runners))
		if err := r.check(); err != nil {
			fmt.Fprintf(stderr, "baton: %s: %v\n", w.name, err)
			failed = true
		}
		results = append(results, r)
	}
	stopped := context.Cause(ctx)
	cli.Stopped(stderr, stopped)
	if err := writeTable(stdout, o, results); err != nil {
		fmt.Fprintln(stderr, "baton: cannot write the output:", err)
		return cli.ExitFailed
	}
	return cli.ExitCode(stopped, failed)
}

// writeTable has a line for each way that has been run. It fits 40 columns.
func writeTable(stdout io.Writer, o options, results []result) error {
	_, err := fmt.Fprintf(stdout, "%s runners pass a baton round.\n\n", humanize.Comma(int64(o.runners)))
	if err != nil {
		return err
	}
	tw := tabwriter.NewWriter(stdout, 0, 0, 1, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "waiting by\tpasses\tlooks\tlaps\t")
	fmt.Fprintln(tw, "\ta second\ta pass\t\t")
	for i, r := range results {
		fmt.Fprintf(tw, "%s\t%s\t%.1f\t%d\t\n", ways[i].name, humanize.Comma(r.perSecond()), r.looksPerPass(), r.laps())
	}
	return tw.Flush()
}
