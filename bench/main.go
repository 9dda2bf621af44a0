// Bench measures the locks and the executor of this module beside their peers and holds them to
// their targets. It is a plain program, and not a set of testing.B benchmarks, because in a test
// binary the module takes a slower path on purpose.
//
// The files: workloads.go says what is done, impls.go and farad.go by whom, gang.go and measure.go
// how one figure comes about, rounds.go how many of them are interleaved, cancel.go and memory.go
// what is measured besides, targets.go what farad is held to, report.go how all that is told.
// Mutexes and read-write locks have files of their own, locks*.go, and so has the executor,
// tasks*.go. The capacitor is in capacitor.go, waits.go and figure.go, every lock in every.go,
// hand-offs are in handoff.go, cancel storms in storm.go, a million waiters in wake.go, bursts and
// worker pools in jobs*.go. What a run leaves is written by output.go: the page (html.go), the
// plots (plot.go, plot_ratios.go, colors.go), the rounds for benchstat (benchstat.go), tables and
// plot of the README (readme.go, readme_plot.go) and that of all targets (target_lines.go,
// targets_table.go); load.go reads a run again, compare.go holds one beside another, and lines.go
// is what these have of it.
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
)

// config is what the flags say.
type config struct {
	timing
	rounds     int
	only       *regexp.Regexp
	procs      int
	smoke      bool
	quick      bool
	out        string
	markdown   string
	json       string
	readme     string
	targets    string
	compare    string
	cpuprofile string
	plot       string
	from       []string // instead of measuring: the JSON files of runs
}

// usualWindow is the window of a run whose flags say nothing else.
const usualWindow = 150 * time.Millisecond

// picks reports whether something of this name is to be measured.
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
	if errors.Is(err, errStuck) || errors.Is(err, errAwake) {
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1) // grouped by where they are stuck
	}
	os.Exit(1)
}

// parse reads the flags; messages about wrong ones go to stderr.
func parse(args []string, stderr io.Writer) (config, error) {
	c := config{timing: timing{limit: 10 * time.Second}}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&c.rounds, "rounds", 9, "how often everything is measured")
	fs.DurationVar(&c.window, "window", usualWindow, "length of one measurement")
	fs.DurationVar(&c.warmup, "warmup", 200*time.Millisecond, "discarded beginning of one measurement, at least")
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
	fs.StringVar(
		&c.readme,
		"readme",
		"",
		"write the ratios into `file`, between its markers, and "+readmePlotFile+" beside it",
	)
	fs.StringVar(&c.targets, "targets", "", "write the table of all targets into `file`, between its markers")
	fs.StringVar(&c.markdown, "md", "", "write the tables as Markdown to `file`")
	fs.StringVar(&c.json, "json", "", "write the raw rounds as JSON to `file`")
	fs.StringVar(&c.cpuprofile, "cpuprofile", "", "write a CPU profile to `file`")
	fs.StringVar(&c.plot, "plot", "", "draw "+figureFile+" and "+planeFile+" into `folder`, from a file")
	fs.Usage = func() {
		fmt.Fprintln(
			stderr,
			"usage: go run . [flags] [file.json]\n\nMeasures, and tells; with the JSON file of a run it tells of that run, and measures nothing.",
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
	case c.plot != "" && len(c.from) != 1:
		return c, errors.New("-plot takes one file")
	case len(c.from) > 1 && c.readme == "" && c.targets == "":
		return c, fmt.Errorf("unexpected argument %q", c.from[1])
	case c.smoke && (c.quick || c.compare != "" || c.readme != "" || c.targets != ""):
		return c, errors.New("the figures of -smoke are void: neither -quick nor -compare nor -readme nor -targets")
	}
	if c.quick {
		if !given["rounds"] {
			c.rounds = quickRounds
		}
		if !given["window"] {
			c.window = quickWindow
		}
		if !given["warmup"] {
			c.warmup = quickWarmup
		}
	}
	if c.smoke {
		c.rounds, c.window, c.warmup, c.patience = 1, 3*time.Millisecond, time.Millisecond, 5*time.Millisecond
	}
	if c.rounds < 1 || c.window <= 0 || c.warmup < 0 || c.procs < 0 {
		return c, errors.New("rounds and window must be positive, warmup and procs not negative")
	}
	var err error
	if c.only, err = regexp.Compile(*only); err != nil {
		return c, fmt.Errorf("-run: %w", err)
	}
	return c, nil
}

// run measures, and tells: tables to stdout, progress to stderr.
func run(c config, stdout, stderr io.Writer) (err error) {
	// First: a run of three quarters of an hour is not to end with a file that is not there, or a
	// folder that cannot be.
	var was *report
	if c.compare != "" {
		if was, err = load(c.compare); err != nil {
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
	r := &report{
		Machine:  thisMachine(os.Args[1:]), // before any output file is there to make the tree dirty
		Smoke:    c.smoke,
		Rounds:   c.rounds,
		Window:   c.window.String(),
		Warmup:   c.warmup.String(),
		Cells:    plan(implementations, c.picks),
		Cancel:   planCancel(c.picks),
		Locks:    planLocks(c.picks),
		Tasks:    planTasks(c.picks),
		Jobs:     planJobs(c.picks),
		Variants: planVariants(c.picks),
		Wake:     planWake(c.picks, c.smoke),
	}
	if c.cpuprofile != "" {
		f, err := os.Create(c.cpuprofile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	progress := newMeter(stderr, c.rounds*r.measurements()+2) // and memory
	defer progress.finish()                                   // of a run that fails
	for round := range c.rounds {
		if err := runRound(round, r.Cells, c.timing, progress.measured); err != nil {
			return err
		}
		if err := runLockRound(round, r.Locks, c.timing, progress.measured); err != nil {
			return err
		}
		if err := runTaskRound(round, r.Tasks, c.timing, progress.measured); err != nil {
			return err
		}
		if err := runJobRound(round, r.Jobs, c.timing, progress.measured); err != nil {
			return err
		}
		// Last: of its hundred thousand goroutines the runtime keeps what every collection from
		// then on looks at.
		if err := runCancelRound(r.Cancel, c.limit, progress.measured); err != nil {
			return err
		}
		progress.round(round, c.rounds)
	}
	// After all rounds: of its million goroutines the runtime keeps even more.
	for round := range c.rounds {
		if err := runWakeRound(round, r.Wake, c.limit, progress.measured); err != nil {
			return err
		}
	}
	if r.Memory, err = runMemory(c.picks, c.limit); err != nil {
		return err
	}
	progress.measured("memory")
	if r.TaskMemory, err = runTaskMemory(c.picks, c.limit, c.smoke); err != nil {
		return err
	}
	progress.measured("tasks/memory")
	if len(
		r.Cells,
	)+len(
		r.Cancel,
	)+len(
		r.Memory,
	)+len(
		r.Locks,
	)+len(
		r.Tasks,
	)+len(
		r.TaskMemory,
	)+len(
		r.Variants,
	)+len(
		r.Wake,
	)+len(
		r.Jobs,
	) == 0 {
		return fmt.Errorf("nothing matches -run %s", c.only)
	}
	progress.finish()
	if _, err := io.WriteString(stdout, r.text()); err != nil {
		return err
	}
	return publish(c, r, was, stdout)
}

// measurements returns how many a round has.
func (r *report) measurements() int {
	n := len(r.Cancel) + len(r.Wake)
	for _, c := range r.Cells {
		n += len(c.impls)
	}
	for _, l := range r.Locks {
		n += len(l.impls)
	}
	for _, l := range r.Tasks {
		n += len(l.impls)
	}
	for _, l := range r.Jobs {
		n += len(l.impls)
	}
	return n
}
