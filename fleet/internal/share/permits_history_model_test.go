//go:build interleave

package share

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/semtest"
)

// Every history that the explorer can bring about is one that a sequential semaphore could have
// given.
func TestModelHistories(t *testing.T) {
	semtest.RunHistories(t, asSemaphore())
	semtest.CheckHistories(t, asSemaphore(), []semtest.History{
		{Name: "resize down", Size: 2, Large: true, Clients: semtest.Bodies(
			semtest.Locks(1), semtest.Locks(1), semtest.Does(func(c *semtest.Client) { c.Resize(1) }))},
		{Name: "over-release", Size: 1, Clients: semtest.Bodies(
			semtest.Locks(1), semtest.Locks(1), semtest.Does(func(c *semtest.Client) { c.Release(2) }))},
	})
}
