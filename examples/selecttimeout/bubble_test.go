//go:build !interleave

package main

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/examples/internal/cli"
)

// In a bubble a computation takes no time, so that every wait is exactly what holding and patience
// make of it.
func TestWaitsAreExactlyThoseOfTheQueue(t *testing.T) {
	const ms = time.Millisecond
	o := options{clients: 8, permits: 2, hold: 50 * ms, patience: 120 * ms}
	want := []outcome{
		{served, 0},
		{served, 0},
		{served, 50 * ms},
		{served, 50 * ms},
		{served, 100 * ms},
		{served, 100 * ms},
		{gaveUp, 120 * ms},
		{gaveUp, 120 * ms},
	}
	each(t, func(t *testing.T, run func(context.Context, options) result) {
		synctest.Test(t, func(t *testing.T) {
			r := run(t.Context(), o)
			require.NoError(t, r.check(o))
			// Which goroutine comes first is the scheduler's affair.
			slices.SortFunc(r.outcomes, func(a, b outcome) int { return int(a.after - b.after) })
			require.Equal(t, want, r.outcomes)
			require.EqualValues(t, 2, r.most)
		})
	})
}

// Waiting and served clients leave at once when the user stops the program.
func TestAllLeaveWhenItEndsEarly(t *testing.T) {
	const ms = time.Millisecond
	o := options{clients: 6, permits: 2, hold: 50 * ms, patience: 120 * ms}
	want := []outcome{
		{served, 0},
		{served, 0},
		{served, 50 * ms},
		{served, 50 * ms},
		{stopped, 75 * ms},
		{stopped, 75 * ms},
	}
	each(t, func(t *testing.T, run func(context.Context, options) result) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 75*ms)
			defer cancel()
			start := time.Now()
			r := run(ctx, o)
			require.Equal(t, 75*ms, time.Since(start))
			require.NoError(t, r.check(o))
			slices.SortFunc(r.outcomes, func(a, b outcome) int { return int(a.after - b.after) })
			require.Equal(t, want, r.outcomes)

			cancel()
			r = run(ctx, o)
			require.NoError(t, r.check(o), "it ends before it begins")
			require.Zero(t, r.count(gaveUp))
		})
	})
}

// A run that ends early prints what was done, and no permit is lost.
func TestEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cli.ErrInterrupted) })
		var stdout, stderr bytes.Buffer
		code := run(ctx, []string{"-hold=1m", "-patience=1m"}, &stdout, &stderr)
		require.Equal(t, cli.ExitInterrupted, code)
		require.Equal(t, "stopped early: interrupted\n", stderr.String())
		require.Regexp(t, `(?m)^client +select$`, stdout.String(), "the other ways had not begun")
		require.Regexp(t, `(?m)^stopped +6$`, stdout.String())
		require.Regexp(t, `(?m)^free at end +2$`, stdout.String())
	})
}

// Tasks on one worker begin in the order in which they were spawned, and are served in it.
func TestTasksAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options{clients: 5, permits: 1, hold: time.Second, patience: time.Hour}
		r := inTasks(t.Context(), o, waitBySelect)
		require.NoError(t, r.check(o))
		for i, c := range r.outcomes {
			require.Equal(t, outcome{served, time.Duration(i) * time.Second}, c)
		}
	})
}
