package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/benchtest"
)

//go:embed testdata/page.js
var lookSource string

// A pageLook is what page.js has seen.
type pageLook struct {
	Title    string
	Scripts  int
	Headings []string
	Tables   []struct {
		Rows int
		Box  box
	}
	Plots     []plotLook // those that this screen shows
	Whole     box
	Luminance float64 // of the ground
	Problems  []string
}

type plotLook struct {
	Box, Visible box // a plot may be wider than what it scrolls in
	Texts        []struct {
		Text string
		Box  box
	}
}

// The least contrast of text, after WCAG 2, and what is dark and what is light.
const (
	leastContrast = 4.5
	mostOfDark    = 0.05
	leastOfLight  = 0.8
)

// look opens a page and returns everything that is wrong with it.
func look(t *testing.T, browser context.Context, s screen, file string) pageLook {
	t.Helper()
	tab, found := open(t, browser, s, file)
	return lookAt(t, tab, s, found)
}

// lookAt looks at a page that is open.
func lookAt(t *testing.T, tab context.Context, s screen, found func() []string) pageLook {
	t.Helper()
	l, err := chromedp.Run(tab, chromedp.Evaluate[pageLook](fmt.Sprintf("(%s)(%d)", lookSource, s.width)))
	require.NoError(t, err)
	problems := found()
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if l.Scripts > 0 {
		problem("script: %d of them", l.Scripts)
	}
	if s.dark && l.Luminance > mostOfDark {
		problem("bright: the page's ground has a luminance of %.2f in the dark", l.Luminance)
	}
	if !s.dark && l.Luminance < leastOfLight {
		problem("dark: the page's ground has a luminance of %.2f in the light", l.Luminance)
	}
	for i, table := range l.Tables {
		if table.Rows == 0 || table.Box.empty() {
			problem("no size: table %d", i)
		}
	}
	for i, plot := range l.Plots {
		visible := plot.Box.within(plot.Visible)
		if visible.empty() {
			problem("no size: plot %d", i)
			continue
		}
		problems = append(problems, plot.faint(visible, picture(t, tab, visible, 1))...)
	}
	if keep := flag.Lookup("test.artifacts"); keep != nil && keep.Value.String() == "true" {
		save(t, filepath.Join(t.ArtifactDir(), strings.ReplaceAll(t.Name(), "/", "-")+".png"),
			picture(t, tab, l.Whole, 1/s.scale))
	}
	l.Problems = append(problems, l.Problems...)
	return l
}

func save(t *testing.T, file string, img image.Image) {
	t.Helper()
	w, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, png.Encode(w, img))
	require.NoError(t, w.Close())
}

// faint names the texts of a plot that do not stand out in the picture that was taken of it,
// whatever colours and filters have made that picture.
func (p *plotLook) faint(visible box, img image.Image) (problems []string) {
	count := make(map[color.Color]int)
	var ground color.Color = color.White
	const step = 5 // a sample is enough
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y += step {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x += step {
			c := img.At(x, y)
			if count[c]++; count[c] > count[ground] {
				ground = c
			}
		}
	}
	scale := float64(img.Bounds().Dx()) / visible.Width
	for _, text := range p.Texts {
		at := text.Box.within(visible)
		if at.empty() {
			continue // further along in what scrolls
		}
		best := 0.0
		for y := int((at.Y - visible.Y) * scale); y < int((at.Y+at.Height-visible.Y)*scale); y++ {
			for x := int((at.X - visible.X) * scale); x < int((at.X+at.Width-visible.X)*scale); x++ {
				best = max(best, benchtest.Contrast(benchtest.Luminance(img.At(x, y)), benchtest.Luminance(ground)))
			}
		}
		if best < leastContrast {
			problems = append(problems, fmt.Sprintf("faint: a contrast of %.2f of %q of a plot", best, text.Text))
		}
	}
	return problems
}
