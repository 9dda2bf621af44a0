// Baton shows what a waiting array is good for: waking the one whom it concerns.
//
//	go run ./examples/baton [flags]
//
// Many runners stand in a ring, and one of them has the baton. Whoever has it passes it on and
// waits until it has come round. That is a condition of its own for each runner, and there are
// three ways to wait for it:
//
//   - A sync.Cond that all share. Nobody can say who is to wake up, so each pass wakes everybody,
//     and all but one go back to sleep.
//   - A twa.Array. A runner sleeps under a key of its own, and a pass signals that key.
//   - A twa.EventCount. A pass is an event, and a runner waits for the number that is its turn.
//
// A table says how often a second the baton was passed, and how often, for each pass, somebody woke
// up or arrived and looked whether it had the baton. What must be so is checked: the baton was
// never in two hands, and all have run as far. Ctrl-C ends it early; the table is of what has been
// until then.
//
// The exit code is one of:
//
//	0    as it should be
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

// options are the command line.
type options struct {
	runners int
	time    time.Duration
}

func main() {
	os.Exit(run(cli.WithSignals(context.Background()), os.Args[1:], os.Stdout, os.Stderr))
}

// parseArgs reads the command line. It has told the user about an error it returns.
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
	if _, err := fmt.Fprintf(stdout, "%s runners pass a baton round.\n\n", humanize.Comma(int64(o.runners))); err != nil {
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
