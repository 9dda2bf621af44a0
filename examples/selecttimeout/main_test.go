package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/examples/internal/cli"
	"github.com/farad-go/farad/examples/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	if clitest.IsProgram() {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// each runs a test for each way.
func each(t *testing.T, test func(t *testing.T, run func(context.Context, options) result)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { test(t, w.run) })
	}
}

func TestThePatientAreAllServed(t *testing.T) {
	each(t, func(t *testing.T, run func(context.Context, options) result) {
		o := options{clients: 7, permits: 2, hold: time.Millisecond, patience: time.Hour}
		r := run(t.Context(), o)
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
	each(t, func(t *testing.T, run func(context.Context, options) result) {
		for range rounds {
			o := options{clients: 40, permits: 3, hold: time.Millisecond, patience: 2 * time.Millisecond}
			r := run(t.Context(), o)
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
	code := run(t.Context(), []string{"-clients=3", "-permits=3", "-hold=1ms", "-patience=1h"}, &stdout, &stderr)
	require.Equal(t, cli.ExitOK, code, "%s", &stderr)
	require.Empty(t, stderr.String())
	require.Regexp(t, `(?m)^client +select +rt.Select +rt.Timeout$`, stdout.String())
	for _, client := range "123" {
		require.Regexp(t, `(?m)^`+string(client)+`( +served [\d.]+m?s){3}$`, stdout.String())
	}
	require.Regexp(t, `(?m)^served +3 +3 +3$`, stdout.String())
	require.Regexp(t, `(?m)^gave up +0 +0 +0$`, stdout.String())
	require.Regexp(t, `(?m)^free at end +3 +3 +3$`, stdout.String())
	require.NotContains(t, stdout.String(), "stopped")
}

func TestInterruptEndsTheProgram(t *testing.T) {
	code, _, errs := clitest.Interrupt(t, "-hold=1m", "-patience=1m")
	require.Equal(t, cli.ExitInterrupted, code)
	require.Equal(t, "stopped early: interrupted\n", errs)
}

func TestWrongUsageIsExplained(t *testing.T) {
	for arg, want := range map[string]string{
		"more":           `there is nothing to be done with "more"`,
		"-unknown":       "there is no flag -unknown",
		"-clients=0":     `-clients cannot be "0": want a whole number from 1 to 10000`,
		"-permits=0":     `-permits cannot be "0": want a whole number from 1 to 10000`,
		"-hold=-1s":      `-hold cannot be "-1s": want a time from 0s to 24h`,
		"-patience=0":    `-patience cannot be "0": want a time from 1ms to 24h`,
		"-patience=soon": `-patience cannot be "soon": want a time from 1ms to 24h, such as`,
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, cli.ExitUsage, run(t.Context(), []string{arg}, &stdout, &stderr), arg)
		require.Empty(t, stdout.String(), arg)
		require.Contains(t, stderr.String(), "selecttimeout: "+want)
	}
	var stdout bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"-help"}, &stdout, io.Discard))
	require.Contains(t, stdout.String(), "Selecttimeout has many clients")
}

func TestUnwritableOutputIsAFailure(t *testing.T) {
	var stderr bytes.Buffer
	require.Equal(t, cli.ExitFailed, run(t.Context(), []string{"-clients=1", "-hold=0"}, clitest.DiskFull, &stderr))
	require.Contains(t, stderr.String(), "disk full")
}
