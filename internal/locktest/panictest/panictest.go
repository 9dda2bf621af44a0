// Package panictest has contexts of foreign types that panic, or end the goroutine that asks them.
package panictest

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/waiting"
)

// A panicking is a context of a foreign type. One call to it panics, or ends the goroutine.
type panicking struct {
	context.Context
	method string
	nth    int64
	fail   func()
	calls  atomic.Int64
}

// Done implements [context.Context].
func (c *panicking) Done() <-chan struct{} { c.enter("Done"); return c.Context.Done() }

// Err implements [context.Context].
func (c *panicking) Err() error { c.enter("Err"); return c.Context.Err() }

// Deadline implements [context.Context].
func (c *panicking) Deadline() (time.Time, bool) {
	c.enter("Deadline")
	return c.Context.Deadline()
}

// Value implements [context.Context].
func (c *panicking) Value(key any) any { c.enter("Value"); return c.Context.Value(key) }

func (c *panicking) enter(method string) {
	if method == c.method && c.calls.Add(1) == c.nth {
		c.fail()
	}
}

// hasFailed reports whether the call that fails has been made.
func (c *panicking) hasFailed() bool { return c.calls.Load() >= c.nth }

// RequireNothingLost checks that a wait loses nothing if its context, of a foreign type, panics or
// ends the goroutine: in each of the calls that the wait makes, one after the other. What is waited
// for is free, or becomes free, or the context ends before. Each time hold makes a new subject.
func RequireNothingLost(t *testing.T, hold func() locktest.Held) {
	t.Helper()
	for end, fail := range map[string]func(){"panic": func() { panic(thrown{}) }, "Goexit": runtime.Goexit} {
		for _, method := range []string{"Err", "Done", "Deadline", "Value"} {
			for _, when := range []string{"free", "freed", "ended", "freed, watched", "ended, watched"} {
				trap := func(nth int64) *panicking { return &panicking{method: method, nth: nth, fail: fail} }
				for nth := int64(1); panicsIn(t, hold(), trap(nth), when); nth++ {
					if nth > 100 {
						t.Fatalf("%s in call %d of %s, %s: it is asked for ever", end, nth, method, when)
					}
				}
			}
		}
	}
}

// thrown is the value of a panic.
type thrown struct{}

// panicsIn has h be waited for with c, and reports whether a call of c has failed.
func panicsIn(t *testing.T, h locktest.Held, c *panicking, when string) bool {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("in call %d of %s, %s", c.nth, c.method, when)
		}
	}()
	when, watched := strings.CutSuffix(when, ", watched")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.Context = ctx
	if watched {
		for range 20 { // The parkers of a context that is waited for often have a watch.
			waiting.GetParker(waiting.UntilDone(ctx)).Put()
		}
	}
	if when == "free" {
		h.Free()
	}
	result := make(chan error, 1)
	go func() {
		err := errors.New("the wait has not returned")
		defer func() {
			if e := recover(); e != nil {
				if _, ok := e.(thrown); !ok {
					panic(e)
				}
			}
			result <- err
		}()
		err = h.Wait(c)
	}()
	locktest.Eventually(t, "the wait has ended, or sleeps", func() bool { return len(result) > 0 || h.Waiting() })
	var err error
	switch {
	case when == "ended":
		cancel()
		err = locktest.Receive(t, result)
		h.Free()
	case when == "freed", h.Forgets && len(result) == 0:
		h.Free()
		err = locktest.Receive(t, result)
	default:
		err = locktest.Receive(t, result)
	}
	if err == nil && h.Release != nil {
		h.Release()
	}
	h.After(t)
	return c.hasFailed()
}
