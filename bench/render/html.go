package render

import (
	_ "embed"
	"html/template"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/farad-go/farad/bench/report"
	"github.com/farad-go/farad/bench/table"
)

//go:embed report.tmpl
var pageSource string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// Page returns the report as one HTML file, which needs no other and no script.
func Page(r *report.Report, drawings []Drawing) (string, error) {
	tables, sum := r.Tables(true)
	p := pageData{Header: r.Header(), Sum: sum.String()}
	for i := range p.Header {
		p.Header[i][1] = strings.Trim(p.Header[i][1], "`") // which is for Markdown
	}
	for _, t := range tables {
		if len(t.Rows) > 0 {
			p.Tables = append(p.Tables, newPageTable(t))
		}
	}
	if r.Compared != nil {
		p.Moves = &pageMoves{r.Compared.Summary(), r.Compared.Moves}
	}
	for _, d := range drawings {
		p.Plots = append(p.Plots, pagePlot{d.caption, []pageDrawing{
			newPageDrawing("on-wide", d.svg(), d.width),
			newPageDrawing("on-narrow", d.narrow(), narrowWidth),
		}})
	}
	w := new(strings.Builder)
	err := pageTemplate.Execute(w, p)
	return w.String(), err
}

// The page, as its template sees it.
type (
	pageData struct {
		Header [][2]string
		Sum    string
		Moves  *pageMoves
		Plots  []pagePlot
		Tables []pageTable
	}
	pageMoves struct {
		Summary string
		Moves   []string
	}
	pagePlot struct {
		Caption  string
		Drawings []pageDrawing
	}
	pageDrawing struct {
		Class string // of the screens that it is for
		SVG   template.HTML
		Least int // pixels: below, it scrolls instead of becoming smaller
		Own   int // pixels: its letters are as large as those of the page
	}
	pageTable struct {
		Title, Note string
		Head        []pageCell
		Rows        [][]pageCell
	}
	pageCell struct{ Text, Class string }
)

func newPageDrawing(class, svg string, width vg.Length) pageDrawing {
	svg = svg[strings.Index(svg, "<svg"):] // without the head of a file of its own
	own := width.Points() * 4 / 3
	return pageDrawing{
		class,
		template.HTML(svg),
		int(own*0.9) + 1,
		int(own),
	} // the plot library has escaped what it was given
}

func newPageTable(t *table.Table) pageTable {
	cells := func(row []string) []pageCell {
		out := make([]pageCell, len(t.Head)) // a row may be shorter
		for i, text := range row {
			out[i] = pageCell{text, class(text)}
			if i >= t.Left {
				out[i].Class = strings.TrimSpace("n " + out[i].Class)
			}
		}
		return out
	}
	p := pageTable{Title: t.Title, Note: t.Note, Head: cells(t.Head)}
	for _, row := range t.Rows {
		p.Rows = append(p.Rows, cells(row))
	}
	return p
}

// class is the CSS class of a cell's verdict.
func class(text string) string {
	switch {
	case strings.HasSuffix(text, " met"), strings.HasSuffix(text, " reached"), text == "better":
		return "good"
	case strings.HasSuffix(text, " missed"), text == "worse":
		return "bad"
	default:
		return ""
	}
}
