package capacitor

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/mutex"
)

func TestNothingIsCollectedUnasked(t *testing.T) {
	m, w := NewMutex(1), Wrap(new(mutex.Word), 1, WithExpress(1))
	for range 5 {
		m.Do(func() {})
		w.Do(func() {})
	}
	require.Zero(t, m.Stats())
	require.Zero(t, w.Stats())
	require.EqualValues(t, 2, w.Gate().Platoon(), "and each opens the lane again")
}

// Alone: all places of the lane, then a platoon.
func TestStatsOfOneGoroutine(t *testing.T) {
	const q = 2
	m := NewMutex(q)
	m.CollectStats()
	w := Wrap(new(mutex.Word), 1, WithExpress(q))
	w.CollectStats()
	for name, l := range map[string]interface {
		Lock()
		TryLock() bool
		LockContext(ctx context.Context) error
		Unlock()
		Stats() Stats
	}{"mutex": m, "wrapped": w} {
		var platoons, express int64
		require.Zero(t, l.Stats(), name)
		check := func() {
			s := l.Stats()
			require.Equal(t, [...]int64{platoons, express}, [...]int64{s.Platoons, s.Express}, name)
			require.Zero(t, s.MaxOvertaken, "nobody is there to overtake")
		}
		for _, lock := range []func(){
			l.Lock,
			func() { require.True(t, l.TryLock()) },
			func() { require.NoError(t, l.LockContext(bg)) },
		} {
			for range q {
				lock()
				express++
				check()
				l.Unlock()
				check()
			}
			lock()
			check() // it is not over yet
			l.Unlock()
			platoons++
			check()
		}
	}
}

// watchStats reads statistics until the function that it returns is called. They only ever grow.
func watchStats(t *testing.T, read func() Stats) (stop func()) {
	var stopped atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for last := (Stats{}); !stopped.Load(); {
			s := read()
			assert.True(
				t,
				s.Platoons >= last.Platoons && s.Express >= last.Express && s.MaxOvertaken >= last.MaxOvertaken &&
					s.LongestWait >= last.LongestWait,
				"%v before %v",
				last,
				s,
			)
			last = s
		}
	})
	return func() {
		stopped.Store(true)
		wg.Wait()
	}
}

// What happens meanwhile is counted once, and read in whatever state it is: there are as many
// platoons and uses of the lane as there were locks. And nobody is overtaken more often than with
// all others before it in the queue.
func TestStatsCountEveryLock(t *testing.T) {
	const goroutines = 8
	for _, q := range []int{0, 1, Express} {
		locktest.AtEveryProcs(t, func(t *testing.T) {
			m := NewMutex(q)
			m.CollectStats()
			var locked atomic.Int64
			var wg sync.WaitGroup
			stop := watchStats(t, m.Stats)
			for range goroutines {
				wg.Go(func() {
					for range locktest.Scaled(3000) {
						ok := true
						switch rand.IntN(4) {
						case 0:
							ok = m.TryLock()
						case 1:
							ok = m.LockTimeout(time.Duration(rand.IntN(50)) * time.Microsecond)
						default:
							m.Lock()
						}
						if ok {
							locked.Add(1)
							m.Unlock()
						}
					}
				})
			}
			wg.Wait()
			stop()
			s := m.Stats()
			require.Equal(t, locked.Load(), s.Platoons+s.Express)
			require.LessOrEqual(t, s.Express, (s.Platoons+1)*int64(q))
			require.LessOrEqual(t, s.MaxOvertaken, int64(goroutines*q))
			requireFree(t, m)
		})
	}
}

// The same of a Wrapped, whose bound goes by the platoons.
func TestWrappedStatsCountEveryLock(t *testing.T) {
	const goroutines, b, q = 8, 2, 3
	locktest.AtEveryProcs(t, func(t *testing.T) {
		l := Wrap(new(mutex.Word), b, WithExpress(q))
		l.CollectStats()
		stop := watchStats(t, l.Stats)
		rounds := locktest.Scaled(3000)
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for range rounds {
					l.Lock()
					l.Unlock() //nolint:staticcheck // nothing in between, on purpose
				}
			})
		}
		wg.Wait()
		stop()
		s := l.Stats()
		require.EqualValues(t, goroutines*rounds, s.Platoons*b+l.gate.departed.Load()+s.Express)
		require.LessOrEqual(t, s.MaxOvertaken, int64((goroutines+b-1)/b+1)*q)
	})
}
