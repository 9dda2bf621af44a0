package locks

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/neilotoole/fifomu"
	"github.com/puzpuzpuz/xsync/v4"
	"golang.org/x/sync/semaphore"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	farad "github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/sync/rwlock"
)

// The names of locks that only these tables have.
const (
	NameMutex     = "sync.Mutex"
	NameRWMutex   = "sync.RWMutex"
	NameRBMutex   = "xsync.RBMutex"
	nameLock      = "farad, Lock"      // the same lock without a context
	nameBiased    = "farad, bias"      // with reader bias
	nameExpress   = "farad, capacitor" // farad/sync.RWMutex
	namePlainRW   = "farad, unbiased"  // without, where both are compared
	NameFetchOr   = "fetch-or"         // a two-bit lock by Or and And, which cannot wait
	NameMutexes   = "[]sync.Mutex"
	NameAdditions = "two additions" // a ticket semaphore that cannot wait
	NameSem       = "farad, semaphore"
	NameTWAMutex  = "farad, twa.Mutex"

	NameFlatShares = "farad, flat shares"
	NameTicket     = "tickets, polled" // the ticket semaphore of the paper
)

// The workloads of mutexes, of mutexes of few bits with read-write locks, and of cancel storms.
var (
	Mutexes = []Bench{
		{"mutex-1", 1, []Impl{farads, StdMutex, channelMutex, fifoMutex, xsyncMutex}},
		{"mutex-8", 8, []Impl{farads, StdMutex, channelMutex, fifoMutex, xsyncMutex, minimalMutex(8)}},
		{"mutex-64", 64, []Impl{farads, StdMutex, channelMutex, fifoMutex, xsyncMutex, minimalMutex(64)}},
		{
			"mutex-context-1",
			1,
			[]Impl{faradContext, {Name: nameLock, Make: farads.Make}, channelContext, xsyncContext},
		},
		{"mutex-context-8", 8, []Impl{faradContext, channelContext, xsyncContext}},
		{"mutex-context-64", 64, []Impl{faradContext, channelContext, xsyncContext}},
		{"mutex-own-context-8", 8, []Impl{own(faradContext), own(channelContext), own(xsyncContext)}},
		{"mutex-own-context-64", 64, []Impl{own(faradContext), own(channelContext), own(xsyncContext)}},
	}
	Words = []Bench{
		{"word-1", 1, []Impl{wordMutex, StdMutex, fetchOr}},
		{"word-8", 8, []Impl{wordMutex, StdMutex}},
		{"packed-8", 8, []Impl{packedMutex, manyMutexes}},

		{"read-1", 1, []Impl{faradRead(measure.NameFarad), biasedRead(nameBiased), stdRead, rbRead}},
		{"read-2", 2, []Impl{biasedRead(measure.NameFarad), faradRead(namePlainRW), stdRead, rbRead}},
		mixed("mix-90-8", 10, false),
		mixed("mix-99-8", 100, false),
		mixed("mix-90-8-yield", 10, true),
		mixed("mix-99-8-yield", 100, true),

		{"sync-mutex-1", 1, []Impl{syncMutex, StdMutex}},
		{"sync-read-1", 1, []Impl{syncRead, stdRead, faradRead(namePlainRW), rbRead}},
		{"sync-read-2", 2, []Impl{syncRead, stdRead, biasedRead(nameBiased), rbRead}},
		syncMixed("sync-mix-90-8", 10),
		syncMixed("sync-mix-99-8", 100),
		{"sync-read-8", 8, []Impl{syncRead, stdRead, biasedRead(nameBiased), rbRead}},
	}
	Storms = []Bench{
		stormbench(1), stormbench(50), stormbench(100),
	}
)

var (
	farads = Impl{Name: measure.NameFarad, Make: func() Loop {
		var m mutex.Mutex
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				m.Lock()
				x = measure.Xorshift(x)
				m.Unlock()
			}
			return x, nil
		}
	}}
	// StdMutex is sync.Mutex.
	StdMutex = Impl{Name: NameMutex, Make: func() Loop {
		var m sync.Mutex
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				m.Lock()
				x = measure.Xorshift(x)
				m.Unlock()
			}
			return x, nil
		}
	}}
	channelMutex = Impl{Name: peers.NameChannel, Make: func() Loop {
		c := make(chan struct{}, 1)
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				c <- struct{}{}
				x = measure.Xorshift(x)
				<-c
			}
			return x, nil
		}
	}}
	fifoMutex = Impl{Name: peers.NameFifomu, Make: func() Loop {
		var m fifomu.Mutex
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				m.Lock()
				x = measure.Xorshift(x)
				m.Unlock()
			}
			return x, nil
		}
	}}
	xsyncMutex = Impl{Name: peers.NameXSync, Make: func() Loop {
		s := semaphore.NewWeighted(1)
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				if err := s.Acquire(context.Background(), 1); err != nil {
					return x, err
				}
				x = measure.Xorshift(x)
				s.Release(1)
			}
			return x, nil
		}
	}}

	// minimalMutex is the floor under contention, with a node for each goroutine.
	minimalMutex = func(goroutines int) Impl {
		im := Impl{Name: peers.NameMinimal, Make: func() Loop {
			var m peers.MinimalLock
			nodes := make([]*peers.MinimalNode, goroutines)
			for i := range nodes {
				nodes[i] = new(peers.MinimalNode)
			}
			return func(_ context.Context, g, n int, x uint64) (uint64, error) {
				node := nodes[g]
				for range n {
					m.Lock(node)
					x = measure.Xorshift(x)
					m.Unlock()
				}
				return x, nil
			}
		}}
		if !peers.HasMinimalLock {
			im.Make = nil
		}
		return im
	}

	faradContext = Impl{Name: measure.NameFarad, Make: func() Loop {
		var m mutex.Mutex
		return func(ctx context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				if err := m.LockContext(ctx); err != nil {
					return x, err
				}
				x = measure.Xorshift(x)
				m.Unlock()
			}
			return x, nil
		}
	}}
	channelContext = Impl{Name: peers.NameChannel, Make: func() Loop {
		c := make(chan struct{}, 1)
		return func(ctx context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				select {
				case c <- struct{}{}:
				case <-ctx.Done():
					return x, ctx.Err()
				}
				x = measure.Xorshift(x)
				<-c
			}
			return x, nil
		}
	}}
	xsyncContext = Impl{Name: peers.NameXSync, Make: func() Loop {
		s := semaphore.NewWeighted(1)
		return func(ctx context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				if err := s.Acquire(ctx, 1); err != nil {
					return x, err
				}
				x = measure.Xorshift(x)
				s.Release(1)
			}
			return x, nil
		}
	}}
)

var (
	// syncMutex and syncRead are the drop-in locks of farad/sync.
	syncMutex = Impl{Name: measure.NameFarad, Make: func() Loop {
		var m farad.Mutex
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				m.Lock()
				x = measure.Xorshift(x)
				m.Unlock()
			}
			return x, nil
		}
	}}
	syncRead = Impl{Name: measure.NameFarad, Make: func() Loop {
		var l farad.RWMutex
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				l.RLock()
				x = measure.Xorshift(x)
				l.RUnlock()
			}
			return x, nil
		}
	}}
)

// own is im with a context for each goroutine.
func own(im Impl) Impl {
	im.form = measure.Own
	return im
}

// manyLocks is how many locks there are in packed-8.
const manyLocks = 10_000

var (
	wordMutex = Impl{Name: measure.NameFarad, Make: func() Loop {
		var m mutex.Word
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				m.Lock()
				x = measure.Xorshift(x)
				m.Unlock()
			}
			return x, nil
		}
	}}
	fetchOr = Impl{Name: NameFetchOr, Make: func() Loop {
		var m atomic.Uint32
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				if m.Or(1)&3 != 0 {
					return x, errors.New("locked, by no goroutine")
				}
				x = measure.Xorshift(x)
				m.And(^uint32(3))
			}
			return x, nil
		}
	}}
	packedMutex = Impl{Name: measure.NameFarad, Make: func() Loop {
		p := mutex.NewPacked(manyLocks)
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				i := int(x % manyLocks)
				p.Lock(i)
				x = measure.Xorshift(x)
				p.Unlock(i)
			}
			return x, nil
		}
	}}
	manyMutexes = Impl{Name: NameMutexes, Make: func() Loop {
		ms := make([]sync.Mutex, manyLocks)
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				i := int(x % manyLocks)
				ms[i].Lock()
				x = measure.Xorshift(x)
				ms[i].Unlock()
			}
			return x, nil
		}
	}}
)

func faradRead(name string) Impl {
	return Impl{Name: name, Make: func() Loop { return readLoop(new(rwlock.RWLock)) }}
}

func biasedRead(name string) Impl {
	return Impl{Name: name, Make: func() Loop { return readLoop(rwlock.NewBiased()) }}
}

func readLoop(l *rwlock.RWLock) Loop {
	return func(_ context.Context, _, n int, x uint64) (uint64, error) {
		for range n {
			l.RLock()
			x = measure.Xorshift(x)
			l.RUnlock()
		}
		return x, nil
	}
}

var (
	stdRead = Impl{Name: NameRWMutex, Make: func() Loop {
		var l sync.RWMutex
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				l.RLock()
				x = measure.Xorshift(x)
				l.RUnlock()
			}
			return x, nil
		}
	}}
	rbRead = Impl{Name: NameRBMutex, Make: func() Loop {
		l := xsync.NewRBMutex()
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				t := l.RLock()
				x = measure.Xorshift(x)
				l.RUnlock(t)
			}
			return x, nil
		}
	}}
)

// mixed is 8 goroutines that write once in every operations, on average, and read otherwise, and
// hold the lock for one step of the PRNG or across a yield.
func mixed(name string, every uint64, yield bool) Bench {
	loop := func(l rwLocker) Loop { return mixedLoop(l, every, yield) }
	return Bench{name, 8, []Impl{
		{Name: measure.NameFarad, Make: func() Loop { return loop(new(rwlock.RWLock)) }},
		{Name: nameBiased, Make: func() Loop { return loop(rwlock.NewBiased()) }},
		{Name: nameExpress, Make: func() Loop { return loop(new(farad.RWMutex)) }},
		{Name: NameRWMutex, Make: func() Loop { return loop(new(sync.RWMutex)) }},
		{Name: NameRBMutex, Make: func() Loop {
			l := xsync.NewRBMutex()
			return func(_ context.Context, _, n int, x uint64) (uint64, error) {
				for range n {
					if x = measure.Xorshift(x); x>>8%every == 0 {
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

// A rwLocker is any read-write lock.
type rwLocker interface {
	sync.Locker
	RLock()
	RUnlock()
}

func mixedLoop(l rwLocker, every uint64, yield bool) Loop {
	return func(_ context.Context, _, n int, x uint64) (uint64, error) {
		for range n {
			if x = measure.Xorshift(x); x>>8%every == 0 {
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

// syncMixed is mixed with the lock of farad/sync and the one that it takes the place of.
func syncMixed(name string, every uint64) Bench {
	return Bench{name, 8, []Impl{
		{Name: measure.NameFarad, Make: func() Loop { return mixedLoop(new(farad.RWMutex), every, false) }},
		{Name: NameRWMutex, Make: func() Loop { return mixedLoop(new(sync.RWMutex), every, false) }},
	}}
}

// step is what is done with a lock held.
func step(x *uint64, yield bool) {
	*x = measure.Xorshift(*x)
	if yield {
		runtime.Gosched()
	}
}
