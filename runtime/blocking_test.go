package rt_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
)

func TestBlockingHoldsNoWorker(t *testing.T) {
	ex := solo(t)
	in, gate := make(chan struct{}), make(chan struct{})
	h := rt.Go(ex, func(cx *rt.Context) (int, error) {
		return rt.Blocking(cx, func() (int, error) { close(in); <-gate; return 7, errBoo })
	})
	locktest.Receive(t, in)
	require.NoError(t, run(t, ex, rt.Yield))
	close(gate)
	v, err := wait(t, h)
	require.Equal(t, errBoo, err)
	require.Equal(t, 7, v)
}

func TestEndingsOfBlocking(t *testing.T) {
	ex := solo(t)
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			requireEnding(t, name, run(t, ex, func(cx *rt.Context) error {
				_, err := rt.Blocking(cx, func() (int, error) { end(); return 0, nil })
				return err
			}))
		})
	}
}

func TestBlockingOfACancelledTaskReturnsAtOnce(t *testing.T) {
	ex := solo(t)
	in, gate := make(chan struct{}), make(chan struct{})
	var ran atomic.Bool
	h := rt.Go(ex, func(cx *rt.Context) (int, error) {
		return rt.Blocking(cx, func() (int, error) { close(in); <-gate; ran.Store(true); return 7, nil })
	})
	locktest.Receive(t, in)
	h.Abort()
	v, err := wait(t, h)
	require.ErrorIs(t, err, rt.ErrCancelled)
	require.Zero(t, v)
	close(gate)
	shutdown(t, ex)
	require.True(t, ran.Load(), "the shutdown has waited for it")
}

// The function has ended, but its task is cancelled before it looks.
func TestBlockingDropsTheResultOfACancelledTask(t *testing.T) {
	ex := solo(t)
	in, gate := make(chan struct{}), make(chan struct{})
	value := -1
	h := spawned(ex, func(cx *rt.Context) (err error) {
		value, err = rt.Blocking(cx, func() (int, error) { close(in); <-gate; return 7, nil })
		return err
	})
	locktest.Receive(t, in)
	release := occupy(t, ex)
	close(gate)
	locktest.Eventually(t, "its task is woken", func() bool { return !ex.Dump()[0].Waiting && !ex.Dump()[1].Waiting })
	h.Abort()
	release()
	_, err := wait(t, h)
	require.ErrorIs(t, err, rt.ErrCancelled)
	require.Zero(t, value)
}

// pool is the simplest pool with a limit.
type pool struct {
	room    atomic.Int64
	running atomic.Int64
}

var errPoolFull = errors.New("pool is full")

func newPool(room int64) *pool {
	p := new(pool)
	p.room.Store(room)
	return p
}

func (p *pool) Submit(fn func()) error {
	if p.room.Add(-1) < 0 {
		p.room.Add(1)
		return errPoolFull
	}
	p.running.Add(1)
	go func() {
		defer p.room.Add(1)
		defer p.running.Add(-1)
		fn()
	}()
	return nil
}

func TestExecutorRunsOnThePool(t *testing.T) {
	p := newPool(3)
	ex, err := rt.NewOn(p, rt.WithWorkers(2))
	require.NoError(t, err)
	require.EqualValues(t, 2, p.running.Load())
	in, gate := make(chan struct{}), make(chan struct{})
	blocks := func(cx *rt.Context) error {
		_, err := rt.Blocking(cx, func() (int, error) { close(in); <-gate; return 0, nil })
		return err
	}
	h := spawned(ex, blocks)
	locktest.Receive(t, in)
	require.EqualValues(t, 3, p.running.Load())
	require.ErrorIs(t, run(t, ex, func(cx *rt.Context) error {
		_, err := rt.Blocking(cx, func() (int, error) { panic("called") })
		return err
	}), errPoolFull)
	close(gate)
	_, err = wait(t, h)
	require.NoError(t, err)
	shutdown(t, ex)
	locktest.Eventually(t, "all are back", func() bool { return p.room.Load() == 3 })
}

func TestPoolWithoutRoomForTheWorkersIsAnError(t *testing.T) {
	for room := range int64(3) {
		p := newPool(room)
		got := make(chan error, 1)
		go func() {
			_, err := rt.NewOn(p, rt.WithWorkers(3))
			got <- err
		}()
		require.ErrorIs(t, locktest.Receive(t, got), errPoolFull)
		locktest.Eventually(t, "all are back", func() bool { return p.room.Load() == room })
	}
}

// waitingPool is a pool of one goroutine whose Submit waits until that is free.
type waitingPool struct{ room chan struct{} }

func (p *waitingPool) Submit(fn func()) error {
	p.room <- struct{}{}
	go func() {
		defer func() { <-p.room }()
		fn()
	}()
	return nil
}

// A Goexit takes the worker's goroutine along. What has to go on cannot wait for one of the pool,
// where others may wait longer: tasks depend on it.
func TestWorkerIsReplacedWhateverThePool(t *testing.T) {
	for name, p := range map[string]rt.Pool{"full": newPool(1), "waits": &waitingPool{make(chan struct{}, 1)}} {
		t.Run(name, func(t *testing.T) {
			ex, err := rt.NewOn(p, rt.WithWorkers(1))
			require.NoError(t, err)
			for range 3 {
				require.ErrorIs(
					t,
					run(t, ex, func(*rt.Context) error { endings["Goexit"](); return nil }),
					rt.ErrGoexit,
				)
				require.NoError(t, run(t, ex, rt.Yield))
			}
			shutdown(t, ex)
			require.EqualValues(t, 3, ex.Stats().Replaced)
			back := make(chan struct{})
			locktest.Eventually(
				t,
				"the pool's goroutine is back",
				func() bool { return p.Submit(func() { close(back) }) == nil },
			)
			locktest.Receive(t, back)
		})
	}
}

// latePool is a pool whose goroutines begin when the test starts them.
type latePool struct{ functions []func() }

func (p *latePool) Submit(fn func()) error {
	p.functions = append(p.functions, fn)
	return nil
}

// The monitor looks from the beginning on, and not only when some worker has slept.
func TestTasksOfAWorkerThatIsBusyFromTheBeginningRunElsewhere(t *testing.T) {
	var p latePool
	ex, err := rt.NewOn(&p, rt.WithWorkers(2))
	require.NoError(t, err)
	s := held(t, 1)
	f := request(s, 1)
	waits := newPoll(func(cx *rt.Context) bool { return cx.Poll(f) })
	require.NoError(t, ex.Spawn(waits))
	in, gate := make(chan struct{}), make(chan struct{})
	require.NoError(t, ex.Spawn(once(func() { close(in); <-gate })))
	go p.functions[0]()
	locktest.Receive(t, in)
	require.EqualValues(t, 1, s.Waiting())
	go p.functions[1]()
	s.Release(1)
	require.NoError(t, ended(t, &waits.Task))
	require.NoError(t, f.Err())
	close(gate)
	shutdown(t, ex)
}

func TestManyBlockingFunctionsAtOnce(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		n := locktest.Scaled(400)
		meet := meeting(t, n)
		var hs []*rt.JoinHandle[int]
		for i := range n {
			hs = append(hs, rt.Go(ex, func(cx *rt.Context) (int, error) {
				return rt.Blocking(cx, func() (int, error) { meet(); return i, nil })
			}))
		}
		for i, h := range hs {
			v, err := h.Wait(bg)
			assert.NoError(t, err)
			require.Equal(t, i, v)
		}
	})
}
