package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/fence"
	"github.com/farad-go/farad/fleet/internal/memstore"
	"github.com/farad-go/farad/fleet/store"
)

func (b *bubble) keyed(f *Fleet, size int64) *Keyed {
	b.Helper()
	k, err := f.Keyed(b.ctx, "k", size)
	require.NoError(b, err)
	return k
}

// Whatever keys processes use, and however requests end, no key has more than its size in use, and
// tokens of a key grow although its line goes and comes back.
func TestKeysComeAndGo(t *testing.T) {
	for _, tenure := range []time.Duration{0, 2 * time.Millisecond, DefaultTenure} {
		inBubble(t, func(b *bubble) {
			const keys, size = 6, 2
			var held [keys]atomic.Int64
			var fleets []*Fleet
			var users sync.WaitGroup
			var served atomic.Int64
			for i := range 3 {
				f, _ := b.join(time.Millisecond, WithTenure(tenure))
				fleets = append(fleets, f)
				k := b.keyed(f, size)
				for j := range 8 {
					r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
					users.Go(func() {
						for range 60 {
							key, n := r.IntN(keys), 1+r.Int64N(size)
							ctx, cancel := context.WithTimeout(b.ctx, time.Duration(r.IntN(20))*time.Millisecond)
							if r.IntN(2) == 0 {
								ctx = b.ctx
							}
							err := k.Acquire(ctx, fmt.Sprint(key), n)
							if err == nil {
								served.Add(1)
								if h := held[key].Add(n); h > size {
									b.Errorf("%d are held", h)
								}
								time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
								held[key].Add(-n)
								k.Release(fmt.Sprint(key), n)
							} else if !errors.Is(err, context.DeadlineExceeded) {
								b.Error(err)
							}
							cancel()
							time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
						}
					})
				}
			}
			users.Wait()
			require.Greater(b, served.Load(), int64(3*8*60/2))
			b.settle()
			require.Zero(b, b.Entries())
			for _, f := range fleets {
				require.Zero(b, b.keyed(f, size).Len())
				require.Empty(b, f.running())
				b.leave(f)
			}
		})
	}
}

// A key's line goes when nobody holds or wants it, and a new one has greater tokens: they have the
// store's revision, which is that of all lines.
func TestTokensOutliveTheLine(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(time.Millisecond)
		g, _ := b.join(time.Millisecond)
		gate := fence.NewGate(1)
		var last fence.Token
		for i := range 20 {
			p, err := b.keyed([]*Fleet{f, g}[i%3%2], 1).AcquirePermit(b.ctx, "a", 1)
			require.NoError(b, err)
			require.Positive(b, p.Token().Compare(last))
			require.NoError(b, gate.Check(p.Token()))
			if last.Lease != 0 && last.Lease != p.Token().Lease {
				require.ErrorIs(b, gate.Check(last), fence.ErrStale)
			}
			last = p.Token()
			p.Release()
			b.settle()
			require.Zero(b, b.Lines())
		}
		b.leave(f)
		b.leave(g)
	})
}

// Many keys, used in turn, leave nothing in the store, and in the process no more than those in
// use. All share a watch.
func TestKeysLeaveNothing(t *testing.T) {
	keys := 100_000
	if testing.Short() {
		keys = 10_000
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
						if err := k.Acquire(b.ctx, key, 1); err != nil {
							b.Error(err)
							return
						}
						time.Sleep(10 * time.Millisecond)
						k.Release(key, 1)
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
		use(10_000) // the store remembers some thousand changes
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
							if err := k.Acquire(b.ctx, key, 1); err != nil {
								b.Error(err)
								return
							}
							time.Sleep(time.Millisecond)
							k.Release(key, 1)
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

// One key has another size, for all processes, also for those that open it later. Without one it
// has the usual size.
func TestAKeyIsResized(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond)
		g, _ := b.join(time.Millisecond)
		k, o := b.keyed(f, 2), b.keyed(g, 2)
		require.Same(b, k, b.keyed(f, 7))
		require.EqualValues(b, 2, k.Size())
		require.ErrorIs(b, k.Acquire(b.ctx, "a", 3), ErrTooLarge)
		require.NoError(b, k.Resize(b.ctx, "a", 5))
		require.Equal(b, 1, b.Lines(), "its size")
		require.NoError(b, o.AcquireTimeout(time.Second, "a", 4))
		require.ErrorIs(b, k.AcquireTimeout(time.Second, "a", 2), context.DeadlineExceeded)
		require.NoError(b, k.Acquire(b.ctx, "a", 1))
		require.ErrorIs(b, k.Acquire(b.ctx, "b", 3), ErrTooLarge, "another key")
		got := make(chan error)
		go func() { got <- k.Acquire(b.ctx, "a", 2) }()
		b.settle()
		require.NoError(b, o.Resize(b.ctx, "a", 7)) // while it is held and waited for
		require.NoError(b, <-got)
		require.NoError(b, k.Resize(b.ctx, "a", 0))
		require.ErrorIs(b, o.Acquire(b.ctx, "a", 1), ErrTooLarge)
		o.Release("a", 4)
		k.Release("a", 3)
		b.settle()
		require.Zero(b, b.Entries())
		require.ErrorIs(b, o.Acquire(b.ctx, "a", 1), ErrTooLarge, "it is kept")

		// An operator deletes the size, while the key is in use.
		require.NoError(b, k.Resize(b.ctx, "a", 1))
		require.NoError(b, k.Acquire(b.ctx, "a", 1))
		go func() { got <- o.Acquire(b.ctx, "a", 1) }()
		b.settle()
		b.DeleteSize(memstore.ID(kindKeyed, "k/a"))
		require.NoError(b, <-got)
		k.Release("a", 1)
		o.Release("a", 1)
		b.settle()
		require.Zero(b, b.Lines())

		// And while it is written: no size is not a size of 0.
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
		require.ErrorIs(b, o.Acquire(b.ctx, "a", 1), ErrTooLarge)
		b.leave(f)
		b.leave(g)
	})
}

// Processes that pass different sizes hold at most the largest together, and all are served.
func TestProcessesThatPassDifferentSizes(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(time.Millisecond)
		g, _ := b.join(time.Millisecond)
		few, many := b.keyed(f, 1), b.keyed(g, 3)
		var held atomic.Int64
		var users sync.WaitGroup
		for _, k := range []*Keyed{few, many} {
			for range 5 {
				users.Go(func() {
					for range 50 {
						if err := k.Acquire(b.ctx, "a", 1); err != nil {
							b.Error(err)
							return
						}
						if h := held.Add(1); h > 3 {
							b.Errorf("%d are held", h)
						}
						time.Sleep(time.Millisecond)
						held.Add(-1)
						k.Release("a", 1)
					}
				})
			}
		}
		users.Wait()
		b.settle()
		require.Zero(b, b.Lines())
		b.leave(f)
		b.leave(g)
	})
}

// Keys that are held when the session is lost are lost, and others get them. What was acquired
// without a handle is released by its key.
func TestKeysAreLost(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(time.Millisecond)
		g, _ := b.join(time.Millisecond)
		k, o := b.keyed(f, 1), b.keyed(g, 1)
		p, err := k.AcquirePermit(b.ctx, "a", 1)
		require.NoError(b, err)
		require.NoError(b, k.Acquire(b.ctx, "b", 1))
		waits := make(chan error)
		go func() { waits <- k.Acquire(b.ctx, "a", 1) }()
		b.settle()
		b.Expire(f.session.Load().lease)
		<-p.Lost()
		require.NoError(b, <-waits, "it waits in the next session")
		require.NoError(b, o.AcquireTimeout(time.Minute, "b", 1))
		require.Equal(b, 2, k.Len(), "what is lost has to be released")
		p.Release()
		k.Release("b", 1)
		k.Release("a", 1)
		o.Release("b", 1)
		b.settle()
		require.Zero(b, k.Len())
		require.Zero(b, b.Lines())
		require.Panics(b, func() { k.Release("b", 1) })
		b.leave(f)
		b.leave(g)
	})
}

// Close ends who waits for any key. Held permits stay held until they are released, and Close of
// the membership waits for them.
func TestCloseOfKeys(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(time.Millisecond)
		k := b.keyed(f, 1)
		p, err := k.AcquirePermit(b.ctx, "a", 1)
		require.NoError(b, err)
		require.NoError(b, k.Acquire(b.ctx, "b", 1))
		got := make(chan error)
		wait := func(k *Keyed) { go func() { got <- k.Acquire(b.ctx, "a", 1) }(); b.settle() }
		wait(k)
		k.Close()
		k.Close()
		require.ErrorIs(b, <-got, ErrClosed)
		require.ErrorIs(b, k.Acquire(b.ctx, "c", 1), ErrClosed)
		require.True(b, p.Valid())

		again := b.keyed(f, 1)
		require.NotSame(b, k, again)
		wait(again) // what the closed one has counts
		p.Release()
		require.NoError(b, <-got)
		again.Release("a", 1)
		require.NoError(b, again.Acquire(b.ctx, "c", 1))
		wait(again)
		require.NoError(b, <-got)
		wait(again)
		closed := make(chan error)
		go func() { closed <- f.Close(b.ctx) }()
		require.ErrorIs(b, <-got, ErrClosed)
		_, err = f.Keyed(b.ctx, "k", 1)
		require.ErrorIs(b, err, ErrClosed)
		require.ErrorIs(b, again.Acquire(b.ctx, "d", 1), ErrClosed)
		again.Release("a", 1)
		again.Release("c", 1)
		b.settle()
		require.Empty(b, closed, "b is held")
		k.Release("b", 1)
		require.NoError(b, <-closed)
		require.Zero(b, b.Lines())
		require.Zero(b, again.Len())
	})
}

// Keys are closed, opened again and used at a time. No key has more in use than there is, nobody
// waits for ever, and nothing is left.
func TestKeysAreClosedWhileTheyAreUsed(t *testing.T) {
	for _, trip := range []time.Duration{0, time.Millisecond} {
		inBubble(t, func(b *bubble) {
			const keys = 3
			var held [keys]atomic.Int64
			var users, closers sync.WaitGroup
			var served, ended atomic.Int64
			var fleets []*Fleet
			for i := range 2 {
				f, _ := b.join(trip, WithTenure(time.Duration(i)*time.Millisecond))
				fleets = append(fleets, f)
				stop := make(chan struct{})
				closers.Go(func() {
					for !isClosed(stop) {
						time.Sleep(5*trip + 700*time.Microsecond) // so that some are served
						b.keyed(f, 1).Close()
					}
				})
				var mine sync.WaitGroup
				for j := range 6 {
					r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
					mine.Go(func() {
						for range 200 {
							k, n := b.keyed(f, 1), r.IntN(keys)
							p, err := k.AcquirePermit(b.ctx, fmt.Sprint(n), 1)
							if err != nil {
								require.ErrorIs(b, err, ErrClosed)
								ended.Add(1)
								time.Sleep(100 * time.Microsecond)
								continue
							}
							if held[n].Add(1) != 1 {
								b.Error("two hold a key")
							}
							time.Sleep(time.Duration(r.IntN(300)) * time.Microsecond)
							held[n].Add(-1)
							p.Release()
							served.Add(1)
						}
					})
				}
				users.Go(func() {
					mine.Wait()
					close(stop)
				})
			}
			users.Wait()
			closers.Wait()
			require.Positive(b, served.Load())
			require.Positive(b, ended.Load())
			b.settle()
			require.Zero(b, b.Lines())
			for _, f := range fleets {
				require.Empty(b, f.running())
				b.leave(f)
			}
		})
	}
}

// Whatever request a context ends at, nothing is held after an error, and nothing is left.
func TestAContextOfAKeyMayEndAtAnyRequest(t *testing.T) {
	boom := errors.New("ended here")
	for at := range 14 {
		inBubble(t, func(b *bubble) {
			f, c := b.join(10 * time.Millisecond)
			g, _ := b.join(10 * time.Millisecond)
			o := b.keyed(g, 3)
			require.NoError(b, o.Acquire(b.ctx, "a", 1))
			ctx, cancel := context.WithCancelCause(b.ctx)
			defer cancel(nil)
			var asked atomic.Int64
			c.On(func(_ context.Context, request string) error {
				if request != "renew" && asked.Add(1) == int64(at) {
					cancel(boom)
				}
				return nil
			})
			if k, err := f.Keyed(ctx, "k", 3); err == nil {
				if k.Acquire(ctx, "a", 2) == nil {
					k.Release("a", 2)
				}
				if p, err := k.AcquirePermit(ctx, "b", 1); err == nil {
					p.Release()
				}
				if ok, _ := k.TryAcquireContext(ctx, "a", 3); ok {
					b.Error("one is held elsewhere")
				}
				if ok, _ := k.TryAcquireContext(ctx, "c", 3); ok {
					k.Release("c", 3)
				}
				_ = k.Acquire(ctx, "a", 4)
				b.settle()
				require.Zero(b, k.Len())
			} else {
				require.ErrorIs(b, err, context.Canceled)
			}
			o.Release("a", 1)
			b.settle()
			require.Zero(b, b.Lines(), "at request %d", at)
			b.leave(f)
			b.leave(g)
		})
	}
}

// A store that refuses lets no request wait. One that has gone back loses what is held.
func TestKeysAndAStoreThatFails(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond)
		g, _ := b.join(time.Millisecond)
		k := b.keyed(f, 1)
		empty := b.Copy()
		c.On(memstore.Refuse("txn"))
		require.ErrorIs(b, k.Acquire(b.ctx, "a", 1), store.ErrRefused)
		c.On(memstore.Refuse("txn", "read", "revision", "watch"))
		require.ErrorIs(b, k.Acquire(b.ctx, "a", 1), store.ErrRefused)
		c.On(memstore.Hang("txn"))
		require.ErrorIs(b, k.AcquireTimeout(time.Minute, "a", 1), context.DeadlineExceeded)
		c.On(nil)
		p, err := k.AcquirePermit(b.ctx, "a", 1)
		require.NoError(b, err)
		got := make(chan error)
		go func() { got <- b.keyed(g, 1).Acquire(b.ctx, "a", 1) }()
		b.settle()
		b.GoBack(empty)
		<-p.Lost()
		require.NoError(b, <-got)
		p.Release()
		b.keyed(g, 1).Release("a", 1)
		time.Sleep(time.Minute)
		require.Zero(b, k.Len())
		require.Zero(b, b.Entries())
		require.NoError(b, k.Acquire(b.ctx, "a", 1))
		k.Release("a", 1)
		b.leave(f)
		b.leave(g)
	})
}

// Any text is a key, and no two keys of any names are the same.
func TestNamesOfKeys(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(0)
		var release []func()
		n := 0
		for _, name := range []string{"a", "a/b", "a%2Fb", "/", " ", "\xff"} {
			k, err := f.Keyed(b.ctx, name, 1)
			require.NoError(b, err)
			for _, key := range []string{"", "b", "/", "b/c", "c", "size", "q/1", "%2F", "\x00", "ä"} {
				require.NoError(b, k.AcquireTimeout(time.Second, key, 1), "%q %q is another key", name, key)
				release = append(release, func() { k.Release(key, 1) })
				n++
			}
		}
		require.Equal(b, n, b.Entries())
		for _, r := range release {
			r()
		}
		_, err := f.Keyed(b.ctx, "", 1)
		require.Error(b, err)
		require.Panics(b, func() { _, _ = f.Keyed(b.ctx, "a", -1) })
		b.leave(f)
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
			require.NoError(b, k.Acquire(b.ctx, "a", 1))
			b.settle()
			require.Equal(b, reads, c.Asked("read"))
			require.Equal(b, watches+i+1, c.Asked("watch"))
			got := make(chan error)
			go func() { got <- o.Acquire(b.ctx, "a", 1) }()
			b.settle()
			k.Release("a", 1)
			require.NoError(b, <-got)
			go func() { got <- k.Acquire(b.ctx, "a", 1) }()
			b.settle()
			require.Equal(b, 1, c.Open(memstore.ID(kindKeyed, "k/a")))
			o.Release("a", 1)
			require.NoError(b, <-got)
			k.Release("a", 1)
			b.settle()
			require.Zero(b, c.Open(memstore.ID(kindKeyed, "k/a")))
		}
		b.leave(f)
		b.leave(g)
	})
}
