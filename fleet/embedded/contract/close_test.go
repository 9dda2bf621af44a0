package contract

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet"
)

// apart joins a process whose end the test sees to.
func (w *world) apart(opts ...fleet.Option) *fleet.Fleet {
	f, err := fleet.New(w.ctx, w.newClient(), "test", opts...)
	require.NoError(w, err)
	return f
}

func (w *world) closeWithin(f *fleet.Fleet, d time.Duration) error {
	ctx, cancel := context.WithTimeout(w.ctx, d)
	defer cancel()
	return f.Close(ctx)
}

// What a Close that gave up leaves held is lost in time, although its driver has ended.
func TestCloseThatGivesUp(t *testing.T) {
	w := newWorld(t)
	f := w.apart(fleet.WithTTL(2 * time.Second))
	p, err := w.semaphore(f, 1).AcquirePermit(w.ctx, 1)
	require.NoError(t, err)
	require.ErrorIs(t, w.closeWithin(f, 20*time.Millisecond), context.DeadlineExceeded)
	require.True(t, p.Valid(), "its time has not run out")
	select {
	case <-p.Lost():
	case <-time.After(4 * time.Second):
		t.Fatal("not lost")
	}
	require.False(t, p.Valid())
}

// A second Close must not give the lease away under those that still hold.
func TestCloseAgainDoesNotRevokeWhatIsHeld(t *testing.T) {
	w := newWorld(t)
	f := w.apart(fleet.WithTTL(2 * time.Second))
	p, err := w.semaphore(f, 1).AcquirePermit(w.ctx, 1)
	require.NoError(t, err)
	require.ErrorIs(t, w.closeWithin(f, 20*time.Millisecond), context.DeadlineExceeded)
	require.ErrorIs(t, w.closeWithin(f, 20*time.Millisecond), context.DeadlineExceeded)
	_, err = f.Mutex(w.ctx, "m")
	require.ErrorIs(t, err, fleet.ErrClosed)
	b := w.semaphore(w.join(), 1)
	q, err := b.AcquirePermit(w.ctx, 1)
	require.NoError(t, err)
	require.False(t, p.Valid(), "another process has it")
	q.Release()
	require.NoError(t, w.closeWithin(f, time.Second), "nothing is left to wait for")
}
