package contract

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/internal/clock"
)

// revoke ends a permit's lease behind the back of its process.
func (w *world) revoke(p *fleet.Permit) {
	_, err := w.client.Revoke(w.ctx, clientv3.LeaseID(p.Token().Lease))
	require.NoError(w, err)
}

func TestALostLease(t *testing.T) {
	w := newWorld(t)
	s := w.semaphore(w.join(fleet.WithTTL(2*time.Second)), 2)
	p, err := s.AcquirePermit(w.ctx, 1)
	require.NoError(t, err)
	require.NoError(t, s.Acquire(w.ctx, 1))
	require.NoError(t, p.Context().Err())
	got := make(chan *fleet.Permit)
	go func() {
		q, err := s.AcquirePermit(w.ctx, 2)
		if err != nil {
			t.Error(err)
		}
		got <- q
	}()
	w.eventually(func() bool { return s.Waiting() == 1 }, "it waits")
	var f fleet.Future
	s.Bind(&f, 1)
	require.False(t, f.Poll(nil))
	w.revoke(p)
	<-p.Lost()
	require.ErrorIs(t, context.Cause(p.Context()), fleet.ErrLost)
	require.False(t, p.Valid())
	<-f.Done()
	require.ErrorIs(t, f.Err(), fleet.ErrLost)
	f.Release()
	q := <-got // on a new lease
	require.True(t, q.Valid())
	require.NotEqual(t, p.Token().Lease, q.Token().Lease)
	require.Positive(t, q.Token().Compare(p.Token()))
	require.NotContains(t, q.Token().Survivors, p.Token().Lease)
	p.Release()
	s.Release(1) // of the time before
	require.Panics(t, func() { s.Release(1) })
	require.True(t, q.Valid(), "what was released was not its own")
	q.Release()
}

func TestAnOperatorDeletesAnEntry(t *testing.T) {
	w := newWorld(t)
	s := w.semaphore(w.join(), 3)
	p, err := s.AcquirePermit(w.ctx, 1)
	require.NoError(t, err)
	r, err := w.client.Delete(w.ctx, "test/semaphore/s/q/", clientv3.WithPrefix())
	require.NoError(t, err)
	require.EqualValues(t, 1, r.Deleted)
	<-p.Lost()
	q, err := s.AcquirePermit(w.ctx, 3)
	require.NoError(t, err)
	require.True(t, q.Valid())
	require.Equal(t, p.Token().Lease, q.Token().Lease, "the lease was not lost")
	p.Release()
	q.Release()
}

func TestAnOperatorChangesAnEntry(t *testing.T) {
	w := newWorld(t)
	s := w.semaphore(w.join(), 3)
	p, err := s.AcquirePermit(w.ctx, 3)
	require.NoError(t, err)
	r, err := w.client.Get(w.ctx, "test/semaphore/s/q/", clientv3.WithPrefix())
	require.NoError(t, err)
	key := string(r.Kvs[0].Key)
	_, err = w.client.Put(w.ctx, key, "2", clientv3.WithIgnoreLease())
	require.NoError(t, err)
	<-p.Lost()
	require.ErrorIs(t, s.AcquireTimeout(30*time.Millisecond, 2), context.DeadlineExceeded, "the holder still runs")
	require.NoError(t, s.Acquire(w.ctx, 1))
	p.Release()
	require.NoError(t, s.Acquire(w.ctx, 2), "all has come back")
	s.Release(3)
}

func TestKeysOfOthersAreNotTrusted(t *testing.T) {
	w := newWorld(t)
	s := w.semaphore(w.join(), 2)
	for k, v := range map[string]string{
		"q/0000000000000001/zzzzzzzzzzzzzzzz": "1", "q/x": "1", "q/": "", "other": "7",
		"q/0000000000000001/0000000000000001": "many", "q/0000000000000002/0000000000000001": "-5",
		"q/0000000000000003/0000000000000001": "9999999999999999999999", "q/ffffffffffffffff/0000000000000001": "1",
	} {
		_, err := w.client.Put(w.ctx, "test/semaphore/s/"+k, v)
		require.NoError(t, err)
	}
	require.NoError(t, s.Acquire(w.ctx, 2))
	s.Release(2)
	_, err := w.client.Put(w.ctx, "test/semaphore/s/size", "rubbish")
	require.NoError(t, err)
	w.eventually(func() bool { return s.Size() == 0 }, "what does not parse is nothing")
	require.ErrorIs(t, s.Acquire(w.ctx, 3), fleet.ErrTooLarge)
}

func TestTheWatchIsCompacted(t *testing.T) {
	w := newWorld(t)
	a, b := w.semaphore(w.join(), 1), w.semaphore(w.join(), 1)
	for range 5 {
		require.NoError(t, a.Acquire(w.ctx, 1))
		a.Release(1)
		require.NoError(t, b.Acquire(w.ctx, 1))
		b.Release(1)
		r, err := w.client.Put(w.ctx, "elsewhere", "")
		require.NoError(t, err)
		_, err = w.client.Compact(w.ctx, r.Header.GetRevision(), clientv3.WithCompactPhysical())
		require.NoError(t, err)
	}
}

// What is released is not always of the tenancy that it was acquired from.
func TestReleaseAfterALoss(t *testing.T) {
	w := newWorld(t)
	s := w.semaphore(w.join(), 4)
	p, err := s.AcquirePermit(w.ctx, 1)
	require.NoError(t, err)
	require.NoError(t, s.Acquire(w.ctx, 3))
	w.revoke(p)
	<-p.Lost()
	require.NoError(t, s.Acquire(w.ctx, 1))
	s.Release(1)
	require.NotPanics(t, func() { s.Release(3) })
	p.Release()
	require.Panics(t, func() { s.Release(1) })
	require.NoError(t, s.Acquire(w.ctx, 4))
	s.Release(4)
}

// A future that has told of a loss asks for nothing more before Release.
func TestAFutureAfterALoss(t *testing.T) {
	w := newWorld(t)
	s := w.semaphore(w.join(), 1)
	var f fleet.Future
	s.Bind(&f, 1)
	<-f.Done()
	require.NoError(t, f.Err())
	_, err := w.client.Delete(w.ctx, "test/semaphore/s/q/", clientv3.WithPrefix())
	require.NoError(t, err)
	w.eventually(func() bool { return f.Err() != nil }, "the loss is noticed")
	require.ErrorIs(t, f.Err(), fleet.ErrLost)
	<-f.Done()
	require.NoError(t, s.AcquireTimeout(5*time.Second, 1), "the future has asked for nothing")
	s.Release(1)
	f.Release()
	f.Release()
}

// The largest number that parses is not the largest size.
func TestAnOperatorWritesAHugeSize(t *testing.T) {
	w := newWorld(t)
	s := w.semaphore(w.join(), 1)
	_, err := w.client.Put(w.ctx, "test/semaphore/s/size", "9223372036854775807")
	require.NoError(t, err)
	w.eventually(func() bool { return s.Size() == fleet.MaxPermits }, "the largest size")
	require.NoError(t, s.AcquireTimeout(5*time.Second, fleet.MaxPermits))
	s.Release(fleet.MaxPermits)
	require.ErrorIs(t, s.Acquire(w.ctx, fleet.MaxPermits+1), fleet.ErrTooLarge)
}

// Who asks the fleet is answered, also if the lease is lost meanwhile.
func TestTryAcquireContextBesideALoss(t *testing.T) {
	w := newWorld(t)
	s := w.semaphore(w.join(), 1)
	for range 5 {
		p, err := s.AcquirePermit(w.ctx, 1)
		require.NoError(t, err)
		w.revoke(p)
		<-p.Lost()
		ok, err := s.TryAcquireContext(w.ctx, 1)
		require.NoError(t, err)
		require.True(t, ok, "nobody else wants it")
		p.Release()
		s.Release(1)
	}
}

// What is asked for once the time of a session has run out is asked for with another lease, also if
// nobody has noticed yet. The old lease would keep the place until its end, and grant to nobody.
func TestAnExpiredSessionAsksForNothing(t *testing.T) {
	w := newWorldAlone(t)
	const ttl = 20 * time.Second // the clocks are looked at once a second
	s := w.semaphore(w.join(fleet.WithTTL(ttl)), 1)
	t.Cleanup(func() { clock.Skew.Store(0) })
	for i := range 5 {
		clock.Skew.Add(int64(ttl)) // the machine was suspended
		p, err := w.permitWithin(s, ttl/2)
		require.NoError(t, err, "loss %d: the place is taken until the old lease ends", i)
		require.True(t, p.Valid())
		p.Release()
		_, err = w.client.Delete(w.ctx, "test/semaphore/s/q/", clientv3.WithPrefix()) // so that it has to ask
		require.NoError(t, err)
		<-p.Lost()
	}
}

func (w *world) permitWithin(s *fleet.Semaphore, d time.Duration) (*fleet.Permit, error) {
	ctx, cancel := context.WithTimeout(w.ctx, d)
	defer cancel()
	return s.AcquirePermit(ctx, 1)
}
