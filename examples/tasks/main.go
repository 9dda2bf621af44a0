// Tasks has 100,000 tasks take turns on a few permits, and then has goroutines do the same:
//
//	go run ./examples/tasks [flags]
//
// A turn is: wait for a permit, let the others run once while holding it, give it back. That is done by
//
//   - poll tasks: objects with a method that is called when it is worth it. One that waits is its object, and nothing
//     else;
//   - straight-line tasks: functions, which stop in the middle where they wait, and so need a stack, as a goroutine does;
//   - goroutines, with the same semaphore.
//
// All of them are made while somebody else has the permits, so that they queue up. When all wait, the memory is
// measured: heap and stacks. What the Go runtime remembers of a goroutine besides, some 500 bytes, is not in it: it
// never gives that back, so that only the first kind would have to bear it. Then the permits are released, and the clock
// runs until the last turn has been taken.
//
// A table compares the three. A bar shows the progress if standard error is a terminal.
//
// The exit code is 0, or 1 if turns or permits were missing in the end, or 2 after wrong usage.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/farad-go/farad/examples/internal/cli"
)

// options are the command line.
type options struct {
	tasks    int
	permits  int
	rounds   int
	workers  int
	progress bool
}

// turns returns how many there will be.
func (o options) turns() int64 { return int64(o.tasks) * int64(o.rounds) }

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// parseArgs reads the command line. It has told the user about an error it returns.
func parseArgs(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("tasks", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&o.tasks, "tasks", 100_000, "how many take turns")
	fs.IntVar(&o.permits, "permits", 4, "how many can at a time")
	fs.IntVar(&o.rounds, "rounds", 20, "how many turns each of them takes")
	fs.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "workers of the executor")
	fs.BoolVar(&o.progress, "progress", cli.IsTerminal(stderr), "show a progress bar; the default is whether standard error"+
		" is a terminal")
	err := cli.Parse(fs, args, func() error {
		switch {
		case fs.NArg() > 0:
			return fmt.Errorf("unexpected argument %q", fs.Arg(0))
		case o.tasks < 1 || o.permits < 1 || o.rounds < 1:
			return errors.New("-tasks, -permits and -rounds must be at least 1")
		case o.workers < 1 || o.workers > maxWorkers:
			return fmt.Errorf("-workers must be between 1 and %d", maxWorkers)
		}
		return nil
	})
	return o, err
}

// run is the program. It returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	o, err := parseArgs(args, stderr)
	if err != nil {
		return cli.UsageCode(err)
	}
	makeDescriptors(o.tasks)
	results := make([]result, len(kinds))
	for i, k := range kinds {
		if results[i], err = measure(k, o, stderr); err != nil {
			fmt.Fprintf(stderr, "tasks: %s: %v\n", k.name, err)
			return cli.ExitFailed
		}
	}
	if err := writeTable(stdout, o, results); err != nil {
		fmt.Fprintln(stderr, "tasks: cannot write the output:", err)
		return cli.ExitFailed
	}
	return cli.ExitOK
}

// writeTable compares the kinds with the last of them, the goroutines.
func writeTable(stdout io.Writer, o options, results []result) error {
	if _, err := fmt.Fprintf(stdout, "%s × %s turns on %d permits, %d workers, GOMAXPROCS %d\n\n",
		humanize.Comma(int64(o.tasks)), humanize.Comma(int64(o.rounds)), o.permits, o.workers,
		runtime.GOMAXPROCS(0)); err != nil {
		return err
	}
	tw := tabwriter.NewWriter(stdout, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "\tstart\tall turns\ta turn\tgoroutine's ÷ it\tbytes while it waits\tgoroutine's ÷ it\t")
	last := results[len(results)-1]
	for i, r := range results {
		fmt.Fprintf(tw, "%s\t%v\t%v\t%v\t%.1f\t%.0f\t%.1f\t\n", kinds[i].name,
			r.start.Round(time.Millisecond), r.elapsed.Round(time.Millisecond), r.perTurn(o),
			float64(last.elapsed)/float64(r.elapsed), r.bytes, last.bytes/r.bytes)
	}
	return tw.Flush()
}
