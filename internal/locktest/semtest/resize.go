package semtest

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

var resizes = []test{
	{"ResizeGrowthServesTheQueue", resizeGrowthServesTheQueue},
	{"ResizeEndsRequestsThatBecameTooLarge", resizeEndsRequestsThatBecameTooLarge},
	{"ResizeToNothing", resizeToNothing},
	{"ResizeDownAndUpAdmitsNoMore", resizeDownAndUpAdmitsNoMore},
	{"ResizeAgainstEverything", resizeAgainstEverything},
	{"CloseWakesAll", closeWakesAll},
	{"CloseAgainstAcquire", closeAgainstAcquire},
}

func resizeGrowthServesTheQueue(t *testing.T, k Kind) {
	s := k.New(2)
	require.NoError(t, s.Acquire(bg, 2))
	a, b := Queued(t, bg, s, 1), Queued(t, bg, s, 2)
	s.Resize(4)
	require.NoError(t, locktest.Receive(t, a))
	locktest.RequireBlocked(t, b)
	s.Resize(5)
	require.NoError(t, locktest.Receive(t, b))
	require.EqualValues(t, 5, s.Size())
	require.EqualValues(t, 0, s.Available())
	s.Release(5)
	RequireIdle(t, s)
}

func resizeEndsRequestsThatBecameTooLarge(t *testing.T, k Kind) {
	s := k.New(4)
	require.NoError(t, s.Acquire(bg, 2))
	large := Queued(t, bg, s, 4)
	small := Queued(t, bg, s, 1)
	middle := Queued(t, bg, s, 3)
	s.Resize(3)
	require.ErrorIs(t, locktest.Receive(t, large), waiter.ErrTooLarge)
	require.NoError(t, locktest.Receive(t, small), "its head has gone, and one permit is free")
	locktest.RequireBlocked(t, middle)
	s.Release(2)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, middle))
	s.Release(3)
	RequireIdle(t, s)
}

func resizeToNothing(t *testing.T, k Kind) {
	s := k.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	a, b := Queued(t, bg, s, 1), Queued(t, bg, s, 1)
	s.Resize(0)
	require.ErrorIs(t, locktest.Receive(t, a), waiter.ErrTooLarge)
	require.ErrorIs(t, locktest.Receive(t, b), waiter.ErrTooLarge)
	require.ErrorIs(t, s.Acquire(bg, 1), waiter.ErrTooLarge)
	s.Release(1)
	RequireIdle(t, s)
	s.Resize(1)
	require.True(t, s.TryAcquire(1))
	s.Release(1)
	RequireIdle(t, s)
}

// However the size has changed, when it is what it was no more permits are held than before.
func resizeDownAndUpAdmitsNoMore(t *testing.T, k Kind) {
	s := k.New(4)
	require.NoError(t, s.Acquire(bg, 4))
	a, b := Queued(t, bg, s, 2), Queued(t, bg, s, 2)
	for range 3 {
		s.Resize(2)
		s.Resize(4)
	}
	locktest.RequireBlocked(t, a)
	locktest.RequireBlocked(t, b)
	require.EqualValues(t, 2, s.Waiting(), "4 of 4 permits are held")
	s.Release(2)
	require.NoError(t, locktest.Receive(t, a))
	locktest.RequireBlocked(t, b)
	s.Release(2)
	require.NoError(t, locktest.Receive(t, b))
	s.Release(4)
	RequireIdle(t, s)
}

// Legal releases never panic, whatever Resize does meanwhile, and afterwards everything is there.
func resizeAgainstEverything(t *testing.T, k Kind) {
	rounds := 20000
	if !locktest.Stress() {
		rounds = 2000
	}
	locktest.AtEveryProcs(t, func(t *testing.T) {
		s := k.New(4)
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
					if require.NoError(require.GoOn(t), s.Acquire(bg, n)) {
						s.Release(n)
					}
				}
			})
		}
		users.Wait()
		close(stop)
		resizer.Wait()
		RequireIdle(t, s)
	})
}

func closeWakesAll(t *testing.T, k Kind) {
	s := k.New(2)
	require.NoError(t, s.Acquire(bg, 1))
	a, b, c := Queued(t, bg, s, 2), Queued(t, bg, s, 1), Queued(t, bg, s, 1)
	s.Close()
	for _, r := range []<-chan error{a, b, c} {
		require.ErrorIs(t, locktest.Receive(t, r), waiter.ErrClosed)
	}
	require.EqualValues(t, 1, s.Available())
	require.ErrorIs(t, s.Acquire(bg, 1), waiter.ErrClosed)
	require.False(t, s.TryAcquire(1))
	s.Release(1)
	require.Panics(t, func() { s.Release(1) })
	s.Close()
	s.Resize(7)
	require.ErrorIs(t, s.Acquire(bg, 1), waiter.ErrClosed)
	RequireIdle(t, s)
}

// Every goroutine that waits, or is about to, hears of the close.
func closeAgainstAcquire(t *testing.T, k Kind) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		for range 200 {
			s := k.New(1)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for {
						if err := s.Acquire(bg, 1); err != nil {
							require.ErrorIs(require.GoOn(t), err, waiter.ErrClosed)
							return
						}
						s.Release(1)
					}
				})
			}
			s.Close()
			wg.Wait()
			RequireIdle(t, s)
		}
	})
}
