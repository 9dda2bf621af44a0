// Command simulate runs the locks of this module, as they are shipped, and those that the papers
// compare them with, on 1 to 256 simulated cores; or, without the tag interleave, on the cores that
// there are:
//
//	go -C bench run -tags interleave,simulate ./simulate [-cores 1,2,4] [-hold 20] \
//		[-outside 200] [-lasts 1000000] [-socket 32] [-csv] [lock ...]
//	go -C bench run ./simulate -cores 1,2
//
// The tag simulate gives tables and express lanes the size that they have without the explorer.
// docs/design/simulator.md describes what is simulated, and what it costs.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/farad-go/farad/internal/interleave"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	m := interleave.Xeon()
	w := workload{}
	f := flag.NewFlagSet("simulate", flag.ContinueOnError)
	list := f.String("cores", "1,2,4,8,16,32,64", "how many cores, 256 at most")
	f.Int64Var(&w.hold, "hold", 20, "`ns` that the lock is held for, apart from an addition to a word that all share")
	f.Int64Var(&w.outside, "outside", 200, "`ns` between two times, on average")
	f.Int64Var(&w.lasts, "lasts", 1_000_000, "`ns` of virtual time, or of real time")
	f.IntVar(&m.Socket, "socket", m.Socket, "cores of a socket")
	f.Int64Var(&m.Wake, "wake", m.Wake, "`ns` from a wake until the sleeper runs")
	f.Int64Var(&m.Serve, "serve", m.Serve, "`ns` that a clean line is busy with one load")
	f.BoolVar(&m.Pinned, "pinned", false, "threads stay on their cores while others sleep")
	f.Uint64Var(&m.Seed, "seed", 1, "of the times outside")
	csv := f.Bool("csv", false, "print points instead of tables")
	if err := f.Parse(args); err != nil {
		return err
	}
	cores, err := numbers(*list)
	if err != nil {
		return err
	}
	var points []point
	for _, k := range kinds {
		if f.NArg() > 0 && !slices.Contains(f.Args(), k.name) {
			continue
		}
		for _, n := range cores {
			p, err := measure(m, w, k, n)
			if err != nil {
				return err
			}
			points = append(points, p)
		}
	}
	if *csv {
		return printPoints(out, points)
	}
	return printTables(out, cores, points)
}

func numbers(list string) (ns []int, err error) {
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 256 {
			return nil, fmt.Errorf("%q is no number of cores", s)
		}
		ns = append(ns, n)
	}
	return ns, nil
}

func printPoints(out io.Writer, points []point) error {
	_, err := fmt.Fprintln(out, "lock,cores,acquisitions/µs,fairness,transfers,of these far,sleeps")
	for _, p := range points {
		if err == nil {
			_, err = fmt.Fprintf(out, "%q,%d,%.3f,%.3f,%.2f,%.2f,%.3f\n", p.kind, p.cores, p.rate,
				p.fairness, p.transfers, p.far, p.sleeps)
		}
	}
	return err
}

// printTables prints a table for each figure, with a row for each lock.
func printTables(out io.Writer, cores []int, points []point) (err error) {
	say := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(out, format, args...)
		}
	}
	for _, t := range []struct {
		title, format string
		of            func(p point) float64
	}{
		{"acquisitions per µs", "%.2f", func(p point) float64 { return p.rate }},
		{"fairness: the core with fewest, to the one with most", "%.2f", func(p point) float64 { return p.fairness }},
		{"transfers per acquisition", "%.1f", func(p point) float64 { return p.transfers }},
		{"sleeps per acquisition", "%.2f", func(p point) float64 { return p.sleeps }},
	} {
		say("\n%s\n\n| cores |", t.title)
		for _, n := range cores {
			say(" %d |", n)
		}
		say("\n|---|%s\n", strings.Repeat("---:|", len(cores)))
		for i, p := range points {
			if i%len(cores) == 0 {
				say("| %s |", p.kind)
			}
			say(" "+t.format+" |", t.of(p))
			if i%len(cores) == len(cores)-1 {
				say("\n")
			}
		}
	}
	return err
}
