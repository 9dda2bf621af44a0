package capacitor

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	xsemaphore "golang.org/x/sync/semaphore"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/papers/innerlocks"
	"github.com/farad-go/farad/bench/peers"
	farad "github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/capacitor"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

// The names of locks that only mutexbench has.
const (
	NameFIFO    = "farad, mutex.Mutex"
	NameWord    = "farad, mutex.Word"
	nameWrapped = "wrapped sync.Mutex, B=10"
	nameLane    = "wrapped sync.Mutex, B=1, express 256"
	nameBypass  = "wrapped sync.Mutex, B=10, bypass 0.99"
	nameLIFO    = "LIFO"
)

// A newLock has the name of a kind of lock, and makes one. The calls go by way of an interface, for
// all of them alike.
type newLock struct {
	Name   string
	create func() sync.Locker
}

// mutexbenchLocks are the locks of mutexbench and its variations.
var mutexbenchLocks = []newLock{
	{measure.NameFarad, func() sync.Locker { return new(farad.Mutex) }},
	{locks.NameMutex, func() sync.Locker { return new(sync.Mutex) }},
	{NameFIFO, func() sync.Locker { return new(mutex.Mutex) }},
	{NameWord, func() sync.Locker { return new(mutex.Word) }},
	{nameWrapped, func() sync.Locker { return capacitor.Wrap(new(sync.Mutex), 10) }},
	{nameLane, func() sync.Locker { return capacitor.Wrap(new(sync.Mutex), 1, capacitor.WithExpress(256)) }},
}

// bypassLocks are those and fractional bypass.
var bypassLocks = append(slices.Clone(mutexbenchLocks), newLock{nameBypass, func() sync.Locker {
	return capacitor.Wrap(new(sync.Mutex), 10, capacitor.WithBypass(0.99))
}})

// withLocks is a workload with a loop for each lock.
func withLocks(name string, goroutines int, all []newLock, loop func(newLock) locks.Impl) locks.Bench {
	w := locks.Bench{Name: name, Goroutines: goroutines}
	for _, l := range all {
		w.Impls = append(w.Impls, loop(l))
	}
	return w
}

// mutexbench is MutexBench of the capacitor's paper: the lock is held for one step of a PRNG that
// all share, and nothing is outside.
func mutexbench(goroutines int) locks.Bench {
	return withLocks(MutexbenchName(goroutines), goroutines, mutexbenchLocks, advances)
}

// MutexbenchName is the name of MutexBench's workload.
func MutexbenchName(goroutines int) string { return fmt.Sprintf("mutexbench-%d", goroutines) }

// advances is mutexbench with the given lock.
func advances(of newLock) locks.Impl {
	return locks.Impl{Name: of.Name, Make: func() locks.Loop {
		l, shared := of.create(), uint64(1)
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				l.Lock()
				shared = measure.Xorshift(shared)
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
	sleeps  bool // the holder yields one time in 64, and sleeps one time in 1024
}

// longSteps are as many as some 10 µs have.
const longSteps = 4000

// mutexbenchOf is mutexbench with another section.
func mutexbenchOf(name string, goroutines int, s section) locks.Bench {
	return withLocks(name, goroutines, bypassLocks, func(of newLock) locks.Impl {
		return locks.Impl{Name: of.Name, Make: func() locks.Loop {
			l, shared := of.create(), uint64(1)
			return func(_ context.Context, _, n int, x uint64) (uint64, error) {
				for range n {
					l.Lock()
					for range s.inside {
						shared = measure.Xorshift(shared)
					}
					if s.sleeps {
						nap(shared)
					}
					l.Unlock()
					for range s.outside {
						x = measure.Xorshift(x)
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
func mutexbenchLIFO(goroutines int) locks.Bench {
	w := withLocks(fmt.Sprintf("mutexbench-lifo-%d", goroutines), goroutines, []newLock{
		{measure.NameFarad, func() sync.Locker { return capacitor.Wrap(new(innerlocks.LIFO), 10) }},
		{nameLIFO, func() sync.Locker { return new(innerlocks.LIFO) }},
	}, advances)
	w.Impls[1].Starves = true
	return w
}

// permitbench is goroutines that take one of a semaphore's permits, advance a PRNG of their own by
// one step, and return the permit. farad is the semaphore with a capacitor; the others have all
// other policies, and the capacitors of variants.
func permitbench(goroutines int, permits int64, variants ...[2]int) locks.Bench {
	take := func(opts ...semaphore.Option) func() peers.Locker {
		return func() peers.Locker { return semaphore.New(permits, opts...) }
	}
	impls := []locks.Impl{
		locks.UncontendedTake(measure.NameFarad, take(semaphore.WithCapacitor(1, 256))),
		locks.UncontendedTake(locks.NameSem, take()),
		locks.UncontendedTake(peers.NameXSync, func() peers.Locker { return xsemaphore.NewWeighted(permits) }),
		locks.UncontendedTake(peers.NameChannel, func() peers.Locker { return make(peers.Channel, permits) }),
		locks.UncontendedTake(nameArrayLock, take(semaphore.WithWaitingArray(nil))),
		locks.UncontendedTake(nameBothLock, take(semaphore.WithCapacitor(1, 256), semaphore.WithWaitingArray(nil))),
		locks.UncontendedTake(nameTWASem, func() peers.Locker { return twa.New(permits) }),
	}
	for _, v := range variants {
		impls = append(
			impls,
			locks.UncontendedTake(fmt.Sprintf("B=%d, Q=%d", v[0], v[1]), take(semaphore.WithCapacitor(v[0], v[1]))),
		)
	}
	return locks.Bench{Name: fmt.Sprintf("capacitor-%dx%d", goroutines, permits), Goroutines: goroutines, Impls: impls}
}

// capacitorVariants are capacitors of other sizes, and with other lanes.
var capacitorVariants = [][2]int{{1, 0}, {1, 16}, {1, 64}, {1, 1024}, {2, 256}, {8, 16}, {8, 256}}

// The workloads of the capacitor: first those with every lock, then variations of them.
var (
	Benches = []locks.Bench{
		mutexbench(1), mutexbench(2), mutexbench(8), mutexbench(64), mutexbench(256), mutexbench(1024),
		mutexbenchWaits(8), mutexbenchWaits(64), mutexbenchWaits(256),
		handOffLatency(2), handOffLatency(8), handOffLatency(64),
		everybench(1), everybench(8), everybench(64),
	}
	Variations = []locks.Bench{
		mutexbenchOf("mutexbench-long-8", 8, section{inside: longSteps}),
		mutexbenchOf("mutexbench-outside-64", 64, section{inside: 1, outside: 200}),
		mutexbenchOf("mutexbench-sleep-64", 64, section{inside: 1, sleeps: true}),
		mutexbenchLIFO(2), mutexbenchLIFO(8), mutexbenchLIFO(64), mutexbenchLIFO(256), mutexbenchLIFO(1024),
		Figure(1), Figure(2), Figure(8), Figure(64), Figure(256),
		Plane(64),
		lanebench(8), lanebench(64),
		permitbench(1, 2), permitbench(8, 2), permitbench(64, 2, capacitorVariants...), permitbench(1000, 2),
	}
)
