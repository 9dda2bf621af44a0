package rt_test

import (
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
)

// printed returns what f, and what it leads to, writes to the standard error.
func printed(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	old := os.Stderr
	os.Stderr = w
	defer func() { os.Stderr = old }()
	all := make(chan string)
	go func() {
		text, _ := io.ReadAll(r)
		all <- string(text)
	}()
	f()
	require.NoError(t, w.Close())
	return <-all
}

// boom panics.
func boom(*rt.Context) (int, error) { panic(errBoo) }

// Without a handler it is printed, as Go prints it: the value, and the stack of the task.
func TestUnobservedPanicIsPrinted(t *testing.T) {
	for name, spawn := range map[string]func(ex *rt.Executor){
		"straight-line": func(ex *rt.Executor) { rt.GoNamed(ex, "doomed", boom) },
		"poll": func(ex *rt.Executor) {
			p := newPoll(func(cx *rt.Context) bool { _, _ = boom(cx); return true })
			p.SetName("doomed")
			require.NoError(t, ex.Spawn(p))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ex := rt.New(rt.WithWorkers(1))
			text := printed(t, func() { _ = ex.Shutdown(bg) })
			require.Empty(t, text)

			ex = rt.New(rt.WithWorkers(1))
			text = printed(t, func() {
				spawn(ex)
				_ = ex.Shutdown(bg)
			})
			require.Regexp(t, `^panic: boo \[recovered`, text)
			require.Contains(t, text, "doomed")
			require.Regexp(t, `\ngoroutine \d+ \[running\]:\n`, text)
			require.Contains(t, text, "runtime_test.boom(")
		})
	}
}

// toldPanics collects what a handler is told.
type toldPanics struct {
	mu  sync.Mutex
	all []*rt.PanicError
}

func (p *toldPanics) add(e *rt.PanicError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, e)
}

func (p *toldPanics) list() []*rt.PanicError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*rt.PanicError(nil), p.all...)
}

// A panic is told to the handler, counted, and told by Shutdown: each that no goroutine waited for,
// and none that one did.
func TestUnobservedPanicsAreTold(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		var told toldPanics
		ex := rt.New(rt.WithPanicHandler(told.add))
		const n = 20
		for i := range n {
			var gate rt.Timer
			gate.Init(1)
			h := spawned(ex, func(cx *rt.Context) error {
				if i%2 == 0 {
					_ = rt.Await(cx, &gate)
				}
				panic(errBoo)
			})
			if i%4 == 3 { // in a select that it loses
				require.NoError(t, run(t, ex, func(cx *rt.Context) error {
					var soon rt.Timer
					_, err := rt.Select(cx, &soon, h)
					return err
				}))
			}
		}
		err := ex.Shutdown(bg)
		require.ErrorContains(t, err, "rt: 20 tasks panicked unobserved: boo")
		require.ErrorIs(t, err, errBoo)
		var one *rt.PanicError
		require.ErrorAs(t, err, &one)
		require.Contains(t, told.list(), one)
		require.Len(t, told.list(), n)
		require.EqualValues(t, n, ex.Stats().Panics)
		require.Equal(t, "*rt.straight", one.Task)
		again := ex.Shutdown(bg)
		require.Equal(t, err, again)
	})
}

// A panic that a goroutine waits for is an error of that wait, by all ways to wait, and is not
// reported.
func TestObservedPanicIsNotReported(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := rt.New(rt.WithPanicHandler(func(e *rt.PanicError) { assert.NoError(t, e, "reported") }))
		s := held(t, 1)
		dies := func(cx *rt.Context) error {
			if err := rt.Await(cx, request(s, 1)); err != nil {
				return err
			}
			defer s.Release(1)
			panic(errBoo)
		}
		p := newPoll(nil)
		f := request(s, 1)
		p.f = func(cx *rt.Context) bool {
			if !cx.Poll(f) {
				return false
			}
			assert.NoError(t, f.Err())
			defer s.Release(1)
			panic(errBoo)
		}
		require.NoError(t, ex.Spawn(p))
		c := completionOf(&p.Task)
		c.Done()
		var wg sync.WaitGroup
		awaited, waited, done := spawned(ex, dies), spawned(ex, dies), spawned(ex, dies)
		waits := spawned(ex, func(cx *rt.Context) error {
			_, err := awaited.Await(cx)
			assert.ErrorIs(t, err, errBoo)
			return nil
		})
		closed := done.Done()
		wg.Go(func() {
			_, err := waited.Wait(bg)
			assert.ErrorIs(t, err, errBoo)
		})
		locktest.AwaitWaiting(t, s, 4)
		awaitQuiet(t, ex, 5)
		locktest.Eventually(t, "all wait", func() bool { return rt.Joiners(ex) == 4 })
		s.Release(1)
		locktest.Receive(t, closed)
		require.ErrorIs(t, done.Err(), errBoo)
		locktest.Receive(t, c.Done())
		require.ErrorIs(t, c.Err(), errBoo)
		wg.Wait()
		_, err := wait(t, waits)
		require.NoError(t, err)
		shutdown(t, ex)
		require.EqualValues(t, 4, ex.Stats().Panics)
	})
}

// A request after the report still gets the error, and then Shutdown has nothing to report.
func TestPanicThatIsAskedForLaterIsNotToldByShutdown(t *testing.T) {
	var told toldPanics
	ex := rt.New(rt.WithWorkers(2), rt.WithPanicHandler(told.add))
	h := rt.Go(ex, boom)
	p := newPoll(func(*rt.Context) bool { panic(errBoo) })
	require.NoError(t, ex.Spawn(p))
	left := rt.Go(ex, boom)
	locktest.Eventually(t, "reports", func() bool { return len(told.list()) == 3 })
	for range 2 {
		_, err := h.Result()
		require.ErrorIs(t, err, errBoo)
		require.ErrorIs(t, h.Err(), errBoo)
		require.ErrorIs(t, ended(t, &p.Task), errBoo)
	}
	err := ex.Shutdown(bg)
	require.ErrorContains(t, err, "rt: a task panicked unobserved")
	_, asked := left.Wait(bg)
	require.ErrorIs(t, asked, errBoo)
	require.NoError(t, ex.Shutdown(bg))
}

// A shutdown that has more to tell tells both.
func TestShutdownTellsOfPanicsWithAllElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for the time of grace
		ex := rt.New(rt.WithWorkers(2), rt.WithPanicHandler(func(*rt.PanicError) {}))
		s := held(t, 1)
		rt.Go(ex, boom)
		locktest.Eventually(t, "panic", func() bool { return ex.Stats().Panics == 1 })
		spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, request(s, 1)) })
		locktest.AwaitWaiting(t, s, 1)
		release := occupy(t, ex)
		err := ex.Shutdown(doneWith())
		require.ErrorIs(t, err, rt.ErrStuck)
		require.ErrorIs(t, err, errHurry)
		require.ErrorIs(t, err, errBoo)
		release()
		require.ErrorIs(t, ex.Shutdown(bg), errBoo)
		s.Release(1)
	})
}

// A function of Blocking whose task has gone has no other place to report it.
func TestPanicOfAnAbandonedBlockingFunctionIsTold(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		for range locktest.Scaled(100) {
			var told toldPanics
			ex := rt.New(rt.WithWorkers(1), rt.WithPanicHandler(told.add))
			in, gate := make(chan struct{}), make(chan struct{})
			var got error
			h := rt.GoNamed(ex, "doomed", func(cx *rt.Context) (int, error) {
				_, got = rt.Blocking(cx, func() (int, error) {
					close(in)
					<-gate
					panic(errBoo)
				})
				return 0, nil
			})
			<-in
			go close(gate)
			h.Abort() // at the same time
			_, err := wait(t, h)
			require.NoError(t, err)
			err = ex.Shutdown(bg)
			if errors.Is(got, errBoo) {
				require.NoError(t, err)
				require.Empty(t, told.list())
				continue
			}
			require.ErrorIs(t, got, rt.ErrCancelled)
			require.ErrorIs(t, err, errBoo)
			require.Len(t, told.list(), 1)
			require.Equal(t, "doomed", told.list()[0].Task)
		}
	})
}

// A panic that a function of Blocking has as an error, from elsewhere, is not its own.
func TestErrorOfAnAbandonedBlockingFunctionIsNoPanic(t *testing.T) {
	var told toldPanics
	ex := rt.New(rt.WithWorkers(2), rt.WithPanicHandler(told.add))
	in, gate := make(chan struct{}), make(chan struct{})
	foreign := &rt.PanicError{Value: errBoo, Task: "another"}
	h := rt.Go(ex, func(cx *rt.Context) (int, error) {
		return rt.Blocking(cx, func() (int, error) { close(in); <-gate; return 0, foreign })
	})
	<-in
	h.Abort()
	_, err := wait(t, h)
	require.ErrorIs(t, err, rt.ErrCancelled)
	close(gate)
	require.NoError(t, ex.Shutdown(bg))
	require.Empty(t, told.list())
	require.Zero(t, ex.Stats().Panics)
	require.Equal(t, "another", foreign.Task)
}

// A wait that was cancelled before the end is none.
func TestPanicAfterAWaitThatWasCancelledIsTold(t *testing.T) {
	var told toldPanics
	ex := rt.New(rt.WithWorkers(1), rt.WithPanicHandler(told.add))
	s := held(t, 1)
	h := spawned(ex, func(cx *rt.Context) error {
		if err := rt.Await(cx, request(s, 1)); err != nil {
			return err
		}
		s.Release(1)
		panic(errBoo)
	})
	require.False(t, h.Poll(nil))
	h.Release()
	s.Release(1)
	require.ErrorIs(t, ex.Shutdown(bg), errBoo)
	require.Len(t, told.list(), 1)
}

// The value is printed as Go prints it.
func TestPrintedPanicsShowTheValue(t *testing.T) {
	type point struct{ x, y int }
	for want, value := range map[string]any{
		"boo":                              errBoo,
		"text":                             "text",
		"7":                                7,
		"(rt_test.point) {1 2}":            point{1, 2},
		"1s":                               time.Second,
		new(runtime.PanicNilError).Error(): nil, // in other words since Go 1.27
	} {
		ex := rt.New(rt.WithWorkers(1))
		text := printed(t, func() {
			spawned(ex, func(*rt.Context) error { panic(value) })
			require.Error(t, ex.Shutdown(bg))
		})
		require.Contains(t, text, "panic: "+want+" [recovered by the executor]\n")
	}
}

func TestNilPanicHandlerPanics(t *testing.T) {
	require.PanicsWithValue(t, "rt: nil panic handler", func() { rt.WithPanicHandler(nil) })
}
