package semaphore_test

import (
	"sync"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestPermitReleasesOnce(t *testing.T) {
	s := semaphore.New(3)
	p, err := s.AcquirePermit(bg, 2)
	require.NoError(t, err)
	require.EqualValues(t, 2, p.N())
	require.EqualValues(t, 1, s.Available())
	p.Release()
	p.Release()
	require.Zero(t, p.N())
	requireIdle(t, s)

	p, err = s.AcquirePermit(bg, 3)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(p.Release)
	}
	wg.Wait()
	requireIdle(t, s)
}

func TestFailedPermitReleasesNothing(t *testing.T) {
	s := semaphore.New(1)
	p, err := s.AcquirePermit(bg, 2)
	require.ErrorIs(t, err, semaphore.ErrTooLarge)
	p.Release()
	require.Zero(t, p.N())
	require.Zero(t, p.Forget())
	require.Nil(t, p.Split(0))
	require.Panics(t, func() { p.Split(1) })

	held, ok := s.TryAcquirePermit(1)
	require.True(t, ok)
	q, ok := s.TryAcquirePermit(1)
	require.False(t, ok)
	q.Release()
	require.EqualValues(t, 0, s.Available())
	held.Merge(q)
	require.EqualValues(t, 1, held.N())
	require.Panics(t, func() { q.Merge(held) })
	require.EqualValues(t, 1, held.N(), "a merge that panics moves nothing")
	held.Release()
	requireIdle(t, s)
}

func TestPermitSplitAndMerge(t *testing.T) {
	s := semaphore.New(5)
	p, err := s.AcquirePermit(bg, 5)
	require.NoError(t, err)
	q := p.Split(2)
	require.EqualValues(t, 3, p.N())
	require.EqualValues(t, 2, q.N())
	require.Panics(t, func() { q.Split(3) })
	require.Panics(t, func() { q.Split(-1) })
	q.Release()
	require.EqualValues(t, 2, s.Available())
	r, ok := s.TryAcquirePermit(1)
	require.True(t, ok)
	p.Merge(r)
	p.Merge(r)
	p.Merge(p)
	p.Merge(nil)
	require.EqualValues(t, 4, p.N())
	require.Zero(t, r.N())
	r.Release()
	require.EqualValues(t, 1, s.Available())

	other, err := semaphore.New(1).AcquirePermit(bg, 1)
	require.NoError(t, err)
	require.Panics(t, func() { p.Merge(other) })
	require.EqualValues(t, 1, other.N())
	p.Release()
	requireIdle(t, s)
}

func TestSplitOfEverythingLeavesAnEmptyHandle(t *testing.T) {
	s := semaphore.New(2)
	p, err := s.AcquirePermit(bg, 2)
	require.NoError(t, err)
	q := p.Split(2)
	require.EqualValues(t, 2, q.N())
	require.Zero(t, p.N())
	q.Release()
	requireIdle(t, s)
}

func TestPermitForget(t *testing.T) {
	s := semaphore.New(2)
	p, err := s.AcquirePermit(bg, 2)
	require.NoError(t, err)
	require.EqualValues(t, 2, p.Forget())
	p.Release()
	require.EqualValues(t, 0, s.Available())
	s.Release(2)
	requireIdle(t, s)
}
