//go:build !interleave

package twa_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/twa"
)

// A happening is something to wait for, again and again, other than permits.
type happening struct {
	sleeping
	await func(ctx context.Context) error // until it happens the next time
	again func()
}

// happenings are the ways to wait in a, and for an event count, which has the array of the process.
func happenings(a *twa.Array) map[string]*happening {
	hs := map[string]*happening{}
	for name, await := range map[string]func(ctx context.Context, v *atomic.Int64, n int64) error{
		"WaitUntil": func(ctx context.Context, v *atomic.Int64, n int64) error {
			return a.WaitUntil(ctx, v, func() bool { return v.Load() >= n })
		},
		"Wait": func(ctx context.Context, v *atomic.Int64, n int64) error {
			for {
				seq := a.Monitor(v)
				if v.Load() >= n {
					return nil
				}
				if err := a.Wait(ctx, v, seq); err != nil {
					return err
				}
			}
		},
		"WaitLazy": func(ctx context.Context, v *atomic.Int64, n int64) error {
			for seq := twa.Sequence(0); v.Load() < n; {
				if err := a.WaitLazy(ctx, v, &seq); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		v := new(atomic.Int64)
		hs[name] = &happening{
			sleeping{(*parking.Table)(a).OrDefault(), v},
			func(ctx context.Context) error { return await(ctx, v, v.Load()+1) },
			func() { v.Add(1); a.Signal(v) },
		}
	}
	e := new(twa.EventCount)
	hs["Await"] = &happening{
		sleeping{parking.Default(), e},
		func(ctx context.Context) error { return e.Await(ctx, e.Read()+1) },
		func() { e.Advance() },
	}
	return hs
}

// arrays are that of the process, one that has been made outside of every bubble, and one that is
// made where this is called.
func arrays() map[string]*twa.Array {
	return map[string]*twa.Array{"of the process": nil, "from outside": outside, "from here": twa.NewArray(1)}
}

var outside = twa.NewArray(1)

func TestWaitingInAnArrayIsDurablyBlocked(t *testing.T) {
	for where := range arrays() {
		for way := range happenings(nil) {
			t.Run(where+"/"+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := happenings(arrays()[where])[way]
					ctx, cancel := context.WithCancel(t.Context())
					timeout, stop := context.WithTimeout(t.Context(), time.Minute)
					defer stop()
					got := make(chan string, 9)
					go func() { got <- "cancelled " + h.await(ctx).Error() }()
					go func() { got <- "timed out " + h.await(timeout).Error() }()
					for range 2 {
						go func() { require.NoError(t, h.await(bg)); got <- "it has happened" }()
					}
					synctest.Wait() // returns only because all of them are durably blocked
					require.Equal(t, 4, h.Waiting())
					require.Empty(t, got)
					cancel()
					synctest.Wait()
					require.Equal(t, "cancelled context canceled", <-got)
					start := time.Now()
					require.Equal(t, "timed out context deadline exceeded", <-got)
					require.Equal(t, time.Minute, time.Since(start))
					h.again()
					synctest.Wait()
					require.Equal(t, "it has happened", <-got)
					require.Equal(t, "it has happened", <-got)
					require.Zero(t, h.Waiting())
				})
			})
		}
	}
}

// What has been made outside and in each bubble is waited for outside, in a bubble, outside, in
// another bubble. A parker that crossed a border would end the process.
func TestWaitingInAnArrayDoesNotCrossBubbles(t *testing.T) {
	outer, cancel := context.WithCancel(bg)
	defer cancel()
	var all []*happening
	waiters := 1
	use := func(t *testing.T) {
		waiters *= 2 // more than what has been kept can serve
		for _, a := range arrays() {
			for _, h := range happenings(a) {
				all = append(all, h)
			}
		}
		ctx, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		for _, h := range all {
			for range 3 { // often enough for every kind of reuse, and for a watch on each context
				for _, c := range []context.Context{bg, ctx, outer} {
					got := make(chan error, waiters)
					for range waiters {
						go func() { got <- h.await(c) }()
					}
					locktest.AwaitWaiting(t, h, waiters)
					h.again()
					for range waiters {
						require.NoError(t, <-got)
					}
				}
			}
		}
	}
	for range 2 {
		use(t)
		synctest.Test(t, use)
	}
}
