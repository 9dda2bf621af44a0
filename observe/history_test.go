package observe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHistoryIsBoundedAndForgets(t *testing.T) {
	var h history
	s := shop()
	h.add(s)
	h.add(s)
	require.Len(t, h.of(1), 1, "samples are at least a second apart")
	for range 2 * historyLength {
		s.At = s.At.Add(historyStep)
		h.add(s)
	}
	samples := h.of(1)
	require.Len(t, samples, historyLength)
	require.Equal(t, s.At, samples[historyLength-1].at)
	s.At = s.At.Add(-historyStep)
	h.add(s)
	require.Equal(t, samples, h.of(1), "an older snapshot is too late")
	s.At = s.At.Add(-time.Hour)
	h.add(s)
	require.Equal(t, s.At, h.of(1)[historyLength-1].at, "the clock was set back")
	h.add(&Snapshot{At: s.At.Add(historyStep)})
	require.Empty(t, h.of(1))
	c := crowd()
	c.At = s.At.Add(2 * historyStep)
	h.add(c)
	require.Len(t, h.locks, historyLocks)
}

func TestChartsAreWithinTheirBoxes(t *testing.T) {
	require.Empty(t, sparkline(nil, 1, 90, 24).Area)
	one := sparkline([]sample{{held: 3, waiting: 1}}, 8, 90, 24)
	require.Equal(t, "89.0,14.6 90.0,14.6 90.0,100 89.0,100", one.Area)
	require.Equal(t, "89.0,1.5 90.0,1.5", one.Line)
	require.Empty(t, sparkline([]sample{{held: 3}}, 8, 90, 24).Line, "nobody has waited")
	at := shopTime
	c, most := rates([]sample{{at, 0, 0, 5}, {at.Add(2 * time.Second), 0, 0, 25}, {
		at.Add(3 * time.Second), 0,
		0, 5,
	}}, 90, 24)
	require.InDelta(t, 10, most, 0.01, "a lock that counts anew has no rate")
	require.NotEmpty(t, c.Area)
	require.Nil(t, (&Histogram{}).draw(100, 50))
	h := times(1000, time.Millisecond)
	b := h.draw(100, 50)
	for _, x := range b.Bars {
		require.True(t, x.X >= 0 && x.X+x.W <= b.Width && x.Y >= 0 && x.Y+x.H <= b.Height)
	}
	var total uint64
	for _, n := range h.Buckets {
		total += n
	}
	require.Equal(t, h.Count, total)
	require.Equal(t, -2, floorDiv(-5, 4))
	require.Equal(t, -1, floorDiv(-4, 4))
	require.Equal(t, 1, floorDiv(4, 4))
}
