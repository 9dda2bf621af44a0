//go:build !interleave

package waiter_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/xsync/sleep"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

func TestOnlyWaitsWithoutAnEndArePutIntoChannels(t *testing.T) {
	defer waiter.UseChannels(waiter.UseChannels(false))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, forever := range []waiter.Limit{{}, waiter.UntilDone(context.Background())} {
		p := waiter.GetParker(forever.InChannel())
		require.Equal(t, !sleep.Parks(), p.IsCheapest())
		p.Put()
		p = waiter.GetParker(forever)
		require.True(t, p.IsCheapest(), "the next one is as before")
		p.Put()
	}
	for _, l := range []waiter.Limit{waiter.UntilDone(ctx), waiter.After(1), waiter.After(time.Hour).Fixed()} {
		require.Equal(t, l, l.InChannel())
	}
}

// What the locks keep for later waits obeys UseChannels too, in both directions: parkers in the
// pool, the idle one of a watched context, and those that sleepers in a table keep.
func TestUseChannelsConcernsEveryLaterWait(t *testing.T) {
	defer waiter.UseChannels(waiter.UseChannels(false))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for name, opts := range ways {
		for kind, acquire := range map[string]func(s *semaphore.Semaphore) error{
			"background": func(s *semaphore.Semaphore) error { return s.Acquire(context.Background(), 1) },
			"context":    func(s *semaphore.Semaphore) error { return s.Acquire(ctx, 1) },
			"timeout":    func(s *semaphore.Semaphore) error { return s.AcquireTimeout(time.Hour, 1) },
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := semaphore.New(1, opts...)
				require.True(t, s.TryAcquire(1))
				wait := func(asleep func()) {
					done := make(chan error)
					go waitForTestOfChannels(done, func() error { return acquire(s) })
					locktest.AwaitWaiting(t, s, 1)
					asleep()
					s.Release(1)
					require.NoError(t, locktest.Receive(t, done))
				}
				parks := func() (parks bool) {
					wait(func() {
						locktest.Eventually(t, "it sleeps", func() bool {
							stack := stackOf("waitForTestOfChannels")
							// Not its state: a goroutine that allocates may be in semacquire, too.
							parks = strings.Contains(stack, "sleep.(*Sleeper).SleepInline") || strings.Contains(stack, "sleep.park")
							return parks || strings.Contains(stack, "signal.Signal.Receive")
						})
					})
					return parks
				}
				for range 3 {
					waiter.UseChannels(false)
					for range 50 { // ctx gets its watch
						wait(func() {})
					}
					require.Equal(t, sleep.Parks(), parks())
					waiter.UseChannels(true)
					require.False(t, parks())
				}
			})
		}
	}
}

func waitForTestOfChannels(done chan<- error, acquire func() error) { done <- acquire() }

// stackOf returns the stack of the goroutine that is in function, if there is one.
func stackOf(function string) string {
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	for g := range strings.SplitSeq(string(all), "\n\n") {
		if strings.Contains(g, function+"(") {
			return g
		}
	}
	return ""
}

// ways are the ways in which a semaphore lets its callers wait.
var ways = map[string][]semaphore.Option{
	"strict":    nil,
	"capacitor": {semaphore.WithCapacitor(2, 4)},
	"array":     {semaphore.WithWaitingArray(twa.NewArray(2))},
}

// While goroutines contend the program changes its mind about channels, the collector runs, and
// waits end by a cancel or a timeout about when they are granted. No wake-up gets lost, nor a
// permit, and no goroutine is woken that does not sleep: the runtime would end the program.
func TestUseChannelsUnderStress(t *testing.T) {
	defer waiter.UseChannels(waiter.UseChannels(false))
	const size = 3
	locktest.AtEveryProcs(t, func(t *testing.T) {
		for name, opts := range ways {
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
							if !acquire(s, shared.Load(), r, n) {
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

// acquire acquires n permits of s in one of the ways that there are, and reports whether it has got
// them.
func acquire(s *semaphore.Semaphore, shared *sharedContext, r *rand.Rand, n int64) bool {
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
