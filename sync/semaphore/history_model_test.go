//go:build interleave

package semaphore_test

import (
	"context"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/semtest"
	"github.com/farad-go/farad/internal/spec"
	"github.com/farad-go/farad/sync/semaphore"
)

// await waits for a future by its channel.
func await(c *semtest.Client) {
	c.Use(1, func() error {
		var f semaphore.AcquireFuture
		f.Init(c.S.(*semaphore.Semaphore), 1)
		interleave.Receive(f.Done())
		return f.Err()
	})
}

// drop polls a future once and cancels it, unless it is complete.
func drop(c *semtest.Client) {
	got := c.Acquire(1, func() spec.Result {
		var f semaphore.AcquireFuture
		f.Init(c.S.(*semaphore.Semaphore), 1)
		if f.Poll(nil) {
			return c.ResultOf(f.Err())
		}
		f.Cancel()
		return spec.Abandoned
	})
	if got {
		c.Release(1)
	}
}

// body is f as the body of a client that needs no context.
func body(f func(*semtest.Client)) semtest.Body {
	return func(c *semtest.Client, _ context.Context) { f(c) }
}

// What not every semaphore has, or does in this order: futures, a debt that is paid first, an over-release that is always noticed.
var histories = []semtest.History{
	{Name: "future", Size: 1, Clients: semtest.Bodies(semtest.Locks(1), body(await))},
	{Name: "future/drop", Size: 1, Clients: semtest.Bodies(semtest.Locks(1), body(drop))},
	{Name: "future/drop/3", Size: 1, Large: true, Clients: semtest.Bodies(semtest.Locks(1), semtest.Locks(1), body(drop))},
	{Name: "resize down", Size: 2, Large: true, Clients: semtest.Bodies(
		semtest.Locks(1), semtest.Locks(1), func(c *semtest.Client, _ context.Context) { c.Resize(1) })},
	{Name: "close/future", Size: 1, Clients: semtest.Bodies(
		semtest.Locks(1), body(await), func(c *semtest.Client, _ context.Context) { c.Close() })},
	// Close was two steps: the holder saw it, and then its release granted the waiter in the slot. It failed with the
	// schedule a10.b11.c5.a11.c3.b16.
	{Name: "close/seen before it is done", Size: 1, Clients: semtest.Bodies(
		func(c *semtest.Client, _ context.Context) {
			if c.Acquire(1, func() spec.Result { return c.ResultOf(c.S.Acquire(bg, 1)) }) {
				drop(c)
				c.Release(1)
			}
		}, semtest.Locks(1), func(c *semtest.Client, _ context.Context) { c.Close() })},
	{Name: "over-release", Size: 1, Clients: semtest.Bodies(
		semtest.Locks(1), semtest.Locks(1), func(c *semtest.Client, _ context.Context) { c.Release(2) })},
}

// Every history that the explorer can bring about is one that the sequential semaphore could have given.
func TestModelHistories(t *testing.T) {
	create := func(n int64) semtest.Semaphore { return semaphore.New(n) }
	semtest.RunHistories(t, create)
	semtest.CheckHistories(t, create, histories)
}
