package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/farad-go/farad/tools/dropin/subject"
)

// A suite is the benchmarks of a package.
type suite struct{ pkg, pattern string }

// A race is how benchmarks run.
type race struct {
	rounds int           // original and ours in turns
	each   time.Duration // how long a benchmark runs in a round
	procs  string        // values of GOMAXPROCS, as -test.cpu takes them
}

// A speed is a benchmark's, with both imports.
type speed struct {
	name           string // with the number of processors
	original, ours []float64
}

// ratio is ours divided by the original's: medians of the rounds.
func (s speed) ratio() float64 { return median(s.ours) / median(s.original) }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// compare runs the benchmarks of the modules that have some with package sync and with ours, and
// writes a table.
func compare(chosen []module, root string, r race, out, progress io.Writer) error {
	var errs []error
	var all []float64
	var slow strings.Builder
	fmt.Fprintln(out, "| benchmarks of | number | ours ÷ original, mean | above 1.1 | worst |")
	fmt.Fprintln(out, "|---|--:|--:|--:|---|")
	for _, m := range chosen {
		if len(m.suites) == 0 {
			continue
		}
		fmt.Fprintf(progress, "%s\n", m)
		speeds, err := m.race(root, r, progress)
		errs = append(errs, err)
		if len(speeds) == 0 {
			continue
		}
		slices.SortStableFunc(speeds, func(a, b speed) int { return int(math.Copysign(1, b.ratio()-a.ratio())) })
		var ratios []float64
		above := 0
		for _, s := range speeds {
			ratios = append(ratios, s.ratio())
			if s.ratio() > 1.1 {
				above++
				fmt.Fprintf(&slow, "- %s: %s: %.2f: %.3g ns, not %.3g\n",
					m, s.name, s.ratio(), median(s.ours), median(s.original))
			}
		}
		all = append(all, ratios...)
		fmt.Fprintf(out, "| %s | %d | %.2f | %d | %.2f: %s |\n", m, len(speeds), geometricMean(ratios), above,
			ratios[0], speeds[0].name)
	}
	if len(all) > 0 {
		fmt.Fprintf(out, "| all | %d | %.2f | | |\n\n%s", len(all), geometricMean(all), slow.String())
	}
	return errors.Join(errs...)
}

func geometricMean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}

// race runs the benchmarks of a module in a temporary folder.
func (m module) race(root string, r race, progress io.Writer) (speeds []speed, err error) {
	temp, err := tempFolder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	folder := filepath.Join(temp, "module")
	if err := m.make(folder, root); err != nil {
		return nil, err
	}
	return m.raceIn(folder, temp, r, progress)
}

// raceIn runs the benchmarks of the module in a folder, and writes programs into another one.
func (m module) raceIn(folder, temp string, r race, progress io.Writer) (speeds []speed, err error) {
	overlay, n, err := overlay(folder, filepath.Join(temp, "sync"), swaps[0].imports)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("%s does not import sync", m)
	}
	for i, s := range m.suites {
		programs := []string{
			filepath.Join(temp, fmt.Sprintf("original%d.test", i)),
			filepath.Join(temp, fmt.Sprintf("ours%d.test", i)),
		}
		for k, args := range [][]string{nil, {"-overlay=" + filepath.ToSlash(overlay)}} {
			args = append([]string{"test", "-c", "-vet=off", "-o", programs[k]}, args...)
			if _, err := subject.Run(folder, "go", append(args, s.pkg)...); err != nil {
				return speeds, err
			}
		}
		for round := range r.rounds {
			fmt.Fprintf(progress, "  %s, round %d of %d\n", s.pkg, round+1, r.rounds)
			for k := range programs {
				k = (k + round) % len(programs)
				text, err := subject.Run(filepath.Join(folder, filepath.FromSlash(s.pkg)), programs[k], "-test.run=^$",
					"-test.bench="+s.pattern, "-test.benchtime="+r.each.String(), "-test.cpu="+r.procs)
				if err != nil {
					return speeds, err
				}
				speeds = add(speeds, text, k == 1)
			}
		}
	}
	return slices.DeleteFunc(speeds, func(s speed) bool { return len(s.original) == 0 || len(s.ours) == 0 }), nil
}

// add adds what a program has printed.
func add(speeds []speed, text []byte, ours bool) []speed {
	lines := benchfmt.NewReader(bytes.NewReader(text), "")
	for lines.Scan() {
		r, ok := lines.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		seconds, ok := r.Value("sec/op")
		if !ok || seconds <= 0 {
			continue
		}
		name := r.Name.String()
		i := slices.IndexFunc(speeds, func(s speed) bool { return s.name == name })
		if i < 0 {
			i, speeds = len(speeds), append(speeds, speed{name: name})
		}
		if ns := seconds * 1e9; ours {
			speeds[i].ours = append(speeds[i].ours, ns)
		} else {
			speeds[i].original = append(speeds[i].original, ns)
		}
	}
	return speeds
}
