// Command plane measures locks where programs use them: with work inside of the lock and outside,
// with few and many goroutines, and beside others that keep the processors busy.
//
//	go -C bench run ./plane [-rounds 5] [-window 40ms] [-procs 2] [-run REGEXP] [-quick] \
//		[-md FILE] [-svg FILE]
//	go -C bench run ./plane -waits 10s [-procs 2] [-run REGEXP] [-md FILE]
//
// It prints a table of quotients: time per operation ÷ that of the base in the same rounds,
// medians. With -svg it draws the same as a map, one colour a cell. All locks of a cell are
// measured in each round, one after the other, in an order that changes from round to round.
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
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"time"
)

type config struct {
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
	rounds := flags.Int("rounds", 5, "how often everything is measured")
	window := flags.Duration("window", 40*time.Millisecond, "length of one measurement")
	procs := flags.Int("procs", runtime.GOMAXPROCS(0), "GOMAXPROCS")
	only := flags.String("run", "", "regular expression over the names of cells")
	quick := flags.Bool("quick", false, "8 goroutines, and no others that keep processors busy")
	long := flags.Duration("waits", 0, "look at each wait, for so long in each cell of one permit")
	md := flags.String("md", "", "file for the table")
	svg := flags.String("svg", "", "file for the map")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(*procs))
	c := config{*rounds, *window, pattern, *quick}
	var text bytes.Buffer
	fmt.Fprintf(&text, "GOMAXPROCS %d, %s. ", *procs, runtime.Version())
	var results []result
	if *long > 0 {
		watchAll(c, *long, &text, progress)
	} else {
		results = measureAll(c, progress)
		fmt.Fprintf(&text, "%d rounds of %v.\n", *rounds, *window)
		for _, r := range results {
			writeTable(&text, r)
		}
	}
	if _, err := out.Write(text.Bytes()); err != nil {
		return err
	}
	if *md != "" {
		if err := os.WriteFile(*md, text.Bytes(), 0o600); err != nil {
			return err
		}
	}
	if *svg == "" {
		return nil
	}
	return os.WriteFile(*svg, draw(results), 0o600)
}

// measureAll measures the cells that are asked for, and leaves out planes without one.
func measureAll(c config, progress io.Writer) (results []result) {
	for _, p := range planes {
		r := result{plane: p}
		for _, at := range p.cells() {
			if c.quick && (at.goroutines != 8 || at.busy > 0) || !c.only.MatchString(p.name+"/"+at.String()) {
				continue
			}
			samples := make([][]sample, len(p.peers))
			for round := range c.rounds {
				for i := range p.peers {
					k := (i + round) % len(p.peers)
					samples[k] = append(samples[k], measure(p.peers[k].create(at), at, c.window))
				}
			}
			r.cells = append(r.cells, at)
			r.samples = append(r.samples, samples)
			fmt.Fprintf(progress, "%s/%v: %.0f ns\n", p.name, at, median(samples[0], time1))
		}
		if len(r.cells) > 0 {
			results = append(results, r)
		}
	}
	return results
}

// A result has the samples of a plane, by cell, peer and round.
type result struct {
	plane
	cells   []cell
	samples [][][]sample
}

// ratio returns the time of a peer in a cell, divided by that of the base.
func (r result) ratio(at, peer int) float64 {
	return median(r.samples[at][peer], time1) / median(r.samples[at][0], time1)
}

// worst returns the cells of a peer with the largest ratio, beside others and not.
func (r result) worst(peer int, busy bool) (at int, ratio float64) {
	at = -1
	for i, c := range r.cells {
		if x := r.ratio(i, peer); c.busy > 0 == busy && x > ratio {
			at, ratio = i, x
		}
	}
	return at, ratio
}

func time1(s sample) float64 { return s.perOp }

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
