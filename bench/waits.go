package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longestTracked is the longest wait, in nanoseconds, that is told from longer ones.
const longestTracked = int64(10 * time.Second)

// A waitLog has what the goroutines of one measurement have waited for a lock.
type waitLog struct {
	open atomic.Bool               // the window is: waits that begin now count, however they end
	each []*hdrhistogram.Histogram // each goroutine's own, in nanoseconds
}

func (w *waitLog) reset(goroutines int) {
	w.open.Store(false)
	w.each = make([]*hdrhistogram.Histogram, goroutines)
	for i := range w.each {
		w.each[i] = hdrhistogram.New(1, longestTracked, 2)
	}
}

// timed calls lock, and returns how long one call in 8 takes, and of the others a negative number:
// the clock costs more than most locks.
func (w *waitLog) timed(x uint64, lock func()) time.Duration {
	if x%8 != 0 || !w.open.Load() {
		lock()
		return -1
	}
	start := time.Now()
	lock()
	return time.Since(start)
}

// note keeps what timed has returned to goroutine number g, which has unlocked the lock before:
// what it costs is not to be waited for.
func (w *waitLog) note(g int, d time.Duration) {
	if d >= 0 {
		_ = w.each[g].RecordValue(min(d.Nanoseconds(), longestTracked)) // which it can hold
	}
}

// A waitSummary is how long the waits of one measurement were, in nanoseconds.
type waitSummary struct {
	Count int64 `json:"count"` // of those that were timed
	P50   int64 `json:"p50_ns"`
	P99   int64 `json:"p99_ns"`
	P999  int64 `json:"p999_ns"`
	Max   int64 `json:"max_ns"`

	// Arrivals999 is the p99.9 of those who come every microsecond. Of the acquisitions of a lock
	// that lets whoever runs take it nearly all are those of a few, who do not wait at all, while
	// the others, who wait for milliseconds, have one each: to the p99.9 of the acquisitions they
	// do not exist. (Coordinated omission. The correction is that of HdrHistogram: who waited for 5
	// µs stands for four more, who would have come meanwhile and waited for 4, 3, 2 and 1.)
	Arrivals999 int64 `json:"p999_arrivals_ns"`
}

// arrival is how often somebody comes.
const arrival = int64(time.Microsecond)

func (w *waitLog) summary() *waitSummary {
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
	return &waitSummary{
		all.TotalCount(), all.ValueAtQuantile(50), all.ValueAtQuantile(99), all.ValueAtQuantile(99.9), all.Max(),
		arrivals.ValueAtQuantile(99.9),
	}
}

// waitsPrefix is what the names of these workloads begin with.
const waitsPrefix = "mutexbench-waits-"

// mutexbenchWaits is mutexbench with a clock. It is a workload of its own, with rounds of its own,
// so that the clock does not slow down what mutexbench measures.
func mutexbenchWaits(goroutines int) lockWorkload {
	return withLocks(
		fmt.Sprintf("%s%d", waitsPrefix, goroutines),
		goroutines,
		mutexbenchLocks,
		func(of newLock) lockImpl {
			log := new(waitLog)
			return lockImpl{name: of.name, waits: log, make: func() lockLoop {
				l, shared := of.create(), uint64(1)
				return func(_ context.Context, g, n int, x uint64) (uint64, error) {
					for range n {
						x = xorshift(x)
						d := log.timed(x, l.Lock)
						shared = xorshift(shared)
						l.Unlock()
						log.note(g, d)
					}
					return x, nil
				}
			}}
		},
	)
}

const waitNote = "How long a goroutine of mutexbench-N waits for the lock, from the call of Lock to its return: of one call in eight, those that begin in the window." +
	" Medians over the rounds. Whoever runs and does not wait at all makes nearly all of the acquisitions of most locks; so there is also the" +
	" p99.9 of those who come every microsecond, whom a wait of 5 µs keeps waiting for 5, 4, 3, 2 and 1 (the correction for coordinated" +
	" omission). The quotients are farad's p99.9 divided by the line's: the medians of the quotients inside the rounds."

// waitTable has a line for each lock of a workload whose waits are timed.
func (r *report) waitTable(sum *tally) *table {
	t := &table{
		title: "Waits",
		note:  waitNote,
		head: []string{
			"workload",
			"lock",
			"p50",
			"p99",
			"p99.9",
			"longest",
			"p99.9 of arrivals",
			"p99.9, farad ÷ it",
			"of arrivals, farad ÷ it",
		},
		left: 2,
	}
	for _, l := range r.Locks {
		if !strings.HasPrefix(l.Workload, waitsPrefix) {
			continue
		}
		for _, im := range l.impls {
			waits := l.waitCells(im.name)
			if waits == nil {
				continue
			}
			row := slices.Concat(
				[]string{l.Workload, im.name},
				waits,
				[]string{duration(median(l.Samples.column(im.name, waitTail)))},
			)
			for _, m := range []metric{tailOfAllTo, tailTo} {
				row = append(row, sum.entry(m, lockTargetFor(l.Workload, m, im.name), l.tails(m, im.name)))
			}
			t.add(row...)
		}
	}
	return t
}

// The figures of waits that tables show.
func waitP50(w *waitSummary) int64  { return w.P50 }
func waitP99(w *waitSummary) int64  { return w.P99 }
func waitP999(w *waitSummary) int64 { return w.P999 }
func waitMax(w *waitSummary) int64  { return w.Max }

// waitCells are the cells of some figures of waits, nil if they were not timed.
func waitCells[S any](all []S, of func(S) *waitSummary, figures ...func(*waitSummary) int64) (cells []string) {
	if len(all) == 0 || of(all[0]) == nil {
		return nil
	}
	for _, figure := range figures {
		var vs []float64
		for _, s := range all {
			vs = append(vs, float64(figure(of(s))))
		}
		cells = append(cells, duration(median(vs)))
	}
	return cells
}

// waitCells are the cells of p50, p99, p99.9 and longest of a lock, nil if they were not timed.
func (r *lockResult) waitCells(impl string) []string {
	return waitCells(
		r.Samples[impl],
		func(s lockSample) *waitSummary { return s.Waits },
		waitP50,
		waitP99,
		waitP999,
		waitMax,
	)
}

func waitTail(s lockSample) float64      { return float64(s.Waits.Arrivals999) }
func waitTailOfAll(s lockSample) float64 { return float64(s.Waits.P999) }

// tails returns farad's p99.9 divided by somebody else's, round by round: of all acquisitions, or
// of the arrivals.
func (r *lockResult) tails(m metric, impl string) []float64 {
	tail := waitTail
	if m == tailOfAllTo {
		tail = waitTailOfAll
	}
	return r.Samples.beside(impl, tail)
}

// duration formats nanoseconds with three digits or more.
func duration(ns float64) string {
	d, unit := time.Duration(ns), time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
