// Command puddle runs the benchmark of github.com/jackc/puddle, the pool under the database driver
// pgx, with the semaphore that it imports and with ours:
//
//	go -C bench run ./puddle [-rounds 7] [-benchtime 100ms] [-clients 32,512] [-cancellable] \
//		[-tags farad_portable]
//
// It copies puddle from the module cache into two temporary modules, changes the import path of
// golang.org/x/sync/semaphore in one of them, and builds the tests of both. Then it runs them in
// turn, round by round, and prints the quotients. Nothing of puddle is in this repository; the
// go command fetches it. A figure is puddle's: the time in which every client acquires and releases
// a resource once.
//
// In a test binary that uses testing/synctest our semaphores look at each wait for a bubble, which
// costs a reading of the clock. A user's program does not pay for that, nor do puddle's own tests.
// The same loop is measured in a program, too.
//
// Read this file first, then module.go for how the modules are made.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
)

// resources is how many the pool has.
const resources = 8

// targets are the targets of puddle with our semaphore.
var targets = []table.Target{
	{
		Workloads: []string{line{clients: "32"}.String(), line{clients: "512"}.String()},
		Metric:    table.RatioTo,
		Peer:      peers.NameXSync,
		Bound:     0.65,
	},
	{
		Workloads: []string{
			line{clients: "32", program: true}.String(), line{clients: "512", program: true}.String(),
		},
		Metric: table.RatioTo,
		Peer:   peers.NameXSync,
		Bound:  0.65,
	},
}

type config struct {
	rounds      int
	benchtime   time.Duration
	clients     []string
	cancellable bool
	tags        string
}

func main() {
	c, err := parse(os.Args[1:])
	if err == nil {
		err = run(c, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "puddle:", err)
		os.Exit(1)
	}
}

func parse(args []string) (config, error) {
	var c config
	f := flag.NewFlagSet("puddle", flag.ContinueOnError)
	f.IntVar(&c.rounds, "rounds", 7, "how often everything is measured")
	f.DurationVar(&c.benchtime, "benchtime", 100*time.Millisecond, "length of one measurement, about")
	clients := f.String("clients", "32,512", "how many goroutines, of those that puddle measures")
	f.BoolVar(&c.cancellable, "cancellable", false, "with a context that can end")
	f.StringVar(&c.tags, "tags", "", "build `tags`, such as farad_portable")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	for n := range strings.SplitSeq(*clients, ",") {
		if _, err := strconv.Atoi(n); err != nil {
			return c, fmt.Errorf("-clients: %w", err)
		}
		c.clients = append(c.clients, n)
	}
	if c.rounds < 1 || c.benchtime <= 0 || f.NArg() > 0 {
		return c, errors.New("rounds and benchtime must be positive, and there are no arguments but flags")
	}
	return c, nil
}

// run makes both programs, measures, and writes a table.
func run(c config, out io.Writer) (err error) {
	folder, err := os.MkdirTemp("", "farad-puddle-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	theirs, ours, err := build(folder, c.tags)
	if err != nil {
		return err
	}
	t := &table.Table{
		Head: []string{"puddle's benchmark", "x/sync, ns", "farad, ns", "farad ÷ x/sync"},
		Left: 1,
	}
	sum := &table.Tally{Spreads: true}
	for _, l := range c.lines() {
		var x, f []float64
		for round := range c.rounds {
			both := []struct {
				folder  string
				figures *[]float64
			}{{theirs, &x}, {ours, &f}}
			if round%2 == 1 {
				both[0], both[1] = both[1], both[0]
			}
			for _, b := range both {
				ns, err := measureOnce(b.folder, l, c)
				if err != nil {
					return err
				}
				*b.figures = append(*b.figures, ns)
			}
		}
		t.Add(l.String(), fmt.Sprintf("%.0f", measure.Median(x)), fmt.Sprintf("%.0f", measure.Median(f)),
			sum.Entry(table.RatioTo, table.Find(targets, l.String(), "", table.RatioTo, peers.NameXSync),
				measure.Ratios(f, x)))
	}
	w := new(strings.Builder)
	m := measure.ThisMachine(os.Args[1:])
	fmt.Fprintf(w, "- %s, %d cores; %s; %s; commit %s, %s\n", m.CPU, m.Cores, m.System, m.Go, m.Commit,
		m.Date.Format("2006-01-02 15:04 UTC"))
	fmt.Fprintf(w, "- `%s`: %s, %s, %d rounds of %v\n\n",
		measure.CommandLine([]string{"go", "run", "./puddle"}, os.Args[1:]), puddle, xsync(), c.rounds, c.benchtime)
	t.WriteRows(w)
	fmt.Fprintf(w, "\n%s\n", sum)
	_, err = io.WriteString(out, w.String())
	return err
}

// A line is one of the table.
type line struct {
	clients     string
	cancellable bool
	program     bool // not the test binary
}

func (l line) String() string {
	s := fmt.Sprintf("%d resources, %s clients", resources, l.clients)
	if l.cancellable {
		s += ", a context that can end"
	}
	if l.program {
		s += ", in a program"
	}
	return s
}

// lines are all that the flags ask for.
func (c config) lines() (all []line) {
	for _, program := range []bool{false, true} {
		for _, n := range c.clients {
			all = append(all, line{n, c.cancellable, program})
		}
	}
	return all
}

// measureOnce runs a line's benchmark once and returns its ns/op.
func measureOnce(folder string, l line, c config) (float64, error) {
	name := fmt.Sprintf("^BenchmarkPoolAcquireAndRelease$/^PoolSize=%d$/^ClientCount=%s$/^Cancellable=%t$",
		resources, l.clients, l.cancellable)
	cmd := exec.CommandContext(context.Background(), filepath.Join(folder, testBinary),
		"-test.run", "^$", "-test.bench", name, "-test.benchtime", c.benchtime.String(), "-test.timeout", "5m")
	if l.program {
		cmd = exec.CommandContext(context.Background(), filepath.Join(folder, program),
			strconv.Itoa(resources), l.clients, strconv.FormatBool(l.cancellable), c.benchtime.String())
	}
	cmd.Dir = folder
	text, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	return figure(string(text))
}

var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark\S+\s+\d+\s+([\d.]+) ns/op`)

// figure returns the ns/op of the only benchmark in the text.
func figure(text string) (float64, error) {
	found := benchmarkLine.FindAllStringSubmatch(text, -1)
	if len(found) != 1 {
		return 0, fmt.Errorf("%d benchmarks instead of one in\n%s", len(found), text)
	}
	return strconv.ParseFloat(found[0][1], 64)
}
