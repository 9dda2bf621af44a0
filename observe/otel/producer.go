// Package otel exports what package observe sees as metrics of OpenTelemetry. The locks are
// described to the reader of the SDK, which asks when it needs them:
//
//	import faradotel "github.com/farad-go/farad/observe/otel"
//
//	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(faradotel.NewProducer()))
//	provider := metric.NewMeterProvider(metric.WithReader(reader))
//
// A producer passes on histograms as they are. The instruments of the API could not: they would
// need each single wait.
//
// It is a module of its own, so that programs without OpenTelemetry do not depend on it.
//
// # Metrics
//
// A lock is like a pool, so the names follow the semantic conventions db.client.connection.*, with
// farad.lock instead. All have the attributes farad.lock.name and farad.lock.kind. Locks with the
// same name and kind are one series: their numbers are added up.
//
//	farad.lock.permit.count       permits, by farad.lock.permit.state: idle, used
//	farad.lock.permit.max         permits that there are
//	farad.lock.pending_requests   requests in line
//	farad.lock.timeouts           requests that were given up because their time was over
//	farad.lock.wait_time          of requests that were granted after a wait: s, of samples
//	farad.lock.use_time           from the acquire to the release: s, of samples
//	farad.lock.acquires           requests granted
//	farad.lock.contended          requests that had to wait
//	farad.lock.failures           requests not granted, by farad.lock.failure.reason
//	farad.deadlocks, farad.leaks  reports that are kept
//	farad.suspicions              the same, by farad.suspicion.reason
//	farad.tasks                   tasks of executors, by farad.executor.name and farad.task.state
package otel

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/farad-go/farad/observe"
	"github.com/farad-go/farad/observe/series"
)

// scale is that of observe.Histogram: four buckets for each power of two.
const scale = 2

// A producer reads one snapshot for each collection.
type producer struct {
	read  func() *observe.Snapshot
	book  series.Book
	since time.Time
}

// NewProducer returns a producer of the metrics of all observed locks and tasks, for one reader:
// an option of it is metric.WithProducer. All numbers are cumulative.
func NewProducer() metric.Producer { return &producer{read: observe.Read, since: time.Now()} }

// Produce implements metric.Producer.
func (p *producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	s := p.read()
	m := points{at: s.At, numbers: map[string]*numbers{}, times: map[string]*times{}}
	for _, l := range p.book.Read(s) {
		m.of, m.since = []attribute.KeyValue{
			attribute.String("farad.lock.name", l.Name), attribute.String("farad.lock.kind", l.Kind),
		}, l.Since
		state := func(s string) attribute.KeyValue { return attribute.String("farad.lock.permit.state", s) }
		m.level("farad.lock.permit.count", "{permit}", "Permits by state.", l.Free, state("idle"))
		m.level("farad.lock.permit.count", "{permit}", "Permits by state.", l.Held, state("used"))
		m.level("farad.lock.permit.max", "{permit}", "Permits that there are.", l.Size)
		m.level("farad.lock.pending_requests", "{request}", "Requests in line.", int64(l.Waiting))
		m.count("farad.lock.timeouts", "{timeout}", "Requests whose time was over.", l.Counts.TimedOut)
		m.count("farad.lock.acquires", "{request}", "Requests granted.", l.Counts.Acquired)
		m.count("farad.lock.contended", "{request}", "Requests that had to wait.", l.Counts.Contended)
		for why, n := range series.Failures(l.Counts) {
			m.count("farad.lock.failures", "{request}", "Requests not granted.", n,
				attribute.String("farad.lock.failure.reason", why))
		}
		m.histogram("farad.lock.wait_time", "Waits that ended with a grant, of samples.", &l.Wait)
		m.histogram("farad.lock.use_time", "Times from the acquire to the release, of samples.", &l.Hold)
	}
	m.of, m.since = nil, p.since
	m.level("farad.deadlocks", "{report}", "Deadlocks that are reported.", int64(len(s.Deadlocks)))
	m.level("farad.leaks", "{report}", "Leaks that are reported.", int64(len(s.Leaks)))
	for why, n := range series.Suspicions(s) {
		m.level("farad.suspicions", "{report}", "Suspicions that are reported.", int64(n),
			attribute.String("farad.suspicion.reason", string(why)))
	}
	for of, n := range series.Tasks(s) {
		m.level("farad.tasks", "{task}", "Tasks that have not ended.", int64(n),
			attribute.String("farad.executor.name", of[0]), attribute.String("farad.task.state", of[1]))
	}
	return []metricdata.ScopeMetrics{{
		Scope:   instrumentation.Scope{Name: "github.com/farad-go/farad/observe/otel"},
		Metrics: m.metrics(),
	}}, nil
}

// points collects the points of metrics, by name.
type points struct {
	at, since time.Time
	of        []attribute.KeyValue // attributes of all points of a lock
	order     []string
	numbers   map[string]*numbers
	times     map[string]*times
}

type numbers struct {
	unit, text string
	data       metricdata.Sum[int64]
}

type times struct {
	text string
	data metricdata.ExponentialHistogram[float64]
}

// level adds a point that may fall.
func (p *points) level(name, unit, text string, v int64, more ...attribute.KeyValue) {
	p.number(name, unit, text, v, false, more)
}

// count adds a point that never falls.
func (p *points) count(name, unit, text string, v uint64, more ...attribute.KeyValue) {
	p.number(name, unit, text, int64(v), true, more)
}

func (p *points) number(name, unit, text string, v int64, grows bool, more []attribute.KeyValue) {
	n := p.numbers[name]
	if n == nil {
		n = &numbers{unit: unit, text: text}
		n.data = metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: grows}
		p.numbers[name] = n
		p.order = append(p.order, name)
	}
	n.data.DataPoints = append(n.data.DataPoints, metricdata.DataPoint[int64]{
		Attributes: p.attributes(more), StartTime: p.since, Time: p.at, Value: v,
	})
}

// histogram adds h. Bucket i of OpenTelemetry has the lower bound with that number, ours the upper.
func (p *points) histogram(name, text string, h *observe.Histogram) {
	t := p.times[name]
	if t == nil {
		t = &times{text: text}
		t.data.Temporality = metricdata.CumulativeTemporality
		p.times[name] = t
		p.order = append(p.order, name)
	}
	var n uint64 // not h.Count, which a wait may have raised while the snapshot was taken
	for _, c := range h.Buckets {
		n += c
	}
	t.data.DataPoints = append(t.data.DataPoints, metricdata.ExponentialHistogramDataPoint[float64]{
		Attributes: p.attributes(nil), StartTime: p.since, Time: p.at,
		Count: n, Sum: h.Sum.Seconds(), Scale: scale,
		PositiveBucket: metricdata.ExponentialBucket{Offset: int32(h.First - 1), Counts: h.Buckets},
	})
}

func (p *points) attributes(more []attribute.KeyValue) attribute.Set {
	return attribute.NewSet(append(slices.Clip(p.of), more...)...)
}

func (p *points) metrics() []metricdata.Metrics {
	var all []metricdata.Metrics
	for _, name := range p.order {
		m := metricdata.Metrics{Name: name, Unit: "s"}
		if n := p.numbers[name]; n != nil {
			m.Unit, m.Description, m.Data = n.unit, n.text, n.data
		} else {
			m.Description, m.Data = p.times[name].text, p.times[name].data
		}
		all = append(all, m)
	}
	return all
}
