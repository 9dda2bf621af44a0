//go:build !interleave

package sync

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

// What futures promise is tested in TestContract and TestRWContract. Here is what is special with
// capacitors.

// However many futures of readers stand one behind the other, the stack of the goroutine that
// unlocks does not grow with them: that would end the program.
func TestLongLineOfReadersIsAdmittedWithASmallStack(t *testing.T) {
	n := 200_000
	if locktest.RaceEnabled {
		n /= 10
	}
	var l RWMutex
	l.Lock()
	fs := make([]waiter.Future, n)
	for i := range fs {
		l.BindRead(&fs[i])
		require.False(t, fs[i].Poll(nil))
	}
	require.Equal(t, n, l.Waiting())
	depth := deepest{}
	fs[n-1].Poll(&depth)
	l.Unlock()
	require.Greater(t, depth.frames, 0)
	require.Less(t, depth.frames, 100)
	for i := range fs {
		require.True(t, fs[i].Complete())
		fs[i].Release()
	}
	requireRWFree(t, &l)
}

// deepest is a waker that counts the frames below it.
type deepest struct{ frames int }

func (d *deepest) Wake() {
	var pc [200]uintptr
	d.frames = runtime.Callers(0, pc[:])
}

// Futures at the gate and asleep that are given up leave their places to those behind them, and
// the gate open.
func TestFuturesGiveUpEverywhere(t *testing.T) {
	forEachLane(t, func(t *testing.T, create func() *Mutex) {
		m := create()
		m.Lock()
		var fs [3]waiter.Future
		for i := range fs {
			m.Bind(&fs[i])
			require.False(t, fs[i].Poll(nil))
		}
		require.Equal(t, 3, m.Waiting())
		fs[1].Release() // at the gate
		require.Equal(t, 2, m.Waiting())
		fs[0].Release() // asleep, or at the gate as well
		require.Equal(t, 1, m.Waiting())
		m.Unlock()
		require.True(t, fs[2].Complete())
		require.NoError(t, fs[2].Err())
		fs[2].Release()
		requireFree(t, m)
	})
}

// Futures, goroutines and contexts, all at once, on a read-write lock: writers are alone, and
// nothing is lost.
func TestRWFuturesUnderStress(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		var l RWMutex
		var readers, writers atomic.Int32
		use := func(write bool) {
			if write {
				require.EqualValues(require.GoOn(t), 1, writers.Add(1))
				require.Zero(require.GoOn(t), readers.Load())
				writers.Add(-1)
			} else {
				readers.Add(1)
				require.Zero(require.GoOn(t), writers.Load())
				readers.Add(-1)
			}
		}
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				var f waiter.Future
				for range locktest.Scaled(2000) {
					write := rand.IntN(3) == 0
					if g%2 == 0 {
						if write {
							l.Lock()
							use(true)
							l.Unlock()
						} else {
							l.RLock()
							use(false)
							l.RUnlock()
						}
						continue
					}
					if write {
						l.Bind(&f)
					} else {
						l.BindRead(&f)
					}
					switch rand.IntN(3) {
					case 0:
						f.Poll(nil)
					case 1:
						locktest.Receive(t, f.Done())
						use(write)
					default:
						ctx, cancel := context.WithCancel(bg)
						go cancel()
						select {
						case <-f.Done():
							require.NoError(require.GoOn(t), f.Err())
							use(write)
						case <-ctx.Done():
						}
						cancel()
					}
					f.Release()
				}
			})
		}
		wg.Wait()
		requireRWFree(t, &l)
		require.Zero(t, l.opening.Load())
	})
}
