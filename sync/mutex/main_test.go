package mutex_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/sync/mutex"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

// requireFree checks that m is unlocked and nobody waits.
func requireFree(t *testing.T, m *mutex.Mutex) {
	t.Helper()
	require.Zero(t, m.Waiting())
	require.True(t, m.TryLock(), "the lock was lost")
	m.Unlock()
}
