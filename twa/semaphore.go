package twa

import (
	"context"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// The errors of an acquire, besides the context's. They are the ones that all locks of the module
// share.
var (
	ErrClosed    = waiter.ErrClosed    // the semaphore is or has been closed
	ErrTooLarge  = waiter.ErrTooLarge  // more permits than the semaphore has in all
	ErrQueueFull = waiter.ErrQueueFull // the line is as long as it may be: see MaxPermits
)

// zero: a semaphore's permits count from zero, so the zero Semaphore has size 0.
const zero = 0

// Semaphore is a counting semaphore on two counters: to acquire is one addition, and to release
// another, however many goroutines do so at the same time. A goroutine that has to wait sleeps in a
// waiting array under the number of its ticket, where the release that serves it finds it without
// searching.
//
// Order: strict FIFO, in the order of the additions. A request waits until all older ones have been
// granted or have given up.
//
// Memory model: everything before a Release happens before the return of every acquire that the
// permits it returned serve.
//
// Progress: an Acquire that need not wait is wait-free, and so is a Release while no goroutine
// comes or waits. A TryAcquire is lock-free. A goroutine that waits or gives up takes the lock of
// one bucket, and a Release takes the locks of the buckets whose sleepers it may have to wake. A
// goroutine that gives up also takes a lock of the semaphore. So does a Release that finds
// abandoned tickets, or suspects that too many permits are free.
//
// The zero Semaphore has size 0 and can be resized. A Semaphore must not be copied after first use.
//
// Source: Dice and Kogan, Semaphores Augmented with a Waiting Array.
type Semaphore struct {
	_ noCopy
	t tickets
	_ cpu.CacheLinePad // two semaphores side by side do not slow each other down
}

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// An Option changes how New makes a semaphore.
type Option func(*Semaphore)

// WithWaitingArray lets waiting goroutines sleep in a instead of the array of the process, which
// nil stands for.
func WithWaitingArray(a *Array) Option {
	if a != nil {
		a.table() // panics if NewArray has not made it
	}
	return func(s *Semaphore) { s.t.array = a }
}

// New returns a semaphore of n permits, all free. It panics if n is negative, or an option nil.
func New(n int64, opts ...Option) *Semaphore {
	s := new(Semaphore)
	for _, opt := range opts {
		if opt == nil {
			panic("twa: nil option")
		}
		opt(s)
	}
	s.init(n)
	return s
}

func (s *Semaphore) init(n int64) {
	if n < 0 {
		panic("twa: negative size")
	}
	n = min(n, MaxPermits)
	s.t.grant.Store(n * step)
	s.t.limit.Store(n)
}

// Acquire takes n permits, and waits for them if need be until ctx is done or the semaphore is
// closed.
//
// A request that is larger than the semaphore fails at once with ErrTooLarge, a request to a closed
// semaphore with ErrClosed. A request that would have to wait behind requests for more than 1<<61
// permits in all fails at once with ErrQueueFull. A request for 0 permits does not wait. Acquire
// panics if n is negative.
func (s *Semaphore) Acquire(ctx context.Context, n int64) error {
	if n <= 0 || ctx == nil {
		return s.acquireNothing(ctx, n)
	}
	mayEnd := xsync.MayEnd(ctx)
	if mayEnd {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if o := s.t.precheck(zero, n); o != waiting.Pending {
		return s.t.named(o.Err(), n)
	}
	end := s.t.take(n)
	if s.t.atOnce(zero, n, end) {
		if mayEnd && (xsync.MayPanic(ctx) || ctx.Err() != nil) {
			return s.t.keep(ctx, zero, n)
		}
		return nil
	}
	if mayEnd {
		return s.t.named(s.t.await(s.t.until(ctx, zero, n, end), zero, n, end), n)
	}
	e, p, err := s.t.begin(zero, n, end)
	if p == nil {
		return s.t.named(err, n)
	}
	p.Sleeper().SleepInline()
	return s.t.named(finish(e, p), n)
}

// acquireNothing is Acquire for the requests that need no permits or are none.
//
//go:noinline
func (s *Semaphore) acquireNothing(ctx context.Context, n int64) error {
	switch {
	case n < 0:
		panic("twa: acquire of a negative number of permits")
	case ctx == nil:
		panic("twa: nil context")
	case ctx.Err() != nil:
		return ctx.Err()
	case s.t.isClosed():
		return ErrClosed
	}
	return nil
}

// AcquireTimeout is Acquire with a context that ends d from now, whose error is
// [context.DeadlineExceeded], but it makes no context. If a grant and the end of d come together,
// either may win. As with a context that is done, nothing is acquired if d <= 0; to take what is
// free without waiting there is TryAcquire.
func (s *Semaphore) AcquireTimeout(d time.Duration, n int64) error {
	switch {
	case d <= 0 && n >= 0:
		return context.DeadlineExceeded
	case n <= 0:
		return s.acquireNothing(context.Background(), n)
	}
	if o := s.t.precheck(zero, n); o != waiting.Pending {
		return s.t.named(o.Err(), n)
	}
	end := s.t.take(n)
	if s.t.atOnce(zero, n, end) {
		return nil
	}
	return s.t.named(s.t.await(waiting.After(d), zero, n, end), n)
}

// TryAcquire takes n permits if that many are free and no goroutine waits, and reports whether it
// did. It never waits and never overtakes a waiter; it reports false on a closed semaphore. It
// panics if n is negative.
func (s *Semaphore) TryAcquire(n int64) bool {
	if n <= 0 {
		return s.acquireNothing(context.Background(), n) == nil
	}
	return s.t.tryTake(zero, n)
}

// Release returns n permits. They go to the waiters in order, and the rest becomes free. Any
// goroutine may release permits that another has acquired. Releasing 0 permits does nothing.
//
// Release panics if n is negative. It also panics if afterwards more permits are free than there
// are: it notices the over-release, and undoes it. But it may have granted requests that waited at
// that moment. A release that is one addition cannot notice an over-release that other requests, or
// a Resize, take up at the same time. Other releases then, or a later one, which may be legal, may
// panic instead of it or in addition. The caller of a Release that panicked still holds its
// permits. Where that matters, use sync/semaphore. To find such a release, build with the tag
// faradcheck, which notices all of them.
func (s *Semaphore) Release(n int64) {
	if n > 0 && n <= MaxPermits && s.t.ledger.give(n) {
		if g := s.t.give(n); s.t.quiet(zero, n, g) || s.t.releaseSlow(zero, n, g) {
			return
		}
	}
	s.releaseNothing(n)
}

// releaseNothing is Release for the calls that return no permits: none, or too many, or a negative
// number. It is unknown how many are held: at most what is not free.
//
//go:noinline
func (s *Semaphore) releaseNothing(n int64) {
	switch {
	case n < 0:
		panic("twa: release of a negative number of permits")
	case n > 0:
		held := min(s.Size()-s.Available(), n-1)
		panic("twa: released " + itoa(n) + ", but at most " + itoa(held) +
			" are held (size " + itoa(s.Size()) + ")")
	}
}

// Size returns how many permits there are in all, free or held.
func (s *Semaphore) Size() int64 { return s.t.size() }

// Available returns how many permits are free for the next request: 0 while a request waits. The
// number may be out of date when the caller looks at it.
func (s *Semaphore) Available() int64 { return max(s.t.free(zero), 0) }

// Waiting returns how many requests wait. It looks at the whole array, and is meant for tests and
// statistics.
func (s *Semaphore) Waiting() int { return s.t.waiting() }

// Resize changes the number of permits to n. New permits go to waiters first. Resize takes no
// permits from holders: a reduction queues like a request, behind the current waiters, and takes
// effect in its turn. Waiting requests for more than n end with ErrTooLarge; one that begins to
// wait at the same time may still be granted. Resize panics if n is negative, or if the reduction
// would have to queue where a request fails with ErrQueueFull.
func (s *Semaphore) Resize(n int64) {
	if n < 0 {
		panic("twa: negative size")
	}
	s.t.resize(min(n, MaxPermits))
}

// Close ends all waiting requests, and all later ones, with ErrClosed. What is held stays held
// until it is released. Closing twice is harmless.
func (s *Semaphore) Close() { s.t.close() }
