//go:build interleave

package semaphore_test

import (
	"slices"
	"testing"

	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/sync/semaphore"
)

// Every history that the explorer can bring about is one that the sequential semaphore could have
// given.
func TestModelCapacitorHistories(t *testing.T) {
	for name, of := range map[string]func(n int64) *semaphore.Semaphore{
		"1, 1":        modelKind(semaphore.WithCapacitor(1, 1)),
		"1, none":     modelKind(semaphore.WithCapacitor(1, 0)),
		"2, 1":        modelKind(semaphore.WithCapacitor(2, 1)),
		"1, 1, array": modelArray(semaphore.WithCapacitor(1, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			k := kind()
			k.New = func(n int64) semtest.Semaphore { return of(n) }
			if name != "1, 1" {
				if testing.Short() {
					t.Skip("tier two")
				}
				k.Delegates = true // the large ones are much the same
			}
			semtest.RunHistories(t, k)
			own := histories
			if testing.Short() { // what found a defect of the engine's takes longest
				own = slices.DeleteFunc(slices.Clone(own), func(h semtest.History) bool { return h.Name == slowest })
			}
			semtest.CheckHistories(t, k, own)
		})
	}
}
