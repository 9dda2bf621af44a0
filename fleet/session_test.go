package fleet

import (
	"context"
	"errors"
	"math"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/internal/clock"
	"github.com/farad-go/farad/fleet/internal/memstore"
	"github.com/farad-go/farad/fleet/store"
)

// A bubble is a fleet in virtual time, on a store in memory.
type bubble struct {
	*testing.T
	*memstore.Server
	ctx context.Context
}

// inBubble runs test in virtual time.
func inBubble(t *testing.T, test func(b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t, memstore.NewServer(), t.Context()}
		defer b.Close()
		test(b)
	})
}

// join has a process join by way of a connection.
func (b *bubble) join(distance time.Duration, opts ...Option) (*Fleet, *memstore.Store) {
	b.Helper()
	c := b.Connect(distance)
	f, err := New(b.ctx, c, opts...)
	require.NoError(b, err)
	return f, c
}

// leave closes a membership, of which nothing is held.
func (b *bubble) leave(f *Fleet) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), time.Hour)
	defer cancel()
	require.NoError(b, f.Close(ctx))
}

// skew sets the wall clock forward, as after a suspend, in which the monotonic clock stands still.
func (b *bubble) skew(d time.Duration) {
	clock.Skew.Add(int64(d))
	b.Cleanup(func() { clock.Skew.Add(-int64(d)) })
}

func (b *bubble) mutex(f *Fleet) *Mutex {
	b.Helper()
	m, err := f.Mutex(b.ctx, "m")
	require.NoError(b, err)
	return m
}

func (b *bubble) locked(f *Fleet) *Permit {
	b.Helper()
	p, err := b.mutex(f).Lock(b.ctx)
	require.NoError(b, err)
	return p
}

// lock locks m within a time.
func (b *bubble) lock(m *Mutex, within time.Duration) (*Permit, error) {
	ctx, cancel := context.WithTimeout(b.ctx, within)
	defer cancel()
	return m.Lock(ctx)
}

// asks has a goroutine lock f's mutex, within a time, and returns what comes of it.
func (b *bubble) asks(f *Fleet, within time.Duration) <-chan outcome {
	b.Helper()
	m, got := b.mutex(f), make(chan outcome, 1)
	go func() {
		p, err := b.lock(m, within)
		got <- outcome{p, err}
	}()
	return got
}

// An outcome is what comes of a lock: a permit or an error.
type outcome struct {
	*Permit
	err error
}

// untilLost waits for a loss and returns how long that has taken.
func untilLost(p *Permit) time.Duration {
	began := time.Now()
	<-p.Lost()
	return time.Since(began)
}

// The server counts from when a renewal arrives. A session counts from when it was sent, however
// long the answer takes: from the answer on would be later than the server does.
func TestASessionCountsFromTheSending(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(0, WithTTL(10*time.Second))
		defer b.leave(f)
		p := b.locked(f)
		defer p.Release()
		s := f.session.Load()
		c.Move(0, 2*time.Second) // only answers are late
		for range 3 {
			asked := c.Asked("renew")
			for c.Asked("renew") == asked {
				time.Sleep(time.Millisecond)
			}
			sent := clock.Now()
			time.Sleep(2500 * time.Millisecond) // it is answered
			require.True(b, p.Valid())
			ends := *s.ends.Load()
			require.InDelta(b, 8*time.Second, ends.Mono-sent.Mono, float64(600*time.Millisecond))
			require.Equal(b, ends.Mono-sent.Mono, ends.Wall-sent.Wall)
		}
		far := b.Connect(0)
		far.Move(0, 400*time.Millisecond)
		sent := clock.Now()
		g, err := New(b.ctx, far, WithTTL(10*time.Second))
		require.NoError(b, err)
		require.Equal(b, sent.Add(8*time.Second), *g.session.Load().ends.Load(), "that of the grant, too")
		b.leave(g)

		c.On(memstore.Hang("renew"))
		untilLost(p)
		require.True(b, b.Alive(s.lease), "the server ends it later")
		time.Sleep(10*time.Second - 8*time.Second - 700*time.Millisecond)
		require.True(b, b.Alive(s.lease))
	})
}

// A fifth of the TTL is between the end of a session and that of its lease, for the lease as it was
// granted and as it was renewed.
func TestTheMarginIsAFifth(t *testing.T) {
	for _, renewed := range []bool{false, true} {
		sent := clock.Now()
		s := newSession(7, sent, 10*time.Second)
		if renewed {
			sent = sent.Add(time.Second)
			require.True(t, s.renew(sent, 10*time.Second))
		}
		require.Equal(t, sent.Add(8*time.Second), *s.ends.Load())
	}
	inBubble(t, func(b *bubble) {
		f, c := b.join(0, WithTTL(10*time.Second))
		defer b.leave(f)
		p := b.locked(f)
		defer p.Release()
		for c.Asked("renew") == 0 {
			time.Sleep(time.Millisecond)
		}
		c.On(memstore.Hang("renew"))
		lease := f.session.Load().lease
		untilLost(p)
		lost := time.Now()
		for b.Alive(lease) {
			time.Sleep(time.Millisecond)
		}
		require.InDelta(b, 2*time.Second, time.Since(lost), float64(f.look()+2*time.Millisecond))
	})
}

// What has expired stays so, by either clock, although the server has renewed the lease.
func TestARenewalBringsNothingBack(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := newSession(7, clock.Now(), 10*time.Second)
		time.Sleep(8*time.Second - 1)
		require.True(b, s.valid())
		time.Sleep(time.Nanosecond)
		require.False(b, s.valid(), "the monotonic clock")
		require.False(b, s.renew(clock.Now(), 10*time.Second))
		require.False(b, s.valid())

		s = newSession(7, clock.Now(), 10*time.Second)
		b.skew(8*time.Second - 1)
		require.True(b, s.valid())
		b.skew(1)
		require.False(b, s.valid(), "the wall clock")
		require.False(b, s.renew(clock.Now(), 10*time.Second))
		require.False(b, s.valid())

		s = newSession(7, clock.Now(), 10*time.Second)
		b.skew(-time.Hour)
		time.Sleep(8 * time.Second)
		require.False(b, s.valid(), "a wall clock that was set back")

		s = newSession(7, clock.Now(), 10*time.Second)
		require.True(b, s.lose())
		require.False(b, s.lose())
		require.False(b, s.renew(clock.Now(), 10*time.Second))
		require.False(b, s.valid())
	})
}

// Several renewals may be under way, and their answers come in any order.
func TestAnOlderRenewalChangesNothing(t *testing.T) {
	inBubble(t, func(b *bubble) {
		old := clock.Now()
		time.Sleep(time.Second)
		s := newSession(7, clock.Now(), 10*time.Second)
		ends := *s.ends.Load()
		require.True(b, s.renew(old, 10*time.Second))
		require.Equal(b, ends, *s.ends.Load())
		b.skew(-time.Hour)
		time.Sleep(time.Second)
		require.True(b, s.renew(clock.Now(), 10*time.Second))
		require.Greater(b, s.ends.Load().Mono, ends.Mono, "a clock that was set back keeps no renewal from counting")
	})
}

// A wait for Lost ends within a look at the clocks once the machine runs again, whatever the
// process waits for meanwhile. A timer would stand still for as long as the machine did.
func TestLostIsClosedAfterASuspend(t *testing.T) {
	const ttl = 10 * time.Second
	for name, before := range map[string]func(b *bubble, f *Fleet, c *memstore.Store){
		"nothing is due": func(*bubble, *Fleet, *memstore.Store) {},
		"renewals hang": func(_ *bubble, _ *Fleet, c *memstore.Store) {
			c.On(memstore.Hang("renew"))
			time.Sleep(4 * time.Second)
		},
		"renewals are refused": func(_ *bubble, _ *Fleet, c *memstore.Store) {
			c.On(memstore.Refuse("renew"))
			time.Sleep(4 * time.Second)
		},
		"renewals fail": func(_ *bubble, _ *Fleet, c *memstore.Store) {
			c.On(func(_ context.Context, request string) error {
				if request == "renew" {
					return errors.New("unavailable")
				}
				return nil
			})
			time.Sleep(4 * time.Second)
		},
		"a Close gave up": func(b *bubble, f *Fleet, _ *memstore.Store) {
			ctx, cancel := context.WithTimeout(b.ctx, time.Second)
			defer cancel()
			require.ErrorIs(b, f.Close(ctx), context.DeadlineExceeded)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				f, c := b.join(0, WithTTL(ttl))
				p := b.locked(f)
				before(b, f, c)
				require.True(b, p.Valid())
				select {
				case <-p.Lost():
					b.Fatal("too early")
				default:
				}
				b.skew(ttl) // the machine was suspended
				require.LessOrEqual(b, untilLost(p), ttl/40, "a quarter of the margin is enough")
				c.On(nil)
				p.Release()
				b.leave(f)
			})
		})
	}
}

// A renewal is sent a third of the TTL after the last one. If it has no answer others are sent
// beside it: half of the requests may be lost, and the answers take a while.
func TestARenewalThatHangsIsNotWaitedFor(t *testing.T) {
	for _, ttl := range []time.Duration{2 * time.Second, 5 * time.Second, time.Minute} {
		inBubble(t, func(b *bubble) {
			f, c := b.join(10*time.Millisecond, WithTTL(ttl))
			p := b.locked(f)
			var sent, last atomic.Int64 // last is when a renewal was answered
			began := time.Now()
			c.On(func(ctx context.Context, request string) error {
				if request != "renew" {
					return nil
				}
				if n := sent.Add(1); n%4 != 0 { // three of four meet a server that hangs
					if n%4 == 1 {
						require.InDelta(
							b,
							ttl/3,
							time.Since(began)-time.Duration(last.Load()),
							float64(ttl/60),
							"it is sent in time",
						)
					}
					return memstore.Hang(request)(ctx, request)
				}
				last.Store(int64(time.Since(began)))
				return nil
			})
			last.Store(int64(-10 * time.Millisecond))
			for range 30 {
				time.Sleep(ttl / 3)
				require.True(b, p.Valid())
				require.Greater(b, f.session.Load().left(), 3*ttl/10, "renewals come in time")
			}
			c.On(nil)
			p.Release()
			b.leave(f)
		})
	}
}

// A lease that somebody has ended is lost at once, and not before.
func TestALeaseThatIsNotFoundIsLost(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(0)
		p := b.locked(f)
		c.On(func(_ context.Context, request string) error {
			if request == "renew" {
				return store.ErrEnded
			}
			return nil
		})
		require.LessOrEqual(b, untilLost(p), f.ttl/3+f.look())
		c.On(nil)
		p.Release()
		b.leave(f)
	})
}

// At any distance that the TTL allows a process joins, keeps its lease, and gets what is free. At
// others New says why not.
func TestDistance(t *testing.T) {
	for _, far := range []struct{ ttl, trip time.Duration }{
		{5 * time.Second, 100 * time.Millisecond},
		{5 * time.Second, 300 * time.Millisecond},
		{5 * time.Second, time.Second},
		{2 * time.Second, 400 * time.Millisecond},
		{2 * time.Second, 600 * time.Millisecond},
		{time.Second, 300 * time.Millisecond},
		{time.Minute, 2 * time.Second},
	} {
		inBubble(t, func(b *bubble) {
			f, _ := b.join(far.trip, WithTTL(far.ttl))
			began := time.Now()
			p := b.locked(f)
			require.LessOrEqual(b, time.Since(began), 3*far.trip+time.Millisecond, "%+v", far)
			select {
			case <-p.Lost():
				b.Errorf("%+v: lost after %v", far, time.Since(began))
			case <-time.After(100 * far.ttl):
			}
			p.Release()
			b.leave(f)
		})
	}
	for _, far := range []struct{ ttl, trip time.Duration }{
		{time.Second, 400 * time.Millisecond},
		{2 * time.Second, time.Second},
		{5 * time.Second, 1800 * time.Millisecond},
	} {
		inBubble(t, func(b *bubble) {
			c := b.Connect(far.trip)
			began := time.Now()
			_, err := New(b.ctx, c, WithTTL(far.ttl))
			require.ErrorContains(b, err, "answers after "+far.trip.String())
			require.Less(b, time.Since(began), time.Minute)
			require.Equal(b, joinTries, c.Asked("revoke"), "no lease is left")
		})
	}
}

// A process whose servers are suddenly far away learns it, and goes on.
func TestServersThatMove(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond, WithTTL(5*time.Second))
		m := b.mutex(f)
		for _, trip := range []time.Duration{1200 * time.Millisecond, time.Millisecond, 800 * time.Millisecond} {
			c.Move(trip, 0)
			for range 5 {
				p, err := b.lock(m, time.Minute)
				require.NoError(b, err)
				p.Release()
				time.Sleep(3 * time.Second)
				b.DeleteEntries(memstore.ID(kindMutex, "m")) // somebody else takes it away
				time.Sleep(3 * time.Second)
			}
		}
		b.leave(f)
	})
}

// For how long a request waits for a server that hangs does not grow with the TTL.
func TestAServerThatHangsDelaysLittle(t *testing.T) {
	for _, ttl := range []time.Duration{2 * time.Second, 5 * time.Second, time.Minute, maxTTL} {
		inBubble(t, func(b *bubble) {
			c := b.Connect(time.Millisecond)
			var asked atomic.Int64
			c.On(func(ctx context.Context, request string) error {
				if request != "renew" && asked.Add(1)%3 == 0 { // as the client asks three servers in turn
					return memstore.Hang(request)(ctx, request)
				}
				return nil
			})
			began := time.Now()
			f, err := New(b.ctx, c, WithTTL(ttl))
			require.NoError(b, err)
			p := b.locked(f)
			require.LessOrEqual(b, time.Since(began), 3*time.Second, "TTL %v", ttl)
			c.On(nil)
			p.Release()
			b.leave(f)
		})
	}
}

// The longest times are long, and overflow nothing.
func TestTheLongestTimesAreLong(t *testing.T) {
	require.Panics(t, func() { WithTTL(math.MaxInt64) })
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond, WithTTL(maxTTL), WithTenure(math.MaxInt64))
		g, _ := b.join(time.Millisecond)
		p := b.locked(f)
		s := b.mutex(f)
		got := b.asks(g, 100*time.Hour)
		rounds := 20
		if testing.Short() {
			rounds = 5
		}
		for range rounds { // a request is there at each release
			next := make(chan *Permit)
			go func() {
				q, err := s.Lock(b.ctx)
				require.NoError(b, err)
				next <- q
			}()
			time.Sleep(time.Hour)
			require.True(b, p.Valid())
			p.Release()
			p = <-next
		}
		require.Less(b, c.Asked("renew"), 3)
		require.Empty(b, got, "it is kept")
		p.Release()
		q := <-got
		require.NoError(b, q.err)
		q.Release()
		b.leave(g)
		b.leave(f)
	})
}

// While servers that are near are slow to begin a session, leases end before they are ours. New
// tries until its context ends.
func TestSlowToBegin(t *testing.T) {
	const slow = 2 * joinTries
	inBubble(t, func(b *bubble) {
		c := b.Connect(0)
		c.On(func(ctx context.Context, request string) error {
			if request == "begin" && c.Asked("revoke") < slow {
				pause(ctx, 900*time.Millisecond)
			}
			return ctx.Err()
		})
		f, err := New(b.ctx, c, WithTTL(time.Second))
		require.NoError(b, err)
		require.Equal(b, slow, c.Asked("revoke"), "no lease is left")
		b.leave(f)

		c.On(func(ctx context.Context, request string) error {
			if request == "begin" {
				pause(ctx, 900*time.Millisecond)
			}
			return ctx.Err()
		})
		ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
		defer cancel()
		_, err = New(ctx, c, WithTTL(time.Second))
		require.ErrorIs(b, err, context.DeadlineExceeded)
	})
}

// A session is lost while the server is asked, and the driver sees that before the requests of the
// old tenancy have ended. Who asks the fleet is answered by the next one.
func TestTryWhileATenancyTurns(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(0)
		s, err := f.Semaphore(b.ctx, "s", 1)
		require.NoError(b, err)
		d := f.running()[0]
		var old *tenancy
		c.On(func(_ context.Context, request string) error {
			if request != "txn" || old != nil {
				return nil
			}
			lost := f.session.Load()
			lost.lose()
			d.mu.Lock() // the first half of turn
			old = d.current.Load()
			d.old = append(d.old, old)
			d.current.Store(newTenancy(d.fleet, &d.bell))
			d.mu.Unlock()
			d.in.wake()
			return store.ErrEnded
		})
		p, err := s.TryAcquirePermit(b.ctx, 1)
		require.NoError(b, err, "nobody else wants it")
		old.end()
		p.Release()
		b.leave(f)
	})
}

// A process that may not begin a session does not join, even while the lease is renewed at once.
func TestBeginIsRefusedWhileTheLeaseIsRenewed(t *testing.T) {
	inBubble(t, func(b *bubble) {
		c := b.Connect(0)
		refused := errors.New("refused")
		c.On(func(ctx context.Context, request string) error {
			switch request {
			case "grant":
				pause(ctx, 300*time.Millisecond) // more than a tenth of the TTL
			case "begin":
				return refused
			}
			return nil
		})
		_, err := New(b.ctx, c, WithTTL(2*time.Second))
		require.ErrorIs(b, err, refused)
		require.Equal(b, 1, c.Asked("revoke"), "no lease is left")
	})
}

// A connection may fail at the limit of a request before the context of that has ended. The request
// is late all the same, and is made again.
func TestARequestThatFailsAtItsLimitIsLate(t *testing.T) {
	p := patience{least: 2 * time.Millisecond}
	for range 20 {
		late, err := p.once(t.Context(), func(ctx context.Context) error {
			end, _ := ctx.Deadline()
			for time.Now().Before(end) { // no timer of this process comes first
			}
			return os.ErrDeadlineExceeded
		})
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.True(t, late)
	}
	p = patience{least: time.Minute}
	late, err := p.once(t.Context(), func(context.Context) error { return os.ErrInvalid })
	require.ErrorIs(t, err, os.ErrInvalid)
	require.False(t, late)
}
