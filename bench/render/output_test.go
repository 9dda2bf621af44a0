package render

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
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

func TestReadmeIsNotSpoilt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	const text = "before\n" + readmeBegin + "old\n" + readmeEnd + "after\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	less := report.MadeUpAll()
	less.Locks = nil
	smoke := report.MadeUpAll()
	smoke.Smoke = true
	require.ErrorContains(t, WriteReadme(file, less), "mutex-1 was not measured beside sync.Mutex")
	require.ErrorContains(t, WriteReadme(file, smoke), "void")
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, text, string(now))

	require.NoError(t, WriteReadme(file, report.MadeUpAll()))
	now, err = os.ReadFile(file)
	require.NoError(t, err)
	require.True(
		t,
		strings.HasPrefix(string(now), "before\n"+readmeBegin+"| Time") &&
			strings.HasSuffix(string(now), " |\n"+readmeEnd+"after\n"),
		"%s",
		now,
	)

	require.NoError(t, os.WriteFile(file, []byte("no markers\n"), 0o600))
	require.ErrorContains(t, WriteReadme(file, report.MadeUpAll()), "bench:begin")
}

func TestThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0.054: "0.05", 0.98: "0.98", 1.994: "1.99", 1.996: "2.0", 6.43: "6.4", 9.96: "10", 10.19: "10", 133: "133"} {
		require.Equal(t, want, threeDigits(v))
	}
}
