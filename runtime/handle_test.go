package rt_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
)

// pending returns a task that returns 7 once the semaphore is free, and what frees it.
func pending(t testing.TB, ex *rt.Executor) (h *rt.JoinHandle[int], end func()) {
	t.Helper()
	s := held(t, 1)
	h = rt.Go(ex, func(cx *rt.Context) (int, error) { return 7, rt.Await(cx, request(s, 1)) })
	locktest.AwaitWaiting(t, s, 1)
	return h, func() { s.Release(1) }
}

// waits are the ways to wait for a handle that any number may use at once.
var waits = map[string]func(ex *rt.Executor, h *rt.JoinHandle[int]) (int, error){
	"Wait": func(_ *rt.Executor, h *rt.JoinHandle[int]) (int, error) { return h.Wait(bg) },
	"Wait with a context": func(_ *rt.Executor, h *rt.JoinHandle[int]) (int, error) {
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		return h.Wait(ctx)
	},
	"Await": func(ex *rt.Executor, h *rt.JoinHandle[int]) (int, error) {
		return rt.Go(ex, func(cx *rt.Context) (int, error) { return h.Await(cx) }).Wait(bg)
	},
	"Done": func(_ *rt.Executor, h *rt.JoinHandle[int]) (int, error) { <-h.Done(); return h.Result() },
}

// No wait takes the end from another: all get the value, whether they began before the
// end or come later.
func TestAnyNumberMayWaitForAHandle(t *testing.T) {
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			locktest.AtEveryProcs(t, func(t *testing.T) {
				ex := start(t)
				for range locktest.Scaled(50) {
					h, end := pending(t, ex)
					var group sync.WaitGroup
					var got atomic.Int64
					for range 5 {
						group.Go(func() {
							v, err := wait(ex, h)
							assert.NoError(t, err)
							assert.Equal(t, 7, v)
							got.Add(1)
						})
					}
					end()
					all := make(chan struct{})
					go func() { group.Wait(); close(all) }()
					locktest.Receive(t, all)
					require.EqualValues(t, 5, got.Load())
					v, err := wait(ex, h)
					require.NoError(t, err)
					require.Equal(t, 7, v)
				}
			})
		})
	}
}

// A waiter that gives up takes nothing from the others.
func TestWaitThatIsGivenUpLeavesTheOthers(t *testing.T) {
	ex := solo(t)
	h, end := pending(t, ex)
	results := make(chan error, 3)
	waiting := func(ctx context.Context) { _, err := h.Wait(ctx); results <- err }
	ctx, cancel := context.WithCancel(bg)
	go waiting(ctx)
	go waiting(bg)
	task := rt.Go(ex, func(cx *rt.Context) (int, error) { return h.Await(cx) })
	done := h.Done()
	awaitQuiet(t, ex, 2)
	cancel()
	require.ErrorIs(t, locktest.Receive(t, results), context.Canceled)
	task.Abort()
	_, err := wait(t, task)
	require.ErrorIs(t, err, rt.ErrCancelled)
	h.Release() // of the one that polls the handle itself: none
	locktest.RequireBlocked(t, results)
	end()
	require.NoError(t, locktest.Receive(t, results))
	locktest.Receive(t, done)
	locktest.Receive(t, done)
}

// The end of a wait and the end of the task may come together.
func TestWaitMayEndWithTheTask(t *testing.T) {
	ex := start(t)
	for range locktest.Scaled(500) {
		h, end := pending(t, ex)
		ctx, cancel := context.WithCancel(bg)
		got := make(chan error, 1)
		go func() { _, err := h.Wait(ctx); got <- err }()
		go cancel()
		end()
		if err := locktest.Receive(t, got); err != nil {
			require.Equal(t, context.Canceled, err)
		}
	}
}

// A waiter by Wait, Await or Done does not disturb the one that has the handle in a select, and
// vice versa.
func TestWaitsForAHandleLeaveItsPollerAlone(t *testing.T) {
	ex := solo(t)
	h, end := pending(t, ex)
	selecting := rt.Go(ex, func(cx *rt.Context) (int, error) {
		var timer rt.Timer
		timer.Init(time.Hour)
		return rt.Select(cx, &timer, h)
	})
	awaitQuiet(t, ex, 2)
	results := make(chan error, 2)
	go func() { _, err := h.Wait(bg); results <- err }()
	awaiting := rt.Go(ex, func(cx *rt.Context) (int, error) { return h.Await(cx) })
	done := h.Done()
	awaitQuiet(t, ex, 3)
	end()
	require.NoError(t, locktest.Receive(t, results))
	locktest.Receive(t, done)
	i, err := wait(t, selecting)
	require.NoError(t, err)
	require.Equal(t, 1, i)
	v, err := wait(t, awaiting)
	require.NoError(t, err)
	require.Equal(t, 7, v)
}

// Each call of a Completion's Done can be received from.
func TestDoneOfACompletionStaysReadable(t *testing.T) {
	ex := solo(t)
	s := held(t, 1)
	f := request(s, 1)
	p := newPoll(func(cx *rt.Context) bool { return cx.Poll(f) })
	require.NoError(t, ex.Spawn(p))
	c := completionOf(&p.Task)
	locktest.RequireBlocked(t, c.Done())
	s.Release(1)
	for range 3 {
		locktest.Receive(t, c.Done())
		require.NoError(t, c.Err())
	}
	c = completionOf(&p.Task) // of a task that has ended
	for range 3 {
		locktest.Receive(t, c.Done())
	}
	require.NoError(t, f.Err())
}

// The channel is closed: a receive is an answer, however many there were before.
func TestDoneOfAHandleStaysReadable(t *testing.T) {
	ex := solo(t)
	h, end := pending(t, ex)
	before := h.Done()
	locktest.RequireBlocked(t, before)
	end()
	for range 3 {
		locktest.Receive(t, before)
		locktest.Receive(t, h.Done())
	}
	late := rt.Go(ex, func(*rt.Context) (int, error) { return 0, nil })
	_, err := late.Wait(bg)
	require.NoError(t, err)
	for range 3 {
		locktest.Receive(t, late.Done())
	}
	ended := rt.New()
	require.NoError(t, ended.Shutdown(bg))
	refused := rt.Go(ended, func(*rt.Context) (int, error) { return 0, nil })
	for range 3 {
		locktest.Receive(t, refused.Done())
		_, err := refused.Wait(bg)
		require.ErrorIs(t, err, rt.ErrShutdown)
	}
}
