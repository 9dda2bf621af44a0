//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet"
)

// lines returns how many rows there are of lines.
func (w *world) lines() int {
	w.Helper()
	return w.count("SELECT count(*) FROM farad.line WHERE space = (SELECT id FROM farad.space WHERE name = $1)", w.ns)
}

// Of no key is more in use than there is, keys that nobody uses leave no row, and tokens of a key
// grow although its row was gone.
func TestKeyed(t *testing.T) {
	w := onShared(t)
	const keys, size = 5, 2
	var held [keys]atomic.Int64
	var users sync.WaitGroup
	var all []*fleet.Keyed
	for i := range 3 {
		k, err := w.join(fleet.WithTenure(time.Millisecond)).Keyed(w.ctx, "exports", size)
		require.NoError(t, err)
		all = append(all, k)
		for j := range 4 {
			r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
			users.Go(func() {
				for range 20 {
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
	w.eventually(func() bool { return w.lines() == 0 }, "rows are left")
	one, err := all[0].AcquirePermit(w.ctx, "x", 1)
	require.NoError(t, err)
	one.Release()
	w.eventually(func() bool { return w.lines() == 0 }, "rows are left")
	two, err := all[1].AcquirePermit(w.ctx, "x", 1)
	require.NoError(t, err)
	require.Positive(t, two.Token().Compare(one.Token()))
	two.Release()
	require.NoError(t, all[0].Resize(w.ctx, "x", 3))
	require.NoError(t, all[1].Acquire(w.ctx, "x", 3))
	all[1].Release("x", 3)
	w.eventually(func() bool { return w.lines() == 1 }, "a size is kept")
}

// A leader whose session an operator ends is followed by who campaigns, and others see both.
func TestElection(t *testing.T) {
	w := onShared(t)
	election := func(f *fleet.Fleet) *fleet.Election {
		e, err := f.Election(w.ctx, "scheduler")
		require.NoError(t, err)
		return e
	}
	a, b := election(w.join(fleet.WithName("one"))), election(w.join(fleet.WithName("two")))
	ctx, stop := context.WithCancel(w.ctx)
	leaders := make(chan string, 100)
	var observer sync.WaitGroup
	observer.Go(func() {
		for l := range b.Observe(ctx) {
			if l.Process != "" {
				leaders <- l.Process
			}
		}
	})
	term, err := a.Campaign(w.ctx)
	require.NoError(t, err)
	require.Equal(t, "one", <-leaders)
	next := make(chan *fleet.Term)
	go func() {
		term, err := b.Campaign(w.ctx)
		if err != nil {
			t.Error(err)
		}
		next <- term
	}()
	w.exec("DELETE FROM farad.session WHERE lease = $1", term.Token().Lease)
	second := <-next
	require.Equal(t, "two", <-leaders)
	<-term.Context().Done()
	require.ErrorIs(t, context.Cause(term.Context()), fleet.ErrLost)
	require.Positive(t, second.Token().Compare(term.Token()))
	term.Resign()
	second.Resign()
	w.eventually(func() bool { return w.lines() == 0 }, "nobody leads")
	stop()
	observer.Wait()
}
