//go:build !interleave

package twa_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/twa"
)

// (Under the tag interleave the clock stands still, and who polls would see no end of time.)

// The same promises without an array, but for those about sleeping.
func TestTicketContract(t *testing.T) {
	semtest.Run(
		t,
		semtest.Kind{New: func(n int64) semtest.Semaphore { return twa.NewTicket(n) }},
		semtest.Known{Test: "WaitingIsDurablyBlocked", Why: "documented: it does not sleep"},
		semtest.Known{Test: "ContextWithoutAnErrorNeverAcquires", Why: "it asks for the error, not for the channel"},
		semtest.Known{
			Test: "StressConservesPermits",
			Why:  "a minute, with more threads than processors that all ask: TestTicketsUnderStress",
		},
	)
}

func TestTicketsUnderStress(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		s := twa.NewTicket(2)
		inside := make(chan struct{}, 2)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range locktest.Scaled(800) {
					var err error
					switch n := int64(1 + (g+i)%2); (g + i) % 4 {
					case 0, 1:
						if err = s.Acquire(bg, n); err == nil {
							for range n {
								inside <- struct{}{} // does not block
							}
							for range n {
								<-inside
							}
							s.Release(n)
						}
					case 2:
						if err = s.AcquireTimeout(time.Duration(i%50)*time.Microsecond, n); err == nil {
							s.Release(n)
						}
					default:
						ctx, cancel := context.WithTimeout(bg, time.Duration(i%50)*time.Microsecond)
						if err = s.Acquire(ctx, n); err == nil {
							s.Release(n)
						}
						cancel()
					}
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		requireIdle(t, s)
	})
}
