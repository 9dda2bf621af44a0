// Command plane measures locks where programs use them: with work inside of the lock and outside,
// with few and many goroutines, on idle processors and on busy ones.
//
//	go -C bench run ./plane [-rounds 5] [-window 40ms] [-procs 2] [-run REGEXP] [-quick] \
//		[-md FILE] [-svg FILE [-draw REGEXP]] [-json FILE] [-cpuprofile FILE]
//	go -C bench run ./plane [-md FILE] [-svg FILE [-draw REGEXP]] FILE
//	go -C bench run ./plane -waits 10s [-procs 2] [-run REGEXP] [-md FILE]
//
// It prints a table of quotients: time per operation ÷ that of the base in the same rounds,
// medians. With -svg it draws the same as a map, one colour a cell. With -json it keeps the
// samples, and with the name of such a file it measures nothing. All locks of a cell are measured
// in each round, one after the other, in an order that changes from round to round.
//
// With -cpuprofile it keeps what the processors did. The option -focus of go tool pprof selects a
// lock.
//
// With -waits it looks at each wait instead: how long a lock lies idle that somebody waits for, the
// longest wait, who came too late, and how evenly goroutines share in a short, a longer and the
// whole time.
//
// Read this file first, then locks.go for what is compared, run.go and waits.go for how, and map.go
// for the picture.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/farad-go/farad/bench/measure"
)

type config struct {
	procs  int
	rounds int
	window time.Duration
	only   *regexp.Regexp // names of cells, as "mutex/0-1000/8/busy-0"
	quick  bool           // only cells of 8 goroutines
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "plane:", err)
		os.Exit(1)
	}
}

func run(args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("plane", flag.ContinueOnError)
	flags.SetOutput(progress)
	var c config
	flags.IntVar(&c.rounds, "rounds", 5, "how often everything is measured")
	flags.DurationVar(&c.window, "window", 40*time.Millisecond, "length of one measurement")
	flags.IntVar(&c.procs, "procs", runtime.GOMAXPROCS(0), "GOMAXPROCS")
	only := flags.String("run", "", "regular expression over the names of cells")
	flags.BoolVar(&c.quick, "quick", false, "8 goroutines, and no others that keep processors busy")
	long := flags.Duration("waits", 0, "look at each wait, for so long in each cell of one permit")
	md := flags.String("md", "", "file for the table")
	svg := flags.String("svg", "", "file for the map")
	drawn := flags.String("draw", "", "regular expression over the locks in the map")
	kept := flags.String("json", "", "file for the samples")
	profiled := flags.String("cpuprofile", "", "file for a profile of the measurement")
	if err := flags.Parse(args); err != nil {
		return err
	}
	locks, err := regexp.Compile(*drawn)
	if err != nil {
		return err
	}
	if c.only, err = regexp.Compile(*only); err != nil {
		return err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.procs))
	var text bytes.Buffer
	var m measured
	switch {
	case *long > 0:
		watchAll(c, *long, &text, progress)
	case flags.NArg() > 0:
		if m, err = load(flags.Arg(0)); err != nil {
			return err
		}
	default:
		end, err := measure.Profile(*profiled)
		if err != nil {
			return err
		}
		m = measureAll(c, progress)
		if err := end(); err != nil {
			return err
		}
	}
	m.writeTables(&text)
	if _, err := out.Write(text.Bytes()); err != nil {
		return err
	}
	files := map[string][]byte{*md: text.Bytes(), *svg: draw(m.Planes, locks)}
	if files[*kept], err = json.Marshal(m); err != nil {
		return err
	}
	delete(files, "")
	for name, content := range files {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Measured is what one run has measured, as -json keeps it.
type measured struct {
	About  string
	Planes []result
}

// load reads what a run has kept.
func load(file string) (m measured, err error) {
	text, err := os.ReadFile(file) //nolint:gosec // the caller has named it
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(text, &m)
}

// measureAll measures the selected cells, and leaves out planes without one.
func measureAll(c config, progress io.Writer) (m measured) {
	m.About = fmt.Sprintf("%s; %d rounds of %v.", machine(), c.rounds, c.window)
	for _, p := range planes {
		r := result{Name: p.name}
		for _, peer := range p.peers {
			r.Peers = append(r.Peers, peer.name)
		}
		for _, at := range p.cells() {
			if c.skips(p, at) {
				continue
			}
			samples := make([][]sample, len(p.peers))
			for round := range c.rounds {
				for i := range p.peers {
					k := (i + round) % len(p.peers)
					samples[k] = append(samples[k], sampleOf(p.peers[k].create(at), at, c.window))
				}
			}
			r.Cells = append(r.Cells, at)
			r.Samples = append(r.Samples, samples)
			fmt.Fprintf(progress, "%s/%v: %.0f ns\n", p.name, at, median(samples[0], time1))
		}
		if len(r.Cells) > 0 {
			m.Planes = append(m.Planes, r)
		}
	}
	return m
}

// machine describes what this runs on.
func machine() string {
	m := measure.ThisMachine(nil)
	return fmt.Sprintf("%s, %d cores, GOMAXPROCS %d; %s; %s; commit %s; load %s",
		m.CPU, m.Cores, m.GOMAXPROCS, m.System, m.Go, m.Commit, m.Load)
}

// skips reports whether a cell is not selected.
func (c config) skips(p plane, at cell) bool {
	return c.quick && (at.Goroutines != 8 || at.Busy > 0) || !c.only.MatchString(p.name+"/"+at.String())
}

// A result has the samples of a plane, by cell, peer and round. The first peer is the base.
type result struct {
	Name    string
	Peers   []string
	Cells   []cell
	Samples [][][]sample
}

// ratio returns the time of a peer in a cell, divided by that of the base.
func (r result) ratio(at, peer int) float64 {
	return median(r.Samples[at][peer], time1) / median(r.Samples[at][0], time1)
}

// worst returns the cell of a peer with the largest ratio, on busy processors or on idle ones.
func (r result) worst(peer int, busy bool) (at int, ratio float64) {
	at = -1
	for i, c := range r.Cells {
		if x := r.ratio(i, peer); c.Busy > 0 == busy && x > ratio {
			at, ratio = i, x
		}
	}
	return at, ratio
}

func time1(s sample) float64 { return s.PerOp }

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
