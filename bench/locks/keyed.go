package locks

import (
	"context"
	"hash/maphash"
	"sync"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/sync/keyed"
)

// The names of locks by key.
const (
	NameMapOfMutexes = "sync.Map of sync.Mutex" // which it never frees
	NameCountedMap   = "map with counts"        // under a mutex: the usual one that frees its locks
	NameStripes      = "256 stripes"            // of sync.Mutex: keys may share one
)

// Keyed are locks by key: one key that a goroutine has alone, and 64 goroutines with 100,000.
var Keyed = []Bench{
	{"keyed-1", 1, []Impl{
		byKey(measure.NameFarad, 1, newKeyed),
		byKey(NameMapOfMutexes, 1, newMapOfMutexes),
		byKey(NameCountedMap, 1, newCountedMap),
		byKey(NameStripes, 1, newStripes),
	}},
	{"keyed-64", 64, []Impl{
		byKey(measure.NameFarad, manyKeys, newKeyed),
		byKey(NameMapOfMutexes, manyKeys, newMapOfMutexes),
		byKey(NameCountedMap, manyKeys, newCountedMap),
		byKey(NameStripes, manyKeys, newStripes),
	}},
}

const manyKeys = 100_000

// A keyLock is a lock for each number.
type keyLock interface {
	Lock(k int)
	Unlock(k int)
}

// byKey makes the measurement of a lock by key. None of these locks is small enough to be inlined,
// so they share the code of their loops.
func byKey[L keyLock](name string, keys int, create func() L) Impl {
	return Impl{Name: name, Make: func() Loop { return keyLoop(create(), make([]uint64, keys)) }}
}

// keyLoop counts in random keys, each under its lock.
func keyLoop[L keyLock](l L, counts []uint64) Loop {
	return func(_ context.Context, _, n int, x uint64) (uint64, error) {
		for range n {
			x = measure.Xorshift(x)
			k := int(x % uint64(len(counts)))
			l.Lock(k)
			counts[k]++
			l.Unlock(k)
		}
		return x, nil
	}
}

// A keyedMutex is ours, which takes several keys, for one of them.
type keyedMutex struct{ m keyed.Mutex[int] }

func newKeyed() *keyedMutex { return new(keyedMutex) }

func (l *keyedMutex) Lock(k int)   { l.m.Lock(k) }
func (l *keyedMutex) Unlock(k int) { l.m.Unlock(k) }

// A mapOfMutexes makes a mutex for each key, and keeps it.
type mapOfMutexes struct{ m sync.Map }

func newMapOfMutexes() *mapOfMutexes { return new(mapOfMutexes) }

func (l *mapOfMutexes) Lock(k int) {
	m, ok := l.m.Load(k)
	if !ok {
		m, _ = l.m.LoadOrStore(k, new(sync.Mutex))
	}
	m.(*sync.Mutex).Lock()
}

func (l *mapOfMutexes) Unlock(k int) {
	m, _ := l.m.Load(k)
	m.(*sync.Mutex).Unlock()
}

// A countedMap has the mutexes of those keys that are in use.
type countedMap struct {
	mu sync.Mutex
	m  map[int]*countedMutex // guarded by mu
}

type countedMutex struct {
	sync.Mutex

	users int // guarded by the map's mu
}

func newCountedMap() *countedMap { return &countedMap{m: make(map[int]*countedMutex)} }

func (l *countedMap) Lock(k int) {
	l.mu.Lock()
	m := l.m[k]
	if m == nil {
		m = new(countedMutex)
		l.m[k] = m
	}
	m.users++
	l.mu.Unlock()
	m.Lock()
}

func (l *countedMap) Unlock(k int) {
	l.mu.Lock()
	m := l.m[k]
	if m.users--; m.users == 0 {
		delete(l.m, k)
	}
	l.mu.Unlock()
	m.Unlock()
}

// A stripes has a mutex for each of 256 parts of the keys.
type stripes struct {
	seed    maphash.Seed
	mutexes [256]sync.Mutex
}

func newStripes() *stripes { return &stripes{seed: maphash.MakeSeed()} }

func (l *stripes) of(k int) *sync.Mutex {
	return &l.mutexes[maphash.Comparable(l.seed, k)%uint64(len(l.mutexes))]
}

func (l *stripes) Lock(k int)   { l.of(k).Lock() }
func (l *stripes) Unlock(k int) { l.of(k).Unlock() }
