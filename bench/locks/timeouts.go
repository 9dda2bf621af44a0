package locks

import (
	"context"
	"fmt"
	"time"

	xsemaphore "golang.org/x/sync/semaphore"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/sync/semaphore"
)

// Timeouts are acquisitions with a time limit that is never reached: what the limit costs a wait.
var Timeouts = []Bench{
	semaphoreTimeouts(8), semaphoreTimeouts(64),
	mutexTimeouts(8), mutexTimeouts(64),
}

func semaphoreTimeouts(goroutines int) Bench {
	return timeouts("timeout", goroutines, func() (peers.TryLocker, attempt) {
		s := semaphore.New(1)
		return s, byTimeout(s)
	})
}

func mutexTimeouts(goroutines int) Bench {
	return timeouts("mutex-timeout", goroutines, func() (peers.TryLocker, attempt) {
		m := new(timedMutex)
		return m, byTimeout(m)
	})
}

// timeouts is a workload whose peers are a channel with a timer that each goroutine keeps, and
// x/sync with a context for each attempt.
func timeouts(name string, goroutines int, farad func() (peers.TryLocker, attempt)) Bench {
	return Bench{fmt.Sprintf("%s-%d", name, goroutines), goroutines, []Impl{
		{Name: measure.NameFarad, Make: func() Loop { return timeoutLoop(farad()) }},
		{Name: NameChannelTimer, Make: func() Loop {
			c := make(peers.Channel, 1)
			return timeoutLoop(c, byTimer(c, goroutines))
		}},
		{Name: peers.NameXSync, Make: func() Loop {
			s := xsemaphore.NewWeighted(1)
			return timeoutLoop(s, byContext(s))
		}},
	}}
}

func timeoutLoop(s peers.TryLocker, try attempt) Loop {
	return func(_ context.Context, g, n int, x uint64) (uint64, error) {
		for range n {
			if err := try(g, stormPatience); err != nil {
				return x, err
			}
			x = measure.Xorshift(x)
			s.Release(1)
		}
		return x, nil
	}
}

// A timedMutex is a mutex as a semaphore of one permit.
type timedMutex struct{ m mutex.Mutex }

// Acquire locks.
func (l *timedMutex) Acquire(ctx context.Context, _ int64) error { return l.m.LockContext(ctx) }

// AcquireTimeout locks, unless d passes.
func (l *timedMutex) AcquireTimeout(d time.Duration, _ int64) error {
	if !l.m.LockTimeout(d) {
		return context.DeadlineExceeded
	}
	return nil
}

// TryAcquire locks if the mutex is free.
func (l *timedMutex) TryAcquire(int64) bool { return l.m.TryLock() }

// Release unlocks.
func (l *timedMutex) Release(int64) { l.m.Unlock() }
