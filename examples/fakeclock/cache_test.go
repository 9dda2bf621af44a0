package fakeclock

import (
	"context"
	"strconv"
	std "sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/sync"
)

func TestCacheAsksOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := Cache{TTL: time.Minute, Origin: func(string) string {
			asked++
			time.Sleep(10 * time.Second) // with the lock held, while others wait for it
			return strconv.Itoa(asked)
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			v, err := c.Get(t.Context(), "k")
			require.NoError(t, err)
			require.Equal(t, "1", v)
		})
		synctest.Wait()
		wg.Go(func() {
			_, err := c.Get(ctx, "k")
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
		wg.Wait()
		v, err := c.Get(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, "1", v)
		time.Sleep(time.Minute)
		v, err = c.Get(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, "2", v)
	})
}

// A bubble's time goes on while its goroutines wait for our mutex. While they wait for a standard
// one it stands still, even though the holder only sleeps (golang/go#77687): without help from
// outside that test would never end.
func TestTimeGoesOnBesideAMutex(t *testing.T) {
	require.True(t, goesOn(t, new(sync.Mutex), time.Minute))
	require.False(t, goesOn(t, new(std.Mutex), 50*time.Millisecond), "docs/guides/synctest.md is out of date")
}

// goesOn reports whether time passes in a bubble while one goroutine holds l for an hour and
// another waits for l. If it has not passed when the world outside has lost its patience, l is
// unlocked from there.
func goesOn(t *testing.T, l std.Locker, patience time.Duration) bool {
	t.Helper()
	var unlocked atomic.Bool
	locked, passed := make(chan struct{}), make(chan struct{})
	go func() {
		<-locked
		select {
		case <-passed:
		case <-time.After(patience):
			if unlocked.CompareAndSwap(false, true) {
				l.Unlock()
			}
		}
	}()
	synctest.Test(t, func(*testing.T) {
		l.Lock()
		close(locked)
		go func() {
			l.Lock()
			l.Unlock()
		}()
		time.Sleep(time.Hour)
		if unlocked.CompareAndSwap(false, true) {
			close(passed)
			l.Unlock()
		}
	})
	select {
	case <-passed:
		return true
	default:
		return false
	}
}
