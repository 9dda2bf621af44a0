package parking

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
)

// walked returns the buckets, by their numbers, of the parts 1, 2, 3 and so on of an object that
// has a number in place of a hash, as the tickets of a semaphore.
func walked(table *Table, number uintptr, parts int) []int {
	at := map[*bucket]int{}
	for i := range table.buckets {
		at[&table.buckets[i]] = i
	}
	walk := make([]int, parts)
	for i := range walk {
		walk[i] = at[table.bucket(Key{Part: int64(i + 1), Hash: number})]
	}
	return walk
}

// The parts of an object walk through the whole table before one comes back.
func TestPartsGoEverywhere(t *testing.T) {
	for _, buckets := range []int{1, 2, 64, 512, 4096} {
		table := New(buckets)
		for number := range uintptr(20) {
			walk := walked(table, number, 3*buckets)
			for from := 0; from < len(walk); from += buckets {
				visited := map[int]bool{}
				for _, i := range walk[from : from+buckets] {
					visited[i] = true
				}
				require.Len(t, visited, buckets, "number %d, parts from %d", number, from+1)
			}
		}
	}
}

// Neighbours are in different buckets always, and of each object's 15 pairs in 16 at least are
// eight cache lines apart: a bucket is one, and what is nearer has come so by the exclusive or of
// the upper half.
func TestNeighboursAreApart(t *testing.T) {
	for _, buckets := range []int{64, 512, 4096} {
		table, near, worst := New(buckets), 0, 0
		const numbers = 64
		for number := range uintptr(numbers) {
			walk, here := walked(table, number, buckets+1), 0
			for i := range buckets {
				apart := (walk[i+1] - walk[i] + buckets) % buckets
				if apart == 0 {
					require.Fail(t, "in one bucket", "number %d, parts %d and %d", number, i+1, i+2)
				}
				if min(apart, buckets-apart) < 8 {
					here++
				}
			}
			near, worst = near+here, max(worst, here)
		}
		require.LessOrEqual(t, worst, buckets/16, "%d buckets", buckets)
		require.LessOrEqual(t, near, numbers*buckets/50, "%d buckets", buckets)
	}
}

// Objects with neighbouring numbers are at the same part at the same place no more often than by
// chance, one time for each bucket; and however far one is ahead of the other, they never share the
// bucket of more than one part in four. (Without the golden ratio there is a distance at which they
// share all; so there is without the upper half.)
func TestNeighboursDoNotMarchInStep(t *testing.T) {
	for _, buckets := range []int{64, 512} {
		const numbers = 16
		table, inStep := New(buckets), 0
		ahead := walked(table, 0, 2*buckets)
		for number := range uintptr(numbers) {
			walk := ahead
			ahead = walked(table, number+1, 2*buckets)
			for distance := range buckets {
				shared := 0
				for i := range buckets {
					if walk[i] == ahead[i+distance] {
						shared++
					}
				}
				require.LessOrEqual(
					t,
					shared,
					buckets/4,
					"%d buckets, numbers %d and %d, %d parts ahead",
					buckets,
					number,
					number+1,
					distance,
				)
				if distance == 0 {
					inStep += shared
				}
			}
		}
		require.LessOrEqual(t, inStep, numbers, "%d buckets", buckets)
	}
}
