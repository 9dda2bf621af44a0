//go:build !interleave

package antspool_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/runtime/antspool"
	"github.com/farad-go/farad/sync/semaphore"
)

// The clock of a bubble shows how long a job waits for a goroutine that others leave.
func TestFreeGoroutineIsFoundSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 1, antspool.WithGate(semaphore.New(5)))
		const busy = 3*time.Second + 7*time.Millisecond
		require.NoError(t, p.Ants().Submit(func() { time.Sleep(busy) }))
		start := time.Now()
		j := p.Go(1, func() {})
		<-j.Done()
		require.GreaterOrEqual(t, time.Since(start), busy)
		require.LessOrEqual(t, time.Since(start), busy+antspool.MaxDelay)

		synctest.Wait() // until the goroutine is back
		start = time.Now()
		require.NoError(t, p.Ants().Submit(func() { time.Sleep(time.Microsecond) }))
		require.NoError(t, p.Submit(bg, 1, func() {}))
		require.LessOrEqual(t, time.Since(start), 2*antspool.RetryFirst, "the first look comes soon")
	})
}

func TestRetriesStopWhenAJobThatEndsHasTakenTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 1, antspool.WithGate(semaphore.New(2)))
		end := make(chan struct{})
		p.Go(1, func() { <-end })
		last := p.Go(1, func() {})
		for p.Retries() <= 12 {
			time.Sleep(antspool.MaxDelay)
		}
		synctest.Wait()
		close(end)
		<-last.Done()
		n := p.Retries()
		time.Sleep(time.Second)
		require.Equal(t, n, p.Retries())
	})
}

func TestWorksInABubble(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, 3)
			start := time.Now()
			for range 30 {
				p.Go(1, func() { time.Sleep(time.Second) })
			}
			synctest.Wait()
			require.EqualValues(t, 27, p.Gate().Waiting())
			require.NoError(t, p.Submit(bg, 3, func() {}))
			require.Equal(t, 10*time.Second, time.Since(start).Truncate(time.Second))
		})
	})
}

// Ants has looked whether it is closed, and has the function in hand, but has not begun it: were it
// forgotten, it would begin after ReleaseContext has returned.
func TestCloseWaitsForFunctionsInHand(t *testing.T) {
	for name, submit := range map[string]func(p *antspool.Pool, fn func()) error{
		"Submit":    func(p *antspool.Pool, fn func()) error { return p.Submit(bg, 1, fn) },
		"TrySubmit": func(p *antspool.Pool, fn func()) error { return p.TrySubmit(1, fn) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, 2)
				proceed := make(chan struct{})
				p.SetSubmit(func(fn func()) error {
					<-proceed
					return p.Ants().Submit(fn)
				})
				var begun, closed bool
				result := make(chan error, 1)
				go func() { result <- submit(p, func() { begun = true }) }()
				synctest.Wait()
				go func() {
					p.Close()
					closed = true
				}()
				synctest.Wait()
				early := closed
				close(proceed)
				synctest.Wait()
				require.False(t, early, "a function was in hand")
				require.True(t, closed)
				require.NoError(t, <-result)
				require.NoError(t, p.ReleaseTimeout(time.Second))
				require.True(t, begun)
			})
		})
	}
}
