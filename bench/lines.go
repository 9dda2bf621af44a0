package main

import (
	"cmp"
	"fmt"
	"slices"
)

// A line is a workload and what all who took part in it have needed, of whatever kind: a cell,
// locks, tasks, or the cancelling and the waking of waiters. What knows no kinds is made from
// lines: the overview, the comparison with another run, the plots of ratios, and benchstat's
// format.
type line struct {
	family string
	name   string
	impls  []string // who took part, farad or the first of ours first
	of     map[string]figures
}

// Figures are those of one implementation, an entry a round.
type figures struct{ ns, allocs, ops []float64 }

// The families, in the order of the plots.
const (
	familySemaphore = "semaphore"
	familyLocks     = "locks"
	familyTasks     = "tasks"
	familyJobs      = "jobs"
	familyCancel    = "cancel"
	familyWake      = "wake"
)

// floors are what cannot do the work, but only the least that it needs.
var floors = []string{nameFloor, nameRing, nameFetchOr, nameAdditions, nameGoroutine, nameCoroutine}

// others are those whom other people made: what somebody would take if there were no farad.
var others = []string{
	nameXSync, nameChannel, nameChannelTimer, nameMutex, nameMutexes, nameFifomu, nameRWMutex, nameRBMutex, nameGoStatement, nameAfterFunc, nameAnts,
	nameErrgroup, namePond, nameConc,
}

func (l *line) add(impl string, f figures) {
	if len(f.ns) == 0 {
		return
	}
	l.impls = append(l.impls, impl)
	if l.of == nil {
		l.of = make(map[string]figures)
	}
	l.of[impl] = f
}

// addAll adds all impls that have samples.
func addAll[I, S any](l *line, impls []I, all samples[S], name func(I) string, ns, allocs, ops func(S) float64) {
	for _, im := range impls {
		n := name(im)
		l.add(n, figures{all.column(n, ns), all.column(n, allocs), all.column(n, ops)})
	}
}

// ratio returns farad's time divided by impl's, an entry a round; nil if one of them did not take
// part.
func (l *line) ratio(impl string) []float64 {
	return ratios(l.of[nameFarad].ns, l.of[impl].ns)
}

// quickest returns which of names needs least, empty if none took part.
func (l *line) quickest(names []string) string {
	part := slices.DeleteFunc(slices.Clone(l.impls), func(impl string) bool { return !slices.Contains(names, impl) })
	if len(part) == 0 {
		return ""
	}
	return slices.MinFunc(part, func(a, b string) int { return cmp.Compare(median(l.of[a].ns), median(l.of[b].ns)) })
}

// lines returns all that have been measured.
func (r *report) lines() []*line {
	var all []*line
	keep := func(l *line) {
		if len(l.impls) > 0 {
			all = append(all, l)
		}
	}
	for _, c := range r.Cells {
		l := &line{family: familySemaphore, name: c.Name}
		addAll(
			l,
			c.impls,
			c.Samples,
			func(im implementation) string { return im.name },
			nsPerOp,
			allocsPerOp,
			func(s sample) float64 { return float64(s.Ops) },
		)
		keep(l)
	}
	for _, c := range r.Locks {
		l := &line{family: familyLocks, name: c.Workload}
		addAll(
			l,
			c.impls,
			c.Samples,
			func(im lockImpl) string { return im.name },
			lockNs,
			lockAllocs,
			func(s lockSample) float64 { return float64(s.Ops) },
		)
		keep(l)
	}
	for _, c := range r.Tasks {
		l := &line{family: familyTasks, name: c.String()}
		addAll(
			l,
			c.impls,
			c.Samples,
			func(im taskImpl) string { return im.name },
			taskNs,
			taskAllocs,
			func(s taskSample) float64 { return float64(s.Ops) },
		)
		keep(l)
	}
	for _, c := range r.Jobs {
		l := &line{family: familyJobs, name: c.String()}
		addAll(
			l,
			c.impls,
			c.Samples,
			func(im jobImpl) string { return im.name },
			jobNs,
			jobAllocs,
			func(s jobSample) float64 { return float64(s.Ops) },
		)
		keep(l)
	}
	alone := func(family, name, impl string, ns []float64) {
		i := slices.IndexFunc(all, func(l *line) bool { return l.name == name })
		if i < 0 {
			i, all = len(all), append(all, &line{family: family, name: name})
		}
		all[i].add(impl, figures{ns: ns})
	}
	for _, c := range r.Cancel {
		alone(familyCancel, fmt.Sprintf("cancel/%s/%d", c.Waiter, c.Waiters), c.Impl, c.NsPerCancel)
	}
	for _, w := range r.Wake {
		alone(familyWake, w.line(), w.Impl, w.NsPerWake)
	}
	return slices.DeleteFunc(all, func(l *line) bool { return len(l.impls) == 0 })
}

const overviewNote = "Every workload in which farad and somebody else took part: farad's time, and what it is divided by that of the floor, which does only the least" +
	" that the work needs, and by that of whichever peer was quickest. A peer may be quick because it promises less: a plain channel cannot be" +
	" given up, sync.Mutex lets whoever runs overtake those who wait. Medians over the rounds of the quotients inside a round, and their range."

// overviewTable has a line for each workload.
func (r *report) overviewTable() *table {
	t := &table{
		title: "Beside the floor and the best peer", note: overviewNote,
		head: []string{"workload", "floor", "best peer", "farad, ns/op", "min–max", "÷ floor", "÷ best peer"}, left: 3,
	}
	for _, l := range r.lines() {
		ours, floor, peer := l.of[nameFarad].ns, l.quickest(floors), l.quickest(others)
		if len(ours) == 0 || floor == "" && peer == "" {
			continue
		}
		t.add(
			l.name,
			floor,
			peer,
			fmt.Sprintf("%.1f", median(ours)),
			spread("%.1f", ours),
			medianAndSpread(l.ratio(floor)),
			medianAndSpread(l.ratio(peer)),
		)
	}
	return t
}

// medianAndSpread formats quotients; it is empty if there are none.
func medianAndSpread(vs []float64) string {
	if len(vs) == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f (%s)", median(vs), spread("%.2f", vs))
}
