package rt_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/observe"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

func TestMain(m *testing.M) {
	// The monitor of package observe ends at the first look that finds nothing to look at. On a
	// slow machine it pauses for longer between looks.
	observe.Configure(observe.Config{Period: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	locktest.Main(m)
}

var bg = context.Background()

// quiet is for tests in which tasks may panic before any goroutine waits for them.
var quiet = rt.WithPanicHandler(func(*rt.PanicError) {})

// start returns an executor that the end of the test shuts down: by then all tasks must end by
// themselves.
func start(t testing.TB, opts ...rt.Option) *rt.Executor {
	t.Helper()
	ex := rt.New(opts...)
	t.Cleanup(func() { shutdown(t, ex) })
	return ex
}

// solo is start with one worker.
func solo(t testing.TB, opts ...rt.Option) *rt.Executor {
	t.Helper()
	return start(t, append(opts, rt.WithWorkers(1))...)
}

// shutdown ends ex, whose tasks must end by themselves.
func shutdown(t testing.TB, ex *rt.Executor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(bg, locktest.Patience)
	defer cancel()
	go func() {
		<-ctx.Done()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Logf("tasks that do not end: %+v", ex.Dump())
		}
	}()
	assert.NoError(t, ex.Shutdown(ctx))
}

// pollFunc is a poll task that is a function.
type pollFunc struct {
	rt.Task
	f func(cx *rt.Context) bool
}

func (p *pollFunc) Poll(cx *rt.Context) bool { return p.f(cx) }

// newPoll returns a poll task whose Poll is f.
func newPoll(f func(cx *rt.Context) bool) *pollFunc { return &pollFunc{f: f} }

// once returns a poll task that calls f and ends.
func once(f func()) *pollFunc { return newPoll(func(*rt.Context) bool { f(); return true }) }

// completionOf returns the end of a task as a future.
func completionOf(task *rt.Task) *rt.Completion {
	c := new(rt.Completion)
	c.Init(task)
	return c
}

// ended waits for the end of a poll task, and returns how it ended.
func ended(t testing.TB, task *rt.Task) error {
	t.Helper()
	c := completionOf(task)
	locktest.Receive(t, c.Done())
	return c.Err()
}

// wait waits for a straight-line task, which must end, and returns its result.
func wait[T any](t testing.TB, h *rt.JoinHandle[T]) (T, error) {
	t.Helper()
	locktest.Receive(t, h.Done())
	return h.Result()
}

// run runs f as a straight-line task of ex, and returns how it ended.
func run(t testing.TB, ex *rt.Executor, f func(cx *rt.Context) error) error {
	t.Helper()
	_, err := wait(t, spawned(ex, f))
	return err
}

// spawned is rt.Go for a function without a value.
func spawned(ex *rt.Executor, f func(cx *rt.Context) error) *rt.JoinHandle[struct{}] {
	return rt.Go(ex, func(cx *rt.Context) (struct{}, error) { return struct{}{}, f(cx) })
}

// occupy keeps a worker in a poll until the function that it returns is called.
func occupy(t testing.TB, ex *rt.Executor) (release func()) {
	t.Helper()
	in, gate := make(chan struct{}), make(chan struct{})
	require.NoError(t, ex.Spawn(once(func() { close(in); <-gate })))
	locktest.Receive(t, in)
	return func() { close(gate) }
}

// held returns a semaphore of n permits, all of which are taken.
func held(t testing.TB, n int64) *semaphore.Semaphore {
	t.Helper()
	s := semaphore.New(n)
	require.True(t, s.TryAcquire(n))
	return s
}

// An unending future binds itself for each round.
type unending struct {
	waiter.Future
	s *semaphore.Semaphore
	n int64
}

func again(s *semaphore.Semaphore, n int64) *unending { return &unending{s: s, n: n} }

func (f *unending) Poll(w waiter.Waker) bool {
	if !(*waiting.Future)(&f.Future).Bound() {
		f.s.Bind(&f.Future, f.n)
	}
	return f.Future.Poll(w)
}

// request returns a future for n permits of s.
func request(s *semaphore.Semaphore, n int64) *waiter.Future {
	f := new(waiter.Future)
	s.Bind(f, n)
	return f
}

// awaitQuiet waits until all tasks of ex wait, n of them.
func awaitQuiet(t testing.TB, ex *rt.Executor, n int) {
	t.Helper()
	locktest.Eventually(t, "all tasks wait", func() bool {
		waiting := 0
		for _, task := range ex.Dump() {
			if task.Waiting {
				waiting++
			}
		}
		return waiting == n
	})
}

// requireIdle checks that all permits are back and no goroutine waits.
func requireIdle(t testing.TB, s *semaphore.Semaphore) { t.Helper(); semtest.RequireIdle(t, s) }
