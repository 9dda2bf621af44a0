package main

import (
	"bytes"
	"context"
	"io"
	"strings"
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

// However they wait, the baton goes round, in order, and is in one hand.
func TestTheBatonGoesRound(t *testing.T) {
	for _, w := range ways {
		for _, runners := range []int{2, 7, 200} {
			var r result
			// A slow machine may not have begun when a short time is over.
			for d := 20 * time.Millisecond; r.passes() == 0 && d < 10*time.Second; d *= 4 {
				r = race(t.Context(), options{runners: runners, time: d}, w.ring(runners))
			}
			require.NoError(t, r.check(), "%s, %d", w.name, runners)
			require.Positive(t, r.passes(), "%s, %d", w.name, runners)
		}
	}
}

// With a key, or a number, a pass wakes one. (A runner looks up to three times: before it waits,
// when it can be woken, and when it is woken. Runners that wait at the end have looked twice. Now
// and then a bucket's neighbour looks once more, but not in every race.)
func TestOnlyOneIsWoken(t *testing.T) {
	const runners = 100
	for _, w := range ways[1:] {
		var r result
		most := int64(-1)
		for try := 0; r.looks > most && try < 5; try++ {
			r = race(t.Context(), options{runners: runners, time: 50 * time.Millisecond}, w.ring(runners))
			require.NoError(t, r.check())
			most = 3*r.passes() + 2*runners
		}
		require.LessOrEqual(t, r.looks, most, w.name)
	}
}

func TestWhatIsWrongIsFound(t *testing.T) {
	require.NoError(t, result{runs: []int64{2, 2, 1}}.check())
	require.ErrorContains(t, result{runs: []int64{2, 1, 2}}.check(), "runner 2 has run 2 times")
	require.ErrorContains(t, result{runs: []int64{3, 1, 1}}.check(), "runner 1 has run 1 times")
	require.ErrorContains(t, result{runs: []int64{1, 1}, clash: 4}.check(), "in two hands, 4 times")
}

func TestTable(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"-runners", "5", "-time", "20ms"}, &out, &errs))
	require.Empty(t, errs.String())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 4+len(ways))
	require.Equal(t, "5 runners pass a baton round.", lines[0])
	for i, w := range ways {
		require.Regexp(t, "^ *"+w.name+` +[\d,]+ +[\d.]+ +\d+ *$`, lines[4+i])
	}

	out.Reset()
	require.NoError(t, writeTable(&out, options{runners: 1000}, []result{
		{
			runs:  []int64{1234, 1233},
			looks: 1_234_000,
			time:  time.Second,
		}, {runs: []int64{0}}, {runs: []int64{4_567_890}, time: 2 * time.Second},
	}))
	clitest.RequireWidth(t, out.String(), 40)
}

func TestUsage(t *testing.T) {
	var help bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"-h"}, &help, io.Discard))
	require.Contains(t, help.String(), "Baton has runners in a ring")
	for want, args := range map[string][]string{
		`there is nothing to be done with "more"`:                      {"more"},
		`-runners cannot be "1": want a whole number from 2 to 100000`: {"-runners", "1"},
		`-time cannot be "0s": want a time from 1ms to 24h`:            {"-time", "0s"},
		"there is no flag -x":                                          {"-x"},
	} {
		var errs bytes.Buffer
		require.Equal(t, cli.ExitUsage, run(t.Context(), args, io.Discard, &errs))
		require.Contains(t, errs.String(), "baton: "+want)
	}
}

// The table is of what has been so far.
func TestEndsEarly(t *testing.T) {
	var out bytes.Buffer
	// A slow machine may not have begun when a short time is over.
	for d := 50 * time.Millisecond; !strings.Contains(out.String(), ways[0].name); d *= 4 {
		require.Less(t, d, time.Minute)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(d, func() { cancel(cli.ErrInterrupted) })
		var errs bytes.Buffer
		code := run(ctx, []string{"-time=24h", "-runners=3"}, &out, &errs)
		require.Equal(t, cli.ExitInterrupted, code)
		require.Equal(t, "stopped early: interrupted\n", errs.String())
	}
	require.NotContains(t, out.String(), ways[1].name, "it had not begun")

	code, _, stderr := clitest.Interrupt(t, "-time=1m")
	require.Equal(t, cli.ExitInterrupted, code)
	require.Equal(t, "stopped early: interrupted\n", stderr)
}
