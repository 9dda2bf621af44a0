package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/fence"
	"github.com/farad-go/farad/fleet/internal/memstore"
	"github.com/farad-go/farad/fleet/store"
)

func (b *bubble) election(f *Fleet) *Election {
	b.Helper()
	e, err := f.Election(b.ctx, "e")
	require.NoError(b, err)
	return e
}

func (b *bubble) elected(f *Fleet) *Term {
	b.Helper()
	t, err := b.election(f).Campaign(b.ctx)
	require.NoError(b, err)
	return t
}

// A campaign that goes on in a goroutine of its own.
type campaign struct {
	term *Term
	err  error
	done chan struct{}
	stop context.CancelFunc
}

func (b *bubble) campaign(f *Fleet) *campaign {
	b.Helper()
	e, c := b.election(f), &campaign{done: make(chan struct{})}
	ctx, stop := context.WithCancel(b.ctx)
	c.stop = stop
	go func() {
		defer close(c.done)
		c.term, c.err = e.Campaign(ctx)
	}()
	b.settle()
	return c
}

// settle waits until everything that was begun has been done, at distances of milliseconds.
func (b *bubble) settle() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

// Whoever campaigns, and however terms end, one candidate leads at a time, all are served, and
// tokens grow from each term to the next.
func TestOneLeads(t *testing.T) {
	inBubble(t, func(b *bubble) {
		var candidates sync.WaitGroup
		var leads atomic.Int64
		var last fence.Token // guarded by the election
		terms := map[string]int{}
		fleets := map[string]*Fleet{}
		for _, name := range []string{"a", "b", "c"} {
			f, _ := b.join(time.Millisecond, WithName(name))
			fleets[name] = f
			e := b.election(f)
			for range 3 {
				candidates.Go(func() {
					for range 20 {
						term, err := e.Campaign(b.ctx)
						if err != nil {
							b.Error(err)
							return
						}
						if leads.Add(1) != 1 {
							b.Error("two lead")
						}
						if term.Token().Compare(last) <= 0 {
							b.Errorf("%v after %v", term.Token(), last)
						}
						last = term.Token()
						terms[name]++
						time.Sleep(time.Millisecond)
						leads.Add(-1)
						term.Resign()
						term.Resign() // does nothing
					}
				})
			}
		}
		candidates.Wait()
		require.Equal(b, map[string]int{"a": 60, "b": 60, "c": 60}, terms)
		b.settle()
		require.Zero(b, b.Entries(), "nobody leads, and nothing says that somebody does")
		for _, f := range fleets {
			b.leave(f)
		}
	})
}

// A term's context ends with it: when it is resigned, and with a margin before others lead if the
// session is lost.
func TestATermEndsItsContext(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond)
		g, _ := b.join(time.Millisecond)
		term := b.elected(f)
		require.True(b, term.Valid())
		require.NoError(b, term.Context().Err())
		term.Resign()
		require.False(b, term.Valid())
		require.ErrorIs(b, context.Cause(term.Context()), context.Canceled)

		term = b.elected(f)
		next := b.campaign(g)
		c.On(memstore.Hang("renew")) // f is cut off
		<-term.Context().Done()
		lost := time.Now()
		require.ErrorIs(b, context.Cause(term.Context()), ErrLost)
		require.False(b, term.Valid())
		<-next.done
		require.NoError(b, next.err)
		require.GreaterOrEqual(b, time.Since(lost), f.ttl/5)
		require.Positive(b, next.term.Token().Compare(term.Token()))
		c.On(nil)
		term.Resign()
		next.term.Resign()
		b.leave(f)
		b.leave(g)
	})
}

// A leader that was paused acts after another one has begun. A resource that has seen the other's
// token refuses it, and its context has ended.
func TestAPausedLeaderIsRefused(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(time.Millisecond)
		g, _ := b.join(time.Millisecond)
		gate := fence.NewGate(1)
		term := b.elected(f)
		require.NoError(b, gate.Check(term.Token()))
		require.True(b, term.Valid())
		next := b.campaign(g)
		b.Expire(f.session.Load().lease) // the machine stands still after its look
		<-next.done
		require.NoError(b, next.err)
		require.NoError(b, gate.Check(next.term.Token()))
		require.ErrorIs(b, gate.Check(term.Token()), fence.ErrStale)
		<-term.Context().Done() // it runs again
		term.Resign()
		next.term.Resign()
		b.leave(f)
		b.leave(g)
	})
}

// A suspended machine's monotonic clock stands still. The wall clock ends the term all the same.
func TestATermEndsAfterASuspend(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond)
		term := b.elected(f)
		c.On(memstore.Hang("renew"))
		b.skew(time.Hour)
		began := time.Now()
		require.False(b, term.Valid())
		<-term.Context().Done()
		require.LessOrEqual(b, time.Since(began), f.ttl/40)
		c.On(nil)
		term.Resign()
		b.leave(f)
	})
}

// Two campaigns of one process are two candidates. Those of other processes have their turn
// between them.
func TestTwoCampaignsInOneProcess(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(time.Millisecond, WithTenure(0))
		g, _ := b.join(time.Millisecond, WithTenure(0))
		first := b.elected(f)
		second, third := b.campaign(f), b.campaign(f)
		other := b.campaign(g)
		require.False(b, isClosed(second.done))
		first.Resign()
		order := []string{}
		left := map[string]*campaign{"second": second, "third": third, "other": other}
		for len(left) > 0 {
			b.settle()
			leading := ""
			for name, c := range left {
				if isClosed(c.done) {
					require.Empty(b, leading, "two lead")
					leading = name
				}
			}
			require.NotEmpty(b, leading, "nobody leads")
			require.NoError(b, left[leading].err)
			left[leading].term.Resign()
			delete(left, leading)
			order = append(order, leading)
		}
		require.Less(b, slices.Index(order, "second"), slices.Index(order, "third"))
		require.Less(b, slices.Index(order, "other"), 2, "%v", order)
		b.leave(f)
		b.leave(g)
	})
}

// Who resigns while another goroutine of the process campaigns hands over without the network.
func TestResignWhileCampaigning(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond)
		term := b.elected(f)
		next := b.campaign(f)
		asked := c.Asked("txn")
		began := time.Now()
		term.Resign()
		<-next.done
		require.NoError(b, next.err)
		require.Zero(b, time.Since(began))
		require.Equal(b, asked, c.Asked("txn"))
		require.Positive(b, next.term.Token().Compare(term.Token()))
		next.term.Resign()
		b.settle()
		require.Zero(b, b.Entries())
		b.leave(f)
	})
}

// Whatever request a campaign's context ends at, it leads or it leaves nothing.
func TestACampaignMayEndAtAnyRequest(t *testing.T) {
	boom := errors.New("ended here")
	for at := range 12 {
		inBubble(t, func(b *bubble) {
			f, c := b.join(10 * time.Millisecond)
			g, _ := b.join(10 * time.Millisecond)
			rival := b.elected(g)
			time.AfterFunc(200*time.Millisecond, rival.Resign)
			ctx, cancel := context.WithCancelCause(b.ctx)
			defer cancel(nil)
			var asked atomic.Int64
			c.On(func(_ context.Context, request string) error {
				if request != "renew" && asked.Add(1) == int64(at) {
					cancel(boom)
				}
				return nil
			})
			if e, err := f.Election(ctx, "e"); err == nil {
				for range 2 {
					if term, err := e.Campaign(ctx); err == nil {
						term.Resign()
					} else {
						require.ErrorIs(b, err, context.Canceled)
					}
				}
			}
			b.settle()
			b.settle()
			b.settle()
			require.Zero(b, b.Entries(), "at request %d", at)
			last := b.elected(g)
			last.Resign()
			b.leave(f)
			b.leave(g)
		})
	}
}

// Close ends campaigns and observations. A term lasts until it is resigned, and Close of the
// membership waits for that.
func TestCloseOfAnElection(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(time.Millisecond)
		term, next := b.elected(f), b.campaign(f)
		seen := make(chan []Leader)
		go func() { seen <- slices.Collect(b.election(f).Observe(b.ctx)) }()
		b.settle()
		b.election(f).Close()
		<-next.done
		require.ErrorIs(b, next.err, ErrClosed)
		require.Len(b, <-seen, 1)
		require.True(b, term.Valid())

		again := b.campaign(f) // opens it again: what the closed one has counts
		go func() { seen <- slices.Collect(b.election(f).Observe(b.ctx)) }()
		b.settle()
		closed := make(chan error)
		go func() { closed <- f.Close(b.ctx) }()
		b.settle()
		<-again.done
		require.ErrorIs(b, again.err, ErrClosed)
		<-seen
		require.True(b, term.Valid())
		require.Empty(b, closed)
		term.Resign()
		require.NoError(b, <-closed)
		require.Zero(b, b.Entries())
		_, err := f.Election(b.ctx, "e")
		require.ErrorIs(b, err, ErrClosed)
	})
}

// Observers see each leader in order, by name, without asking more than once for each. A late one
// sees the newest.
func TestObserveALeader(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(time.Millisecond, WithName("10.0.0.1:80"))
		g, _ := b.join(time.Millisecond)
		h, c := b.join(time.Millisecond)
		ctx, stop := context.WithCancel(b.ctx)
		var seen, own []Leader
		var observers sync.WaitGroup
		observers.Go(func() { seen = slices.Collect(b.election(h).Observe(ctx)) })
		observers.Go(func() { own = slices.Collect(b.election(f).Observe(ctx)) })
		b.settle()
		for range 3 {
			term := b.elected(f)
			b.settle()
			next := b.campaign(g)
			term.Resign()
			<-next.done
			b.settle()
			next.term.Resign()
			b.settle()
		}
		for l := range b.election(h).Observe(b.ctx) { // one that comes later, and breaks
			require.Zero(b, l)
			break
		}
		stop()
		observers.Wait()
		one := Leader{Process: "10.0.0.1:80", Lease: f.session.Load().lease}
		two := Leader{Process: h.nameOf(b.ctx, g.session.Load().lease), Lease: g.session.Load().lease}
		require.Contains(b, two.Process, "/", "host and process number")
		// Between two terms the line may have one entry or none when the observer looks.
		named := func(all []Leader) (some []Leader) {
			for _, l := range all {
				if l.Lease != 0 {
					some = append(some, l)
				}
			}
			return some
		}
		require.Equal(b, []Leader{one, two, one, two, one, two}, named(seen))
		require.Zero(b, seen[0])
		require.Zero(b, seen[len(seen)-1])
		one.Own = true
		require.Equal(b, []Leader{one, two, one, two, one, two}, named(own))
		require.LessOrEqual(b, c.Asked("sessions"), 2)
		require.Equal(b, 1, c.Open(""), "one watch")

		// A rest costs nothing: renewals, and a sign of life now and then.
		var last Leader
		go func() {
			for l := range b.election(h).Observe(b.ctx) {
				last = l
			}
		}()
		before := c.Asked("txn") + c.Asked("read") + c.Asked("sessions") + c.Asked("revision")
		time.Sleep(time.Hour)
		require.Equal(b, before, c.Asked("txn")+c.Asked("read")+c.Asked("sessions")+c.Asked("revision"))

		// The store may not say who it is.
		c.On(memstore.Refuse("sessions"))
		i, _ := b.join(time.Millisecond)
		term := b.elected(i)
		b.settle()
		require.Equal(b, Leader{Lease: i.session.Load().lease}, last)
		term.Resign()
		c.On(nil)
		for _, f := range []*Fleet{f, g, h, i} {
			b.leave(f)
		}
	})
}

// Who campaigns is refused, waits and leads as with any lock.
func TestACampaignThatIsRefused(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond)
		e := b.election(f)
		c.On(memstore.Refuse("txn"))
		_, err := e.Campaign(b.ctx)
		require.ErrorIs(b, err, store.ErrRefused)
		c.On(nil)
		term := b.elected(f)
		all, err := f.Status(b.ctx)
		require.NoError(b, err)
		require.Len(b, all, 1)
		require.Equal(b, "election e", all[0].Name)
		require.EqualValues(b, 1, all[0].Held)
		term.Resign()
		b.leave(f)
	})
}
