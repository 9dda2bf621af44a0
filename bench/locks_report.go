package main

import "fmt"

const lockNote = "In mutex-N, N goroutines lock and unlock; in mutex-context-N with one cancellable context for all; in twa-1 one takes a" +
	" permit and posts it; in mutexbench-N, the benchmark of the capacitor's paper, N advance a PRNG that all share, with variations: 4,000 steps of it, 200 steps of one's own" +
	" outside, a holder that now and then sleeps, and a lock that serves the last first, which farad is behind a gate; in semabench-N, the paper's benchmark, N do so with one permit, advancing a PRNG that all share, and between" +
	" two takes one of their own; chains-N is the same with semaphores on the papers' waiting chains besides, policies-N with those that wait in the papers' other ways" +
	" (how many are near, how these wait, how the others do); in platoon-NxP they take one of P permits; in read-N they read-lock;" +
	" in mix-P-N, P percent of the operations read, and the others write. The lock is held for one step of a PRNG, and where it says" +
	" yield across a yield. word is the mutex of four bytes, packed a random one of 10,000 locks. The quotient is farad's time divided" +
	" by the line's: the median of the quotients inside the rounds. In twa-1, semabench-N, chains-N and policies-N farad is twa.Semaphore, in platoon-NxP" +
	" semaphore.WithPlatoon(1, 256); in read-2 it is the lock with reader bias. Fairness is the count of the goroutine that did least divided by that of the one that did most." +
	" The longest wait is that of a writer, of the eighth that is timed: the median over the rounds of the longest in each." +
	" In semabench-1024 farad's own line has its time divided by that in semabench-8."

// lockTable has a line for each implementation of a workload, farad first.
func (r *report) lockTable(sum *tally) *table {
	t := &table{
		title: "Mutexes and read-write locks",
		note:  lockNote,
		head:  []string{"workload", "lock", "ns/op", "farad ÷ it", "fairness", "allocs/op", "longest wait"},
		left:  2,
	}
	for _, l := range r.Locks {
		if l.hasOwnTable() {
			continue
		}
		for _, im := range l.impls {
			theirs := l.Samples.column(im.name, lockNs)
			if len(theirs) == 0 {
				continue
			}
			entry := func(m metric, vs []float64) string {
				var bound *target
				if m == ratioTo {
					bound = lockTargetFor(l.Workload, m, im.name)
				} else if im.name == nameFarad {
					bound = lockTargetFor(l.Workload, m, "")
				}
				return sum.entry(m, bound, vs)
			}
			ratio, longest := entry(ratioTo, l.Samples.beside(im.name, lockNs)), ""
			if t := lockTargetFor(l.Workload, growthFrom, ""); t != nil && im.name == nameFarad {
				ratio = entry(growthFrom, r.growth(l.Workload, t))
			}
			if ns := median(l.Samples.column(im.name, lockLongest)); ns > 0 {
				longest = fmt.Sprintf("%.2f ms", ns/1e6)
			}
			t.add(
				l.Workload,
				im.name,
				fmt.Sprintf("%.1f", median(theirs)),
				ratio,
				entry(
					minFairness,
					l.Samples.column(im.name, lockFairness),
				),
				entry(allocations, l.Samples.column(im.name, lockAllocs)),
				longest,
			)
		}
	}
	return t
}

// growth returns how often farad's time in the workload is that in the target's other, round by
// round.
func (r *report) growth(workload string, t *target) []float64 {
	return ratios(r.lockColumn(workload, nameFarad, lockNs), r.lockColumn(t.than, nameFarad, lockNs))
}

// lockColumn returns one figure of one lock in one workload, an entry a round; nil if it was not
// measured.
func (r *report) lockColumn(workload, impl string, figure func(lockSample) float64) []float64 {
	for _, l := range r.Locks {
		if l.Workload == workload {
			return l.Samples.column(impl, figure)
		}
	}
	return nil
}
