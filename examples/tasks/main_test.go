package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/examples/internal/cli"
	"github.com/farad-go/farad/examples/internal/cli/clitest"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

func TestMain(m *testing.M) {
	if clitest.IsProgram() {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

func TestEveryKindTakesAllTurns(t *testing.T) {
	for _, o := range []options{
		{tasks: 1, permits: 1, rounds: 1, workers: 1},
		{tasks: 300, permits: 1, rounds: 7, workers: 1},
		{tasks: 300, permits: 3, rounds: 7, workers: 2},
		{tasks: 5, permits: 50, rounds: 100, workers: 4},
	} {
		for _, k := range kinds {
			r, err := measure(t.Context(), k, o, io.Discard)
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
		r, err := measure(t.Context(), k, o, io.Discard)
		require.NoError(t, err)
		bytes[k.name] = r.bytes
	}
	require.Greater(t, bytes["poll tasks"], 50.0, "it is there")
	require.Greater(t, bytes["goroutines"], 5*bytes["poll tasks"])
	require.Greater(t, bytes["straight-line tasks"], 5*bytes["poll tasks"], "it has a stack")
}

func TestWhatIsMissingIsFound(t *testing.T) {
	o := options{tasks: 3, permits: 2, rounds: 2, workers: 1}
	idle := kind{
		"idle",
		[2]string{},
		func(_ context.Context, j *job) func() error { // waits as it should, and takes no turn
			futures := make([]waiter.Future, j.tasks)
			for i := range futures {
				j.sem.Bind(&futures[i], 1)
				futures[i].Poll(nil)
			}
			return func() error {
				for i := range futures {
					futures[i].Release()
				}
				return nil
			}
		},
	}
	_, err := measure(t.Context(), idle, o, io.Discard)
	require.ErrorContains(t, err, "0 of 6 turns")

	j := &job{options: o, sem: semaphore.New(1)}
	j.done.Store(6)
	require.ErrorContains(t, j.check(false), "1 of 2 permits are free")
	j.sem.Resize(2)
	require.NoError(t, j.check(false))
}

func TestTheTableComparesAllKinds(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"-tasks=2000", "-rounds=3", "-permits=2", "-workers=2"}, &stdout, &stderr)
	require.Equal(t, cli.ExitOK, code, "%s", &stderr)
	require.Empty(t, stderr.String(), "a buffer is not a terminal")
	require.Contains(t, stdout.String(), "2,000 take 3 turns each on 2 permits\n2 workers, GOMAXPROCS ")
	for _, row := range []string{
		` +poll +straight- +go-`,
		` +tasks +line +routines`,
		`start-up( +[\d.]+[nµm]?s){3}`,
		`all turns( +[\d.]+[nµm]?s){3}`,
		`one turn( +[\d.]+[nµm]?s){3}`,
		`bytes each( +\d+){3}`,
		`speed +[\d.]+ +[\d.]+ +1\.0`,
		`memory +[\d.]+ +[\d.]+ +1\.00`,
	} {
		require.Regexp(t, "(?m)^"+row+"$", stdout.String())
	}
	require.NotContains(t, stdout.String(), "\nturns", "all of them were taken")
}

// With the defaults, and on a slow machine.
func TestTheTableFits40Columns(t *testing.T) {
	o := options{tasks: 100_000, permits: 4, rounds: 20, workers: maxWorkers}
	for _, turns := range []int64{o.turns(), 1_234_567} {
		var results []result
		for _, k := range kinds {
			results = append(results, result{k, 12345 * time.Millisecond, turns, 98765 * time.Millisecond, 2789})
		}
		for n := 1; n <= len(results); n++ {
			var stdout bytes.Buffer
			require.NoError(t, writeTable(&stdout, o, results[:n]))
			clitest.RequireWidth(t, stdout.String(), 40)
			require.Equal(t, turns != o.turns(), strings.Contains(stdout.String(), "1.2M"))
			require.Equal(t, n == len(kinds), strings.Contains(stdout.String(), "speed"))
		}
	}
}

func TestDurationsHaveThreeDigits(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "7ns": 7, "999ns": 999, "1.46µs": 1463, "31.2ms": 31_249_000, "2.93s": 2_928_000_000, "1m38.8s": 98_765_000_000,
	} {
		require.Equal(t, want, short(d))
	}
}

func TestProgressIsDrawnOnRequest(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"-tasks=100", "-rounds=10", "-progress"}, &stdout, &stderr)
	require.Equal(t, cli.ExitOK, code, "%s", &stderr)
	for _, k := range kinds {
		require.Contains(t, stderr.String(), "|  "+k.name)
	}
	last := stderr.String()[strings.LastIndexByte(strings.TrimRight(stderr.String(), "\r"), '\r')+1:]
	require.Empty(t, strings.TrimSpace(last), "the bar is gone in the end")
}

func TestProgressFitsItsTerminalAndTellsNoRateBeforeThereIsOne(t *testing.T) {
	for _, columns := range []int{40, 80} {
		terminal, drawn := clitest.Terminal(t, columns)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(400*time.Millisecond, cancel)
		code := run(ctx, []string{"-tasks=10", "-rounds=1000000"}, io.Discard, terminal)
		require.Equal(t, cli.ExitInterrupted, code)
		out := drawn()
		clitest.RequireWidth(t, out, columns)
		require.Contains(t, out, "|  poll tasks")
		require.NotRegexp(t, `\b0 turns|hr`, out)
	}
}

// The table is of what has been until then, and nothing is lost.
func TestItEndsEarlyWithWhatHasBeen(t *testing.T) {
	defer func(all []kind) { kinds = all }(kinds)
	for _, k := range kinds {
		kinds = []kind{k}
		ctx, cancel := context.WithCancelCause(t.Context())
		var stdout, stderr bytes.Buffer
		errs := clitest.WriterFunc(func(p []byte) (int, error) {
			if strings.Contains(string(p), "|  "+k.name+", ") { // the first turns have been taken
				cancel(cli.ErrInterrupted)
			}
			return stderr.Write(p)
		})
		code := run(ctx, []string{"-tasks=50", "-rounds=1000000", "-progress"}, &stdout, errs)
		cancel(nil)
		require.Equal(t, cli.ExitInterrupted, code, "%s: %s", k.name, &stderr)
		require.Contains(t, stderr.String(), "stopped early: interrupted\n")
		require.Regexp(t, `(?m)^turns +[\d.]+[kM]?$`, stdout.String())
		require.Regexp(t, `(?m)^took +[\d.]+[nµm]?s$`, stdout.String())
	}
}

// lateContext is done some time before it starts the functions that wait for its end, as every
// context is that has to cancel many others.
type lateContext struct{ context.Context }

func (lateContext) AfterFunc(func()) (stop func() bool) { return func() bool { return true } }
func (lateContext) Value(any) any                       { return nil } // is no context of package context

func TestAllMayEndBeforeTheContextHasStartedItsFunctions(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k := kind{start: func(_ context.Context, j *job) func() error {
		var wg sync.WaitGroup
		wg.Go(func() { // leaves as soon as it is its turn
			if j.sem.Acquire(t.Context(), 1) == nil {
				j.sem.Release(1)
			}
		})
		return func() error { wg.Wait(); cancel(); return nil }
	}}
	_, err := measure(lateContext{ctx}, k, options{tasks: 1, permits: 1, rounds: 1}, io.Discard)
	require.NoError(t, err, "the turn is missing because the run has ended early")
}

func TestInterruptEndsTheProgram(t *testing.T) {
	code, _, stderr := clitest.Interrupt(t, "-tasks=100", "-rounds=1000000")
	require.Equal(t, cli.ExitInterrupted, code)
	require.Regexp(t, `^stopped early: interrupted\n(tasks: no turn has been taken yet\n)?$`, stderr)
}

func TestWrongUsageIsExplained(t *testing.T) {
	for arg, want := range map[string]string{
		"more":          `there is nothing to be done with "more"`,
		"-unknown":      "there is no flag -unknown",
		"-tasks=0":      `-tasks cannot be "0": want a whole number from 1 to 10000000`,
		"-permits=0":    `-permits cannot be "0": want a whole number from 1 to 1000000`,
		"-rounds=many":  `-rounds cannot be "many": want a whole number from 1 to 1000000`,
		"-workers=1025": `-workers cannot be "1025": want a whole number from 1 to 1024`,
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, cli.ExitUsage, run(t.Context(), []string{arg}, &stdout, &stderr), arg)
		require.Empty(t, stdout.String(), arg)
		require.Contains(t, stderr.String(), "tasks: "+want)
	}
	var stdout bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"-help"}, &stdout, io.Discard))
	require.Contains(t, stdout.String(), "Tasks lets 100,000 tasks take turns")
}

func TestUnwritableOutputIsAFailure(t *testing.T) {
	var stderr bytes.Buffer
	require.Equal(t, cli.ExitFailed, run(t.Context(), []string{"-tasks=1", "-rounds=1"}, clitest.DiskFull, &stderr))
	require.Contains(t, stderr.String(), "disk full")
}
