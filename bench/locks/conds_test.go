package locks

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/measure"
)

// Batches of any size come to an end, one after the other, with all of their operations.
func TestCondsDoWhatTheyAreAsked(t *testing.T) {
	for _, r := range Plan(Conds, measure.Everything) {
		for _, im := range r.Impls {
			loop, x, steps := im.Make(), uint64(1), 0
			for _, n := range []int{1, 64, 3, 100} {
				var err error
				x, err = loop(context.Background(), 0, n, x)
				require.NoError(t, err, "%s/%s", r, im.Name)
				steps += n
				if r.Workload == "cond-64" {
					steps++ // to end the batch
				}
			}
			want := uint64(1)
			for range steps {
				want = measure.Xorshift(want)
			}
			require.Equal(t, want, x, "%s/%s", r, im.Name)
		}
	}
}
