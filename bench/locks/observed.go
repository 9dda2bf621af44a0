package locks

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/linkdata/deadlock"
	godeadlock "github.com/sasha-s/go-deadlock"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/observe"
	farad "github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/mutex"
)

// The names of locks into which one can see.
const (
	NameUnobserved = "farad, not observed"
	NameHolders    = "farad, holders"
	NameProfiled   = "sync.Mutex, profiled" // each contention, by the runtime's mutex profile
	NameGoDeadlock = "go-deadlock"
	NameLinkdata   = "linkdata/deadlock" // only with the build tag deadlock
)

// Observed are mutexes that can be observed, at each level, and what others cost.
var Observed = []Bench{
	{"observed-1", 1, observedMutexes()},
	{"observed-8", 8, observedMutexes()},
	{"observed-sync-1", 1, observedSync()},
	{"observed-sync-8", 8, observedSync()},
}

func observedMutexes() []Impl {
	return append([]Impl{
		strict(measure.NameFarad, observe.LevelCounts),
		strict(NameUnobserved, observe.LevelOff),
		strict(NameHolders, observe.LevelHolders),
	}, seenThrough()...)
}

func observedSync() []Impl {
	return append([]Impl{
		crowded(measure.NameFarad, observe.LevelCounts),
		crowded(NameUnobserved, observe.LevelOff),
		crowded(NameHolders, observe.LevelHolders),
	}, seenThrough()...)
}

// strict is our mutex in strict order at a level. Its loop is the loop of the unobserved one.
func strict(name string, level observe.Level) Impl {
	return Impl{Name: name, Make: func() Loop {
		m := new(mutex.Mutex)
		observe.Watch(m, "", level)
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				m.Lock()
				x = measure.Xorshift(x)
				m.Unlock()
			}
			return x, nil
		}
	}}
}

// crowded is the mutex of our package sync at a level.
func crowded(name string, level observe.Level) Impl {
	return Impl{Name: name, Make: func() Loop {
		m := new(farad.Mutex)
		observe.Watch(m, "", level)
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				m.Lock()
				x = measure.Xorshift(x)
				m.Unlock()
			}
			return x, nil
		}
	}}
}

// seenThrough are the mutexes of others.
func seenThrough() []Impl {
	linkdata := Impl{Name: NameLinkdata}
	if deadlock.Enabled {
		linkdata.Make = func() Loop { return lockLoop(new(deadlock.Mutex)) }
	}
	return []Impl{
		StdMutex,
		{Name: NameProfiled, Make: func() Loop {
			loop, profiling := StdMutex.Make(), new(atomic.Int32)
			return func(ctx context.Context, g, n int, x uint64) (uint64, error) {
				if profiling.Add(1) == 1 {
					runtime.SetMutexProfileFraction(1)
				}
				x, err := loop(ctx, g, n, x)
				if profiling.Add(-1) == 0 {
					runtime.SetMutexProfileFraction(0)
				}
				return x, err
			}
		}},
		{Name: NameGoDeadlock, Make: func() Loop { return lockLoop(new(godeadlock.Mutex)) }},
		linkdata,
	}
}

// lockLoop locks a mutex that is too large to be inlined, so that its type need not be written out.
func lockLoop[L sync.Locker](m L) Loop {
	return func(_ context.Context, _, n int, x uint64) (uint64, error) {
		for range n {
			m.Lock()
			x = measure.Xorshift(x)
			m.Unlock()
		}
		return x, nil
	}
}
