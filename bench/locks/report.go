package locks

import (
	"fmt"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/table"
)

// Median returns the median of one figure of one lock in one workload, and whether there is one.
func (rs Results) Median(workload, impl string, figure func(Sample) float64) (float64, bool) {
	vs := rs.Column(workload, impl, figure)
	if len(vs) == 0 {
		return 0, false
	}
	return measure.Median(vs), true
}

// Pair is one entry of figure and plane.
func (rs Results) Pair(workload, impl string) string {
	ns, ok := rs.Median(workload, impl, NsPerOp)
	if !ok {
		return ""
	}
	fair, _ := rs.Median(workload, impl, Fairness)
	return fmt.Sprintf("%.1f (%.2f)", ns, fair)
}

// Pairs are the entries of one lock for each number of goroutines.
func (rs Results) Pairs(workload func(goroutines int) string, sizes []int, impl string) (entries []string) {
	for _, n := range sizes {
		entries = append(entries, rs.Pair(workload(n), impl))
	}
	return entries
}

const lockNote = "In mutex-N, N goroutines lock and unlock; in mutex-context-N they share one cancellable" +
	" context. In twa-1 one goroutine takes a permit and posts it. In mutexbench-N, the benchmark of" +
	" the capacitor's paper, N goroutines advance a PRNG that all share. Its variations hold the lock" +
	" for 4,000 steps, do 200 steps of their own outside, sleep now and then with the lock, or use a" +
	" lock that serves the last first, alone and, as farad, behind a gate. In semabench-N, the" +
	" benchmark of the waiting array's paper, N goroutines advance a shared PRNG under one permit," +
	" and their own between two takes. chains-N adds semaphores on the papers' waiting chains," +
	" policies-N those that wait in the papers' other ways (how many are near, how these wait, how" +
	" the others do). In capacitor-NxP the goroutines take one of P permits; in read-N they read-lock;" +
	" in mix-P-N, P percent of the operations read, and the others write. The lock is held for one" +
	" step of a PRNG, and where it says yield, across a yield. word is the mutex of four bytes," +
	" packed a random one of 10,000 locks. In cond-ping-pong two goroutines take turns; in cond-64, 64" +
	" goroutines wait, and each is woken by a signal, which all together is one operation;" +
	" waitgroup-1 is Add and Done, waitgroup-wait a task in a goroutine and a wait for it. In" +
	" keyed-1 one goroutine locks its one key, in keyed-64 each of 64 a random one of 100,000, and counts" +
	" in that. In observed-N, farad is our mutex at observe.LevelCounts, in observed-sync-N the one of" +
	" package sync. In tree-yield-1000, 1,000 goroutines are as many leaves of a tree of three levels of" +
	" tenants, and take one permit. The quotient is farad's time divided by the line's: the" +
	" median of the quotients inside the rounds. In twa-1, semabench-N, chains-N and policies-N farad" +
	" is twa.Semaphore, in capacitor-NxP a semaphore with a capacitor, (1, 256); in read-2 it is the" +
	" lock with reader bias. Fairness is the count of the goroutine that did least divided by that of" +
	" the one that did most. The longest wait is that of a writer, of the eighth that is timed: the" +
	" median over the rounds of the longest in each. In semabench-1024 farad's own line has its time" +
	" divided by that in semabench-8."

// Table has a line for each implementation of a workload, farad first.
func Table(rs Results, sum *table.Tally) *table.Table {
	t := &table.Table{
		Title: "Mutexes and read-write locks",
		Note:  lockNote,
		Head:  []string{"workload", "lock", "ns/op", "farad ÷ it", "fairness", "allocs/op", "longest wait"},
		Left:  2,
	}
	for _, l := range rs {
		if l.hasOwnTable() {
			continue
		}
		for _, im := range l.Impls {
			theirs := l.Samples.Column(im.Name, NsPerOp)
			if len(theirs) == 0 {
				continue
			}
			entry := func(m table.Metric, vs []float64) string {
				var bound *table.Target
				if m == table.RatioTo {
					bound = TargetFor(l.Workload, m, im.Name)
				} else if im.Name == measure.NameFarad {
					bound = TargetFor(l.Workload, m, "")
				}
				return sum.Entry(m, bound, vs)
			}
			ratio, longest := entry(table.RatioTo, l.Samples.Beside(im.Name, NsPerOp)), ""
			if t := TargetFor(l.Workload, table.GrowthFrom, ""); t != nil && im.Name == measure.NameFarad {
				ratio = entry(table.GrowthFrom, rs.Growth(l.Workload, t))
			}
			if ns := measure.Median(l.Samples.Column(im.Name, Longest)); ns > 0 {
				longest = fmt.Sprintf("%.2f ms", ns/1e6)
			}
			t.Add(l.Workload, im.Name, fmt.Sprintf("%.1f", measure.Median(theirs)), ratio,
				entry(table.MinFairness, l.Samples.Column(im.Name, Fairness)),
				entry(table.Allocations, l.Samples.Column(im.Name, AllocsPerOp)), longest)
		}
	}
	return t
}

// Growth returns how often farad's time in the workload is that in the target's other, round by
// round.
func (rs Results) Growth(workload string, t *table.Target) []float64 {
	return measure.Ratios(
		rs.Column(workload, measure.NameFarad, NsPerOp),
		rs.Column(t.Than, measure.NameFarad, NsPerOp),
	)
}

// Column returns one figure of one lock in one workload, an entry a round; nil if it was not
// measured.
func (rs Results) Column(workload, impl string, figure func(Sample) float64) []float64 {
	for _, l := range rs {
		if l.Workload == workload {
			return l.Samples.Column(impl, figure)
		}
	}
	return nil
}
