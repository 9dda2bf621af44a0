package semaphore_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestResizeGrowthServesTheQueue(t *testing.T) {
	s := semaphore.New(2)
	require.NoError(t, s.Acquire(bg, 2))
	a, b := queued(t, bg, s, 1), queued(t, bg, s, 2)
	s.Resize(4)
	require.NoError(t, locktest.Receive(t, a))
	locktest.RequireBlocked(t, b)
	s.Resize(5)
	require.NoError(t, locktest.Receive(t, b))
	require.EqualValues(t, 5, s.Size())
	require.EqualValues(t, 0, s.Available())
	s.Release(5)
	requireIdle(t, s)
}

func TestResizeDebtIsPaidFirst(t *testing.T) {
	s := semaphore.New(3)
	require.NoError(t, s.Acquire(bg, 3))
	first := queued(t, bg, s, 1) // stands in the slot
	s.Resize(1)
	require.EqualValues(t, -2, s.Available())
	second := queued(t, bg, s, 1)
	s.Release(1)
	s.Release(1)
	locktest.RequireBlocked(t, first)
	require.EqualValues(t, 0, s.Available())
	s.Release(1)
	require.NoError(t, locktest.Receive(t, first), "the oldest first, although the debt put it back into the list")
	locktest.RequireBlocked(t, second)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, second))
	require.Panics(t, func() { s.Release(2) })
	s.Release(1)
	requireIdle(t, s)
}

func TestResizeEndsRequestsThatBecameTooLarge(t *testing.T) {
	s := semaphore.New(4)
	require.NoError(t, s.Acquire(bg, 2))
	large := queued(t, bg, s, 4)
	small := queued(t, bg, s, 1)
	middle := queued(t, bg, s, 3)
	s.Resize(3)
	require.ErrorIs(t, locktest.Receive(t, large), semaphore.ErrTooLarge)
	require.NoError(t, locktest.Receive(t, small), "its head has gone, and one permit is free")
	locktest.RequireBlocked(t, middle)
	s.Release(2)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, middle))
	s.Release(3)
	requireIdle(t, s)
}

func TestResizeToNothing(t *testing.T) {
	s := semaphore.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	a, b := queued(t, bg, s, 1), queued(t, bg, s, 1)
	s.Resize(0)
	require.ErrorIs(t, locktest.Receive(t, a), semaphore.ErrTooLarge)
	require.ErrorIs(t, locktest.Receive(t, b), semaphore.ErrTooLarge)
	require.ErrorIs(t, s.Acquire(bg, 1), semaphore.ErrTooLarge)
	require.EqualValues(t, -1, s.Available())
	s.Release(1)
	requireIdle(t, s)
	s.Resize(1)
	require.True(t, s.TryAcquire(1))
	s.Release(1)
}

// Legal releases never panic, whatever Resize does meanwhile, and afterwards everything is there.
func TestResizeAgainstEverything(t *testing.T) {
	rounds := 20000
	if testing.Short() {
		rounds = 2000
	}
	locktest.AtEveryProcs(t, func(t *testing.T) {
		s := semaphore.New(4)
		var users, resizer sync.WaitGroup
		stop := make(chan struct{})
		resizer.Go(func() {
			for i := int64(0); ; i++ {
				select {
				case <-stop:
					return
				default:
					s.Resize(3 + i%4)
				}
			}
		})
		for g := range 4 {
			users.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 2))
				for range rounds {
					n := 1 + rng.Int64N(3)
					if assert.NoError(t, s.Acquire(bg, n)) {
						s.Release(n)
					}
				}
			})
		}
		users.Wait()
		close(stop)
		resizer.Wait()
		requireIdle(t, s)
	})
}

func TestCloseWakesAll(t *testing.T) {
	s := semaphore.New(2)
	require.NoError(t, s.Acquire(bg, 1))
	a, b, c := queued(t, bg, s, 2), queued(t, bg, s, 1), queued(t, bg, s, 1)
	var f semaphore.AcquireFuture
	f.Init(s, 1)
	done := f.Done()
	s.Close()
	for _, r := range []<-chan error{a, b, c} {
		require.ErrorIs(t, locktest.Receive(t, r), semaphore.ErrClosed)
	}
	locktest.Receive(t, done)
	require.ErrorIs(t, f.Err(), semaphore.ErrClosed)
	f.Cancel()
	require.EqualValues(t, 1, s.Available())
	require.ErrorIs(t, s.Acquire(bg, 1), semaphore.ErrClosed)
	require.False(t, s.TryAcquire(1))
	s.Release(1)
	require.Panics(t, func() { s.Release(1) })
	s.Close()
	s.Resize(7)
	require.ErrorIs(t, s.Acquire(bg, 1), semaphore.ErrClosed)
	requireIdle(t, s)
}

// Everybody who waits, or is about to, hears of the close; nobody is left behind.
func TestCloseAgainstAcquire(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		for range 200 {
			s := semaphore.New(1)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for {
						if err := s.Acquire(bg, 1); err != nil {
							assert.ErrorIs(t, err, semaphore.ErrClosed)
							return
						}
						s.Release(1)
					}
				})
			}
			s.Close()
			wg.Wait()
			requireIdle(t, s)
		}
	})
}
