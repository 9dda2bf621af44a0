package fleet

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// Permits is what a Semaphore and one of package sync/semaphore have in common. Code that takes
// Permits works in one process and in a fleet, as the constructor decides.
type Permits interface {
	Acquire(ctx context.Context, n int64) error
	AcquireTimeout(t time.Duration, n int64) error
	TryAcquire(n int64) bool
	Release(n int64)
	Size() int64
	Available() int64
	Waiting() int
	Close()
}

// MaxPermits is the largest size.
const MaxPermits = store.MaxWeight

var _ [semaphore.MaxPermits - MaxPermits]struct{} // it is one of the engine, too

// A Semaphore is a counting semaphore that all processes of a fleet share. Its methods are those of
// the semaphore of package sync/semaphore, with the same promises, and those that ask the fleet
// take a context. The differences:
//
//   - The order is FIFO in this process, and among the blocks that processes ask for; see the
//     package documentation.
//   - Permits that are held may be lost. A holder that uses Acquire and Release does not learn of
//     it. Use AcquirePermit, whose Permit reports it, unless the work is harmless when done twice.
//   - TryAcquire and Available know only what this process has. TryAcquireContext asks the fleet.
type Semaphore struct{ d *driver }

// Semaphore returns the semaphore of the fleet that has that name. If there is none it is made,
// with size permits. Otherwise it keeps the size that it has: Resize changes it. Semaphore panics
// if size is negative.
func (f *Fleet) Semaphore(ctx context.Context, name string, size int64) (*Semaphore, error) {
	if size < 0 {
		panic("fleet: negative size")
	}
	d, err := f.open(ctx, kindSemaphore, name, min(size, MaxPermits))
	if err != nil {
		return nil, err
	}
	return &Semaphore{d}, nil
}

// Acquire takes n permits. It waits for them until ctx is done or the semaphore is closed. It
// returns nil if and only if the caller holds the permits. While the fleet's servers cannot be
// reached, Acquire waits. If they refuse this process what it needs, Acquire returns their error.
// It fails at once with ErrTooLarge if the fleet has fewer permits, after it has asked. Acquire
// panics if n is negative or ctx is nil.
func (s *Semaphore) Acquire(ctx context.Context, n int64) error {
	return s.d.acquireLoose(ctx, n)
}

// AcquireTimeout is Acquire, but gives up when t has passed and returns [context.DeadlineExceeded].
// If t <= 0 it acquires nothing.
func (s *Semaphore) AcquireTimeout(t time.Duration, n int64) error {
	return s.d.acquireLooseFor(t, n)
}

// TryAcquire takes n permits if this process has that many to spare and no request of it waits. It
// never uses the network.
func (s *Semaphore) TryAcquire(n int64) bool { return loosen(s.d.tryOnce(n), n) }

// TryAcquireContext takes n permits if they are free anywhere in the fleet and nobody waits for
// them, and reports whether it did. It takes a round trip, and a second one if they are not. What
// other processes have idle it asks them for, and waits for it: for four round trips and 50 ms.
func (s *Semaphore) TryAcquireContext(ctx context.Context, n int64) (bool, error) {
	t, err := s.d.tryAsking(ctx, n)
	return loosen(t, n), err
}

// Release returns n permits that were acquired without a Permit. They go to the goroutines of this
// process that wait, unless another process's turn has come. A goroutine may release what another
// one of this process has acquired. Release panics if n is negative or more than this process
// holds.
func (s *Semaphore) Release(n int64) { s.d.release(n, MaxPermits) }

// AcquirePermit is Acquire and returns a handle. With an error the handle is nil and holds nothing.
func (s *Semaphore) AcquirePermit(ctx context.Context, n int64) (*Permit, error) {
	return s.d.acquirePermit(ctx, n)
}

// TryAcquirePermit is TryAcquire and returns a handle, or nil and false.
func (s *Semaphore) TryAcquirePermit(n int64) (*Permit, bool) {
	t := s.d.tryOnce(n)
	if t == nil {
		return nil, false
	}
	return newPermit(t, n), true
}

// Resize changes the number of permits of the fleet, by one write. If more are held their holders
// keep them, and none is granted until enough have come back. It asks again while no server answers
// in time, until ctx is done. With an error the size may have been changed, or be changed later
// unless somebody else changes it before. Resize panics if n is negative.
func (s *Semaphore) Resize(ctx context.Context, n int64) error {
	if n < 0 {
		panic("fleet: negative size")
	}
	return s.d.resize(ctx, min(n, MaxPermits))
}

// resize writes the size. A write that had no answer may arrive at any time. So each is for the
// size as it was written last, and one that comes late finds another.
func (d *driver) resize(ctx context.Context, n int64) error {
	d.seen.Lock()
	mod := d.state.SizeMod
	d.seen.Unlock()
	return d.fleet.resize(ctx, d.remote, n, mod)
}

// resize writes the size of a line that was written last at mod, as far as is known.
func (f *Fleet) resize(ctx context.Context, r *remote, n, mod int64) error {
	for { // A retry without an error follows only another's success.
		var done bool
		var now store.State
		err := f.ask(ctx, func(ctx context.Context) (err error) {
			now, done, err = r.SetSize(ctx, n, mod, false)
			return err
		})
		if err != nil || done || now.Size == n && now.SizeMod != 0 {
			return err
		}
		mod = now.SizeMod
	}
}

// Size returns the number of permits of the fleet, as far as this process knows.
func (s *Semaphore) Size() int64 { return s.d.size.Load() }

// Available returns how many permits this process has to spare. It is negative while it holds more
// than it may keep.
func (s *Semaphore) Available() int64 { return s.d.current.Load().Available() }

// Waiting returns how many requests of this process wait.
func (s *Semaphore) Waiting() int { return s.d.current.Load().Waiting() }

// Close ends all waiting and all later requests of this process with ErrClosed, and returns what is
// idle. Permits that are held stay held until they are released. Other processes are not concerned.
// Closing twice is harmless. Fleet.Semaphore opens the semaphore again, at any time. What the
// closed one still has counts then, as what another process has does.
func (s *Semaphore) Close() { s.d.close() }

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
	return newPermit(t, n), nil
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
		return t, nil
	}
	return d.acquireSlow(ctx, time.Time{}, waiter.UntilDone(ctx), n)
}

// tryOnce is try, whether the line is observed or not, for callers that do not go on to wait.
func (d *driver) tryOnce(n int64) *tenancy {
	if t := d.try(n); t != nil || n == 0 || d.record() == nil {
		return t
	}
	return d.tryObserved(n)
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
	if n > 0 && d.mayBeObserved() {
		return d.acquireObserved(ctx, end, l, n)
	}
	return d.acquireUntil(ctx, end, l, n)
}

// acquireUntil takes n permits until l ends the wait: when ctx is done, or at the time end if that
// is not zero.
func (d *driver) acquireUntil(
	ctx context.Context, end time.Time, l waiter.Limit, n int64,
) (*tenancy, error) {
	for {
		t, before := d.current.Load(), d.refusal.Load()
		err := ErrClosed
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
			if err := d.reread(ctx, end, t, n); err != nil {
				return nil, err
			}
		case !errors.Is(err, ErrClosed) || d.closed.Load():
			return nil, err
		}
	}
}

// reread is called when n permits seem too many. It returns an ErrTooLarge if the server says the
// same. Otherwise it has the driver know better. If the server says nothing, the request is to wait
// until the driver knows: the wait ends with the caller's limit, as the question does.
func (d *driver) reread(ctx context.Context, end time.Time, t *tenancy, n int64) error {
	asking, cancel := ctx, context.CancelFunc(func() {})
	if !end.IsZero() {
		asking, cancel = context.WithDeadline(ctx, end)
	}
	defer cancel()
	st, err := d.read(asking)
	switch {
	case err == nil && n > st.Size:
		return waiter.Oversized("fleet", n, st.Size)
	case d.closed.Load():
		return ErrClosed
	case asking.Err() != nil:
		return asking.Err()
	case isRefusal(err):
		return d.newRefusal(err)
	case err != nil:
		t.Bound(MaxPermits)
	}
	return nil
}

// tryAsking takes n permits if the fleet has them to spare.
func (d *driver) tryAsking(ctx context.Context, n int64) (*tenancy, error) {
	if ctx == nil {
		panic("fleet: nil context")
	}
	t, err := d.tryAskingUntold(ctx, n)
	d.tried(t, n, err)
	return t, err
}

func (d *driver) tryAskingUntold(ctx context.Context, n int64) (*tenancy, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if t := d.try(n); t != nil {
			return t, nil
		}
		t, before := d.current.Load(), d.refusal.Load()
		switch err := d.ask(ctx, t, n); {
		case err == nil && t.valid():
			return t, nil
		case err == nil:
			t.Release(n)
		case errors.Is(err, ErrPending):
			return nil, nil
		case errors.Is(err, ErrTooLarge):
			if err := d.refusedSince(before); err != nil {
				return nil, err
			}
			if err := d.reread(ctx, time.Time{}, t, n); err != nil {
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
	waiter.Bind(&f, t, n)
	defer f.Release() // gives up the place, or what was not taken
	given := t.Given()
	if f.Poll(nil) {
		return f.Take()
	}
	if err := d.round(ctx); err != nil {
		return err
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
	d.post(func(in *inbox) { in.rounds = append(in.rounds, asked) })
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
	late := time.NewTimer(4*d.fleet.patience.roundTrip() + 50*time.Millisecond)
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
	return d.acquireSlow(context.Background(), time.Now().Add(t), waiter.After(t).Fixed(), n)
}

// release gives back n permits that no Permit holds: of a tenancy that was lost, if as many of it
// are held, otherwise of the current one, or of several. It leaves alone tenancies of which more
// than most are held.
func (d *driver) release(n, most int64) {
	switch t := d.current.Load(); {
	case n < 0:
		panic("fleet: release of a negative number of permits")
	case n == 0:
	case d.aged.Load() || !t.releaseLoose(n, most):
		d.releaseAged(n, most)
	}
}

func (d *driver) releaseAged(n, most int64) {
	all, _ := d.tenancies(most)
	if slices.ContainsFunc(all, func(t *tenancy) bool { return t.releaseLoose(n, most) }) {
		d.forget()
		return
	}
	for rest := n; rest > 0; { // A retry follows only another's success.
		all, held := d.tenancies(most)
		if held < rest {
			panic("fleet: released " + strconv.FormatInt(n, 10) + " permits, but this process holds fewer")
		}
		for _, t := range all {
			if some := min(rest, t.Loose()); some > 0 && t.releaseLoose(some, most) {
				rest -= some
			}
		}
	}
	d.forget()
}

// tenancies returns those of which something may be held, oldest first, and how much of those of
// which at most most is. No release that goes on meanwhile makes that less than what is held by
// others: it takes from the older ones first, and they are looked at first.
func (d *driver) tenancies(most int64) (all []*tenancy, held int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all = append(slices.Clone(d.old), d.current.Load())
	for _, t := range all {
		if n := t.Loose(); n <= most {
			held += n
		}
	}
	return all, held
}
