package contract

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/fence"
)

func (w *world) election(f *fleet.Fleet) *fleet.Election {
	e, err := f.Election(w.ctx, "s")
	require.NoError(w, err)
	return e
}

// Candidates of three processes lead one after the other, with tokens that grow. When nobody leads
// the line is empty.
func TestElection(t *testing.T) {
	w := newWorld(t)
	var candidates sync.WaitGroup
	var leads atomic.Int64
	var last fence.Token // guarded by the election
	for range 3 {
		e := w.election(w.join(fleet.WithTenure(time.Millisecond)))
		for range 2 {
			candidates.Go(func() {
				for range 20 {
					term, err := e.Campaign(w.ctx)
					if err != nil {
						t.Error(err)
						return
					}
					if leads.Add(1) != 1 || term.Token().Compare(last) <= 0 {
						t.Errorf("%d lead, %v after %v", leads.Load(), term.Token(), last)
					}
					last = term.Token()
					leads.Add(-1)
					term.Resign()
				}
			})
		}
	}
	candidates.Wait()
	w.eventually(func() bool { return w.entries("election") == 0 }, "nobody leads")
}

// A leader whose lease ends, and one that resigns, are followed by who campaigns. A third process
// sees all three, by name.
func TestElectionAfterALoss(t *testing.T) {
	w := newWorld(t)
	one, two := w.join(fleet.WithName("one")), w.join(fleet.WithName("two"))
	a, b, c := w.election(one), w.election(two), w.election(w.join())
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	leaders := make(chan fleet.Leader)
	var observer sync.WaitGroup
	observer.Go(func() {
		for l := range c.Observe(ctx) {
			if l.Process != "" {
				leaders <- l
			}
		}
	})
	term, err := a.Campaign(w.ctx)
	require.NoError(t, err)
	require.Equal(t, fleet.Leader{Process: "one", Lease: term.Token().Lease}, <-leaders)
	next := make(chan *fleet.Term)
	go func() {
		term, err := b.Campaign(w.ctx)
		if err != nil {
			t.Error(err)
		}
		next <- term
	}()
	w.eventually(func() bool { return w.entries("election") == 2 }, "it is in line")
	_, err = w.client.Revoke(w.ctx, clientv3.LeaseID(term.Token().Lease))
	require.NoError(t, err)
	second := <-next
	require.Equal(t, fleet.Leader{Process: "two", Lease: second.Token().Lease}, <-leaders)
	<-term.Context().Done()
	require.ErrorIs(t, context.Cause(term.Context()), fleet.ErrLost)
	require.Positive(t, second.Token().Compare(term.Token()))
	gate := fence.NewGate(1)
	require.NoError(t, gate.Check(second.Token()))
	require.ErrorIs(t, gate.Check(term.Token()), fence.ErrStale)
	term.Resign()
	require.True(t, second.Valid())
	second.Resign()
	third, err := a.Campaign(w.ctx)
	require.NoError(t, err)
	require.Equal(t, "one", (<-leaders).Process)
	third.Resign()
	stop()
	observer.Wait()
	require.Empty(t, slices.Collect(c.Observe(ctx)))
	a.Close()
	_, err = a.Campaign(w.ctx)
	require.ErrorIs(t, err, fleet.ErrClosed)
}
