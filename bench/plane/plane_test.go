package main

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// All cells can be measured, and the map and the table have each lock.
func TestEveryPlaneIsDrawn(t *testing.T) {
	dir := t.TempDir()
	svg, md := filepath.Join(dir, "map.svg"), filepath.Join(dir, "table.md")
	var out strings.Builder
	kept := filepath.Join(dir, "samples.json")
	args := []string{"-rounds", "1", "-window", "1ms", "-quick", "-svg", svg, "-md", md, "-json", kept}
	require.NoError(t, run(args, &out, io.Discard))
	text, err := os.ReadFile(md)
	require.NoError(t, err)
	require.Equal(t, out.String(), string(text))
	picture, err := os.ReadFile(svg)
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(picture, new(any)))
	for _, p := range planes {
		if p.name == "pool" { // has 100 goroutines, and -quick 8
			continue
		}
		for _, peer := range p.peers[1:] {
			require.Contains(t, out.String(), "| "+peer.name+" |")
			require.Contains(t, string(picture), peer.name+" ÷ "+p.peers[0].name)
		}
	}
}

// What was kept gives the same again, and the map has the selected locks.
func TestSamplesAreKept(t *testing.T) {
	dir := t.TempDir()
	kept, svg := filepath.Join(dir, "samples.json"), filepath.Join(dir, "map.svg")
	var first, again strings.Builder
	args := []string{"-rounds", "1", "-window", "1ms", "-run", "^rwlock/40-read/2/busy-0", "-json", kept}
	require.NoError(t, run(args, &first, io.Discard))
	require.NoError(t, run([]string{"-svg", svg, "-draw", "bias", kept}, &again, io.Discard))
	require.Equal(t, first.String(), again.String())
	picture, err := os.ReadFile(svg)
	require.NoError(t, err)
	require.Contains(t, string(picture), "rwlock, bias ÷ sync.RWMutex")
	require.NotContains(t, string(picture), "farad/sync")
	require.Error(t, run([]string{filepath.Join(dir, "missing")}, io.Discard, io.Discard))
	require.Error(t, run([]string{svg}, io.Discard, io.Discard))
	require.Error(t, run([]string{"-draw", "(", kept}, io.Discard, io.Discard))
}

func TestNamesChooseCells(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run([]string{"-rounds", "1", "-window", "1ms", "-run", "^pool/.*-0/"}, &out, io.Discard))
	require.Contains(t, out.String(), "**pool**: time ÷ x/sync, 1 cells")
	require.Error(t, run([]string{"-run", "("}, &out, io.Discard))
	require.Error(t, run([]string{"-unknown"}, &out, io.Discard))
}

// Each figure of a wait is there, for each lock.
func TestWaitsAreWatched(t *testing.T) {
	md := filepath.Join(t.TempDir(), "waits.md")
	var out strings.Builder
	args := []string{"-waits", "100ms", "-run", "^mutex/200-0/8/busy-0", "-md", md}
	require.NoError(t, run(args, &out, io.Discard))
	text, err := os.ReadFile(md)
	require.NoError(t, err)
	require.Equal(t, out.String(), string(text))
	require.Contains(t, out.String(), "**200-0/8/busy-0**")
	for _, peer := range planes[0].peers {
		require.Regexp(t, `\| `+regexp.QuoteMeta(peer.name)+` \| \d+ \|( \d+(\.\d+)?[nµm]?s \|){4} \d+ \|( \d\.\d\d \|){3}`,
			out.String())
	}
	w := watch(planes[0].peers[0].create(cell{}), cell{Section: 200, Goroutines: 8}, 20*time.Millisecond)
	require.Positive(t, w.wait.TotalCount())
	require.GreaterOrEqual(t, w.wait.TotalCount(), w.idle.TotalCount())
	require.GreaterOrEqual(t, w.wait.Max(), w.wait.ValueAtQuantile(99))
	require.Positive(t, w.perOp)
}

func TestSharesAreOfLeastAndMost(t *testing.T) {
	tallies := make([]tally, 3)
	require.Zero(t, share(tallies))
	for i := range tallies {
		tallies[i].done.Store(int64(10 * (i + 1)))
	}
	require.InDelta(t, 1.0/3, share(tallies), 1e-9)
}

func TestRatiosAreOfMedians(t *testing.T) {
	of := func(times ...float64) (s []sample) {
		for _, ns := range times {
			s = append(s, sample{PerOp: ns})
		}
		return s
	}
	r := result{
		Peers: []string{"base", "other"},
		Cells: []cell{{Busy: 0}, {Busy: 1}},
		Samples: [][][]sample{
			{of(1, 10, 1000), of(20, 1, 30)},
			{of(1, 1, 1), of(3, 3, 3)},
		},
	}
	require.InDelta(t, 2.0, r.ratio(0, 1), 0)
	at, ratio := r.worst(1, true)
	require.Equal(t, 1, at)
	require.InDelta(t, 3.0, ratio, 0)
}

// What is to take some time on a processor does, more or less.
func TestWorkTakesTime(t *testing.T) {
	least := time.Hour
	for range 100 {
		start := time.Now()
		work(100_000)
		least = min(least, time.Since(start))
	}
	require.Greater(t, least, 10*time.Microsecond)
}

func TestColoursSayBetterAndWorse(t *testing.T) {
	require.Equal(t, "#ffffff", colour(1))
	require.NotEqual(t, colour(1.2), colour(3))
	require.True(t, strings.HasPrefix(colour(1.2), "#ff"))
	require.Contains(t, colour(0.5), "ff")
	require.NotEqual(t, colour(0.9), colour(0.5))
}
