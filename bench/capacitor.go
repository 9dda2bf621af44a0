package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/farad-go/farad/sync/capacitor"
	"github.com/farad-go/farad/sync/mutex"
)

// The names of locks that only mutexbench has.
const (
	nameFIFO    = "farad, mutex.Mutex"
	nameWord    = "farad, mutex.Word"
	nameStrict  = "farad, strict" // the mutex without an express lane
	nameWrapped = "wrapped sync.Mutex, B=10"
	nameLane    = "wrapped sync.Mutex, B=1, express 256"
)

// mutexbench is MutexBench of the capacitor's paper: the lock is held for one step of a PRNG that all share, and nothing is outside.
func mutexbench(goroutines int) lockWorkload {
	return lockWorkload{fmt.Sprintf("mutexbench-%d", goroutines), goroutines, []lockImpl{
		advances(nameFarad, func() sync.Locker { return new(capacitor.Mutex) }),
		advances(nameMutex, func() sync.Locker { return new(sync.Mutex) }),
		advances(nameFIFO, func() sync.Locker { return new(mutex.Mutex) }),
		advances(nameWord, func() sync.Locker { return new(mutex.Word) }),
		advances(nameStrict, func() sync.Locker { return capacitor.NewMutex(0) }),
		advances(nameWrapped, func() sync.Locker { return capacitor.Wrap(new(sync.Mutex), 10) }),
		advances(nameLane, func() sync.Locker { return capacitor.Wrap(new(sync.Mutex), 1, capacitor.WithExpress(256)) }),
	}}
}

// advances is mutexbench with somebody's lock. The calls go by way of an interface, for all of them alike.
func advances(name string, create func() sync.Locker) lockImpl {
	return lockImpl{name, func() lockLoop {
		l, shared := create(), uint64(1)
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
