//go:build !interleave

package rt_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// While goroutines contend the program changes its mind about channels, the collector runs, and
// waits end by a cancel or a timeout about when they are granted. No wake-up gets lost, nor a
// permit, and no goroutine is woken that does not sleep: the runtime would end the program.
func TestUseChannelsUnderStress(t *testing.T) {
	defer waiter.UseChannels(waiter.UseChannels(false))
	const size = 3
	locktest.AtEveryProcs(t, func(t *testing.T) {
		for name, opts := range map[string][]semaphore.Option{
			"strict":    nil,
			"capacitor": {semaphore.WithCapacitor(2, 4)},
			"array":     {semaphore.WithWaitingArray(twa.NewArray(2))},
		} {
			t.Run(name, func(t *testing.T) {
				s := semaphore.New(size, opts...)
				var shared atomic.Pointer[sharedContext]
				shared.Store(newSharedContext())
				var held, granted atomic.Int64
				var wg sync.WaitGroup
				for g := range 12 {
					wg.Go(func() {
						r := rand.New(rand.NewPCG(uint64(g), 0))
						for range locktest.Scaled(20000) {
							n := 1 + r.Int64N(2)
							if !acquireSomehow(s, shared.Load(), r, n) {
								continue
							}
							if h := held.Add(n); h > size {
								t.Errorf("%d of %d permits are held", h, size)
							}
							if granted.Add(1); r.IntN(4) == 0 {
								runtime.Gosched()
							}
							held.Add(-n)
							s.Release(n)
						}
					})
				}
				done := make(chan struct{})
				go func() { wg.Wait(); close(done) }()
				for i := 0; !locktest.IsClosed(done); i++ {
					waiter.UseChannels(i%2 == 0)
					if i%8 == 0 {
						shared.Swap(newSharedContext()).cancel()
					}
					if i%16 == 0 {
						runtime.GC()
					}
					time.Sleep(time.Duration(i%64) * time.Microsecond)
				}
				shared.Load().cancel()
				require.EqualValues(t, size, s.Available())
				require.Zero(t, s.Waiting())
				require.NotZero(t, granted.Load())
			})
		}
	})
}

// A sharedContext is one that many waits share, so that they get a watch.
type sharedContext struct {
	context.Context
	cancel context.CancelFunc
}

func newSharedContext() *sharedContext {
	ctx, cancel := context.WithCancel(context.Background())
	return &sharedContext{ctx, cancel}
}

// acquireSomehow acquires n permits of s in one of the ways that there are, and reports whether it
// has got them.
func acquireSomehow(s *semaphore.Semaphore, shared *sharedContext, r *rand.Rand, n int64) bool {
	switch r.IntN(8) {
	case 0:
		return s.AcquireTimeout(time.Duration(r.IntN(60)-10)*time.Microsecond, n) == nil
	case 1:
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(50))*time.Microsecond)
		defer cancel()
		return s.Acquire(ctx, n) == nil
	case 2, 3:
		return s.Acquire(shared.Context, n) == nil
	case 4:
		var f waiter.Future
		s.Bind(&f, n)
		return rt.BlockOn(context.Background(), &f) == nil && f.Take() == nil
	case 5:
		return s.AcquireTimeout(time.Hour, n) == nil
	default:
		return s.Acquire(context.Background(), n) == nil
	}
}
