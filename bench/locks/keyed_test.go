package locks

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/measure"
)

// Each lock excludes, and a batch does all of its operations: no count is lost.
func TestKeyedLocksExclude(t *testing.T) {
	for _, keys := range []int{1, 3, 1000} {
		for name, loop := range map[string]func(counts []uint64) Loop{
			measure.NameFarad: func(counts []uint64) Loop { return keyLoop(newKeyed(), counts) },
			NameMapOfMutexes:  func(counts []uint64) Loop { return keyLoop(newMapOfMutexes(), counts) },
			NameCountedMap:    func(counts []uint64) Loop { return keyLoop(newCountedMap(), counts) },
			NameStripes:       func(counts []uint64) Loop { return keyLoop(newStripes(), counts) },
		} {
			counts := make([]uint64, keys)
			f := loop(counts)
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					if _, err := f(context.Background(), g, 500, uint64(g+1)); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			sum := uint64(0)
			for _, n := range counts {
				sum += n
			}
			require.EqualValues(t, 8*500, sum, "%s, %d keys", name, keys)
		}
	}
}
