//go:build interleave

package semaphore_test

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

// Every history that the explorer can bring about is one that the sequential semaphore could have
// given.
func TestModelPlatoonHistories(t *testing.T) {
	for name, opts := range map[string][]semaphore.Option{
		"1, 1":        {semaphore.WithPlatoon(1, 1)},
		"1, none":     {semaphore.WithPlatoon(1, 0)},
		"2, 1":        {semaphore.WithPlatoon(2, 1)},
		"1, 1, array": {semaphore.WithPlatoon(1, 1), semaphore.WithWaitingArray(twa.NewArray(1))},
	} {
		t.Run(name, func(t *testing.T) {
			k := kind(opts...)
			if name != "1, 1" {
				if testing.Short() {
					t.Skip("tier two")
				}
				k.Delegates = true // the large ones are much the same
			}
			semtest.RunHistories(t, k)
			semtest.CheckHistories(t, k, histories)
		})
	}
}
