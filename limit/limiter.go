package limit

import (
	"context"
	"strconv"
	"time"

	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/sync/semaphore"
)

// A Limiter keeps a semaphore at the size that a controller computes from the requests that go
// through the limiter. Several goroutines may use it at a time.
//
// Order, cancellation, errors and the memory model are those of the semaphore's Acquire, which does
// all the waiting. Whatever policy the semaphore has applies.
//
// Cost: an acquire and the end of its permit allocate one object, read the clock twice, and take a
// mutex for a few instructions. The controller runs once per window, in the goroutine that ends the
// window's last request. It runs without a lock.
//
// A Limiter starts no goroutine and needs no Close.
type Limiter struct {
	_        noCopy
	sem      *semaphore.Semaphore
	limit    xsync.Int64 // what the controller has returned last; written by the updater alone
	inFlight xsync.Int64 // permits of requests that have begun and not ended

	mu       xsync.Mutex
	w        window // guarded by mu
	updating bool   // guarded by mu; the goroutine that sets it is the updater and has c to itself
	c        Controller
}

// Invariants, and the tests that fail without them:
//
//  1. While no request ends, the size of the semaphore is the last limit
//     (TestTheSizeFollowsTheLimit, TestModelTheSizeIsTheLastLimit).
//  2. The controller and Resize are called by one goroutine at a time, without a lock
//     (TestModelOneUpdaterAtATime, TestAWakerMayUseTheLimiter). So sizes are set in the order of
//     the limits, and a waker that Resize calls may use the limiter.
//  3. A permit is released once, by the first to end it (TestModelPermitsEndOnce).
//  4. No request is lost for the sample, because another goroutine updates or because others were
//     quicker: it counts for the next window (TestRequestsOfAnUpdateCountInTheNextWindow,
//     TestRequestsMayComeLate).
//  5. Latencies are differences of one clock (TestARequestOfTwoClocksDoesNotCount,
//     TestAWindowBeginsAnewWithAnotherClock).
//  6. What is in flight holds its permits, so that it is never more than these
//     (TestModelInFlightIsHeld).

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// An Option changes how New makes a limiter.
type Option func(*Limiter)

// WithWindow makes a window last at least d and have at least n requests. It also lasts at least
// twice as long as the shortest request in it. Without the option it is 100 ms and 50 requests.
// Longer windows make limits steadier, and slower to follow. WithWindow panics if d is negative or
// n is not positive.
func WithWindow(d time.Duration, n int) Option {
	if d < 0 || n <= 0 {
		panic("limit: WithWindow(" + d.String() + ", " + strconv.Itoa(n) +
			"): the duration must not be negative, and the number must be positive")
	}
	return func(l *Limiter) { l.w.lasts, l.w.requests = int64(d), int64(n) }
}

// New returns a limiter that drives the semaphore. It resizes the semaphore to the limit of the
// controller at once, whatever its size was, and nobody else may resize it from then on. Neither
// the semaphore nor the controller may have another limiter. New panics if one of them or an option
// is nil.
func New(sem *semaphore.Semaphore, c Controller, opts ...Option) *Limiter {
	if sem == nil || c == nil {
		panic("limit: New without a semaphore or a controller")
	}
	l := &Limiter{sem: sem, c: c, w: window{lasts: int64(100 * time.Millisecond), requests: 50}}
	for _, opt := range opts {
		if opt == nil {
			panic("limit: nil option")
		}
		opt(l)
	}
	l.set(c.Limit())
	return l
}

// Acquire waits for n permits, as the Acquire of the semaphore does and with its errors. The permit
// must be ended. With an error it is nil.
func (l *Limiter) Acquire(ctx context.Context, n int64) (*Permit, error) {
	if err := l.sem.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return l.Start(n), nil
}

// TryAcquire takes n permits if the semaphore's TryAcquire does.
func (l *Limiter) TryAcquire(n int64) (*Permit, bool) {
	if !l.sem.TryAcquire(n) {
		return nil, false
	}
	return l.Start(n), true
}

// Start begins a request whose n permits the caller has got from the semaphore in another way: by a
// future, for instance. The permit takes them over: its end releases them. Start panics if n is
// negative.
func (l *Limiter) Start(n int64) *Permit { return l.StartAs(nil, n) }

// StartAs is Start for one of many tenants, with l.Semaphore().As(tenant).Acquire(ctx, n). The end
// of the permit releases that tenant's.
func (l *Limiter) StartAs(tenant any, n int64) *Permit {
	if n < 0 {
		panic("limit: start with a negative number of permits")
	}
	return &Permit{l: l, tenant: tenant, n: n, inFlight: l.inFlight.Add(n), began: xsync.Now()}
}

// Limit returns the limit that the controller has computed last.
func (l *Limiter) Limit() int64 { return l.limit.Load() }

// InFlight returns the number of permits of requests that have begun and not ended. It may be above
// the limit for a while after that has fallen.
func (l *Limiter) InFlight() int64 { return l.inFlight.Load() }

// Semaphore returns the semaphore, to wait for its permits in other ways and pass them to Start, or
// to see how many wait.
func (l *Limiter) Semaphore() *semaphore.Semaphore { return l.sem }

// add counts a request, and updates the limit if that completes a window.
func (l *Limiter) add(now int64, s Sample) {
	l.mu.Lock()
	l.w.add(now, s)
	if l.updating || !l.w.full(now) {
		l.mu.Unlock()
		return
	}
	l.updating = true // invariant 2
	s = l.w.take(now)
	l.mu.Unlock()
	defer l.updated() // also if a controller of the user's panics
	l.set(l.c.Update(s))
}

func (l *Limiter) updated() {
	l.mu.Lock()
	l.updating = false
	l.mu.Unlock()
}

// set makes n the limit. Only the updater calls it.
func (l *Limiter) set(n int64) {
	if n < 1 {
		panic("limit: the controller returned " + strconv.FormatInt(n, 10))
	}
	if n != l.limit.Load() {
		l.limit.Store(n)
		l.sem.Resize(n)
	}
}
