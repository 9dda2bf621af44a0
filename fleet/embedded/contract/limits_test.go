package contract

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet"
)

// What is in more entries than etcd deletes in one transaction comes back all the same. A process
// merges its entries, and so has a few. Here somebody writes more, on its lease.
func TestMoreEntriesThanATransactionTakes(t *testing.T) {
	const n = 300
	w := newWorld(t)
	a, b := w.semaphore(w.join(fleet.WithTTL(time.Minute)), n), w.semaphore(w.join(), n)
	p, err := a.AcquirePermit(w.ctx, 1)
	require.NoError(t, err)
	lease := p.Token().Lease
	for i := range n - 1 {
		key := fmt.Sprintf("test/semaphore/s/q/%016x/%016x", lease, 1<<40+i)
		_, err := w.client.Put(w.ctx, key, "1", clientv3.WithLease(clientv3.LeaseID(lease)))
		require.NoError(t, err)
	}
	require.Equal(t, n, w.entries("semaphore"))
	p.Release()
	require.NoError(t, b.AcquireTimeout(10*time.Second, n))
	b.Release(n)
}

// fill has etcd do as it does without space, until empty is called: it refuses what writes.
func (w *world) fill() (empty func()) {
	st, err := w.client.Status(w.ctx, w.server.Endpoints()[0])
	require.NoError(w, err)
	alarm := &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_ACTIVATE,
		Alarm:  etcdserverpb.AlarmType_NOSPACE, MemberID: st.Header.MemberId,
	}
	_, err = etcdserverpb.NewMaintenanceClient(w.client.ActiveConnection()).Alarm(w.ctx, alarm)
	require.NoError(w, err)
	return func() {
		_, err := w.client.AlarmDisarm(w.ctx, &clientv3.AlarmMember{MemberID: alarm.MemberID, Alarm: alarm.Alarm})
		require.NoError(w, err)
	}
}

// Who is in the line when etcd runs out of space is served, also if the holder's process wants
// more.
func TestWhoWaitsIsServedWithoutSpace(t *testing.T) {
	w := newWorld(t)
	f, h := w.hooked(fleet.WithTenure(0))
	a, b := w.semaphore(f, 2), w.semaphore(w.join(), 2)
	require.NoError(t, a.Acquire(w.ctx, 1))
	require.NoError(t, a.Acquire(w.ctx, 1)) // two entries
	got, again := make(chan error, 1), make(chan error, 1)
	go func() { got <- b.Acquire(w.ctx, 2) }()
	w.eventually(func() bool { return w.entries("semaphore") == 3 }, "it is in the line")
	empty := w.fill()
	before := h.txns.Load()
	go func() { again <- a.Acquire(w.ctx, 1) }()
	w.eventually(func() bool { return h.txns.Load() > before+1 }, "it asks, and is refused")
	a.Release(1)
	a.Release(1)
	w.eventually(func() bool { return w.entries("semaphore") == 1 }, "what was released comes back")
	require.NoError(t, <-got)
	b.Release(2)
	empty()
	require.NoError(t, <-again)
	a.Release(1)
	require.NoError(t, w.closeWithin(f, 10*time.Second))
}

// A process may join for as long as a TTL can be, and keep a block for ever while it uses it.
func TestTheLongestTimes(t *testing.T) {
	const year = 365 * 24 * time.Hour
	require.Panics(t, func() { fleet.WithTTL(year + 1) })
	w := newWorld(t)
	f, h := w.hooked(fleet.WithTTL(year), fleet.WithTenure(math.MaxInt64))
	a, b := w.semaphore(f, 1), w.semaphore(w.join(), 1)
	p, err := a.AcquirePermit(w.ctx, 1)
	require.NoError(t, err)
	require.True(t, p.Valid())
	got := make(chan error, 1)
	go func() { got <- b.Acquire(w.ctx, 1) }()
	w.eventually(func() bool { return w.entries("semaphore") == 2 }, "it waits")
	before := h.txns.Load()
	for range 100 { // each waits before the other releases
		next := make(chan *fleet.Permit)
		go func() {
			q, err := a.AcquirePermit(w.ctx, 1)
			if err != nil {
				t.Error(err)
			}
			next <- q
		}()
		w.eventually(func() bool { return a.Waiting() == 1 }, "it waits")
		p.Release()
		p = <-next
	}
	require.Equal(t, before, h.txns.Load(), "handed on here")
	p.Release()
	require.NoError(t, <-got, "nobody waits here")
	b.Release(1)
	require.NoError(t, w.closeWithin(f, 10*time.Second))
}

// What an operator writes by hand has a newline at its end.
func TestAnOperatorEchoesASize(t *testing.T) {
	w := newWorld(t)
	_, err := w.client.Put(w.ctx, "test/semaphore/s/size", "40\n")
	require.NoError(t, err)
	s := w.semaphore(w.join(), 1)
	require.EqualValues(t, 40, s.Size())
	require.NoError(t, s.Acquire(w.ctx, 40))
	s.Release(40)
	_, err = w.client.Put(w.ctx, "test/semaphore/s/size", "50\n")
	require.NoError(t, err)
	w.eventually(func() bool { return s.Size() == 50 }, "a watch says the same")
}

// Somebody deletes the size while the line is in use. Who opens it then does not decide on another
// one: it is 0 until somebody says what it is to be. A line that nobody uses is a new one.
func TestASizeThatIsDeleted(t *testing.T) {
	w := newWorld(t)
	f := w.join()
	a := w.semaphore(f, 3)
	require.NoError(t, a.Acquire(w.ctx, 1))
	_, err := w.client.Delete(w.ctx, "test/semaphore/s/size")
	require.NoError(t, err)
	w.eventually(func() bool { return a.Size() == 0 }, "it is gone")
	b := w.semaphore(w.join(), 1)
	require.Zero(t, b.Size())
	require.ErrorIs(t, b.Acquire(w.ctx, 1), fleet.ErrTooLarge)
	require.NoError(t, b.Resize(w.ctx, 3))
	require.NoError(t, b.Acquire(w.ctx, 2))
	a.Release(1)
	b.Release(2)

	a.Close()
	b.Close()
	w.eventually(func() bool { return w.entries("semaphore") == 0 }, "nobody uses it")
	_, err = w.client.Delete(w.ctx, "test/semaphore/s/size")
	require.NoError(t, err)
	require.EqualValues(t, 1, w.semaphore(f, 1).Size())
}

// An entry that is not on the lease that its key names would outlive its process. It does not
// count.
func TestAnEntryOnNoLeaseDoesNotCount(t *testing.T) {
	w := newWorld(t)
	a, b := w.semaphore(w.join(), 1), w.semaphore(w.join(), 1)
	p, err := a.AcquirePermit(w.ctx, 1)
	require.NoError(t, err)
	p.Release()
	_, err = w.client.Put(w.ctx, fmt.Sprintf("test/semaphore/s/q/%016x/%016x", p.Token().Lease, 1<<40), "1")
	require.NoError(t, err)
	_, err = w.client.Put(w.ctx, fmt.Sprintf("test/semaphore/s/q/%016x/%016x", 4711, 1), "1")
	require.NoError(t, err)
	require.NoError(t, b.AcquireTimeout(10*time.Second, 1))
	b.Release(1)
}

// A request that arrives twice makes one entry, as it was made first: it does not get back what it
// has returned.
func TestARequestThatArrivesTwice(t *testing.T) {
	w := newWorld(t)
	f, h := w.disturbed()
	a, b := w.semaphore(f, 3), w.semaphore(w.join(), 3)
	again := make(chan func(context.Context), 1)
	do := func(_ context.Context, apply func(context.Context)) error {
		h.apart.Store(nil)
		again <- apply
		return nil
	}
	h.apart.Store(&do)
	p, err := a.AcquirePermit(w.ctx, 3)
	require.NoError(t, err)
	p.Release()
	require.NoError(t, a.Acquire(w.ctx, 1))
	require.NoError(t, b.Acquire(w.ctx, 2))
	(<-again)(w.ctx)
	r, err := w.client.Get(w.ctx, "test/semaphore/s/q/", clientv3.WithPrefix())
	require.NoError(t, err)
	var weights []string
	for _, kv := range r.Kvs {
		weights = append(weights, string(kv.Value))
	}
	require.ElementsMatch(t, []string{"1", "2"}, weights)
	a.Release(1)
	b.Release(2)
	require.NoError(t, w.closeWithin(f, 10*time.Second))
}
