//go:build interleave

package twa_test

import (
	"context"
	"testing"

	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/twa"
)

// Every history of a semaphore that polls is one that the sequential semaphore could have given,
// with cancels that come before a release or a close. (The end of time cannot be seen by one who
// polls here.)
func TestModelPollingHistories(t *testing.T) {
	within := func(n int64) semtest.Body {
		return func(c *semtest.Client, ctx context.Context) { c.LockContext(ctx, n) }
	}
	cancels := semtest.Does(func(c *semtest.Client) { c.LockAndCancel(1) })
	semtest.CheckHistories(
		t,
		semtest.Kind{New: func(n int64) semtest.Semaphore { return twa.NewTicket(n) }},
		[]semtest.History{
			{Name: "cancel", Size: 1, Cancel: true, Clients: semtest.Bodies(semtest.Locks(1), within(1))},
			{Name: "cancel/before release", Size: 1, Clients: semtest.Bodies(cancels, within(1))},
			{Name: "cancel/before release/two", Size: 2, Clients: semtest.Bodies(cancels, within(2))},
			{Name: "cancel/before resize", Size: 0, Clients: semtest.Bodies(
				semtest.Does(func(c *semtest.Client) { c.Cancel(); c.Resize(1) }), within(1))},
			{Name: "cancel/close", Size: 1, Large: true, Cancel: true, Clients: semtest.Bodies(
				semtest.Locks(1), within(1), semtest.Does((*semtest.Client).Close))},
			{Name: "try", Size: 1, Clients: semtest.Bodies(
				semtest.Locks(1), semtest.Does(func(c *semtest.Client) { c.Try(1) }))},
			{Name: "sizes", Size: 2, Large: true, Clients: semtest.Bodies(
				semtest.Locks(2), semtest.Locks(1), semtest.Does(func(c *semtest.Client) { c.Try(1) }))},
		},
	)
}
