package contract

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

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

// lockOf returns an observed lock, by its name.
func (w *world) lockOf(name string) observe.Lock {
	w.Helper()
	all := observe.Read().Locks
	i := slices.IndexFunc(all, func(l observe.Lock) bool { return l.Name == name })
	require.GreaterOrEqual(w, i, 0, "%s is not observed", name)
	return all[i]
}

// A semaphore of the fleet that is watched shows who holds and who waits, here and elsewhere.
func TestObserved(t *testing.T) {
	w := newWorld(t)
	f, g := w.join(), w.join(fleet.WithTenure(time.Hour))
	a, b := w.semaphore(f, 3), w.semaphore(g, 3)
	observe.Watch(a, "here", observe.LevelHolders)
	defer observe.Unwatch(a)
	observe.Watch(b, "there", observe.LevelHolders)
	defer observe.Unwatch(b)
	require.NoError(t, a.Acquire(w.ctx, 2))
	p, err := b.AcquirePermit(w.ctx, 1)
	require.NoError(t, err)
	got := make(chan error)
	go func() { got <- a.Acquire(w.ctx, 1) }()
	name := func(b observe.Block) bool { return strings.HasSuffix(b.Process, "/"+strconv.Itoa(os.Getpid())) }
	var there observe.Lock
	w.eventually(func() bool {
		there = w.lockOf("there")
		unknown := slices.ContainsFunc(there.Fleet.Blocks, func(b observe.Block) bool { return !name(b) })
		return len(there.Fleet.Blocks) == 3 && !unknown
	}, "all are known, by name")
	require.Equal(t, "fleet.Semaphore", there.Kind)
	require.EqualValues(t, 3, there.Size)
	require.EqualValues(t, 1, there.Held)
	require.Len(t, there.Holders, 1)
	require.Zero(t, there.Fleet.Losses)
	var own, others, waits int64
	for _, block := range there.Fleet.Blocks {
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
	here := w.lockOf("here")
	require.Len(t, here.Holders, 1)
	require.EqualValues(t, 2, here.Holders[0].Permits)
	require.Len(t, here.Waiters, 1)
	require.Empty(t, observe.Read().Deadlocks)

	_, err = w.client.Revoke(w.ctx, clientv3.LeaseID(p.Token().Lease))
	require.NoError(t, err)
	<-p.Lost()
	require.NoError(t, <-got)
	w.eventually(func() bool { return w.lockOf("there").Fleet.Losses == 1 }, "the loss is told")
	require.Len(t, w.lockOf("there").Holders, 1, "it is not released")
	p.Release()
	a.Release(3)
	require.Empty(t, w.lockOf("there").Holders)
	require.Empty(t, w.lockOf("here").Holders)
}

// What is opened after All is observed, by the names that the fleet has for it.
func TestObservedAll(t *testing.T) {
	observe.All(observe.LevelHolders)
	defer observe.All(observe.LevelOff)
	w := newWorldAlone(t)
	f := w.join()
	m, err := f.Mutex(w.ctx, "leader")
	require.NoError(t, err)
	rw, err := f.RWMutex(w.ctx, "config")
	require.NoError(t, err)
	require.NoError(t, m.LockContext(w.ctx))
	require.NoError(t, rw.RLockContext(w.ctx))
	ok, err := m.TryLockContext(w.ctx)
	require.NoError(t, err)
	require.False(t, ok)
	leader, config := w.lockOf("leader"), w.lockOf("config")
	require.Equal(t, "fleet.Mutex", leader.Kind)
	require.Equal(t, "fleet.RWMutex", config.Kind)
	require.Len(t, leader.Holders, 1)
	require.EqualValues(t, 1, leader.Counts.Tried)
	require.True(t, config.Holders[0].Shared)
	m.Unlock()
	rw.RUnlock()
	require.Empty(t, w.lockOf("leader").Holders)
	require.Empty(t, w.lockOf("config").Holders)
}
