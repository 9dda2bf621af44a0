package antspool_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/panictest"
	"github.com/farad-go/farad/runtime/antspool"
	"github.com/farad-go/farad/sync/semaphore"
)

// Err of a context is not nil once Done is closed. A context that violates this must not make
// Submit report that the function runs.
func TestContextWithoutAnErrorEndsTheWait(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		for name, wait := range map[string]func(p *antspool.Pool) (end func()){
			"for permits":     func(p *antspool.Pool) func() { return hold(t, p.Gate(), 1) },
			"for a goroutine": func(p *antspool.Pool) func() { return occupy(t, p, 1) },
		} {
			t.Run(name, func(t *testing.T) {
				p := newPool(t, 1)
				end := wait(p)
				ctx := locktest.NewForeignContext()
				result := make(chan error, 1)
				go func() { result <- p.Submit(ctx, 1, func() { t.Error("ran") }) }()
				locktest.Eventually(t, "waiting", func() bool { return p.Gate().Waiting() == 1 || p.Ready() == 1 })
				ctx.End(nil)
				require.Equal(t, context.Canceled, locktest.Receive(t, result))
				end()
			})
		}
	})
}

// What Submit needs becomes free after its context has ended, in each of the calls to the context.
func TestEarlierCancelWins(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		for name, block := range map[string]func(t *testing.T, p *antspool.Pool) (free, after func()){
			"before the permits": func(t *testing.T, p *antspool.Pool) (free, after func()) {
				return hold(t, p.Gate(), 3), func() {}
			},
			"before the goroutine": func(t *testing.T, p *antspool.Pool) (free, after func()) {
				return func() { p.Ants().Tune(2) }, occupy(t, p, 1)
			},
		} {
			t.Run(name, func(t *testing.T) {
				locktest.RequireEarlierCancelWins(t, func() locktest.Held {
					p := newPool(t, 1, antspool.WithGate(semaphore.New(3)))
					free, after := block(t, p)
					return locktest.Held{
						Wait:    func(ctx context.Context) error { return p.Submit(ctx, 3, func() { t.Error("ran") }) },
						Waiting: func() bool { return p.Gate().Waiting() == 1 || p.Ready() == 1 },
						Free:    free,
						After:   func(t *testing.T) { t.Helper(); after(); requireIdle(t, p) },
					}
				})
			})
		}
	})
}

// A context panics, or ends its goroutine, in any of the calls to it: the permits come back. In a
// goroutine of ants the panic is that of ants to handle.
func TestAPanickingContextLosesNothing(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		for name, block := range map[string]func(t *testing.T, p *antspool.Pool) (free, after func()){
			"before the permits": func(t *testing.T, p *antspool.Pool) (free, after func()) {
				return hold(t, p.Gate(), 3), func() {}
			},
			"before the goroutine": func(t *testing.T, p *antspool.Pool) (free, after func()) {
				return func() { p.Ants().Tune(2) }, occupy(t, p, 1)
			},
		} {
			t.Run(name, func(t *testing.T) {
				panictest.RequireNothingLost(t, func() locktest.Held {
					p := newPool(t, 1, antspool.WithGate(semaphore.New(3)))
					free, after := block(t, p)
					return locktest.Held{
						Wait:    func(ctx context.Context) error { return p.Submit(ctx, 3, func() {}) },
						Waiting: func() bool { return p.Gate().Waiting() == 1 || p.Ready() == 1 },
						Free:    free,
						After:   func(t *testing.T) { t.Helper(); after(); requireIdle(t, p) },
					}
				})
			})
		}
	})
}

// It is accepted when it has its permits and a goroutine: what comes later is too late.
func TestLaterCancelDoesNotStopAnAcceptedFunction(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 1)
		for nth := int64(1); ; nth++ {
			ctx, cancel := context.WithCancel(bg)
			c := locktest.NewTrapContext(ctx, "Err", nth, cancel)
			ran := make(chan struct{})
			err := p.Submit(c, 1, func() { close(ran) })
			if err == nil {
				locktest.Receive(t, ran)
			}
			requireIdle(t, p)
			cancel()
			if c.Calls() < nth {
				require.NoError(t, err)
				return
			}
		}
	})
}

// The goroutine of ants (G) and the one in Submit (S) both ask the context, which is cancelled (C).
// The first verdict decides for both, in every order, and the permits go back once.
func TestBothSidesOfASubmitAgreeOnItsContext(t *testing.T) {
	for order, accepted := range map[string]bool{
		"GSC": true, "GCS": true, "SGC": true, "SCG": true, "CGS": false, "CSG": false,
	} {
		p := newPool(t, 1, antspool.WithGate(semaphore.New(3)))
		ctx, cancel := context.WithCancel(bg)
		var look func()
		events := map[rune]func(){'G': func() { look() }, 'C': cancel}
		before, after, _ := strings.Cut(order, "S")
		p.SetSubmit(func(fn func()) error {
			look = fn
			for _, e := range before {
				events[e]()
			}
			return nil
		})
		ran := 0
		err := p.Submit(ctx, 3, func() { ran++ })
		for _, e := range after {
			events[e]()
		}
		if accepted {
			require.NoError(t, err, order)
			require.Equal(t, 1, ran, order)
		} else {
			require.Equal(t, context.Canceled, err, order)
			require.Zero(t, ran, order)
		}
		requireIdle(t, p)
		cancel()
	}
}

// A job comes while the one goroutine is taken for nothing.
func TestJobBehindACancelledFunctionRuns(t *testing.T) {
	p := newPool(t, 1, antspool.WithGate(semaphore.New(2)))
	ctx, cancel := context.WithCancel(bg)
	var behind *antspool.Job
	c := locktest.NewTrapContext(ctx, "Err", 2, func() {
		cancel()
		behind = p.Go(1, func() {}) // the one goroutine is taken
	})
	require.Contains(t, []error{nil, context.Canceled}, p.Submit(c, 1, func() {}))
	locktest.Receive(t, behind.Done())
	require.NoError(t, behind.Err())
}

// Goexit takes the goroutine of ants along, and the next job gets another.
func TestGoexitLeavesTheOnlyGoroutineToOthers(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 1)
		for range 100 {
			require.NoError(t, p.Submit(bg, 1, runtime.Goexit))
			j := p.Go(1, runtime.Goexit)
			require.NoError(t, p.Submit(bg, 1, func() {}))
			locktest.Receive(t, j.Done())
			require.Equal(t, antspool.ErrAborted, j.Err())
		}
	})
}
