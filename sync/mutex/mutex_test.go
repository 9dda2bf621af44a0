package mutex_test

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/waiter"
)

// The promises that all mutexes make.
func TestContract(t *testing.T) { mutextest.Run[mutex.Mutex](t) }

func TestPanicsNameThePackage(t *testing.T) {
	var m mutex.Mutex
	var f waiter.Future
	m.Lock()
	m.Bind(&f)
	require.False(t, f.Poll(nil))
	for msg, call := range map[string]func(){
		"mutex: unlock of unlocked mutex": new(mutex.Mutex).Unlock,
		"mutex: nil context":              func() { _ = m.LockContext(nil) }, //nolint:staticcheck // nil on purpose
		"mutex: future of a nil mutex":    func() { (*mutex.Mutex)(nil).Bind(new(waiter.Future)) },
	} {
		require.PanicsWithValue(t, msg, call)
	}
	f.Release()
	m.Unlock()
	requireFree(t, &m)
}
