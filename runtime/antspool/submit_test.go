package antspool_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/panjf2000/ants/v2"
	"github.com/stretchr/testify/assert" // for what runs on other goroutines
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/runtime/antspool"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

func TestSubmitRunsOnTheAntsPoolWithItsWeight(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 4, antspool.WithGate(semaphore.New(10)))
		for _, weight := range []int64{0, 1, 3, 10} {
			held := make(chan int64)
			require.NoError(t, p.Submit(bg, weight, func() {
				assert.GreaterOrEqual(t, p.Ants().Running(), 1)
				held <- 10 - p.Gate().Available()
			}))
			require.Equal(t, weight, locktest.Receive(t, held))
			locktest.Eventually(t, "permits are back", func() bool { return p.Gate().Available() == 10 })
		}
	})
}

func TestJobsHoldAtMostThePermitsOfTheGate(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		locktest.AtEveryProcs(t, func(t *testing.T) {
			const size, submitters, each = 5, 8, 60
			p := newPool(t, 8, antspool.WithGate(semaphore.New(size)))
			var held highWater
			var ran atomic.Int64
			var wg sync.WaitGroup
			for i := range submitters {
				wg.Go(func() {
					for k := range each {
						weight := int64((i+k)%size + 1)
						job := func() {
							held.add(weight)
							runtime.Gosched()
							held.add(-weight)
							ran.Add(1)
						}
						if k%2 == 0 {
							p.Go(weight, job)
						} else {
							assert.NoError(t, p.Submit(bg, weight, job))
						}
					}
				})
			}
			wg.Wait()
			locktest.Eventually(t, "all run", func() bool { return ran.Load() == submitters*each })
			require.LessOrEqual(t, held.peak.Load(), int64(size))
		})
	})
}

func TestDoneContextNeverStartsAFunction(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 2)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		require.Equal(t, context.Canceled, p.Submit(ctx, 1, func() { t.Error("ran") }))
		require.Equal(t, context.Canceled, p.Submit(ctx, 0, func() { t.Error("ran") }))
		ctx, cancel = context.WithTimeout(bg, 0)
		defer cancel()
		require.Equal(t, context.DeadlineExceeded, p.Submit(ctx, 1, func() { t.Error("ran") }))
	})
}

func TestContextEndsTheWaitForPermits(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 2)
		release := hold(t, p.Gate(), 2)
		ctx, cancel := context.WithCancel(bg)
		end := make(chan error)
		go func() { end <- p.Submit(ctx, 2, func() { t.Error("ran") }) }()
		locktest.Eventually(t, "waiting", func() bool { return p.Gate().Waiting() == 1 })
		behind := p.Go(1, func() {})
		cancel()
		require.Equal(t, context.Canceled, locktest.Receive(t, end))
		release()
		locktest.Receive(t, behind.Done())
		require.NoError(t, behind.Err())
	})
}

// This is what ants itself cannot do.
func TestContextEndsTheWaitForAGoroutine(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 2)
		leave := occupy(t, p, 2)
		ctx, cancel := context.WithTimeout(bg, 10*time.Millisecond)
		defer cancel()
		require.Equal(t, context.DeadlineExceeded, p.Submit(ctx, 2, func() { t.Error("ran") }))
		require.EqualValues(t, 2, p.Gate().Available(), "permits are back when Submit returns")
		require.Zero(t, p.Ready())
		leave()
	})
}

// doneWhen is a context that is done when the function says so, and does not notify its users.
type doneWhen struct {
	context.Context
	done *atomic.Bool
}

func (c doneWhen) Err() error {
	if c.done.Load() {
		return context.Canceled
	}
	return nil
}

func TestDoneContextWinsAgainstALateGrant(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 2)
		release := hold(t, p.Gate(), 2)
		ctx := doneWhen{bg, new(atomic.Bool)}
		end := make(chan error)
		go func() { end <- p.Submit(ctx, 2, func() { t.Error("ran") }) }()
		locktest.Eventually(t, "waiting", func() bool { return p.Gate().Waiting() == 1 })
		behind := p.Go(2, func() {})
		ctx.done.Store(true)
		release()
		require.Equal(t, context.Canceled, locktest.Receive(t, end))
		locktest.Receive(t, behind.Done())
		require.NoError(t, behind.Err(), "the goroutine goes on with the next")
	})
}

func TestOversizedWeightFailsAtOnce(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 2)
		for _, weight := range []int64{3, math.MaxInt64} {
			require.ErrorIs(t, p.Submit(bg, weight, func() { t.Error("ran") }), semaphore.ErrTooLarge)
			j := p.Go(weight, func() { t.Error("ran") })
			require.ErrorIs(t, j.Err(), semaphore.ErrTooLarge)
			locktest.Receive(t, j.Done())
		}
		if !p.MayBlock() {
			require.ErrorIs(t, p.TrySubmit(3, func() { t.Error("ran") }), semaphore.ErrTooLarge)
		}
	})
}

func TestErrorsOfTheGateAreToldAsTheyAre(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 2, antspool.WithGate(semaphore.New(1, semaphore.WithMaxWaiting(1))))
		release := hold(t, p.Gate(), 1)
		first := p.Go(1, func() { t.Error("ran") })
		require.Equal(t, waiter.ErrPending, first.Err())
		require.Equal(t, semaphore.ErrQueueFull, p.Go(1, func() { t.Error("ran") }).Err())
		require.Equal(t, semaphore.ErrQueueFull, p.Submit(bg, 1, func() { t.Error("ran") }))
		p.Gate().Close()
		locktest.Receive(t, first.Done())
		require.Equal(t, semaphore.ErrClosed, first.Err())
		require.Equal(t, semaphore.ErrClosed, p.Submit(bg, 1, func() { t.Error("ran") }))
		require.Equal(t, semaphore.ErrClosed, p.Go(0, func() { t.Error("ran") }).Err())
		if !p.MayBlock() {
			require.Equal(t, semaphore.ErrClosed, p.TrySubmit(1, func() { t.Error("ran") }))
		}
		release()
	})
}

func TestTrySubmitNeverWaits(t *testing.T) {
	p := newPool(t, 2)
	ran := make(chan struct{})
	require.NoError(t, p.TrySubmit(2, func() { <-ran }))
	require.Equal(t, antspool.ErrBusy, p.TrySubmit(1, func() { t.Error("ran") }))
	ran <- struct{}{}
	locktest.Eventually(t, "ended", func() bool { return p.Gate().Available() == 2 })

	leave := occupy(t, p, 2)
	require.Equal(t, ants.ErrPoolOverload, p.TrySubmit(1, func() { t.Error("ran") }))
	require.EqualValues(t, 2, p.Gate().Available())
	leave()

	require.Equal(t, antspool.ErrMayBlock, newBlockingPool(t, 1).TrySubmit(1, func() { t.Error("ran") }))
}

func TestTrySubmitNeverOvertakes(t *testing.T) {
	p := newPool(t, 1, antspool.WithGate(semaphore.New(10)))
	leave := occupy(t, p, 1)
	first := p.Go(1, func() {})
	require.Equal(t, ants.ErrPoolOverload, p.TrySubmit(1, func() { t.Error("ran") }))
	locktest.Eventually(t, "the looks are far apart", func() bool { return p.Retries() > 15 })
	leave()
	locktest.Eventually(t, "a goroutine", func() bool {
		select {
		case <-first.Done():
			return true
		default:
			return p.TrySubmit(1, func() { assert.NotEqual(t, waiter.ErrPending, first.Err()) }) == nil
		}
	})
	locktest.Receive(t, first.Done())

	release := hold(t, p.Gate(), 10)
	second := p.Go(5, func() {})
	p.Gate().Resize(12)
	require.Equal(t, antspool.ErrBusy, p.TrySubmit(1, func() { t.Error("ran") }))
	release()
	locktest.Receive(t, second.Done())
}

func TestJobsBeginInTheOrderOfSubmission(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		const jobs = 200
		p := newPool(t, 4, antspool.WithGate(semaphore.New(1)))
		release := hold(t, p.Gate(), 1)
		var order []int // the gate is a lock
		for i := range jobs {
			add := func() { order = append(order, i) }
			if i%2 == 0 {
				p.Go(1, add)
				continue
			}
			go func() { assert.NoError(t, p.Submit(bg, 1, add)) }()
			locktest.Eventually(t, "waiting", func() bool { return p.Gate().Waiting() == i+1 })
		}
		release()
		locktest.Eventually(t, "all run", func() bool { return p.Gate().Waiting() == 0 && p.Gate().TryAcquire(1) })
		require.Len(t, order, jobs)
		require.IsIncreasing(t, order)
		p.Gate().Release(1)
	})
}

func TestJobsThatLackAGoroutineBeginInOrder(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		const jobs = 100
		p := newPool(t, 1, antspool.WithGate(semaphore.New(1000)))
		leave := occupy(t, p, 1)
		order := make(chan int, jobs)
		for i := range jobs {
			add := func() { order <- i }
			if i%2 == 0 {
				p.Go(1, add)
				continue
			}
			go func() { assert.NoError(t, p.Submit(bg, 1, add)) }()
			locktest.Eventually(t, "ready", func() bool { return p.Ready() == i+1 })
		}
		leave()
		for i := range jobs {
			require.Equal(t, i, locktest.Receive(t, order))
		}
	})
}

var errBoom = errors.New("boom")

func boom() { panic(errBoom) }

func TestPanicReachesAntsAsWithoutUs(t *testing.T) {
	type caught struct {
		value     any
		stack     string
		available int64
	}
	for _, nonblocking := range []bool{true, false} {
		t.Run(fmt.Sprint("nonblocking=", nonblocking), func(t *testing.T) {
			got := make(chan caught, 1)
			gate := semaphore.New(2)
			p := check(
				t,
				antspool.New(newAnts(t, 2, ants.WithNonblocking(nonblocking), ants.WithPanicHandler(func(v any) {
					got <- caught{v, string(debug.Stack()), gate.Available()}
				})), antspool.WithGate(gate)),
			)
			for name, submit := range map[string]func(){
				"Submit": func() { require.NoError(t, p.Submit(bg, 2, boom)) },
				"Go":     func() { p.Go(2, boom) },
				"queued": func() {
					defer hold(t, gate, 1)()
					p.Go(2, boom)
				},
				"after another on one goroutine": func() {
					defer hold(t, gate, 1)()
					p.Go(2, func() {})
					p.Go(2, boom)
				},
			} {
				submit()
				c := locktest.Receive(t, got)
				require.Same(t, errBoom, c.value, name)
				require.Contains(t, c.stack, "antspool_test.boom(", "%s: the handler sees where", name)
				require.NotContains(t, c.stack, "recovered", name)
				require.EqualValues(t, 2, c.available, "%s: the permits are back before", name)
			}
		})
	}
}

func TestPanicsKeepThePoolGoing(t *testing.T) {
	for _, nonblocking := range []bool{true, false} {
		var panics atomic.Int64
		p := check(t, antspool.New(newAnts(t, 1, ants.WithNonblocking(nonblocking),
			ants.WithPanicHandler(func(any) { panics.Add(1) }))))
		var jobs []*antspool.Job
		const each = 50
		for range each {
			jobs = append(jobs, p.Go(1, boom), p.Go(1, runtime.Goexit), p.Go(1, func() {}))
		}
		for i, j := range jobs {
			locktest.Receive(t, j.Done())
			if i%3 == 2 {
				require.NoError(t, j.Err())
			} else {
				require.Equal(t, antspool.ErrAborted, j.Err())
			}
		}
		locktest.Eventually(t, "handlers", func() bool { return panics.Load() == each })
	}
}

func TestGoexitGivesPermitsBack(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 2)
		for range 10 {
			require.NoError(t, p.Submit(bg, 2, runtime.Goexit))
		}
		requireIdle(t, p)
	})
}

// Permits that others release although they are ours make our release panic. That is theirs to
// repair; the pool goes on.
func TestOverReleaseDoesNotStopThePool(t *testing.T) {
	const tooMuch = "semaphore: released 1, but 0 are held (size 1)"
	for _, nonblocking := range []bool{true, false} {
		panics := make(chan any, 2)
		p := check(t, antspool.New(newAnts(t, 1, ants.WithNonblocking(nonblocking),
			ants.WithPanicHandler(func(v any) { panics <- v })), antspool.WithGate(semaphore.New(1))))
		j := p.Go(1, func() { p.Gate().Release(1) })
		require.Equal(t, tooMuch, locktest.Receive(t, panics))
		locktest.Receive(t, j.Done())
		require.NoError(t, p.Submit(bg, 1, func() { p.Gate().Release(1) }))
		require.Equal(t, tooMuch, locktest.Receive(t, panics))
		j = p.Go(1, func() {})
		locktest.Receive(t, j.Done())
		require.NoError(t, j.Err())
	}
}
