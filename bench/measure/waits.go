package measure

import (
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longestTracked is the longest wait, in nanoseconds, that a histogram holds.
const longestTracked = int64(10 * time.Second)

// A WaitLog has what the goroutines of one measurement have waited for a lock.
type WaitLog struct {
	Open atomic.Bool               // the window is: waits that begin now count, however they end
	each []*hdrhistogram.Histogram // each goroutine's own, in nanoseconds
}

// Reset forgets all waits, and makes room for those of the goroutines.
func (w *WaitLog) Reset(goroutines int) {
	w.Open.Store(false)
	w.each = make([]*hdrhistogram.Histogram, goroutines)
	for i := range w.each {
		w.each[i] = hdrhistogram.New(1, longestTracked, 2)
	}
}

// Timed calls lock, and returns how long one call in 8 takes, and of the others a negative number:
// the clock costs more than most locks.
func (w *WaitLog) Timed(x uint64, lock func()) time.Duration {
	if x%8 != 0 || !w.Open.Load() {
		lock()
		return -1
	}
	start := time.Now()
	lock()
	return time.Since(start)
}

// Note keeps what timed has returned to goroutine number g, which has unlocked the lock before:
// what it costs is not to be waited for.
func (w *WaitLog) Note(g int, d time.Duration) {
	if d >= 0 {
		_ = w.each[g].RecordValue(min(d.Nanoseconds(), longestTracked)) // which it can hold
	}
}

// A WaitSummary is how long the waits of one measurement were, in nanoseconds.
type WaitSummary struct {
	Count int64 `json:"count"` // of those that were timed
	P50   int64 `json:"p50_ns"`
	P99   int64 `json:"p99_ns"`
	P999  int64 `json:"p999_ns"`
	Max   int64 `json:"max_ns"`

	// Arrivals999 is the p99.9 for arrivals once per microsecond. Where a running goroutine may
	// take a lock first, a few goroutines make nearly all acquisitions, without a wait. The others
	// wait for milliseconds and make one each, so the p99.9 of the acquisitions does not show them.
	// (Coordinated omission. The correction is that of HdrHistogram: a wait of 5 µs stands for four
	// more, by callers that would have arrived meanwhile and waited for 4, 3, 2 and 1.)
	Arrivals999 int64 `json:"p999_arrivals_ns"`
}

// arrival is how often a goroutine comes.
const arrival = int64(time.Microsecond)

// Summary sums up the waits of all goroutines.
func (w *WaitLog) Summary() *WaitSummary {
	all := hdrhistogram.New(1, longestTracked, 2)
	for _, h := range w.each {
		all.Merge(h)
	}
	arrivals := hdrhistogram.New(1, longestTracked, 2)
	for _, bar := range all.Distribution() {
		for v := bar.To; v > 0 && bar.Count > 0; v -= arrival {
			_ = arrivals.RecordValues(min(v, longestTracked), bar.Count)
		}
	}
	return &WaitSummary{
		all.TotalCount(), all.ValueAtQuantile(50), all.ValueAtQuantile(99), all.ValueAtQuantile(99.9), all.Max(),
		arrivals.ValueAtQuantile(99.9),
	}
}

// WaitP50 is a figure of waits that tables show: the median.
func WaitP50(w *WaitSummary) int64 { return w.P50 }

// WaitP99 is the 99th percentile.
func WaitP99(w *WaitSummary) int64 { return w.P99 }

// WaitP999 is the 99.9th percentile.
func WaitP999(w *WaitSummary) int64 { return w.P999 }

// WaitMax is the longest.
func WaitMax(w *WaitSummary) int64 { return w.Max }

// WaitCells are the cells of some figures of waits, nil if they were not timed.
func WaitCells[S any](all []S, of func(S) *WaitSummary, figures ...func(*WaitSummary) int64) (cells []string) {
	if len(all) == 0 || of(all[0]) == nil {
		return nil
	}
	for _, figure := range figures {
		var vs []float64
		for _, s := range all {
			vs = append(vs, float64(figure(of(s))))
		}
		cells = append(cells, Duration(Median(vs)))
	}
	return cells
}

// Duration formats nanoseconds with three digits or more.
func Duration(ns float64) string {
	d, unit := time.Duration(ns), time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
