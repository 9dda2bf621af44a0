package engine

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// newElastic returns an elastic engine without permits, and the futures that wait in it for the
// given numbers.
func newElastic(t *testing.T, wants ...int64) (Permits, []*waiting.Future) {
	e := new(Engine).From(0)
	e.Init(0, &Options{Elastic: true})
	e.Bound(10)
	fs := make([]*waiting.Future, len(wants))
	for i, n := range wants {
		fs[i] = new(waiting.Future)
		waiting.Bind(fs[i], e, n)
		require.False(t, fs[i].Poll(nil))
	}
	return e, fs
}

func TestElasticWaitsForGrowth(t *testing.T) {
	e, f := newElastic(t, 3, 1)
	e.Resize(2)
	require.False(t, f[0].Complete() || f[1].Complete(), "strict order")
	e.Resize(3)
	require.True(t, f[0].Complete())
	require.False(t, f[1].Complete())
	e.Resize(1) // a debt of two
	require.EqualValues(t, -2, e.Available())
	require.True(t, e.Release(3))
	require.True(t, f[1].Complete())
	require.False(t, e.Release(2), "an over-release is noticed whatever the size")
	require.True(t, e.Release(1))
}

// A waiter in an engine without permits gets none by a release too many, which is refused.
func TestElasticHandsOverOnlyWhatIsHeld(t *testing.T) {
	e, f := newElastic(t, 1)
	require.False(t, e.Release(1), "nobody held it")
	require.False(t, f[0].Complete())
	e.Resize(1)
	require.True(t, f[0].Complete())
	require.True(t, e.Release(1))

	e, f = newElastic(t, 1)
	e.Resize(2)
	e.Resize(0) // a debt of one, which the owner of the permit pays
	next := new(waiting.Future)
	waiting.Bind(next, e, 1)
	require.False(t, next.Poll(nil))
	require.True(t, e.Release(1))
	require.False(t, e.Release(1), "nobody held it")
	require.False(t, next.Complete())
	require.NoError(t, f[0].Err())
}

func TestBoundEndsWhatIsTooLarge(t *testing.T) {
	e, f := newElastic(t, 4, 2)
	e.Resize(2)
	e.Bound(3)
	require.ErrorIs(t, f[0].Err(), waiter.ErrTooLarge)
	require.NoError(t, f[1].Err(), "served, because nobody is before it")
	require.ErrorIs(t, e.Acquire(waiting.After(1), 4, AtBack), waiter.ErrTooLarge)
}

func TestDemand(t *testing.T) {
	e, _ := newElastic(t)
	demand := func(enough int64) [2]int64 {
		oldest, all := e.Demand(enough)
		return [2]int64{oldest, all}
	}
	require.Equal(t, [2]int64{0, 0}, demand(100))

	e, _ = newElastic(t, 1, 5, 2)
	require.Equal(t, [2]int64{1, 8}, demand(100))
	require.Equal(t, [2]int64{1, 6}, demand(3), "no further than need be")

	e, _ = newElastic(t, 5, 1)
	require.Equal(t, [2]int64{5, 6}, demand(100))
}
