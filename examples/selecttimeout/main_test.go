package main

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/examples/internal/cli"
	"github.com/farad-go/farad/examples/internal/cli/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// each runs a test for each way.
func each(t *testing.T, test func(t *testing.T, run func(options) result)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { test(t, w.run) })
	}
}

func TestThePatientAreAllServed(t *testing.T) {
	each(t, func(t *testing.T, run func(options) result) {
		o := options{clients: 7, permits: 2, hold: time.Millisecond, patience: time.Hour}
		r := run(o)
		require.NoError(t, r.check(o))
		require.EqualValues(t, 7, r.count(served))
	})
}

// The permits come when patience ends, so that all orders of the two are seen.
func TestNothingIsLostWhenBothComeAtOnce(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 4
	}
	each(t, func(t *testing.T, run func(options) result) {
		for range rounds {
			o := options{clients: 40, permits: 3, hold: time.Millisecond, patience: 2 * time.Millisecond}
			r := run(o)
			require.NoError(t, r.check(o))
			for _, c := range r.outcomes {
				require.False(t, c.ending == gaveUp && c.after < o.patience, "gave up after %v", c.after)
			}
		}
	})
}

func TestWhatIsWrongIsFound(t *testing.T) {
	o := options{clients: 2, permits: 1}
	good := result{outcomes: []outcome{{ending: served}, {ending: gaveUp}}, most: 1, free: 1}
	require.NoError(t, good.check(o))
	for want, spoil := range map[string]func(r *result){
		"boom":                           func(r *result) { r.err = errors.New("boom") },
		"1 of 2 clients have vanished":   func(r *result) { r.outcomes = []outcome{{ending: served}, {}} },
		"2 at a time":                    func(r *result) { r.most = 2 },
		"0 of 1 permits are free":        func(r *result) { r.free = 0 },
		"permits are free, and 1 wait":   func(r *result) { r.waiting = 1 },
		"in the end 2 of 1 permits are ": func(r *result) { r.free = 2 },
	} {
		bad := good
		spoil(&bad)
		require.ErrorContains(t, bad.check(o), want)
	}
}

func TestTheTableHasALineForEachClient(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run([]string{"-clients=3", "-permits=3", "-hold=1ms", "-patience=1h"}, &stdout, &stderr)
	require.Equal(t, cli.ExitOK, code, "%s", &stderr)
	require.Empty(t, stderr.String())
	require.Regexp(t, `(?m)^client +select, time.After +rt.Select, rt.Timer +rt.Timeout$`, stdout.String())
	for _, client := range "012" {
		require.Regexp(t, `(?m)^`+string(client)+`( +served after \d+m?s){3}$`, stdout.String())
	}
	require.Regexp(t, `(?m)^served +3 +3 +3$`, stdout.String())
	require.Regexp(t, `(?m)^gave up +0 +0 +0$`, stdout.String())
	require.Regexp(t, `(?m)^free in the end +3 +3 +3$`, stdout.String())
}

func TestWrongUsageIsExplained(t *testing.T) {
	for _, args := range [][]string{
		{"more"}, {"-unknown"}, {"-clients=0"}, {"-permits=0"}, {"-hold=-1s"}, {"-patience=0"}, {"-patience=soon"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, cli.ExitUsage, run(args, &stdout, &stderr), "%v", args)
		require.Empty(t, stdout.String(), "%v", args)
		require.Contains(t, stderr.String(), "-patience", "%v", args)
	}
	require.Equal(t, cli.ExitOK, run([]string{"-help"}, io.Discard, io.Discard))
}

func TestUnwritableOutputIsAFailure(t *testing.T) {
	var stderr bytes.Buffer
	require.Equal(t, cli.ExitFailed, run([]string{"-clients=1", "-hold=0"}, clitest.DiskFull, &stderr))
	require.Contains(t, stderr.String(), "disk full")
}
