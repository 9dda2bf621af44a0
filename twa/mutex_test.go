package twa_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/twa"
)

func requireFree(t *testing.T, m *twa.Mutex) {
	t.Helper()
	require.Zero(t, m.Waiting())
	require.True(t, m.TryLock(), "the lock was lost")
	require.False(t, m.TryLock(), "two locks were made of one")
	m.Unlock()
}

func TestZeroMutexIsUnlocked(t *testing.T) {
	var m twa.Mutex
	m.Lock()
	require.False(t, m.TryLock())
	m.Unlock()
	requireFree(t, &m)
}

func TestUnlockOfUnlockedPanicsAndLeavesTheLockUsable(t *testing.T) {
	var m twa.Mutex
	for range 2 {
		require.PanicsWithValue(t, "twa: unlock of unlocked mutex", m.Unlock)
		requireFree(t, &m)
	}
}

// Two unlocks at the same time, of one lock: one of them is wrong, and only one.
func TestConcurrentDoubleUnlockPanicsOnce(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		var m twa.Mutex
		panics := make(chan bool, 2)
		for range locktest.Scaled(10000) {
			m.Lock()
			for range 2 {
				go func() {
					defer func() { panics <- recover() != nil }()
					m.Unlock()
				}()
			}
			require.NotEqual(t, locktest.Receive(t, panics), locktest.Receive(t, panics))
		}
		requireFree(t, &m)
	})
}

// Every way to lock at the same time: never two inside, and nothing is lost.
func TestMutualExclusionUnderEverything(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		var m twa.Mutex
		inside, entered := 0, 0
		done := make(chan int)
		const threads = 8
		for g := range threads {
			go func() {
				n := 0
				for i := range locktest.Scaled(4000) {
					ok := true
					switch (g + i) % 4 {
					case 0:
						m.Lock()
					case 1:
						ok = m.TryLock()
					case 2:
						ok = m.LockTimeout(time.Duration(i%100) * time.Microsecond)
					default:
						ctx, cancel := context.WithTimeout(bg, time.Duration(i%100)*time.Microsecond)
						ok = m.LockContext(ctx) == nil
						cancel()
					}
					if ok {
						inside++
						assert.Equal(t, 1, inside)
						entered++
						inside--
						n++
						m.Unlock()
					}
				}
				done <- n
			}()
		}
		n := 0
		for range threads {
			n += locktest.Receive(t, done)
		}
		require.Equal(t, n, entered)
		requireFree(t, &m)
	})
}

func TestMutexIsFIFO(t *testing.T) {
	var m twa.Mutex
	m.Lock()
	order := make(chan int, 10)
	for i := range 10 {
		go func() {
			switch i % 3 {
			case 0:
				m.Lock()
			case 1:
				assert.NoError(t, m.LockContext(t.Context()))
			default:
				assert.True(t, m.LockTimeout(time.Hour))
			}
			order <- i
			m.Unlock()
		}()
		locktest.AwaitWaiting(t, &m, i+1)
	}
	require.False(t, m.TryLock(), "overtook")
	m.Unlock()
	for i := range 10 {
		require.Equal(t, i, locktest.Receive(t, order))
	}
	requireFree(t, &m)
}

func TestMutexWaitsEndWithContextAndTime(t *testing.T) {
	var m twa.Mutex
	ctx, cancel := context.WithCancelCause(bg)
	m.Lock()
	c := make(chan error, 1)
	go func() { c <- m.LockContext(ctx) }()
	locktest.AwaitWaiting(t, &m, 1)
	cancel(errors.New("a cause"))
	require.Equal(t, context.Canceled, locktest.Receive(t, c))
	require.False(t, m.LockTimeout(time.Millisecond))
	m.Unlock()
	require.Equal(t, context.Canceled, m.LockContext(ctx), "a context that is done never locks")
	require.False(t, m.LockTimeout(0))
	require.False(t, m.LockTimeout(-1))
	require.PanicsWithValue(t, "twa: nil context", func() { _ = m.LockContext(nil) }) //nolint:staticcheck // nil on purpose
	require.True(t, m.LockTimeout(time.Hour))
	m.Unlock()
	require.NoError(t, m.LockContext(bg))
	m.Unlock()
	requireFree(t, &m)
}
