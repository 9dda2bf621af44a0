// Package series makes time series of the snapshots of package observe, for exporters of metrics.
// The modules observe/prometheus and observe/otel are built on it.
//
// It is experimental: see docs/policy.md.
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

// A Key is what distinguishes series. Locks with the same name and kind are one series, so that the
// number of series does not grow with that of the locks.
type Key struct{ Name, Kind string }

// A Series is the sum of all locks of a key.
type Series struct {
	Key
	Total

	Size, Free, Held, Unknown int64
	Waiting, Peak             int
}

// A Total is what never falls: it includes the locks that are gone.
type Total struct {
	Since      time.Time
	Counts     observe.Counts
	Wait, Hold observe.Histogram
}

// maxGone is how many keys without a lock are kept.
const maxGone = 4096

// A Book keeps the totals of locks that are gone. Otherwise a counter would fall when a lock is
// collected, and a reader would take that for a restart. The zero Book is empty.
type Book struct {
	mu   sync.Mutex
	last map[uint64]entry // by the ID of a lock; guarded by mu, and so is gone
	gone map[Key]*Total
}

type entry struct {
	key   Key
	total Total
}

// Read returns the series at the moment of the snapshot, in the order of their keys.
func (b *Book) Read(s *observe.Snapshot) []Series {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone == nil {
		b.gone = map[Key]*Total{}
	}
	now := map[uint64]entry{}
	sums := map[Key]*Series{}
	for i := range s.Locks {
		l := &s.Locks[i]
		key := Key{valid(l.Name), l.Kind}
		now[l.ID] = entry{key, Total{l.Since, l.Counts, l.Wait, l.Hold}}
		sum := sums[key]
		if sum == nil {
			sum = &Series{Key: key}
			sums[key] = sum
		}
		sum.Size += l.Size
		sum.Free += l.Free
		sum.Held += l.Held
		sum.Unknown += l.Unknown
		sum.Waiting += l.Waiting
		sum.Peak = max(sum.Peak, l.Peak)
	}
	for id, e := range b.last {
		if n, ok := now[id]; !ok || n.key != e.key || !n.total.Since.Equal(e.total.Since) {
			b.retire(e)
		}
	}
	b.last = now
	for _, e := range now {
		sums[e.key].add(&e.total)
	}
	b.forget(sums)
	for key, t := range b.gone {
		sum := sums[key]
		if sum == nil {
			sum = &Series{Key: key}
			sums[key] = sum
		}
		sum.add(t)
	}
	all := make([]Series, 0, len(sums))
	for _, sum := range sums {
		all = append(all, *sum)
	}
	slices.SortFunc(all, func(x, y Series) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Kind, y.Kind))
	})
	return all
}

func (b *Book) retire(e entry) {
	t := b.gone[e.key]
	if t == nil {
		t = new(Total)
		b.gone[e.key] = t
	}
	t.add(&e.total)
}

// forget drops all keys without a lock if there are too many of them.
func (b *Book) forget(living map[Key]*Series) {
	if len(b.gone) > maxGone {
		maps.DeleteFunc(b.gone, func(k Key, _ *Total) bool { return living[k] == nil })
	}
}

func (t *Total) add(x *Total) {
	if t.Since.IsZero() || x.Since.Before(t.Since) {
		t.Since = x.Since
	}
	c, d := &t.Counts, &x.Counts
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
	t.Wait = merge(t.Wait, x.Wait)
	t.Hold = merge(t.Hold, x.Hold)
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

// A Failure is why a request was not granted, and how often.
type Failure struct {
	Why string
	N   uint64
}

// Failures returns the failures of c.
func Failures(c observe.Counts) []Failure {
	return []Failure{
		{"try", c.Tried},
		{"too_large", c.TooLarge},
		{"queue_full", c.QueueFull},
		{"cancelled", c.Cancelled},
		{"timed_out", c.TimedOut},
		{"closed", c.Closed},
		{"shed", c.Shed},
		{"expiring", c.Expiring},
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
