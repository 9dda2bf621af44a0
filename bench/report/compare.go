package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
)

// A finding is a figure of a run that can be compared with another run's: lower is better.
type finding struct {
	line, what string
	vs         []float64 // a round each
}

// findings returns farad's ratios, its allocations, and its bytes.
func (r *Report) findings() []finding {
	var all []finding
	for _, l := range r.Lines() {
		for _, im := range l.impls {
			if vs := l.Ratio(im); im != measure.NameFarad && len(vs) > 0 {
				all = append(all, finding{l.Name, "÷ " + im, vs})
			}
		}
		if vs := l.of[measure.NameFarad].allocs; len(vs) > 0 {
			all = append(all, finding{l.Name, string(table.Allocations), vs})
		}
	}
	memory := slices.Clone(r.Memory)
	for _, m := range r.TaskMemory {
		memory = append(memory, m.MemoryResult)
	}
	for _, m := range memory {
		if m.Impl == measure.NameFarad || m.Impl == peers.NameArray {
			all = append(all, finding{"memory/" + m.Waiter, m.Impl + ", bytes", []float64{m.Bytes}})
		}
	}
	return all
}

// A smaller move is not reported, even if it is beyond the spread: a part of the former figure, and
// an amount for figures near zero.
const (
	leastPart = 0.05
	leastMove = 0.01
)

// moved reports whether what is now is beyond the spread of both runs: whether no round of the one
// came out as any of the other did. If nothing has changed that happens with five rounds each to
// one figure in 126, and with three to one in ten.
func moved(was, is []float64) bool {
	if slices.Max(was) >= slices.Min(is) && slices.Max(is) >= slices.Min(was) {
		return false
	}
	return math.Abs(measure.Median(is)-measure.Median(was)) > max(leastPart*measure.Median(was), leastMove)
}

// A Comparison is what two runs both have found out.
type Comparison struct {
	was, is *Report
	both    int
	table   *table.Table
	Moves   []string
}

const compareNote = "Ratios are farad's time divided by the peer's: medians over the rounds, and their range. Better" +
	" and worse is what has moved by more than the spread: no round of the one run came out as any of" +
	" the other."

// Compared returns how is differs from was.
func Compared(was, is *Report) *Comparison {
	c := &Comparison{was: was, is: is, table: &table.Table{
		Title: "Beside the run before", Note: compareNote,
		Head: []string{"workload", "what", "moved", "was", "is", "is ÷ was"}, Left: 3,
	}}
	before := was.findings()
	for _, now := range is.findings() {
		i := slices.IndexFunc(before, func(f finding) bool { return f.line == now.line && f.what == now.what })
		if i < 0 {
			continue
		}
		c.both++
		then, verdict, part := before[i], "", ""
		if a, b := measure.Median(then.vs), measure.Median(now.vs); a > 0 {
			part = fmt.Sprintf("%.2f", b/a)
		}
		if moved(then.vs, now.vs) {
			if verdict = "better"; measure.Median(now.vs) > measure.Median(then.vs) {
				verdict = "worse"
			}
			c.Moves = append(
				c.Moves,
				fmt.Sprintf("%-6s  %s %s: %.2f, was %.2f", verdict, now.line, now.what,
					measure.Median(now.vs), measure.Median(then.vs)),
			)
		}
		c.table.Add(now.line, now.what, verdict, measure.MedianAndSpread(then.vs),
			measure.MedianAndSpread(now.vs), part)
	}
	return c
}

// Text lists everything, and what moved once more at the end.
func (c *Comparison) Text() string {
	w := new(strings.Builder)
	c.table.WriteText(w)
	fmt.Fprintf(w, "\n%s\n", c.Summary())
	for _, m := range c.Moves {
		fmt.Fprintf(w, "  %s\n", m)
	}
	return w.String()
}

// Summary describes how much moved, and what has changed in the machine.
func (c *Comparison) Summary() string {
	words := []string{
		fmt.Sprintf("%d of %d have moved since %s (%s)", len(c.Moves), c.both,
			c.was.Machine.Date.Format("2006-01-02"), c.was.Machine.Commit),
	}
	was, is := c.was.Machine, c.is.Machine
	for _, d := range []struct{ what, was, is string }{
		{"CPU", was.CPU, is.CPU},
		{"GOMAXPROCS", fmt.Sprint(was.GOMAXPROCS), fmt.Sprint(is.GOMAXPROCS)},
		{"system", was.System, is.System},
		{"Go", was.Go, is.Go},
		{"window", c.was.Window, c.is.Window},
	} {
		if d.was != d.is {
			words = append(words, fmt.Sprintf("another %s: %s, was %s", d.what, d.is, d.was))
		}
	}
	return strings.Join(words, "; ")
}
