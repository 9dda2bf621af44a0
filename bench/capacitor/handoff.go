package capacitor

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/neilotoole/fifomu"
	xsemaphore "golang.org/x/sync/semaphore"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

// The names of locks that hand-off-N has besides.
const (
	nameCapacitorLock = "farad, semaphore with capacitor"
	nameArrayLock     = "farad, semaphore with array"
)

// handOffLocks are the locks of mutexbench, and others that hand over.
var handOffLocks = append(slices.Clone(mutexbenchLocks),
	newLock{locks.NameTWAMutex, func() sync.Locker { return new(twa.Mutex) }},
	newLock{locks.NameSem, func() sync.Locker { return asLock{semaphore.New(1)} }},
	newLock{nameArrayLock, func() sync.Locker { return asLock{semaphore.New(1, semaphore.WithWaitingArray(nil))} }},
	newLock{nameCapacitorLock, func() sync.Locker { return asLock{semaphore.New(1, semaphore.WithCapacitor(1, 256))} }},
	newLock{peers.NameFifomu, func() sync.Locker { return new(fifomu.Mutex) }},
	newLock{peers.NameXSync, func() sync.Locker { return asLock{xsemaphore.NewWeighted(1)} }},
	newLock{peers.NameChannel, func() sync.Locker { return asLock{make(peers.Channel, 1)} }},
)

// asLock is a semaphore of one permit as a lock.
type asLock struct{ peers.Locker }

// Lock takes the permit.
func (l asLock) Lock() {
	if err := l.Acquire(context.Background(), 1); err != nil {
		panic(err) // the context does not end, and no goroutine closes it
	}
}

// LockContext is Lock, and gives up when ctx is done.
func (l asLock) LockContext(ctx context.Context) error { return l.Acquire(ctx, 1) }

// Unlock gives it back.
func (l asLock) Unlock() { l.Release(1) }

// handOffLatency is goroutines that hand a lock from one to the next.
func handOffLatency(goroutines int) locks.Bench {
	return withLocks(fmt.Sprintf("%s%d", locks.HandOffPrefix, goroutines), goroutines, handOffLocks, handsOver)
}

// handsOver yields once while it holds the lock, so that others come and wait. What is timed is how
// long the lock is on its way: from the call of Unlock to the return of Lock in another goroutine.
// A goroutine that gets it again itself has been handed nothing.
func handsOver(of newLock) locks.Impl {
	log := new(measure.WaitLog)
	return locks.Impl{Name: of.Name, Waits: log, Make: func() locks.Loop {
		l, shared := of.create(), uint64(1)
		var from int           // who had it last
		var unlocked time.Time // when that one unlocked it; zero: it did not look
		return func(_ context.Context, g, n int, x uint64) (uint64, error) {
			for range n {
				x = measure.Xorshift(x)
				l.Lock()
				onTheWay := time.Duration(-1)
				if from != g && !unlocked.IsZero() {
					onTheWay = time.Since(unlocked)
				}
				shared = measure.Xorshift(shared)
				runtime.Gosched()
				from, unlocked = g, time.Time{}
				if x%8 == 0 && log.Open.Load() {
					unlocked = time.Now()
				}
				l.Unlock()
				log.Note(g, onTheWay)
			}
			return x, nil
		}
	}}
}

const handOffNote = "The time that a lock takes from one goroutine to another: from the call of Unlock to the return" +
	" of Lock in the next goroutine, of one unlock in eight. N goroutines yield once while they hold" +
	" the lock, so that others wait. A lock that lets a running goroutine take it is handed over" +
	" seldom, which its fairness shows, and then to a goroutine that runs already. A dash marks a" +
	" lock that was not handed over at all in some window. Medians over the rounds. The quotient is" +
	" farad's p99 divided by the line's: the median of the quotients inside the rounds. farad is" +
	" farad/sync.Mutex. The last two columns are the line's own p50 and p99 divided by the channel's."

// HandOffTable has a line for each lock.
func HandOffTable(rs locks.Results, sum *table.Tally) *table.Table {
	t := &table.Table{
		Title: "Hand-off latency", Note: handOffNote,
		Head: []string{
			"workload",
			"lock",
			"p50",
			"p99",
			"p99.9",
			"longest",
			"farad ÷ it",
			"ns/op",
			"fairness",
			"p50 ÷ channel",
			"p99 ÷ channel",
		}, Left: 2,
	}
	for _, l := range rs {
		if !strings.HasPrefix(l.Workload, locks.HandOffPrefix) {
			continue
		}
		for _, im := range l.Impls {
			waits := l.WaitCells(im.Name)
			if waits == nil {
				continue
			}
			ratio := ""
			switch {
			case !l.HandsOver(im.Name):
				waits = []string{"–", "–", "–", "–"}
			case l.HandsOver(measure.NameFarad):
				ratio = measure.MedianAndSpread(l.Samples.Beside(im.Name, locks.HandOffP99))
			}
			besideChannel := func(m table.Metric) string {
				if im.Name == peers.NameChannel {
					return ""
				}
				return sum.Entry(m, handOffTarget(l.Workload, im.Name, m), l.HandOffs(m, im.Name, peers.NameChannel))
			}
			t.Add(slices.Concat([]string{l.Workload, im.Name}, waits, []string{
				ratio,
				fmt.Sprintf("%.1f", measure.Median(l.Samples.Column(im.Name, locks.NsPerOp))),
				fmt.Sprintf("%.2f", measure.Median(l.Samples.Column(im.Name, locks.Fairness))),
				besideChannel(table.HandOffP50To),
				besideChannel(table.HandOffP99To),
			})...)
		}
	}
	return t
}
