package semaphore_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// A mad context panics now and then, whatever it is asked.
type mad struct {
	context.Context
	maybe func()
}

func (c mad) Done() <-chan struct{} {
	c.maybe()
	return c.Context.Done()
}

func (c mad) Err() error {
	c.maybe()
	return c.Context.Err()
}

func (c mad) Deadline() (time.Time, bool) {
	c.maybe()
	return c.Context.Deadline()
}

// Functions and contexts of the program panic at any point, while what they say changes. More
// tenants come and go than a tree has spares for. No permit is lost, no request waits for nobody,
// and the lock is free.
func TestATreeWhoseFunctionsPanic(t *testing.T) {
	for _, q := range []semaphore.Queue{
		{}, {MaxWaiting: 6, RefuseLate: true}, {Shed: semaphore.ShedAdaptiveLIFO, Target: time.Millisecond},
	} {
		var calm atomic.Bool
		var salt atomic.Int64
		maybe := func() {
			if !calm.Load() && rand.IntN(50) == 0 {
				panic("mad")
			}
		}
		number := func(tenant any) int {
			i, _ := strconv.Atoi(tenant.(string))
			return i
		}
		s := semaphore.New(6, semaphore.WithQueue(q), semaphore.WithDebit(semaphore.DebitCost),
			semaphore.WithShares(func(any) int {
				maybe()
				return 1 + int(salt.Load()%3)
			}),
			semaphore.WithMaxInUse(func(tenant any) int64 {
				maybe()
				return 2 + (salt.Load()+int64(number(tenant)))%3
			}),
			semaphore.WithParent(func(tenant any) any {
				maybe()
				switch i := number(tenant); {
				case i < 200:
					return strconv.Itoa(200 + (i+int(salt.Load()))%100)
				case i < 300:
					return strconv.Itoa(300 + i%3)
				}
				return nil
			}))
		rounds := 1000
		if locktest.Stress() {
			rounds = 100_000
		}
		var held, granted, panics atomic.Int64
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(bg, time.Hour)
				defer cancel()
				for round := range rounds {
					tenant := s.As(strconv.Itoa(rand.IntN(303)))
					n := int64(1 + rand.IntN(2))
					got := false
					func() {
						defer func() {
							if recover() != nil {
								panics.Add(1)
							}
						}()
						if i == 0 && round%8 == 0 {
							salt.Add(1)
							tenant.Update()
						}
						if round%7 == 0 {
							got = tenant.TryAcquire(n)
							return
						}
						if round%3 == 2 {
							var f waiter.Future
							tenant.Bind(&f, n)
							defer f.Release()
							got = f.Poll(nil) && f.Take() == nil
							return
						}
						got = acquireSomehow(mad{ctx, maybe}, tenant, round%2+3*rand.IntN(100), n) == nil
					}()
					if !got {
						continue
					}
					granted.Add(1)
					if now := held.Add(n); now > 6 {
						t.Errorf("%d are held", now)
					}
					for range round % 4 {
						runtime.Gosched()
					}
					held.Add(-n)
					if round%2 == 0 {
						tenant.Release(n)
					} else {
						tenant.ReleaseCost(n, int64(round))
					}
				}
			})
		}
		wg.Wait()
		calm.Store(true)
		require.Greater(t, granted.Load(), int64(0))
		require.Greater(t, panics.Load(), int64(0))
		requireIdle(t, s)
	}
}
