package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/report"
)

// The portable build measures what this one does, as long and as often.
func TestPortableBuildMeasuresTheSame(t *testing.T) {
	c, err := parse([]string{"-builds", "B.md", "-rounds", "4", "-window", "2s", "-procs", "2"}, io.Discard)
	require.NoError(t, err)
	args := portableCommand(c, "x.json")
	require.Equal(t, []string{"go", "run", "-tags", "farad_portable", "."}, args[:5])
	theirs, err := parse(args[5:], io.Discard)
	require.NoError(t, err)
	require.Equal(t, "x.json", theirs.json)
	theirs.json, theirs.builds = c.json, c.builds
	require.Equal(t, c.only.String(), theirs.only.String())
	theirs.only = c.only
	theirs.from = c.from
	require.Equal(t, c, theirs)
}

// The table in the document, once there is one, is what the program makes of the runs that are
// kept.
func TestTableOfBuildsIsWhatTheResultsGive(t *testing.T) {
	const kept = "results/builds.json"
	was, err := os.ReadFile("../docs/BENCHMARKS.md")
	require.NoError(t, err)
	require.Contains(t, string(was), report.BuildsBegin)
	if strings.Contains(string(was), report.BuildsBegin+report.BuildsEnd) {
		return // nothing is said
	}
	file := filepath.Join(t.TempDir(), "B.md")
	require.NoError(t, os.WriteFile(file, was, 0o600))
	c, err := parse([]string{"-builds", file, kept, portableFile(kept)}, io.Discard)
	require.NoError(t, err)
	require.NoError(t, retell(c, io.Discard))
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(was), string(now), "go run . -builds ../docs/BENCHMARKS.md %s %s", kept, portableFile(kept))
}

func TestTableOfBuildsIsMadeFromFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "B.md")
	require.NoError(t, os.WriteFile(file, []byte(report.BuildsBegin+report.BuildsEnd), 0o600))
	args := []string{"-builds", file}
	for _, sleep := range []string{measure.SleepGopark, measure.SleepChannels} {
		r := report.MadeUpWithTargets()
		r.Machine.Sleep = sleep
		args = append(args, saved(t, r))
	}
	c, err := parse(args, io.Discard)
	require.NoError(t, err)
	require.NoError(t, retell(c, io.Discard))
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(now), "| a waiting goroutine | bytes | 256 | 256 |\n")
}
