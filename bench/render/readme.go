package render

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"text/template"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/report"
	"github.com/farad-go/farad/bench/waiters"
)

// What stands between the markers of a document is written by -readme.
const (
	readmeBegin = "<!-- bench:begin -->\n"
	readmeEnd   = "<!-- bench:end -->\n"
)

//go:embed readme.tmpl
var readmeSource string

// WriteReadme puts the table of readme.tmpl into a file, between the markers. Each figure comes
// from the first of the runs that has it.
func WriteReadme(file string, runs ...*report.Report) error {
	table, err := readmeTable(runs...)
	if err != nil {
		return fmt.Errorf("-readme: %w", err)
	}
	return report.Insert(file, readmeBegin, readmeEnd, table)
}

// readmeTable fails if one of its figures was not measured: a run of less does not make the table
// shorter.
func readmeTable(runs ...*report.Report) (string, error) {
	if err := report.AnyVoid(runs); err != nil {
		return "", err
	}
	t := template.Must(template.New("readme").Funcs(template.FuncMap{
		"ratio": func(name, peer string) (string, error) {
			for _, r := range runs {
				for _, l := range r.Lines() {
					if vs := l.Ratio(peer); l.Name == name && len(vs) > 0 {
						return threeDigits(measure.Median(vs)), nil
					}
				}
			}
			return "", fmt.Errorf("%s was not measured beside %s", name, peer)
		},
		"memory": func(waiter, impl, peer, peerImpl string) (string, error) {
			for _, r := range runs {
				ours := waiters.TaskBytesOf(r.TaskMemory, waiter, impl)
				theirs := waiters.TaskBytesOf(r.TaskMemory, peer, peerImpl)
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
