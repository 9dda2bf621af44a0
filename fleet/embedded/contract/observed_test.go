package contract

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/observe"
)

func TestStatus(t *testing.T) {
	w := newWorld(t)
	f, g := w.join(), w.join(fleet.WithTenure(time.Hour))
	a, b := w.semaphore(f, 3), w.semaphore(g, 3)
	require.NoError(t, a.Acquire(w.ctx, 2))
	require.NoError(t, b.Acquire(w.ctx, 1))
	got := make(chan error)
	go func() { got <- a.Acquire(w.ctx, 1) }()
	var st fleet.Status
	w.eventually(func() bool {
		all, err := g.Status(w.ctx)
		require.NoError(t, err)
		require.Len(t, all, 1)
		st = all[0]
		return len(st.Blocks) == 3
	}, "all is seen")
	require.Equal(t, "semaphore s", st.Name)
	require.EqualValues(t, 3, st.Size)
	require.EqualValues(t, 1, st.Held)
	var own, others, waits int64
	for _, block := range st.Blocks {
		require.True(t, strings.HasSuffix(block.Process, "/"+strconv.Itoa(os.Getpid())))
		require.WithinDuration(t, time.Now(), block.Since, time.Minute)
		switch {
		case !block.Holds:
			waits += block.Permits
		case block.Own:
			own += block.Permits
			require.Positive(t, block.Tenure, "somebody waits")
		default:
			others += block.Permits
		}
	}
	require.Equal(t, []int64{1, 2, 1}, []int64{own, others, waits})
	b.Release(1)
	require.NoError(t, <-got)
	a.Release(3)
}

// Goroutines that hold permits of the fleet, or wait for them, are seen like those of local locks.
func TestObserved(t *testing.T) {
	observe.All(observe.LevelHolders)
	defer observe.All(observe.LevelOff)
	w := newWorld(t)
	a, b := w.semaphore(w.join(), 1), w.semaphore(w.join(), 1)
	p, err := a.AcquirePermit(w.ctx, 1)
	require.NoError(t, err)
	got := make(chan error)
	go func() { got <- b.Acquire(w.ctx, 1) }()
	var holders, waiters int
	w.eventually(func() bool {
		holders, waiters = 0, 0
		for _, l := range observe.Read().Locks {
			if l.Name == "semaphore s" && l.Kind == "fleet" {
				holders += len(l.Holders)
				waiters += len(l.Waiters)
			}
		}
		return holders == 1 && waiters == 1
	}, "one holds, and one waits")
	require.Empty(t, observe.Read().Deadlocks)
	p.Release()
	require.NoError(t, <-got)
	b.Release(1)
	for _, l := range observe.Read().Locks {
		if l.Kind == "fleet" {
			require.Empty(t, l.Holders)
		}
	}
}
