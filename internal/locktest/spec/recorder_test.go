package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// ticks counts calls and returns.
type ticks int64

func (c *ticks) Invoke() int64  { *c++; return int64(*c) }
func (c *ticks) Respond() int64 { *c++; return int64(*c) }

func TestRecorderKeepsWhatHappenedInOrder(t *testing.T) {
	c := new(ticks)
	r := Recorder{Clock: c, Client: 3}
	got := r.Do(Acquire, 2, func() Result {
		require.Empty(t, r.Ops, "recorded before it has returned")
		require.EqualValues(t, 1, *c, "called without a time of the call")
		return Granted
	})
	require.Equal(t, Granted, got)
	got = r.Record(Op{Kind: Acquire, N: 1, Context: true, Client: 9}, func() Result { return Cancelled })
	require.Equal(t, Cancelled, got)
	require.Equal(t, []Op{
		{Client: 3, Kind: Acquire, N: 2, Call: 1, Return: 2, Result: Granted},
		{Client: 3, Kind: Acquire, N: 1, Context: true, Call: 3, Return: 4, Result: Cancelled},
	}, r.Ops)
}
