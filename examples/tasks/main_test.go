package main

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/examples/internal/cli"
	"github.com/farad-go/farad/examples/internal/cli/clitest"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryKindTakesAllTurns(t *testing.T) {
	for _, o := range []options{
		{tasks: 1, permits: 1, rounds: 1, workers: 1},
		{tasks: 300, permits: 1, rounds: 7, workers: 1},
		{tasks: 300, permits: 3, rounds: 7, workers: 2},
		{tasks: 5, permits: 50, rounds: 100, workers: 4},
	} {
		for _, k := range kinds {
			r, err := measure(k, o, io.Discard)
			require.NoError(t, err, "%s, %+v", k.name, o)
			require.Positive(t, r.elapsed)
			require.Positive(t, r.start)
		}
	}
}

func TestATaskIsManyTimesSmallerThanAGoroutine(t *testing.T) {
	o := options{tasks: 5000, permits: 2, rounds: 1, workers: 1}
	makeDescriptors(o.tasks)
	bytes := map[string]float64{}
	for _, k := range kinds {
		r, err := measure(k, o, io.Discard)
		require.NoError(t, err)
		bytes[k.name] = r.bytes
	}
	require.Greater(t, bytes["poll tasks"], 50.0, "it is there")
	require.Greater(t, bytes["goroutines"], 5*bytes["poll tasks"])
	require.Greater(t, bytes["straight-line tasks"], 5*bytes["poll tasks"], "it has a stack")
}

func TestWhatIsMissingIsFound(t *testing.T) {
	o := options{tasks: 3, permits: 2, rounds: 2, workers: 1}
	idle := kind{"idle", func(j *job) func() error { // waits as it should, and takes no turn
		futures := make([]semaphore.AcquireFuture, j.tasks)
		for i := range futures {
			futures[i].Init(j.sem, 1)
			futures[i].Poll(nil)
		}
		return func() error {
			for i := range futures {
				futures[i].Cancel()
			}
			return nil
		}
	}}
	_, err := measure(idle, o, io.Discard)
	require.ErrorContains(t, err, "0 of 6 turns")

	j := &job{options: o, sem: semaphore.New(1)}
	j.done.Store(6)
	require.ErrorContains(t, j.check(), "1 of 2 permits are free")
	j.sem.Resize(2)
	require.NoError(t, j.check())
}

func TestTheTableComparesAllKinds(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run([]string{"-tasks=2000", "-rounds=3", "-permits=2", "-workers=2"}, &stdout, &stderr)
	require.Equal(t, cli.ExitOK, code, "%s", &stderr)
	require.Empty(t, stderr.String(), "a buffer is not a terminal")
	require.Contains(t, stdout.String(), "2,000 × 3 turns on 2 permits, 2 workers")
	for _, k := range kinds {
		row := regexp.MustCompile(`(?m)^ *` + k.name + `( +[\d.]+[nµm]?s){3} +[\d.]+ +\d+ +[\d.]+$`)
		require.Regexp(t, row, stdout.String())
	}
	require.Regexp(t, `(?m)goroutines .* 1\.0 +\d+ +1\.0$`, stdout.String())
}

func TestProgressIsDrawnOnRequest(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run([]string{"-tasks=100", "-rounds=10", "-progress"}, &stdout, &stderr)
	require.Equal(t, cli.ExitOK, code, "%s", &stderr)
	for _, k := range kinds {
		require.Contains(t, stderr.String(), "\r"+k.name)
	}
	last := stderr.String()[strings.LastIndexByte(strings.TrimRight(stderr.String(), "\r"), '\r')+1:]
	require.Empty(t, strings.TrimSpace(last), "the bar is gone in the end")
}

func TestWrongUsageIsExplained(t *testing.T) {
	for _, args := range [][]string{
		{"more"}, {"-unknown"}, {"-tasks=0"}, {"-permits=0"}, {"-rounds=0"}, {"-workers=0"}, {"-workers=1025"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, cli.ExitUsage, run(args, &stdout, &stderr), "%v", args)
		require.Empty(t, stdout.String(), "%v", args)
		require.Contains(t, stderr.String(), "-rounds", "%v", args)
	}
	require.Equal(t, cli.ExitOK, run([]string{"-help"}, io.Discard, io.Discard))
}

func TestUnwritableOutputIsAFailure(t *testing.T) {
	var stderr bytes.Buffer
	require.Equal(t, cli.ExitFailed, run([]string{"-tasks=1", "-rounds=1"}, clitest.DiskFull, &stderr))
	require.Contains(t, stderr.String(), "disk full")
}
