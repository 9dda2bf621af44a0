package semaphore

import (
	"context"
	"errors"
	"strconv"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/order"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// MaxPermits is the largest size of a semaphore. Larger sizes are reduced to it, so
// New(math.MaxInt64) works.
const MaxPermits = engine.MaxPermits

// The errors of an acquire, besides those of its context. All locks of the module share them.
var (
	ErrClosed    = waiter.ErrClosed    // the semaphore is or has been closed
	ErrTooLarge  = waiter.ErrTooLarge  // the request is for more permits than there are
	ErrQueueFull = waiter.ErrQueueFull // too many wait: see WithQueue, WithMaxWaiting and WithWaitingArray

	ErrShed        = waiter.ErrShed        // the request has waited for too long: see WithQueue
	ErrWouldExpire = waiter.ErrWouldExpire // it would wait until after its deadline: see WithQueue
)

// A Semaphore is a counting semaphore. At most Size permits are held at any time. A request for
// more permits than are free waits in line.
//
// Order, unless WithCapacitor changes it: strict FIFO, over goroutines that block, goroutines that
// select on a future, and tasks that poll one. A request waits until all older requests have been
// granted or have given up, even if enough permits are free for it. TryAcquire fails where it would
// overtake.
//
// Memory model: a Release synchronizes before the return of each acquire that its permits serve. A
// Close or Resize synchronizes before the return of each acquire that it ends or serves.
//
// Cost: without contention an acquire and a release are one atomic operation each. With contention
// a release of one permit usually hands it to the oldest waiter without taking a lock.
//
// The zero Semaphore has size 0 and can be resized. A Semaphore must not be copied after first use.
type Semaphore struct {
	_ noCopy
	e engine.Engine
	p policy           // set by options: handles the slow paths and, except for ordered, owns the permits
	_ cpu.CacheLinePad // so that adjacent semaphores do not slow each other down
}

// permits are those of s: none, if s is zero.
func (s *Semaphore) permits() engine.Permits { return s.e.From(0) }

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

	order          order.Config
	ordered, queue bool                   // an option has set something of order; WithQueue has
	accounts       bool                   // WithMaxInUse, WithDebit or WithParent
	maxInUse       func(tenant any) int64 // of WithMaxInUse
	parent         func(tenant any) any   // of WithParent
}

// WithMaxWaiting lets at most n requests wait. A further acquire that would have to wait fails at
// once with ErrQueueFull, so that under overload the queue does not grow without bound.
// WithMaxWaiting panics if n is not positive. To acquire without waiting use TryAcquire.
func WithMaxWaiting(n int) Option {
	if n <= 0 {
		panic("semaphore: WithMaxWaiting(" + strconv.Itoa(n) + "): the number must be positive")
	}
	return func(o *options) { o.MaxWaiting = n }
}

// WithWaitingArray puts waiters to sleep in the waiting array a, or in that of the process if a is
// nil. The semaphore then works as a [twa.Semaphore] does: an acquire is one addition, however many
// run at the same time. The promises are the same with the exceptions documented there for
// Available, Resize, the largest size, and an over-release: what Release may miss, and which
// waiters one that it notices may grant. Some panics begin with "twa:". An acquire fails with
// ErrQueueFull where requests for 1<<61 permits wait. The option excludes WithMaxWaiting. Together
// with WithCapacitor it only determines where waiters sleep.
func WithWaitingArray(a *twa.Array) Option {
	return func(o *options) { o.array, o.twa = a, true }
}

// WithCapacitor puts a capacitor with an express lane in front of the permits, for permits that
// very many goroutines want and hold for a short time: goroutines that run go on running, and the
// switch to one that sleeps is paid for once per 1 + q acquires instead of every time.
// WithCapacitor(1, 256) is right as a rule.
//
// Order: a request that finds its permits free takes them, even if others wait, as long as one of
// the q places of the express lane is left; so does TryAcquire. Any other request queues. Queued
// requests pass a gate in order, in platoons of b. When the permits that the first needs are free
// it is woken, and competes for them with the lane. When it has got them the lane has all its
// places again. When all of the platoon have got theirs, or given up, the next platoon may pass.
// While the lane is full only the platoon can take what is free, so that a large request gets its
// permits together. (A future does not compete: it is granted its permits when a goroutine in its
// place would be woken.)
//
// Bound: at most (p + b) · q + b − 1 later requests overtake one that begins to wait behind p
// others; with b = 1, (p + 1) · q. No request starves. With b = 1 and q = 0 the order is as strict
// as without the option, but slower.
//
// Cost: an acquire or a release is one compare-and-swap, on the lane as without contention. A
// waiter sleeps once or twice. A longer lane makes the switch cheaper, and waits longer. With 16
// places the switch is still more than half of the cost of an acquire; with 256 it hardly matters.
// b is how many may be awake at a time to compete. More than 1 is useful only if many permits come
// back at once.
//
// Everything else is as without the option, including WithMaxWaiting, except the largest size,
// 1<<40, and q, of which at most 65535 count. With WithWaitingArray waiters sleep in the array, all
// of one semaphore in one of its buckets; nothing else changes. WithCapacitor panics if b is not
// positive or q is negative.
func WithCapacitor(b, q int) Option {
	if b <= 0 || q < 0 {
		panic("semaphore: WithCapacitor(" + strconv.Itoa(b) + ", " + strconv.Itoa(q) +
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
	if len(opts) == 0 && observed.Everything() == observed.Off {
		s.permits().Init(min(n, MaxPermits), nil)
		return s
	}
	o := new(options)
	for _, opt := range opts {
		if opt == nil {
			panic("semaphore: nil option")
		}
		opt(o)
	}
	s.init(n, o)
	if observed.Everything() != observed.Off {
		kind.Join(s)
	}
	return s
}

func (s *Semaphore) init(n int64, o *options) {
	switch {
	case o.accounts:
		s.p = newAccounts(s, n, o)
	case o.ordered:
		s.p = newOrdered(s, n, o)
	case o.members > 0:
		s.p = newCapacitor(n, o)
	case !o.twa:
		s.permits().Init(min(n, MaxPermits), &o.Options)
	case o.MaxWaiting > 0:
		panic("semaphore: WithMaxWaiting and WithWaitingArray")
	default:
		s.p = newArrayPolicy(n, o.array)
	}
}

// Acquire takes n permits. It waits for them until ctx is done or the semaphore is closed.
//
// A request that is larger than the semaphore fails at once with ErrTooLarge, and a request to a
// closed semaphore with ErrClosed. A request for 0 permits does not wait. Acquire panics if n is
// negative.
//
// A cancel takes the request out of the queue in constant time, and serves the requests behind it.
// The ninth wait on one cancellable context registers with it once, and all further waits use this
// registration.
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
	for o := s.e.Look(); s.permits().Fits(o, n); o = s.e.Look() { // A retry follows only another's success.
		if s.e.Take(o, n) {
			if mayEnd && (xsync.MayPanic(ctx) || ctx.Err() != nil) {
				return s.permits().Keep(ctx, n)
			}
			return nil
		}
	}
	if s.mayBeObserved() {
		return s.named(s.acquireObserved(ctx, n, 0, nil), n)
	}
	if s.p != nil {
		return s.named(s.p.Acquire(ctx, n), n)
	}
	if mayEnd {
		l := waiting.UntilDone(ctx)
		p, err := s.permits().BeginUntil(l, n)
		if p == nil {
			return s.named(err, n)
		}
		p.Sleeper().SleepInline()
		return s.named(s.permits().EndUntil(l, p), n)
	}
	p, err := s.permits().Begin(n)
	if p == nil {
		return s.named(err, n)
	}
	p.Sleeper().SleepInline()
	return s.named(engine.End(p), n)
}

// named returns err, the outcome of a request for n permits, with the numbers if they are too many.
func (s *Semaphore) named(err error, n int64) error {
	if err == nil {
		return nil
	}
	return s.namedSlow(err, n)
}

//go:noinline
func (s *Semaphore) namedSlow(err error, n int64) error {
	if s.accounts() != nil { // It knows whether the size or a cap is too small.
		return err
	}
	if errors.Is(err, ErrTooLarge) {
		return waiter.Oversized("semaphore", n, s.Size())
	}
	return err
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

// AcquireTimeout is Acquire, but gives up when d has passed and returns [context.DeadlineExceeded].
// If a grant and the end of d come together either may win. If d <= 0 it acquires nothing;
// TryAcquire acquires without waiting.
func (s *Semaphore) AcquireTimeout(d time.Duration, n int64) error {
	switch {
	case d <= 0 && n >= 0:
		return context.DeadlineExceeded
	case n <= 0:
		return s.acquireNothing(context.Background(), n)
	case s.permits().TryAcquire(n):
		return nil
	case s.mayBeObserved():
		return s.named(s.acquireObserved(context.Background(), n, d, nil), n)
	case s.p != nil:
		return s.named(s.p.AcquireTimeout(d, n), n)
	}
	l := waiting.After(d)
	p, err := s.permits().BeginUntil(l, n)
	if p == nil {
		return s.named(err, n)
	}
	p.Sleeper().SleepInline()
	return s.named(s.permits().EndUntil(l, p), n)
}

// TryAcquire takes n permits if that many are free and no request waits, and reports whether it
// did. It never overtakes a waiter, except on the express lane of WithCapacitor; it reports false
// on a closed semaphore. It panics if n is negative.
func (s *Semaphore) TryAcquire(n int64) bool {
	if n <= 0 {
		return s.acquireNothing(context.Background(), n) == nil
	}
	o := s.e.Look()
	for ; s.permits().Fits(o, n); o = s.e.Look() { // A retry follows only another's success.
		if s.e.Take(o, n) {
			return true
		}
	}
	if o.IsObserved() {
		return s.tryObserved(n)
	}
	return s.p != nil && s.p.TryAcquire(n)
}

// Release returns n permits. They go to the waiting requests, in order, and the rest becomes free.
// A goroutine may release what another has acquired. Releasing 0 permits does nothing.
//
// Release panics if n is negative or more than is held. It then has changed nothing, and the
// semaphore remains usable. If Resize runs at the same time an illegal Release may go unnoticed,
// but a legal one never panics.
func (s *Semaphore) Release(n int64) {
	o := s.e.Look()
	if n > 0 && s.e.Returns(o, n) && s.e.Give(o, n) {
		return
	}
	if n > 0 && o.IsObserved() {
		s.releaseObserved(n)
		return
	}
	if s.p != nil || n <= 0 || !s.permits().Release(n) {
		s.releaseElse(n)
	}
}

// releaseElse is Release for calls that return nothing to the engine: of no permits, of too many,
// or of those of a policy.
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

// overReleased is the panic text for a release of n permits where fewer are held. The numbers are
// read afterwards and may have changed, but the text never says that as many are held.
func overReleased(what string, n, size, free int64) string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	held := min(size-free, n-1)
	text := "semaphore: " + what + " " + number(n) +
		", but " + number(held) + " are held (size " + number(size) + ")"
	if size == 0 {
		text += "; a semaphore that was not made by New has no permits"
	}
	return text
}

// Size returns the number of permits, free or held.
func (s *Semaphore) Size() int64 {
	if s.p != nil {
		return s.p.Size()
	}
	return s.permits().Size()
}

// Available returns the number of permits that are not held. Requests may already wait for them.
// The number is negative while more permits are held than Resize has left. It may be out of date
// when Available returns.
func (s *Semaphore) Available() int64 {
	if s.p != nil {
		return s.p.Available()
	}
	return s.permits().Available()
}

// Waiting returns the number of waiting requests. It may be out of date when Waiting returns.
func (s *Semaphore) Waiting() int {
	if s.p != nil {
		return s.p.Waiting()
	}
	return s.e.Waiting()
}

// Resize changes the number of permits to n. New permits go to waiting requests first. If more than
// n permits are held the holders keep them, and the next releases pay the difference before they
// serve a request. Requests that wait for more than n permits end with ErrTooLarge. For concurrent
// calls the changes of Size and Available are two steps. Resize panics if n is negative.
func (s *Semaphore) Resize(n int64) {
	if n < 0 {
		panic("semaphore: negative size")
	}
	if s.p != nil {
		s.p.Resize(n)
		return
	}
	s.permits().Resize(min(n, MaxPermits))
}

// Close ends all waiting requests and all later ones with ErrClosed. Permits that are held stay
// held until they are released. Closing twice is harmless.
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
