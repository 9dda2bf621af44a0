package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/farad-go/farad/bench/jobs"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/semaphore"
	"github.com/farad-go/farad/bench/table"
	"github.com/farad-go/farad/bench/tasks"
)

// A Line is a workload and what all who took part in it have needed, of whatever kind: a cell,
// locks, tasks, or the cancelling and the waking of waiters. What knows no kinds is made from
// lines: the overview, the comparison with another run, the plots of ratios, and benchstat's
// format.
type Line struct {
	Family string
	Name   string
	impls  []string // who took part, farad or the first of ours first
	of     map[string]figures
}

// Figures are the figures of one implementation, an entry a round.
type figures struct{ ns, allocs, ops []float64 }

// The families, in the order of the plots.
const (
	FamilySemaphore = "semaphore"
	FamilyLocks     = "locks"
	FamilyTasks     = "tasks"
	FamilyJobs      = "jobs"
	familyCancel    = "cancel"
	familyWake      = "wake"
)

// Floors are what cannot do the work, but only the least that it needs.
var Floors = []string{
	peers.NameFloor,
	peers.NameRing,
	peers.NameMinimal,
	locks.NameFetchOr,
	locks.NameAdditions,
	tasks.NameGoroutine,
	tasks.NameCoroutine,
}

// Others are the peers of other authors: what a program would use if there were no farad.
var Others = []string{
	peers.NameXSync, peers.NameChannel, locks.NameChannelTimer, locks.NameMutex, locks.NameMutexes,
	peers.NameFifomu, locks.NameRWMutex, locks.NameRBMutex, locks.NameCond, locks.NameWaitGroup,
	locks.NameMapOfMutexes, locks.NameCountedMap, locks.NameStripes,
	locks.NameProfiled, locks.NameGoDeadlock, locks.NameLinkdata,
	tasks.NameGoStatement, tasks.NameAfterFunc, peers.NameAnts,
	jobs.NameErrgroup, jobs.NamePond, jobs.NameConc,
}

func (l *Line) add(impl string, f figures) {
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
func addAll[I, S any](
	l *Line,
	impls []I,
	all measure.Samples[S],
	name func(I) string,
	ns, allocs, ops func(S) float64,
) {
	for _, im := range impls {
		n := name(im)
		l.add(n, figures{all.Column(n, ns), all.Column(n, allocs), all.Column(n, ops)})
	}
}

// Ratio returns farad's time divided by impl's, an entry a round; nil if one of them did not take
// part.
func (l *Line) Ratio(impl string) []float64 {
	return measure.Ratios(l.of[measure.NameFarad].ns, l.of[impl].ns)
}

// Quickest returns which of names needs least, empty if none took part.
func (l *Line) Quickest(names []string) string {
	part := slices.DeleteFunc(slices.Clone(l.impls), func(impl string) bool { return !slices.Contains(names, impl) })
	if len(part) == 0 {
		return ""
	}
	return slices.MinFunc(
		part,
		func(a, b string) int { return cmp.Compare(measure.Median(l.of[a].ns), measure.Median(l.of[b].ns)) },
	)
}

// Lines returns all that have been measured.
func (r *Report) Lines() []*Line {
	var all []*Line
	keep := func(l *Line) {
		if len(l.impls) > 0 {
			all = append(all, l)
		}
	}
	for _, c := range r.Cells {
		l := &Line{Family: FamilySemaphore, Name: c.Name}
		addAll(
			l,
			c.Impls,
			c.Samples,
			func(im semaphore.Implementation) string { return im.Name },
			measure.NsPerOp,
			measure.AllocsPerOp,
			func(s measure.Sample) float64 { return float64(s.Ops) },
		)
		keep(l)
	}
	for _, c := range r.Locks {
		l := &Line{Family: FamilyLocks, Name: c.Workload}
		addAll(
			l,
			c.Impls,
			c.Samples,
			func(im locks.Impl) string { return im.Name },
			locks.NsPerOp,
			locks.AllocsPerOp,
			func(s locks.Sample) float64 { return float64(s.Ops) },
		)
		keep(l)
	}
	for _, c := range r.Tasks {
		l := &Line{Family: FamilyTasks, Name: c.String()}
		addAll(
			l,
			c.Impls,
			c.Samples,
			func(im measure.LapImpl) string { return im.Name },
			tasks.NsPerOp,
			tasks.AllocsPerOp,
			func(s measure.LapSample) float64 { return float64(s.Ops) },
		)
		keep(l)
	}
	for _, c := range r.Jobs {
		l := &Line{Family: FamilyJobs, Name: c.String()}
		addAll(
			l,
			c.Impls,
			c.Samples,
			func(im jobs.Impl) string { return im.Name },
			jobs.NsPerOp,
			jobs.AllocsPerOp,
			func(s jobs.Sample) float64 { return float64(s.Ops) },
		)
		keep(l)
	}
	alone := func(family, name, impl string, ns []float64) {
		i := slices.IndexFunc(all, func(l *Line) bool { return l.Name == name })
		if i < 0 {
			i, all = len(all), append(all, &Line{Family: family, Name: name})
		}
		all[i].add(impl, figures{ns: ns})
	}
	for _, c := range r.Cancel {
		alone(familyCancel, fmt.Sprintf("cancel/%s/%d", c.Waiter, c.Waiters), c.Impl, c.NsPerCancel)
	}
	for _, w := range r.Wake {
		alone(familyWake, w.Line(), w.Impl, w.NsPerWake)
	}
	return slices.DeleteFunc(all, func(l *Line) bool { return len(l.impls) == 0 })
}

const overviewNote = "Every workload that farad and a peer or a floor took part in: farad's time, and its quotients" +
	" by that of the floor, which does only the least that the work needs, and by that of the" +
	" quickest peer. A peer may be quick because it promises less: a plain channel cannot be given" +
	" up, and sync.Mutex lets a running goroutine overtake those that wait. Medians over the rounds" +
	" of the quotients inside a round, and their range."

// overviewTable has a line for each workload.
func (r *Report) overviewTable() *table.Table {
	t := &table.Table{
		Title: "Beside the floor and the best peer", Note: overviewNote,
		Head: []string{
			"workload",
			"floor",
			"best peer",
			"farad, ns/op",
			"min–max",
			"÷ floor",
			"÷ best peer",
		}, Left: 3,
	}
	for _, l := range r.Lines() {
		ours, floor, peer := l.of[measure.NameFarad].ns, l.Quickest(Floors), l.Quickest(Others)
		if len(ours) == 0 || floor == "" && peer == "" {
			continue
		}
		t.Add(l.Name, floor, peer, fmt.Sprintf("%.1f", measure.Median(ours)),
			measure.Spread("%.1f", ours), measure.MedianAndSpread(l.Ratio(floor)),
			measure.MedianAndSpread(l.Ratio(peer)))
	}
	return t
}
