package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/farad-go/farad/bench/papers/innerlocks"
	"github.com/farad-go/farad/sync/capacitor"
	"github.com/farad-go/farad/twa"
)

// The paper's figure: five locks, each alone, behind a gate, and behind one that 99 of 100 arrivals
// pass by. And what the paper leaves open: how the length of the platoons and that of the express
// lane go together.

// figureLocks are the paper's, in its order but for the last.
var figureLocks = []newLock{
	{"Reciprocating", func() sync.Locker { return new(innerlocks.Reciprocating) }},
	{"Ticket", func() sync.Locker { return new(twa.Mutex) }},
	{nameLIFO, func() sync.Locker { return new(innerlocks.LIFO) }},
	{"MCS", func() sync.Locker { return new(innerlocks.MCS) }},
	{"TTS", func() sync.Locker { return new(innerlocks.TTS) }},
}

// A wrapping is what a lock is put behind.
type wrapping struct {
	name string
	wrap func(sync.Locker) sync.Locker
}

// around returns the lock behind it.
func (g wrapping) around(l newLock) newLock {
	return newLock{l.name + ", " + g.name, func() sync.Locker { return g.wrap(l.create()) }}
}

// figureVariants are what is done to each.
var figureVariants = []wrapping{
	{"bare", func(l sync.Locker) sync.Locker { return l }},
	{"B=10", func(l sync.Locker) sync.Locker { return capacitor.Wrap(l, 10) }},
	{"B=10, bypass 0.99", func(l sync.Locker) sync.Locker { return capacitor.Wrap(l, 10, capacitor.WithBypass(0.99)) }},
}

// figureSizes are how many goroutines there are.
var figureSizes = []int{1, 2, 8, 64, 256}

func figureName(goroutines int) string { return fmt.Sprintf("figure-%d", goroutines) }

// figure is mutexbench with all locks and variants.
func figure(goroutines int) lockWorkload {
	return wrappedLocks(figureName(goroutines), goroutines, figureLocks, figureVariants)
}

// wrappedLocks is mutexbench with every lock behind every wrapping.
func wrappedLocks(name string, goroutines int, locks []newLock, wrappings []wrapping) lockWorkload {
	w := lockWorkload{name: name, goroutines: goroutines}
	for _, l := range locks {
		for _, g := range wrappings {
			im := advances(g.around(l))
			im.starves = l.name == nameLIFO
			w.impls = append(w.impls, im)
		}
	}
	return w
}

// planeName is the workload of the plane.
const planeName = "plane-64"

// planeB are the lengths of the platoons, planeQ those of the express lane.
var (
	planeB = []int{1, 2, 4, 8, 16, 32}
	planeQ = []int{0, 16, 64, 256, 1024}
)

func planeImpl(b, q int) string { return fmt.Sprintf("B=%d, Q=%d", b, q) }

// plane is mutexbench with a wrapped sync.Mutex for all lengths.
func plane(goroutines int) lockWorkload {
	w := lockWorkload{name: planeName, goroutines: goroutines}
	for _, b := range planeB {
		for _, q := range planeQ {
			w.impls = append(w.impls, advances(newLock{planeImpl(b, q), func() sync.Locker {
				var opts []capacitor.Option
				if q > 0 {
					opts = append(opts, capacitor.WithExpress(q))
				}
				return capacitor.Wrap(new(sync.Mutex), int64(b), opts...)
			}}))
		}
	}
	return w
}

// hasOwnTable reports whether the line is not one of the table of all locks.
func (r *lockResult) hasOwnTable() bool {
	return r.Workload == planeName || r.inLanes() ||
		slices.ContainsFunc(
			[]string{"figure-", waitsPrefix, handOffPrefix, stormPrefix, everyPrefix},
			func(prefix string) bool {
				return strings.HasPrefix(r.Workload, prefix)
			},
		)
}

// median returns the median of one figure of one lock in one workload, and whether there is one.
func (r *report) median(workload, impl string, figure func(lockSample) float64) (float64, bool) {
	vs := r.lockColumn(workload, impl, figure)
	if len(vs) == 0 {
		return 0, false
	}
	return median(vs), true
}

// pair is what one entry of figure and plane says.
func (r *report) pair(workload, impl string) string {
	ns, ok := r.median(workload, impl, lockNs)
	if !ok {
		return ""
	}
	fair, _ := r.median(workload, impl, lockFairness)
	return fmt.Sprintf("%.1f (%.2f)", ns, fair)
}

const (
	figureNote = "MutexBench with the paper's locks, alone, behind a gate with platoons of B, and behind one that 99 of 100 arrivals pass by: ns per" +
		" acquisition with so many goroutines, and in brackets the fairness. Medians over the rounds. Ticket is twa.Mutex."
	planeNote = "MutexBench with 64 goroutines and a wrapped sync.Mutex, with platoons of B and an express lane of Q: ns per acquisition, and in" +
		" brackets the fairness. Medians over the rounds."
)

// figureTable has a line for each variant of each lock.
func (r *report) figureTable() *table {
	t := &table{title: "The capacitor round other locks", note: figureNote, head: []string{"lock", "variant"}, left: 2}
	return r.fillWrapped(t, figureLocks, figureVariants, figureSizes, figureName)
}

// fillWrapped adds a line for each wrapping of each lock, with a column for each number of
// goroutines.
func (r *report) fillWrapped(
	t *table,
	locks []newLock,
	wrappings []wrapping,
	sizes []int,
	workload func(goroutines int) string,
) *table {
	t.head = append(t.head, columnsFor("T=", sizes)...)
	for _, l := range locks {
		for _, g := range wrappings {
			t.addMeasured([]string{l.name, g.name}, r.pairs(workload, sizes, g.around(l).name))
		}
	}
	return t
}

// columnsFor returns the heads of columns for some numbers.
func columnsFor(what string, numbers []int) (heads []string) {
	for _, n := range numbers {
		heads = append(heads, what+strconv.Itoa(n))
	}
	return heads
}

// pairs are the entries of one lock for each number of goroutines.
func (r *report) pairs(workload func(goroutines int) string, sizes []int, impl string) (entries []string) {
	for _, n := range sizes {
		entries = append(entries, r.pair(workload(n), impl))
	}
	return entries
}

// planeTable has a line for each B.
func (r *report) planeTable() *table {
	t := &table{
		title: "Platoons and express lane",
		note:  planeNote,
		head:  append([]string{"B"}, columnsFor("Q=", planeQ)...),
		left:  1,
	}
	for _, b := range planeB {
		var row []string
		for _, q := range planeQ {
			row = append(row, r.pair(planeName, planeImpl(b, q)))
		}
		t.addMeasured([]string{strconv.Itoa(b)}, row)
	}
	return t
}
