package overload

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/table"
)

var short = measure.Timing{Warmup: 2 * time.Millisecond, Window: 5 * time.Millisecond, Limit: 10 * time.Second}

// The server is a real one here, and has each limiter before it once.
func TestEveryWorkloadRuns(t *testing.T) {
	rs := Plan(measure.Everything)
	if testing.Short() {
		rs = Plan(func(name string) bool { return name == "overload/http-lognormal/"+measure.NameFarad })
	}
	var names []string
	require.NoError(t, RunRound(0, rs, short, func(name string) { names = append(names, name) }))
	for _, r := range rs {
		for _, im := range r.Impls {
			require.Contains(t, names, r.String()+"/"+im.Name)
			s := r.Samples[im.Name]
			require.Len(t, s, 1, im.Name)
			require.True(t, len(s[0].Shares) > 1 || s[0].P99Ns > 0)
		}
	}
}

// In virtual time handlers, limiters and semaphores are the real ones, and nothing else takes time.
// So the figures are what the policies make of the load, on any machine; -v prints them. What
// failsafe-go makes of it is not for us to test.
func TestTargetsInVirtualTime(t *testing.T) {
	timing := measure.Timing{Warmup: 200 * time.Millisecond, Window: 500 * time.Millisecond}
	services, rounds := []service{constant, lognormal, exponential}, 5
	if testing.Short() {
		services, rounds = services[:1], 1
	}
	for _, s := range services {
		r := &Result{Samples: make(measure.Samples[Sample]), Bench: floodBy(virtual, s)}
		r.Workload = r.Name
		for round := range rounds {
			for _, im := range r.Impls {
				synctest.Test(t, func(t *testing.T) {
					sample, err := im.run(round, timing)
					require.NoError(t, err)
					r.Samples[im.Name] = append(r.Samples[im.Name], sample)
				})
			}
		}
		for i := range Targets {
			of := &Targets[i]
			if slices.Contains(of.Workloads, r.Workload) && of.Peer != nameFailsafe {
				v := measure.Median(r.Figures(of))
				require.True(t, of.Met(v), "%s: %s %s %s: %v", r.Workload, of.Ours, of.Metric, of.Peer, v)
			}
		}
		w := new(strings.Builder)
		FloodTable([]*Result{r}, new(table.Tally)).WriteRows(w)
		t.Log("\n" + w.String())
	}
}

// virtual is what the server is in virtual time: its handler, and no connections.
func virtual(s service, load float64, by limited, round int, t measure.Timing) (Sample, error) {
	warmup, lasts := slowness*t.Warmup, slowness*t.Window
	rs := arrivals(rand.New(rand.NewPCG(8, uint64(round))), s, load, warmup+lasts)
	h := handler(rs, by)
	flow(rs, func(ctx context.Context, n int) end {
		q := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
		mark(q, n)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		return seen(ctx, w.Code, w.Body.Len())
	}).Wait()
	return summary(rs, warmup, lasts), nil
}

// A flood that is known to the last request.
func TestWhatBecameOfAFlood(t *testing.T) {
	const second = 1000 * time.Millisecond
	rs := []*request{{due: 0, end: answered, took: 9 * second}} // during the warm-up
	for i := range 100 {
		r := &request{due: second, took: time.Duration(i+1) * time.Millisecond, end: answered}
		r.admitted.Store(true)
		rs = append(rs, r)
	}
	for range 50 {
		rs = append(rs, &request{due: second, end: refused}, &request{due: second, end: late})
	}
	rs[1].behind = serviceTime
	require.Equal(t, Sample{
		Goodput: 100 / capacity, Refused: 0.25, Late: 0.25, Behind: 0.005, Requests: 200,
		P50Ns: (51 * time.Millisecond).Nanoseconds(), P99Ns: (100 * time.Millisecond).Nanoseconds(),
	}, summary(rs, second, second))
	require.Equal(t, patience.Nanoseconds(), summary(rs[:1], second, second).P99Ns)
}

// All implementations of a round get the same requests, and their mean is what it should be.
func TestFloodsAreAsLargeAsTheySay(t *testing.T) {
	for _, s := range []service{constant, lognormal, exponential} {
		some := func() []*request { return arrivals(rand.New(rand.NewPCG(1, 2)), s, twice, 100*time.Second) }
		rs, again := some(), some()
		require.Len(t, again, len(rs))
		require.InEpsilon(t, twice*capacity*100, len(rs), 0.02)
		var sum time.Duration
		for i, r := range rs {
			sum += r.needs
			require.Equal(t, r.needs, again[i].needs)
			require.Equal(t, r.due, again[i].due)
		}
		require.InEpsilon(t, serviceTime, sum/time.Duration(len(rs)), 0.02)
	}
}

func TestUnfairness(t *testing.T) {
	w := &Bench{weights: []int{1, 3}}
	require.Zero(t, w.Unfairness(Sample{Shares: []float64{0.25, 0.75}}))
	require.InDelta(t, 0.2, w.Unfairness(Sample{Shares: []float64{0.3, 0.7}}), 1e-9)
	require.InDelta(t, 1, w.Unfairness(Sample{Shares: []float64{0, 1}}), 1e-9)
}

// What a run leaves finds its workload again, and what the program no longer has is kept.
func TestOldRunsAreLinked(t *testing.T) {
	rs := []*Result{
		{Workload: "weights-1-2-4", Samples: measure.Samples[Sample]{
			measure.NameFarad: {{Shares: []float64{0.1, 0.3, 0.6}, Granted: []float64{0.2, 0.2, 0.6}}}, "another": {{Shares: []float64{0, 0, 1}}},
		}},
		{Workload: "gone", Samples: measure.Samples[Sample]{"it": {{Shares: []float64{1}}}}},
	}
	Link(rs)
	require.InDelta(t, 0.3, rs[0].Unfairness(rs[0].Samples[measure.NameFarad][0]), 1e-9)
	require.Len(t, rs[0].Impls, 2)
	require.Equal(t, "gone", rs[1].Name)
	w := new(strings.Builder)
	sum := new(table.Tally)
	TenantTable(rs, sum).WriteRows(w)
	require.Contains(t, w.String(), "| weights-1-2-4 | farad | 0.100 : 0.300 : 0.600 | 0.200 : 0.200 : 0.600 | 0.30 ≤ 0.03 missed |")
	require.Contains(t, w.String(), "| weights-1-2-4 | another | 0.000 : 0.000 : 1.000 |  | 1.00 |")
	require.Equal(t, 1, sum.Missed)
}
