package main

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

	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

// The names of locks that hand-off-N has besides.
const (
	namePlatoonLock = "farad, semaphore with platoon"
	nameArrayLock   = "farad, semaphore with array"
)

// handOffLocks are those of mutexbench, and what else hands a lock over.
var handOffLocks = append(slices.Clone(mutexbenchLocks),
	newLock{nameTWAMutex, func() sync.Locker { return new(twa.Mutex) }},
	newLock{nameSem, func() sync.Locker { return asLock{semaphore.New(1)} }},
	newLock{nameArrayLock, func() sync.Locker { return asLock{semaphore.New(1, semaphore.WithWaitingArray(nil))} }},
	newLock{namePlatoonLock, func() sync.Locker { return asLock{semaphore.New(1, semaphore.WithPlatoon(1, 256))} }},
	newLock{nameFifomu, func() sync.Locker { return new(fifomu.Mutex) }},
	newLock{nameXSync, func() sync.Locker { return asLock{xsemaphore.NewWeighted(1)} }},
	newLock{nameChannel, func() sync.Locker { return asLock{make(channel, 1)} }},
)

// asLock is a semaphore of one permit as a lock.
type asLock struct{ locker }

// Lock takes the permit.
func (l asLock) Lock() {
	if err := l.Acquire(context.Background(), 1); err != nil {
		panic(err) // the context does not end, and nobody closes it
	}
}

// LockContext is Lock, and gives up when ctx is done.
func (l asLock) LockContext(ctx context.Context) error { return l.Acquire(ctx, 1) }

// Unlock gives it back.
func (l asLock) Unlock() { l.Release(1) }

// handOffPrefix is what the names of these workloads begin with.
const handOffPrefix = "hand-off-"

// handOffLatency is goroutines that hand a lock from one to the next.
func handOffLatency(goroutines int) lockWorkload {
	return withLocks(fmt.Sprintf("%s%d", handOffPrefix, goroutines), goroutines, handOffLocks, handsOver)
}

// handsOver yields once while it holds the lock, so that others come and wait. What is timed is how
// long the lock is on its way: from the call of Unlock to the return of Lock in another goroutine.
// Whoever gets it again itself has been handed nothing.
func handsOver(of newLock) lockImpl {
	log := new(waitLog)
	return lockImpl{name: of.name, waits: log, make: func() lockLoop {
		l, shared := of.create(), uint64(1)
		var from int           // who had it last
		var unlocked time.Time // when that one unlocked it; zero: it did not look
		return func(_ context.Context, g, n int, x uint64) (uint64, error) {
			for range n {
				x = xorshift(x)
				l.Lock()
				onTheWay := time.Duration(-1)
				if from != g && !unlocked.IsZero() {
					onTheWay = time.Since(unlocked)
				}
				shared = xorshift(shared)
				runtime.Gosched()
				from, unlocked = g, time.Time{}
				if x%8 == 0 && log.open.Load() {
					unlocked = time.Now()
				}
				l.Unlock()
				log.note(g, onTheWay)
			}
			return x, nil
		}
	}}
}

const handOffNote = "How long a lock is on its way from one goroutine to another: from the call of Unlock to the return of Lock in the one that gets it, of one" +
	" unlock in eight. N goroutines yield once while they hold it, so that others wait. Locks that let whoever runs take them are handed over seldom, which" +
	" shows in the fairness, and then to one that runs already; a dash is for one that was not handed over in some window at all. Medians over the rounds. The quotient is farad's" +
	" p99 divided by the line's: the median of the quotients inside the rounds. farad is capacitor.Mutex."

// handOffTable has a line for each lock.
func (r *report) handOffTable() *table {
	t := &table{
		title: "Hand-off latency", note: handOffNote,
		head: []string{
			"workload",
			"lock",
			"p50",
			"p99",
			"p99.9",
			"longest",
			"farad ÷ it",
			"ns/op",
			"fairness",
		}, left: 2,
	}
	p99 := func(s lockSample) float64 { return float64(s.Waits.P99) }
	for _, l := range r.Locks {
		if !strings.HasPrefix(l.Workload, handOffPrefix) {
			continue
		}
		for _, im := range l.impls {
			waits := l.waitCells(im.name)
			if waits == nil {
				continue
			}
			ratio := ""
			switch {
			case !l.handsOver(im.name):
				waits = []string{"–", "–", "–", "–"}
			case l.handsOver(nameFarad):
				ratio = medianAndSpread(l.Samples.beside(im.name, p99))
			}
			t.add(slices.Concat([]string{l.Workload, im.name}, waits, []string{
				ratio, fmt.Sprintf("%.1f", median(l.Samples.column(im.name, lockNs))), fmt.Sprintf("%.2f", median(l.Samples.column(im.name, lockFairness))),
			})...)
		}
	}
	return t
}

// handsOver reports whether the lock went from one goroutine to another in every round. One that
// lets whoever runs take it may not, for as long as a window.
func (r *lockResult) handsOver(impl string) bool {
	return len(r.Samples[impl]) > 0 &&
		!slices.ContainsFunc(r.Samples[impl], func(s lockSample) bool { return s.Waits.Count == 0 })
}
