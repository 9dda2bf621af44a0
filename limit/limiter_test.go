//go:build !interleave

package limit_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

var bg = context.Background()

// script is a controller that returns one limit after the other, the last one for ever, and keeps
// the samples.
type script struct {
	limits  []int64
	samples []limit.Sample
	update  func() // if not nil, it is called in each
}

func (s *script) Limit() int64 { return s.limits[0] }

func (s *script) Update(of limit.Sample) int64 {
	s.samples = append(s.samples, of)
	if s.update != nil {
		s.update()
	}
	if len(s.limits) > 1 {
		s.limits = s.limits[1:]
	}
	return s.limits[0]
}

// each makes every request a window that has been dropped.
func each() limit.Option { return limit.WithWindow(0, 1) }

func acquire(t *testing.T, l *limit.Limiter, n int64) *limit.Permit {
	t.Helper()
	p, err := l.Acquire(bg, n)
	require.NoError(t, err)
	return p
}

func TestTheSizeFollowsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sem := semaphore.New(77)
		l := limit.New(sem, &script{limits: []int64{5, 9, 2, 2, 30}}, each())
		for _, want := range []int64{5, 9, 2, 2, 30, 30} {
			require.Equal(t, want, l.Limit())
			require.Equal(t, want, sem.Size())
			require.Equal(t, want, sem.Available())
			acquire(t, l, 1).Dropped()
		}
		require.Same(t, sem, l.Semaphore())
	})
}

// A limiter drives a semaphore of any policy.
func TestEveryPolicyIsDriven(t *testing.T) {
	for name, sem := range map[string]*semaphore.Semaphore{
		"capacitor":     semaphore.New(7, semaphore.WithCapacitor(1, 256)),
		"waiting array": semaphore.New(7, semaphore.WithWaitingArray(nil)),
		"shares":        semaphore.New(7, semaphore.WithShares(nil)),
		"priorities":    semaphore.New(7, semaphore.WithPriorities(3, 100)),
		"queue":         semaphore.New(7, semaphore.WithQueue(semaphore.Queue{})),
	} {
		l := limit.New(sem, &script{limits: []int64{5, 9, 2, 30}}, each())
		for _, want := range []int64{5, 9, 2, 30} {
			require.Equal(t, want, sem.Size(), name)
			require.Equal(t, want, sem.Available(), name)
			held := acquire(t, l, want)
			waits := make(chan *limit.Permit, 1)
			go func() {
				p, err := l.Acquire(bg, 1)
				require.NoError(require.GoOn(t), err, name)
				waits <- p
			}()
			locktest.AwaitWaiting(t, sem, 1)
			held.Ignore()
			(<-waits).Dropped()
		}
	}
}

func TestASampleIsOfAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &script{limits: []int64{10}}
		l := limit.New(semaphore.New(0), c, limit.WithWindow(10*ms, 3))
		first, second, third := acquire(t, l, 1), acquire(t, l, 4), acquire(t, l, 2)
		require.EqualValues(t, 7, l.InFlight())
		time.Sleep(20 * ms)
		first.Success() // the window begins here
		time.Sleep(20 * ms)
		second.Success() // long enough by itself, but one request is missing
		third.Ignore()   // does not count
		require.Empty(t, c.samples)
		fourth := acquire(t, l, 1)
		time.Sleep(30 * ms)
		fourth.Success()
		require.Equal(t, []limit.Sample{{RTT: 30 * ms, InFlight: 5}}, c.samples)
		require.Zero(t, l.InFlight())
	})
}

func TestTheWaitIsNotMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &script{limits: []int64{1}}
		l := limit.New(semaphore.New(0), c, limit.WithWindow(0, 1))
		for len(c.samples) == 0 {
			p := acquire(t, l, 1)
			go func() {
				time.Sleep(time.Hour)
				p.Ignore()
			}()
			q := acquire(t, l, 1) // waits for an hour
			time.Sleep(5 * ms)
			q.Success()
		}
		require.Equal(t, []limit.Sample{{RTT: 5 * ms, InFlight: 1}}, c.samples)
	})
}

func TestAPermitEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := map[string]func(*limit.Permit){
			"success": (*limit.Permit).Success, "dropped": (*limit.Permit).Dropped, "ignore": (*limit.Permit).Ignore,
		}
		for first, end := range ends {
			for second, again := range ends {
				c := &script{limits: []int64{3}}
				l := limit.New(semaphore.New(0), c, each())
				p, other := acquire(t, l, 2), acquire(t, l, 1)
				time.Sleep(time.Second)
				end(p)
				again(p)
				time.Sleep(time.Second)
				again(p)
				require.EqualValues(t, 2, l.Semaphore().Available(), "%s, %s", first, second)
				require.EqualValues(t, 1, l.InFlight(), "%s, %s", first, second)
				other.Ignore()
				require.LessOrEqual(t, len(c.samples), 1, "%s, %s", first, second)
			}
		}
	})
}

func TestANilPermitHoldsNothing(*testing.T) {
	var p *limit.Permit
	p.Success()
	p.Dropped()
	p.Ignore()
}

func TestErrorsAreThoseOfTheSemaphore(t *testing.T) {
	sem := semaphore.New(0, semaphore.WithMaxWaiting(1))
	l := limit.New(sem, &script{limits: []int64{2}})
	p := acquire(t, l, 2)

	done, cancel := context.WithCancel(bg)
	cancel()
	for want, does := range map[error]func() (*limit.Permit, error){
		context.Canceled:         func() (*limit.Permit, error) { return l.Acquire(done, 1) },
		semaphore.ErrTooLarge:    func() (*limit.Permit, error) { return l.Acquire(bg, 3) },
		context.DeadlineExceeded: func() (*limit.Permit, error) { return withTimeout(l) },
	} {
		none, err := does()
		require.ErrorIs(t, err, want)
		require.Nil(t, none)
	}
	none, ok := l.TryAcquire(1)
	require.False(t, ok)
	require.Nil(t, none)

	var f waiter.Future
	sem.Bind(&f, 1)
	defer f.Release()
	require.False(t, f.Poll(nil))
	_, err := l.Acquire(bg, 1)
	require.ErrorIs(t, err, semaphore.ErrQueueFull)
	f.Release()

	p.Ignore()
	p, ok = l.TryAcquire(2)
	require.True(t, ok)
	sem.Close()
	_, err = l.Acquire(bg, 1)
	require.ErrorIs(t, err, semaphore.ErrClosed)
	p.Success()
	require.EqualValues(t, 0, l.InFlight())
}

func withTimeout(l *limit.Limiter) (*limit.Permit, error) {
	ctx, cancel := context.WithTimeout(bg, ms)
	defer cancel()
	return l.Acquire(ctx, 1)
}

// Each tenant has its turn, and what it gets counts as anybody's does.
func TestTenantsShareALimit(t *testing.T) {
	l := limit.New(semaphore.New(0, semaphore.WithShares(nil)), &limit.AIMD{Initial: 1})
	start := func(tenant string) *limit.Permit {
		require.NoError(require.GoOn(t), l.Semaphore().As(tenant).Acquire(t.Context(), 1))
		return l.Start(1)
	}
	first := start("A")
	turns := make(chan string, 4)
	var wg sync.WaitGroup
	for i, tenant := range []string{"A", "A", "A", "B"} { // the first A is next in any case
		wg.Go(func() {
			p := start(tenant)
			turns <- tenant
			p.Ignore()
		})
		locktest.AwaitWaiting(t, l.Semaphore(), i+1)
	}
	first.Ignore()
	wg.Wait()
	require.Zero(t, l.InFlight())
	require.Equal(t, []string{"A", "A", "B", "A"}, []string{<-turns, <-turns, <-turns, <-turns})
}

func TestALimitThatFallsBelowARequestEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(semaphore.New(0), &script{limits: []int64{4, 2}}, each())
		p, held := acquire(t, l, 1), acquire(t, l, 3)
		var err error
		go func() { _, err = l.Acquire(bg, 3) }()
		synctest.Wait()
		require.NoError(t, err)
		p.Dropped()
		synctest.Wait()
		require.ErrorIs(t, err, semaphore.ErrTooLarge)
		require.EqualValues(t, -1, l.Semaphore().Available()) // three are held of two
		held.Ignore()
		require.EqualValues(t, 2, l.Semaphore().Available())
	})
}

// Permits of the semaphore that were got in other ways are measured, too.
func TestStartTakesPermitsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &script{limits: []int64{4}}
		l := limit.New(semaphore.New(0), c, each())
		var f waiter.Future
		l.Semaphore().Bind(&f, 3)
		<-f.Done()
		require.NoError(t, f.Take())
		p := l.Start(3)
		f.Release() // nothing any more
		require.EqualValues(t, 3, l.InFlight())
		time.Sleep(ms)
		p.Success()
		require.EqualValues(t, 4, l.Semaphore().Available())
	})
	l := limit.New(semaphore.New(0), new(limit.Vegas))
	require.PanicsWithValue(t, "limit: start with a negative number of permits", func() { l.Start(-1) })
}

func TestMisuseIsNamed(t *testing.T) {
	sem, c := semaphore.New(0), new(limit.Vegas)
	require.PanicsWithValue(t, "limit: New without a semaphore or a controller", func() { limit.New(nil, c) })
	require.PanicsWithValue(t, "limit: New without a semaphore or a controller", func() { limit.New(sem, nil) })
	require.PanicsWithValue(t, "limit: nil option", func() { limit.New(sem, c, nil) })
	require.PanicsWithValue(t, "limit: the controller returned 0", func() { limit.New(sem, &script{limits: []int64{0}}) })
	require.PanicsWithValue(t, "limit: WithWindow(-1ns, 1): the duration must not be negative, and the number must be positive",
		func() { limit.WithWindow(-1, 1) })
	require.Panics(t, func() { limit.WithWindow(1, 0) })
}

// Invariant 2: no lock is held while others are woken.
func TestAWakerMayUseTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(semaphore.New(0), &script{limits: []int64{1, 3}}, limit.WithWindow(0, 2))
		p := acquire(t, l, 1)
		var f waiter.Future
		l.Semaphore().Bind(&f, 2)
		woken := false
		require.True(t, f.Poll(nil)) // too large
		require.ErrorIs(t, f.Err(), semaphore.ErrTooLarge)
		f.Release()
		l.Semaphore().Bind(&f, 1)
		require.False(t, f.Poll(waiter.WakerFunc(func() {
			woken = true
			q := l.Start(0)
			q.Dropped()
			l.Limit()
		})))
		q := l.Start(0)
		time.Sleep(ms)
		q.Dropped()
		l.Start(0).Dropped() // the second of the window: the limit becomes 3, and the future is granted
		require.True(t, woken)
		require.NoError(t, f.Err())
		l.Semaphore().Release(1)
		p.Ignore()
		require.EqualValues(t, 3, l.Semaphore().Available())
	})
}

// Invariant 4: requests that end during an update are of the next window.
func TestRequestsOfAnUpdateCountInTheNextWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &script{limits: []int64{5}}
		l := limit.New(semaphore.New(0), c, each())
		c.update = func() {
			if len(c.samples) == 1 {
				l.Start(3).Dropped() // a window by itself, but an update runs
			}
		}
		require.True(t, l.Semaphore().TryAcquire(3))
		l.Start(0).Dropped()
		require.Len(t, c.samples, 1)
		l.Start(0).Dropped()
		require.Len(t, c.samples, 2)
		require.EqualValues(t, 3, c.samples[1].InFlight)
	})
}

// A controller of the user's that panics leaves the limiter as it was.
func TestAControllerMayPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &script{limits: []int64{5, 6, 7}}
		l := limit.New(semaphore.New(0), c, each())
		c.update = func() { panic("mine") }
		require.PanicsWithValue(t, "mine", acquire(t, l, 1).Dropped)
		require.EqualValues(t, 5, l.Semaphore().Available())
		c.update = nil
		acquire(t, l, 1).Dropped()
		require.EqualValues(t, 6, l.Limit())
		c.limits = []int64{6, -1}
		require.PanicsWithValue(t, "limit: the controller returned -1", acquire(t, l, 1).Dropped)
		require.EqualValues(t, 6, l.Limit())
		require.EqualValues(t, 6, l.Semaphore().Available())
	})
}

// A limiter may be used in a bubble and outside, whatever their clocks say.
func TestBubblesAndOutside(t *testing.T) {
	c := &script{limits: []int64{2}}
	l := limit.New(semaphore.New(0), c, limit.WithWindow(ms, 2))
	use := func() {
		for range 3 {
			p, ok := l.TryAcquire(1)
			require.True(t, ok)
			time.Sleep(2 * ms)
			p.Success()
		}
	}
	inside := func() { synctest.Test(t, func(*testing.T) { use() }) }
	for i, does := range []func(){use, inside, use, inside} {
		before := len(c.samples)
		does()
		require.Greater(t, len(c.samples), before, i)
	}
	for _, s := range c.samples {
		require.Greater(t, s.RTT, time.Duration(0))
		require.Less(t, s.RTT, time.Hour)
	}
}

// A request that begins by one clock and ends by another has no latency, and does not count.
func TestARequestOfTwoClocksDoesNotCount(t *testing.T) {
	for name, end := range map[string]func(*limit.Permit){
		"success": (*limit.Permit).Success, "dropped": (*limit.Permit).Dropped,
	} {
		c := &script{limits: []int64{2}}
		l := limit.New(semaphore.New(0), c, each())
		p, _ := l.TryAcquire(1)
		synctest.Test(t, func(*testing.T) {
			end(p)
			p, _ = l.TryAcquire(1)
		})
		end(p)
		require.Empty(t, c.samples, name)
		require.EqualValues(t, 2, l.Semaphore().Available(), name)
	}
}

func TestAcquireAllocatesItsPermitAlone(t *testing.T) {
	l := limit.New(semaphore.New(0), new(limit.Vegas))
	for name, end := range map[string]func(*limit.Permit){
		"success": (*limit.Permit).Success, "dropped": (*limit.Permit).Dropped, "ignore": (*limit.Permit).Ignore,
	} {
		require.LessOrEqual(t, testing.AllocsPerRun(1000, func() {
			p, err := l.Acquire(bg, 1)
			if err != nil {
				panic(err)
			}
			end(p)
		}), 1.0, name)
	}
}

// Whatever many goroutines do: no more permits are held than the largest limit, all come back, and
// the size is the last limit.
func TestManyGoroutines(t *testing.T) {
	const highest = 12
	for name, c := range controllers(1, highest, 5) {
		t.Run(name, func(t *testing.T) {
			l := limit.New(semaphore.New(0), c, limit.WithWindow(50*time.Microsecond, 3))
			var group sync.WaitGroup
			for g := range 16 {
				group.Go(func() {
					r := rand.New(rand.NewPCG(uint64(g), 1))
					for range 300 {
						ctx, cancel := context.WithTimeout(bg, time.Duration(r.IntN(1000))*time.Microsecond)
						p, err := l.Acquire(ctx, 1)
						cancel()
						if err != nil {
							continue
						}
						if n := l.InFlight(); n > highest {
							t.Errorf("%d in flight", n)
						}
						if r.IntN(4) == 0 {
							time.Sleep(time.Duration(r.IntN(100)) * time.Microsecond)
						}
						switch r.IntN(8) {
						case 0:
							p.Dropped()
						case 1:
							p.Ignore()
						default:
							p.Success()
						}
						p.Ignore()
					}
				})
			}
			group.Wait()
			sem := l.Semaphore()
			require.Zero(t, l.InFlight())
			require.Equal(t, l.Limit(), c.Limit())
			require.Equal(t, l.Limit(), sem.Size())
			require.Equal(t, l.Limit(), sem.Available())
			require.Zero(t, sem.Waiting())
		})
	}
}
