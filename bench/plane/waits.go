package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Waits is what the waiters of one lock have seen.
type waits struct {
	idle      *hdrhistogram.Histogram // ns from a release to the first instruction of who wanted it before
	wait      *hdrhistogram.Histogram // ns from an arrival to the first instruction with the lock
	displaced *hdrhistogram.Histogram // places by which grants came too late
	shares    [3]float64              // operations of the goroutine with least ÷ of that with most
	perOp     float64                 // ns
}

// longest is the longest wait, in nanoseconds, that a histogram holds. Longer ones count as this.
const longest = int64(time.Minute)

func newWaits() *waits {
	h := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, longest, 2) }
	return &waits{idle: h(), wait: h(), displaced: h()}
}

func record(h *hdrhistogram.Histogram, v int64) {
	_ = h.RecordValue(min(max(v, 0), longest)) // which it can hold
}

// watch makes the goroutines of a cell of one permit use a lock, and reads the clock three times in
// each operation. So its times are compared with each other only.
func watch(u use, c cell, long time.Duration) *waits {
	var stop atomic.Bool
	var all sync.WaitGroup
	c.startOthers(&all, &stop)
	start := time.Now()
	var arrivals atomic.Int64
	var grants int64           // under the lock
	var released time.Duration // under the lock: when it was released last
	tallies, seen := make([]tally, c.Goroutines), make([]*waits, c.Goroutines)
	for i := range tallies {
		seen[i] = newWaits()
		all.Go(func() {
			for !stop.Load() {
				place, arrived := arrivals.Add(1)-1, time.Since(start)
				u.enter(false)
				got, last, late := time.Since(start), released, grants-place
				grants++
				work(c.Section)
				released = time.Since(start)
				u.leave(false)
				if arrived < last {
					record(seen[i].idle, int64(got-last))
				}
				record(seen[i].wait, int64(got-arrived))
				record(seen[i].displaced, late)
				work(c.Outside)
				tallies[i].done.Add(1)
			}
		})
	}
	sums := newWaits()
	for i := range sums.shares {
		time.Sleep(time.Until(start.Add(long / []time.Duration{100, 10, 1}[i])))
		sums.shares[i] = share(tallies)
	}
	sums.perOp = float64(time.Since(start)) / float64(max(1, sum(tallies)))
	stop.Store(true)
	all.Wait()
	for _, w := range seen {
		sums.idle.Merge(w.idle)
		sums.wait.Merge(w.wait)
		sums.displaced.Merge(w.displaced)
	}
	return sums
}

// share returns what the goroutine with the fewest operations has done, divided by what that with
// the most has.
func share(tallies []tally) float64 {
	counts := make([]int64, len(tallies))
	for i := range tallies {
		counts[i] = tallies[i].done.Load()
	}
	return float64(slices.Min(counts)) / float64(max(1, slices.Max(counts)))
}

// watchAll writes a table of the waits in the selected cells, which have one permit.
func watchAll(c config, long time.Duration, out *bytes.Buffer, progress io.Writer) {
	p := planes[0]
	fmt.Fprintf(out, "%s; windows of %v, %v and %v. Every operation asks the clock three times.\n",
		machine(), long/100, long/10, long)
	for _, at := range p.cells() {
		if c.skips(p, at) {
			continue
		}
		fmt.Fprintf(out, "\n**%s**\n\n", at)
		fmt.Fprint(out, "| | ns an operation | idle, p50 | idle, p99 | wait, p99 | longest wait | places late, p99 | ")
		fmt.Fprintf(out, "least ÷ most, %v | %v | %v |\n", long/100, long/10, long)
		fmt.Fprint(out, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
		for _, peer := range p.peers {
			w := watch(peer.create(at), at, long)
			fmt.Fprintf(out, "| %s | %.0f | %s | %s | %s | %s | %d | %.2f | %.2f | %.2f |\n", peer.name, w.perOp,
				short(w.idle.ValueAtQuantile(50)), short(w.idle.ValueAtQuantile(99)),
				short(w.wait.ValueAtQuantile(99)), short(w.wait.Max()),
				w.displaced.ValueAtQuantile(99), w.shares[0], w.shares[1], w.shares[2])
			fmt.Fprintf(progress, "%s/%v: %s: %.0f ns\n", p.name, at, peer.name, w.perOp)
		}
	}
}

// short formats nanoseconds with two digits or more.
func short(ns int64) string {
	d, unit := time.Duration(ns), time.Duration(1)
	for d/unit >= 100 {
		unit *= 10
	}
	return d.Round(unit).String()
}
