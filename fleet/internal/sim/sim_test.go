package sim

import (
	"flag"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/internal/line"
)

var only = flag.Int("seed", -1, "run this seed alone, and print its schedule")

// Worlds are small and end soon: most of the time of the collector would be for nothing.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1600)
	os.Exit(m.Run())
}

// TestSeeds runs random worlds. A seed that fails prints its schedule.
func TestSeeds(t *testing.T) {
	for kind, quick := range []int{800, 500, 400, 150, 1200, 400, 300, 400} {
		t.Run(Kinds[kind], func(t *testing.T) {
			t.Parallel()
			n := quick
			switch {
			case testing.Short():
				n /= 8
			case os.Getenv("FARAD_STRESS") != "":
				n *= 30
			}
			var sum Result
			for seed := range n {
				if *only >= 0 {
					seed = *only
				}
				c := Random(kind, uint64(seed))
				r := Run(c, *only >= 0)
				if r.Failure != "" {
					r = Run(c, true)
				}
				if r.Failure != "" || *only >= 0 {
					last := r.Schedule[max(0, len(r.Schedule)-200):]
					t.Logf("seed %d: %v\n%s", seed, &c, strings.Join(last, "\n"))
				}
				require.Empty(t, r.Failure, "again: go test -run TestSeeds/%s -seed %d", Kinds[kind], seed)
				if *only >= 0 {
					return
				}
				sum.Writes += r.Writes
				sum.Losses += r.Losses
				sum.Overlaps += r.Overlaps
				sum.Refused += r.Refused
				sum.Steps += r.Steps
				sum.Turns = max(sum.Turns, r.Turns)
				sum.WaitUsed = max(sum.WaitUsed, r.WaitUsed)
				sum.Entries = max(sum.Entries, r.Entries)
				sum.Restores += r.Restores
				sum.Merges += r.Merges
			}
			t.Logf("%+v", sum)
			if kind == 2 {
				require.NotZero(t, sum.Overlaps, "the faults are none without overlaps that tokens prevent")
				require.NotZero(t, sum.Refused)
			}
		})
	}
}

// TestFairAndCheap states what blocks cost and how they divide the time, in worlds where everybody
// asks all the time.
func TestFairAndCheap(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const ms = time.Millisecond
	for _, tt := range []struct {
		hold, tenure   time.Duration
		writes, served float64 // at most for each request; at least per permit and second
	}{
		{0, ms, 0.35, 1500},
		{ms, 0, 2.05, 550},
		{ms, ms, 1.05, 750},
		{ms, 5 * ms, 0.36, 880},
		{ms, 20 * ms, 0.11, 940},
		{50 * ms, 20 * ms, 2.6, 18},
	} {
		for _, size := range []int64{1, 4, line.Everyone} {
			for _, processes := range []int{3, 20} {
				c := Config{
					Seed: 1, Size: size, Processes: processes, Goroutines: 8, Largest: 1,
					Writers: 0.1, Length: 2 * time.Second,
					Tenure: tt.tenure, Hold: tt.hold, Steady: true, TTL: 5 * time.Second,
					Delay: 500 * time.Microsecond, Look: 200 * time.Microsecond,
				}
				if tt.hold == 0 {
					c.Think, c.Length = 200*time.Microsecond, 200*ms
				}
				r := Run(c, false)
				require.Empty(t, r.Failure)
				sum, jain := shares(r.Served[:processes])
				writes := float64(r.Writes) / sum
				perPermit := sum / c.Length.Seconds() / float64(min(size, 8*int64(processes)))
				t.Logf("size %d, %d processes, held %v, tenure %v: %.0f/s, %.3f writes, Jain %.3f",
					size, processes, tt.hold, tt.tenure, sum/c.Length.Seconds(), writes, jain)
				most, least := tt.writes, 0.95
				if size == line.Everyone {
					most = max(most, 0.5) // readers yield to each writer
				}
				require.LessOrEqual(t, writes, most)
				if tt.tenure == 0 || size == line.Everyone && tt.hold > tt.tenure {
					least = 0.85
				}
				require.GreaterOrEqual(t, jain, least)
				if size != line.Everyone {
					require.GreaterOrEqual(t, perPermit, tt.served)
				}
			}
		}
	}
}

// shares returns how many requests were served, and Jain's index over the processes.
func shares(served []int) (sum, jain float64) {
	var squares float64
	for _, n := range served {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	return sum, sum * sum / squares / float64(len(served))
}

// TestACrowdIsServedFairly: in a long line blocks are handed on less often, so that the messages of
// a second have a bound. Each process has its turn in order all the same.
func TestACrowdIsServedFairly(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const ms, processes = time.Millisecond, 60
	c := Config{
		Seed: 1, Size: 4, Processes: processes, Goroutines: 2, Largest: 1, Length: 8 * time.Second,
		Tenure: 20 * ms, Hold: ms, Steady: true, TTL: 5 * time.Second, Delay: ms / 2, Look: ms / 5,
	}
	r := Run(c, false)
	require.Empty(t, r.Failure)
	sum, jain := shares(r.Served[:processes])
	seconds := c.Length.Seconds()
	messages := float64(r.Writes) * processes / seconds
	t.Logf("%.0f served and %.0f messages a second, Jain %.3f", sum/seconds, messages, jain)
	require.Less(t, messages, 10_000.0) // 24,000 without
	require.Greater(t, sum/seconds, 3800.0)
	require.Greater(t, jain, 0.95)
}

// TestMoreEntriesThanATransactionTakes: of goroutines that acquire one after the other each makes
// an entry, if a transaction has no room to merge some. All come back, for a newcomer who wants
// everything and when the process leaves.
func TestMoreEntriesThanATransactionTakes(t *testing.T) {
	const ms = time.Millisecond
	c := Config{
		Seed: 1, Size: 400, Processes: 1, Goroutines: 400, Largest: 1, Length: 600 * ms,
		Tenure: 20 * ms, Hold: 5 * time.Second, Think: 500 * ms, TTL: time.Second, Delay: ms / 10,
		TxnOps: 4,
	}
	w := newWorld(c, false)
	entries := 0
	w.after(int64(c.Length), func() { entries = len(w.store.entries) })
	r := w.run()
	require.Empty(t, r.Failure)
	require.Greater(t, entries, defaultTxnOps)
}

// TestTheDeadReturnTheirPermits: after the TTL from the last renewal.
func TestTheDeadReturnTheirPermits(t *testing.T) {
	for seed := range uint64(20) {
		c := Config{
			Seed: seed, Size: 1, Processes: 2, Goroutines: 1, Largest: 1, Length: 3 * time.Second, Steady: true,
			Tenure: time.Millisecond, Hold: 5 * time.Millisecond, TTL: time.Second, Delay: time.Millisecond,
		}
		w := newWorld(c, false)
		w.Crash = true // no bounds on waits
		crashed, back := int64(0), int64(0)
		var watch func()
		watch = func() {
			switch p, other := w.procs[0], w.procs[1].workers[0]; {
			case crashed == 0 && p.workers[0].holding != nil && other.holding == nil && w.now > 1e8:
				p.alive, p.cut = false, true
				crashed = w.now
			case crashed > 0 && other.holding != nil:
				back = w.now
				return
			}
			w.after(1e5, watch)
		}
		w.after(0, watch)
		r := w.run()
		require.Empty(t, r.Failure)
		require.Positive(t, back)
		require.LessOrEqual(t, time.Duration(back-crashed), c.TTL+10*c.Delay)
	}
}
