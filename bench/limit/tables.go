package limit

import (
	"fmt"
	"strings"
	"time"

	"github.com/farad-go/farad/internal/limitsim"
)

// Tables returns the figures as tables of Markdown: a row for each world, a column for each
// contestant, medians over the seeds.
func Tables(worlds []*limitsim.World, matches [][]Match) string {
	var b strings.Builder
	table(&b, "Goodput, of what could have been answered in time", worlds, matches, func(m Match) string {
		return fmt.Sprintf("%.3f", m.median(func(r *limitsim.Result) float64 { return r.Goodput }))
	})
	table(&b, "Median/p99 of the latencies of admitted requests, in ms", worlds, matches, func(m Match) string {
		return millis(m.median(func(r *limitsim.Result) float64 { return float64(r.P50) })) + "/" +
			millis(m.median(func(r *limitsim.Result) float64 { return float64(r.P99) }))
	})
	steps(&b, worlds, matches)
	return b.String()
}

func millis(ns float64) string { return fmt.Sprintf("%.0f", ns/float64(time.Millisecond)) }

func table(b *strings.Builder, title string, worlds []*limitsim.World, matches [][]Match, cell func(Match) string) {
	header(b, title)
	for i, w := range worlds {
		row(b, w.Name, matches[i], cell)
	}
}

func header(b *strings.Builder, title string) {
	fmt.Fprintf(b, "\n%s:\n\n| world |", title)
	for _, c := range Contestants {
		fmt.Fprintf(b, " %s |", c.Name)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(Contestants)) + "\n")
}

func row(b *strings.Builder, name string, matches []Match, cell func(Match) string) {
	fmt.Fprintf(b, "| %s |", name)
	for _, m := range matches {
		fmt.Fprintf(b, " %s |", cell(m))
	}
	b.WriteString("\n")
}

// steps has a row for each step of the capacity.
func steps(b *strings.Builder, worlds []*limitsim.World, matches [][]Match) {
	header(b, "After each step: seconds until enough was answered soon enough/goodput up to the next step")
	for i, w := range worlds {
		if len(w.Steps) < 2 {
			continue
		}
		for k, at := range w.Steps {
			if at == 0 {
				continue // the beginning
			}
			row(b, fmt.Sprintf("%s, at %.0f s", w.Name, at.Seconds()), matches[i], func(m Match) string {
				took := m.median(func(r *limitsim.Result) float64 {
					if r.Converge[k] < 0 {
						return w.Lasts.Seconds()
					}
					return r.Converge[k].Seconds()
				})
				goodput := m.median(func(r *limitsim.Result) float64 { return r.Phases[k] })
				if took == w.Lasts.Seconds() {
					return fmt.Sprintf("never/%.2f", goodput)
				}
				return fmt.Sprintf("%.0f/%.2f", took, goodput)
			})
		}
	}
}
