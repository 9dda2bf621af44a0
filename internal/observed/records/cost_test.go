//go:build !interleave

package records_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
	farad "github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/sync/semaphore"
)

// pairs are acquires and releases that do not wait, of a lock that is given to watch before.
func pairs(watch func(lock any)) map[string]func() {
	m, s, l := new(mutex.Mutex), semaphore.New(4), new(rwlock.RWLock)
	c, a := semaphore.New(4, semaphore.WithCapacitor(1, 256)), semaphore.New(4, semaphore.WithWaitingArray(nil))
	d, e := new(farad.Mutex), new(farad.RWMutex)
	for _, lock := range []any{m, s, l, c, a, d, e} {
		watch(lock)
	}
	return map[string]func(){
		"mutex":     func() { m.Lock(); m.Unlock() },
		"semaphore": func() { s.TryAcquire(1); s.Release(1) },
		"capacitor": func() { c.TryAcquire(1); c.Release(1) },
		"array":     func() { a.TryAcquire(1); a.Release(1) },
		"write":     func() { l.Lock(); l.Unlock() },
		"read":      func() { l.RLock(); l.RUnlock() },

		"sync.Mutex":          func() { d.Lock(); d.Unlock() },
		"sync.RWMutex, write": func() { e.Lock(); e.Unlock() },
		"sync.RWMutex, read":  func() { e.RLock(); e.RUnlock() },
	}
}

var levels = map[string]observed.Level{"off": observed.Off, "counts": observed.Counts, "holders": observed.Holders}

func BenchmarkPair(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(pairs(func(any) {}))) {
		for _, level := range []string{"off", "counts", "holders"} {
			b.Run(name+"/"+level, func(b *testing.B) {
				pair := pairs(func(lock any) { records.Watch(lock, "", levels[level]) })[name]
				for b.Loop() {
					pair()
				}
			})
		}
	}
}

func TestHooksAllocateNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	for name, level := range levels {
		for kind, pair := range pairs(func(lock any) { records.Watch(lock, "", level) }) {
			pair()
			require.Less(t, testing.AllocsPerRun(1000, pair), 0.05, "%s of a %s", name, kind)
		}
	}
}

func BenchmarkContended(b *testing.B) {
	for _, level := range []string{"off", "counts", "holders"} {
		for _, kind := range []string{"mutex", "semaphore", "capacitor"} {
			b.Run(kind+"/"+level, func(b *testing.B) {
				m, s, c := new(mutex.Mutex), semaphore.New(1), semaphore.New(1, semaphore.WithCapacitor(1, 256))
				for _, lock := range []any{m, s, c} {
					records.Watch(lock, "", levels[level])
				}
				pair := map[string]func(){
					"mutex":     func() { m.Lock(); m.Unlock() },
					"semaphore": func() { _ = s.Acquire(bg, 1); s.Release(1) },
					"capacitor": func() { _ = c.Acquire(bg, 1); c.Release(1) },
				}[kind]
				b.SetParallelism(16)
				b.RunParallel(func(b *testing.PB) {
					for b.Next() {
						pair()
					}
				})
			})
		}
	}
}
