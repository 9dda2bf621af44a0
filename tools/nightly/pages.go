package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A row of docs/nightly.md is the last run of a step. Steps that were never run share a line of a
// second table with their group. The page has the names of steps without that of their group.
type row struct {
	outcome   string // passed, **failed** or not run
	cpu, date string // the seconds of the processors, and the day
	hash      string // of what the step read
}

const (
	passed = "passed"
	failed = "**failed**"
	notRun = "not run"

	notExplored = "never explored" // the head of the second table of docs/design/scenarios.md
)

// counts are a row of docs/design/scenarios.md: how much of a package was explored. All packages
// that were never explored share a line of a second table.
type counts struct {
	searches, every, bounded, sampled, executions int
	hash                                          string // "" if the package was never explored
}

type pages struct {
	rows      map[string]row    // by key of the step
	scenarios map[string]counts // by folder
}

// between stands between the names of a line.
const between = "; "

// key is a step's name, which begins with that of its group.
func key(group, name string) string { return group + ": " + short(group, name) }

func (s *step) key() string { return key(s.group, s.name) }

// short returns the name of a step without that of its group.
func short(group, name string) string { return strings.TrimPrefix(name, group+": ") }

// cells returns the cells of a row of a table, and none for another line.
func cells(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "| ") {
		return nil
	}
	all := strings.Split(strings.Trim(line, "|"), "|")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

func readPages(root string) (*pages, error) {
	p := &pages{rows: map[string]row{}, scenarios: map[string]counts{}}
	text, err := os.ReadFile(filepath.Join(root, nightlyPage))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		switch c := cells(line); {
		case len(c) == 6 && c[0] != "group":
			p.rows[key(c[0], c[1])] = row{c[2], c[3], c[4], c[5]}
		case len(c) == 2 && c[0] != "group":
			for name := range strings.SplitSeq(c[1], between) {
				p.rows[key(c[0], name)] = row{outcome: notRun}
			}
		}
	}
	if text, err = os.ReadFile(filepath.Join(root, scenariosPage)); err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		c := cells(line)
		if len(c) == 1 && c[0] != notExplored {
			for name := range strings.SplitSeq(c[0], between) {
				p.scenarios[name] = counts{}
			}
		}
		if len(c) != 7 || c[0] == "package" || strings.HasPrefix(c[0], "**") {
			continue
		}
		var n [5]int
		for i := range n {
			if n[i], err = strconv.Atoi(c[i+1]); err != nil {
				return nil, fmt.Errorf("%s: %w", scenariosPage, err)
			}
		}
		p.scenarios[c[0]] = counts{n[0], n[1], n[2], n[3], n[4], c[6]}
	}
	return p, nil
}

// faults returns the steps that have no row, and the rows that have no step.
func (p *pages) faults(steps []*step) (faults []string) {
	known := map[string]bool{}
	for _, s := range steps {
		known[s.key()] = true
		if _, ok := p.rows[s.key()]; !ok {
			faults = append(faults, fmt.Sprintf("%s has no row for %q of the group %s", nightlyPage, s.name, s.group))
		}
		if s.scenarios != "" {
			known[s.scenarios] = true
			if _, ok := p.scenarios[s.scenarios]; !ok {
				faults = append(faults, fmt.Sprintf("%s has no row for %s", scenariosPage, s.scenarios))
			}
		}
	}
	for name := range p.rows {
		if !known[name] {
			faults = append(faults, fmt.Sprintf("%s has a row for %q, which is no step", nightlyPage, name))
		}
	}
	for name := range p.scenarios {
		if !known[name] {
			faults = append(faults, fmt.Sprintf("%s has a row for %s, which is not explored", scenariosPage, name))
		}
	}
	slices.Sort(faults)
	if len(faults) > 0 {
		faults = append(faults, "make rows adds and removes rows; it runs nothing")
	}
	return faults
}

// staleRow returns why the row of a step is not of this tree, or "" if it is.
func (p *pages) staleRow(s *step) string {
	switch r := p.rows[s.key()]; {
	case r.outcome != passed:
		return cmp.Or(r.outcome, notRun)
	case r.hash != s.hash:
		return "what it reads has changed since " + r.date
	case s.scenarios != "" && p.scenarios[s.scenarios].hash != s.hash:
		return "its scenarios are those of another run"
	}
	return ""
}

func (p *pages) stale(steps []*step) (faults []string) {
	for _, s := range steps {
		if why := p.staleRow(s); why != "" {
			faults = append(faults, fmt.Sprintf("stale: %s: %s", s.name, why))
		}
	}
	return faults
}

// merge adds outcomes. Each is a line with tabs between the name of the step, its exit code, the
// seconds of the processors, the date, the hash of what the step read and the file with a line for
// each of its searches, or "-".
func (p *pages) merge(steps []*step, outcomes string) error {
	byName := map[string]*step{}
	for _, s := range steps {
		byName[s.name] = s
	}
	for line := range strings.Lines(outcomes) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 6 {
			return fmt.Errorf("not an outcome: %q", line)
		}
		s := byName[f[0]]
		if s == nil {
			return fmt.Errorf("no step has the name %q", f[0])
		}
		r := row{passed, f[2], f[3], f[4]}
		if f[1] != "0" {
			r.outcome = failed
		}
		p.rows[s.key()] = r
		if s.scenarios == "" || r.outcome == failed {
			continue
		}
		n, err := count(f[5])
		if err != nil {
			return err
		}
		n.hash = r.hash
		p.scenarios[s.scenarios] = n
	}
	return nil
}

// count adds up what internal/interleave wrote to a file about its searches.
func count(file string) (n counts, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return n, err
	}
	for line := range strings.Lines(string(text)) {
		c := cells(line)
		if len(c) < 7 {
			return n, fmt.Errorf("%s: not a search: %q", file, line)
		}
		executions, err := strconv.Atoi(c[6])
		if err != nil {
			return n, fmt.Errorf("%s: %w", file, err)
		}
		n.searches++
		n.executions += executions
		switch search := c[2]; {
		case strings.HasPrefix(search, "unbounded"):
			n.every++
		case strings.Contains(search, "preemptions"):
			n.bounded++
		default:
			n.sampled++
		}
	}
	if n.searches == 0 {
		return n, errors.New(file + ": nothing was explored")
	}
	return n, nil
}

// write writes both pages, with a row for each step in the order of the steps, and a line for the
// steps of each group that were never run.
func (p *pages) write(root string, steps []*step) error {
	var b, scenarios strings.Builder
	var groups, unexplored []string // of the steps that were never run
	unrun := map[string][]string{}  // by group
	b.WriteString(`# The nightly checks

The last run of each step of ` + "`bash .ci/run nightly`" + `. The last column is a hash of what the step
read: its packages, what they import, their tests, and its definition in ` + "`.ci/run`" + `. ` + "`make stale`" + `
lists the rows whose hash is not that of the tree, and ` + "`make nightly`" + ` runs their steps.
[CONTRIBUTING.md](../CONTRIBUTING.md#the-nightly-checks) says when they must be fresh.

| group | step | outcome | CPU seconds | date | read |
|---|---|---|--:|---|---|
`)
	scenarios.WriteString(`# What was explored

The searches of the last complete run of each package. ` + "`bash .ci/run interleave`" + ` prints a line for
each search. [verification.md](verification.md) explains the words, and [nightly.md](../nightly.md)
the last column.

| package | searches | every trace | bounded | sampled | executions | read |
|---|--:|--:|--:|--:|--:|---|
`)
	var sum counts
	for _, s := range steps {
		if r := p.rows[s.key()]; r.outcome == passed || r.outcome == failed {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n",
				s.group, short(s.group, s.name), r.outcome, r.cpu, r.date, r.hash)
		} else {
			if unrun[s.group] == nil {
				groups = append(groups, s.group)
			}
			unrun[s.group] = append(unrun[s.group], short(s.group, s.name))
		}
		if s.scenarios == "" {
			continue
		}
		n := p.scenarios[s.scenarios]
		if n.hash == "" {
			unexplored = append(unexplored, s.scenarios)
			continue
		}
		fmt.Fprintf(&scenarios, "| %s | %d | %d | %d | %d | %d | %s |\n",
			s.scenarios, n.searches, n.every, n.bounded, n.sampled, n.executions, n.hash)
		sum.searches += n.searches
		sum.every += n.every
		sum.bounded += n.bounded
		sum.sampled += n.sampled
		sum.executions += n.executions
	}
	fmt.Fprintf(&scenarios, "| **all** | %d | %d | %d | %d | %d | |\n",
		sum.searches, sum.every, sum.bounded, sum.sampled, sum.executions)
	if len(groups) > 0 {
		b.WriteString("\n| group | steps that were never run |\n|---|---|\n")
	}
	for _, group := range groups {
		fmt.Fprintf(&b, "| %s | %s |\n", group, strings.Join(unrun[group], between))
	}
	if len(unexplored) > 0 {
		fmt.Fprintf(&scenarios, "\n| %s |\n|---|\n| %s |\n", notExplored, strings.Join(unexplored, between))
	}
	for name, text := range map[string]string{nightlyPage: b.String(), scenariosPage: scenarios.String()} {
		file := filepath.Join(root, filepath.FromSlash(name))
		// A run that is stopped leaves the page whole.
		temporary := filepath.Join(filepath.Dir(file), "."+filepath.Base(file))
		if err := os.WriteFile(temporary, []byte(text), 0o644); err != nil {
			return err
		}
		if err := os.Rename(temporary, file); err != nil {
			return err
		}
	}
	return nil
}
