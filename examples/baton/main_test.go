package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/examples/internal/cli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// However they wait, the baton goes round, in order, and is in one hand.
func TestTheBatonGoesRound(t *testing.T) {
	for _, w := range ways {
		for _, runners := range []int{2, 7, 200} {
			var r result
			// A slow machine may not have begun when a short time is over.
			for d := 50 * time.Millisecond; r.passes() == 0 && d < 10*time.Second; d *= 4 {
				r = race(options{runners: runners, time: d}, w.ring(runners))
			}
			require.NoError(t, r.check(), "%s, %d", w.name, runners)
			require.Positive(t, r.passes(), "%s, %d", w.name, runners)
		}
	}
}

// With a key, or a number, a pass wakes one. (A runner looks up to three times: before it waits, when it can be woken, and woken; those who wait
// at the end have looked twice. Now and then a bucket's neighbour has one look once more, but not in every race.)
func TestOnlyOneIsWoken(t *testing.T) {
	const runners = 100
	for _, w := range ways[1:] {
		var r result
		most := int64(-1)
		for try := 0; r.looks > most && try < 5; try++ {
			r = race(options{runners: runners, time: 200 * time.Millisecond}, w.ring(runners))
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
	require.Equal(t, cli.ExitOK, run([]string{"-runners", "5", "-time", "20ms"}, &out, &errs))
	require.Empty(t, errs.String())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3+len(ways))
	require.Equal(t, "5 runners pass a baton round for 20ms.", lines[0])
	for i, w := range ways {
		require.Equal(t, w.name, strings.Fields(lines[3+i])[0])
	}
}

func TestUsage(t *testing.T) {
	require.Equal(t, cli.ExitOK, run([]string{"-h"}, io.Discard, io.Discard))
	for want, args := range map[string][]string{
		"unexpected argument": {"more"},
		"at least 2":          {"-runners", "1"},
		"must be positive":    {"-time", "0s"},
		"not defined":         {"-x"},
	} {
		var errs bytes.Buffer
		require.Equal(t, cli.ExitUsage, run(args, io.Discard, &errs))
		require.Contains(t, errs.String(), want)
	}
}
