package main

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math"
	"regexp"
	"slices"
)

// writeTables writes a table for each plane.
func (m measured) writeTables(w io.Writer) {
	if m.About != "" {
		fmt.Fprintln(w, m.About)
	}
	for _, r := range m.Planes {
		r.writeTable(w)
	}
}

// writeTable writes for each peer of the base the geometric mean of its ratios and its worst cells.
func (r result) writeTable(w io.Writer) {
	base := r.Peers[0]
	fmt.Fprintf(w, "\n**%s**: time ÷ %s, %d cells\n\n", r.Name, base, len(r.Cells))
	fmt.Fprintf(w, "| | mean | cells above 1.1 | worst | worst beside busy processors | ")
	fmt.Fprintf(w, "processors busy, mean (%s) |\n", base)
	fmt.Fprintf(w, "|---|--:|--:|--:|--:|--:|\n")
	for i := 1; i < len(r.Peers); i++ {
		logs, above, busy, baseBusy := 0.0, 0, 0.0, 0.0
		for at := range r.Cells {
			x := r.ratio(at, i)
			logs += math.Log(x)
			if x > 1.1 {
				above++
			}
			busy += median(r.Samples[at][i], func(s sample) float64 { return s.Processors })
			baseBusy += median(r.Samples[at][0], func(s sample) float64 { return s.Processors })
		}
		n := float64(len(r.Cells))
		fmt.Fprintf(w, "| %s | %.2f | %d | %s | %s | %.2f (%.2f) |\n", r.Peers[i], math.Exp(logs/n), above,
			r.describe(r.worst(i, false)), r.describe(r.worst(i, true)), busy/n, baseBusy/n)
	}
}

func (r result) describe(at int, ratio float64) string {
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("%.2f at %v", ratio, r.Cells[at])
}

// The measures of the map, in pixels.
const (
	side, high  = 34, 16 // of a cell
	left, above = 110, 54
	gap         = 26
)

// draw returns the results as an SVG: a block for each lock, a row for each kind of work, and a
// column for each number of goroutines and of others that keep the processors busy. Two blocks
// stand side by side.
func draw(results []result, locks *regexp.Regexp) []byte {
	var body bytes.Buffer
	y, width := 10, 0
	for _, r := range results {
		x, next := 0, y
		for i := 1; i < len(r.Peers); i++ {
			if !locks.MatchString(r.Peers[i]) {
				continue
			}
			w, h := r.drawBlock(&body, i, x, y)
			width, next = max(width, x+w), max(next, y+h)
			if x += w + gap; x > 2*w {
				x, y = 0, next
			}
		}
		y = next
	}
	var svg bytes.Buffer
	fmt.Fprintf(&svg, "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' ", width+10, y)
	svg.WriteString("font-family='sans-serif' font-size='11'>\n")
	svg.WriteString("<style>.h{font-weight:bold;font-size:13px}.c{text-anchor:middle}</style>\n")
	svg.WriteString("<rect width='100%' height='100%' fill='white'/>\n")
	svg.Write(body.Bytes())
	svg.WriteString("</svg>\n")
	return svg.Bytes()
}

// drawBlock draws the block of a peer, and returns how large it is.
func (r result) drawBlock(w io.Writer, peer, x0, y0 int) (width, height int) {
	rows, columns := r.axes()
	fmt.Fprintf(w, "<text x='%d' y='%d' class='h'>%s ÷ %s</text>\n", x0+4, y0+14,
		html.EscapeString(r.Peers[peer]), html.EscapeString(r.Peers[0]))
	for k, c := range columns {
		x := x0 + left + k*side + side/2
		fmt.Fprintf(w, "<text x='%d' y='%d' class='c'>%d</text>", x, y0+32, c.Goroutines)
		fmt.Fprintf(w, "<text x='%d' y='%d' class='c'>+%d</text>\n", x, y0+46, c.Busy)
	}
	for at, c := range r.Cells {
		row := slices.IndexFunc(rows, c.isInRow)
		column := slices.IndexFunc(columns, c.isInColumn)
		x, y, ratio := x0+left+column*side, y0+above+row*high, r.ratio(at, peer)
		fmt.Fprintf(w, "<rect x='%d' y='%d' width='%d' height='%d' ", x, y, side-1, high-1)
		fmt.Fprintf(w, "fill='%s'>", colour(ratio))
		fmt.Fprintf(w, "<title>%v: %.2f</title></rect>", c, ratio)
		fmt.Fprintf(w, "<text x='%d' y='%d' class='c'>%.2f</text>\n", x+side/2, y+12, ratio)
	}
	for k, c := range rows {
		fmt.Fprintf(w, "<text x='%d' y='%d'>%s</text>\n", x0+4, y0+above+k*high+12, c.kind())
	}
	return left + len(columns)*side, above + len(rows)*high + gap
}

// axes returns a cell for each row and for each column.
func (r result) axes() (rows, columns []cell) {
	for _, c := range r.Cells {
		if !slices.ContainsFunc(rows, c.isInRow) {
			rows = append(rows, c)
		}
		if !slices.ContainsFunc(columns, c.isInColumn) {
			columns = append(columns, c)
		}
	}
	slices.SortStableFunc(columns, func(a, b cell) int {
		if a.Busy != b.Busy {
			return a.Busy - b.Busy
		}
		return a.Goroutines - b.Goroutines
	})
	return rows, columns
}

func (c cell) isInRow(o cell) bool {
	return c.Section == o.Section && c.Outside == o.Outside && c.Writes == o.Writes
}

func (c cell) isInColumn(o cell) bool { return c.Goroutines == o.Goroutines && c.Busy == o.Busy }

// kind describes the row of c.
func (c cell) kind() string {
	switch {
	case c.Section == asleep:
		return fmt.Sprintf("asleep, %d µs", c.Outside/1000)
	case c.Permits > 0:
		return fmt.Sprintf("%d in, %d out", c.Section, c.Outside)
	default:
		return fmt.Sprintf("%d, %s", c.Section, writeShare(c.Writes))
	}
}

// colour is green below 1, white around it, and red from 1.1 on, the darker the worse.
func colour(ratio float64) string {
	switch x := math.Log2(ratio); {
	case ratio < 0.95:
		fade := int(255 - 150*min(1, -x))
		return fmt.Sprintf("#%02xff%02x", fade, fade)
	case ratio <= 1.1:
		return "#ffffff"
	default:
		fade := int(215 - 175*min(1, x/2))
		return fmt.Sprintf("#ff%02x%02x", fade, fade)
	}
}
