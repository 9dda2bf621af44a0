package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A report counts results.
type report struct {
	results []*result
	stale   []string
}

func (r *report) add(res *result) { r.results = append(r.results, res) }

// ok reports whether everything is as it should be.
func (r *report) ok() bool {
	return len(r.stale) == 0 && !slices.ContainsFunc(r.results, func(res *result) bool {
		return res.status() == "SURVIVED" || res.wronglyListed()
	})
}

func (r *result) wronglyListed() bool { return r.listed && r.outcome != survived }

// counts is one row of the table.
type counts struct{ mutants, killed, broken, equivalent, survived int }

func (c *counts) add(res *result) {
	c.mutants++
	switch {
	case res.outcome == broken:
		c.broken++
	case res.outcome != survived:
		c.killed++
	case res.listed:
		c.equivalent++
	default:
		c.survived++
	}
}

func (r *report) markdown() string {
	var b strings.Builder
	r.table(&b)
	r.killers(&b)
	slices.SortFunc(r.results, func(a, b *result) int { return strings.Compare(a.mutant.id, b.mutant.id) })
	for _, res := range r.results {
		if res.status() == "SURVIVED" {
			before, after := res.mutant.diff()
			fmt.Fprintf(&b, "\nSurvived: `%s`, line %d\n\n```diff\n", res.mutant.id, res.mutant.line)
			for _, line := range before {
				fmt.Fprintf(&b, "-%s\n", line)
			}
			for _, line := range after {
				fmt.Fprintf(&b, "+%s\n", line)
			}
			b.WriteString("```\n")
		}
	}
	for _, res := range r.results {
		if res.wronglyListed() {
			fmt.Fprintf(&b, "\nListed as equivalent, but %s: `%s`\n", res.status(), res.mutant.id)
		}
	}
	slices.Sort(r.stale)
	for _, id := range r.stale {
		fmt.Fprintf(&b, "\nListed as equivalent, but does not exist any more: `%s`\n", id)
	}
	return b.String()
}

func (r *report) table(b *strings.Builder) {
	type key struct{ file, op string }
	rows, total := map[key]*counts{}, &counts{}
	width := len("file")
	var keys []key
	for _, res := range r.results {
		k := key{res.mutant.file.name, res.mutant.operator()}
		if rows[k] == nil {
			rows[k] = &counts{}
			keys = append(keys, k)
		}
		rows[k].add(res)
		total.add(res)
		width = max(width, len(k.file))
	}
	slices.SortFunc(keys, func(a, b key) int { return strings.Compare(a.file+":"+a.op, b.file+":"+b.op) })
	fmt.Fprintf(b, "| %-*s | operator   | mutants | killed | did not compile | equivalent | survived |\n",
		width, "file")
	fmt.Fprintf(b, "|%s|------------|--------:|-------:|----------------:|-----------:|---------:|\n",
		strings.Repeat("-", width+2))
	row := func(k key, c *counts) {
		fmt.Fprintf(b, "| %-*s | %-10s | %7d | %6d | %15d | %10d | %8d |\n",
			width, k.file, k.op, c.mutants, c.killed, c.broken, c.equivalent, c.survived)
	}
	for _, k := range keys {
		row(k, rows[k])
	}
	row(key{"all", ""}, total)
}

// killers lists how many mutants each command killed.
func (r *report) killers(b *strings.Builder) {
	by, timeouts := map[string]int{}, 0
	var elapsed time.Duration
	for _, res := range r.results {
		elapsed += res.elapsed
		switch res.outcome {
		case killed:
			by[res.command]++
		case timedOut:
			timeouts++
		}
	}
	b.WriteString("\n")
	for _, test := range slices.Sorted(maps.Keys(by)) {
		fmt.Fprintf(b, "- killed by `go test %s`: %d\n", test, by[test])
	}
	fmt.Fprintf(b, "- killed by a timeout: %d\n", timeouts)
	fmt.Fprintf(b, "- time of all runs together: %s\n", elapsed.Round(time.Second))
}
