package locktest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

// A ForeignContext is a context that package context did not make.
type ForeignContext struct {
	context.Context
	done chan struct{}
	err  atomic.Pointer[error]
}

// NewForeignContext returns one that has not ended.
func NewForeignContext() *ForeignContext {
	return &ForeignContext{Context: context.Background(), done: make(chan struct{})}
}

// Done implements [context.Context].
func (c *ForeignContext) Done() <-chan struct{} { return c.done }

// Err implements [context.Context].
func (c *ForeignContext) Err() error {
	if e := c.err.Load(); e != nil {
		return *e
	}
	return nil
}

// End ends the context, with err.
func (c *ForeignContext) End(err error) {
	c.err.Store(&err)
	close(c.done)
}

// A TrapContext is a context that ends inside one of the calls that look at it. What the call
// returns is from before the end.
type TrapContext struct {
	context.Context
	method string
	nth    int64
	calls  atomic.Int64
	once   sync.Once
	spring func()
}

// NewTrapContext returns ctx with a spring, which ends ctx, in the n'th call of a method, "Err" or
// "Done".
func NewTrapContext(ctx context.Context, method string, nth int64, spring func()) *TrapContext {
	return &TrapContext{Context: ctx, method: method, nth: nth, spring: spring}
}

// Err implements [context.Context].
func (c *TrapContext) Err() error {
	err := c.Context.Err()
	c.enter("Err")
	return err
}

// Done implements [context.Context].
func (c *TrapContext) Done() <-chan struct{} {
	c.enter("Done")
	return c.Context.Done()
}

func (c *TrapContext) enter(method string) {
	if method == c.method && c.calls.Add(1) == c.nth {
		c.Spring()
	}
}

// Spring springs the trap, unless it has sprung. It reports whether it had not.
func (c *TrapContext) Spring() (now bool) {
	c.once.Do(func() {
		now = true
		c.spring()
	})
	return now
}

// Calls returns how often the method has been called.
func (c *TrapContext) Calls() int64 { return c.calls.Load() }

// RequireNoChannel checks that acquire, which does not wait, does not ask its context for the
// channel: a context of package context allocates the channel when it is asked the first time.
func RequireNoChannel(t *testing.T, acquire func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := NewTrapContext(ctx, "Done", 0, nil)
	if err := acquire(c); err != nil {
		t.Fatal(err)
	}
	if n := c.Calls(); n != 0 {
		t.Fatalf("asked for the channel %d times without a wait", n)
	}
}

// A Held is something that is held while a wait for it begins.
type Held struct {
	Wait    func(ctx context.Context) error // acquires it
	Waiting func() bool                     // a goroutine waits for it
	Free    func()                          // frees it for the waiter
	Forgets bool                            // what Free does is forgotten if nobody waits
	Release func()                          // gives back what Wait has acquired; nil: nothing has to
	After   func(t *testing.T)              // checks that none has it, and none waits
}

// RequireEarlierCancelWins checks that a wait fails if its context has ended before what it waits
// for became free: inside each of the calls to the context that the wait makes, one after the
// other, and when it sleeps. Each time hold makes a new subject.
func RequireEarlierCancelWins(t *testing.T, hold func() Held) {
	t.Helper()
	for _, method := range []string{"Err", "Done"} {
		for nth := int64(1); ; nth++ {
			h := hold()
			ctx, cancel := context.WithCancel(context.Background())
			c := NewTrapContext(ctx, method, nth, func() { cancel(); h.Free() })
			result := make(chan error, 1)
			go func() { result <- h.Wait(c) }()
			Eventually(
				t,
				"the context has ended, or a goroutine waits",
				func() bool { return ctx.Err() != nil || h.Waiting() },
			)
			asleep := c.Spring()
			err := Receive(t, result)
			if err != context.Canceled { //nolint:errorlint // that very error
				t.Fatalf("%v, though the context ended first, in call %d of %s (asleep: %v)", err, nth, method, asleep)
			}
			h.After(t)
			if asleep {
				break
			}
		}
	}
}
