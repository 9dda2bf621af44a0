package fleet

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/internal/memstore"
)

func (b *bubble) election(f *Fleet) *Election {
	b.Helper()
	e, err := f.Election(b.ctx, "e")
	require.NoError(b, err)
	return e
}

func (b *bubble) elected(f *Fleet) *Permit {
	b.Helper()
	t, err := b.election(f).Campaign(b.ctx)
	require.NoError(b, err)
	return t
}

// A campaign that goes on in a goroutine of its own.
type campaign struct {
	term *Permit
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

// A term's context ends with a margin before others lead if the session is lost.
func TestATermEndsItsContext(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond)
		g, _ := b.join(time.Millisecond)
		term := b.elected(f)
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
		term.Release()
		next.term.Release()
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
		term.Release()
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
		first.Release()
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
			left[leading].term.Release()
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
func TestReleaseWhileCampaigning(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, c := b.join(time.Millisecond)
		term := b.elected(f)
		next := b.campaign(f)
		asked := c.Asked("txn")
		began := time.Now()
		term.Release()
		<-next.done
		require.NoError(b, next.err)
		require.Zero(b, time.Since(began))
		require.Equal(b, asked, c.Asked("txn"))
		require.Positive(b, next.term.Token().Compare(term.Token()))
		next.term.Release()
		b.settle()
		require.Zero(b, b.Entries())
		b.leave(f)
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
		var seen, own []Block
		var observers sync.WaitGroup
		observers.Go(func() { seen = slices.Collect(b.election(h).Observe(ctx)) })
		observers.Go(func() { own = slices.Collect(b.election(f).Observe(ctx)) })
		b.settle()
		for range 3 {
			term := b.elected(f)
			b.settle()
			next := b.campaign(g)
			term.Release()
			<-next.done
			b.settle()
			next.term.Release()
			b.settle()
		}
		for l := range b.election(h).Observe(b.ctx) { // one that comes later, and breaks
			require.Zero(b, l)
			break
		}
		stop()
		observers.Wait()
		one := Block{Process: "10.0.0.1:80", Lease: f.session.Load().lease, Permits: 1, Holds: true}
		two := one
		two.Lease = g.session.Load().lease
		two.Process = h.nameOf(b.ctx, two.Lease)
		require.Contains(b, two.Process, "/", "host and process number")
		// Between two terms the line may have one entry or none when the observer looks.
		named := func(all []Block) (some []Block) {
			for _, l := range all {
				if l.Lease != 0 {
					require.NotZero(b, l.Since)
					l.Since = time.Time{}
					some = append(some, l)
				}
			}
			return some
		}
		require.Equal(b, []Block{one, two, one, two, one, two}, named(seen))
		require.Zero(b, seen[0])
		require.Zero(b, seen[len(seen)-1])
		one.Own = true
		require.Equal(b, []Block{one, two, one, two, one, two}, named(own))
		require.LessOrEqual(b, c.Asked("sessions"), 2)
		require.Equal(b, 1, c.Open(""), "one watch")

		// A rest costs nothing: renewals, and a sign of life now and then.
		var last Block
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
		require.Equal(b, i.session.Load().lease, last.Lease)
		require.Empty(b, last.Process)
		term.Release()
		c.On(nil)
		for _, f := range []*Fleet{f, g, h, i} {
			b.leave(f)
		}
	})
}
