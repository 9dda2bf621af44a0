// Selecttimeout shows how to wait for a permit with a time limit, in Go's select and in that of the
// executor:
//
//	go run ./examples/selecttimeout [flags]
//
// Many clients want one of a few permits of something slow, such as connections of a database or
// seats of a licence. Each client holds its permit for some time, and gives up if it does not get
// one soon enough. The program does this in three ways:
//
//   - Goroutines, with the future's Done and time.After in a select.
//   - Tasks, with the future and a timer in rt.Select.
//   - Tasks, with rt.Timeout, which makes one future of both.
//
// A permit may be granted at the very moment at which the client gives up. Then it must neither be
// lost nor stay with a client that has left. The deferred Release of the future ensures that: it
// gives back what the future has, the place in the queue or the permit, and does nothing a second
// time. Select and Timeout release the slower future themselves. If both events have happened, Go's
// select picks one at random, and the other two prefer the permit.
//
// A table shows how many clients were served, and after what wait. Below it stand the final checks:
// no client has vanished, there never were more clients inside than permits, and all permits are
// back. Ctrl-C ends the run early: waiting and served clients leave.
//
// The exit code is one of:
//
//	0    success
//	1    a check failed, or the output could not be written
//	2    wrong usage
//	130  stopped by Ctrl-C (128 + SIGINT)
//	143  stopped by SIGTERM (128 + SIGTERM)
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/farad-go/farad/examples/internal/cli"
)

// options is the command line.
type options struct {
	clients  int
	permits  int
	hold     time.Duration
	patience time.Duration
}

func main() {
	os.Exit(run(cli.WithSignals(context.Background()), os.Args[1:], os.Stdout, os.Stderr))
}

// parseArgs reads the command line. It has reported any error that it returns.
func parseArgs(args []string, stdout, stderr io.Writer) (options, error) {
	o := options{clients: 8, permits: 2, hold: 50 * time.Millisecond, patience: 120 * time.Millisecond}
	cmd := cli.Command{
		Name: "selecttimeout",
		About: "Selecttimeout has many clients want one of a few permits, and give up if none comes " +
			"soon enough. It does so in three ways: Go's select, rt.Select and rt.Timeout.",
		Example: "-clients 20 -permits 3 -patience 200ms",
	}
	cmd.Int(&o.clients, "clients", 1, 10_000, "how many want a permit, all at once")
	cmd.Int(&o.permits, "permits", 1, 10_000, "how many permits there are")
	cmd.Duration(&o.hold, "hold", 0, "how long a client holds its permit")
	cmd.Duration(&o.patience, "patience", time.Millisecond, "how long a client waits for one")
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
		r := w.run(ctx, o)
		if err := r.check(o); err != nil {
			fmt.Fprintf(stderr, "selecttimeout: %s: %v\n", w.name, err)
			failed = true
		}
		results = append(results, r)
	}
	why := context.Cause(ctx)
	cli.Stopped(stderr, why)
	if err := writeTable(stdout, o, results); err != nil {
		fmt.Fprintln(stderr, "selecttimeout: cannot write the output:", err)
		return cli.ExitFailed
	}
	return cli.ExitCode(why, failed)
}

// writeTable has a line for each client, and a column for each way that has been tried.
func writeTable(stdout io.Writer, o options, results []result) error {
	tw := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	const head = "Each of %d clients wants one of %d permits for\n%v, and waits for %v at most.\n\n"
	if _, err := fmt.Fprintf(stdout, head, o.clients, o.permits, o.hold, o.patience); err != nil {
		return err
	}
	row := func(label any, cell func(result) string) {
		fmt.Fprint(tw, label)
		for _, r := range results {
			fmt.Fprintf(tw, "\t%s", cell(r))
		}
		fmt.Fprintln(tw)
	}
	number := func(n int64) string { return fmt.Sprint(n) }

	fmt.Fprint(tw, "client")
	for i := range results {
		fmt.Fprintf(tw, "\t%s", ways[i].name)
	}
	fmt.Fprintln(tw)
	for i := range o.clients {
		row(i+1, func(r result) string { return r.outcomes[i].String() })
	}
	row("", func(result) string { return "" }) // an empty line would begin columns of other widths
	row("served", func(r result) string { return number(r.count(served)) })
	row("gave up", func(r result) string { return number(r.count(gaveUp)) })
	if slices.ContainsFunc(results, func(r result) bool { return r.count(stopped) > 0 }) {
		row("stopped", func(r result) string { return number(r.count(stopped)) })
	}
	row("most at once", func(r result) string { return number(r.most) })
	row("free at end", func(r result) string { return number(r.free) })
	return tw.Flush()
}
