package observe

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
)

func TestHandlersGetEachReport(t *testing.T) {
	var o outlet[int]
	var sum, other atomic.Int64
	stop := o.add(func(i int) { sum.Add(int64(i)) })
	o.add(func(i int) { other.Add(int64(i)) })
	o.report(1)
	o.report(2)
	locktest.Eventually(t, "all reports", func() bool { return sum.Load() == 3 && other.Load() == 3 })
	stop()
	stop()
	o.report(4)
	locktest.Eventually(t, "all reports", func() bool { return other.Load() == 7 })
	assert.EqualValues(t, 3, sum.Load())
	kept, dropped := o.read()
	assert.Equal(t, []int{1, 2, 4}, kept)
	assert.Zero(t, dropped)
	assert.Panics(t, func() { o.add(nil) })
}

// A handler that blocks misses reports, and nobody else does.
func TestHandlersThatBlockStopNobody(t *testing.T) {
	var o outlet[int]
	var n, blocked atomic.Int64
	hold := make(chan struct{})
	o.add(func(int) { blocked.Add(1); <-hold })
	o.add(func(int) { n.Add(1) })
	o.report(0)
	locktest.Eventually(t, "all reports", func() bool { return blocked.Load() == 1 })
	const all = maxBehind + 10
	for i := range int64(all) {
		o.report(int(i))
		locktest.Eventually(t, "all reports", func() bool { return n.Load() == i+2 })
	}
	_, dropped := o.read()
	assert.EqualValues(t, 10, dropped)
	close(hold)
	locktest.Eventually(t, "all reports", func() bool { return blocked.Load() == 1+maxBehind })
}

// A handler that panics, or ends its goroutine, gets the next report.
func TestHandlersMayPanic(t *testing.T) {
	var o outlet[int]
	var sum atomic.Int64
	o.add(func(i int) {
		sum.Add(int64(i))
		if i == 2 {
			runtime.Goexit()
		}
		panic("on purpose")
	})
	for i := range 4 {
		o.report(i)
	}
	locktest.Eventually(t, "all reports", func() bool { return sum.Load() == 6 })
}

func TestReportsAreBounded(t *testing.T) {
	var o outlet[int]
	for i := range maxKept + 5 {
		o.report(i)
	}
	kept, dropped := o.read()
	require.Len(t, kept, maxKept)
	assert.Equal(t, 5, kept[0])
	assert.EqualValues(t, 5, dropped)
}
