package fleettest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/fleet"
)

var endings = []func(w *world){
	closeThatGivesUp, closeAgainDoesNotRevokeWhatIsHeld, aTryThatHasNoAnswerAsksAgain,
	closeWaitsForRequests, aClosedFleetLeavesNothing, aRequestThatIsLateHasAnOwner,
	openedAgainWhilePermitsAreHeld, whatMayBeDeletedIsNotAdopted,
	aRefusalThatIsOverCountsNoMore, aRefusalEnds, aClosedSemaphoreIsForgottenAfterAHiccup,
	aRequestThatArrivesTwice,
	aContextMayEndAtAnyRequest,
}

// What a Close that gave up leaves held is lost in time, although its driver has ended.
func closeThatGivesUp(w *world) {
	f := w.apart(fleet.WithTTL(w.TTL))
	p, err := w.semaphore(f, 1).AcquirePermit(w.ctx, 1)
	w.noError(err)
	w.errorIs(w.closeWithin(f, 20*time.Millisecond), context.DeadlineExceeded)
	w.check(p.Valid(), "its time has not run out")
	w.lost(p)
	w.check(!p.Valid())
}

// A second Close must not give the lease away under those that still hold.
func closeAgainDoesNotRevokeWhatIsHeld(w *world) {
	f := w.apart(fleet.WithTTL(w.TTL))
	p, err := w.semaphore(f, 1).AcquirePermit(w.ctx, 1)
	w.noError(err)
	w.errorIs(w.closeWithin(f, 20*time.Millisecond), context.DeadlineExceeded)
	w.errorIs(w.closeWithin(f, 20*time.Millisecond), context.DeadlineExceeded)
	_, err = f.Mutex(w.ctx, "m")
	w.errorIs(err, fleet.ErrClosed)
	b := w.semaphore(w.join(), 1)
	q, err := b.AcquirePermit(w.ctx, 1)
	w.noError(err)
	w.check(!p.Valid(), "another process has it")
	q.Release()
	w.noError(w.closeWithin(f, patience), "nothing is left to wait for")
}

// A transaction without an answer says nothing of what is free: a try asks again.
func aTryThatHasNoAnswerAsksAgain(w *world) {
	f, x := w.disturbed()
	s := w.semaphore(f, 1)
	x.giveUp(true)
	p, err := s.TryAcquirePermit(w.ctx, 1)
	w.noError(err, "it was free")
	p.Release()
}

// After Close nothing of the membership uses the store, which may be closed then.
func closeWaitsForRequests(w *world) {
	late := func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(100 * time.Millisecond)
		return ctx.Err()
	}
	f, x := w.wired()
	x.on(func(ctx context.Context, request string, _ func(context.Context)) error {
		if request == "watch" {
			return late(ctx)
		}
		return nil
	})
	w.semaphore(f, 1)
	w.eventually(func() bool { return x.sum(x.going, "watch") == 1 }, "it watches")
	w.noError(w.closeWithin(f, patience))
	w.equal(0, x.sum(x.going), "a watch")

	f, x = w.wired(fleet.WithTTL(w.TTL))
	s := w.semaphore(f, 1)
	fail := make(chan error)
	x.on(func(ctx context.Context, request string, _ func(context.Context)) error {
		if request != "txn" {
			return nil
		}
		select {
		case err := <-fail:
			return err
		case <-ctx.Done():
			return late(ctx)
		}
	})
	waits, asks := make(chan error, 1), make(chan error, 1)
	go func() { waits <- s.Acquire(w.ctx, 1) }()
	go func() {
		_, err := s.TryAcquirePermit(w.ctx, 1)
		asks <- err
	}()
	w.eventually(func() bool { return x.sum(x.going, "txn") == 1 && s.Waiting() == 2 }, "it asks")
	before := x.sum(x.asked, "txn")
	fail <- errors.New("unavailable")
	w.eventually(func() bool { return x.sum(x.asked, "txn") >= before+2 }, "it asks again, for both")
	w.errorIs(w.closeWithin(f, 20*time.Millisecond), context.DeadlineExceeded)
	w.equal(0, x.sum(x.going), "a transaction")
	w.errorIs(receive(w, waits), fleet.ErrClosed)
	w.errorIs(receive(w, asks), fleet.ErrClosed)
	w.noError(w.closeWithin(f, patience), "the lease's time is over")
}

// What a closed fleet leaves are its sizes.
func aClosedFleetLeavesNothing(w *world) {
	f := w.apart()
	var names []string
	for i := range 20 {
		names = append(names, string(rune('a'+i)))
		m, err := f.Mutex(w.ctx, names[i])
		w.noError(err)
		p, err := m.Lock(w.ctx)
		w.noError(err)
		p.Release()
	}
	before, err := w.operator.Sessions(w.ctx)
	w.noError(err)
	w.noError(f.Close(w.ctx))
	for _, name := range names {
		w.equal(0, len(w.state("mutex", name).Entries))
	}
	after, err := w.operator.Sessions(w.ctx)
	w.noError(err)
	w.equal(len(before)-1, len(after))
}

// forgotten waits until nothing is left of the lines that a process has closed.
func (w *world) forgotten(f *fleet.Fleet) {
	w.eventually(func() bool {
		all, err := f.Status(w.ctx)
		w.noError(err)
		return len(all) == 0
	}, "forgotten")
}

// A request that had no answer makes its entry after the semaphore was closed, opened again and
// closed. It must not be nobody's.
func aRequestThatIsLateHasAnOwner(w *world) {
	f, x := w.disturbed()
	a := w.semaphore(f, 1)
	late := x.giveUp(true)
	ctx, cancel := context.WithCancel(w.ctx)
	got := make(chan error, 1)
	go func() { got <- a.Acquire(ctx, 1) }()
	apply := receive(w, late)
	cancel()
	w.errorIs(receive(w, got), context.Canceled)
	a.Close()
	a = w.semaphore(f, 1)
	w.noError(a.Acquire(w.ctx, 1))
	a.Release(1)
	a.Close()
	w.forgotten(f)
	apply(w.ctx)
	b := w.semaphore(w.join(), 1)
	w.noError(b.Acquire(w.ctx, 1), "an entry that nobody owns")
	b.Release(1)
}

// A semaphore is opened again while permits are held of it. What is held counts, and stays.
func openedAgainWhilePermitsAreHeld(w *world) {
	f := w.join()
	a := w.semaphore(f, 2)
	p, err := a.AcquirePermit(w.ctx, 1)
	w.noError(err)
	w.noError(a.Acquire(w.ctx, 1))
	for range 3 {
		a.Close()
		again := w.semaphore(f, 2)
		w.errorIs(a.Acquire(w.ctx, 1), fleet.ErrClosed)
		w.errorIs(again.AcquireTimeout(20*time.Millisecond, 1), context.DeadlineExceeded)
		all, err := f.Status(w.ctx)
		w.noError(err)
		w.equal(1, len(all))
		w.equal(2, all[0].Held)
		a.Release(1)
		w.noError(again.Acquire(w.ctx, 1))
		w.check(p.Valid())
		a = again
	}
	a.Release(1)
	p.Release()
	w.noError(a.Acquire(w.ctx, 2))
	a.Release(2)
}

// A block goes back, and there is no answer. The read that follows is refused. A semaphore that is
// opened then must not use the block: its return may still be under way.
func whatMayBeDeletedIsNotAdopted(w *world) {
	f, x := w.disturbed(fleet.WithTTL(8 * time.Second))
	a := w.semaphore(f, 1)
	w.noError(a.Acquire(w.ctx, 1))
	a.Release(1)
	x.refuse("read", "revision")
	late := x.giveUp(true)
	a.Close()
	apply := receive(w, late)
	w.eventually(func() bool {
		all, err := f.Status(w.ctx)
		return err != nil || len(all) == 0 || all[0].Refused != ""
	}, "the read is refused")
	x.on(nil)
	a = w.semaphore(f, 1)
	w.overlaps(f, a, apply)
}

// overlaps has one process acquire the permit, has something be carried out that is late, and has
// another process wait for the permit. Both must not have it.
func (w *world) overlaps(f *fleet.Fleet, a *fleet.Semaphore, apply func(context.Context)) {
	var p *fleet.Permit
	w.eventually(func() bool {
		ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
		defer cancel()
		if q, err := a.AcquirePermit(ctx, 1); err == nil {
			p = q
		} else {
			a = w.semaphore(f, 1)
		}
		return p != nil
	}, "the permit")
	b := w.semaphore(w.join(), 1)
	got := make(chan error, 1)
	go func() { got <- b.Acquire(w.ctx, 1) }()
	w.eventually(func() bool { return b.Waiting() == 1 }, "it waits")
	apply(w.ctx)
	select {
	case err := <-got:
		if err == nil {
			b.Release(1)
		}
		w.fatal("another process has been given the permit")
	case <-p.Lost():
		w.fatal("the permit is lost")
	case <-time.After(500 * time.Millisecond):
	}
	p.Release()
	w.noError(receive(w, got))
	b.Release(1)
}

// refusedOnce has reads of a process be refused until it says so, and then waits until it is
// refused no more.
func (w *world) refusedOnce(f *fleet.Fleet, x *wire) {
	isRefused := func() bool {
		all, err := f.Status(w.ctx)
		w.noError(err)
		return len(all) > 0 && all[0].Refused != ""
	}
	x.deafen("read", "revision")
	w.eventually(isRefused, "a read is refused")
	x.on(nil)
	w.eventually(func() bool { return !isRefused() }, "no more")
}

// A read was refused once, and then no more. A block that goes back afterwards is not back before
// the store has said so.
func aRefusalThatIsOverCountsNoMore(w *world) {
	f, x := w.disturbed(fleet.WithTTL(8 * time.Second))
	x.deafen() // it is asked all the time whether there is news
	a := w.semaphore(f, 1)
	w.noError(a.Acquire(w.ctx, 1))
	a.Release(1)
	w.refusedOnce(f, x)
	late := x.giveUp(false)
	a.Close()
	apply := receive(w, late)
	a = w.semaphore(f, 1)
	w.overlaps(f, a, apply)
}

// Status reports a refusal for as long as it lasts, also if the process does nothing.
func aRefusalEnds(w *world) {
	f, x := w.disturbed(fleet.WithTTL(w.TTL))
	x.deafen()
	w.semaphore(f, 1)
	w.refusedOnce(f, x)
}

// What had no answer once does not stay for the life of the process.
func aClosedSemaphoreIsForgottenAfterAHiccup(w *world) {
	f, x := w.disturbed()
	for _, applied := range []bool{false, true} {
		a := w.semaphore(f, 1)
		late := x.giveUp(true)
		got := make(chan error, 1)
		go func() { got <- a.Acquire(w.ctx, 1) }()
		if apply := receive(w, late); applied {
			apply(w.ctx)
		}
		w.noError(receive(w, got))
		a.Release(1)
		a.Close()
		w.forgotten(f)
		w.equal(0, w.entries("semaphore"))
	}
}

// A request that arrives twice makes one entry, as it was made first: it does not get back what it
// has returned.
func aRequestThatArrivesTwice(w *world) {
	f, x := w.disturbed()
	a, b := w.semaphore(f, 3), w.semaphore(w.join(), 3)
	again := make(chan func(context.Context), 1)
	x.on(func(_ context.Context, request string, apply func(context.Context)) error {
		if request == "txn" {
			x.on(nil)
			again <- apply
		}
		return nil
	})
	p, err := a.AcquirePermit(w.ctx, 3)
	w.noError(err)
	p.Release()
	w.noError(a.Acquire(w.ctx, 1))
	w.noError(b.Acquire(w.ctx, 2))
	receive(w, again)(w.ctx)
	var weights []int64
	for _, e := range w.state("semaphore", "s").Entries {
		weights = append(weights, e.Weight)
	}
	w.equal([]int64{1, 2}, weights)
	a.Release(1)
	b.Release(2)
}

// Whatever request a context ends at, nothing is held after an error, and nothing is left. Servers
// that are slow are not asked at each of their requests: the test would last for minutes.
func aContextMayEndAtAnyRequest(w *world) {
	g := w.join()
	s, k := w.semaphore(g, 3), w.keyed(g, 3)
	for at, done := int64(1), false; !done; {
		began := time.Now()
		w.noError(s.Acquire(w.ctx, 1))
		p, err := k.Acquire(w.ctx, "a", 1)
		w.noError(err)
		rival, err := w.election(g).Campaign(w.ctx)
		w.noError(err)
		ctx, cancel := context.WithCancel(w.ctx)
		var asked atomic.Int64
		x := newWire(w.Connect())
		x.on(func(_ context.Context, request string, _ func(context.Context)) error {
			if request != "renew" && asked.Add(1) == at {
				cancel()
			}
			if request == "txn" {
				rival.Release() // others have asked
			}
			return nil
		})
		f, err := fleet.New(ctx, x)
		if err == nil {
			w.useAll(ctx, f)
			w.noError(w.closeWithin(f, patience))
		} else {
			w.errorIs(err, context.Canceled)
		}
		done = ctx.Err() == nil
		cancel()
		rival.Release()
		s.Release(1)
		p.Release()
		w.noError(s.Acquire(w.ctx, 3), "all is free")
		s.Release(3)
		w.eventually(func() bool {
			return w.entries("semaphore") <= 1 && w.entries("election") == 0 && w.unused("a", "b", "c")
		}, "something is left")
		w.noError(s.Resize(w.ctx, 3))
		at += 1 + int64(time.Since(began)/(4*time.Second))
	}
}

// useAll uses all that there is, of which one permit is held elsewhere, until a context ends.
func (w *world) useAll(ctx context.Context, f *fleet.Fleet) {
	if s, err := f.Semaphore(ctx, "s", 3); err == nil {
		if s.Acquire(ctx, 2) == nil {
			s.Release(2)
		}
		if p, err := s.AcquirePermit(ctx, 1); err == nil {
			p.Release()
		}
		p, _ := s.TryAcquirePermit(ctx, 3)
		w.check(p == nil, "one is held elsewhere")
		_ = s.Acquire(ctx, 4)
		_ = s.Resize(ctx, 4)
		w.equal(0, s.Waiting())
	}
	if k, err := f.Keyed(ctx, "s", 3); err == nil {
		if p, err := k.Acquire(ctx, "a", 2); err == nil {
			p.Release()
		}
		if p, err := k.Acquire(ctx, "b", 1); err == nil {
			p.Release()
		}
		p, _ := k.TryAcquire(ctx, "a", 3)
		w.check(p == nil, "one is held elsewhere")
		if p, err := k.TryAcquire(ctx, "c", 3); err == nil {
			p.Release()
		}
		_, _ = k.Acquire(ctx, "a", 4)
		w.eventually(func() bool { return k.Len() == 0 }, "keys are left")
	}
	if e, err := f.Election(ctx, "s"); err == nil {
		if term, err := e.Campaign(ctx); err == nil {
			term.Release()
		}
	}
	_, _ = f.Status(ctx)
}
