package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWhatAnAcquireCosts counts what docs/guides/fleet.md says under Costs: writes, and how many
// messages follow each other, each way, until the permit is there.
func TestWhatAnAcquireCosts(t *testing.T) {
	const ms = time.Millisecond
	for seed := range uint64(20) {
		w := newWorld(Config{
			Seed: seed, Size: 1, Processes: 2, Largest: 1, Steady: true, Tenure: 20 * ms, Hold: 5 * ms,
			Length: time.Second, TTL: time.Second, Delay: ms,
		}, false)
		steps := 0
		step := func(at time.Duration, what string, process, messages, writes int) {
			w.after(int64(at), func() {
				g, before := &worker{p: w.procs[process]}, w.store.commits
				w.procs[process].request(&request{by: g, n: 1, since: w.now})
				w.after(int64(messages)*int64(ms), func() { require.NotNil(t, g.holding, what) })
				w.after(int64(15*ms), func() {
					require.Nil(t, g.holding, what)
					require.Equal(t, writes, w.store.commits-before, what)
					steps++
				})
			})
		}
		step(50*ms, "the first of a line", 0, 2, 1) // a round trip
		step(70*ms, "from a block", 0, 0, 0)
		step(90*ms, "what another process has idle", 1, 4, 2) // ask, event, return, event
		step(110*ms, "from a block", 1, 0, 0)
		step(130*ms, "back again", 0, 4, 2)
		var rev int64
		w.after(int64(150*ms), func() { rev = w.store.rev })
		w.after(int64(990*ms), func() { require.Equal(t, rev, w.store.rev, "renewals and quiet write nothing") })
		r := w.run()
		require.Empty(t, r.Failure)
		require.Equal(t, 5, steps)
	}
}
