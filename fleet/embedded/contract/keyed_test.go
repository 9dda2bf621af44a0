package contract

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet"
)

func (w *world) keyed(f *fleet.Fleet, size int64) *fleet.Keyed {
	k, err := f.Keyed(w.ctx, "s", size)
	require.NoError(w, err)
	return k
}

// keys returns how many keys etcd has of all lines.
func (w *world) keys() int {
	all, err := w.client.Get(w.ctx, "test/keyed/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	require.NoError(w, err)
	return int(all.Count)
}

// Of no key is more in use than there is, and keys that nobody uses leave nothing in etcd.
func TestKeyed(t *testing.T) {
	w := newWorld(t)
	const keys, size = 5, 2
	var held [keys]atomic.Int64
	var users sync.WaitGroup
	var all []*fleet.Keyed
	for i := range 3 {
		k := w.keyed(w.join(fleet.WithTenure(time.Millisecond)), size)
		all = append(all, k)
		for j := range 4 {
			r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
			users.Go(func() {
				for range 30 {
					key, n := r.IntN(keys), 1+r.Int64N(size)
					name := fmt.Sprint("tenant/", key)
					if err := k.Acquire(w.ctx, name, n); err != nil {
						t.Error(err)
						return
					}
					if h := held[key].Add(n); h > size {
						t.Errorf("%d are held", h)
					}
					time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
					held[key].Add(-n)
					k.Release(name, n)
				}
			})
		}
	}
	users.Wait()
	w.eventually(func() bool { return w.keys() == 0 }, "something is left in etcd")
	for _, k := range all {
		w.eventually(func() bool { return k.Len() == 0 }, "something is left in a process")
	}
}

// A key of a lost session is lost, others get it, and its tokens grow. One that is resized has
// another size for all.
func TestKeyedByOtherMeans(t *testing.T) {
	w := newWorld(t)
	a, b := w.keyed(w.join(), 1), w.keyed(w.join(), 1)
	p, err := a.AcquirePermit(w.ctx, "x", 1)
	require.NoError(t, err)
	ok, err := b.TryAcquireContext(w.ctx, "x", 1)
	require.NoError(t, err)
	require.False(t, ok)
	ok, err = b.TryAcquireContext(w.ctx, "y", 1)
	require.NoError(t, err)
	require.True(t, ok)
	got := make(chan *fleet.Permit)
	go func() {
		p, err := b.AcquirePermit(w.ctx, "x", 1)
		if err != nil {
			t.Error(err)
		}
		got <- p
	}()
	w.eventually(func() bool { return w.keys() == 3 }, "it waits")
	_, err = w.client.Revoke(w.ctx, clientv3.LeaseID(p.Token().Lease))
	require.NoError(t, err)
	next := <-got
	<-p.Lost()
	require.Positive(t, next.Token().Compare(p.Token()))
	p.Release()
	next.Release()
	b.Release("y", 1)
	w.eventually(func() bool { return w.keys() == 0 }, "nobody uses a key")
	again, err := a.AcquirePermit(w.ctx, "x", 1)
	require.NoError(t, err)
	require.Positive(t, again.Token().Compare(next.Token()), "the line was gone")
	again.Release()

	require.ErrorIs(t, a.Acquire(w.ctx, "x", 2), fleet.ErrTooLarge)
	require.NoError(t, a.Resize(w.ctx, "x", 3))
	require.NoError(t, b.Acquire(w.ctx, "x", 2))
	require.NoError(t, a.Acquire(w.ctx, "x", 1))
	require.ErrorIs(t, a.AcquireTimeout(50*time.Millisecond, "x", 1), context.DeadlineExceeded)
	_, err = w.client.Delete(w.ctx, "test/keyed/s%2Fx/size")
	require.NoError(t, err)
	b.Release("x", 2)
	a.Release("x", 1)
	w.eventually(func() bool { return w.keys() == 0 }, "its size is gone")
	require.ErrorIs(t, a.Acquire(w.ctx, "x", 2), fleet.ErrTooLarge)
	a.Close()
	require.ErrorIs(t, a.Acquire(w.ctx, "x", 1), fleet.ErrClosed)
}

// Keys that were used cost a process at rest nothing: requests, streams, goroutines.
func TestKeysAtRestCostNothing(t *testing.T) {
	w := newWorldAlone(t)
	const keys, ttl = 500, 2 * time.Second
	f, m := w.metered(fleet.WithTTL(ttl))
	k := w.keyed(f, 2)
	use := func(n int) {
		var users sync.WaitGroup
		for i := range n {
			users.Go(func() {
				if err := k.Acquire(w.ctx, fmt.Sprint(i), 1); err != nil {
					t.Error(err)
					return
				}
				k.Release(fmt.Sprint(i), 1)
			})
		}
		users.Wait()
		w.eventually(func() bool { return k.Len() == 0 && w.keys() == 0 }, "keys are left")
	}
	use(1)
	streams, before := m.streams.Load(), m.requests.Load()
	use(keys)
	require.Less(t, m.streams.Load(), streams+keys/10, "no stream a key; renewals may be under way")
	require.Less(t, m.requests.Load()-before, int64(3*keys), "two requests a key, and some that are repeated")
	// Three renewals a TTL, and a sign of life. On a busy machine some are repeated.
	before = m.requests.Load()
	time.Sleep(ttl)
	require.Less(t, m.requests.Load()-before, int64(keys/5), "requests of a process at rest")
}
