// Selecttimeout shows how to take a permit or give up, in Go's own select and in that of the executor:
//
//	go run ./examples/selecttimeout [flags]
//
// Many clients want one of a few permits of something slow: the connections of a database, the seats of a licence. Each
// holds its permit for some time, and gives up if it does not get one soon enough. The same job is done in three ways:
//
//   - Goroutines, with the future's Done and time.After in a select.
//   - Tasks, with the future and a timer in rt.Select.
//   - Tasks, with rt.Timeout, which makes one future of both.
//
// A permit may come at the very moment at which the client gives up. It must not be lost then, nor be held by somebody
// who has left. In the select that is what the deferred Cancel is for: it gives back what has been granted and not taken,
// and does nothing else. Select and Timeout cancel by themselves. They differ in who wins if both have happened: Go's
// select picks one at random, the other two prefer the permit.
//
// A table says who was served, and after what wait. Below it stands what must be so in the end: nobody has vanished,
// there never were more clients inside than permits, and all permits are back.
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
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// parseArgs reads the command line. It has told the user about an error it returns.
func parseArgs(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("selecttimeout", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&o.clients, "clients", 8, "how many want a permit, all at once")
	fs.IntVar(&o.permits, "permits", 2, "how many permits there are")
	fs.DurationVar(&o.hold, "hold", 50*time.Millisecond, "how long a client holds its permit")
	fs.DurationVar(&o.patience, "patience", 120*time.Millisecond, "how long a client waits for one")
	err := cli.Parse(fs, args, func() error {
		switch {
		case fs.NArg() > 0:
			return fmt.Errorf("unexpected argument %q", fs.Arg(0))
		case o.clients < 1 || o.permits < 1:
			return errors.New("-clients and -permits must be at least 1")
		case o.hold < 0 || o.patience <= 0:
			return errors.New("-hold must not be negative, and -patience positive")
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
	results := make([]result, len(ways))
	for i, w := range ways {
		results[i] = w.run(o)
		if err := results[i].check(o); err != nil {
			fmt.Fprintf(stderr, "selecttimeout: %s: %v\n", w.name, err)
			code = cli.ExitFailed
		}
	}
	if err := writeTable(stdout, o, results); err != nil {
		fmt.Fprintln(stderr, "selecttimeout: cannot write the output:", err)
		code = cli.ExitFailed
	}
	return code
}

// writeTable has a line for each client and a column for each way.
func writeTable(stdout io.Writer, o options, results []result) error {
	tw := tabwriter.NewWriter(stdout, 0, 0, 3, ' ', 0)
	if _, err := fmt.Fprintf(stdout, "%d clients want one of %d permits for %v each, and wait for %v at most.\n\n",
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
	for _, w := range ways {
		fmt.Fprintf(tw, "\t%s", w.name)
	}
	fmt.Fprintln(tw)
	for i := range o.clients {
		row(i, func(r result) string { return r.outcomes[i].String() })
	}
	row("", func(result) string { return "" }) // an empty line would begin columns of other widths
	row("served", func(r result) string { return number(r.count(served)) })
	row("gave up", func(r result) string { return number(r.count(gaveUp)) })
	row("most at a time", func(r result) string { return number(r.most) })
	row("free in the end", func(r result) string { return number(r.free) })
	return tw.Flush()
}
