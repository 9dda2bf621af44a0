package mutex_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/mutex"
)

func TestFutureNeedsAMutex(t *testing.T) {
	for name, f := range map[string]func(f *mutex.LockFuture){
		"poll": func(f *mutex.LockFuture) { f.Poll(nil) },
		"done": func(f *mutex.LockFuture) { f.Done() },
		"err":  func(f *mutex.LockFuture) { _ = f.Err() },
	} {
		require.PanicsWithValue(t, "mutex: future without Init", func() { f(new(mutex.LockFuture)) }, name)
	}
	var f mutex.LockFuture
	require.PanicsWithValue(t, "mutex: future of a nil mutex", func() { f.Init(nil) })
	require.False(t, f.Complete())
	f.Cancel() // nothing to cancel

	var m mutex.Mutex
	f.Init(&m) // which is not too late
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	m.Unlock()
	requireFree(t, &m)
}

func TestFutureInUseCannotBeInitialised(t *testing.T) {
	var m, other mutex.Mutex
	var f mutex.LockFuture
	refused := func(why string) {
		t.Helper()
		for _, of := range []*mutex.Mutex{&m, &other} {
			require.PanicsWithValue(t, "mutex: Init of a future whose request has not ended", func() { f.Init(of) }, why)
		}
	}
	m.Lock()
	f.Init(&m)
	require.False(t, f.Poll(nil))
	refused("it waits")
	require.Equal(t, 1, m.Waiting(), "the panic has changed something")
	m.Unlock()
	require.True(t, f.Complete())
	refused("it holds the lock")
	require.True(t, f.Poll(nil))
	refused("a poll takes nothing over")
	require.NoError(t, f.Err())
	f.Init(&other)
	require.False(t, m.TryLock(), "what was taken over is the owner's")
	m.Unlock()
	require.True(t, f.Poll(nil))
	f.Cancel()
	requireFree(t, &m)
	requireFree(t, &other)
}

func TestFutureCancelGivesBackWhatWasNotTaken(t *testing.T) {
	var m mutex.Mutex
	var f mutex.LockFuture
	f.Init(&m)
	f.Cancel() // not started
	require.ErrorIs(t, f.Err(), mutex.ErrPending)
	require.True(t, f.Poll(nil), "a free lock is taken at once")
	require.False(t, m.TryLock())
	f.Cancel()
	requireFree(t, &m)

	m.Lock()
	f.Init(&m)
	done := f.Done()
	require.Empty(t, done)
	require.ErrorIs(t, f.Err(), mutex.ErrPending)
	behind := make(chan struct{})
	go func() { m.Lock(); close(behind) }()
	locktest.AwaitWaiting(t, &m, 2)
	m.Unlock()
	locktest.Receive(t, done)
	locktest.RequireBlocked(t, behind)
	f.Cancel()
	f.Cancel()
	locktest.Receive(t, behind)
	m.Unlock()

	f.Init(&m)
	locktest.Receive(t, f.Done())
	require.NoError(t, f.Err())
	f.Cancel() // it has been taken: it is ours to unlock
	require.False(t, m.TryLock())
	m.Unlock()
	requireFree(t, &m)
}
