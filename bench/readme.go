package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
)

// What stands between the markers of a document is written by -readme.
const (
	readmeBegin = "<!-- bench:begin -->\n"
	readmeEnd   = "<!-- bench:end -->\n"
)

//go:embed readme.tmpl
var readmeSource string

// writeReadme puts the tables of readme.tmpl into a file, between the markers, and the plot that
// they show beside it. Each figure comes from the first of the runs that has it.
func writeReadme(file string, runs ...*report) error {
	tables, err := readmeTables(runs...)
	if err != nil {
		return fmt.Errorf("-readme: %w", err)
	}
	figure, err := readmePlot(runs...)
	if err != nil {
		return fmt.Errorf("-readme: %w", err)
	}
	plotFile := filepath.Join(filepath.Dir(file), filepath.FromSlash(readmePlotFile))
	return errors.Join(
		insert(file, readmeBegin, readmeEnd, tables),
		os.MkdirAll(filepath.Dir(plotFile), 0o755),
		write(plotFile, figure.svg()))
}

// readmeTables fails if one of its figures was not measured: tables are not to become shorter by a
// run of less.
func readmeTables(runs ...*report) (string, error) {
	if err := anyVoid(runs); err != nil {
		return "", err
	}
	t := template.Must(template.New("readme").Funcs(template.FuncMap{
		"ratio": func(name, peer string) (string, error) {
			for _, r := range runs {
				for _, l := range r.lines() {
					if vs := l.ratio(peer); l.name == name && len(vs) > 0 {
						return threeDigits(median(vs)), nil
					}
				}
			}
			return "", fmt.Errorf("%s was not measured beside %s", name, peer)
		},
		"lock": func(workload, impl, peer string) (string, error) {
			for _, r := range runs {
				if vs := ratios(r.lockColumn(workload, impl, lockNs), r.lockColumn(workload, peer, lockNs)); len(
					vs,
				) > 0 {
					return threeDigits(median(vs)), nil
				}
			}
			return "", fmt.Errorf("%s: %s was not measured beside %s", workload, impl, peer)
		},
		"longest": func(workload, impl string) (string, error) {
			for _, r := range runs {
				if ns, ok := r.median(workload, impl, lockLongest); ok {
					if ms := ns / 1e6; ms < 1 {
						return fmt.Sprintf("%.1f ms", ms), nil
					}
					return fmt.Sprintf("%.0f ms", ns/1e6), nil
				}
			}
			return "", fmt.Errorf("%s of %s was not measured", workload, impl)
		},
		"memory": func(waiter, impl, peer, peerImpl string) (string, error) {
			for _, r := range runs {
				ours, theirs := r.taskMemory(waiter, impl), r.taskMemory(peer, peerImpl)
				if ours > 0 && theirs > 0 {
					return threeDigits(ours / theirs), nil
				}
			}
			return "", fmt.Errorf("the memory of a %s was not measured beside that of a %s", waiter, peer)
		},
	}).Parse(readmeSource))
	w := new(strings.Builder)
	err := t.Execute(w, nil)
	return w.String(), err
}

// taskMemory returns the bytes of one who waits, 0 if they were not measured.
func (r *report) taskMemory(waiter, impl string) float64 {
	for _, m := range r.TaskMemory {
		if m.Waiter == waiter && m.Impl == impl {
			return m.Bytes
		}
	}
	return 0
}

// threeDigits formats a quotient with two digits, or with three around 1.
func threeDigits(v float64) string {
	decimals := 2
	switch {
	case v >= 9.95:
		decimals = 0
	case v >= 1.995:
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}
