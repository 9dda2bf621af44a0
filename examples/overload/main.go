// Overload shows what becomes of a server that is asked for more than it can do, with each policy
// of the semaphore in its door:
//
//	go run ./examples/overload [flags]
//
// The server answers HTTP requests from a database with 5 connections, each of which works on a
// request for 25 ms, on average. So 200 requests a second can be answered. Clients go away after
// 250 ms, and others come: they do not slow down. Three such servers run with each policy:
//
//   - flood: the tenant "bulk", which has 50 users, sends 1.8 times as much as can be answered. The
//     tenant "modest", which has one, sends 0.2 times as much.
//   - 2x load: "batch" sends 1.2 times as much as can be answered and "web", which is urgent, 0.8
//     times.
//   - slow: "reports" sends 1.6 times as much work as can be done, in requests that take four times
//     as long. "quick" sends 0.4 times as much.
//
// A chart shows for each tenant how many requests a second were answered in time, how long these
// took, and why the others failed. It is drawn if standard error is a terminal; otherwise there are
// lines. At the end a table compares the policies. docs/guides/overload.md says how to choose.
//
// Ctrl-C ends the run early, with a table of the policies until then.
//
// The exit code is one of:
//
//	0    success
//	1    the server could not listen, or the output could not be written
//	2    wrong usage
//	130  stopped by Ctrl-C (128 + SIGINT)
//	143  stopped by SIGTERM (128 + SIGTERM)
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/farad-go/farad/examples/internal/cli"
)

// options is the command line.
type options struct {
	policies []policy
	time     time.Duration
	progress bool
}

func main() {
	os.Exit(run(cli.WithSignals(context.Background()), os.Args[1:], os.Stdout, os.Stderr))
}

// parseArgs reads the command line. It prints an error before it returns it.
func parseArgs(args []string, stdout, stderr io.Writer) (options, error) {
	o := options{time: 3 * time.Second}
	all := make([]string, len(policies))
	for i, p := range policies {
		all[i] = p.name
	}
	cmd := cli.Command{
		Name: "overload",
		About: "Overload sends a server twice as many requests as it can answer, and shows with each " +
			"policy of the semaphore who is answered in time, and who is refused.",
		Example: "-for 10s -policies fifo,shares",
	}
	var names []string
	cmd.Duration(&o.time, "for", 100*time.Millisecond, "how long, for each policy")
	cmd.Names(&names, "policies", all, "which policies, in which order")
	cmd.Progress(&o.progress, stderr, "a chart")
	_, err := cmd.Parse(args, stdout, stderr)
	for _, name := range names {
		o.policies = append(o.policies, policies[slices.Index(all, name)])
	}
	return o, err
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseArgs(args, stdout, stderr)
	if err != nil {
		return cli.UsageCode(err)
	}
	var rows []row
	for _, p := range o.policies {
		if ctx.Err() != nil {
			break
		}
		trials, err := try(ctx, p, o, stdout, stderr)
		if err != nil {
			fmt.Fprintln(stderr, "overload:", err)
			return cli.ExitFailed
		}
		rows = append(rows, row{p, trials})
	}
	if o.progress {
		fmt.Fprintln(stderr)
	}
	stopped := context.Cause(ctx)
	cli.Stopped(stderr, stopped)
	if err := writeTable(stdout, rows); err != nil {
		fmt.Fprintln(stderr, "overload: cannot write the output:", err)
		return cli.ExitFailed
	}
	return cli.ExitCode(stopped, false)
}

// try runs all scenarios with a policy, at the same time, and shows them.
func try(ctx context.Context, p policy, o options, stdout, stderr io.Writer) (trials []*trial, err error) {
	var listeners []net.Listener
	for _, s := range scenarios {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		listeners = append(listeners, l)
		trials = append(trials, newTrial(s, p, o.time))
	}
	if o.progress {
		defer startChart(stderr, p, trials)()
	}
	var wg sync.WaitGroup
	for i, t := range trials {
		wg.Go(func() { t.run(ctx, listeners[i]) })
	}
	wg.Wait()
	if !o.progress {
		writeLines(stdout, p, trials)
	}
	return trials, nil
}
