package report

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
)

func TestMovedIsBeyondTheSpreadOfBoth(t *testing.T) {
	for _, c := range []struct {
		was, is []float64
		want    bool
	}{
		{[]float64{0.5, 0.6, 0.7}, []float64{0.8, 0.9, 1}, true},
		{[]float64{0.8, 0.9, 1}, []float64{0.5, 0.6, 0.7}, true},
		{[]float64{0.5, 0.6, 0.9}, []float64{0.8, 0.9, 1}, false}, // one round as now
		{[]float64{0.5, 0.5, 0.5}, []float64{0.52, 0.52, 0.52}, false},
		{[]float64{0.5, 0.5, 0.5}, []float64{0.53, 0.53, 0.53}, true},
		{[]float64{0, 0, 0}, []float64{0.002, 0.002, 0.002}, false}, // another goroutine's allocations
		{[]float64{0, 0, 0}, []float64{1, 1, 1}, true},
		{[]float64{88}, []float64{104}, true},
		{[]float64{88}, []float64{88}, false},
	} {
		require.Equal(t, c.want, moved(c.was, c.is), "%v, then %v", c.was, c.is)
	}
}

func TestComparisonTellsWhatMoved(t *testing.T) {
	was, is := MadeUpAll(), MadeUpAll()
	for _, c := range is.Cells {
		if c.Name == "contended-8x1/own" {
			for i := range c.Samples[measure.NameFarad] {
				c.Samples[measure.NameFarad][i].NsPerOp *= 2
				c.Samples[measure.NameFarad][i].AllocsPerOp = 1
			}
		}
	}
	moved := 5
	if peers.HasMinimalLock {
		moved++
	}
	is.Memory[0].Bytes = 64
	is.Machine.Go = "go1.27"
	is.Locks = is.Locks[:1] // fewer: only what both have is compared
	c := Compared(was, is)
	text := c.Text()
	for _, want := range []string{
		"worse   contended-8x1/own ÷ x/sync: 4.00, was 2.00",
		"worse   contended-8x1/own ÷ channel: 2.67, was 1.33",
		"worse   contended-8x1/own ÷ fifomu: 1.60, was 0.80",
		"worse   contended-8x1/own allocs/op: 1.00, was 0.00",
		"better  memory/future, heap farad, bytes: 64.00, was 88.00",
		fmt.Sprintf("\n%d of ", moved),
		"; another Go: go1.27, was go1.26\n",
	} {
		require.Contains(t, text, want)
	}
	require.Len(t, c.Moves, moved)
	require.NotContains(t, text, "another CPU")
	require.Contains(t, text, "mutex-1 ")
	require.NotContains(t, text, "mutex-8 ")
	require.Empty(t, Compared(was, was).Moves)
}
