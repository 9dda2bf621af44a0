package mutex_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/waiter"
)

// The promises that all mutexes make.
func TestContract(t *testing.T) { mutextest.Run[mutex.Mutex, mutex.LockFuture](t) }

func TestPanicsNameThePackage(t *testing.T) {
	var m mutex.Mutex
	var f mutex.LockFuture
	m.Lock()
	f.Init(&m)
	require.False(t, f.Poll(nil))
	for msg, call := range map[string]func(){
		"mutex: unlock of unlocked mutex":                     new(mutex.Mutex).Unlock,
		"mutex: nil context":                                  func() { _ = m.LockContext(nil) }, //nolint:staticcheck // nil on purpose
		"mutex: future of a nil mutex":                        func() { new(mutex.LockFuture).Init(nil) },
		"farad: future without Init":                          func() { new(mutex.LockFuture).Poll(nil) },
		"mutex: Init of a future whose request has not ended": func() { f.Init(&m) },
	} {
		require.PanicsWithValue(t, msg, call)
	}
	f.Cancel()
	m.Unlock()
	requireFree(t, &m)
	require.Equal(t, waiter.ErrPending, mutex.ErrPending)
}
