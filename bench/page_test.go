package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The pages of the runs that are kept show all their tables and plots on every screen, and nothing
// is wrong with them. With -artifacts there are pictures.
func TestPageInABrowser(t *testing.T) {
	browser := startBrowser(t)
	for _, run := range []string{"semaphore", "locks", "tasks", "capacitor"} {
		dir := t.TempDir()
		require.NoError(t, retell(config{out: dir, from: []string{filepath.Join("results", run+".json")}}, io.Discard))
		md, err := os.ReadFile(filepath.Join(dir, outMarkdown))
		require.NoError(t, err)
		var titles []string
		for _, m := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(string(md), -1) {
			titles = append(titles, m[1])
		}
		rows := strings.Count(string(md), "\n|") - len(titles) // without the rule below each head
		plots, err := filepath.Glob(filepath.Join(dir, "*.svg"))
		require.NoError(t, err)
		require.NotEmpty(t, titles)
		require.NotEmpty(t, plots)
		for _, s := range screens {
			t.Run(run+"/"+s.name, func(t *testing.T) {
				l := look(t, browser, s, filepath.Join(dir, outPage))
				require.Empty(t, l.Problems)
				require.Equal(t, "Farad: benchmarks", l.Title)
				require.Equal(t, l.Title, l.Headings[0])
				require.Subset(t, l.Headings, titles)
				require.Len(t, l.Headings, 1+len(plots)+len(titles))
				require.Len(t, l.Plots, len(plots))
				for _, p := range l.Plots {
					require.NotEmpty(t, p.Texts)
				}
				require.Len(t, l.Tables, len(titles))
				shown := 0
				for _, table := range l.Tables {
					shown += table.Rows
				}
				require.Equal(t, rows, shown)
			})
		}
	}
}

// soundPage has what the checks look at, and nothing is wrong with it; %s is where faults go.
const soundPage = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/><title>Sound</title></head>
<body style="font: 16px sans-serif"><h1>Sound</h1>
<div style="overflow-x: auto"><table style="width: 2000px"><tr><td>wide, in a box that scrolls</td></tr></table></div>
<div class="wide" style="overflow-x: auto"><svg width="2000" height="40"><text x="5" y="20" fill="currentColor">far</text><text x="1900" y="20" fill="currentColor">away</text></svg></div>
%s
</body></html>`

func soundPageWith(t *testing.T, more string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(soundPage, "%s", more, 1)), 0o600))
	return file
}

// Every check finds what it is for, on the page and nothing but the fault on it.
func TestBrowserFindsFaults(t *testing.T) {
	browser := startBrowser(t)
	phone, night := screens[0], screens[1]
	require.True(t, phone.mobile && !phone.dark && night.mobile && night.dark)
	found := func(t *testing.T, s screen, fault string) []string {
		t.Helper()
		return look(t, browser, s, soundPageWith(t, fault)).Problems
	}
	for _, s := range screens {
		t.Run("none/"+s.name, func(t *testing.T) { require.Empty(t, found(t, s, "")) })
	}
	for _, c := range []struct {
		name   string
		screen screen
		fault  string
		want   []string // what the problems begin with
	}{
		{"picture from elsewhere", phone, `<img src="http://elsewhere.invalid/a.png" alt=""/>`, []string{"request: http://elsewhere.invalid/a.png", "console: Failed to load"}},
		{"style from elsewhere", phone, `<style>@import "http://elsewhere.invalid/a.css";</style>`, []string{"request: http://elsewhere.invalid/a.css", "console: Failed to load"}},
		{"file beside it", phone, `<img src="beside.png" alt=""/>`, []string{"request: file://", "console: Failed to load"}},
		{"script", phone, `<script>1</script>`, []string{"script: 1 "}},
		{"handler", phone, `<p onclick="1">press</p>`, []string{"script: 1 "}},
		{"error in the console", phone, `<script>console.error("woe")</script>`, []string{`console: "woe"`, "script: 1 "}},
		{"exception", phone, `<script>throw new Error("woe")</script>`, []string{`exception`, "script: 1 "}},
		{"wide table", phone, `<table style="width: 900px"><tr><td>wide</td></tr></table>`, []string{"sideways: the page is 9"}},
		{"wide word", phone, `<p>` + strings.Repeat("long", 40) + `</p>`, []string{"sideways: "}},
		{"wide table at a desk", screens[2], `<table style="width: 1900px"><tr><td>wide</td></tr></table>`, []string{"sideways: the page is 19"}},
		{"hidden text", phone, `<div style="width: 90px; overflow: hidden; white-space: nowrap">longer than its box</div>`, []string{`cut off: <div> "longer`}},
		{"small text", phone, `<p style="font-size: 9px">small</p>`, []string{`small: "small" is 9.0 px`}},
		{"small text of a plot", phone, `<svg viewBox="0 0 600 60" width="300" height="30"><text x="9" y="30" fill="currentColor">small</text></svg>`, []string{`small: "small" is 8.0 px`}},
		{"gray on gray", phone, `<p style="color: #888; background: #bbb">gray</p>`, []string{`contrast: 1.8`}},
		{"translucent text", phone, `<p style="color: rgb(0 0 0 / 40%)">faint</p>`, []string{`contrast: 2.`}},
		{"text on what is behind its parent", phone, `<div style="background: #000"><p><b style="color: #222">hidden</b></p></div>`, []string{`contrast: 1.`}},
		{"text on a picture", phone, `<p style="background: linear-gradient(#fff, #eee)">text</p>`, []string{`contrast: cannot be told behind "text"`}},
		{"text behind a filter", phone, `<p style="filter: blur(2px)">text</p>`, []string{`contrast: cannot be told behind "text"`}},
		{"black text in the dark", night, `<p style="color: #000">black</p>`, []string{`contrast: 1.1`}},
		{"bright page in the dark", night, `<style>body { background: #fff; color: #000 }</style>`, []string{"bright: "}},
		{"dark page in the light", phone, `<style>body { background: #000; color: #fff }</style>`, []string{"dark: "}},
		{"plot without a size", phone, `<svg width="300" height="0"></svg>`, []string{"no size: plot 1"}},
		{"table without a size", phone, `<table></table>`, []string{"no size: table 1"}},
		{"text beyond a plot", phone, `<svg width="300" height="30"><text x="280" y="20" fill="currentColor">beyond</text></svg>`, []string{`cut off: "beyond" of a plot`}},
		{"plot in a box that hides", phone, `<div style="width: 90px; height: 40px; overflow: hidden"><svg width="85" height="60"><text x="5" y="55" fill="currentColor">below</text></svg></div>`, []string{"faint: ", `cut off: "below" of a plot, by <div>`}},
		{
			"plot to the left of its box", phone,
			`<div class="wide" style="overflow-x: auto"><svg width="500" height="30" style="margin-left: -50px"><text x="9" y="20" fill="currentColor">left</text><text x="90" y="20" fill="currentColor">right</text></svg></div>`,
			[]string{`cut off: "left" of a plot, by <div>`},
		},
		{"texts on each other", phone, `<svg width="300" height="30"><text x="5" y="20" fill="currentColor">one</text><text x="15" y="20" fill="currentColor">two</text></svg>`, []string{`overlap: "two" and "one"`}},
		{"faint text of a plot", phone, `<svg width="300" height="30"><text x="5" y="20" fill="#bbb">faint</text></svg>`, []string{`faint: a contrast of 1.9`}},
		{"black text of a plot in the dark", night, `<svg width="300" height="30"><text x="5" y="20">black</text></svg>`, []string{`faint: a contrast of 1.`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			problems := found(t, c.screen, c.fault)
			require.Len(t, problems, len(c.want), "%q", problems)
			for i, want := range c.want {
				require.True(t, strings.HasPrefix(problems[i], want), "%q, not %q", problems[i], want)
			}
		})
	}
	t.Run("a plot with a ground of its own may be black in the dark", func(t *testing.T) {
		require.Empty(
			t,
			found(
				t,
				night,
				`<svg width="300" height="30"><rect width="300" height="30" fill="#fff"/><text x="5" y="20">black</text></svg>`,
			),
		)
	})
}
