package antspool_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/panjf2000/ants/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/runtime/antspool"
	"github.com/farad-go/farad/sync/semaphore"
)

// Importing ants starts two goroutines, for its default pool.
func TestMain(m *testing.M) { locktest.Main(m, goleak.IgnoreCurrent()) }

var bg = context.Background()

// quiet is for tests in which tasks may panic before a goroutine waits for them.
var quiet = rt.WithPanicHandler(func(*rt.PanicError) {})

// newAnts makes a pool of ants that is released, if that has not been done, at the end of the test.
func newAnts(t testing.TB, size int, opts ...ants.Option) *ants.Pool {
	t.Helper()
	p, err := ants.NewPool(size, opts...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if !p.IsClosed() {
			// ReleaseTimeout asks without a break: with one processor, for a whole slice of time.
			p.Release()
			locktest.Eventually(t, "the goroutines of the pool end", func() bool { return p.Running() == 0 })
		}
	})
	return p
}

// newPool makes a pool on a non-blocking one of ants. At the end of the test nothing may be left.
func newPool(t testing.TB, size int, opts ...antspool.Option) *antspool.Pool {
	t.Helper()
	return check(t, antspool.New(newAnts(t, size, ants.WithNonblocking(true)), opts...))
}

// newBlockingPool makes a pool on one of ants that blocks.
func newBlockingPool(t testing.TB, size int, opts ...antspool.Option) *antspool.Pool {
	t.Helper()
	return check(t, antspool.New(newAnts(t, size), opts...))
}

func check(t testing.TB, p *antspool.Pool) *antspool.Pool {
	t.Helper()
	t.Cleanup(func() { requireIdle(t, p) })
	return p
}

// requireIdle checks that all permits are back soon, and that nothing is left over.
func requireIdle(t testing.TB, p *antspool.Pool) {
	t.Helper()
	locktest.Eventually(t, "idle", func() bool {
		return p.Idle() && p.Gate().Waiting() == 0 && p.Gate().Available() == p.Gate().Size()
	})
}

type newPoolFunc func(t testing.TB, size int, opts ...antspool.Option) *antspool.Pool

// both runs f with a non-blocking pool of ants, and with a blocking one.
func both(t *testing.T, f func(t *testing.T, newPool newPoolFunc)) {
	t.Helper()
	t.Run("nonblocking", func(t *testing.T) { f(t, newPool) })
	t.Run("blocking", func(t *testing.T) { f(t, newBlockingPool) })
}

// occupy has foreign work hold n goroutines of the ants pool until the function that it returns is
// called.
func occupy(t testing.TB, p *antspool.Pool, n int) (leave func()) {
	t.Helper()
	gone := make(chan struct{})
	var running atomic.Int64
	for range n {
		locktest.Eventually(t, "a goroutine", func() bool { // that of a job which has ended is free some steps later
			return p.Ants().Submit(func() {
				running.Add(1)
				<-gone
			}) == nil
		})
	}
	locktest.Eventually(t, "occupied", func() bool { return running.Load() == int64(n) })
	return func() { close(gone) }
}

// hold takes n permits of the gate until the function that it returns is called.
func hold(t testing.TB, gate *semaphore.Semaphore, n int64) (release func()) {
	t.Helper()
	require.NoError(t, gate.Acquire(bg, n))
	return func() { gate.Release(n) }
}

// highWater counts something up and down and remembers the largest count.
type highWater struct{ now, peak atomic.Int64 }

func (h *highWater) add(n int64) { h.observe(h.now.Add(n)) }

func (h *highWater) observe(n int64) {
	for {
		peak := h.peak.Load()
		if n <= peak || h.peak.CompareAndSwap(peak, n) {
			return
		}
	}
}
