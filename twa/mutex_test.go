package twa_test

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// The promises that all mutexes make.
func TestMutexContract(t *testing.T) {
	mutextest.Run[twa.Mutex](t)
}

func TestMutexPanicsNameThePackage(t *testing.T) {
	var m twa.Mutex
	var f waiter.Future
	m.Lock()
	m.Bind(&f)
	require.False(t, f.Poll(nil))
	for msg, call := range map[string]func(){
		"twa: unlock of unlocked mutex": new(twa.Mutex).Unlock,
		"twa: nil context":              func() { _ = m.LockContext(nil) }, //nolint:staticcheck // nil on purpose
		"twa: future of a nil mutex":    func() { (*twa.Mutex)(nil).Bind(new(waiter.Future)) },
	} {
		require.PanicsWithValue(t, msg, call)
	}
	f.Release()
	m.Unlock()
	mutextest.RequireFree(t, &m)
}

// An unlock too many leaves a mark, with which a future has to look closer.
func TestFutureAfterAnUnlockTooMany(t *testing.T) {
	var m twa.Mutex
	require.Panics(t, m.Unlock)
	var f waiter.Future
	m.Bind(&f)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	require.False(t, m.TryLock())
	m.Unlock()
	require.True(t, m.TryLock())
	m.Unlock()
}
