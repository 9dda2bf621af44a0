package capacitor

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/papers/innerlocks"
	"github.com/farad-go/farad/bench/table"
	"github.com/farad-go/farad/sync/capacitor"
	"github.com/farad-go/farad/twa"
)

// The paper's figure: five locks, each alone, behind a gate, and behind one that 99 of 100 arrivals
// pass by. And what the paper leaves open: how the length of the platoons and that of the express
// lane go together.

// FigureLocks are the paper's, in its order but for the last.
var FigureLocks = []newLock{
	{"Reciprocating", func() sync.Locker { return new(innerlocks.Reciprocating) }},
	{"Ticket", func() sync.Locker { return new(twa.Mutex) }},
	{nameLIFO, func() sync.Locker { return new(innerlocks.LIFO) }},
	{"MCS", func() sync.Locker { return new(innerlocks.MCS) }},
	{"TTS", func() sync.Locker { return new(innerlocks.TTS) }},
}

// A wrapping is what a lock is put behind.
type wrapping struct {
	Name string
	wrap func(sync.Locker) sync.Locker
}

// Around returns the lock behind it.
func (g wrapping) Around(l newLock) newLock {
	return newLock{l.Name + ", " + g.Name, func() sync.Locker { return g.wrap(l.create()) }}
}

// FigureVariants are what is done to each.
var FigureVariants = []wrapping{
	{"bare", func(l sync.Locker) sync.Locker { return l }},
	{"B=10", func(l sync.Locker) sync.Locker { return capacitor.Wrap(l, 10) }},
	{
		"B=10, bypass 0.99",
		func(l sync.Locker) sync.Locker { return capacitor.Wrap(l, 10, capacitor.WithBypass(0.99)) },
	},
}

// FigureSizes are how many goroutines there are.
var FigureSizes = []int{1, 2, 8, 64, 256}

// FigureName is the name of the figure's workload.
func FigureName(goroutines int) string { return fmt.Sprintf("%s%d", locks.FigurePrefix, goroutines) }

// Figure is mutexbench with all locks and variants.
func Figure(goroutines int) locks.Bench {
	return wrappedLocks(FigureName(goroutines), goroutines, FigureLocks, FigureVariants)
}

// wrappedLocks is mutexbench with every lock behind every wrapping.
func wrappedLocks(name string, goroutines int, all []newLock, wrappings []wrapping) locks.Bench {
	w := locks.Bench{Name: name, Goroutines: goroutines}
	for _, l := range all {
		for _, g := range wrappings {
			im := advances(g.Around(l))
			im.Starves = l.Name == nameLIFO
			w.Impls = append(w.Impls, im)
		}
	}
	return w
}

// PlaneB are the lengths of the platoons, planeQ those of the express lane.
var (
	PlaneB = []int{1, 2, 4, 8, 16, 32}
	PlaneQ = []int{0, 16, 64, 256, 1024}
)

// PlaneImpl is the lock with platoons of b and an express lane of q.
func PlaneImpl(b, q int) string { return fmt.Sprintf("B=%d, Q=%d", b, q) }

// Plane is mutexbench with a wrapped sync.Mutex for all lengths.
func Plane(goroutines int) locks.Bench {
	w := locks.Bench{Name: locks.PlaneName, Goroutines: goroutines}
	for _, b := range PlaneB {
		for _, q := range PlaneQ {
			w.Impls = append(w.Impls, advances(newLock{PlaneImpl(b, q), func() sync.Locker {
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

const (
	figureNote = "MutexBench with the paper's locks: alone, behind a gate with platoons of B, and behind a gate" +
		" that 99 of 100 arrivals bypass. The figures are ns per acquisition with T goroutines, and the" +
		" fairness in brackets: medians over the rounds. Ticket is twa.Mutex."
	planeNote = "MutexBench with 64 goroutines and a wrapped sync.Mutex, with platoons of B and an express lane" +
		" of Q. The figures are ns per acquisition, and the fairness in brackets: medians over the" +
		" rounds."
)

// FigureTable has a line for each variant of each lock.
func FigureTable(rs locks.Results) *table.Table {
	t := &table.Table{
		Title: "The capacitor round other locks",
		Note:  figureNote,
		Head:  []string{"lock", "variant"},
		Left:  2,
	}
	return fillWrapped(t, rs, FigureLocks, FigureVariants, FigureSizes, FigureName)
}

// fillWrapped adds a line for each wrapping of each lock, with a column for each number of
// goroutines.
func fillWrapped(
	t *table.Table,
	rs locks.Results,
	all []newLock,
	wrappings []wrapping,
	sizes []int,
	workload func(goroutines int) string,
) *table.Table {
	t.Head = append(t.Head, columnsFor("T=", sizes)...)
	for _, l := range all {
		for _, g := range wrappings {
			t.AddMeasured([]string{l.Name, g.Name}, rs.Pairs(workload, sizes, g.Around(l).Name))
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

// PlaneTable has a line for each B.
func PlaneTable(rs locks.Results) *table.Table {
	t := &table.Table{
		Title: "Platoons and express lane",
		Note:  planeNote,
		Head:  append([]string{"B"}, columnsFor("Q=", PlaneQ)...),
		Left:  1,
	}
	for _, b := range PlaneB {
		var row []string
		for _, q := range PlaneQ {
			row = append(row, rs.Pair(locks.PlaneName, PlaneImpl(b, q)))
		}
		t.AddMeasured([]string{strconv.Itoa(b)}, row)
	}
	return t
}
