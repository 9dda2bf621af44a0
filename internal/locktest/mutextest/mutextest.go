package mutextest

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

// A Small is what even a mutex of two bits can do. It promises no order.
type Small interface {
	sync.Locker
	TryLock() bool
	LockContext(ctx context.Context) error
	Waiting() int
}

// A Mutex is what most of the tests are about.
type Mutex interface {
	Small
	LockTimeout(d time.Duration) bool
}

// A Known is a test that a mutex does not pass, and why.
type Known = locktest.Known

// Run runs all tests on mutexes of type M, and on their futures, and skips the known ones. The type
// PM follows from M.
func Run[M any, PM mutexOf[M]](t *testing.T, known ...Known) {
	t.Helper()
	for _, tests := range [][]test{small, order, timeouts, futures, bubbles} {
		runAll(t, tests, kindOf[M, PM](), known...)
	}
}

// RunOf is Run on the mutexes that create makes. Without fifo it leaves out the tests of that
// order.
func RunOf[M any, PM mutexOf[M]](t *testing.T, create func() PM, fifo bool, known ...Known) {
	t.Helper()
	k := kindOf[M, PM]()
	k.mutex = func() Small { return create() }
	lists := [][]test{small, timeouts, futures, bubbles}
	if fifo {
		lists = append(lists, order)
	}
	for _, tests := range lists {
		runAll(t, tests, k, known...)
	}
}

// RunSmall runs the tests of what depends neither on order nor on futures; on timeouts only if
// there are some.
func RunSmall(t *testing.T, create func() Small, known ...Known) {
	t.Helper()
	k := kind{mutex: create}
	lists := [][]test{small, bubbles}
	if k.timed() {
		lists = append(lists, timeouts)
	}
	for _, tests := range lists {
		runAll(t, tests, k, known...)
	}
}

// RunFair runs the tests of mutexes without futures that are FIFO.
func RunFair(t *testing.T, create func() Mutex) {
	t.Helper()
	k := kind{mutex: func() Small { return create() }}
	for _, tests := range [][]test{small, order, timeouts, bubbles} {
		runAll(t, tests, k)
	}
}

func runAll(t *testing.T, tests []test, k kind, known ...Known) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			locktest.SkipKnown(t, test.name, known)
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			test.run(t, k)
		})
	}
}

// A test gets the kind of mutexes that it is to try.
type test struct {
	name string
	run  func(t *testing.T, k kind)
}

type mutexOf[M any] interface {
	*M
	Mutex
	Bind(f *waiter.Future)
}

// A kind of mutexes.
type kind struct {
	mutex func() Small                    // a new one
	bind  func(m Small, f *waiter.Future) // nil: there are no futures
}

// timed reports whether there are timeouts.
func (k kind) timed() bool {
	_, ok := k.mutex().(Mutex)
	return ok
}

func kindOf[M any, PM mutexOf[M]]() kind {
	return kind{
		mutex: func() Small { return PM(new(M)) },
		bind: func(m Small, f *waiter.Future) {
			of, _ := m.(PM) // nil if m is
			of.Bind(f)
		},
	}
}

// request returns a future that is a request for m.
func (k kind) request(m Small) *waiter.Future {
	f := new(waiter.Future)
	k.bind(m, f)
	return f
}

// A way to lock.
type way struct {
	name string
	deaf bool // ctx does not end it
	lock func(ctx context.Context, m Small) error
}

// ways returns all that wait.
func (k kind) ways() []way {
	ways := []way{
		{"Lock", true, func(_ context.Context, m Small) error { m.Lock(); return nil }},
		lockContext,
	}
	if k.timed() {
		ways = append(ways, way{"LockTimeout", true, func(_ context.Context, m Small) error {
			if !m.(Mutex).LockTimeout(time.Hour) {
				return context.DeadlineExceeded
			}
			return nil
		}})
	}
	if k.bind != nil {
		ways = append(ways, way{"Done", false, k.lockByDone}, way{"Poll", false, k.lockByPoll})
	}
	return ways
}

// cancellable returns those that a context ends.
func (k kind) cancellable() (ways []way) {
	for _, w := range k.ways() {
		if !w.deaf {
			ways = append(ways, w)
		}
	}
	return ways
}

var lockContext = way{"LockContext", false, func(ctx context.Context, m Small) error { return m.LockContext(ctx) }}

// lockByDone locks m by a future in a select.
func (k kind) lockByDone(ctx context.Context, m Small) error {
	f := k.request(m)
	defer f.Release() // right on every path
	select {
	case <-f.Done():
		return f.Take()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lockByPoll locks m by a future that is polled.
func (k kind) lockByPoll(ctx context.Context, m Small) error {
	f := k.request(m)
	defer f.Release()
	w := locktest.NewChannelWaker()
	for !f.Poll(w) {
		select {
		case <-w:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return f.Take()
}

var bg = context.Background()

// RequireFree checks that m is unlocked and no goroutine waits.
func RequireFree(t *testing.T, m Small) {
	t.Helper()
	require.Zero(t, m.Waiting(), "a goroutine still waits")
	require.True(t, m.TryLock(), "the lock was lost")
	require.False(t, m.TryLock(), "two locks were made of one")
	m.Unlock()
}

// queued locks m in some way, in a goroutine of its own, and returns when that waits.
func queued(t *testing.T, ctx context.Context, m Small, w way) <-chan error {
	t.Helper()
	before := m.Waiting()
	c := make(chan error, 1)
	go func() { c <- w.lock(ctx, m) }()
	locktest.AwaitWaiting(t, m, before+1)
	return c
}

// waitOnce makes a wait with ctx that is served.
func waitOnce(t *testing.T, ctx context.Context, m Small) {
	t.Helper()
	m.Lock()
	c := queued(t, ctx, m, lockContext)
	m.Unlock()
	require.NoError(t, locktest.Receive(t, c))
	m.Unlock()
}
