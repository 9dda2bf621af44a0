package fleet

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/farad-go/farad/fleet/internal/share"
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/waiter"
)

// MaxPermits is the largest size.
const MaxPermits = store.MaxWeight

// loosen counts the n permits of t as held without a Permit, and reports whether there are any: t
// is nil if nothing was acquired.
func loosen(t *tenancy, n int64) bool {
	if t == nil {
		return false
	}
	t.Loosen(n)
	return true
}

// acquireLoose takes n permits that no Permit holds.
func (d *driver) acquireLoose(ctx context.Context, n int64) error {
	t, err := d.acquire(ctx, n)
	loosen(t, n)
	return err
}

// acquireLooseFor is acquireLoose with a time in place of a context.
func (d *driver) acquireLooseFor(t time.Duration, n int64) error {
	had, err := d.acquireFor(t, n)
	loosen(had, n)
	return err
}

// acquirePermit takes n permits for a Permit.
func (d *driver) acquirePermit(ctx context.Context, n int64) (*Permit, error) {
	t, err := d.acquire(ctx, n)
	if err != nil {
		return nil, err
	}
	return newPermit(d, t, n), nil
}

// tryPermit takes n permits for a Permit if the fleet has them to spare. Otherwise it returns
// ErrBusy.
func (d *driver) tryPermit(ctx context.Context, n int64) (*Permit, error) {
	t, err := d.tryAsking(ctx, n)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, ErrBusy
	}
	return newPermit(d, t, n), nil
}

// acquire takes n permits and returns the tenancy they are from, nil with an error.
func (d *driver) acquire(ctx context.Context, n int64) (*tenancy, error) {
	if ctx == nil {
		panic("fleet: nil context")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if t := d.try(n); t != nil {
		return unlessDone(ctx, t, n)
	}
	return d.acquireSlow(ctx, time.Time{}, waiter.UntilDone(ctx), n)
}

// unlessDone returns t, of which n permits were just taken. If ctx is done they go back: it may
// have been done before.
func unlessDone(ctx context.Context, t *tenancy, n int64) (*tenancy, error) {
	err := ctx.Err()
	switch {
	case err == nil:
		return t, nil
	case n > 0:
		t.Release(n)
	}
	return nil, err
}

// tryOnce is try, whether the line is observed or not, for callers that do not go on to wait.
func (d *driver) tryOnce(n int64) *tenancy {
	t := d.try(n)
	if t != nil || n == 0 {
		return t
	}
	if r, ok := d.observable.Of(d); ok {
		return d.tryObserved(r, n)
	}
	return nil
}

// try takes n permits that the process has to spare, and returns their tenancy, or nil. It is the
// fast path, which fails if the line is observed.
func (d *driver) try(n int64) *tenancy {
	t := d.current.Load()
	switch {
	case n < 0:
		panic("fleet: acquire of a negative number of permits")
	case n == 0 && !d.closed.Load(), n > 0 && t.Try(n):
		return t
	}
	return nil
}

// acquireSlow is acquireUntil, and calls the record's hooks if there is one, or should be.
func (d *driver) acquireSlow(
	ctx context.Context, end time.Time, l waiter.Limit, n int64,
) (*tenancy, error) {
	if n > 0 {
		if r, ok := d.observable.Join(d); ok {
			return d.acquireObserved(ctx, end, l, r, n)
		}
	}
	return d.acquireUntil(ctx, end, l, n)
}

// acquireUntil takes n permits until ctx is done, as l says, or until the time end if that is not
// zero.
func (d *driver) acquireUntil(
	ctx context.Context, end time.Time, l waiter.Limit, n int64,
) (*tenancy, error) {
	for {
		t, before := d.current.Load(), d.refusal.Load()
		err := ErrClosed
		if !end.IsZero() {
			l = waiter.After(time.Until(end)) // another turn has less time
		}
		if n > 0 {
			err = t.Wait(l, n)
		}
		switch {
		case err == nil:
			return t, nil
		case errors.Is(err, ErrTooLarge):
			if err := d.refusedSince(before); err != nil {
				return nil, err
			}
			if err := d.reread(ctx, end, n); err != nil {
				return nil, err
			}
		case !errors.Is(err, ErrClosed) || d.closed.Load():
			return nil, err
		}
	}
}

// reread is called when n permits seem too many. It returns an ErrTooLarge if the server says the
// same. Otherwise it has the driver know better. It asks until there is an answer, or the caller's
// limit ends: the driver itself has no reason to ask for more than there is.
func (d *driver) reread(ctx context.Context, end time.Time, n int64) error {
	asking, cancel := ctx, context.CancelFunc(func() {})
	if !end.IsZero() {
		asking, cancel = context.WithDeadline(ctx, end)
	}
	defer cancel()
	for {
		st, err := d.read(asking)
		switch {
		case err == nil && n > st.Size:
			return waiter.Oversized("fleet", n, st.Size)
		case d.closed.Load():
			return ErrClosed
		case asking.Err() != nil:
			return asking.Err()
		case err == nil:
			return nil
		case isRefusal(err):
			return d.newRefusal(err)
		}
		pause(asking, d.fleet.retryAfter(err))
	}
}

// tryAsking takes n permits if the fleet has them to spare, and returns their tenancy, or nil.
func (d *driver) tryAsking(ctx context.Context, n int64) (t *tenancy, err error) {
	if ctx == nil {
		panic("fleet: nil context")
	}
	defer func() { d.tried(t, n, err) }()
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if t := d.try(n); t != nil {
			return unlessDone(ctx, t, n)
		}
		t, before := d.current.Load(), d.refusal.Load()
		switch err := d.ask(ctx, t, n); {
		case err == nil && t.valid():
			return unlessDone(ctx, t, n)
		case err == nil:
			t.Release(n)
		case errors.Is(err, ErrPending):
			if t == d.current.Load() { // otherwise t is lost, and about to end its requests
				return nil, nil
			}
		case errors.Is(err, ErrTooLarge):
			if err := d.refusedSince(before); err != nil {
				return nil, err
			}
			if err := d.reread(ctx, time.Time{}, n); err != nil {
				return nil, err
			}
		case !errors.Is(err, ErrClosed) || d.closed.Load():
			return nil, err
		}
	}
}

// ask has a request for n permits of t wait until the server was asked for them. With ErrPending it
// still waited then.
func (d *driver) ask(ctx context.Context, t *tenancy, n int64) error {
	var f waiter.Future
	var r share.Request
	r.Of(&t.Share)
	waiter.Bind(&f, &r, n)
	defer f.Release() // gives up the place, or what was not taken
	given := t.Given()
	f.Poll(nil)
	// The first round asks. In the second one, what this process has idle goes back: that is
	// withdrawn when the line says that the request waits.
	for turn := 0; turn < 2 && !f.Complete(); turn++ {
		if err := d.round(ctx); err != nil {
			return err
		}
	}
	if err := d.awaitIdle(ctx, t, &f); err != nil {
		return err
	}
	// What has come meanwhile the driver may still be handing out. It has done so by its next turn.
	if !f.Complete() && t.Given() > given {
		if err := d.round(ctx); err != nil {
			return err
		}
	}
	return f.Take()
}

// round waits until the driver has asked the server for what is wanted, if there is anything.
func (d *driver) round(ctx context.Context) error {
	asked := make(chan struct{})
	d.in.post(func(in *inbox) { in.rounds = append(in.rounds, asked) })
	select {
	case <-asked:
	case <-d.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// awaitIdle waits for what other processes have idle: they return it once they see that somebody
// waits. Nothing says that they have it in use. So the wait ends after the time that they need.
func (d *driver) awaitIdle(ctx context.Context, t *tenancy, f *waiter.Future) error {
	if f.Poll(nil) || !d.mayCome(t) {
		return nil
	}
	// An event to them, their transaction, and an event to us are two round trips.
	trip := max(d.fleet.patience.roundTrip(), d.fleet.writes.roundTrip())
	late := time.NewTimer(4*trip + 50*time.Millisecond)
	defer late.Stop()
	select {
	case <-f.Done():
	case <-late.C:
	case <-d.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// mayCome reports whether permits may come for which t waits: other processes have some, and none
// that waits comes before this one; or they have come, and the agent is about to give them.
func (d *driver) mayCome(t *tenancy) bool {
	lease := int64(0)
	if s := t.session.Load(); s != nil {
		lease = s.lease
	}
	d.seen.Lock()
	defer d.seen.Unlock()
	others, own, inUse := false, int64(0), max(t.Given(), t.Held())
	for e, holds := range d.state.Holding {
		switch {
		case !holds && e.Lease != lease:
			return false
		case !holds:
			return others || own > inUse
		case e.Lease != lease:
			others = true
		default:
			own += e.Weight
		}
	}
	return own > inUse
}

// acquireFor is acquire with a time in place of a context.
func (d *driver) acquireFor(t time.Duration, n int64) (*tenancy, error) {
	if t <= 0 && n >= 0 {
		return nil, context.DeadlineExceeded
	}
	if had := d.try(n); had != nil {
		return had, nil
	}
	return d.acquireSlow(context.Background(), time.Now().Add(t), waiter.After(t), n)
}

// release gives back n permits that no Permit holds: of a tenancy that was lost, if as many of it
// are held, otherwise of the current one, or of several.
func (d *driver) release(n int64) {
	switch t := d.current.Load(); {
	case n < 0:
		panic("fleet: release of a negative number of permits")
	case n == 0:
	case d.aged.Load() || !d.releaseLoose(t, n):
		d.releaseAged(n)
	}
}

func (d *driver) releaseAged(n int64) {
	all, _ := d.tenancies()
	if slices.ContainsFunc(all, func(t *tenancy) bool { return d.releaseLoose(t, n) }) {
		d.forget()
		return
	}
	for rest := n; rest > 0; { // A retry follows only another's success.
		all, loose := d.tenancies()
		if loose < rest {
			panic("fleet: released " + strconv.FormatInt(n, 10) + " permits, but this process holds fewer")
		}
		for _, t := range all {
			if some := min(rest, t.Loose()); some > 0 && d.releaseLoose(t, some) {
				rest -= some
			}
		}
	}
	d.forget()
}

// releaseLoose gives back n permits of t that no Permit holds. If fewer are, it changes nothing and
// reports false.
func (d *driver) releaseLoose(t *tenancy, n int64) bool {
	if !t.Tighten(n) {
		return false
	}
	d.releaseOf(t, n)
	return true
}

// releaseOf gives back n permits of t that are held, and records that before.
func (d *driver) releaseOf(t *tenancy, n int64) {
	if r, ok := d.observable.Of(d); ok {
		r.Released(d.requested(n))
	}
	t.Release(n)
}

// tenancies returns those of which something may be held, oldest first, and how much is that no
// Permit holds. No release that goes on meanwhile makes that less than what is held by others: it
// takes from the older ones first, and they are looked at first.
func (d *driver) tenancies() (all []*tenancy, loose int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all = append(slices.Clone(d.old), d.current.Load())
	for _, t := range all {
		loose += t.Loose()
	}
	return all, loose
}
