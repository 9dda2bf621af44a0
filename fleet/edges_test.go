package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/internal/memstore"
	"github.com/farad-go/farad/fleet/store"
)

func (b *bubble) semaphore(f *Fleet, size int64) *Semaphore {
	b.Helper()
	s, err := f.Semaphore(b.ctx, "s", size)
	require.NoError(b, err)
	return s
}

// What this process has idle is free as well. It is withdrawn only when the line says that more is
// wanted, after the answer to who asked for it: a try waits for both.
func TestATryGetsWhatIsIdleHere(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(time.Millisecond)
		s := b.semaphore(f, 5)
		synctest.Wait()
		d := s.d
		l := newLoop(d)
		d.in.mu.Lock()
		d.in.run = func() {} // the test does, and everything else gets a processor in between
		d.in.mu.Unlock()
		d.turn(func(*tenancy) bool { return true }) // it gets a seat in this loop
		try := func(n int64) (p *Permit, err error) {
			done := make(chan struct{})
			go func() {
				p, err = s.TryAcquirePermit(b.ctx, n)
				close(done)
			}()
			for !isClosed(done) {
				time.Sleep(time.Millisecond)
				synctest.Wait()
				if todo, some := l.in.take(); some {
					l.handle(&todo)
					synctest.Wait()
					l.reseat()
					l.bell.Clear()
					l.plan()
				}
			}
			return p, err
		}
		for _, n := range []int64{1, 5} {
			p, err := try(n)
			require.NoError(b, err, "nobody holds anything")
			p.Release()
		}

		d.in.mu.Lock()
		d.in.run, d.in.running = l.run, false
		d.in.mu.Unlock()
		d.in.wake()
		b.leave(f)
	})
}

// A request may wait for its turn until the session is over, as while the machine is suspended. It
// is not sent then: the old lease would keep the place until its end.
func TestWhatComesTooLateIsNotSent(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(time.Millisecond)
		s := b.semaphore(f, 1)
		for range mostRequests {
			f.turns <- struct{}{}
		}
		got := make(chan error, 1)
		go func() { got <- s.Acquire(b.ctx, 1) }()
		b.settle()
		b.skew(f.ttl)
		for range mostRequests {
			<-f.turns
		}
		began := time.Now()
		require.NoError(b, <-got)
		require.Less(b, time.Since(began), f.ttl/4)
		s.Release(1)
		b.leave(f)
	})
}

// What is idle in another process is free. A try that asks the fleet gets it, if nobody holds it
// and nobody waits for it, at any distance.
func TestATryGetsWhatIsIdleElsewhere(t *testing.T) {
	for _, trip := range []time.Duration{0, time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond} {
		inBubble(t, func(b *bubble) {
			f, _ := b.join(trip)
			g, _ := b.join(trip)
			m, n := b.mutex(f), b.mutex(g)
			// A driver looks at the line once in lookEvery. It has done so now, and what it has
			// asked for has been answered.
			settle := func() {
				time.Sleep(lookEvery + 2*trip)
				synctest.Wait()
			}
			got := 0
			for range 50 {
				p, err := m.Lock(b.ctx)
				require.NoError(b, err)
				p.Release()
				q, err := n.TryLock(b.ctx)
				if err == nil {
					got++
					q.Release()
					continue
				}
				require.ErrorIs(b, err, ErrBusy)
			}
			require.Equal(b, 50, got, "%v", trip)

			// It is not waited for where that is in vain.
			p, err := m.Lock(b.ctx)
			require.NoError(b, err)
			began := time.Now()
			_, err = n.TryLock(b.ctx)
			require.ErrorIs(b, err, ErrBusy, "held elsewhere")
			require.LessOrEqual(b, time.Since(began), 8*trip+60*time.Millisecond)
			settle()
			began = time.Now()
			_, err = m.TryLock(b.ctx)
			require.ErrorIs(b, err, ErrBusy, "held here")
			require.LessOrEqual(b, time.Since(began), 2*trip)
			ctx, cancel := context.WithCancel(b.ctx)
			gone := make(chan error)
			go func() {
				_, err := n.Lock(ctx)
				gone <- err
			}()
			synctest.Wait()
			settle()
			h, _ := b.join(trip)
			k := b.mutex(h)
			settle()
			began = time.Now()
			_, err = k.TryLock(b.ctx)
			require.ErrorIs(b, err, ErrBusy, "others wait")
			require.LessOrEqual(b, time.Since(began), 2*trip)
			cancel()
			require.ErrorIs(b, <-gone, context.Canceled)
			p.Release()
			time.Sleep(time.Second)
			require.LessOrEqual(b, b.Entries(), 1, "who tries in vain leaves nothing in the line")
			b.leave(f)
			b.leave(g)
			b.leave(h)
		})
	}
}

// Resize asks again if a server does not answer, and what arrives late changes nothing.
func TestResizeAsksAgain(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond)
		g, _ := b.join(time.Millisecond)
		s, o := b.semaphore(f, 1), b.semaphore(g, 1)
		hung := 0
		c.On(func(ctx context.Context, request string) error {
			if request != "txn" || hung == 3 {
				return nil
			}
			hung++
			<-ctx.Done()
			return ctx.Err()
		})
		began := time.Now()
		require.NoError(b, s.Resize(b.ctx, 5))
		require.LessOrEqual(b, time.Since(began), 10*time.Second)
		require.Equal(b, 3, hung)

		// A write whose answer is lost was made. Asking again finds that.
		lost := false
		c.On(func(_ context.Context, request string) error {
			if request == "txn" && !lost {
				lost = true
				c.Move(time.Millisecond, time.Hour)
			} else {
				c.Move(time.Millisecond, 0)
			}
			return nil
		})
		require.NoError(b, s.Resize(b.ctx, 7))
		time.Sleep(time.Second)
		require.EqualValues(b, 7, o.Size())

		// Somebody else has written since.
		c.On(nil)
		st := s.d.remote
		now, _, err := st.SetSize(b.ctx, 9, 1, false)
		require.NoError(b, err)
		require.EqualValues(b, 7, now.Size)
		require.NoError(b, o.Resize(b.ctx, 8))
		now, done, err := st.SetSize(b.ctx, 9, now.SizeMod, false) // arrives late
		require.NoError(b, err)
		require.False(b, done)
		require.EqualValues(b, 8, now.Size)

		// Whose size is deleted gets one.
		b.DeleteSize(memstore.ID(kindSemaphore, "s"))
		require.NoError(b, s.Resize(b.ctx, 2))
		time.Sleep(time.Second)
		require.EqualValues(b, 2, o.Size())

		c.On(memstore.Hang("txn"))
		ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
		defer cancel()
		require.ErrorIs(b, s.Resize(ctx, 3), context.DeadlineExceeded)
		c.On(memstore.Refuse("txn"))
		require.ErrorIs(b, s.Resize(b.ctx, 3), store.ErrRefused)
		c.On(nil)
		b.leave(f)
		b.leave(g)
	})
}

// What is held when its lock is closed, and cannot be returned because the store refuses, is held
// until it is released: Close of the membership waits, and leaves the lease.
func TestALockIsClosedWhileHeldAndRefused(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond)
		g, _ := b.join(time.Millisecond)
		p := b.locked(f)
		got := b.asks(g, time.Hour)
		time.Sleep(time.Second)
		c.On(memstore.Refuse("txn", "read"))
		waits := b.asks(f, time.Hour) // so that there is a refusal
		time.Sleep(2 * time.Second)
		b.mutex(f).Close()
		require.Error(b, (<-waits).err)
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(b.ctx, time.Second)
		defer cancel()
		require.ErrorIs(b, f.Close(ctx), context.DeadlineExceeded)
		lease := f.session.Load().lease
		for p.Valid() {
			require.True(b, b.Alive(lease), "the lease goes before the permit does")
			require.Empty(b, got, "two hold it")
			time.Sleep(10 * time.Millisecond)
		}
		<-p.Lost()
		q := <-got
		require.NoError(b, q.err)
		q.Release()
		p.Release()
		c.On(nil)
		b.leave(f)
		b.leave(g)
	})
}

// A watch that hangs is left for another.
func TestAWatchThatHangsIsLeft(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(time.Millisecond)
		g, c := b.join(time.Millisecond)
		handOver := func(after time.Duration) time.Duration {
			p := b.locked(f)
			got := b.asks(g, time.Minute)
			time.Sleep(after)
			p.Release()
			began := time.Now()
			q := <-got
			require.NoError(b, q.err)
			q.Release()
			return time.Since(began)
		}
		for range 3 {
			c.HangWatches()
			require.Less(b, handOver(time.Second), 30*time.Second)
			for i := range time.Duration(10) {
				require.Less(b, handOver(time.Second+i*170*time.Millisecond), 100*time.Millisecond)
			}
		}
		b.leave(f)
		b.leave(g)
	})
}

// Neither readers nor writers starve, however many of the others come, in whatever process.
func TestNeitherReadersNorWritersStarve(t *testing.T) {
	inBubble(t, func(b *bubble) {
		const processes, trip = 3, time.Millisecond
		stop := make(chan struct{})
		var users sync.WaitGroup
		var readers, writers atomic.Int64
		var longest [2]atomic.Int64
		var fleets []*Fleet
		for range processes {
			f, _ := b.join(trip)
			fleets = append(fleets, f)
			m, err := f.RWMutex(b.ctx, "rw")
			require.NoError(b, err)
			use := func(kind int, lock func(context.Context) (*Permit, error), inside func(n int64) bool) {
				users.Go(func() {
					for !isClosed(stop) {
						began := time.Now()
						p, err := lock(b.ctx)
						if err != nil {
							b.Error(err)
							return
						}
						longest[kind].Store(max(longest[kind].Load(), int64(time.Since(began))))
						if !inside(1) {
							b.Error("a writer beside others")
						}
						time.Sleep(time.Millisecond)
						inside(-1)
						p.Release()
					}
				})
			}
			for range 20 {
				use(0, m.RLock, func(n int64) bool {
					readers.Add(n)
					return n < 0 || writers.Load() == 0
				})
			}
			for range 3 {
				use(1, m.Lock, func(n int64) bool {
					return writers.Add(n) == max(0, n) && (n < 0 || readers.Load() == 0)
				})
			}
		}
		lasts := 20 * time.Second
		if testing.Short() {
			lasts = 4 * time.Second
		}
		time.Sleep(lasts)
		close(stop)
		users.Wait()
		for i := range longest {
			l := &longest[i]
			require.NotZero(b, l.Load())
			require.Less(b, time.Duration(l.Load()), 2*time.Second)
		}
		for _, f := range fleets {
			b.leave(f)
		}
	})
}

// Ten thousand requests in four processes are given up, served or ended while the size changes and
// locks and memberships are closed. Nobody holds more than there is, and nothing is left.
func TestTenThousandWaiters(t *testing.T) {
	waiters := 2500
	if testing.Short() {
		waiters = 250
	}
	inBubble(t, func(b *bubble) {
		const largest = 8
		var all, resizers sync.WaitGroup
		var held, served, ended atomic.Int64
		var fleets []*Fleet
		for i := range 4 {
			f, _ := b.join(time.Millisecond)
			fleets = append(fleets, f)
			s := b.semaphore(f, largest)
			for j := range waiters {
				r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
				all.Go(func() {
					time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
					ctx, cancel := context.WithTimeout(b.ctx, time.Duration(r.IntN(60_000))*time.Millisecond)
					defer cancel()
					n := 1 + r.Int64N(3)
					if err := s.Acquire(ctx, n); err != nil {
						ended.Add(1)
						return
					}
					if h := held.Add(n); h > largest {
						b.Errorf("%d are held", h)
					}
					time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
					held.Add(-n)
					served.Add(1)
					s.Release(n)
				})
			}
			resizers.Go(func() {
				for n := range int64(20) {
					time.Sleep(500 * time.Millisecond)
					if err := s.Resize(b.ctx, 3+(n*int64(i+1))%(largest-2)); err != nil {
						b.Error(err)
					}
				}
				if i >= 2 { // two processes leave, with all who wait there
					s.Close()
					b.leave(f)
				}
			})
		}
		resizers.Wait()
		all.Wait()
		require.Positive(b, served.Load())
		require.Positive(b, ended.Load())
		require.Zero(b, held.Load())
		for _, f := range fleets[:2] {
			s := b.semaphore(f, largest)
			require.NoError(b, s.AcquireTimeout(time.Minute, s.Size()))
			s.Release(s.Size())
			b.leave(f)
		}
		require.Zero(b, b.Entries())
	})
}

// Losses count each loss once, for each lock that is open, whichever of them notices it.
func TestLossesAreCountedOnce(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(time.Millisecond)
		var locks []*Mutex
		for i := range 5 {
			m, err := f.Mutex(b.ctx, fmt.Sprint(i))
			require.NoError(b, err)
			locks = append(locks, m)
		}
		for n := range int64(10) {
			var permits []*Permit
			for _, m := range locks {
				p, err := m.Lock(b.ctx)
				require.NoError(b, err)
				permits = append(permits, p)
			}
			if n%2 == 0 {
				b.Expire(f.session.Load().lease)
			} else {
				b.skew(time.Hour)
			}
			var users sync.WaitGroup
			for _, p := range permits { // all look at once
				for range 4 {
					users.Go(func() {
						for p.Valid() {
							time.Sleep(time.Millisecond)
						}
					})
				}
			}
			users.Wait()
			for i, p := range permits {
				<-p.Lost()
				p.Release()
				p, err := b.lock(locks[i], time.Minute)
				require.NoError(b, err)
				p.Release()
			}
			all, err := f.Status(b.ctx)
			require.NoError(b, err)
			for _, st := range all {
				require.Equal(b, n+1, st.Losses, st.Name)
			}
		}
		b.leave(f)
	})
}

// A permit that its holder forgets is held for as long as the process is there, and Close says so.
// It goes with the lease.
func TestAForgottenPermit(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(time.Millisecond)
		g, _ := b.join(time.Millisecond)
		b.locked(f)
		m := b.mutex(g)
		_, err := b.lock(m, time.Hour)
		require.ErrorIs(b, err, context.DeadlineExceeded)
		ctx, cancel := context.WithTimeout(b.ctx, time.Second)
		defer cancel()
		require.ErrorIs(b, f.Close(ctx), context.DeadlineExceeded)
		began := time.Now()
		p, err := b.lock(m, time.Minute)
		require.NoError(b, err)
		require.LessOrEqual(b, time.Since(began), f.ttl)
		p.Release()
		b.leave(f)
		b.leave(g)
	})
}

// A thousand locks a minute, each opened, used and closed, leave nothing: for some minutes, and for
// a day under FARAD_STRESS.
func TestLocksThatComeAndGo(t *testing.T) {
	minutes := 3
	if os.Getenv("FARAD_STRESS") != "" {
		minutes = 24 * 60
	}
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond)
		g, _ := b.join(time.Millisecond)
		for minute := range minutes {
			var users sync.WaitGroup
			for i := range 1000 {
				users.Go(func() {
					time.Sleep(time.Duration(i) * 60 * time.Millisecond)
					name := fmt.Sprintf("%d-%d", minute, i)
					for _, f := range []*Fleet{f, g} {
						m, err := f.Mutex(b.ctx, name)
						if err != nil {
							b.Error(err)
							return
						}
						p, err := b.lock(m, time.Minute)
						if err != nil {
							b.Error(err)
							return
						}
						p.Release()
						m.Close()
					}
				})
			}
			users.Wait()
			time.Sleep(time.Second)
			require.Zero(b, b.Entries())
			require.Empty(b, f.running())
			require.Empty(b, g.running())
		}
		require.Less(b, c.Asked("renew"), minutes*60)
		b.leave(f)
		b.leave(g)
	})
}
