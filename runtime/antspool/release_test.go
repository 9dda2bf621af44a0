package antspool_test

import (
	"context"
	"errors"
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

// releases are the ways to end a pool under load. Those that wait do so in a new goroutine.
var releases = map[string]func(p *antspool.Pool) error{
	"Close":          func(p *antspool.Pool) error { p.Close(); return nil },
	"Release":        func(p *antspool.Pool) error { p.Release(); return nil },
	"ReleaseContext": func(p *antspool.Pool) error { return p.ReleaseContext(bg) },
	"ReleaseTimeout": func(p *antspool.Pool) error { return p.ReleaseTimeout(locktest.Patience) },
}

func TestReleaseEndsWhatHasNotBegunAndNothingElse(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		for name, release := range releases {
			t.Run(name, func(t *testing.T) {
				gate := semaphore.New(3)
				p := newPool(t, 2, antspool.WithGate(gate))
				end := make(chan struct{})
				running := []*antspool.Job{p.Go(1, func() { <-end }), p.Go(1, func() { <-end })}
				locktest.Eventually(t, "two run", func() bool { return p.Ants().Running() == 2 && p.Ready() == 0 })
				never := func() { t.Error("ran") }
				ready := p.Go(1, never)
				locktest.Eventually(t, "ready", func() bool { return p.Ready() == 1 })
				waiting := []*antspool.Job{p.Go(2, never), p.Go(0, never), p.Go(1, never)}
				submits := make(chan error)
				for range 3 {
					go func() { submits <- p.Submit(bg, 3, never) }()
				}
				locktest.Eventually(t, "waiting", func() bool { return gate.Waiting() == 5 })

				released := make(chan error, 1)
				go func() { released <- release(p) }()
				for range 3 {
					require.Equal(t, ants.ErrPoolClosed, locktest.Receive(t, submits))
				}
				for _, j := range append(waiting, ready) {
					locktest.Receive(t, j.Done())
					require.Equal(t, ants.ErrPoolClosed, j.Err())
				}
				locktest.Eventually(t, "permits", func() bool { return gate.Available() == 1 && gate.Waiting() == 0 })

				require.Equal(t, ants.ErrPoolClosed, p.Submit(bg, 1, never))
				require.Equal(t, ants.ErrPoolClosed, p.Go(1, never).Err())
				if !p.MayBlock() {
					require.Equal(t, ants.ErrPoolClosed, p.TrySubmit(1, never))
				}
				for _, j := range running {
					require.Equal(t, waiter.ErrPending, j.Err())
				}
				close(end)
				for _, j := range running {
					locktest.Receive(t, j.Done())
					require.NoError(t, j.Err())
				}
				require.NoError(t, locktest.Receive(t, released))
				require.EqualValues(t, 3, gate.Available())
				require.NoError(t, gate.Acquire(bg, 3), "the gate stays open: it may be another's")
				gate.Release(3)
				require.Equal(t, name != "Close", p.Ants().IsClosed())
			})
		}
	})
}

func TestReleaseWaitsNoLongerThanItsContext(t *testing.T) {
	p := newPool(t, 1)
	begun, end := make(chan struct{}), make(chan struct{})
	j := p.Go(1, func() { close(begun); <-end })
	locktest.Receive(t, begun)
	ctx, cancel := context.WithTimeout(bg, time.Millisecond)
	defer cancel()
	require.Equal(t, context.DeadlineExceeded, p.ReleaseContext(ctx))
	require.Equal(t, ants.ErrPoolClosed, p.ReleaseContext(bg), "a second one does not wait")
	require.Equal(t, ants.ErrPoolClosed, p.ReleaseTimeout(time.Hour))
	p.Release()
	p.Close()
	close(end)
	locktest.Receive(t, j.Done())
	require.NoError(t, j.Err())

	p = newPool(t, 1)
	begun, end = make(chan struct{}), make(chan struct{})
	p.Go(1, func() { close(begun); <-end })
	locktest.Receive(t, begun)
	require.Equal(t, ants.ErrTimeout, p.ReleaseTimeout(time.Millisecond))
	close(end)
	require.NoError(t, newPool(t, 1).ReleaseContext(nil)) //nolint:staticcheck // ants allows it
}

// A foreign context whose error is still nil as its channel closes must not say that all goroutines
// have ended.
func TestReleaseReportsAContextWithoutAnError(t *testing.T) {
	p := newPool(t, 1)
	begun, end := make(chan struct{}), make(chan struct{})
	j := p.Go(1, func() { close(begun); <-end })
	locktest.Receive(t, begun)
	ctx := locktest.NewForeignContext()
	ctx.End(nil)
	require.Equal(t, context.Canceled, p.ReleaseContext(ctx))
	close(end)
	locktest.Receive(t, j.Done())
}

// A pool of ants that is released directly: a job that has a goroutine ends by itself, everything
// else with an error.
func TestJobsEndWhenAntsIsReleasedDirectly(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 2, antspool.WithGate(semaphore.New(3)))
		end := make(chan struct{})
		running := []*antspool.Job{p.Go(1, func() { <-end }), p.Go(1, func() { <-end })}
		locktest.Eventually(t, "two run", func() bool { return p.Ants().Running() == 2 && p.Ready() == 0 })
		var rest []*antspool.Job
		for range 10 {
			rest = append(rest, p.Go(1, func() { t.Error("ran") }))
		}
		submit := make(chan error)
		go func() { submit <- p.Submit(bg, 1, func() { t.Error("ran") }) }()
		locktest.Eventually(t, "waiting", func() bool { return p.Gate().Waiting() == 10 })
		p.Ants().Release()
		require.Equal(t, ants.ErrPoolClosed, locktest.Receive(t, submit))
		for _, j := range rest {
			locktest.Receive(t, j.Done())
			require.Equal(t, ants.ErrPoolClosed, j.Err())
		}
		close(end)
		for _, j := range running {
			locktest.Receive(t, j.Done())
			require.NoError(t, j.Err())
		}
		require.Equal(t, ants.ErrPoolClosed, p.Submit(bg, 1, func() { t.Error("ran") }))
		require.Equal(t, ants.ErrPoolClosed, p.Go(1, func() { t.Error("ran") }).Err())
	})
}

// The end of a job is the only news of the release, and its goroutine must not go on.
func TestNothingBeginsAfterADirectRelease(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 2)
		begun, end := make(chan struct{}), make(chan struct{})
		running := p.Go(2, func() { close(begun); <-end })
		locktest.Receive(t, begun)
		waiting := p.Go(1, func() { t.Error("ran") })
		p.Ants().Release()
		close(end)
		locktest.Receive(t, waiting.Done())
		require.Equal(t, ants.ErrPoolClosed, waiting.Err())
		locktest.Receive(t, running.Done())
		require.NoError(t, running.Err())
	})
}

// What Submit has promised runs, and has run when the pool has been released; what it has not
// promised never does.
func TestReleaseAgainstSubmit(t *testing.T) {
	rounds := 15
	if locktest.Stress() {
		rounds = 60
	}
	both(t, func(t *testing.T, newPool newPoolFunc) {
		for range rounds {
			p := newPool(t, 4)
			var promised, begun, ran atomic.Int64
			var over atomic.Bool
			var wg sync.WaitGroup
			job := func() {
				begun.Add(1)
				assert.False(t, over.Load(), "begins after the release")
				ran.Add(1)
			}
			submit := func(f func() error) {
				for {
					err := f()
					switch {
					case err == nil:
						promised.Add(1)
					case errors.Is(err, ants.ErrPoolClosed):
						return
					case !errors.Is(err, ants.ErrPoolOverload) && !errors.Is(err, antspool.ErrBusy):
						t.Errorf("refused with %v", err)
					}
				}
			}
			wg.Go(func() { submit(func() error { return p.Submit(bg, 1, job) }) })
			wg.Go(func() { submit(func() error { return p.Submit(bg, 2, job) }) })
			wg.Go(func() {
				submit(func() error {
					j := p.Go(3, job)
					<-j.Done()
					return j.Err()
				})
			})
			if !p.MayBlock() {
				wg.Go(func() { submit(func() error { return p.TrySubmit(1, job) }) })
			}
			locktest.Eventually(t, "under load", func() bool { return ran.Load() > 3 })
			require.NoError(t, p.ReleaseTimeout(locktest.Patience))
			over.Store(true)
			wg.Wait()
			require.Equal(t, promised.Load(), ran.Load())
			require.Equal(t, begun.Load(), ran.Load())
			require.EqualValues(t, 4, p.Gate().Available())
		}
	})
}
