package main

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
)

// writeTable writes for each peer of the base the geometric mean of its ratios and its worst cells.
func writeTable(w io.Writer, r result) {
	base := r.peers[0].name
	fmt.Fprintf(w, "\n**%s**: time ÷ %s, %d cells\n\n", r.name, base, len(r.cells))
	fmt.Fprintf(w, "| | mean | cells above 1.1 | worst | worst beside busy processors | ")
	fmt.Fprintf(w, "processors busy, mean (%s) |\n", base)
	fmt.Fprintf(w, "|---|--:|--:|--:|--:|--:|\n")
	for i := 1; i < len(r.peers); i++ {
		logs, above, busy, baseBusy := 0.0, 0, 0.0, 0.0
		for at := range r.cells {
			x := r.ratio(at, i)
			logs += math.Log(x)
			if x > 1.1 {
				above++
			}
			busy += median(r.samples[at][i], func(s sample) float64 { return s.processors })
			baseBusy += median(r.samples[at][0], func(s sample) float64 { return s.processors })
		}
		n := float64(len(r.cells))
		fmt.Fprintf(w, "| %s | %.2f | %d | %s | %s | %.2f (%.2f) |\n", r.peers[i].name, math.Exp(logs/n), above,
			r.describe(r.worst(i, false)), r.describe(r.worst(i, true)), busy/n, baseBusy/n)
	}
}

func (r result) describe(at int, ratio float64) string {
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("%.2f at %v", ratio, r.cells[at])
}

// The measures of the map, in pixels.
const (
	side, high  = 34, 16 // of a cell
	left, above = 110, 54
	gap         = 26
)

// draw returns the results as an SVG: a block for each lock, a row for each kind of work, and a
// column for each number of goroutines and of others that keep the processors busy.
func draw(results []result) []byte {
	var body bytes.Buffer
	y, width := 10, 0
	for _, r := range results {
		rows, columns := r.axes()
		for i := 1; i < len(r.peers); i++ {
			fmt.Fprintf(&body, "<text x='4' y='%d' class='h'>%s ÷ %s</text>\n", y+14,
				html.EscapeString(r.peers[i].name), html.EscapeString(r.peers[0].name))
			for k, c := range columns {
				x := left + k*side
				fmt.Fprintf(&body, "<text x='%d' y='%d' class='c'>%d</text>", x+side/2, y+32, c.goroutines)
				fmt.Fprintf(&body, "<text x='%d' y='%d' class='c'>+%d</text>\n", x+side/2, y+46, c.busy)
			}
			for at, c := range r.cells {
				row := slices.IndexFunc(rows, c.isInRow)
				column := slices.IndexFunc(columns, c.isInColumn)
				x, top, ratio := left+column*side, y+above+row*high, r.ratio(at, i)
				fmt.Fprintf(&body, "<rect x='%d' y='%d' width='%d' height='%d' ", x, top, side-1, high-1)
				fmt.Fprintf(&body, "fill='%s'>", colour(ratio))
				fmt.Fprintf(&body, "<title>%v: %.2f</title></rect>", c, ratio)
				fmt.Fprintf(&body, "<text x='%d' y='%d' class='c'>%.2f</text>\n", x+side/2, top+12, ratio)
			}
			for k, c := range rows {
				fmt.Fprintf(&body, "<text x='4' y='%d'>%s</text>\n", y+above+k*high+12, c.kind())
			}
			width = max(width, left+len(columns)*side)
			y += above + len(rows)*high + gap
		}
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

// axes returns a cell for each row and for each column.
func (r result) axes() (rows, columns []cell) {
	for _, c := range r.cells {
		if !slices.ContainsFunc(rows, c.isInRow) {
			rows = append(rows, c)
		}
		if !slices.ContainsFunc(columns, c.isInColumn) {
			columns = append(columns, c)
		}
	}
	slices.SortStableFunc(columns, func(a, b cell) int {
		if a.busy != b.busy {
			return a.busy - b.busy
		}
		return a.goroutines - b.goroutines
	})
	return rows, columns
}

func (c cell) isInRow(o cell) bool {
	return c.section == o.section && c.outside == o.outside && c.writes == o.writes
}

func (c cell) isInColumn(o cell) bool { return c.goroutines == o.goroutines && c.busy == o.busy }

// kind describes the row of c.
func (c cell) kind() string {
	switch {
	case c.section == asleep:
		return fmt.Sprintf("asleep, %d µs", c.outside/1000)
	case c.permits > 0:
		return fmt.Sprintf("%d in, %d out", c.section, c.outside)
	default:
		return fmt.Sprintf("%d, %s", c.section, writeShare(c.writes))
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
