// Package series makes time series of the snapshots of package observe, for exporters of metrics.
// The modules observe/prometheus and observe/otel are built on it.
package series

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/farad-go/farad/observe"
)

// A key is what distinguishes series. Locks with the same name and kind are one series, so that the
// number of series does not grow with that of the locks.
type key struct{ name, kind string }

// A total is what never falls: it includes the locks that are gone.
type total struct {
	since      time.Time
	counts     observe.Counts
	wait, hold observe.Histogram
}

// maxGone is how many keys without a lock are kept.
const maxGone = 4096

// A Book keeps the totals of locks that are gone. Otherwise a counter would fall when a lock is
// collected, and a reader would take that for a restart. The zero Book is empty.
type Book struct {
	mu   sync.Mutex
	last map[uint64]entry // by the ID of a lock; guarded by mu, and so is gone
	gone map[key]*total
}

type entry struct {
	key   key
	total total
}

// Read returns the locks of the snapshot, all of a name and kind as one, in the order of names and
// kinds. Counts, Wait and Hold never fall: they include the locks that are gone. Peak is that of
// one lock, and Since the earliest. What is not a number is left out: holders, waiters and so on.
func (b *Book) Read(s *observe.Snapshot) []observe.Lock {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone == nil {
		b.gone = map[key]*total{}
	}
	now := map[uint64]entry{}
	sums, totals := map[key]*observe.Lock{}, map[key]*total{}
	for i := range s.Locks {
		l := &s.Locks[i]
		k := key{valid(l.Name), l.Kind}
		now[l.ID] = entry{k, total{l.Since, l.Counts, l.Wait, l.Hold}}
		sum := of(sums, k)
		sum.Size += l.Size
		sum.Free += l.Free
		sum.Held += l.Held
		sum.Unknown += l.Unknown
		sum.Waiting += l.Waiting
		sum.Peak = max(sum.Peak, l.Peak)
	}
	for id, e := range b.last {
		if n, ok := now[id]; !ok || n.key != e.key || !n.total.since.Equal(e.total.since) {
			of(b.gone, e.key).add(&e.total)
		}
	}
	b.last = now
	b.forget(sums)
	for _, e := range now {
		of(totals, e.key).add(&e.total)
	}
	for k, t := range b.gone {
		of(totals, k).add(t)
	}
	all := make([]observe.Lock, 0, len(totals))
	for k, t := range totals {
		l := *of(sums, k)
		l.Name, l.Kind, l.Since, l.Counts, l.Wait, l.Hold = k.name, k.kind, t.since, t.counts, t.wait, t.hold
		all = append(all, l)
	}
	slices.SortFunc(all, func(x, y observe.Lock) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Kind, y.Kind))
	})
	return all
}

// of returns what m has of k, a zero value at first.
func of[T any](m map[key]*T, k key) *T {
	v := m[k]
	if v == nil {
		v = new(T)
		m[k] = v
	}
	return v
}

// forget drops all keys without a lock if there are too many of them.
func (b *Book) forget(living map[key]*observe.Lock) {
	if len(b.gone) > maxGone {
		maps.DeleteFunc(b.gone, func(k key, _ *total) bool { return living[k] == nil })
	}
}

func (t *total) add(x *total) {
	if t.since.IsZero() || x.since.Before(t.since) {
		t.since = x.since
	}
	c, d := &t.counts, &x.counts
	c.Acquired += d.Acquired
	c.Contended += d.Contended
	c.Tried += d.Tried
	c.TooLarge += d.TooLarge
	c.QueueFull += d.QueueFull
	c.Cancelled += d.Cancelled
	c.TimedOut += d.TimedOut
	c.Closed += d.Closed
	c.Shed += d.Shed
	c.Expiring += d.Expiring
	c.Released += d.Released
	c.Handed += d.Handed
	t.wait = merge(t.wait, x.wait)
	t.hold = merge(t.hold, x.hold)
}

// merge returns the sum of two histograms, and changes neither.
func merge(a, b observe.Histogram) observe.Histogram {
	if len(b.Buckets) == 0 {
		a, b = b, a
	}
	if len(a.Buckets) == 0 {
		b.Count += a.Count
		b.Sum += a.Sum
		return b
	}
	first := min(a.First, b.First)
	end := max(a.First+len(a.Buckets), b.First+len(b.Buckets))
	sum := observe.Histogram{
		Count: a.Count + b.Count, Sum: a.Sum + b.Sum, First: first, Buckets: make([]uint64, end-first),
	}
	for _, h := range []observe.Histogram{a, b} {
		for i, n := range h.Buckets {
			sum.Buckets[h.First-first+i] += n
		}
	}
	return sum
}

// valid replaces what is not UTF-8 in a name of the user's. Both exporters refuse it.
func valid(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }

// Failures counts the requests that were not granted by reason.
func Failures(c observe.Counts) map[string]uint64 {
	return map[string]uint64{
		"try":        c.Tried,
		"too_large":  c.TooLarge,
		"queue_full": c.QueueFull,
		"cancelled":  c.Cancelled,
		"timed_out":  c.TimedOut,
		"closed":     c.Closed,
		"shed":       c.Shed,
		"expiring":   c.Expiring,
	}
}

// Tasks counts the tasks of each executor by state.
func Tasks(s *observe.Snapshot) map[[2]string]int {
	n := map[[2]string]int{}
	for i := range s.Tasks {
		n[[2]string{valid(s.Tasks[i].Executor), s.Tasks[i].State}]++
	}
	return n
}

// Suspicions counts the suspicions by reason.
func Suspicions(s *observe.Snapshot) map[observe.Reason]int {
	n := map[observe.Reason]int{}
	for i := range s.Suspicions {
		n[s.Suspicions[i].Why]++
	}
	return n
}
