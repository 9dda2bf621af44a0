// Bench measures the locks and the executor of this module beside their peers and holds them to their targets. It is a plain program, and
// not a set of testing.B benchmarks, because in a test binary the module takes a slower path on purpose.
//
// The files: workloads.go says what is done, impls.go and farad.go by whom, gang.go and measure.go how one figure comes
// about, rounds.go how many of them are interleaved, cancel.go and memory.go what is measured besides, targets.go what
// farad is held to, report.go how all that is told. Mutexes and read-write locks have files of their own, locks*.go, and so
// has the executor, tasks*.go. The capacitor is in capacitor.go, waits.go and figure.go; plot.go draws it.
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
	"time"
)

// config is what the flags say.
type config struct {
	timing
	rounds     int
	only       *regexp.Regexp
	procs      int
	smoke      bool
	markdown   string
	json       string
	cpuprofile string
	plot       string // where to draw, and from what
	results    string
}

func main() {
	c, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	switch {
	case err != nil:
	case c.plot != "":
		err = drawPlots(c.plot, c.results)
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
	fs.DurationVar(&c.window, "window", 150*time.Millisecond, "length of one measurement")
	fs.DurationVar(&c.warmup, "warmup", 200*time.Millisecond, "discarded beginning of one measurement, at least")
	fs.IntVar(&c.procs, "procs", 0, "GOMAXPROCS (0: as it is)")
	only := fs.String("run", "", "measure only what matches the `regexp`: contended-8x1/own/, farad$, ^memory/, ^locks/, ^tasks/, ^variants/")
	fs.BoolVar(&c.smoke, "smoke", false, "one round of a few milliseconds, to see that everything works")
	fs.StringVar(&c.markdown, "md", "", "write the tables as Markdown to `file`")
	fs.StringVar(&c.json, "json", "", "write the raw rounds as JSON to `file`")
	fs.StringVar(&c.cpuprofile, "cpuprofile", "", "write a CPU profile to `file`")
	fs.StringVar(&c.plot, "plot", "", "measure nothing, but draw into `folder` what the JSON file has that is the argument: "+figureFile+", "+planeFile)
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	if c.plot != "" {
		if fs.NArg() != 1 {
			return c, errors.New("-plot takes one file")
		}
		c.results = fs.Arg(0)
		return c, nil
	}
	if fs.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", fs.Arg(0))
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
	if c.procs > 0 {
		runtime.GOMAXPROCS(c.procs)
	}
	r := &report{
		Machine:  thisMachine(os.Args[1:]), // before any output file is there to make the tree dirty
		Smoke:    c.smoke,
		Rounds:   c.rounds,
		Window:   c.window.String(),
		Warmup:   c.warmup.String(),
		Cells:    plan(implementations, c.only.MatchString),
		Cancel:   planCancel(c.only.MatchString),
		Locks:    planLocks(c.only.MatchString),
		Tasks:    planTasks(c.only.MatchString),
		Variants: planVariants(c.only.MatchString),
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
	for round := range c.rounds {
		start := time.Now()
		if err := runRound(round, r.Cells, c.timing); err != nil {
			return err
		}
		if err := runLockRound(round, r.Locks, c.timing); err != nil {
			return err
		}
		if err := runTaskRound(round, r.Tasks, c.timing); err != nil {
			return err
		}
		// Last: of its hundred thousand goroutines the runtime keeps what every collection from then on looks at.
		if err := runCancelRound(r.Cancel, c.limit); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "round %d of %d: %v\n", round+1, c.rounds, time.Since(start).Round(time.Millisecond))
	}
	if r.Memory, err = runMemory(c.only.MatchString, c.limit); err != nil {
		return err
	}
	if r.TaskMemory, err = runTaskMemory(c.only.MatchString, c.limit, c.smoke); err != nil {
		return err
	}
	if len(r.Cells)+len(r.Cancel)+len(r.Memory)+len(r.Locks)+len(r.Tasks)+len(r.TaskMemory)+len(r.Variants) == 0 {
		return fmt.Errorf("nothing matches -run %s", c.only)
	}
	raw, err := r.json()
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, r.text())
	return errors.Join(err, write(c.markdown, r.markdown()), write(c.json, raw))
}

// write makes the file, unless its name is empty.
func write(name, content string) error {
	if name == "" {
		return nil
	}
	return os.WriteFile(name, []byte(content), 0o644)
}
