package contract

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/etcd"
)

// apart joins a process whose end the test sees to.
func (w *world) apart(opts ...fleet.Option) *fleet.Fleet {
	f, err := fleet.New(w.ctx, etcd.New(w.newClient(), "test"), opts...)
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

// A transaction without an answer says nothing of what is free: a try asks again.
func TestATryThatHasNoAnswerAsksAgain(t *testing.T) {
	w := newWorld(t)
	f, h := w.hooked()
	s := w.semaphore(f, 1)
	fails := func(context.Context) error {
		h.txn.Store(nil)
		return errors.New("unavailable")
	}
	h.txn.Store(&fails)
	ok, err := s.TryAcquireContext(w.ctx, 1)
	require.NoError(t, err)
	require.True(t, ok, "it was free")
	s.Release(1)
	require.NoError(t, w.closeWithin(f, 10*time.Second))
}

// After Close nothing of the membership uses the client, which may be closed then.
func TestCloseWaitsForCallsOfTheClient(t *testing.T) {
	w := newWorld(t)
	slowWatch := func(ctx context.Context) { _ = late(ctx) }
	f, h := w.hooked()
	h.watch.Store(&slowWatch)
	w.semaphore(f, 1)
	w.eventually(func() bool { return h.running.Load() == 1 }, "it watches")
	require.NoError(t, w.closeWithin(f, 10*time.Second))
	require.Zero(t, h.running.Load(), "a watch")

	f, h = w.hooked()
	s := w.semaphore(f, 1)
	fail := make(chan error)
	slowTxn := func(ctx context.Context) error {
		select {
		case err := <-fail:
			return err
		case <-ctx.Done():
			return late(ctx)
		}
	}
	h.txn.Store(&slowTxn)
	waits, asks := make(chan error, 1), make(chan error, 1)
	go func() { waits <- s.Acquire(w.ctx, 1) }()
	go func() {
		_, err := s.TryAcquireContext(w.ctx, 1)
		asks <- err
	}()
	w.eventually(func() bool { return h.running.Load() == 1 && s.Waiting() == 2 }, "it asks")
	fail <- errors.New("unavailable")
	w.eventually(func() bool { return h.txns.Load() == 3 }, "it asks again, for both")
	require.ErrorIs(t, w.closeWithin(f, 20*time.Millisecond), context.DeadlineExceeded)
	require.Zero(t, h.running.Load(), "a transaction")
	require.ErrorIs(t, <-waits, fleet.ErrClosed)
	require.ErrorIs(t, <-asks, fleet.ErrClosed)
	require.NoError(t, w.closeWithin(f, 10*time.Second), "the lease's time is over")
}
