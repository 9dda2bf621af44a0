package contract

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet"
)

func TestMutex(t *testing.T) {
	w := newWorld(t)
	var inside, turns int
	var wg sync.WaitGroup
	for range 3 {
		m, err := w.join(fleet.WithTenure(time.Millisecond)).Mutex(w.ctx, "s")
		require.NoError(t, err)
		for range 4 {
			wg.Go(func() {
				for range 25 {
					if err := m.LockContext(w.ctx); err != nil {
						t.Error(err)
						return
					}
					inside++
					if inside != 1 {
						t.Error("two are inside")
					}
					turns++
					inside--
					m.Unlock()
				}
			})
		}
	}
	wg.Wait()
	require.Equal(t, 300, turns)
}

func TestMutexByOtherMeans(t *testing.T) {
	w := newWorld(t)
	a, err := w.join().Mutex(w.ctx, "s")
	require.NoError(t, err)
	b, err := w.join().Mutex(w.ctx, "s")
	require.NoError(t, err)
	require.False(t, a.TryLock())
	ok, err := a.TryLockContext(w.ctx)
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = b.TryLockContext(w.ctx)
	require.NoError(t, err)
	require.False(t, ok)
	require.ErrorIs(t, b.LockTimeout(20*time.Millisecond), context.DeadlineExceeded)
	a.Unlock()
	require.Panics(t, a.Unlock)
	p, err := b.LockPermit(w.ctx)
	require.NoError(t, err)
	require.True(t, p.Valid())
	p.Release()
	require.NoError(t, b.LockTimeout(time.Second))
	b.Unlock()
	a.Close()
	require.ErrorIs(t, a.LockContext(w.ctx), fleet.ErrClosed)
}

// Readers of all processes share the lock, writers do not, and neither starves.
func TestRWMutex(t *testing.T) {
	w := newWorld(t)
	var readers, writers, most atomic.Int64
	var wg sync.WaitGroup
	for range 3 {
		m, err := w.join(fleet.WithTenure(2*time.Millisecond)).RWMutex(w.ctx, "s")
		require.NoError(t, err)
		for range 3 {
			wg.Go(func() {
				for range 20 {
					if err := m.RLockContext(w.ctx); err != nil {
						t.Error(err)
						return
					}
					if n := readers.Add(1); n > most.Load() {
						most.Store(n)
					}
					if writers.Load() != 0 {
						t.Error("a reader beside a writer")
					}
					time.Sleep(500 * time.Microsecond)
					readers.Add(-1)
					m.RUnlock()
				}
			})
		}
		wg.Go(func() {
			for range 10 {
				if err := m.LockContext(w.ctx); err != nil {
					t.Error(err)
					return
				}
				if writers.Add(1) != 1 || readers.Load() != 0 {
					t.Error("a writer beside others")
				}
				time.Sleep(200 * time.Microsecond)
				writers.Add(-1)
				m.Unlock()
			}
		})
	}
	wg.Wait()
	require.Greater(t, most.Load(), int64(1), "readers share it")
}

func TestRWMutexByOtherMeans(t *testing.T) {
	w := newWorld(t)
	a, err := w.join().RWMutex(w.ctx, "s")
	require.NoError(t, err)
	b, err := w.join().RWMutex(w.ctx, "s")
	require.NoError(t, err)
	p, err := a.RLockPermit(w.ctx)
	require.NoError(t, err)
	require.True(t, a.TryRLock())
	require.False(t, a.TryLock())
	require.NoError(t, b.RLockTimeout(time.Second))
	require.ErrorIs(t, b.LockTimeout(30*time.Millisecond), context.DeadlineExceeded)
	require.Panics(t, b.Unlock)
	b.RUnlock()
	p.Release()
	a.RUnlock()
	q, err := b.LockPermit(w.ctx)
	require.NoError(t, err)
	require.ErrorIs(t, a.RLockTimeout(30*time.Millisecond), context.DeadlineExceeded)
	q.Release()
	require.NoError(t, a.RLockContext(w.ctx))
	a.RUnlock()
	a.Close()
	require.ErrorIs(t, a.LockContext(w.ctx), fleet.ErrClosed)
}

// A reader that is none must not make room beside a writer.
func TestAnUnlockIsNotAnRUnlock(t *testing.T) {
	w := newWorld(t)
	m, err := w.join().RWMutex(w.ctx, "s")
	require.NoError(t, err)
	require.NoError(t, m.LockContext(w.ctx))
	require.Panics(t, m.RUnlock)
	m.Unlock()
}
