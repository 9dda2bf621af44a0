package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	xsemaphore "golang.org/x/sync/semaphore"

	"github.com/farad-go/farad/bench/papers/innerlocks"
	"github.com/farad-go/farad/sync/capacitor"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

// The names of locks that only mutexbench has.
const (
	nameFIFO    = "farad, mutex.Mutex"
	nameWord    = "farad, mutex.Word"
	nameStrict  = "farad, strict" // the mutex without an express lane
	nameWrapped = "wrapped sync.Mutex, B=10"
	nameLane    = "wrapped sync.Mutex, B=1, express 256"
	nameBypass  = "wrapped sync.Mutex, B=10, bypass 0.99"
	nameLIFO    = "LIFO"
)

// A newLock says whose lock it is, and makes one. The calls go by way of an interface, for all of
// them alike.
type newLock struct {
	name   string
	create func() sync.Locker
}

// mutexbenchLocks are those of mutexbench and its variations.
var mutexbenchLocks = []newLock{
	{nameFarad, func() sync.Locker { return new(capacitor.Mutex) }},
	{nameMutex, func() sync.Locker { return new(sync.Mutex) }},
	{nameFIFO, func() sync.Locker { return new(mutex.Mutex) }},
	{nameWord, func() sync.Locker { return new(mutex.Word) }},
	{nameStrict, func() sync.Locker { return capacitor.NewMutex(0) }},
	{nameWrapped, func() sync.Locker { return capacitor.Wrap(new(sync.Mutex), 10) }},
	{nameLane, func() sync.Locker { return capacitor.Wrap(new(sync.Mutex), 1, capacitor.WithExpress(256)) }},
}

// bypassLocks are those and fractional bypass.
var bypassLocks = append(slices.Clone(mutexbenchLocks), newLock{nameBypass, func() sync.Locker {
	return capacitor.Wrap(new(sync.Mutex), 10, capacitor.WithBypass(0.99))
}})

// withLocks is a workload with a loop for each lock.
func withLocks(name string, goroutines int, locks []newLock, loop func(newLock) lockImpl) lockWorkload {
	w := lockWorkload{name: name, goroutines: goroutines}
	for _, l := range locks {
		w.impls = append(w.impls, loop(l))
	}
	return w
}

// mutexbench is MutexBench of the capacitor's paper: the lock is held for one step of a PRNG that
// all share, and nothing is outside.
func mutexbench(goroutines int) lockWorkload {
	return withLocks(mutexbenchName(goroutines), goroutines, mutexbenchLocks, advances)
}

func mutexbenchName(goroutines int) string { return fmt.Sprintf("mutexbench-%d", goroutines) }

// advances is mutexbench with somebody's lock.
func advances(of newLock) lockImpl {
	return lockImpl{name: of.name, make: func() lockLoop {
		l, shared := of.create(), uint64(1)
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				l.Lock()
				shared = xorshift(shared)
				l.Unlock()
			}
			return x, nil
		}
	}}
}

// A section is what is done with and without the lock.
type section struct {
	inside  int  // steps of the PRNG that all share
	outside int  // steps of one's own
	sleeps  bool // who holds the lock yields one time in 64, and sleeps one time in 1024
}

// longSteps are as many as some 10 µs have.
const longSteps = 4000

// mutexbenchOf is mutexbench with another section.
func mutexbenchOf(name string, goroutines int, s section) lockWorkload {
	return withLocks(name, goroutines, bypassLocks, func(of newLock) lockImpl {
		return lockImpl{name: of.name, make: func() lockLoop {
			l, shared := of.create(), uint64(1)
			return func(_ context.Context, _, n int, x uint64) (uint64, error) {
				for range n {
					l.Lock()
					for range s.inside {
						shared = xorshift(shared)
					}
					if s.sleeps {
						nap(shared)
					}
					l.Unlock()
					for range s.outside {
						x = xorshift(x)
					}
				}
				return x, nil
			}
		}}
	})
}

// nap now and then yields or sleeps, as x has it.
func nap(x uint64) {
	switch x >> 32 % 1024 {
	case 0:
		time.Sleep(20 * time.Microsecond) // and longer: as timers are
	case 1, 65, 129, 193, 257, 321, 385, 449, 513, 577, 641, 705, 769, 833, 897:
		runtime.Gosched()
	}
}

// mutexbenchLIFO is mutexbench with the lock that is as unfair as can be, behind a gate and alone.
func mutexbenchLIFO(goroutines int) lockWorkload {
	w := withLocks(fmt.Sprintf("mutexbench-lifo-%d", goroutines), goroutines, []newLock{
		{nameFarad, func() sync.Locker { return capacitor.Wrap(new(innerlocks.LIFO), 10) }},
		{nameLIFO, func() sync.Locker { return new(innerlocks.LIFO) }},
	}, advances)
	w.impls[1].starves = true
	return w
}

// platoonbench is goroutines that take one of a semaphore's permits, advance a PRNG of their own by
// one step, and return the permit. farad is the semaphore with platoons, beside those with all
// other policies. With variants it has other platoons beside it.
func platoonbench(goroutines int, permits int64, variants ...[2]int) lockWorkload {
	platoon := func(opts ...semaphore.Option) func() locker {
		return func() locker { return semaphore.New(permits, opts...) }
	}
	impls := []lockImpl{
		uncontendedTake(nameFarad, platoon(semaphore.WithPlatoon(1, 256))),
		uncontendedTake(nameSem, platoon()),
		uncontendedTake(nameXSync, func() locker { return xsemaphore.NewWeighted(permits) }),
		uncontendedTake(nameChannel, func() locker { return make(channel, permits) }),
		uncontendedTake(nameArrayLock, platoon(semaphore.WithWaitingArray(nil))),
		uncontendedTake(nameBothLock, platoon(semaphore.WithPlatoon(1, 256), semaphore.WithWaitingArray(nil))),
		uncontendedTake(nameTWASem, func() locker { return twa.New(permits) }),
	}
	for _, v := range variants {
		impls = append(
			impls,
			uncontendedTake(fmt.Sprintf("B=%d, Q=%d", v[0], v[1]), platoon(semaphore.WithPlatoon(v[0], v[1]))),
		)
	}
	return lockWorkload{fmt.Sprintf("platoon-%dx%d", goroutines, permits), goroutines, impls}
}

// platoonVariants are platoons of other sizes, and other lanes.
var platoonVariants = [][2]int{{1, 0}, {1, 16}, {1, 64}, {1, 1024}, {2, 256}, {8, 16}, {8, 256}}
