package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet"
)

// take acquires n permits one after the other: each is an entry of its own.
func (w *world) take(s *fleet.Semaphore, n int) {
	for range n {
		require.NoError(w, s.Acquire(w.ctx, 1))
	}
	require.Equal(w, n, w.entries("semaphore"))
}

// What is in more entries than etcd deletes in one transaction comes back all the same.
func TestMoreEntriesThanATransactionTakes(t *testing.T) {
	t.Run("another process wants them", func(t *testing.T) {
		w := newWorld(t)
		a, b := w.semaphore(w.join(), 400), w.semaphore(w.join(), 400)
		w.take(a, 300)
		a.Release(200)
		require.NoError(t, b.AcquireTimeout(10*time.Second, 300))
		b.Release(300)
		a.Release(100)
	})
	for _, n := range []int{63, 64, 127, 128, 300} {
		t.Run("the process leaves", func(t *testing.T) {
			w := newWorld(t)
			f := w.apart()
			s := w.semaphore(f, 400)
			w.take(s, n)
			s.Release(int64(n))
			require.NoError(t, w.closeWithin(f, 10*time.Second), "%d entries", n)
		})
	}
}
