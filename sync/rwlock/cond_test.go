package rwlock_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/rwlock"
)

func TestServesConditions(t *testing.T) {
	forEachKindAndProcs(t, func(t *testing.T, l *rwlock.RWLock) {
		c := sync.NewCond(l)
		asleep, ready := 0, 0
		done := make(chan struct{})
		const n = 5
		for range n {
			go func() {
				l.Lock()
				asleep++
				for ready == 0 {
					c.Wait()
				}
				ready--
				l.Unlock()
				done <- struct{}{}
			}()
		}
		locktest.Eventually(t, "all sleep", func() bool { l.RLock(); defer l.RUnlock(); return asleep == n })
		for range n {
			l.Lock()
			ready++
			c.Signal()
			l.Unlock()
			locktest.Receive(t, done)
		}
	})
}

// Readers sleep until a writer has done something, and then read together.
func TestServesConditionsOfReaders(t *testing.T) {
	forEachKindAndProcs(t, func(t *testing.T, l *rwlock.RWLock) {
		c := sync.NewCond(l.RLocker())
		const n = 5
		value := 0
		var asleep, together atomic.Int64
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				c.L.Lock()
				asleep.Add(1)
				for value == 0 {
					c.Wait()
				}
				together.Add(1)
				for together.Load() != n {
					runtime.Gosched()
				}
				c.L.Unlock()
			})
		}
		locktest.Eventually(t, "all sleep", func() bool { return asleep.Load() == n })
		l.Lock() // so none is between its look at the value and its sleep
		value = 1
		l.Unlock()
		c.Broadcast()
		wg.Wait()
		require.EqualValues(t, n, together.Load())
	})
}

func TestRLockerReadLocks(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		r := l.RLocker()
		r.Lock()
		r.Lock()
		requireState(t, l, asReader)
		r.Unlock()
		l.RUnlock()
		l.Lock()
		w := queued(t, l, r.Lock)
		l.Unlock()
		locktest.Receive(t, w)
		l.RUnlock()
	})
}
