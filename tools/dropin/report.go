package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/farad-go/farad/tools/dropin/gotest"
)

// A report is what has become of some trials.
type report struct {
	trials    []trial
	explained map[string]string // reasons, by what failed
}

// text returns a table for each exchange, a list of what failed, and the problems.
func (r report) text() string {
	var b strings.Builder
	for _, x := range swaps {
		began := false
		for _, t := range r.trials {
			if t.exchange != x.name {
				continue
			}
			if !began {
				began = true
				fmt.Fprintf(&b, "### %s\n\n", x.name)
				b.WriteString("| tests of | packages | tests | result |\n")
				b.WriteString("|---|--:|--:|---|\n")
			}
			fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", t.module, t.original.Packages, t.tests(), t.result())
		}
		if began {
			b.WriteByte('\n')
		}
	}
	for _, t := range r.trials {
		for _, f := range t.failures {
			fmt.Fprintf(&b, "- %s: %s\n", t.exchange, f)
			if why, ok := r.explained[t.key(f)]; ok {
				fmt.Fprintf(&b, "  %s\n", why)
			}
		}
	}
	problems := r.problems()
	for _, p := range problems {
		fmt.Fprintf(&b, "\nPROBLEM: %s", p)
	}
	fmt.Fprintf(&b, "\n%d exchanges, %d problems\n", len(r.trials), len(problems))
	return b.String()
}

// problems returns what fails without an explanation, and what is explained but does not fail.
func (r report) problems() (problems []string) {
	failed := map[string]bool{}
	for _, t := range r.trials {
		for _, f := range t.failures {
			k := t.key(f)
			failed[k] = true
			if _, ok := r.explained[k]; !ok && f.counts() {
				problems = append(problems, fmt.Sprintf("%q fails, and is not explained in %s", k, listName))
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(r.explained)) {
		x, rest, _ := strings.Cut(k, " ")
		pkg, _, _ := strings.Cut(rest, " ")
		tried := slices.ContainsFunc(r.trials, func(t trial) bool { return t.exchange == x && t.module.has(pkg) })
		if tried && !failed[k] {
			problems = append(problems, fmt.Sprintf("%q is explained in %s, but does not fail", k, listName))
		}
	}
	return problems
}

// key names a failure in the list of those that are explained.
func (t trial) key(f failure) string { return t.exchange + " " + f.Key() }

// tests returns how many tests passed, and of how many if not of all that pass with the original.
func (t trial) tests() string {
	both := 0
	for k := range t.original.Passed {
		if t.ours.Passed[k] {
			both++
		}
	}
	if both == len(t.original.Passed) {
		return fmt.Sprint(both)
	}
	return fmt.Sprintf("%d of %d", both, len(t.original.Passed))
}

// result is the trial's in a few words.
func (t trial) result() string {
	var build, fails, both, chance int
	for _, f := range t.failures {
		switch {
		case !f.counts() && 2*f.original >= f.runs:
			both++
		case !f.counts():
			chance++
		case f.Test == gotest.Build:
			build++
		default:
			fails++
		}
	}
	var words []string
	add := func(n int, what string) {
		if n > 0 {
			words = append(words, strings.Replace(what, "#", fmt.Sprint(n), 1))
		}
	}
	add(build, "**# do not compile**")
	add(fails, "**# fail**")
	add(both, "# fail either way")
	add(chance, "# failed once")
	if build+fails == 0 {
		words = append([]string{"pass"}, words...)
	}
	return strings.Join(words, ", ")
}

func (f failure) String() string {
	s := fmt.Sprintf("`%s`, %d of %d", f.Key(), f.ours, f.runs)
	if f.original > 0 {
		s += fmt.Sprintf(" (original: %d)", f.original)
	}
	return s + ": " + f.Reason
}
