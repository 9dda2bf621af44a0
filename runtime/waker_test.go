package rt_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/waiter"
)

// patient returns a context for what must happen.
func patient(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(bg, locktest.Patience)
	t.Cleanup(cancel)
	return ctx
}

// others are the callers that may poll a future that is waited for already. Each panics, and the
// first is woken.
var others = map[string]func(ctx context.Context, ex *rt.Executor, f rt.Future) (panicked any){
	"task": func(ctx context.Context, ex *rt.Executor, f rt.Future) any {
		_, err := rt.Go(ex, func(cx *rt.Context) (int, error) { return 0, rt.Await(cx, f) }).Wait(ctx)
		if p, ok := err.(*rt.PanicError); ok { //nolint:errorlint // nothing is wrapped
			return p.Value
		}
		return nil
	},
	"task that joins": func(ctx context.Context, ex *rt.Executor, f rt.Future) any {
		_, err := rt.Go(ex, func(cx *rt.Context) (int, error) { return 0, rt.Join(cx, f) }).Wait(ctx)
		if p, ok := err.(*rt.PanicError); ok { //nolint:errorlint // nothing is wrapped
			return p.Value
		}
		return nil
	},
	"goroutine": func(ctx context.Context, _ *rt.Executor, f rt.Future) (panicked any) {
		defer func() { panicked = recover() }()
		_ = rt.BlockOn(ctx, f)
		return nil
	},
}

// futures are those that more than one might poll.
var futures = map[string]func(t *testing.T, ex *rt.Executor) (f rt.Future, complete func()){
	"semaphore": func(t *testing.T, _ *rt.Executor) (rt.Future, func()) {
		s := held(t, 1)
		return request(s, 1), func() { s.Release(1) }
	},
	"handle": func(t *testing.T, ex *rt.Executor) (rt.Future, func()) {
		h, end := pending(t, ex)
		return h, end
	},
	"completion": func(t *testing.T, ex *rt.Executor) (rt.Future, func()) {
		s := held(t, 1)
		f := request(s, 1)
		p := newPoll(func(cx *rt.Context) bool { return cx.Poll(f) })
		require.NoError(t, ex.Spawn(p))
		return completionOf(&p.Task), func() { s.Release(1) }
	},
	"with a context": func(t *testing.T, _ *rt.Executor) (rt.Future, func()) {
		s := held(t, 1)
		ctx, cancel := context.WithCancel(bg)
		t.Cleanup(cancel)
		return rt.WithContext(ctx, request(s, 1)), func() { s.Release(1) }
	},
	"first": func(t *testing.T, _ *rt.Executor) (rt.Future, func()) {
		s := held(t, 1)
		return rt.FirstOf(request(held(t, 1), 1), request(s, 1)), func() { s.Release(1) }
	},
	"all": func(t *testing.T, _ *rt.Executor) (rt.Future, func()) {
		s := held(t, 2)
		return rt.AllOf(request(s, 1), request(s, 1)), func() { s.Release(2) }
	},
	"all of many": func(t *testing.T, _ *rt.Executor) (rt.Future, func()) {
		s := held(t, 100)
		var fs []rt.Future
		for range 100 {
			fs = append(fs, request(s, 1))
		}
		return rt.AllOf(fs...), func() { s.Release(100) }
	},
	"time limit": func(t *testing.T, _ *rt.Executor) (rt.Future, func()) {
		s := held(t, 1)
		return rt.Timeout(request(s, 1), time.Hour), func() { s.Release(1) }
	},
}

// Of two that poll one future one is told, by a panic, and the other is woken: no goroutine waits
// for ever without a word.
func TestSecondWakerOfAFutureIsNoSilentLoss(t *testing.T) {
	for future, newFuture := range futures {
		for other, poll := range others {
			t.Run(future+" of a task, then a "+other, func(t *testing.T) {
				ex := solo(t, quiet)
				f, complete := newFuture(t, ex)
				before := len(ex.Dump())
				first := spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, f) })
				awaitQuiet(t, ex, before+1)
				require.Contains(t, poll(patient(t), ex, f), "must be released in between")
				complete()
				_, err := wait(t, first)
				require.NoError(t, err)
			})
			t.Run(future+" of a goroutine, then a "+other, func(t *testing.T) {
				ex := solo(t, quiet)
				f, complete := newFuture(t, ex)
				p := &announced{Future: f, polled: make(chan struct{}, 1)}
				first := make(chan error, 1)
				go func() { first <- rt.BlockOn(bg, p) }()
				locktest.Receive(t, p.polled)
				require.Contains(t, poll(patient(t), ex, f), "must be released in between")
				complete()
				require.NoError(t, locktest.Receive(t, first))
			})
		}
	}
}

// announced is a future that says when it has been polled and is not complete.
type announced struct {
	rt.Future
	polled chan struct{}
}

func (a *announced) Poll(w waiter.Waker) bool {
	done := a.Future.Poll(w)
	if !done {
		select {
		case a.polled <- struct{}{}:
		default:
		}
	}
	return done
}

// Who peeks without a waker, or with one that the executor does not know, does not silence the
// task that waits.
func TestPeekAtAFutureSilencesNone(t *testing.T) {
	for future, newFuture := range futures {
		for name, w := range map[string]waiter.Waker{"nil": nil, "function": waiter.WakerFunc(func() {})} {
			t.Run(future+", "+name, func(t *testing.T) {
				ex := solo(t)
				f, complete := newFuture(t, ex)
				before := len(ex.Dump())
				first := spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, f) })
				awaitQuiet(t, ex, before+1)
				release := occupy(t, ex)
				require.False(t, f.Poll(w))
				release()
				awaitQuiet(t, ex, before+1)
				complete()
				_, err := wait(t, first)
				require.NoError(t, err)
			})
		}
	}
}
