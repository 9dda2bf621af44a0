// Capacitor shows the use of a capacitor: many goroutines want a lock at once, for very short
// critical sections.
//
//	go run ./examples/capacitor [flags]
//
// Each goroutine locks, counts, takes a few steps of a random number generator, and unlocks, again
// and again. The program repeats this with each lock:
//
//   - sync.Mutex is fast, because running goroutines may take it first. Some goroutines wait for
//     very long.
//   - mutex.Mutex of this module is granted in order of arrival. No goroutine waits for long, and
//     every turn costs a switch of goroutines.
//   - farad/sync.Mutex lets running goroutines take it up to 256 times, and then grants it to the
//     head of the queue. It is at least about as fast as the first, and in the long run as fair as
//     the second.
//
// A chart shows how far each goroutine is, if standard error is a terminal. At the end a table
// shows
//
//   - the turns per second of all goroutines, and the nanoseconds of a turn. They include one
//     reading of the clock, for all locks alike;
//   - fairness: the turns of the goroutine with the fewest, divided by those of the one with the
//     most;
//   - the longest wait of a goroutine for its next turn;
//   - the largest number of turns of others between two turns of one goroutine.
//
// Ctrl-C ends the run early, with a table of the turns until then.
//
// The exit code is one of:
//
//	0    success
//	1    turns were lost, or the output could not be written
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

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/farad-go/farad/examples/internal/cli"
)

// options is the command line.
type options struct {
	goroutines int
	time       time.Duration
	kinds      []kind
	inside     int
	progress   bool
}

func main() {
	os.Exit(run(cli.WithSignals(context.Background()), os.Args[1:], os.Stdout, os.Stderr))
}

// parseArgs reads the command line. It prints an error before it returns it.
func parseArgs(args []string, stdout, stderr io.Writer) (options, error) {
	o := options{goroutines: 16, time: 2 * time.Second, inside: 1}
	all := make([]string, len(kinds))
	for i, k := range kinds {
		all[i] = k.name
	}
	cmd := cli.Command{
		Name: "capacitor",
		About: "Capacitor has many goroutines compete for a lock, and compares three mutexes: how many " +
			"turns they allow in a second, how even these are, and how long the longest wait is.",
		Example: "-goroutines 64 -for 5s",
	}
	var names []string
	cmd.Int(&o.goroutines, "goroutines", 1, 10_000, "how many want the lock")
	cmd.Duration(&o.time, "for", time.Millisecond, "how long, for each lock")
	cmd.Names(&names, "locks", all, "which locks, in which order")
	cmd.Int(&o.inside, "inside", 0, 1_000_000, "for how many steps of a random number generator the lock is held")
	cmd.Progress(&o.progress, stderr, "a chart")
	_, err := cmd.Parse(args, stdout, stderr)
	for _, name := range names {
		o.kinds = append(o.kinds, kinds[slices.Index(all, name)])
	}
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
	for _, k := range o.kinds {
		if ctx.Err() != nil {
			break
		}
		r := hold(ctx, newContest(k, o), stderr)
		if err := r.check(); err != nil {
			fmt.Fprintf(stderr, "capacitor: %s: %v\n", k.name, err)
			failed = true
		}
		results = append(results, r)
	}
	stopped := context.Cause(ctx)
	cli.Stopped(stderr, stopped)
	if err := writeTable(stdout, o, results); err != nil {
		fmt.Fprintln(stderr, "capacitor: cannot write the output:", err)
		return cli.ExitFailed
	}
	return cli.ExitCode(stopped, failed)
}

// hold runs a contest, and draws it if that is wanted.
func hold(ctx context.Context, c *contest, stderr io.Writer) result {
	if c.progress {
		defer startChart(stderr, c)()
	}
	return c.run(ctx)
}

// writeTable has a line for each lock. The last column is the most turns of others between two of
// one goroutine.
func writeTable(stdout io.Writer, o options, results []result) error {
	if _, err := fmt.Fprintf(stdout, "%s, %v for each lock, %s inside\n\n",
		english.Plural(o.goroutines, "goroutine", ""), o.time, english.Plural(o.inside, "step", "")); err != nil {
		return err
	}
	tw := tabwriter.NewWriter(stdout, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "lock\tturns a second\tns a turn\tfairness\tlongest wait\tmost between\t")
	for _, r := range results {
		fmt.Fprintf(tw, "%s\t%s\t%.1f\t%.2f\t%v\t%s\t\n", r.kind.name,
			humanize.Comma(int64(r.perSecond())), r.nanoseconds(), r.fairness(),
			r.longestWait.Round(time.Microsecond), humanize.Comma(r.most))
	}
	return tw.Flush()
}
