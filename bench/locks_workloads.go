package main

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/neilotoole/fifomu"
	"github.com/puzpuzpuz/xsync/v4"
	"golang.org/x/sync/semaphore"

	"github.com/farad-go/farad/sync/capacitor"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/sync/rwlock"
)

// The names of locks that only these tables have.
const (
	nameMutex   = "sync.Mutex"
	nameRWMutex = "sync.RWMutex"
	nameFifomu  = "fifomu"
	nameRBMutex = "xsync.RBMutex"
	nameLock    = "farad, Lock"      // the same lock without a context
	nameBiased  = "farad, bias"      // with reader bias
	nameExpress = "farad, capacitor" // capacitor.RWLock
	namePlainRW = "farad, unbiased"  // without, where both are compared
	nameFetchOr = "fetch-or"         // a two-bit lock by Or and And, which cannot wait
	nameMutexes = "[]sync.Mutex"

	nameAdditions = "two additions" // a ticket semaphore that cannot wait
	nameSem       = "farad, semaphore"
	nameTWAMutex  = "farad, twa.Mutex"
	nameTicket    = "tickets, polled" // the ticket semaphore of the paper
)

// The workloads, in the order of the table.
var lockWorkloads = []lockWorkload{
	{"mutex-1", 1, []lockImpl{farads, stdMutex, channelMutex, fifoMutex, xsyncMutex}},
	{"mutex-8", 8, []lockImpl{farads, stdMutex, channelMutex, fifoMutex, xsyncMutex}},
	{"mutex-64", 64, []lockImpl{farads, stdMutex, channelMutex, fifoMutex, xsyncMutex}},
	{"mutex-context-1", 1, []lockImpl{faradContext, {name: nameLock, make: farads.make}, channelContext, xsyncContext}},
	{"mutex-context-8", 8, []lockImpl{faradContext, channelContext, xsyncContext}},
	{"mutex-context-64", 64, []lockImpl{faradContext, channelContext, xsyncContext}},

	twaUncontended,
	semabench(1), semabench(2), semabench(8), semabench(64), semabench(256), semabench(1024),
	chainsbench(8), chainsbench(64), chainsbench(1024),
	policiesbench(2), policiesbench(8), policiesbench(64),

	mutexbench(1), mutexbench(2), mutexbench(8), mutexbench(64), mutexbench(256), mutexbench(1024),
	mutexbenchWaits(8), mutexbenchWaits(64), mutexbenchWaits(256),
	handOffLatency(2), handOffLatency(8), handOffLatency(64),
	everybench(1), everybench(8), everybench(64),
	stormbench(1), stormbench(50), stormbench(100),
	mutexbenchOf("mutexbench-long-8", 8, section{inside: longSteps}),
	mutexbenchOf("mutexbench-outside-64", 64, section{inside: 1, outside: 200}),
	mutexbenchOf("mutexbench-sleep-64", 64, section{inside: 1, sleeps: true}),
	mutexbenchLIFO(2), mutexbenchLIFO(8), mutexbenchLIFO(64), mutexbenchLIFO(256), mutexbenchLIFO(1024),
	figure(1), figure(2), figure(8), figure(64), figure(256),
	plane(64),
	lanebench(8), lanebench(64),
	platoonbench(1, 2), platoonbench(8, 2), platoonbench(64, 2, platoonVariants...), platoonbench(1000, 2),

	{"word-1", 1, []lockImpl{wordMutex, stdMutex, fetchOr}},
	{"word-8", 8, []lockImpl{wordMutex, stdMutex}},
	{"packed-8", 8, []lockImpl{packedMutex, manyMutexes}},

	{"read-1", 1, []lockImpl{faradRead(nameFarad), biasedRead(nameBiased), stdRead, rbRead}},
	{"read-2", 2, []lockImpl{biasedRead(nameFarad), faradRead(namePlainRW), stdRead, rbRead}},
	mixed("mix-90-8", 10, false),
	mixed("mix-99-8", 100, false),
	mixed("mix-90-8-yield", 10, true),
	mixed("mix-99-8-yield", 100, true),
}

var (
	farads = lockImpl{name: nameFarad, make: func() lockLoop {
		var m mutex.Mutex
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				m.Lock()
				x = xorshift(x)
				m.Unlock()
			}
			return x, nil
		}
	}}
	stdMutex = lockImpl{name: nameMutex, make: func() lockLoop {
		var m sync.Mutex
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				m.Lock()
				x = xorshift(x)
				m.Unlock()
			}
			return x, nil
		}
	}}
	channelMutex = lockImpl{name: nameChannel, make: func() lockLoop {
		c := make(chan struct{}, 1)
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				c <- struct{}{}
				x = xorshift(x)
				<-c
			}
			return x, nil
		}
	}}
	fifoMutex = lockImpl{name: nameFifomu, make: func() lockLoop {
		var m fifomu.Mutex
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				m.Lock()
				x = xorshift(x)
				m.Unlock()
			}
			return x, nil
		}
	}}
	xsyncMutex = lockImpl{name: nameXSync, make: func() lockLoop {
		s := semaphore.NewWeighted(1)
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				if err := s.Acquire(context.Background(), 1); err != nil {
					return x, err
				}
				x = xorshift(x)
				s.Release(1)
			}
			return x, nil
		}
	}}

	faradContext = lockImpl{name: nameFarad, make: func() lockLoop {
		var m mutex.Mutex
		return func(ctx context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				if err := m.LockContext(ctx); err != nil {
					return x, err
				}
				x = xorshift(x)
				m.Unlock()
			}
			return x, nil
		}
	}}
	channelContext = lockImpl{name: nameChannel, make: func() lockLoop {
		c := make(chan struct{}, 1)
		return func(ctx context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				select {
				case c <- struct{}{}:
				case <-ctx.Done():
					return x, ctx.Err()
				}
				x = xorshift(x)
				<-c
			}
			return x, nil
		}
	}}
	xsyncContext = lockImpl{name: nameXSync, make: func() lockLoop {
		s := semaphore.NewWeighted(1)
		return func(ctx context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				if err := s.Acquire(ctx, 1); err != nil {
					return x, err
				}
				x = xorshift(x)
				s.Release(1)
			}
			return x, nil
		}
	}}
)

// manyLocks is how many locks there are in packed-8.
const manyLocks = 10_000

var (
	wordMutex = lockImpl{name: nameFarad, make: func() lockLoop {
		var m mutex.Word
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				m.Lock()
				x = xorshift(x)
				m.Unlock()
			}
			return x, nil
		}
	}}
	fetchOr = lockImpl{name: nameFetchOr, make: func() lockLoop {
		var m atomic.Uint32
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				if m.Or(1)&3 != 0 {
					return x, errors.New("locked, by nobody")
				}
				x = xorshift(x)
				m.And(^uint32(3))
			}
			return x, nil
		}
	}}
	packedMutex = lockImpl{name: nameFarad, make: func() lockLoop {
		p := mutex.NewPacked(manyLocks)
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				i := int(x % manyLocks)
				p.Lock(i)
				x = xorshift(x)
				p.Unlock(i)
			}
			return x, nil
		}
	}}
	manyMutexes = lockImpl{name: nameMutexes, make: func() lockLoop {
		ms := make([]sync.Mutex, manyLocks)
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				i := int(x % manyLocks)
				ms[i].Lock()
				x = xorshift(x)
				ms[i].Unlock()
			}
			return x, nil
		}
	}}
)

func faradRead(name string) lockImpl {
	return lockImpl{name: name, make: func() lockLoop { return readLoop(rwlock.New()) }}
}

func biasedRead(name string) lockImpl {
	return lockImpl{name: name, make: func() lockLoop { return readLoop(rwlock.New(rwlock.WithReaderBias())) }}
}

func readLoop(l *rwlock.RWLock) lockLoop {
	return func(_ context.Context, _, n int, x uint64) (uint64, error) {
		for range n {
			l.RLock()
			x = xorshift(x)
			l.RUnlock()
		}
		return x, nil
	}
}

var (
	stdRead = lockImpl{name: nameRWMutex, make: func() lockLoop {
		var l sync.RWMutex
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				l.RLock()
				x = xorshift(x)
				l.RUnlock()
			}
			return x, nil
		}
	}}
	rbRead = lockImpl{name: nameRBMutex, make: func() lockLoop {
		l := xsync.NewRBMutex()
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				t := l.RLock()
				x = xorshift(x)
				l.RUnlock(t)
			}
			return x, nil
		}
	}}
)

// mixed is 8 goroutines that write once in every operations, on average, and read otherwise, and
// hold the lock for one step of the PRNG or across a yield.
func mixed(name string, every uint64, yield bool) lockWorkload {
	loop := func(l interface {
		sync.Locker
		RLock()
		RUnlock()
	},
	) lockLoop {
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				if x = xorshift(x); x>>8%every == 0 {
					timed(x, l.Lock)
					step(&x, yield)
					l.Unlock()
				} else {
					l.RLock()
					step(&x, yield)
					l.RUnlock()
				}
			}
			return x, nil
		}
	}
	return lockWorkload{name, 8, []lockImpl{
		{name: nameFarad, make: func() lockLoop { return loop(rwlock.New()) }},
		{name: nameBiased, make: func() lockLoop { return loop(rwlock.New(rwlock.WithReaderBias())) }},
		{name: nameExpress, make: func() lockLoop { return loop(new(capacitor.RWLock)) }},
		{name: nameRWMutex, make: func() lockLoop { return loop(new(sync.RWMutex)) }},
		{name: nameRBMutex, make: func() lockLoop {
			l := xsync.NewRBMutex()
			return func(_ context.Context, _, n int, x uint64) (uint64, error) {
				for range n {
					if x = xorshift(x); x>>8%every == 0 {
						timed(x, l.Lock)
						step(&x, yield)
						l.Unlock()
					} else {
						t := l.RLock()
						step(&x, yield)
						l.RUnlock(t)
					}
				}
				return x, nil
			}
		}},
	}}
}

// step is what is done with a lock held.
func step(x *uint64, yield bool) {
	*x = xorshift(*x)
	if yield {
		runtime.Gosched()
	}
}
