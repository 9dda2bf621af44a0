package capacitor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/table"
)

// mutexbenchWaits is mutexbench with a clock. It is a workload of its own, with rounds of its own,
// so that the clock does not slow down what mutexbench measures.
func mutexbenchWaits(goroutines int) locks.Bench {
	return withLocks(
		fmt.Sprintf("%s%d", locks.WaitsPrefix, goroutines),
		goroutines,
		mutexbenchLocks,
		func(of newLock) locks.Impl {
			log := new(measure.WaitLog)
			return locks.Impl{Name: of.Name, Waits: log, Make: func() locks.Loop {
				l, shared := of.create(), uint64(1)
				return func(_ context.Context, g, n int, x uint64) (uint64, error) {
					for range n {
						x = measure.Xorshift(x)
						d := log.Timed(x, l.Lock)
						shared = measure.Xorshift(shared)
						l.Unlock()
						log.Note(g, d)
					}
					return x, nil
				}
			}}
		},
	)
}

const waitNote = "How long a goroutine of mutexbench-N waits for the lock, from the call of Lock to its return:" +
	" of one call in eight, those that begin in the window. Medians over the rounds. With most locks" +
	" nearly all acquisitions are those of a running goroutine that does not wait at all. So there is" +
	" also the p99.9 of arrivals that come every microsecond: a wait of 5 µs counts as waits of 5, 4," +
	" 3, 2 and 1 µs (the correction for coordinated omission). The quotients are farad's p99.9" +
	" divided by the line's: the medians of the quotients inside the rounds."

// WaitTable has a line for each lock of a workload whose waits are timed.
func WaitTable(rs locks.Results, sum *table.Tally) *table.Table {
	t := &table.Table{
		Title: "Waits",
		Note:  waitNote,
		Head: []string{
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
		Left: 2,
	}
	for _, l := range rs {
		if !strings.HasPrefix(l.Workload, locks.WaitsPrefix) {
			continue
		}
		for _, im := range l.Impls {
			waits := l.WaitCells(im.Name)
			if waits == nil {
				continue
			}
			row := slices.Concat(
				[]string{l.Workload, im.Name},
				waits,
				[]string{measure.Duration(measure.Median(l.Samples.Column(im.Name, locks.WaitTail)))},
			)
			for _, m := range []table.Metric{table.TailOfAllTo, table.TailTo} {
				row = append(row, sum.Entry(m, locks.TargetFor(l.Workload, m, im.Name), l.Tails(m, im.Name)))
			}
			t.Add(row...)
		}
	}
	return t
}
