package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/farad-go/farad/internal/exchange"
	"github.com/farad-go/farad/tools/dropin/gotest"
	"github.com/farad-go/farad/tools/internal/repo"
)

// observe runs the tests of modules with both imports exchanged, without and with package
// observetest, and writes a table and what that has reported.
func observe(chosen []module, root string, out, progress io.Writer) error {
	var errs []error
	fmt.Fprintln(out, "| tests of | packages | reports | s | s, not observed | ratio |")
	fmt.Fprintln(out, "|---|--:|--:|--:|--:|--:|")
	for _, m := range chosen {
		errs = append(errs, m.observe(root, out, progress))
	}
	return errors.Join(errs...)
}

func (m module) observe(root string, out, progress io.Writer) (err error) {
	temp, err := tempFolder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	folder := filepath.Join(temp, "module")
	if err := m.make(folder, root); err != nil {
		return err
	}
	fmt.Fprintf(progress, "%s\n", m)
	both := exchange.Imports{}
	for _, x := range swaps {
		maps.Copy(both, x.imports)
	}
	plain, _, err := overlay(folder, filepath.Join(temp, "plain"), both)
	if err != nil {
		return err
	}
	without, err := m.test(folder, plain, m.packages)
	if err != nil {
		return err
	}
	files := filepath.Join(temp, "observed")
	if err := os.Mkdir(files, 0o755); err != nil {
		return err
	}
	o, err := both.Files(folder, files)
	if err != nil {
		return err
	}
	left, err := o.Observe(folder, files, repo.Module+"/observe/observetest")
	for _, name := range left {
		fmt.Fprintf(progress, "  not observed, for its TestMain: %s\n", name)
	}
	name := filepath.Join(files, "overlay.json")
	if err = errors.Join(err, o.Write(name)); err != nil {
		return err
	}
	with, err := m.test(folder, name, m.packages)
	if err != nil {
		return err
	}
	reports := reportsOf(with)
	fmt.Fprintf(out, "| %s | %d | %d | %.0f | %.0f | %.2f |\n", m, with.Packages, len(reports), with.Seconds,
		without.Seconds, with.Seconds/without.Seconds)
	for _, k := range slices.Sorted(maps.Keys(with.Failed)) {
		if f := with.Failed[k]; without.Failed[k].Test == "" && !title.MatchString(f.Reason) {
			fmt.Fprintf(progress, "  fails: %s: %s\n", k, f.Reason)
		}
	}
	for _, r := range reports {
		fmt.Fprintln(progress, r)
	}
	return nil
}

// title is the first line of a report, and last stands before the last.
var title = regexp.MustCompile(`^\S+:\d+: (lock order inversion: |deadlock: |leak: |still held at )`)

const last = "If this is right"

// reportsOf returns the reports of observetest among what tests have printed.
func reportsOf(r gotest.Result) (all []string) {
	for _, pkg := range slices.Sorted(maps.Keys(r.Output)) {
		var report *strings.Builder
		for _, line := range r.Output[pkg] {
			switch text := strings.TrimLeft(line, " "); {
			case title.MatchString(text):
				report = new(strings.Builder)
				fmt.Fprintf(report, "  %s: %s", pkg, text)
			case report != nil && strings.Contains(line, last):
				all = append(all, report.String())
				report = nil
			case report != nil:
				report.WriteString("  " + line)
			}
		}
	}
	return all
}
