package locks

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/measure"
)

func TestObservedLocksDoWhatTheyAreAsked(t *testing.T) {
	for _, r := range Plan(Observed, measure.Everything) {
		for _, im := range r.Impls {
			x, err := im.Make()(context.Background(), 0, 5, 1)
			require.NoError(t, err)
			want := uint64(1)
			for range 5 {
				want = measure.Xorshift(want)
			}
			require.Equal(t, want, x, "%s/%s", r, im.Name)
		}
	}
}
