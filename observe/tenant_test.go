//go:build !interleave

package observe

import (
	stdsync "sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// An urgent request behind one that is not: the page shows the class of who holds and who waits.
func TestTenantsAreShown(t *testing.T) {
	s := semaphore.New(1, semaphore.WithPriorities(3, 10))
	Watch(s, t.Name(), LevelHolders)
	defer Watch(s, "", LevelOff)
	require.NoError(t, s.As(2).Acquire(t.Context(), 1))
	var all stdsync.WaitGroup
	all.Go(func() {
		require.NoError(t, s.As(0).Acquire(t.Context(), 1))
		s.Release(1)
	})
	// It is seen to wait before it is in the line. Were f alone there, it would get the permit.
	locktest.Eventually(t, "it is in the line", func() bool { return s.Waiting() == 1 })
	var f waiter.Future
	s.As(1).Bind(&f, 1)
	require.False(t, f.Poll(nil))

	l := keysOf(t, t.Name())
	require.Equal(t, "2", l.Holders[0].Tenant)
	require.Equal(t, []string{"0", "1"}, []string{l.Waiters[0].Tenant, l.Waiters[1].Tenant})
	for _, note := range []string{"[0]", "[1]", "[2]"} {
		require.Contains(t, Read().String(), note)
	}
	s.Release(1)
	all.Wait()
	f.Release()
}

// What a queue refuses is counted by its reason.
func TestRefusalsAreCounted(t *testing.T) {
	s := semaphore.New(1, semaphore.WithQueue(semaphore.Queue{
		Shed: semaphore.ShedAdaptiveLIFO, Target: 1, Interval: 1,
	}))
	Watch(s, t.Name(), LevelCounts)
	defer Watch(s, "", LevelOff)
	require.True(t, s.TryAcquire(1))
	var all stdsync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			if err := s.Acquire(t.Context(), 1); err == nil {
				s.Release(1)
			} else {
				require.ErrorIs(t, err, semaphore.ErrShed)
			}
		})
		locktest.Eventually(t, "it has come", func() bool {
			return s.Waiting() > min(i, 1) || keysOf(t, t.Name()).Counts.Shed > 0
		})
	}
	time.Sleep(time.Millisecond)
	s.Release(1)
	all.Wait()
	c := keysOf(t, t.Name()).Counts
	require.NotZero(t, c.Shed)
	require.EqualValues(t, 6, c.Acquired+c.Shed)
	require.Zero(t, c.Expiring+c.QueueFull)
}
