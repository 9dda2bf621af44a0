package rt_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

func TestSelectReturnsTheWinnerAndCancelsTheOthers(t *testing.T) {
	ex := solo(t)
	for winner := range 3 {
		ss := []*semaphore.Semaphore{held(t, 1), held(t, 1), held(t, 1)}
		h := rt.Go(ex, func(cx *rt.Context) (int, error) {
			return rt.Select(cx, request(ss[0], 1), request(ss[1], 1), request(ss[2], 1))
		})
		for _, s := range ss {
			locktest.AwaitWaiting(t, s, 1)
		}
		ss[winner].Release(1)
		i, err := wait(t, h)
		require.NoError(t, err)
		require.Equal(t, winner, i)
		require.Zero(t, ss[winner].Available(), "the winner's permit is the task's")
		for i, s := range ss {
			require.Zero(t, s.Waiting())
			if i != winner {
				require.Zero(t, s.Available())
			}
		}
	}
}

func TestSelectReturnsTheErrorOfTheWinner(t *testing.T) {
	ex := solo(t)
	s := held(t, 1)
	require.NoError(t, run(t, ex, func(cx *rt.Context) error {
		i, err := rt.Select(cx, request(s, 1), request(s, 2))
		assert.Equal(t, 1, i)
		assert.ErrorIs(t, err, semaphore.ErrTooLarge)
		return nil
	}))
	require.Zero(t, s.Waiting())
}

func TestSelectOfSeveralCompletePrefersTheFirst(t *testing.T) {
	ex := solo(t)
	a, b := held(t, 1), held(t, 1)
	h := rt.Go(ex, func(cx *rt.Context) (int, error) { return rt.Select(cx, request(a, 1), request(b, 1)) })
	locktest.AwaitWaiting(t, b, 1)
	release := occupy(t, ex)
	b.Release(1)
	a.Release(1)
	release()
	i, err := wait(t, h)
	require.NoError(t, err)
	require.Zero(t, i)
	require.Zero(t, a.Available())
	requireIdle(t, b)

	// Free from the beginning: those behind the winner are not even begun.
	a.Release(1)
	i, err = wait(
		t,
		rt.Go(ex, func(cx *rt.Context) (int, error) { return rt.Select(cx, request(a, 1), request(b, 1)) }),
	)
	require.NoError(t, err)
	require.Zero(t, i)
	a.Release(1)
	requireIdle(t, a)
	requireIdle(t, b)
}

func TestSelectOfACancelledTaskCancelsAll(t *testing.T) {
	ex := solo(t)
	a, b := held(t, 1), held(t, 1)
	h := rt.Go(ex, func(cx *rt.Context) (int, error) { return rt.Select(cx, request(a, 1), request(b, 1)) })
	locktest.AwaitWaiting(t, b, 1)
	release := occupy(t, ex)
	b.Release(1) // granted, but not taken
	h.Abort()
	release()
	i, err := wait(t, h)
	require.ErrorIs(t, err, rt.ErrCancelled)
	require.Equal(t, -1, i)
	require.Zero(t, a.Waiting())
	requireIdle(t, b)
}

func TestMisuseOfCombinatorsPanics(t *testing.T) {
	ex := solo(t, quiet)
	require.ErrorContains(
		t,
		run(t, ex, func(cx *rt.Context) error { _, err := rt.Select(cx); return err }),
		"Select of nothing",
	)
	require.Panics(t, func() { rt.FirstOf() })
	require.Panics(
		t,
		func() { rt.WithContext(nil, request(semaphore.New(1), 1)) }, //nolint:staticcheck // that is the point
	)
	require.Panics(
		t,
		func() { _ = rt.BlockOn(nil, request(semaphore.New(1), 1)) }, //nolint:staticcheck // that is the point
	)
	require.NoError(t, run(t, ex, func(cx *rt.Context) error { return rt.Join(cx) }), "all of nothing is complete")
}

// Grants, selects, cancels and time limits all at once: the permits are all there at the end.
func TestNoPermitIsLostToSelect(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		ss := []*semaphore.Semaphore{semaphore.New(1), semaphore.New(1), semaphore.New(2)}
		var hs []*rt.JoinHandle[int]
		for range 16 {
			hs = append(hs, rt.Go(ex, func(cx *rt.Context) (int, error) {
				fs := []*waiter.Future{{}, {}, {}}
				for range locktest.Scaled(1000) {
					k := rand.IntN(3)
					for i, f := range fs {
						ss[(i+k)%3].Bind(f, 1)
					}
					i, err := rt.Select(cx, fs[0], fs[1], fs[2])
					if err != nil {
						return 0, err
					}
					if rand.IntN(2) == 0 {
						err = rt.Yield(cx)
					}
					if e := fs[i].Err(); e != nil {
						return 0, e
					}
					for _, f := range fs {
						f.Release() // of the losers harmless: a second time
					}
					if err != nil {
						return 0, err
					}
				}
				return 0, nil
			}))
		}
		for _, h := range hs[:4] {
			h.Abort()
		}
		for i, h := range hs {
			_, err := wait(t, h)
			if i >= 4 {
				require.NoError(t, err)
			}
		}
		for _, s := range ss {
			requireIdle(t, s)
		}
	})
}

func TestFirstOfIsAFuture(t *testing.T) {
	a, b := held(t, 1), held(t, 1)
	f := rt.FirstOf(again(a, 1), again(b, 1))
	var w locktest.CountingWaker
	require.ErrorIs(t, f.Err(), waiter.ErrPending)
	require.False(t, f.Poll(&w))
	require.Equal(t, -1, f.Index())
	b.Release(1)
	require.EqualValues(t, 1, w.Load())
	require.True(t, f.Poll(&w))
	require.True(t, f.Poll(&w))
	require.Zero(t, a.Waiting(), "the loser is cancelled")
	require.Equal(t, 1, f.Index())
	f.Release() // before any goroutine has asked for the outcome
	requireIdle(t, b)
	require.Equal(t, -1, f.Index())

	require.True(t, f.Poll(&w), "they race again")
	require.NoError(t, f.Err())
	require.Zero(t, b.Available(), "the future keeps what it was granted")
	f.Release()
	a.Release(1)
	requireIdle(t, a)
	requireIdle(t, b)
}

func TestJoinWaitsForAll(t *testing.T) {
	ex := solo(t)
	a, b := held(t, 1), held(t, 2)
	last := request(b, 2)
	h := spawned(ex, func(cx *rt.Context) error {
		return rt.Join(cx, request(a, 1), request(b, 3), request(a, 2), last)
	})
	locktest.AwaitWaiting(t, a, 1)
	locktest.AwaitWaiting(t, b, 1)
	b.Release(2)
	require.NoError(t, run(t, ex, rt.Yield))
	require.ErrorIs(t, h.Err(), waiter.ErrPending, "an error does not end it early")
	a.Release(1)
	_, err := wait(t, h)
	require.ErrorIs(t, err, semaphore.ErrTooLarge)
	require.Zero(t, b.Available(), "what has been obtained stays so, in spite of the error")
	last.Release()
	a.Release(1)
	requireIdle(t, a)
	requireIdle(t, b)
}

func TestJoinReturnsTheFirstErrorOfTheList(t *testing.T) {
	ex := solo(t)
	first, second := errors.New("first"), errors.New("second")
	s := held(t, 1)
	late := spawned(ex, func(cx *rt.Context) error {
		if err := rt.Await(cx, request(s, 1)); err != nil {
			return err
		}
		s.Release(1)
		return first
	})
	early := spawned(ex, func(*rt.Context) error { return second })
	h := spawned(ex, func(cx *rt.Context) error { return rt.Join(cx, late, early) })
	locktest.AwaitWaiting(t, s, 1)
	s.Release(1)
	_, err := wait(t, h)
	require.Equal(t, first, err)
}

// A part that has been granted goes back when the whole is cancelled, whether by an abort or by a
// lost select.
func TestAllOfCancelledGivesBackItsParts(t *testing.T) {
	ex := solo(t)
	for name, poll := range map[string]func(*testing.T, rt.Future){
		"in a task": func(t *testing.T, f rt.Future) {
			h := spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, f) })
			awaitQuiet(t, ex, 1)
			h.Abort()
			_, err := wait(t, h)
			require.ErrorIs(t, err, rt.ErrCancelled)
		},
		"in a goroutine": func(t *testing.T, f rt.Future) {
			ctx, cancel := context.WithTimeout(bg, time.Millisecond)
			defer cancel()
			require.ErrorIs(t, rt.BlockOn(ctx, f), context.DeadlineExceeded)
		},
		"in a select": func(t *testing.T, f rt.Future) {
			var timer rt.Timer
			timer.Init(time.Millisecond)
			require.NoError(t, run(t, ex, func(cx *rt.Context) error {
				_, err := rt.Select(cx, f, &timer)
				return err
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b, c := semaphore.New(1), held(t, 1), semaphore.New(1)
			all := rt.AllOf(again(a, 1), again(b, 1), again(c, 1))
			poll(t, all)
			require.ErrorIs(t, all.Err(), waiter.ErrPending)
			requireIdle(t, a)
			requireIdle(t, c)
			require.Zero(t, b.Waiting())
			b.Release(1)

			require.NoError(t, run(t, ex, func(cx *rt.Context) error { return rt.Await(cx, all) }),
				"it may be used again")
			for _, s := range []*semaphore.Semaphore{a, b, c} {
				require.Zero(t, s.Available())
			}
			all.Release()
			for _, s := range []*semaphore.Semaphore{a, b, c} {
				requireIdle(t, s)
			}
		})
	}
}

func TestAllOfIsCompleteOnceForAll(t *testing.T) {
	a, b := held(t, 1), held(t, 1)
	all := rt.AllOf(request(a, 1), request(b, 1))
	var w locktest.CountingWaker
	require.False(t, all.Poll(&w))
	b.Release(1)
	require.False(t, all.Poll(&w))
	require.ErrorIs(t, all.Err(), waiter.ErrPending)
	a.Release(1)
	require.EqualValues(t, 2, w.Load())
	require.True(t, all.Poll(&w))
	require.True(t, all.Poll(&w))
	require.NoError(t, all.Err())
	require.Zero(t, a.Available()+b.Available())
	all.Release()
	requireIdle(t, a)
	requireIdle(t, b)
}

// Whatever is combined with whatever, and given up at any time, every permit is there at the end.
func TestNoPermitIsLostToCombinations(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		a, b := semaphore.New(1), semaphore.New(3)
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				for range locktest.Scaled(400) {
					ctx, cancel := context.WithCancel(bg)
					h := spawned(ex, func(cx *rt.Context) error {
						fa, fb := request(a, 1), request(b, 2)
						var f rt.Future
						switch rand.IntN(4) {
						case 0:
							f = rt.AllOf(fa, rt.Timeout(fb, time.Duration(rand.IntN(50))*time.Microsecond))
						case 1:
							f = rt.FirstOf(rt.WithContext(ctx, fa), rt.AllOf(fb))
						case 2:
							f = rt.WithContext(ctx, rt.AllOf(fa, fb))
						case 3:
							f = rt.Timeout(rt.FirstOf(fa, fb), time.Duration(rand.IntN(50))*time.Microsecond)
						}
						err := rt.Await(cx, f)
						if err == nil {
							err = rt.Yield(cx)
						}
						f.Release()
						return err
					})
					if rand.IntN(2) == 0 {
						h.Abort()
					}
					cancel()
					<-h.Done()
				}
			})
		}
		wg.Wait()
		requireIdle(t, a)
		requireIdle(t, b)
	})
}
