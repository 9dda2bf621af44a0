package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/internal/memstore"
	"github.com/farad-go/farad/fleet/store"
)

func (b *bubble) keyed(f *Fleet, size int64) *Keyed {
	b.Helper()
	k, err := f.Keyed(b.ctx, "k", size)
	require.NoError(b, err)
	return k
}

// key acquires one permit of a key.
func (b *bubble) key(k *Keyed, key string) *Permit {
	b.Helper()
	p, err := k.Acquire(b.ctx, key, 1)
	require.NoError(b, err)
	return p
}

// asksKey has a goroutine acquire one permit of a key, and returns what comes of it.
func (b *bubble) asksKey(k *Keyed, key string) <-chan outcome {
	got := make(chan outcome, 1)
	go func() {
		p, err := k.Acquire(b.ctx, key, 1)
		got <- outcome{p, err}
	}()
	return got
}

// Many keys, used in turn, leave nothing in the store, and in the process no more than those in
// use. All share a watch.
func TestKeysLeaveNothing(t *testing.T) {
	first, keys := 10_000, 100_000
	if testing.Short() {
		first, keys = 4_000, 4_000
	}
	inBubble(t, func(b *bubble) {
		b.Put()
		b.Forget() // the watch does not begin with what was long ago
		f, c := b.join(0)
		k := b.keyed(f, 3)
		used := 0
		use := func(n int) (most int) {
			var users sync.WaitGroup
			for i := range 8 {
				users.Go(func() {
					for j := i; j < n; j += 8 {
						key := fmt.Sprintf("tenant %d", used+j)
						p, err := k.Acquire(b.ctx, key, 1)
						if err != nil {
							b.Error(err)
							return
						}
						time.Sleep(10 * time.Millisecond)
						p.Release()
						if i == 0 {
							most = max(most, k.Len())
						}
					}
				})
			}
			users.Wait()
			used += n
			b.settle()
			return most
		}
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		use(first) // the store remembers some thousand changes
		before, asked := heap(), c.Asked("txn")+c.Asked("read")
		most := use(keys)
		after := heap()
		require.Less(b, int64(after)-int64(before), int64(1<<20))
		require.Zero(b, b.Lines(), "rows left")
		require.Zero(b, k.Len())
		require.Empty(b, f.running())
		require.LessOrEqual(b, most, 8*4, "held, and those of the last 20 ms")
		require.Equal(b, 2*keys, c.Asked("txn")+c.Asked("read")-asked, "a request to take, one to return")
		require.Equal(b, 1, c.Open(""), "one watch")
		require.Equal(b, 1, c.Asked("watch"))

		before2 := c.Asked("txn") + c.Asked("read") + c.Asked("revision") + c.Asked("renew")
		time.Sleep(time.Minute)
		require.LessOrEqual(b, c.Asked("txn")+c.Asked("read")+c.Asked("revision")+c.Asked("renew")-before2, 60)
		runtime.KeepAlive(k)
		b.leave(f)
	})
}

// What an acquire of a key costs, by how many keys there are: requests are round trips, and each
// transaction that changes something is a write.
func TestWhatAKeyCosts(t *testing.T) {
	if testing.Short() {
		t.Skip("counts requests, which are the same under the race detector")
	}
	for _, cost := range []struct {
		processes, goroutines, keys int
		think                       time.Duration // between two acquires
		most                        float64       // requests for an acquire
	}{
		{1, 1, 1, 0, 0.01}, // kept for the tenure
		{1, 1, 1, DefaultTenure / 2, 0.01},
		{1, 1, 1, 2 * DefaultTenure, 2},
		{1, 8, 1, 0, 0.01},
		{1, 8, 1000, 0, 2},
		{3, 8, 1, 0, 0.35},
		{3, 8, 1000, 0, 2.1},
	} {
		inBubble(t, func(b *bubble) {
			var users sync.WaitGroup
			var fleets []*Fleet
			var stores []*memstore.Store
			const each = 400
			rev := int64(0)
			for range cost.processes {
				f, c := b.join(time.Millisecond)
				k := b.keyed(f, 1)
				fleets, stores = append(fleets, f), append(stores, c)
				rev = b.Rev()
				for g := range cost.goroutines {
					r := rand.New(rand.NewPCG(uint64(len(fleets)), uint64(g)))
					users.Go(func() {
						for range each {
							key := fmt.Sprint(r.IntN(cost.keys))
							p, err := k.Acquire(b.ctx, key, 1)
							if err != nil {
								b.Error(err)
								return
							}
							time.Sleep(time.Millisecond)
							p.Release()
							time.Sleep(cost.think)
						}
					})
				}
			}
			users.Wait()
			b.settle()
			all, requests := float64(cost.processes*cost.goroutines*each), 0
			for _, c := range stores {
				requests += c.Asked("txn") + c.Asked("read") - 1 // of Keyed
			}
			b.Logf("%d processes × %d, %d keys, after %v: %.3f requests and %.3f writes an acquire",
				cost.processes, cost.goroutines, cost.keys, cost.think, float64(requests)/all, float64(b.Rev()-rev)/all)
			require.LessOrEqual(b, float64(requests)/all, cost.most)
			require.Zero(b, b.Lines())
			for _, f := range fleets {
				b.leave(f)
			}
		})
	}
}

// Where transactions have become slow they are not made again and again for each new key: how long
// to wait for an answer is learned from all keys.
func TestSlowTransactionsAreWaitedForByNewKeys(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond)
		k := b.keyed(f, 1)
		c.On(func(ctx context.Context, request string) error {
			if request == "txn" {
				select {
				case <-time.After(600 * time.Millisecond):
				case <-ctx.Done():
				}
			}
			return ctx.Err()
		})
		asked := 0
		for i := range 20 {
			if i == 10 {
				asked = c.Asked("txn") + c.Asked("read")
			}
			b.key(k, fmt.Sprint(i)).Release()
			b.settle()
		}
		require.Equal(b, 20, c.Asked("txn")+c.Asked("read")-asked, "two requests for each key")
		b.leave(f)
	})
}

// Somebody deletes the size of a key while it is written: no size is not a size of 0.
func TestASizeThatIsDeletedWhileItIsWritten(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond)
		k := b.keyed(f, 2)
		require.NoError(b, k.Resize(b.ctx, "a", 1))
		asked := c.Asked("txn")
		c.On(func(_ context.Context, request string) error {
			if request == "txn" && c.Asked("txn") == asked+2 {
				b.DeleteSize(memstore.ID(kindKeyed, "k/a"))
			}
			return nil
		})
		require.NoError(b, k.Resize(b.ctx, "a", 0))
		require.Equal(b, asked+3, c.Asked("txn"))
		c.On(nil)
		_, err := k.Acquire(b.ctx, "a", 1)
		require.ErrorIs(b, err, ErrTooLarge)
		b.leave(f)
	})
}

// A store that refuses lets no request wait. One that has gone back loses what is held.
func TestKeysAndAStoreThatFails(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond)
		g, _ := b.join(time.Millisecond)
		k := b.keyed(f, 1)
		empty := b.Copy()
		c.On(memstore.Refuse("txn"))
		_, err := k.Acquire(b.ctx, "a", 1)
		require.ErrorIs(b, err, store.ErrRefused)
		c.On(memstore.Refuse("txn", "read", "revision", "watch"))
		_, err = k.Acquire(b.ctx, "a", 1)
		require.ErrorIs(b, err, store.ErrRefused)
		c.On(memstore.Hang("txn"))
		ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
		defer cancel()
		_, err = k.Acquire(ctx, "a", 1)
		require.ErrorIs(b, err, context.DeadlineExceeded)
		c.On(nil)
		p := b.key(k, "a")
		got := b.asksKey(b.keyed(g, 1), "a")
		b.settle()
		b.GoBack(empty)
		<-p.Lost()
		q := <-got
		require.NoError(b, q.err)
		p.Release()
		q.Release()
		time.Sleep(time.Minute)
		require.Zero(b, k.Len())
		require.Zero(b, b.Entries())
		b.key(k, "a").Release()
		b.leave(f)
		b.leave(g)
	})
}

// A role that covers the keys of one name suffices: then each key in use has a watch.
func TestKeysOfARoleForOneName(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.Put()
		b.Forget() // no watch begins with what was long ago
		f, c := b.join(time.Millisecond)
		g, _ := b.join(time.Millisecond)
		c.Allow(func(l string) bool { return l != "" })
		k, o := b.keyed(f, 1), b.keyed(g, 1)
		b.settle()
		reads, watches := c.Asked("read"), c.Asked("watch")
		for i := range 3 {
			p := b.key(k, "a")
			b.settle()
			require.Equal(b, reads, c.Asked("read"))
			require.Equal(b, watches+i+1, c.Asked("watch"))
			got := b.asksKey(o, "a")
			b.settle()
			p.Release()
			q := <-got
			require.NoError(b, q.err)
			got = b.asksKey(k, "a")
			b.settle()
			require.Equal(b, 1, c.Open(memstore.ID(kindKeyed, "k/a")))
			q.Release()
			q = <-got
			require.NoError(b, q.err)
			q.Release()
			b.settle()
			require.Zero(b, c.Open(memstore.ID(kindKeyed, "k/a")))
		}
		b.leave(f)
		b.leave(g)
	})
}
