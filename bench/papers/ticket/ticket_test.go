package ticket

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
)

// startAt moves the counters of an idle semaphore on.
func startAt(s *Semaphore, tickets int64) {
	s.ticket.Add(tickets)
	s.grant.Add(tickets)
}

// nearTheEnd is a number of tickets from which the counters soon wrap around.
const nearTheEnd = math.MaxInt64 - 2

func TestTryTakesWhatIsFree(t *testing.T) {
	s := New(2)
	require.False(t, s.TryAcquire(3))
	require.True(t, s.TryAcquire(2))
	require.False(t, s.TryAcquire(1))
	s.Release(1)
	require.EqualValues(t, 1, s.Available())
	require.True(t, s.TryAcquire(1))
	s.Release(2)
	require.EqualValues(t, 2, s.Available())
	require.PanicsWithValue(t, "ticket: negative size", func() { New(-1) })
	require.False(t, new(Semaphore).TryAcquire(1), "the zero semaphore has no permits")
}

func TestCountersMayWrapAround(t *testing.T) {
	s := New(3)
	startAt(s, nearTheEnd)
	for range 5 {
		s.Acquire(2)
		require.True(t, s.TryAcquire(1))
		require.False(t, s.TryAcquire(1))
		s.Release(3)
		require.EqualValues(t, 3, s.Available())
	}
}

// Waiting goroutines are granted their permits in the order in which they took their tickets.
func TestGrantsAreFIFO(t *testing.T) {
	s := New(1)
	startAt(s, nearTheEnd)
	s.Acquire(1)
	var order []int // guarded by the permit
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			s.Acquire(1)
			order = append(order, i)
			s.Release(1)
		})
		locktest.Eventually(t, "a ticket is taken", func() bool { return s.Available() == int64(-1-i) })
	}
	require.False(t, s.TryAcquire(1))
	s.Release(1)
	wg.Wait()
	require.Equal(t, []int{0, 1, 2, 3, 4}, order)
}

func TestSemaphoreConservesPermits(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		s := New(2)
		inside := make(chan struct{}, 2)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range locktest.Scaled(800) {
					n := int64(1 + (g+i)%2)
					if (g+i)%4 == 2 {
						if !s.TryAcquire(n) {
							continue
						}
					} else {
						s.Acquire(n)
					}
					for range n {
						inside <- struct{}{} // does not block
					}
					for range n {
						<-inside
					}
					s.Release(n)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 2, s.Available())
	})
}

func TestWaitsAllocateNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	s := New(1)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		s.Acquire(1)
		s.Release(1)
	}))
}
