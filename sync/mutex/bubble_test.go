//go:build !interleave

package mutex_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/sync/mutex"
)

func TestWaitsEndWithContextAndTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m mutex.Mutex
		m.Lock()
		start := time.Now()
		require.False(t, m.LockTimeout(time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, m.LockContext(ctx), context.DeadlineExceeded)
		require.Equal(t, 2*time.Second, time.Since(start))

		locked := false
		go func() { m.Lock(); locked = true; m.Unlock() }()
		synctest.Wait() // a goroutine that waits is durably blocked
		require.False(t, locked)
		m.Unlock()
		synctest.Wait()
		require.True(t, locked)
		requireFree(t, &m)
	})
}
