package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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

// With every lock no turn is lost. With the locks that promise it every goroutine has turns.
func TestEveryTurnCounts(t *testing.T) {
	for _, o := range []options{
		{goroutines: 1, time: 20 * time.Millisecond},
		{goroutines: 8, time: 50 * time.Millisecond, inside: 1},
		{goroutines: 24, time: 50 * time.Millisecond, inside: 100},
	} {
		for _, k := range kinds {
			r := newContest(k, o).run(t.Context())
			for longer := o; k.name != "sync.Mutex" && slices.Min(r.turns) == 0 && longer.time < 10*time.Second; {
				longer.time *= 4 // a slow machine may not have come to all of them
				r = newContest(k, longer).run(t.Context())
			}
			require.NoError(t, r.check(), "%s, %+v", k.name, o)
			require.Len(t, r.turns, o.goroutines)
			require.Positive(t, r.shared)
			require.GreaterOrEqual(t, r.elapsed, o.time)
			require.Positive(t, r.longestWait)
			require.LessOrEqual(t, r.longestWait, r.elapsed)
			if k.name != "sync.Mutex" {
				require.Positive(t, slices.Min(r.turns), "%s, %+v: %v", k.name, o, r.turns)
			}
			if o.goroutines == 1 {
				require.Zero(t, r.most)
			}
		}
	}
}

func TestWhatIsWrongIsFound(t *testing.T) {
	for want, r := range map[string]result{
		"had 6 turns, and the counter they share says 5":                    {shared: 5, turns: []int64{1, 2, 3}},
		"others have had 6 turns between two of one goroutine, of 6 in all": {shared: 6, turns: []int64{1, 2, 3}, most: 6},
		"unfair": {kind: kind{check: func(result) error { return errors.New("unfair") }}},
	} {
		require.ErrorContains(t, r.check(), want)
	}
	require.NoError(t, result{shared: 6, turns: []int64{1, 2, 3}, most: 5}.check())

	defer func(all []kind) { kinds = all }(kinds)
	kinds = []kind{{
		"unfair", func() sync.Locker { return new(sync.Mutex) },
		func(result) error { return errors.New("it is unfair") },
	}}
	var errs bytes.Buffer
	require.Equal(t, cli.ExitFailed, run(t.Context(), []string{"-for", "20ms"}, io.Discard, &errs))
	require.Equal(t, "capacitor: unfair: it is unfair\n", errs.String())
}

func TestFigures(t *testing.T) {
	r := result{elapsed: 2 * time.Second, shared: 1000, turns: []int64{300, 600, 100}}
	require.InDelta(t, 500, r.perSecond(), 1e-9)
	require.InDelta(t, 2e6, r.nanoseconds(), 1e-9)
	require.InDelta(t, 1.0/6, r.fairness(), 1e-9)
	require.Zero(t, result{turns: []int64{0}}.fairness(), "no goroutine has had a turn")

	c := newContest(kinds[0], options{goroutines: 2, time: time.Second})
	require.Zero(t, c.scale(0))
	c.runners[1].turns.Store(50)
	require.EqualValues(t, 5000, c.scale(0))
	require.EqualValues(t, 100, c.scale(time.Second/2))
	require.EqualValues(t, 50, c.scale(2*time.Second))
}

func TestTable(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, cli.ExitOK,
		run(t.Context(), []string{"-goroutines", "5", "-for", "50ms", "-inside", "2"}, &out, &errs),
		"%s", &errs)
	require.Empty(t, errs.String(), "a buffer is not a terminal")
	require.Contains(t, out.String(), "5 goroutines, 50ms for each lock, 2 steps inside\n\n")
	for _, k := range kinds {
		require.Regexp(
			t,
			`(?m)^ *`+regexp.QuoteMeta(k.name)+` +[\d,]+ +[\d.]+ +[01]\.\d\d +[\d.]+[nµm]?s +[\d,]+$`,
			out.String(),
		)
	}
}

func TestLocksAreChosen(t *testing.T) {
	var out bytes.Buffer
	require.Equal(t, cli.ExitOK,
		run(t.Context(), []string{"-for", "1ms", "-locks", "mutex.Mutex,sync.Mutex"}, &out, io.Discard))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 5, "and nothing was observed")
	require.Equal(t, "mutex.Mutex", strings.Fields(lines[3])[0])
	require.Equal(t, "sync.Mutex", strings.Fields(lines[4])[0])
}

func TestChartIsDrawnOnRequest(t *testing.T) {
	var out, errs bytes.Buffer
	var frames []string
	// A slow machine may draw but once in a short time.
	for d := 150 * time.Millisecond; len(frames) < 2 && d < 20*time.Second; d *= 4 {
		errs.Reset()
		args := []string{"-goroutines", "3", "-for", d.String(), "-progress"}
		require.Equal(t, cli.ExitOK, run(t.Context(), args, &out, &errs))
		for _, k := range kinds {
			require.Contains(t, errs.String(), "\n"+k.name+"\n")
		}
		last := errs.String()[strings.LastIndex(errs.String(), "\n"+kinds[len(kinds)-1].name):]
		frames = strings.Split(last, "\x1b[J") // each erases the one before
	}
	require.Greater(t, len(frames), 1, "it moves")
	bars := regexp.MustCompile(`(?m)([123]) (█*)( *) [\d,]+$`).FindAllStringSubmatch(frames[len(frames)-1], -1)
	require.Len(t, bars, 3, "the last frame stays")
	full := false
	for i, b := range bars {
		require.Equal(t, strconv.Itoa(i+1), b[1])
		full = full || b[2] != "" && len(b[3]) < 10
	}
	require.True(t, full, "in the end the longest bar goes all the way: %q", bars)
}

// The table is of what has been so far.
func TestEndsEarly(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.ErrInterrupted)
	var out, errs bytes.Buffer
	require.Equal(t, cli.ExitInterrupted, run(ctx, nil, &out, &errs))
	require.Contains(t, errs.String(), "stopped early: interrupted")
	require.NotContains(t, out.String(), kinds[0].name, "it had not begun")

	if runtime.GOOS == "windows" {
		t.Skip("no such signals")
	}
	for signal, code := range map[os.Signal]int{
		os.Interrupt:    cli.ExitInterrupted,
		syscall.SIGTERM: cli.ExitTerminated,
	} {
		cmd := clitest.Command(t, "-for=1m", "-progress", "-goroutines=2")
		var out bytes.Buffer
		cmd.Stdout = &out
		stderr, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(stderr)
		begun := false
		for !begun && lines.Scan() {
			begun = strings.Contains(lines.Text(), "█")
		}
		require.True(t, begun)
		require.NoError(t, cmd.Process.Signal(signal))
		_, err = io.Copy(io.Discard, stderr)
		require.NoError(t, err)
		exit, ok := errors.AsType[*exec.ExitError](cmd.Wait())
		require.True(t, ok)
		require.Equal(t, code, exit.ExitCode())
		require.Contains(t, out.String(), kinds[0].name)
		require.NotContains(t, out.String(), kinds[1].name)
	}
}

func TestUsage(t *testing.T) {
	var help bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"-h"}, &help, io.Discard))
	require.Contains(t, help.String(), "Capacitor has many goroutines compete for a lock")
	for want, args := range map[string][]string{
		`there is nothing to be done with "more"`:                                   {"more"},
		`-goroutines cannot be "0": want a whole number from 1 to 10000`:            {"-goroutines", "0"},
		`-for cannot be "0s": want a time from 1ms to 24h`:                          {"-for", "0s"},
		`-inside cannot be "-1": want a whole number from 0 to 1000000`:             {"-inside", "-1"},
		`-locks cannot be "sync.Mutex,Mutex": want some of sync.Mutex,mutex.Mutex,`: {"-locks", "sync.Mutex,Mutex"},
		"there is no flag -x": {"-x"},
	} {
		var errs bytes.Buffer
		require.Equal(t, cli.ExitUsage, run(t.Context(), args, io.Discard, &errs))
		require.Contains(t, errs.String(), "capacitor: "+want)
	}
}

func TestUnwritableOutputIsAFailure(t *testing.T) {
	var errs bytes.Buffer
	require.Equal(t, cli.ExitFailed, run(t.Context(), []string{"-for", "1ms"}, clitest.DiskFull, &errs))
	require.Contains(t, errs.String(), "disk full")
}
