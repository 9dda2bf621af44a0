package rt_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
)

var errBoo = errors.New("boo")

// endings are how a function may end without a return.
var endings = map[string]func(){
	"return":          func() {},
	"panic":           func() { panic("boo") },
	"panic, an error": panicsWithAnError,
	"panic, nil":      func() { panic(nil) },
	"Goexit":          runtime.Goexit,
	"FailNow":         func() { new(testing.T).FailNow() },
}

func panicsWithAnError() { panic(errBoo) }

// requireEnding checks err against how a function has ended.
func requireEnding(t *testing.T, name string, err error) {
	t.Helper()
	var panicked *rt.PanicError
	switch name {
	case "return":
		require.NoError(t, err)
	case "Goexit", "FailNow":
		require.ErrorIs(t, err, rt.ErrGoexit)
	case "panic":
		require.ErrorAs(t, err, &panicked)
		require.Equal(t, "boo", panicked.Value)
		require.NoError(t, errors.Unwrap(err))
		require.ErrorContains(t, err, "boo")
	case "panic, nil":
		require.ErrorAs(t, err, &panicked)
		var nilError *runtime.PanicNilError
		require.ErrorAs(t, err, &nilError)
	case "panic, an error":
		require.ErrorIs(t, err, errBoo)
		require.ErrorAs(t, err, &panicked)
		require.Contains(t, string(panicked.Stack), "panicsWithAnError")
		require.ErrorContains(t, err, "panicsWithAnError", "the message has the stack")
	}
}

// However a task ends, it is an ended task, its workers go on, and what it held by defer is back.
func TestEndingsOfTasks(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		for name, end := range endings {
			t.Run(name, func(t *testing.T) {
				ex := rt.New(quiet)
				s := semaphore.New(1)
				const n = 20
				for range n {
					h := spawned(ex, func(cx *rt.Context) error {
						if err := rt.Await(cx, request(s, 1)); err != nil {
							return err
						}
						defer s.Release(1)
						if err := rt.Yield(cx); err != nil {
							return err
						}
						end()
						return nil
					})
					_, err := wait(t, h)
					requireEnding(t, name, err)

					f := request(s, 1)
					p := newPoll(func(cx *rt.Context) bool {
						if !cx.Poll(f) {
							return false
						}
						assert.NoError(t, f.Err())
						defer f.Release()
						end()
						return true
					})
					for range 2 {
						require.NoError(t, ex.Spawn(p))
						requireEnding(t, name, ended(t, &p.Task))
						s.Bind(f, 1)
					}
				}
				requireIdle(t, s)
				shutdown(t, ex)
				stats := ex.Stats()
				require.EqualValues(t, 3*n, stats.Ended)
				if name == "Goexit" || name == "FailNow" {
					require.EqualValues(t, 3*n, stats.Replaced)
				} else {
					require.Zero(t, stats.Replaced)
				}
			})
		}
	})
}

// Tasks in the queues of a worker whose goroutine a task takes with it are still polled.
func TestQueueOutlivesTheGoroutineOfItsWorker(t *testing.T) {
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			ex := rt.New(rt.WithWorkers(1), quiet)
			var ran atomic.Int64
			parent := newPoll(func(cx *rt.Context) bool {
				for range 500 {
					assert.NoError(t, cx.Spawn(once(func() { ran.Add(1) })))
				}
				end()
				return true
			})
			require.NoError(t, ex.Spawn(parent))
			requireEnding(t, name, ended(t, &parent.Task))
			shutdown(t, ex)
			require.EqualValues(t, 500, ran.Load())
		})
	}
}

// A panic of one task is no business of those that wait with it.
func TestPanicReachesEveryWaitForTheTask(t *testing.T) {
	ex := solo(t, quiet)
	h := rt.Go(ex, func(*rt.Context) (int, error) { panic(errBoo) })
	err := run(t, ex, func(cx *rt.Context) error {
		_, err := h.Await(cx)
		return err
	})
	require.ErrorIs(t, err, errBoo)
	_, err = h.Wait(bg)
	require.ErrorIs(t, err, errBoo)
}
