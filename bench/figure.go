package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/farad-go/farad/internal/innerlocks"
	"github.com/farad-go/farad/sync/capacitor"
	"github.com/farad-go/farad/twa"
)

// The paper's figure: five locks, each alone, behind a gate, and behind one that 99 of 100 arrivals pass by. And what the paper leaves open: how
// the length of the platoons and that of the express lane go together.

// figureLocks are the paper's, in its order but for the last.
var figureLocks = []newLock{
	{"Reciprocating", func() sync.Locker { return new(innerlocks.Reciprocating) }},
	{"Ticket", func() sync.Locker { return new(twa.Mutex) }},
	{nameLIFO, func() sync.Locker { return new(innerlocks.LIFO) }},
	{"MCS", func() sync.Locker { return new(innerlocks.MCS) }},
	{"TTS", func() sync.Locker { return new(innerlocks.TTS) }},
}

// figureVariants are what is done to each.
var figureVariants = []struct {
	name string
	wrap func(sync.Locker) sync.Locker
}{
	{"bare", func(l sync.Locker) sync.Locker { return l }},
	{"B=10", func(l sync.Locker) sync.Locker { return capacitor.Wrap(l, 10) }},
	{"B=10, bypass 0.99", func(l sync.Locker) sync.Locker { return capacitor.Wrap(l, 10, capacitor.WithBypass(0.99)) }},
}

// figureSizes are how many goroutines there are.
var figureSizes = []int{1, 2, 8, 64, 256}

func figureName(goroutines int) string { return fmt.Sprintf("figure-%d", goroutines) }

func figureImpl(lock, variant string) string { return lock + ", " + variant }

// figure is mutexbench with all locks and variants.
func figure(goroutines int) lockWorkload {
	w := lockWorkload{name: figureName(goroutines), goroutines: goroutines}
	for _, l := range figureLocks {
		for _, v := range figureVariants {
			im := advances(newLock{figureImpl(l.name, v.name), func() sync.Locker { return v.wrap(l.create()) }})
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
	return r.Workload == planeName || r.inLanes() || slices.ContainsFunc([]string{"figure-", waitsPrefix, handOffPrefix, stormPrefix, everyPrefix}, func(prefix string) bool {
		return strings.HasPrefix(r.Workload, prefix)
	})
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
	for _, n := range figureSizes {
		t.head = append(t.head, "T="+strconv.Itoa(n))
	}
	for _, l := range figureLocks {
		for _, v := range figureVariants {
			row := []string{l.name, v.name}
			for _, n := range figureSizes {
				row = append(row, r.pair(figureName(n), figureImpl(l.name, v.name)))
			}
			t.addUnlessEmpty(row)
		}
	}
	return t
}

// planeTable has a line for each B.
func (r *report) planeTable() *table {
	t := &table{title: "Platoons and express lane", note: planeNote, head: []string{"B"}, left: 1}
	for _, q := range planeQ {
		t.head = append(t.head, "Q="+strconv.Itoa(q))
	}
	for _, b := range planeB {
		row := []string{strconv.Itoa(b)}
		for _, q := range planeQ {
			row = append(row, r.pair(planeName, planeImpl(b, q)))
		}
		t.addUnlessEmpty(row)
	}
	return t
}

// addUnlessEmpty adds a row that says more than what its words are.
func (t *table) addUnlessEmpty(row []string) {
	if strings.Join(row[t.left:], "") != "" {
		t.add(row...)
	}
}
