package rt_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/waiting"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// What is nil, or was not made by Go, is said so, and nothing else breaks.
func TestMisuseOfWaitsPanicsClearly(t *testing.T) {
	ex := solo(t, quiet)
	s := held(t, 1)
	ctx := context.Background()
	inTask := func(f func(cx *rt.Context)) func() {
		return func() {
			var told *rt.PanicError
			require.ErrorAs(t, run(t, ex, func(cx *rt.Context) error { f(cx); return nil }), &told)
			panic(told.Value)
		}
	}
	var zero rt.JoinHandle[int]
	for text, misuses := range map[string][]func(){
		"rt: Await of a nil future":   {inTask(func(cx *rt.Context) { _ = rt.Await(cx, nil) })},
		"rt: Poll of a nil future":    {inTask(func(cx *rt.Context) { cx.Poll(nil) })},
		"rt: BlockOn of a nil future": {func() { _ = rt.BlockOn(ctx, nil) }},
		"rt: WithContext of a nil future": {
			func() { rt.WithContext(ctx, nil) },
			func() { rt.WithContext(t.Context(), nil) },
		},
		"rt: Timeout of a nil future": {func() { rt.Timeout(nil, time.Second) }},
		"rt: nil future in AllOf":     {func() { rt.AllOf(request(s, 1), nil) }},
		"rt: nil future in FirstOf":   {func() { rt.FirstOf(nil) }},
		"rt: nil future in Join":      {inTask(func(cx *rt.Context) { _ = rt.Join(cx, request(s, 1), nil) })},
		"rt: nil future in Select":    {inTask(func(cx *rt.Context) { _, _ = rt.Select(cx, request(s, 1), nil) })},
		"rt: Blocking of a nil function": {
			inTask(func(cx *rt.Context) { _, _ = rt.Blocking[int](cx, nil) }),
		},
		"rt: nil task context": {
			func() { _ = rt.Await(nil, request(s, 1)) },
			func() { _ = rt.Sleep(nil, 1) },
			func() { _ = rt.Yield(nil) },
			func() { _, _ = rt.Blocking(nil, func() (int, error) { return 0, nil }) },
		},
		"rt: Wait with a nil context": {
			func() {
				h := rt.Go(ex, func(*rt.Context) (int, error) { return 0, nil })
				_, _ = h.Wait(nil) //nolint:staticcheck // the point
			},
		},
		"rt: use of a JoinHandle that Go has not made": {
			func() { zero.Poll(nil) },
			func() { _ = zero.Err() },
			func() { _, _ = zero.Result() },
			func() { zero.Done() },
			func() { zero.Release() },
			func() { zero.Abort() },
			func() { _, _ = zero.Wait(ctx) },
			inTask(func(cx *rt.Context) { _, _ = zero.Await(cx) }),
		},
	} {
		for _, misuse := range misuses {
			require.PanicsWithValue(t, text, misuse)
		}
	}
	require.Zero(t, s.Waiting())
}

// A function of Blocking does not run in the task, and cannot wait with its Context: it is told,
// at once.
func TestContextInAFunctionOfBlockingPanics(t *testing.T) {
	p := new(patientPool)
	ex, err := rt.NewOn(p, rt.WithWorkers(1), quiet)
	require.NoError(t, err)
	defer shutdown(t, ex)
	p.waits = true
	s := held(t, 1)
	for name, use := range map[string]func(cx *rt.Context){
		"Await":   func(cx *rt.Context) { _ = rt.Await(cx, request(s, 1)) },
		"Select":  func(cx *rt.Context) { _, _ = rt.Select(cx, request(s, 1)) },
		"Join":    func(cx *rt.Context) { _ = rt.Join(cx, request(s, 1)) },
		"Sleep":   func(cx *rt.Context) { _ = rt.Sleep(cx, time.Hour) },
		"Yield":   func(cx *rt.Context) { _ = rt.Yield(cx) },
		"Context": func(cx *rt.Context) { cx.Context() },
		"Err":     func(cx *rt.Context) { _ = cx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			err := run(t, ex, func(cx *rt.Context) error {
				_, err := rt.Blocking(cx, func() (int, error) { use(cx); return 0, nil })
				require.NoError(t, cx.Err(), "the task's own use goes on")
				return err
			})
			require.ErrorContains(t, err, "use of a task's Context outside the task")
		})
	}
	require.Zero(t, s.Waiting())
}

// patientPool is a pool that lets a function end before Submit returns: so it runs while the task
// does, too.
type patientPool struct{ waits bool }

func (p *patientPool) Submit(fn func()) error {
	ended := make(chan struct{})
	go func() { defer close(ended); fn() }()
	if p.waits {
		<-ended
	}
	return nil
}

// A waker that a poll could not ask for its task would be replaced in silence. So a poll task is no
// waker, and the wakers that it has can be asked.
func TestPollTaskIsNoWaker(t *testing.T) {
	_, ok := any(new(pollFunc)).(waiter.Waker)
	require.False(t, ok)
	_, ok = new(pollFunc).Waker().(waiting.Owner)
	require.True(t, ok)
}

// The second task panics, and the first gets what it waits for; with a watchdog, too.
func TestFutureOfOneTaskCannotBePolledByAnother(t *testing.T) {
	for name, opts := range map[string][]rt.Option{
		"plain":    nil,
		"watchdog": {rt.WithWatchdog(time.Hour, func(rt.Report) {})},
	} {
		t.Run(name, func(t *testing.T) {
			ex := rt.New(append(opts, rt.WithWorkers(1), quiet)...)
			s := semaphore.New(1)
			require.True(t, s.TryAcquire(1))
			var f waiter.Future
			s.Bind(&f, 1)
			wait := func(cx *rt.Context) (int, error) { return 0, rt.Await(cx, &f) }
			first := rt.Go(ex, wait)
			for s.Waiting() == 0 {
				runtime.Gosched()
			}
			_, err := rt.Go(ex, wait).Wait(context.Background())
			var panicked *rt.PanicError
			require.ErrorAs(t, err, &panicked)
			require.Contains(t, panicked.Value, "two tasks")
			s.Release(1)
			_, err = first.Wait(context.Background())
			require.NoError(t, err)
			f.Release()

			// After a release it may go to another.
			require.True(t, s.TryAcquire(1))
			s.Bind(&f, 1)
			first = rt.Go(ex, wait)
			for s.Waiting() == 0 {
				runtime.Gosched()
			}
			first.Abort()
			_, err = first.Wait(context.Background())
			require.ErrorIs(t, err, rt.ErrCancelled)
			s.Bind(&f, 1)
			second := rt.Go(ex, wait)
			for s.Waiting() == 0 {
				runtime.Gosched()
			}
			s.Release(1)
			_, err = second.Wait(context.Background())
			require.NoError(t, err)
			f.Release()
			require.NoError(t, ex.Shutdown(context.Background()))
			require.EqualValues(t, 1, s.Available())
		})
	}
}
