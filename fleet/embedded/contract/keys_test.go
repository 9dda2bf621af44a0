package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/farad-go/farad/fleet"
)

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
	require.NoError(t, b.AcquireTimeout(patience, 1))
	b.Release(1)
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
		require.NoError(t, a.AcquireTimeout(patience, 1))
		a.Release(1)
		require.NoError(t, b.AcquireTimeout(patience, 1))
		b.Release(1)
	}
}

// use opens n mutexes of f, and locks and unlocks each.
func (w *world) use(f *fleet.Fleet, n int) {
	for i := range n {
		m, err := f.Mutex(w.ctx, fmt.Sprint("m", i))
		require.NoError(w, err)
		p, err := m.Lock(w.ctx)
		require.NoError(w, err, "mutex %d", i)
		p.Release()
	}
}

// A server, or a proxy, that allows a connection 100 streams limits no locks.
func TestManyLocksOverFewStreams(t *testing.T) {
	w := newWorld(t, func(c *embed.Config) { c.MaxConcurrentStreams = 100 })
	const locks, ttl = 300, time.Minute
	a := w.join(fleet.WithTTL(ttl))
	b := w.join(fleet.WithTTL(ttl))
	w.use(a, locks)
	w.use(b, locks) // a has them, and has to see that b wants them
	done := make(chan error, locks)
	for i := range locks { // all at a time
		go func() {
			m, err := a.Mutex(w.ctx, fmt.Sprint("m", i))
			if err != nil {
				done <- err
				return
			}
			p, err := m.Lock(w.ctx)
			p.Release()
			done <- err
		}()
	}
	for range locks {
		require.NoError(t, <-done)
	}
}
