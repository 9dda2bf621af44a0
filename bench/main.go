// Bench measures the locks and the executor of this module against their peers and holds them to
// their targets. It is a plain program, and not a set of testing.B benchmarks, because in a test
// binary the module takes a slower path on purpose.
//
// Imports go one way:
//
//	main → render → report → semaphore, locks ← array, capacitor, overload; tasks, jobs, waiters
//	     → table → measure; peers
//
// measure takes one figure and knows no lock; peers has what more than one family measures; table
// has tables and targets. Each family of workloads is a package, which says what is done, by which
// implementations, what farad is held to, and how its tables look. report gathers them and reads
// old runs; render draws. Package main has the flags (main.go), what a quick run measures
// (quick.go), the progress of a run and the files that it leaves (output.go). papers has algorithms
// that only measurements use; simulate and puddle are programs of their own.
//
// Read this file first, then semaphore/workloads.go for what a workload is.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/farad-go/farad/bench/array"
	"github.com/farad-go/farad/bench/jobs"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/overload"
	"github.com/farad-go/farad/bench/report"
	"github.com/farad-go/farad/bench/semaphore"
	"github.com/farad-go/farad/bench/tasks"
	"github.com/farad-go/farad/bench/waiters"
	"github.com/farad-go/farad/internal/xsync/sleep"
)

// config has the values of the flags.
type config struct {
	measure.Timing
	rounds     int
	only       *regexp.Regexp
	procs      int
	smoke      bool
	quick      bool
	out        string
	json       string
	page       string
	compare    string
	cpuprofile string
	from       []string // instead of measuring: the JSON files of runs
}

// picks reports whether the run measures something of this name.
func (c *config) picks(name string) bool {
	return c.only.MatchString(name) && (!c.quick || quickLines.MatchString(name))
}

func main() {
	c, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	switch {
	case err != nil:
	case len(c.from) > 0:
		err = retell(c, os.Stdout)
	default:
		err = run(c, os.Stdout, os.Stderr)
	}
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "bench:", err)
	if errors.Is(err, measure.ErrStuck) || errors.Is(err, measure.ErrAwake) {
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1) // grouped by where they are stuck
	}
	os.Exit(1)
}

// parse reads the flags; messages about wrong ones go to stderr.
func parse(args []string, stderr io.Writer) (config, error) {
	c := config{Timing: measure.Timing{Limit: 10 * time.Second}}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&c.rounds, "rounds", 9, "how often everything is measured")
	fs.DurationVar(&c.Window, "window", measure.UsualWindow, "length of one measurement")
	fs.DurationVar(&c.Warmup, "warmup", 200*time.Millisecond, "discarded beginning of one measurement, at least")
	fs.IntVar(&c.procs, "procs", 0, "GOMAXPROCS (0: as it is)")
	only := fs.String(
		"run",
		"",
		"measure only what matches the `regexp`: contended-8x1/own/, farad$, ^memory/, ^locks/, ^tasks/, ^variants/",
	)
	fs.BoolVar(&c.smoke, "smoke", false, "one round of a few milliseconds, to see that everything works")
	fs.BoolVar(&c.quick, "quick", false, "a minute: of each family what stands for it, in 5 rounds of 40ms")
	fs.StringVar(&c.out, "out", "", "write everything into `folder`: "+strings.Join(outFiles, ", ")+", and plots")
	fs.StringVar(&c.compare, "compare", "", "say what has moved since the run in a JSON `file`")
	fs.StringVar(&c.page, "page", "", "write one page of the runs in JSON files to `file`")
	fs.StringVar(&c.json, "json", "", "write the raw rounds as JSON to `file`")
	fs.StringVar(&c.cpuprofile, "cpuprofile", "", "write a CPU profile to `file`")
	fs.Usage = func() {
		fmt.Fprintln(
			stderr,
			"usage: go run . [flags] [file.json]\n\nMeasures, and reports. With the JSON file of a run it "+
				"reports that run, and measures nothing.",
		)
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	c.from = fs.Args()
	given := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case c.page != "" && len(c.from) == 0:
		return c, errors.New("-page takes the JSON files of runs")
	case c.page == "" && len(c.from) > 1:
		return c, fmt.Errorf("unexpected argument %q", c.from[1])
	case c.smoke && (c.quick || c.compare != ""):
		return c, errors.New("the figures of -smoke are void: no -quick and no -compare")
	}
	if c.quick {
		if !given["rounds"] {
			c.rounds = quickRounds
		}
		if !given["window"] {
			c.Window = quickWindow
		}
		if !given["warmup"] {
			c.Warmup = quickWarmup
		}
	}
	if c.smoke {
		c.rounds, c.Window, c.Warmup, c.Patience = 1, 3*time.Millisecond, time.Millisecond, 5*time.Millisecond
	}
	if c.rounds < 1 || c.Window <= 0 || c.Warmup < 0 || c.procs < 0 {
		return c, errors.New("rounds and window must be positive, warmup and procs not negative")
	}
	var err error
	if c.only, err = regexp.Compile(*only); err != nil {
		return c, fmt.Errorf("-run: %w", err)
	}
	return c, nil
}

// run measures, and writes tables to stdout and progress to stderr.
func run(c config, stdout, stderr io.Writer) (err error) {
	// First: a run of more than an hour is not to end with a file that is not there, or a
	// folder that cannot be.
	var was *report.Report
	if c.compare != "" {
		if was, err = report.Load(c.compare); err != nil {
			return err
		}
	}
	if c.out != "" {
		if err := os.MkdirAll(c.out, 0o755); err != nil {
			return err
		}
	}
	if c.procs > 0 {
		runtime.GOMAXPROCS(c.procs)
	}
	r := &report.Report{
		Machine:  measure.ThisMachine(os.Args[1:]), // before an output file makes the tree dirty
		Smoke:    c.smoke,
		Rounds:   c.rounds,
		Window:   c.Window.String(),
		Warmup:   c.Warmup.String(),
		Cells:    semaphore.Plan(semaphore.Implementations, c.picks),
		Cancel:   waiters.PlanCancel(c.picks),
		Locks:    locks.Plan(report.LockWorkloads, c.picks),
		Tasks:    tasks.Plan(c.picks),
		Jobs:     jobs.Plan(c.picks),
		Overload: overload.Plan(c.picks),
		Variants: array.Plan(c.picks),
		Wake:     waiters.PlanWake(c.picks, c.smoke),
	}
	r.Machine.Sleep = measure.SleepChannels
	if sleep.Parks() {
		r.Machine.Sleep = measure.SleepGopark
	}
	end, err := measure.Profile(c.cpuprofile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	progress := newMeter(stderr, c.rounds*measurements(r)+2) // and memory
	defer progress.finish()                                  // of a run that fails
	for round := range c.rounds {
		if err := semaphore.RunRound(round, r.Cells, c.Timing, progress.measured); err != nil {
			return err
		}
		if err := locks.RunRound(round, r.Locks, c.Timing, progress.measured); err != nil {
			return err
		}
		if err := tasks.RunRound(round, r.Tasks, c.Timing, progress.measured); err != nil {
			return err
		}
		if err := jobs.RunRound(round, r.Jobs, c.Timing, progress.measured); err != nil {
			return err
		}
		if err := overload.RunRound(round, r.Overload, c.Timing, progress.measured); err != nil {
			return err
		}
		// Last: of its hundred thousand goroutines the runtime keeps what every collection from
		// then on looks at.
		if err := waiters.RunCancelRound(r.Cancel, c.Limit, progress.measured); err != nil {
			return err
		}
		progress.round(round, c.rounds)
	}
	// After all rounds: of its million goroutines the runtime keeps even more.
	for round := range c.rounds {
		if err := waiters.RunWakeRound(round, r.Wake, c.Limit, progress.measured); err != nil {
			return err
		}
	}
	if r.Memory, err = waiters.RunMemory(c.picks, c.Limit); err != nil {
		return err
	}
	progress.measured("memory")
	if r.TaskMemory, err = waiters.RunTaskMemory(c.picks, c.Limit, c.smoke); err != nil {
		return err
	}
	progress.measured("tasks/memory")
	if c.rounds*measurements(r)+len(r.Memory)+len(r.TaskMemory)+len(r.Variants) == 0 {
		return fmt.Errorf("nothing matches -run %s", c.only)
	}
	progress.finish()
	if _, err := io.WriteString(stdout, r.Text()); err != nil {
		return err
	}
	return publish(c, r, was, stdout)
}

// measurements returns how many a round has.
func measurements(r *report.Report) int {
	n := len(r.Cancel) + len(r.Wake)
	for _, c := range r.Cells {
		n += len(c.Impls)
	}
	for _, l := range r.Locks {
		n += len(l.Impls)
	}
	for _, l := range r.Tasks {
		n += len(l.Impls)
	}
	for _, l := range r.Jobs {
		n += len(l.Impls)
	}
	for _, l := range r.Overload {
		n += len(l.Impls)
	}
	return n
}
