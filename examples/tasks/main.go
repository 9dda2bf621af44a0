// Tasks lets 100,000 tasks take turns on a few permits, and then as many goroutines:
//
//	go run ./examples/tasks [flags]
//
// In a turn, a task waits for a permit, yields once while holding it, and gives it back. Three
// kinds take turns:
//
//   - poll tasks: objects with a method Poll, which the executor calls when it is worthwhile. A
//     waiting poll task is its object, and needs no goroutine;
//   - straight-line tasks: functions that stop where they wait. Each needs a coroutine with a
//     stack, as a goroutine does;
//   - goroutines, on the same semaphore.
//
// All tasks of a kind start while the permits are taken, so that they queue up. When all wait, the
// program measures the memory: heap and stacks. It leaves out the descriptors of goroutines, some
// 500 bytes each, because the Go runtime keeps them, so that only the first kind would have to
// account for them. Then it releases the permits, and measures the time until the last turn has
// ended.
//
// A table compares the three. A bar shows the progress if standard error is a terminal. Ctrl-C ends
// the run early, with a table of the turns until then.
//
// The exit code is one of:
//
//	0    success
//	1    turns or permits were missing at the end, or the output could not be written
//	2    wrong usage
//	130  stopped by Ctrl-C (128 + SIGINT)
//	143  stopped by SIGTERM (128 + SIGTERM)
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/farad-go/farad/examples/internal/cli"
)

// options is the command line.
type options struct {
	tasks    int
	permits  int
	rounds   int
	workers  int
	progress bool
}

// turns returns the number of turns in all.
func (o options) turns() int64 { return int64(o.tasks) * int64(o.rounds) }

func main() {
	os.Exit(run(cli.WithSignals(context.Background()), os.Args[1:], os.Stdout, os.Stderr))
}

// parseArgs reads the command line. It has reported any error that it returns.
func parseArgs(args []string, stdout, stderr io.Writer) (options, error) {
	o := options{tasks: 100_000, permits: 4, rounds: 20, workers: min(runtime.GOMAXPROCS(0), maxWorkers)}
	cmd := cli.Command{
		Name: "tasks",
		About: "Tasks lets 100,000 tasks take turns on a few permits, and then as many goroutines. It " +
			"compares the time of a turn, and the memory of a waiting task.",
		Example: "-tasks 10000 -permits 2",
	}
	cmd.Int(&o.tasks, "tasks", 1, 10_000_000, "how many take turns")
	cmd.Int(&o.permits, "permits", 1, 1_000_000, "how many of them can have their turn at a time")
	cmd.Int(&o.rounds, "rounds", 1, 1_000_000, "how many turns each of them takes")
	cmd.Int(&o.workers, "workers", 1, maxWorkers, "how many goroutines of the executor run the tasks")
	cmd.Progress(&o.progress, stderr, "a progress bar")
	_, err := cmd.Parse(args, stdout, stderr)
	return o, err
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseArgs(args, stdout, stderr)
	if err != nil {
		return cli.UsageCode(err)
	}
	makeDescriptors(o.tasks)
	var results []result
	for _, k := range kinds {
		r, err := measure(ctx, k, o, stderr)
		if err != nil {
			fmt.Fprintf(stderr, "tasks: %s: %v\n", k.name, err)
			return cli.ExitFailed
		}
		if r.turns > 0 {
			results = append(results, r)
		}
		if ctx.Err() != nil {
			break
		}
	}
	stopped := context.Cause(ctx)
	cli.Stopped(stderr, stopped)
	if len(results) == 0 {
		fmt.Fprintln(stderr, "tasks: no turn has been taken yet")
		return cli.ExitCode(stopped, false)
	}
	if err := writeTable(stdout, o, results); err != nil {
		fmt.Fprintln(stderr, "tasks: cannot write the output:", err)
		return cli.ExitFailed
	}
	return cli.ExitCode(stopped, false)
}

// writeTable writes a column for each kind that has taken turns, and compares them with the last
// kind, goroutines. The table fits 40 columns.
func writeTable(stdout io.Writer, o options, results []result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s take %s each on %s\n%s, GOMAXPROCS %d\n\n", humanize.Comma(int64(o.tasks)),
		english.Plural(o.rounds, "turn", ""), english.Plural(o.permits, "permit", ""),
		english.Plural(o.workers, "worker", ""), runtime.GOMAXPROCS(0))
	row := func(label string, cell func(r result) string) {
		fmt.Fprintf(&b, "%-10s", label)
		for _, r := range results {
			fmt.Fprintf(&b, "%10s", cell(r))
		}
		b.WriteByte('\n')
	}
	row("", func(r result) string { return r.kind.heading[0] })
	row("", func(r result) string { return r.kind.heading[1] })
	row("start-up", func(r result) string { return short(r.start) })
	took := "all turns"
	if slices.ContainsFunc(results, func(r result) bool { return r.turns != o.turns() }) {
		took = "took"
		row("turns", func(r result) string {
			return strings.ReplaceAll(humanize.SIWithDigits(float64(r.turns), 1, ""), " ", "")
		})
	}
	row(took, func(r result) string { return short(r.elapsed) })
	row("one turn", func(r result) string { return short(r.perTurn()) })
	row("bytes each", func(r result) string { return fmt.Sprintf("%.0f", r.bytes) })
	if len(results) == len(kinds) {
		goroutines := results[len(results)-1]
		row("speed", func(r result) string { return fmt.Sprintf("%.1f", goroutines.nanoseconds()/r.nanoseconds()) })
		row("memory", func(r result) string { return fmt.Sprintf("%.2f", r.bytes/goroutines.bytes) })
	}
	b.WriteString("\nbytes each: of one that waits\n")
	if len(results) == len(kinds) {
		b.WriteString("speed, memory: those of goroutines are 1\n")
	}
	_, err := io.WriteString(stdout, b.String())
	return err
}

// short returns a duration with three digits.
func short(d time.Duration) string {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
}
