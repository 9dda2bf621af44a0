package semaphore

import (
	"context"
	"strconv"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// MaxPermits is the largest size of a semaphore. Larger sizes act as this one, so that
// New(math.MaxInt64) works.
const MaxPermits = engine.MaxPermits

// The errors of an acquire, besides the context's. They are the ones that all locks of the module
// share.
var (
	ErrClosed    = waiter.ErrClosed    // the semaphore is or has been closed
	ErrTooLarge  = waiter.ErrTooLarge  // more permits than the semaphore has in all
	ErrQueueFull = waiter.ErrQueueFull // as many as WithMaxWaiting allows wait already, or 1<<61 permits WithWaitingArray
	ErrPending   = waiter.ErrPending   // a future's request has no outcome yet
)

// base: a semaphore's permits count from zero, so the zero Semaphore has size 0.
const base = 0

// Semaphore is a counting semaphore: at any time at most Size permits are held, and whoever asks
// for more than are free waits in line.
//
// Order, unless WithPlatoon changes it: strict FIFO, over goroutines that block, goroutines that
// select on a future, and tasks that poll one. A request waits until all older ones have been
// granted or have given up, even if fewer permits than are free would do for it; TryAcquire fails
// where it would overtake.
//
// Memory model: everything before a Release happens before the return of every acquire that the
// permits it returned serve, and everything before a Close or Resize before the return of the
// acquires that it ends or serves.
//
// Cost: without contention one atomic operation to acquire and one to release. With contention a
// release hands its single permit to the oldest waiter without taking a lock, as a rule. Waiting
// allocates nothing in the steady state.
//
// The zero Semaphore has size 0 and can be resized. A Semaphore must not be copied after first use.
type Semaphore struct {
	_ noCopy
	e engine.Engine
	p policy           // nil: none; otherwise it has the permits, and the engine none, so that every fast path fails
	_ cpu.CacheLinePad // two semaphores side by side do not slow each other down
}

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// An Option changes how New makes a semaphore.
type Option func(*options)

type options struct {
	engine.Options
	array *twa.Array // nil: that of the process
	twa   bool

	members, express int64 // of a platoon, 0: there are none; of its lane
}

// WithMaxWaiting lets at most n requests wait, n > 0. An acquire that would be one more fails at
// once with ErrQueueFull: under overload a queue that only grows helps nobody. WithMaxWaiting
// panics if n is not positive; for no waiting at all there is TryAcquire.
func WithMaxWaiting(n int) Option {
	if n <= 0 {
		panic("semaphore: WithMaxWaiting(" + strconv.Itoa(n) + "): the number must be positive")
	}
	return func(o *options) { o.MaxWaiting = n }
}

// WithWaitingArray lets those who wait sleep in a waiting array, a, or that of the process if a is
// nil, and has the semaphore work as a [twa.Semaphore] does: to acquire is one addition, however
// many do so at once. The promises are the same but for these: see there for Available, Resize, the
// largest size, what Release may fail to notice and whom one that it notices may grant, and panics
// that begin with "twa:"; and an acquire fails with ErrQueueFull where requests for 1<<61 permits
// wait. It cannot be had together with WithMaxWaiting. Together with WithPlatoon it only says where
// those who wait sleep.
func WithWaitingArray(a *twa.Array) Option {
	return func(o *options) { o.array, o.twa = a, true }
}

// WithPlatoon puts a capacitor with an express lane in front of the permits, for permits that very
// many goroutines want and hold for a short time: goroutines that run go on running, and the switch
// to one that sleeps is paid for once per 1 + q acquires instead of every time. WithPlatoon(1, 256)
// is right as a rule.
//
// Order: whoever finds its permits free takes them, even if others wait, as long as the express
// lane has one of its q places left; so does TryAcquire. Whoever does not, queues. Those who queue
// pass a gate in their order, in platoons of b: when the permits that the first needs are free it
// is woken, and competes for them with the lane. When one of them has got its permits the lane has
// all its places again; when all of the platoon have, or have given up, the next may pass. While
// the lane is full only they can take what is free, so that a large request gets its permits
// together. (A future does not compete: it is granted its permits when a goroutine in its place
// would be woken.)
//
// Bound: whoever begins to wait behind p others is overtaken by at most (p + b) · q + b − 1 of
// those who come later; with b = 1, (p + 1) · q. Nobody starves. With b = 1 and q = 0 the order is
// as strict as without, and it is slower.
//
// Cost: an acquire or a release is one compare-and-swap, on the lane as without contention; whoever
// waits sleeps once or twice. Waiting allocates nothing in the steady state. A longer lane makes
// the switch cheaper, and waits longer: with 16 places it is still more than half of what an
// acquire costs, with 256 it is hardly seen any more. b is how many may be awake at a time to
// compete: more than 1 is of use only if many permits come back at once.
//
// Everything else is as without, WithMaxWaiting included, but for the largest size, 1<<40, and q,
// of which at most 65535 count. With WithWaitingArray those who wait sleep in the array, all of one
// semaphore in one of its buckets; it changes nothing else. WithPlatoon panics if b is not positive
// or q is negative.
func WithPlatoon(b, q int) Option {
	if b <= 0 || q < 0 {
		panic("semaphore: WithPlatoon(" + strconv.Itoa(b) + ", " + strconv.Itoa(q) +
			"): platoons must be of one at least, and the lane not negative")
	}
	return func(o *options) { o.members, o.express = int64(b), min(int64(q), maxExpress) }
}

// New returns a semaphore of n permits, all free. It panics if n is negative, an option is nil, or
// the options contradict each other.
func New(n int64, opts ...Option) *Semaphore {
	if n < 0 {
		panic("semaphore: negative size")
	}
	s := new(Semaphore)
	if len(opts) == 0 {
		s.e.Init(base, min(n, MaxPermits), nil)
		return s
	}
	o := new(options)
	for _, opt := range opts {
		if opt == nil {
			panic("semaphore: nil option")
		}
		opt(o)
	}
	switch {
	case o.members > 0:
		s.p = newPlatoon(n, o)
	case !o.twa:
		s.e.Init(base, min(n, MaxPermits), &o.Options)
	case o.MaxWaiting > 0:
		panic("semaphore: WithMaxWaiting and WithWaitingArray")
	default:
		s.p = newArrayPolicy(n, o.array)
	}
	return s
}

// Acquire takes n permits, and waits for them if need be until ctx is done or the semaphore is
// closed. It returns nil if and only if the permits are the caller's.
//
// A context that is already done never acquires, even if permits are free, and a cancel that
// happened before the grant wins: then permits that came are given back. The error is ctx.Err()
// itself. A request that is larger than the semaphore fails at once with ErrTooLarge, a request to
// a closed semaphore with ErrClosed. A request for 0 permits does not wait. Acquire panics if n is
// negative or ctx is nil.
//
// A cancel takes the request out of the queue in constant time, and lets those behind it pass if
// they can. Acquire allocates nothing in the steady state, whatever the context; the ninth wait on
// one cancellable context pays for a registration with it, which all further waits use.
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
	for o := s.e.Look(); o.Fits(base, n); o = s.e.Look() { // A turn is lost only to another's success.
		if s.e.Take(o, n) {
			if mayEnd && ctx.Err() != nil {
				return s.e.Keep(ctx, base, n)
			}
			return nil
		}
	}
	if s.p != nil {
		return s.p.Acquire(ctx, n)
	}
	return s.e.Acquire(waiter.UntilDone(ctx), base, n, engine.AtBack)
}

// acquireNothing is Acquire for the requests that need no permits or are none.
//
//go:noinline
func (s *Semaphore) acquireNothing(ctx context.Context, n int64) error {
	switch {
	case n < 0:
		panic("semaphore: acquire of a negative number of permits")
	case ctx == nil:
		panic("semaphore: nil context")
	case ctx.Err() != nil:
		return ctx.Err()
	case s.p != nil:
		return s.p.Acquire(ctx, n)
	case s.e.IsClosed():
		return ErrClosed
	}
	return nil
}

// AcquireTimeout is Acquire with a context that ends d from now, whose error is
// [context.DeadlineExceeded], but it makes no context and allocates nothing in the steady state. If
// a grant and the end of d come together, either may win. As with a context that is done, nothing
// is acquired if d <= 0; to take what is free without waiting there is TryAcquire.
func (s *Semaphore) AcquireTimeout(d time.Duration, n int64) error {
	switch {
	case d <= 0 && n >= 0:
		return context.DeadlineExceeded
	case n <= 0:
		return s.acquireNothing(context.Background(), n)
	case s.e.TryAcquire(base, n):
		return nil
	case s.p != nil:
		return s.p.AcquireTimeout(d, n)
	}
	return s.e.Acquire(waiter.After(d), base, n, engine.AtBack)
}

// TryAcquire takes n permits if that many are free and nobody waits, and reports whether it did. It
// never waits and never overtakes a waiter, except on the express lane of WithPlatoon; it reports
// false on a closed semaphore. It panics if n is negative.
func (s *Semaphore) TryAcquire(n int64) bool {
	if n <= 0 {
		return s.acquireNothing(context.Background(), n) == nil
	}
	for o := s.e.Look(); o.Fits(base, n); o = s.e.Look() { // A turn is lost only to another's success.
		if s.e.Take(o, n) {
			return true
		}
	}
	return s.p != nil && s.p.TryAcquire(n)
}

// Release returns n permits. They go to those who wait, in order, and what is left becomes free.
// Any goroutine may release what another has acquired. Releasing 0 permits does nothing.
//
// Release panics if n is negative or more than is held; the semaphore then is as if it had not been
// called, and remains usable after a recover. (Of calls that race with Resize, an illegal one may
// go unnoticed; a legal one never panics.)
func (s *Semaphore) Release(n int64) {
	if o := s.e.Look(); n > 0 && s.e.Returns(o, n) && s.e.Give(o, n) {
		return
	}
	if s.p != nil || n <= 0 || !s.e.Release(base, n) {
		s.releaseElse(n)
	}
}

// releaseElse is Release for the calls that return nothing to the engine: no permits, or too many,
// or those of a policy.
func (s *Semaphore) releaseElse(n int64) {
	switch {
	case n < 0:
		panic("semaphore: release of a negative number of permits")
	case s.p != nil:
		s.p.Release(n)
	case n > 0:
		panic(overReleased("released", n, s.Size(), s.Available()))
	}
}

// overReleased is the text for n permits that are given back although fewer are held. The numbers
// are looked at after that, so others may have changed them; they never say that as many are held.
func overReleased(what string, n, size, free int64) string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	held := min(size-free, n-1)
	return "semaphore: " + what + " " + number(n) +
		", but " + number(held) + " are held (size " + number(size) + ")"
}

// Size returns how many permits there are in all, free or held.
func (s *Semaphore) Size() int64 {
	if s.p != nil {
		return s.p.Size()
	}
	return s.e.Size(base)
}

// Available returns how many permits are not held, which others may already be waiting for. It is
// negative while Resize has left more held than there are. The number may be out of date when the
// caller looks at it.
func (s *Semaphore) Available() int64 {
	if s.p != nil {
		return s.p.Available()
	}
	return s.e.Available(base)
}

// Waiting returns how many requests wait. The number may be out of date when the caller looks at
// it.
func (s *Semaphore) Waiting() int {
	if s.p != nil {
		return s.p.Waiting()
	}
	return s.e.Waiting()
}

// Resize changes the number of permits to n. New permits go to those who wait first. If more than n
// are held, nothing is taken from anybody: the next releases make up for the difference before
// anyone is served again. Requests that wait for more than n end with ErrTooLarge. To calls that
// run at the same time the change of Size and the change of Available are two steps. Resize panics
// if n is negative.
func (s *Semaphore) Resize(n int64) {
	if n < 0 {
		panic("semaphore: negative size")
	}
	if s.p != nil {
		s.p.Resize(n)
		return
	}
	s.e.Resize(base, min(n, MaxPermits))
}

// Close ends all waiting requests, and all later ones, with ErrClosed. What is held stays held
// until it is released. Closing twice is harmless.
func (s *Semaphore) Close() {
	s.e.Close()
	if s.p != nil {
		s.p.Close()
	}
}

// Weighted is the name under which users of golang.org/x/sync/semaphore know this type. See the
// package documentation for the differences.
type Weighted = Semaphore

// NewWeighted is New under the name that users of golang.org/x/sync/semaphore know.
func NewWeighted(n int64) *Weighted { return New(n) }
