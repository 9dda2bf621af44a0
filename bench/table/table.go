package table

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// YesNo is b in a word.
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// A Table is written as aligned text or as Markdown.
type Table struct {
	Title string
	// note says how to read it.
	Note string
	Head []string
	// left is the number of columns, from the left, that hold words; the others hold figures.
	Left int
	Rows [][]string
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// AddMeasured adds a row of words and figures, unless nothing of it was measured.
func (t *Table) AddMeasured(words, figures []string) {
	if strings.Join(figures, "") != "" {
		t.Add(slices.Concat(words, figures)...)
	}
}

// WriteText writes the table as aligned text, unless it has no rows.
func (t *Table) WriteText(w *strings.Builder) {
	if len(t.Rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", strings.ToUpper(t.Title))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		fmt.Fprintln(tw, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	_ = tw.Flush() // a Builder takes everything
}

// WriteMarkdown writes the table with title and note, unless it has no rows.
func (t *Table) WriteMarkdown(w *strings.Builder) {
	if len(t.Rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n## %s\n\n", t.Title)
	if t.Note != "" {
		fmt.Fprintf(w, "%s\n\n", t.Note)
	}
	t.WriteRows(w)
}

// WriteRows writes Markdown without title and note.
func (t *Table) WriteRows(w *strings.Builder) {
	rule := make([]string, len(t.Head))
	for i := range rule {
		rule[i] = "---"
		if i >= t.Left {
			rule[i] = "---:"
		}
	}
	for _, row := range append([][]string{t.Head, rule}, t.Rows...) {
		escaped := make([]string, len(t.Head))
		for i, c := range row {
			escaped[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(escaped, " | "))
	}
}
