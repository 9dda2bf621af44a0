//go:build !interleave

package antspool_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/panjf2000/ants/v2"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/runtime/antspool"
	"github.com/farad-go/farad/sync/semaphore"
)

// forgetful makes a pool on a blocking ants pool of one goroutine. The calls that forget holds for,
// counted from 1, ask ants for a goroutine and are forgotten. Ants does that if it is released, or
// a function panics, just before the caller waits. At the end of the test they ask once more, as if
// a function had ended.
func forgetful(t *testing.T, forget func(call int64) bool) (p *antspool.Pool, calls *atomic.Int64) {
	t.Helper()
	p = newBlockingPool(t, 1, antspool.WithGate(semaphore.New(5)))
	calls = new(atomic.Int64)
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	p.SetSubmit(func(fn func()) error {
		if forget(calls.Add(1)) {
			<-end
		}
		return p.Ants().Submit(fn)
	})
	return p, calls
}

func TestForgottenJobsRun(t *testing.T) {
	for _, tt := range []struct {
		forgotten   int64
		atLeast, by time.Duration
	}{
		{0, 0, 0},
		{1, antspool.RetryFirst, antspool.RetryFirst},
		{2, antspool.MaxDelay, 3 * antspool.MaxDelay}, // The second is given time.
		{5, 4 * antspool.MaxDelay, 6 * antspool.MaxDelay},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, calls := forgetful(t, func(call int64) bool { return call <= tt.forgotten })
			start := time.Now()
			j := p.Go(1, func() {})
			<-j.Done()
			require.NoError(t, j.Err())
			require.Equal(t, tt.forgotten+1, calls.Load())
			require.GreaterOrEqual(t, time.Since(start), tt.atLeast)
			require.LessOrEqual(t, time.Since(start), tt.by)

			retries := p.Retries()
			time.Sleep(time.Second)
			require.Equal(t, retries, p.Retries(), "nothing is ready")
		})
	}
}

// A waiting Submit is not forgotten while others occupy ants: no other goroutine asks meanwhile.
func TestWaitingSubmitIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, calls := forgetful(t, func(int64) bool { return false })
		require.NoError(t, p.Ants().Submit(func() { time.Sleep(3 * time.Second) }))
		j := p.Go(1, func() {})
		<-j.Done()
		require.NoError(t, j.Err())
		require.EqualValues(t, 1, calls.Load())
	})
}

func TestForgottenJobsEndWithADirectRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := forgetful(t, func(call int64) bool { return call == 2 })
		running := p.Go(1, func() { time.Sleep(3 * time.Second) })
		synctest.Wait()
		ready, waiting := p.Go(1, func() { t.Error("ran") }), p.Go(5, func() { t.Error("ran") })
		time.Sleep(time.Second)
		require.Equal(t, 1, p.Ready())
		p.Ants().Release()
		start := time.Now()
		<-ready.Done()
		<-waiting.Done()
		require.LessOrEqual(t, time.Since(start), antspool.MaxDelay)
		require.Equal(t, ants.ErrPoolClosed, ready.Err())
		require.Equal(t, ants.ErrPoolClosed, waiting.Err())
		<-running.Done()
		require.NoError(t, running.Err())
	})
}

// The second that asks counts as sure to look. It may be the forgotten one, once the first has come
// back.
func TestSecondIsForgotten(t *testing.T) {
	for _, release := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			slow := make(chan struct{})
			p, calls := forgetful(t, func(call int64) bool {
				if call == 1 {
					<-slow
				}
				return call == 2
			})
			end := make(chan struct{})
			running := p.Go(1, func() { <-end; runtime.Goexit() })
			time.Sleep(antspool.RetryFirst)
			synctest.Wait()
			require.EqualValues(t, 2, calls.Load())
			close(slow)
			synctest.Wait()
			require.Equal(t, 1, p.Ants().Running())

			j := p.Go(1, func() {})
			synctest.Wait()
			require.EqualValues(t, 2, calls.Load())
			if release {
				p.Ants().Release()
				<-j.Done()
				require.Equal(t, ants.ErrPoolClosed, j.Err())
				close(end)
			} else {
				close(end)
				<-j.Done()
				require.NoError(t, j.Err())
			}
			<-running.Done()
		})
	}
}
