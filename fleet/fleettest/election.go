package fleettest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/fence"
	"github.com/farad-go/farad/fleet/store"
)

var elections = []func(w *world){
	oneLeads, electionAfterALoss, closeOfAnElection, aCampaignThatIsRefused,
}

// One candidate leads at a time, all are served, and tokens grow from each term
// to the next. When nobody leads, nothing says that somebody does.
func oneLeads(w *world) {
	var candidates sync.WaitGroup
	var leads atomic.Int64
	var last fence.Token // guarded by the election
	terms := map[string]int{}
	for _, name := range []string{"a", "b", "c"} {
		e := w.election(w.join(fleet.WithTenure(time.Millisecond), fleet.WithName(name)))
		for range 3 {
			candidates.Go(func() {
				for range 10 {
					term, err := e.Campaign(w.ctx)
					w.noError(err)
					if leads.Add(1) != 1 || term.Token().Compare(last) <= 0 {
						w.Errorf("%d lead, %v after %v", leads.Load(), term.Token(), last)
					}
					last = term.Token()
					terms[name]++
					leads.Add(-1)
					term.Release()
					term.Release() // does nothing
				}
			})
		}
	}
	candidates.Wait()
	w.equal(map[string]int{"a": 30, "b": 30, "c": 30}, terms)
	w.eventually(func() bool { return w.entries("election") == 0 }, "nobody leads")
}

// A leader whose lease ends, and one that resigns, are followed by who campaigns. The context of a
// term ends with it. A third process sees all three, by name.
func electionAfterALoss(w *world) {
	one, two := w.join(fleet.WithName("one")), w.join(fleet.WithName("two"))
	a, b, c := w.election(one), w.election(two), w.election(w.join())
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	leaders := make(chan string)
	var observer sync.WaitGroup
	observer.Go(func() {
		for l := range c.Observe(ctx) {
			select {
			case leaders <- fmt.Sprint(l.Process, l.Lease):
			case <-ctx.Done():
			}
		}
	})
	sees := func(process string, lease int64) { // between two leaders there may be none
		w.eventually(func() bool { return receive(w, leaders) == fmt.Sprint(process, lease) }, "it leads")
	}
	term, err := a.Campaign(w.ctx)
	w.noError(err)
	w.check(term.Valid())
	w.noError(term.Context().Err())
	sees("one", term.Token().Lease)
	next := make(chan *fleet.Permit)
	go func() {
		term, err := b.Campaign(w.ctx)
		w.noError(err)
		next <- term
	}()
	w.eventually(func() bool { return w.entries("election") == 2 }, "it is in line")
	w.revoke(term)
	second := receive(w, next)
	sees("two", second.Token().Lease)
	receive(w, term.Context().Done())
	w.errorIs(context.Cause(term.Context()), fleet.ErrLost)
	w.check(second.Token().Compare(term.Token()) > 0)
	gate := fence.NewGate(1)
	w.noError(gate.Check(second.Token()))
	w.errorIs(gate.Check(term.Token()), fence.ErrStale)
	term.Release()
	w.check(second.Valid())
	second.Release()
	w.check(!second.Valid())
	w.errorIs(context.Cause(second.Context()), context.Canceled)
	third, err := a.Campaign(w.ctx)
	w.noError(err)
	sees("one", third.Token().Lease)
	third.Release()
	stop()
	observer.Wait()
	w.equal(0, len(slices.Collect(c.Observe(ctx))))
	a.Close()
	_, err = a.Campaign(w.ctx)
	w.errorIs(err, fleet.ErrClosed)
}

// Close ends campaigns and observations. A term lasts until its release, and Close of the
// membership waits for that.
func closeOfAnElection(w *world) {
	f := w.apart()
	term, err := w.election(f).Campaign(w.ctx)
	w.noError(err)
	seen := make(chan fleet.Block)
	observe := func() {
		e := w.election(f)
		go func() {
			defer close(seen)
			for l := range e.Observe(w.ctx) {
				seen <- l
			}
		}()
	}
	campaign := func() <-chan error {
		e, ends := w.election(f), make(chan error)
		go func() {
			_, err := e.Campaign(w.ctx)
			ends <- err
		}()
		w.waits(f, "election s")
		return ends
	}
	observe()
	w.check(receive(w, seen).Own)
	ends := campaign()
	w.election(f).Close()
	w.errorIs(receive(w, ends), fleet.ErrClosed)
	w.equal(fleet.Block{}, receive(w, seen), "it is closed")
	w.check(term.Valid())

	ends = campaign() // opens it again: what the closed one has counts
	closed := make(chan error, 1)
	go func() { closed <- f.Close(w.ctx) }()
	w.errorIs(receive(w, ends), fleet.ErrClosed)
	w.check(term.Valid())
	w.equal(0, len(closed))
	term.Release()
	w.noError(receive(w, closed))
	w.equal(0, w.entries("election"))
	_, err = f.Election(w.ctx, "s")
	w.errorIs(err, fleet.ErrClosed)
}

// Who campaigns is refused as with any lock.
func aCampaignThatIsRefused(w *world) {
	f, x := w.disturbed()
	e := w.election(f)
	x.refuse("txn")
	_, err := e.Campaign(w.ctx)
	w.errorIs(err, store.ErrRefused)
	x.on(nil)
	var term *fleet.Permit
	w.eventually(func() bool { // until it has asked again
		term, err = e.Campaign(w.ctx)
		return err == nil
	}, "it is refused no more")
	all, err := f.Status(w.ctx)
	w.noError(err)
	w.equal(1, len(all))
	w.equal("election s", all[0].Name)
	w.equal(1, all[0].Held)
	term.Release()
}
