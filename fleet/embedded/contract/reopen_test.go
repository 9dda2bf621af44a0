package contract

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet"
)

// giveUp has the next transaction end without an answer: at once, or when its time is over. It
// returns what carries it out, late.
func (h *hook) giveUp(atOnce bool) (apply <-chan func(context.Context)) {
	late := make(chan func(context.Context), 1)
	do := func(ctx context.Context, apply func(context.Context)) error {
		h.apart.Store(nil)
		late <- apply
		if !atOnce {
			<-ctx.Done()
		}
		return errors.New("unavailable")
	}
	h.apart.Store(&do)
	return late
}

// sent waits for the transaction that giveUp ends.
func (w *world) sent(late <-chan func(context.Context)) (apply func(context.Context)) {
	select {
	case apply = <-late:
	case <-w.ctx.Done():
		require.Fail(w, "no transaction is sent")
	}
	return apply
}

// disturbed is hooked. The process leaves when the test ends, whatever has happened.
func (w *world) disturbed(opts ...fleet.Option) (*fleet.Fleet, *hook) {
	f, h := w.hooked(opts...)
	w.Cleanup(func() {
		h.apart.Store(nil)
		h.get.Store(nil)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = f.Close(ctx)
	})
	return f, h
}

// closed waits until nothing is left of the lines that a process has closed.
func (w *world) closed(f *fleet.Fleet) {
	w.eventually(func() bool {
		all, err := f.Status(w.ctx)
		require.NoError(w, err)
		return len(all) == 0
	}, "forgotten")
}

// A request that had no answer makes its entry after the semaphore was closed, opened again and
// closed. It must not be nobody's.
func TestARequestThatIsLateHasAnOwner(t *testing.T) {
	w := newWorld(t)
	f, h := w.disturbed()
	a := w.semaphore(f, 1)
	late := h.giveUp(true)
	ctx, cancel := context.WithCancel(w.ctx)
	got := make(chan error, 1)
	go func() { got <- a.Acquire(ctx, 1) }()
	apply := w.sent(late)
	cancel()
	require.ErrorIs(t, <-got, context.Canceled)
	a.Close()
	a = w.semaphore(f, 1)
	require.NoError(t, a.AcquireTimeout(10*time.Second, 1))
	a.Release(1)
	a.Close()
	w.closed(f)
	apply(w.ctx)
	b := w.semaphore(w.join(), 1)
	require.NoError(t, b.AcquireTimeout(time.Second, 1), "an entry that nobody owns")
	b.Release(1)
	require.NoError(t, w.closeWithin(f, 10*time.Second))
}

// A semaphore is opened again while permits are held of it. What is held counts, and stays.
func TestOpenedAgainWhilePermitsAreHeld(t *testing.T) {
	w := newWorld(t)
	f := w.join()
	a := w.semaphore(f, 2)
	p, err := a.AcquirePermit(w.ctx, 1)
	require.NoError(t, err)
	require.NoError(t, a.Acquire(w.ctx, 1))
	for range 3 {
		a.Close()
		again := w.semaphore(f, 2)
		require.ErrorIs(t, a.Acquire(w.ctx, 1), fleet.ErrClosed)
		require.ErrorIs(t, again.AcquireTimeout(20*time.Millisecond, 1), context.DeadlineExceeded)
		all, err := f.Status(w.ctx)
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.EqualValues(t, 2, all[0].Held)
		a.Release(1)
		require.NoError(t, again.AcquireTimeout(10*time.Second, 1))
		require.True(t, p.Valid())
		a = again
	}
	a.Release(1)
	p.Release()
	require.NoError(t, a.AcquireTimeout(10*time.Second, 2))
	a.Release(2)
}

// Each transaction looks at the key by which others know the process. Somebody may change it, or
// delete it.
func TestAMembersKeyIsDeleted(t *testing.T) {
	w := newWorld(t)
	a, b := w.semaphore(w.join(), 1), w.semaphore(w.join(), 1)
	for i := range 6 {
		if i%2 == 0 {
			_, err := w.client.Delete(w.ctx, "test/member/", clientv3.WithPrefix())
			require.NoError(t, err)
		} else {
			r, err := w.client.Get(w.ctx, "test/member/", clientv3.WithPrefix())
			require.NoError(t, err)
			for _, kv := range r.Kvs {
				_, err := w.client.Put(w.ctx, string(kv.Key), "{}", clientv3.WithIgnoreLease())
				require.NoError(t, err)
			}
		}
		require.NoError(t, a.AcquireTimeout(10*time.Second, 1))
		a.Release(1)
		require.NoError(t, b.AcquireTimeout(10*time.Second, 1))
		b.Release(1)
	}
}

// A block goes back, and there is no answer. The read that follows is refused. A semaphore that is
// opened then must not use the block: its return may still be under way.
func TestWhatMayBeDeletedIsNotAdopted(t *testing.T) {
	w := newWorld(t)
	f, h := w.disturbed(fleet.WithTTL(8 * time.Second))
	a := w.semaphore(f, 1)
	require.NoError(t, a.Acquire(w.ctx, 1))
	a.Release(1)
	refused := rpctypes.ErrPermissionDenied
	h.get.Store(&refused)
	late := h.giveUp(true)
	a.Close()
	apply := w.sent(late)
	w.eventually(func() bool {
		all, err := f.Status(w.ctx)
		return err != nil || len(all) == 0 || all[0].Refused != ""
	}, "the read is refused")
	h.get.Store(nil)
	a = w.semaphore(f, 1)
	w.overlaps(f, a, apply)
}

// overlaps has one process acquire the permit, has something be carried out that is late, and has
// another process wait for the permit. Both must not have it.
func (w *world) overlaps(f *fleet.Fleet, a *fleet.Semaphore, apply func(context.Context)) {
	var p *fleet.Permit
	w.eventually(func() bool {
		ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
		defer cancel()
		if q, err := a.AcquirePermit(ctx, 1); err == nil {
			p = q
		} else {
			a = w.semaphore(f, 1)
		}
		return p != nil
	}, "the permit")
	b := w.semaphore(w.join(), 1)
	got := make(chan error, 1)
	go func() { got <- b.AcquireTimeout(20*time.Second, 1) }()
	w.eventually(func() bool { return b.Waiting() == 1 }, "it waits")
	apply(w.ctx)
	select {
	case err := <-got:
		if err == nil {
			b.Release(1)
		}
		w.Fatal("another process has been given the permit")
	case <-p.Lost():
		w.Fatal("the permit is lost")
	case <-time.After(500 * time.Millisecond):
	}
	p.Release()
	require.NoError(w, <-got)
	b.Release(1)
	require.NoError(w, w.closeWithin(f, 10*time.Second))
}

// A read was refused once, and then no more. A block that goes back afterwards is not back before
// etcd has said so.
func TestARefusalThatIsOverCountsNoMore(t *testing.T) {
	w := newWorld(t)
	f, h := w.disturbed(fleet.WithTTL(8 * time.Second))
	h.deaf.Store(true) // it is asked all the time whether there is news
	a := w.semaphore(f, 1)
	require.NoError(t, a.Acquire(w.ctx, 1))
	a.Release(1)
	refused := rpctypes.ErrPermissionDenied
	h.get.Store(&refused)
	isRefused := func() bool {
		all, err := f.Status(w.ctx)
		require.NoError(t, err)
		return len(all) > 0 && all[0].Refused != ""
	}
	w.eventually(isRefused, "a read is refused")
	h.get.Store(nil)
	h.deaf.Store(false)
	w.eventually(func() bool { return !isRefused() }, "no more")
	late := h.giveUp(false)
	a.Close()
	apply := w.sent(late)
	a = w.semaphore(f, 1)
	w.overlaps(f, a, apply)
}

// What a process is refused it is told for as long as it is, also if it does nothing.
func TestARefusalEnds(t *testing.T) {
	w := newWorld(t)
	f, h := w.disturbed(fleet.WithTTL(2 * time.Second))
	h.deaf.Store(true)
	w.semaphore(f, 1)
	isRefused := func() bool {
		all, err := f.Status(w.ctx)
		require.NoError(t, err)
		return len(all) > 0 && all[0].Refused != ""
	}
	refused := rpctypes.ErrPermissionDenied
	h.get.Store(&refused)
	w.eventually(isRefused, "a read is refused")
	h.get.Store(nil)
	h.deaf.Store(false)
	w.eventually(func() bool { return !isRefused() }, "no more")
	require.NoError(t, w.closeWithin(f, 10*time.Second))
}

// What had no answer once does not stay for the life of the process.
func TestAClosedSemaphoreIsForgottenAfterAHiccup(t *testing.T) {
	w := newWorld(t)
	f, h := w.disturbed()
	for _, applied := range []bool{false, true} {
		a := w.semaphore(f, 1)
		late := h.giveUp(true)
		got := make(chan error, 1)
		go func() { got <- a.AcquireTimeout(10*time.Second, 1) }()
		if apply := w.sent(late); applied {
			apply(w.ctx)
		}
		require.NoError(t, <-got)
		a.Release(1)
		a.Close()
		w.closed(f)
		require.Zero(t, w.entries("semaphore"))
	}
	require.NoError(t, w.closeWithin(f, 10*time.Second))
}

// Permits that are taken one by one are a few entries, and go back at once.
func TestPermitsTakenOneByOneAreAFewEntries(t *testing.T) {
	w := newWorld(t)
	f, h := w.disturbed()
	a, b := w.semaphore(f, 1000), w.semaphore(w.join(), 1000)
	for range 1000 {
		require.NoError(t, a.Acquire(w.ctx, 1))
		require.LessOrEqual(t, w.entries("semaphore"), 8)
	}
	before := h.txns.Load()
	a.Release(1000)
	require.NoError(t, b.Acquire(w.ctx, 1000))
	require.LessOrEqual(t, h.txns.Load()-before, int64(2))
	b.Release(1000)
	require.NoError(t, w.closeWithin(f, 10*time.Second))
}
