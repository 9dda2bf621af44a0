// Selecttimeout shows how to take a permit or give up, in Go's own select and in that of the
// executor:
//
//	go run ./examples/selecttimeout [flags]
//
// Many clients want one of a few permits of something slow: the connections of a database, the
// seats of a licence. Each holds its permit for some time, and gives up if it does not get one soon
// enough. The same job is done in three ways:
//
//   - Goroutines, with the future's Done and time.After in a select.
//   - Tasks, with the future and a timer in rt.Select.
//   - Tasks, with rt.Timeout, which makes one future of both.
//
// A permit may come at the very moment at which the client gives up. It must not be lost then, nor
// be held by somebody who has left. That is what the deferred Release of the future is for: it
// gives back whatever the future has, the place in line or the permit, and a second time nothing.
// Select and Timeout cancel what was slower by themselves. They differ in who wins if both have
// happened: Go's select picks one at random, the other two prefer the permit.
//
// A table says who was served, and after what wait. Below it stands what must be so in the end:
// nobody has vanished, there never were more clients inside than permits, and all permits are back.
// Ctrl-C ends it early: who waits or is inside then leaves.
//
// The exit code is one of:
//
//	0    as it must be
//	1    somebody or something is missing in the end, or the output could not be written
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

// options are the command line.
type options struct {
	clients  int
	permits  int
	hold     time.Duration
	patience time.Duration
}

func main() {
	os.Exit(run(cli.WithSignals(context.Background()), os.Args[1:], os.Stdout, os.Stderr))
}

// parseArgs reads the command line. It has told the user about an error it returns.
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
	if _, err := fmt.Fprintf(stdout, "Each of %d clients wants one of %d permits for\n%v, and waits for %v at most.\n\n",
		o.clients, o.permits, o.hold, o.patience); err != nil {
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
