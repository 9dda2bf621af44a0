package mutex_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/waiter"
)

func TestZeroMutexIsUnlocked(t *testing.T) {
	var m mutex.Mutex
	m.Lock()
	require.False(t, m.TryLock())
	m.Unlock()
	requireFree(t, &m)
}

func TestUnlockOfUnlockedPanicsAndLeavesTheLockUsable(t *testing.T) {
	var m mutex.Mutex
	for range 2 {
		require.PanicsWithValue(t, "mutex: unlock of unlocked mutex", m.Unlock)
	}
	require.True(t, m.TryLock())
	m.Unlock()
	require.PanicsWithValue(t, "mutex: unlock of unlocked mutex", m.Unlock)
	requireFree(t, &m)
}

// Two unlocks at the same time, of one lock: one of them is wrong, and only one.
func TestConcurrentDoubleUnlockPanicsOnce(t *testing.T) {
	rounds := 20000
	if testing.Short() {
		rounds = 2000
	}
	locktest.AtEveryProcs(t, func(t *testing.T) {
		var m mutex.Mutex
		panics := make(chan bool, 2)
		for range rounds {
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

func TestBadInput(t *testing.T) {
	var m mutex.Mutex
	var none context.Context
	require.PanicsWithValue(t, "mutex: nil context", func() { _ = m.LockContext(none) })
	require.False(t, m.LockTimeout(0))
	require.False(t, m.LockTimeout(-1))
	requireFree(t, &m)
}

func TestDoneContextNeverLocks(t *testing.T) {
	var m mutex.Mutex
	ctx, cancel := context.WithCancel(bg)
	cancel()
	for range 1000 {
		require.ErrorIs(t, m.LockContext(ctx), context.Canceled)
	}
	requireFree(t, &m)
}

// Goroutines, goroutines with a context or a timeout, selects and polled futures stand in one line.
func TestLocksAreFIFOWhoeverWaits(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		const n = 40
		var m mutex.Mutex
		var order []int
		var wg sync.WaitGroup
		futures := make([]mutex.LockFuture, n)
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		m.Lock()
		for i := range n {
			wg.Add(1)
			turn := func() {
				order = append(order, i)
				m.Unlock()
				wg.Done()
			}
			switch i % 5 {
			case 0:
				go func() { m.Lock(); turn() }()
			case 1:
				go func() { assert.NoError(t, m.LockContext(ctx)); turn() }()
			case 2:
				go func() { assert.True(t, m.LockTimeout(time.Hour)); turn() }()
			case 3:
				futures[i].Init(&m)
				done := futures[i].Done()
				go func() { <-done; assert.NoError(t, futures[i].Err()); turn() }()
			case 4:
				futures[i].Init(&m)
				require.False(t, futures[i].Poll(waiter.WakerFunc(func() {
					go func() {
						for !futures[i].Poll(nil) {
							runtime.Gosched()
						}
						assert.NoError(t, futures[i].Err())
						turn()
					}()
				})))
			}
			locktest.AwaitWaiting(t, &m, i+1)
		}
		require.False(t, m.TryLock())
		m.Unlock()
		wg.Wait()
		for i := range n {
			require.Equal(t, i, order[i])
		}
		requireFree(t, &m)
	})
}

// Everything at once, at random; a plain counter is what the lock protects.
func TestMutualExclusionUnderEverything(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	locktest.AtEveryProcs(t, func(t *testing.T) {
		var m mutex.Mutex
		var counter, want int
		var mine [8]int
		var wg sync.WaitGroup
		for g := range mine {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 1))
				var f mutex.LockFuture
				for range rounds {
					ctx, cancel := context.WithTimeout(bg, time.Duration(rng.IntN(50))*time.Microsecond)
					locked := false
					switch rng.IntN(6) {
					case 0:
						m.Lock()
						locked = true
					case 1:
						locked = m.TryLock()
					case 2:
						locked = m.LockContext(ctx) == nil
					case 3:
						locked = m.LockTimeout(time.Duration(rng.IntN(20)) * time.Microsecond)
					case 4:
						f.Init(&m)
						select {
						case <-f.Done():
							locked = f.Err() == nil
						case <-ctx.Done():
						}
						f.Cancel()
					case 5:
						f.Init(&m)
						if f.Poll(nil) && rng.IntN(2) == 0 {
							locked = f.Err() == nil
						}
						f.Cancel()
					}
					if locked {
						counter++
						mine[g]++
						if rng.IntN(8) == 0 {
							runtime.Gosched()
						}
						m.Unlock()
					}
					cancel()
				}
				f.Cancel()
			})
		}
		wg.Wait()
		for _, n := range mine {
			want += n
		}
		require.Equal(t, want, counter)
		for f := range 100 { // a grant may still be passing through a future that was cancelled
			if m.TryLock() {
				m.Unlock()
				break
			}
			time.Sleep(time.Duration(f) * time.Millisecond)
		}
		requireFree(t, &m)
	})
}

func TestServesConditions(t *testing.T) {
	var m mutex.Mutex
	c := sync.NewCond(&m)
	ready, done := 0, make(chan struct{})
	for range 3 {
		go func() {
			m.Lock()
			for ready == 0 {
				c.Wait()
			}
			ready--
			m.Unlock()
			done <- struct{}{}
		}()
	}
	for range 3 {
		m.Lock()
		ready++
		m.Unlock()
		c.Signal()
		for {
			select {
			case <-done:
			case <-time.After(time.Millisecond):
				c.Broadcast() // who was signalled may not have waited yet
				continue
			}
			break
		}
	}
	requireFree(t, &m)
}
