//go:build !interleave

package rwlock

import (
	"testing"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
)

// While the bias of a lock that is observed already ends, readers may leave through the table that
// are counted and recorded. Nothing of them stays.
func TestRecordedReadersLeaveWhileTheBiasEnds(t *testing.T) {
	l := NewBiased()
	require.True(t, records.Watch(l, t.Name(), observed.Holders))
	defer records.Unwatch(l)
	l.observe(false)
	locktest.Eventually(t, "the lock is biased", func() bool {
		l.e.Rebias()
		return l.e.MayHide()
	})
	l.RLock()                            // it hides
	(*engine.Engine)(&l.e).Observe(true) // the first half of what Watch does
	locktest.Receive(t, done(func() {
		l.RLock()
		l.RUnlock()
	}))
	l.e.Unbias() // the second
	locks, _ := records.Read()
	require.Len(t, locks, 1)
	require.Empty(t, locks[0].Holders)
	require.Equal(t, int64(1), locks[0].Size-locks[0].Free)
	l.RUnlock()
}

func done(f func()) chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return done
}
