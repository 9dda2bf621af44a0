package contract

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

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
	w.take(a, 2)
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
