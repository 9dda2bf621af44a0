package antspool

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/panjf2000/ants/v2"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// The errors of this package. Errors of the gate ([semaphore.ErrTooLarge], [semaphore.ErrClosed],
// [semaphore.ErrQueueFull]) and of ants ([ants.ErrPoolClosed]) are returned unchanged. After any
// error the caller holds nothing. After any error but ErrAborted, the function was not called and
// never will be.
var (
	// ErrCancelled: the job was stopped before it began.
	ErrCancelled = waiter.ErrCancelled
	// ErrAborted: the function has begun but has not returned: it panicked or called
	// runtime.Goexit.
	ErrAborted = errors.New("antspool: the function panicked or called Goexit")
	// ErrBusy: the permits are not free, or others wait for them.
	ErrBusy = errors.New("antspool: not enough permits are free")
	// ErrMayBlock: the ants pool was made without ants.WithNonblocking(true), so a call that must
	// not wait cannot use it.
	ErrMayBlock = errors.New("antspool: the ants pool may block")
)

// A Pool is a gate in front of an ants pool. A job first gets permits from the gate, a semaphore,
// and then a goroutine from the pool. The permits are given back when the job has ended, however it
// ends. [New] makes a Pool, and [Pool.Release] ends it. The methods of the zero Pool panic.
//
// Any goroutine, also that of a job, may call all methods at any time, but see [Pool.Submit].
//
// Order: jobs get permits in the order in which they asked, and goroutines in the order in which
// they got permits.
//
// Memory model: submitting a job synchronizes before its beginning. Its end synchronizes before the
// beginning of every job that gets its permits.
type Pool struct {
	ants     *ants.Pool
	gate     *semaphore.Semaphore
	ownGate  bool // made by New: Tune resizes it
	mayBlock bool // Submit of ants may wait: callers that must not wait do not call it

	released atomic.Bool // a goroutine has undertaken to release the ants pool
	tuning   sync.Mutex  // one Tune at a time

	token  func()             // runs what is ready: p.begin
	submit func(func()) error // Submit of ants; tests have it wait

	mu      sync.Mutex // never held while anything outside is called that may wait or call back
	waiting list       // jobs that stand in the gate's queue; all below is guarded by mu
	ready   list       // jobs with permits and without a goroutine, the oldest first
	doomed  list       // jobs that have been ended by others, and may hold permits
	lookers int        // goroutines of ants that will look at ready soon, and those asked for
	handing int        // calls of Submit of ants with a function in hand
	handed  sync.Cond  // when there are none, after closed
	closed  bool
	asking  int // goroutines that ask ants, and may wait there: more than 1 if ants forgot one
	retries retries
}

// An Option is an argument of [New].
type Option func(*options)

type options struct{ gate *semaphore.Semaphore }

// WithGate sets the gate. Its permits may mean anything: two for two jobs at a time on a pool of
// eight, or a number of bytes. Other pools and other users may share it. WithGate panics if gate is
// nil.
func WithGate(gate *semaphore.Semaphore) Option {
	if gate == nil {
		panic("antspool: nil gate")
	}
	return func(o *options) { o.gate = gate }
}

// New puts a gate in front of p. The default gate has as many permits as p has goroutines, for jobs
// of weight 1; for a pool without a limit it has [semaphore.MaxPermits]. New panics if p or an
// option is nil, or if ants.NewPool did not make p.
//
// p should be made with ants.WithNonblocking(true): then nothing in this package waits inside ants.
// With any other pool a goroutine waits there while jobs with permits lack a goroutine. There is
// one for each Pool, and rarely more, because ants v2.12.1 may forget to wake it. One that is
// forgotten when the pool is released and its last function ends is left behind. On such a pool
// [Pool.Submit] is slower, and [Pool.TrySubmit] does not work.
//
// Functions that are submitted to p directly do not pass the gate.
func New(p *ants.Pool, opts ...Option) *Pool {
	if p == nil {
		panic("antspool: nil pool")
	}
	if reflect.ValueOf(p).Elem().IsZero() {
		panic("antspool: an ants.Pool that ants.NewPool has not made")
	}
	var o options
	for _, opt := range opts {
		if opt == nil {
			panic("antspool: nil option")
		}
		opt(&o)
	}
	pool := &Pool{ants: p, gate: o.gate, mayBlock: !nonblocking(p)}
	if pool.gate == nil {
		pool.ownGate = true
		pool.gate = semaphore.New(permits(p.Cap()))
	}
	pool.token, pool.submit = pool.begin, p.Submit
	pool.handed.L = &pool.mu
	return pool
}

// made panics if the pool is not one of New.
func (p *Pool) made() {
	if p == nil || p.ants == nil {
		panic("antspool: use of a Pool that New has not made")
	}
}

// permits is the size of the default gate.
func permits(capacity int) int64 {
	if capacity < 0 {
		return semaphore.MaxPermits
	}
	return int64(capacity)
}

// nonblocking reports whether the pool was made with ants.WithNonblocking(true). Ants has no method
// for that. If its fields are renamed one day the answer will be false, which is always safe, and
// TestNonblockingPoolsAreRecognized fails.
func nonblocking(p *ants.Pool) bool {
	v := reflect.ValueOf(p).Elem()
	for _, name := range []string{"poolCommon", "options"} {
		if v = v.FieldByName(name); v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return false
		}
		v = v.Elem()
	}
	v = v.FieldByName("Nonblocking")
	return v.Kind() == reflect.Bool && v.Bool()
}

// Ants returns the ants pool.
func (p *Pool) Ants() *ants.Pool {
	p.made()
	return p.ants
}

// Gate returns the gate, which has how many permits there are, how many are free, and how many jobs
// wait for some.
func (p *Pool) Gate() *semaphore.Semaphore {
	p.made()
	return p.gate
}

// Ready returns how many jobs have their permits, but no goroutine yet. If that stays above 0 the
// gate lets more through than the ants pool has room for, with the other work there.
func (p *Pool) Ready() int {
	p.made()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready.len
}

// Tune changes the capacity of the ants pool as its own Tune does, which ignores some calls, and
// makes the default gate as large. A gate given by [WithGate] stays as it is. Jobs that wait for
// more permits than there are from now on end with [semaphore.ErrTooLarge]; nothing is taken from
// those that run.
func (p *Pool) Tune(size int) {
	p.made()
	p.tuning.Lock()
	p.ants.Tune(size)
	if p.ownGate {
		p.gate.Resize(permits(p.ants.Cap()))
	}
	p.tuning.Unlock()
	p.serve()
}

// Close ends all jobs that have not begun, and all that come later, with [ants.ErrPoolClosed], and
// gives back what they hold. Those that run go on. The ants pool stays open for others. Closing
// twice is harmless.
func (p *Pool) Close() {
	p.made()
	p.mu.Lock()
	p.closed = true
	for p.handing > 0 { // so that no function begins after a release of the ants pool has ended
		p.handed.Wait()
	}
	p.doomLocked(ants.ErrPoolClosed)
	p.mu.Unlock()
	p.reap()
}

// Release is Close, and then Release of the ants pool: it does not wait for the jobs that run.
//
// If the ants pool is released directly, jobs end in the same way, but those that wait for the gate
// do not learn of it before a job ends or the gate lets them through.
func (p *Pool) Release() {
	p.Close()
	if p.released.CompareAndSwap(false, true) {
		p.ants.Release()
	}
}

// ReleaseContext is [Pool.Release], and waits until all goroutines of the ants pool have ended. If
// ctx is done first it returns ctx.Err. As in ants, a nil ctx means not to wait, and the result is
// [ants.ErrPoolClosed], at once, if the pool has been released before.
func (p *Pool) ReleaseContext(ctx context.Context) error {
	p.Close()
	if !p.released.CompareAndSwap(false, true) {
		return ants.ErrPoolClosed
	}
	if ctx != nil {
		ctx = ended{ctx}
	}
	return p.ants.ReleaseContext(ctx)
}

// ended is a context for ants, which asks for the error when the channel is closed, and takes none
// for a success.
type ended struct{ context.Context }

func (e ended) Err() error { return waiting.ContextError(e.Context) }

// ReleaseTimeout is [Pool.ReleaseContext] with a timeout, after which it returns [ants.ErrTimeout].
func (p *Pool) ReleaseTimeout(timeout time.Duration) error {
	p.Close()
	if !p.released.CompareAndSwap(false, true) {
		return ants.ErrPoolClosed
	}
	return p.ants.ReleaseTimeout(timeout)
}
