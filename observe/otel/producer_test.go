package otel

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/farad-go/farad/observe"
)

var (
	at    = time.Unix(1_800_000_100, 0)
	since = time.Unix(1_800_000_000, 0)
)

func snapshot() *observe.Snapshot {
	return &observe.Snapshot{
		At: at,
		Locks: []observe.Lock{{
			ID: 1, Name: "database", Kind: "semaphore.Semaphore", Since: since,
			Size: 10, Free: 3, Held: 7, Waiting: 2,
			Counts: observe.Counts{Acquired: 100, Contended: 20, TimedOut: 4},
			Wait:   observe.Histogram{Count: 3, Sum: 3 * time.Second, First: -2, Buckets: []uint64{1, 0, 2}},
		}, {ID: 2, Name: "users", Kind: "mutex.Mutex", Since: since, Size: 1, Held: 1}},
		Leaks:      []observe.Leak{{}},
		Suspicions: []observe.Suspicion{{Why: observe.LongHold}},
		Tasks:      []observe.Task{{Executor: "jobs", State: "waiting"}},
	}
}

// collect does what an exporter does.
func collect(t *testing.T, p metric.Producer) map[string]metricdata.Metrics {
	t.Helper()
	reader := metric.NewManualReader(metric.WithProducer(p))
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	defer func() { require.NoError(t, provider.Shutdown(t.Context())) }()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	byName := map[string]metricdata.Metrics{}
	for _, scope := range all.ScopeMetrics {
		require.Equal(t, "github.com/farad-go/farad/observe/otel", scope.Scope.Name)
		for _, m := range scope.Metrics {
			require.NotContains(t, byName, m.Name, "one metric has one name")
			byName[m.Name] = m
		}
	}
	return byName
}

func of(more ...attribute.KeyValue) attribute.Set {
	return attribute.NewSet(append([]attribute.KeyValue{
		attribute.String("farad.lock.name", "database"), attribute.String("farad.lock.kind", "semaphore.Semaphore"),
	}, more...)...)
}

func TestAReaderGetsTheHistogramsAsTheyAre(t *testing.T) {
	m := collect(t, &producer{read: snapshot})["farad.lock.wait_time"]
	require.Equal(t, "s", m.Unit)
	h := m.Data.(metricdata.ExponentialHistogram[float64])
	require.Len(t, h.DataPoints, 2)
	metricdatatest.AssertEqual(t, metricdata.ExponentialHistogramDataPoint[float64]{
		Attributes: of(), StartTime: since, Time: at, Count: 3, Sum: 3, Scale: 2,
		PositiveBucket: metricdata.ExponentialBucket{Offset: -3, Counts: []uint64{1, 0, 2}},
	}, h.DataPoints[0])
	// Bucket i there is of (2^(i/4), 2^((i+1)/4)].
	for i := range h.DataPoints[0].PositiveBucket.Counts {
		theirs := math.Pow(2, float64(int(h.DataPoints[0].PositiveBucket.Offset)+i+1)/4)
		ours := observe.Histogram{Count: 1, Buckets: []uint64{1}, First: -2 + i}
		require.InEpsilon(t, theirs, ours.Quantile(1).Seconds(), 1e-8)
	}
}

func TestAReaderGetsTheNumbers(t *testing.T) {
	all := collect(t, &producer{read: snapshot})
	for _, want := range []struct {
		name  string
		grows bool
		value int64
		more  []attribute.KeyValue
	}{
		{"farad.lock.permit.count", false, 3, []attribute.KeyValue{attribute.String("farad.lock.permit.state", "idle")}},
		{"farad.lock.permit.count", false, 7, []attribute.KeyValue{attribute.String("farad.lock.permit.state", "used")}},
		{"farad.lock.permit.max", false, 10, nil},
		{"farad.lock.pending_requests", false, 2, nil},
		{"farad.lock.timeouts", true, 4, nil},
		{"farad.lock.acquires", true, 100, nil},
		{"farad.lock.contended", true, 20, nil},
		{"farad.lock.failures", true, 4, []attribute.KeyValue{attribute.String("farad.lock.failure.reason", "timed_out")}},
	} {
		sum, ok := all[want.name].Data.(metricdata.Sum[int64])
		require.True(t, ok, want.name)
		require.Equal(t, want.grows, sum.IsMonotonic, want.name)
		require.Equal(t, metricdata.CumulativeTemporality, sum.Temporality)
		set, found := of(want.more...), false
		for _, p := range sum.DataPoints {
			if p.Attributes.Equals(&set) {
				found = true
				require.Equal(t, want.value, p.Value, want.name)
				require.Equal(t, since, p.StartTime)
				require.Equal(t, at, p.Time)
			}
		}
		require.True(t, found, want.name)
	}
	for name, value := range map[string]int64{
		"farad.deadlocks": 0, "farad.leaks": 1, "farad.suspicions": 1, "farad.tasks": 1,
	} {
		require.Equal(t, value, all[name].Data.(metricdata.Sum[int64]).DataPoints[0].Value, name)
	}
}

func TestTheProducerReadsWhatIsObserved(t *testing.T) {
	require.Contains(t, collect(t, NewProducer()), "farad.deadlocks")
}
