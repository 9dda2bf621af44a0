package prometheus

import (
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/observe"
)

func snapshot() *observe.Snapshot {
	pool := observe.Lock{
		Name: "database", Kind: "semaphore.Semaphore", Since: time.Unix(1_800_000_000, 0),
		Size: 10, Free: 3, Held: 7, Waiting: 2, Peak: 5, Unknown: 1,
		Counts: observe.Counts{Acquired: 100, Contended: 20, Tried: 1, TimedOut: 4, Cancelled: 3},
		Wait: observe.Histogram{
			Count: 5, Sum: 3 * time.Second, First: -2, Buckets: []uint64{1, 0, 2, 0, 2}, // to 2^(-2/4), 1 and 2^(2/4) s
		},
	}
	other := pool
	pool.ID, other.ID = 1, 2
	return &observe.Snapshot{
		Locks: []observe.Lock{
			pool, other,
			{ID: 3, Name: "\"quoted\\\n\xff", Kind: "mutex.Mutex", Size: 1, Free: 1},
		},
		Deadlocks:  []observe.Deadlock{{}},
		Suspicions: []observe.Suspicion{{Why: observe.LongWait}, {Why: observe.LongWait}},
		Tasks:      []observe.Task{{Executor: "jobs", State: "waiting"}, {Executor: "jobs", State: "running"}},
		Dropped:    observe.Dropped{Holders: 9},
	}
}

// scrape does what Prometheus does.
func scrape(t *testing.T, accept string) map[string]*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(&collector{read: snapshot})
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()
	request, err := http.NewRequest(http.MethodGet, server.URL, http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Accept", accept)
	answer, err := server.Client().Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	decoder := expfmt.NewDecoder(answer.Body, expfmt.ResponseFormat(answer.Header))
	families := map[string]*dto.MetricFamily{}
	for {
		var f dto.MetricFamily
		err := decoder.Decode(&f)
		if errors.Is(err, io.EOF) {
			return families
		}
		require.NoError(t, err)
		families[f.GetName()] = &f
	}
}

const protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

// find returns the metric of a family whose labels have these values, in any order.
func find(t *testing.T, f *dto.MetricFamily, values ...string) *dto.Metric {
	t.Helper()
	for _, m := range f.GetMetric() {
		var has []string
		for _, l := range m.GetLabel() {
			has = append(has, l.GetValue())
		}
		if len(has) == len(values) && subset(values, has) {
			return m
		}
	}
	require.Failf(t, "no metric", "%v in %v", values, f)
	return nil
}

func subset(want, has []string) bool {
	n := map[string]int{}
	for _, h := range has {
		n[h]++
	}
	for _, w := range want {
		if n[w]--; n[w] < 0 {
			return false
		}
	}
	return true
}

func TestAScrapeHasNativeHistogramsWithTheSameBuckets(t *testing.T) {
	all := scrape(t, protobuf)
	h := find(t, all["farad_lock_wait_seconds"], "database", "semaphore.Semaphore").GetHistogram()
	require.Equal(t, int32(2), h.GetSchema())
	require.Equal(t, uint64(10), h.GetSampleCount(), "of two locks")
	require.InDelta(t, 6, h.GetSampleSum(), 1e-9)
	// As Prometheus reads it: spans of buckets, and differences of their counts.
	counts := map[int32]int64{}
	bucket, n, next := int32(0), int64(0), 0
	for _, span := range h.GetPositiveSpan() {
		bucket += span.GetOffset()
		for range span.GetLength() {
			n += h.GetPositiveDelta()[next]
			next++
			if n > 0 {
				counts[bucket] = n
			}
			bucket++
		}
	}
	require.Equal(t, map[int32]int64{-2: 2, 0: 4, 2: 4}, counts)
	for i := range counts { // Prometheus' bound of schema 2
		ours := observe.Histogram{Count: 1, Buckets: []uint64{1}, First: int(i)}
		require.InEpsilon(t, math.Pow(2, float64(i)/4), ours.Quantile(1).Seconds(), 1e-8)
	}
	require.Equal(t, int64(1_800_000_000), h.GetCreatedTimestamp().GetSeconds())
}

func TestAScrapeHasTheNumbers(t *testing.T) {
	for _, accept := range []string{protobuf, "text/plain", "application/openmetrics-text"} {
		all := scrape(t, accept)
		pool := []string{"database", "semaphore.Semaphore"}
		require.Equal(t, 20., find(t, all["farad_lock_size"], pool...).GetGauge().GetValue())
		require.Equal(t, 6., find(t, all["farad_lock_free"], pool...).GetGauge().GetValue())
		require.Equal(t, 14., find(t, all["farad_lock_held"], pool...).GetGauge().GetValue())
		require.Equal(t, 4., find(t, all["farad_lock_waiting"], pool...).GetGauge().GetValue())
		require.Equal(t, 5., find(t, all["farad_lock_waiting_peak"], pool...).GetGauge().GetValue())
		require.Equal(t, 1., all["farad_deadlocks"].GetMetric()[0].GetGauge().GetValue())
		require.Equal(t, 2., find(t, all["farad_suspicions"], "long wait").GetGauge().GetValue())
		require.Equal(t, 1., find(t, all["farad_tasks"], "jobs", "waiting").GetGauge().GetValue())
		if accept == "application/openmetrics-text" {
			continue // the decoder gives up the types
		}
		require.Equal(t, 200., find(t, all["farad_lock_acquired_total"], pool...).GetCounter().GetValue())
		require.Equal(t, 40., find(t, all["farad_lock_contended_total"], pool...).GetCounter().GetValue())
		require.Equal(t, 8., find(t, all["farad_lock_failed_total"], append(pool, "timed_out")...).GetCounter().GetValue())
		require.Equal(t, 9., find(t, all["farad_dropped_total"], "holders").GetCounter().GetValue())
		require.Equal(t, uint64(10), find(t, all["farad_lock_wait_seconds"], pool...).GetHistogram().GetSampleCount())
	}
}

func TestTheNamesFollowTheConventions(t *testing.T) {
	problems, err := testutil.CollectAndLint(&collector{read: snapshot})
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestTheCollectorReadsWhatIsObserved(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(NewCollector()))
	require.Error(t, registry.Register(NewCollector()), "twice")
	n, err := testutil.GatherAndCount(registry, "farad_deadlocks")
	require.NoError(t, err)
	require.Equal(t, 1, n)
}
