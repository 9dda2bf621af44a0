package render

import (
	"image/color"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/benchtest"
	"github.com/farad-go/farad/bench/report"
)

// A viewer without the plots' font makes each text as long as it was reckoned.
func TestTextOfPlotsHasItsLength(t *testing.T) {
	for _, d := range append(RatioDrawings(report.MadeUpAll()), CapacitorDrawings(report.MadeUpAll())...) {
		for _, svg := range []string{d.svg(), d.narrow()} {
			texts := strings.Count(svg, "<text ")
			require.Positive(t, texts)
			require.Len(
				t,
				regexp.MustCompile(`font-family:Liberation Sans,[^"]*sans-serif;[^"]*" textLength="[1-9]`).
					FindAllString(svg, -1),
				texts,
			)
		}
	}
}

// The colours of lines can be seen on both grounds of the page.
func TestLinesAreSeenOnLightAndDarkGround(t *testing.T) {
	grounds := regexp.MustCompile(`--page: #(..)(..)(..)`).FindAllStringSubmatch(pageSource, -1)
	require.Len(t, grounds, 2)
	for _, c := range append(slices.Concat(figureColors, planeColors), gray) {
		for _, g := range grounds {
			require.GreaterOrEqual(t,
				benchtest.Contrast(benchtest.Luminance(c), benchtest.Luminance(hex(t, g[1:]))), 3.0,
				"%v on %v", c, g[0])
		}
	}
}

func hex(t *testing.T, digits []string) color.Color {
	t.Helper()
	var v [3]uint8
	for i, d := range digits {
		n, err := strconv.ParseUint(d, 16, 8)
		require.NoError(t, err)
		v[i] = uint8(n)
	}
	return color.RGBA{v[0], v[1], v[2], 255}
}
