package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// A table is written as aligned text or as Markdown.
type table struct {
	title string
	// note says how to read it.
	note string
	head []string
	// left is the number of columns, from the left, that hold words; the others hold figures.
	left int
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// addMeasured adds a row of words and figures, unless nothing of it was measured.
func (t *table) addMeasured(words, figures []string) {
	if strings.Join(figures, "") != "" {
		t.add(slices.Concat(words, figures)...)
	}
}

func (t *table) writeText(w *strings.Builder) {
	if len(t.rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", strings.ToUpper(t.title))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.head}, t.rows...) {
		fmt.Fprintln(tw, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	_ = tw.Flush() // a Builder takes everything
}

func (t *table) writeMarkdown(w *strings.Builder) {
	if len(t.rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n## %s\n\n", t.title)
	if t.note != "" {
		fmt.Fprintf(w, "%s\n\n", t.note)
	}
	t.writeRows(w)
}

// writeRows writes Markdown without title and note.
func (t *table) writeRows(w *strings.Builder) {
	rule := make([]string, len(t.head))
	for i := range rule {
		rule[i] = "---"
		if i >= t.left {
			rule[i] = "---:"
		}
	}
	for _, row := range append([][]string{t.head, rule}, t.rows...) {
		escaped := make([]string, len(t.head))
		for i, c := range row {
			escaped[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(escaped, " | "))
	}
}
