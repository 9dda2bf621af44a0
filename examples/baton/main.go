// Baton shows what a waiting array is good for: waking the one whom it concerns.
//
//	go run ./examples/baton [flags]
//
// Many runners stand in a ring, and one of them has the baton. Whoever has it passes it on and waits until it has come round. That
// is a condition of its own for each runner, and there are three ways to wait for it:
//
//   - A sync.Cond that all share. Nobody can say who is to wake up, so each pass wakes everybody, and all but one go back to sleep.
//   - A twa.Array. A runner sleeps under a key of its own, and a pass signals that key.
//   - A twa.EventCount. A pass is an event, and a runner waits for the number that is its turn.
//
// A table says how often the baton was passed in the time that was given, and how often, for each pass, somebody woke up or arrived and
// looked whether it had the baton. Below it stands what must be so: the baton was never in two hands, and all have run as far.
//
// The exit code is 0 if it is so, 1 if not, and 2 after wrong usage.
package main

import (
	"errors"
	"flag"
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
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// parseArgs reads the command line. It has told the user about an error it returns.
func parseArgs(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("baton", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&o.runners, "runners", 1000, "how many stand in the ring")
	fs.DurationVar(&o.time, "time", time.Second, "how long they run, each way")
	err := cli.Parse(fs, args, func() error {
		switch {
		case fs.NArg() > 0:
			return fmt.Errorf("unexpected argument %q", fs.Arg(0))
		case o.runners < 2:
			return errors.New("-runners must be at least 2")
		case o.time <= 0:
			return errors.New("-time must be positive")
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
	code := cli.ExitOK
	var results []result
	for _, w := range ways {
		r := race(o, w.ring(o.runners))
		if err := r.check(); err != nil {
			fmt.Fprintf(stderr, "baton: %s: %v\n", w.name, err)
			code = cli.ExitFailed
		}
		results = append(results, r)
	}
	if err := writeTable(stdout, o, results); err != nil {
		fmt.Fprintln(stderr, "baton: cannot write the output:", err)
		code = cli.ExitFailed
	}
	return code
}

// writeTable has a line for each way.
func writeTable(stdout io.Writer, o options, results []result) error {
	if _, err := fmt.Fprintf(stdout, "%d runners pass a baton round for %v.\n\n", o.runners, o.time); err != nil {
		return err
	}
	tw := tabwriter.NewWriter(stdout, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "they wait by\tpasses\tlooks a pass\tlaps\t")
	for i, r := range results {
		fmt.Fprintf(tw, "%s\t%s\t%.1f\t%d\t\n", ways[i].name, humanize.Comma(r.passes()), r.looksPerPass(), r.laps())
	}
	return tw.Flush()
}
