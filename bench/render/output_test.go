package render

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/benchtest"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/report"
)

// The page is well-formed, has every table with all its rows, and refers to nothing outside of
// itself.
func TestPageStandsAlone(t *testing.T) {
	r := report.MadeUpAll()
	was := report.MadeUpAll()
	was.Cells[0].Samples[measure.NameFarad] = []measure.Sample{{NsPerOp: 1}, {NsPerOp: 1}, {NsPerOp: 1}}
	r.Compared = report.Compared(was, r)
	drawings := append(RatioDrawings(r), CapacitorDrawings(r)...)
	require.Len(t, drawings, 6)
	page, err := Page(r, drawings)
	require.NoError(t, err)

	count, dec := map[string]int{}, xml.NewDecoder(strings.NewReader(page))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		_, head := token.(xml.ProcInst)
		require.False(t, head, "the head of a file within a page")
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		count[start.Name.Local]++
		require.NotContains(t, []string{"script", "link", "img", "iframe", "image", "use"}, start.Name.Local)
		for _, a := range start.Attr {
			if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" { // names, which no browser fetches
				continue
			}
			require.NotContains(t, []string{"src", "href", "srcset"}, a.Name.Local)
			require.NotContains(t, a.Value, "url(")
		}
	}
	require.NotRegexp(t, regexp.MustCompile(`@import|url\(`), page)
	tables, sum := r.Tables(true)
	rows := 0
	for _, tab := range tables {
		require.NotEmpty(t, tab.Rows, "%s: the made-up report is to have every table", tab.Title)
		benchtest.HasAll(t, page, "<h2>"+tab.Title+"</h2>")
		rows += 1 + len(tab.Rows)
	}
	require.Equal(t, len(tables), count["table"])
	require.Equal(t, rows, count["tr"])
	require.Equal(t, 2*len(drawings), count["svg"], "for wide and for narrow screens")
	benchtest.HasAll(
		t,
		page,
		`name="viewport" content="width=device-width`,
		"prefers-color-scheme: dark",
		"overflow-x: auto",
		"a &lt;b&gt; &amp; c",
		"<dd>go run .</dd>",
		sum.String(),
		`<td class="n bad">`,
		`<td class="n good">`,
		`<td class="bad">worse</td>`,
		"<li>worse ",
	)
	require.Equal(
		t,
		count["table"]+count["svg"],
		strings.Count(page, `<div class="wide`),
		"what is wide scrolls by itself",
	)
}

func TestPlotsOfRatiosNameTheirLines(t *testing.T) {
	r := report.MadeUpAll()
	for _, d := range RatioDrawings(r) {
		svg := d.svg()
		benchtest.HasAll(t, svg, ">best peer<")
		named, all := 0, 0
		for _, l := range r.Lines() {
			if strings.Contains(d.file, l.Family) {
				all++
				if strings.Contains(svg, ">"+l.Name+"<") {
					named++
				}
			}
		}
		require.Greater(t, named, min(9, all-1), d.file)
	}
	require.Empty(t, RatioDrawings(&report.Report{}))
}
