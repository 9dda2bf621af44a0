package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/farad-go/farad/internal/exchange"
	"github.com/farad-go/farad/tools/dropin/gotest"
	"github.com/farad-go/farad/tools/dropin/subject"
)

// A trial is one exchange in one module.
type trial struct {
	module   module
	exchange string // its name
	original gotest.Result
	ours     gotest.Result // of the first run
	failures []failure     // of ours, in the order of their keys
}

// A failure is what failed with ours in the first run.
type failure struct {
	gotest.Failure
	runs, ours, original int // how often it ran either way, and failed
}

// counts reports whether the exchange is to blame.
func (f failure) counts() bool {
	return (f.Hung || 2*f.ours > f.runs) && 2*f.original < f.runs
}

// rerun is how often a failed test runs again.
const rerun = 2

// try makes all exchanges in a module that change something.
func try(m module, root string, progress io.Writer) (trials []trial, err error) {
	temp, err := tempFolder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	folder := filepath.Join(temp, "module")
	if err := m.make(folder, root); err != nil {
		return nil, err
	}
	return m.trials(folder, temp, progress)
}

// tempFolder makes a folder. The go command knows it by its own name, as the overlay must, too.
func tempFolder() (string, error) {
	temp, err := os.MkdirTemp("", "farad-dropin-")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(temp)
}

// trials makes the exchanges in the module in a folder, and writes their overlays into another one.
func (m module) trials(folder, overlays string, progress io.Writer) (trials []trial, err error) {
	fmt.Fprintf(progress, "%s\n", m)
	original, err := m.test(folder, "", m.packages)
	if err != nil {
		return nil, err
	}
	for _, x := range swaps {
		overlay, n, err := overlay(folder, filepath.Join(overlays, x.name), x.imports)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			continue
		}
		fmt.Fprintf(progress, "  %s in %d files\n", x.name, n)
		t := trial{module: m, exchange: x.name, original: original}
		if err := t.run(folder, overlay, progress); err != nil {
			return nil, err
		}
		fmt.Fprintf(progress, "  %s\n", t.result())
		trials = append(trials, t)
	}
	return trials, nil
}

// overlay writes the exchanged files and the overlay itself into a new folder. It returns the
// overlay's name and how many files there are.
func overlay(module, folder string, x exchange.Imports) (name string, n int, err error) {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return "", 0, err
	}
	o, err := x.Files(module, folder)
	if err != nil {
		return "", 0, err
	}
	name = filepath.Join(folder, "overlay.json")
	return name, len(o), o.Write(name)
}

// test runs the tests of some packages.
func (m module) test(folder, overlay string, packages []string) (gotest.Result, error) {
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	return gotest.Run(folder, subject.Env(), append(m.arguments(overlay), packages...)...)
}

// run runs the tests with ours, and again what failed.
func (t *trial) run(folder, overlay string, progress io.Writer) (err error) {
	t.ours, err = t.module.test(folder, overlay, t.module.packages)
	if err != nil {
		return err
	}
	for _, k := range slices.Sorted(maps.Keys(t.ours.Failed)) {
		f := failure{Failure: t.ours.Failed[k], runs: 1, ours: 1}
		if _, ok := t.original.Failed[k]; ok {
			f.original = 1
		}
		t.failures = append(t.failures, f)
	}
	packages := t.again()
	for range rerun {
		if len(packages) == 0 {
			break
		}
		fmt.Fprintf(progress, "  again, what failed: %q\n", packages)
		original, err := t.module.test(folder, "", packages)
		if err != nil {
			return err
		}
		ours, err := t.module.test(folder, overlay, packages)
		if err != nil {
			return err
		}
		for i := range t.failures {
			t.failures[i].add(original, ours, packages)
		}
	}
	return nil
}

// again returns the packages in which something failed with ours alone that may be chance.
func (t *trial) again() (packages []string) {
	for _, f := range t.failures {
		if f.original == 0 && f.Test != gotest.Build && !f.Hung {
			packages = append(packages, f.Package)
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

// add adds another run of some packages both ways.
func (f *failure) add(original, ours gotest.Result, packages []string) {
	if !slices.Contains(packages, f.Package) {
		return
	}
	f.runs++
	if _, ok := original.Failed[f.Key()]; ok {
		f.original++
	}
	if again, ok := ours.Failed[f.Key()]; ok {
		f.ours++
		f.Hung = f.Hung || again.Hung
	}
}
