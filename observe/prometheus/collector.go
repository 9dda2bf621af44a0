// Package prometheus exports what package observe sees as metrics of Prometheus:
//
//	import faradprom "github.com/farad-go/farad/observe/prometheus"
//
//	prometheus.MustRegister(faradprom.NewCollector())
//
// It is a module of its own, so that programs without Prometheus do not depend on its client.
//
// # Metrics
//
// All metrics of locks have the labels lock, its name, and kind, its type. Locks with the same name
// and kind are one series: their numbers are added up, except that the peak is the highest of them.
//
//	farad_lock_size, _free, _held          permits; held includes those of unknown holders
//	farad_lock_unknown                     permits held since before the lock was observed
//	farad_lock_waiting, _waiting_peak      requests in line
//	farad_lock_acquired_total              requests granted
//	farad_lock_contended_total             requests that had to wait, whatever the outcome
//	farad_lock_failed_total                requests not granted, by the label why
//	farad_lock_wait_seconds, _hold_seconds native histograms of schema 2, of samples
//	farad_deadlocks, farad_leaks           reports that are kept
//	farad_suspicions                       the same, by the label why
//	farad_tasks                            tasks of executors, by the labels executor and state
//	farad_dropped_total                    what there was no room for, by the label what
//
// The buckets of native histograms exist in the protobuf format only, which Prometheus asks for if
// native histograms are enabled. A text scrape has the count and the sum.
//
// A scrape reads a snapshot, which costs some microseconds for each lock. Without observed locks
// there is nothing but zeros.
package prometheus

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/farad-go/farad/observe"
	"github.com/farad-go/farad/observe/series"
)

// schema is that of observe.Histogram: four buckets for each power of two.
const schema = 2

// A collector reads one snapshot for each scrape.
type collector struct {
	read func() *observe.Snapshot
	book series.Book
}

// NewCollector returns a collector of all observed locks and tasks. Register it once.
func NewCollector() prometheus.Collector { return &collector{read: observe.Read} }

var (
	ofLock = []string{"lock", "kind"}

	size      = desc("lock_size", "Permits that there are.", ofLock...)
	free      = desc("lock_free", "Permits that nobody holds.", ofLock...)
	held      = desc("lock_held", "Permits that are held.", ofLock...)
	unknown   = desc("lock_unknown", "Permits held since before the lock was observed.", ofLock...)
	waiting   = desc("lock_waiting", "Requests in line.", ofLock...)
	peak      = desc("lock_waiting_peak", "The most requests that have been in line at a time.", ofLock...)
	acquired  = desc("lock_acquired_total", "Requests granted.", ofLock...)
	contended = desc("lock_contended_total", "Requests that had to wait.", ofLock...)
	failed    = desc("lock_failed_total", "Requests not granted.", "lock", "kind", "why")
	wait      = desc("lock_wait_seconds", "Waits that have ended with a grant, of samples.", ofLock...)
	hold      = desc("lock_hold_seconds", "Times from acquire to release, of samples.", ofLock...)

	deadlocks  = desc("deadlocks", "Deadlocks that are reported.")
	leaks      = desc("leaks", "Leaks that are reported.")
	suspicions = desc("suspicions", "Suspicions that are reported.", "why")
	tasks      = desc("tasks", "Tasks that have not ended.", "executor", "state")
	dropped    = desc("dropped_total", "What there was no room for.", "what")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("farad_"+name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		size, free, held, unknown, waiting, peak, acquired, contended, failed, wait, hold,
		deadlocks, leaks, suspicions, tasks, dropped,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.read()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	for _, l := range c.book.Read(s) {
		gauge(size, float64(l.Size), l.Name, l.Kind)
		gauge(free, float64(l.Free), l.Name, l.Kind)
		gauge(held, float64(l.Held), l.Name, l.Kind)
		gauge(unknown, float64(l.Unknown), l.Name, l.Kind)
		gauge(waiting, float64(l.Waiting), l.Name, l.Kind)
		gauge(peak, float64(l.Peak), l.Name, l.Kind)
		counter(acquired, l.Counts.Acquired, l.Name, l.Kind)
		counter(contended, l.Counts.Contended, l.Name, l.Kind)
		for why, n := range series.Failures(l.Counts) {
			counter(failed, n, l.Name, l.Kind, why)
		}
		out <- histogram(wait, &l, &l.Wait)
		out <- histogram(hold, &l, &l.Hold)
	}
	gauge(deadlocks, float64(len(s.Deadlocks)))
	gauge(leaks, float64(len(s.Leaks)))
	for why, n := range series.Suspicions(s) {
		gauge(suspicions, float64(n), string(why))
	}
	for of, n := range series.Tasks(s) {
		gauge(tasks, float64(n), of[0], of[1])
	}
	counter(dropped, s.Dropped.Locks, "locks")
	counter(dropped, s.Dropped.Holders, "holders")
	counter(dropped, s.Dropped.Waiters, "waiters")
	counter(dropped, s.Dropped.Tasks, "tasks")
	counter(dropped, s.Dropped.Reports, "reports")
}

// histogram converts h. Its buckets have the same bounds and the same numbers there.
func histogram(d *prometheus.Desc, l *observe.Lock, h *observe.Histogram) prometheus.Metric {
	buckets := map[int]int64{}
	var n uint64
	for i, c := range h.Buckets {
		if c > 0 {
			buckets[h.First+i] = int64(c)
			n += c
		}
	}
	// The library wants the sum of the buckets, which may differ from Count by what was counted
	// while the snapshot was taken.
	m, err := prometheus.NewConstNativeHistogram(
		d, n, h.Sum.Seconds(), buckets, nil, 0, schema, 0, l.Since, l.Name, l.Kind)
	if err != nil {
		return prometheus.NewInvalidMetric(d, err)
	}
	return m
}
