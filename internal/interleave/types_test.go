package interleave

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/xsync/model"
)

// everywhere calls f outside of explorations, in the body, in a thread, after Wait, and where it is
// traced.
func everywhere(t *testing.T, f func(t require.TestingT)) {
	t.Helper()
	f(t)
	r := Explore(Options{}, func(x *Run) {
		f(tester{x})
		x.Go("a", func() { f(tester{x}) })
		x.Wait()
		f(tester{x})
	})
	require.Nil(t, r.Failure)
	require.Equal(t, 1, r.Executions)
	_ = fails(t, Assertion, Options{}, func(x *Run) {
		x.Go("a", func() {
			f(tester{x})
			x.Fail("to be traced")
		})
		x.Wait()
	})
}

// A tester lets package require fail an execution.
type tester struct{ x *Run }

func (t tester) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (t tester) FailNow()                          { t.x.Fail("require") }

type value[T any] interface {
	Load() T
	Store(n T)
	Swap(n T) T
	CompareAndSwap(o, n T) bool
}

type number[T any] interface {
	value[T]
	Add(d T) T
	Or(mask T) T
	And(mask T) T
}

// sameValues does random operations on a real and a modelled variable.
func sameValues[T any](t require.TestingT, actual, model value[T], operands []T) {
	rng := rand.New(rand.NewPCG(11, 12))
	pick := func() T { return operands[rng.IntN(len(operands))] }
	for range 200 {
		a, b := pick(), pick()
		switch rng.IntN(4) {
		case 0:
			actual.Store(a)
			model.Store(a)
		case 1:
			require.Equal(t, actual.Swap(a), model.Swap(a))
		case 2:
			require.Equal(t, actual.CompareAndSwap(a, b), model.CompareAndSwap(a, b))
		default:
		}
		require.Equal(t, actual.Load(), model.Load())
	}
}

func sameNumbers[T int32 | int64 | uint32 | uint64 | uintptr](t *testing.T, actual, model func() number[T]) {
	t.Helper()
	zero := T(0)
	operands := []T{0, 1, 2, 3, 0x55, ^zero, ^zero >> 1, 1 << 30}
	everywhere(t, func(t require.TestingT) {
		sameValues[T](t, actual(), model(), operands[:4])
		rng := rand.New(rand.NewPCG(13, 14))
		a, m := actual(), model()
		for range 200 {
			d := operands[rng.IntN(len(operands))]
			switch rng.IntN(3) {
			case 0:
				require.Equal(t, a.Add(d), m.Add(d))
			case 1:
				require.Equal(t, a.Or(d), m.Or(d))
			default:
				require.Equal(t, a.And(d), m.And(d))
			}
			require.Equal(t, a.Load(), m.Load())
		}
	})
}

func TestNumbersAreTheRealOnes(t *testing.T) {
	sameNumbers(t, func() number[int32] { return new(atomic.Int32) }, func() number[int32] { return new(Int32) })
	sameNumbers(t, func() number[int64] { return new(atomic.Int64) }, func() number[int64] { return new(Int64) })
	sameNumbers(t, func() number[uint32] { return new(atomic.Uint32) }, func() number[uint32] { return new(Uint32) })
	sameNumbers(t, func() number[uint64] { return new(atomic.Uint64) }, func() number[uint64] { return new(Uint64) })
	sameNumbers(
		t,
		func() number[uintptr] { return new(atomic.Uintptr) },
		func() number[uintptr] { return new(Uintptr) },
	)
}

func TestBoolAndPointerAreTheRealOnes(t *testing.T) {
	everywhere(t, func(t require.TestingT) {
		sameValues[bool](t, new(atomic.Bool), new(Bool), []bool{false, true})
		sameValues[*int](t, new(atomic.Pointer[int]), new(Pointer[int]), []*int{nil, new(int), new(int)})
	})
}

// What is made outside of the body is as if it were new in every execution, whatever was left in
// it.
func TestGlobalsBeginAnew(t *testing.T) {
	everyMode(t, func(t *testing.T, o Options) {
		var n Int32
		var b Bool
		var p Pointer[int]
		var mu, lastLocked Mutex
		s := NewSignal(2)
		n.Store(7)
		b.Store(true)
		p.Store(new(int))
		mu.Lock()
		s.Send()
		pool := Pool{New: func() any { return 0 }}
		passes(t, o, func(x *Run) {
			x.Assert(!mu.Locked() && !lastLocked.Locked(), "unlocked")
			x.Assert(n.Load() == 0 && !b.Load() && p.Load() == nil, "zero")
			x.Assert(pool.Get() == 0, "an empty pool")
			pool.Put(1)
			b.Store(true)
			p.Store(new(int))
			lastLocked.Lock()
			for range 2 {
				x.Go("t", func() {
					mu.Lock()
					n.Add(1)
					s.Send()
					mu.Unlock()
					x.Assert(pool.Get() == 0, "an empty pool")
					pool.Put(1)
				})
			}
			x.Wait()
			x.Assert(n.Load() == 2, "two additions")
			mu.Lock()
		})
	})
}

func TestMutex(t *testing.T) {
	everywhere(t, func(t require.TestingT) {
		var mu Mutex
		mu.Lock()
		require.False(t, mu.TryLock())
		mu.Unlock()
		require.True(t, mu.TryLock())
		require.False(t, mu.TryLock())
		mu.Unlock()
		pass(&mu)
	})
	everyMode(t, func(t *testing.T, o Options) {
		got := outcomes(t, o, func(x *Run, tell func(string)) {
			var mu Mutex
			inside := 0
			got := [2]bool{}
			x.Always(func() { x.Assert(mu.Locked() || inside == 0, "inside an unlocked mutex") })
			section := func() {
				inside++
				x.Assert(inside == 1, "mutual exclusion")
				Choose(1)
				inside--
				mu.Unlock()
			}
			for i := range got {
				x.Go("t", func() {
					if got[i] = mu.TryLock(); got[i] {
						section()
					}
				})
			}
			x.Go("t", func() {
				mu.Lock()
				section()
			})
			x.Wait()
			tell(fmt.Sprint(got))
		})
		require.Equal(t, set("[true true]", "[true false]", "[false true]", "[false false]"), got)
	})
}

func TestUnlockOfAnUnlockedMutexPanics(t *testing.T) {
	const message = "interleave: unlock of an unlocked mutex"
	passes(t, Options{}, func(x *Run) {
		var mu, used Mutex
		pass(&used)
		try := func() {
			x.Assert(Panics(mu.Unlock) == message, "of a new one")
			x.Assert(Panics(used.Unlock) == message, "of a used one")
		}
		try()
		x.Go("a", try)
		x.Wait()
		try()
	})
	f := fails(t, Panic, Options{}, alone(func() { new(Mutex).Unlock() }))
	require.Contains(t, f.Message, message)
}

func TestSignal(t *testing.T) {
	everywhere(t, func(t require.TestingT) {
		s := NewSignal(2)
		has := func(n int) {
			require.Len(t, s.Real, n)
			if current != nil {
				require.Equal(t, n > 0, s.Ready)
			}
		}
		s.TryReceive()
		s.Send()
		has(1)
		s.TrySend()
		s.TrySend() // no room
		has(2)
		s.Receive()
		has(1)
		s.TryReceive()
		s.TryReceive()
		has(0)
		s.TrySend()
		s.Receive()
		has(0)
		s.Send()
		Receive(s.C())
		Receive(func() <-chan struct{} { s.Send(); return s.C() }())
		has(0)
		s.Send()
		s.TryReceive()
		has(0)
		var none *Signal
		none.TrySend()
		none.TryReceive()
		none.Close()
		require.Nil(t, none.C())

		c := NewSignal(0)
		c.Close()
		for range 2 {
			c.Receive()
			Receive(c.C())
			Receive(model.Closed().C())
		}
	})
}

func TestClosedSignalWakesAll(t *testing.T) {
	everyMode(t, func(t *testing.T, o Options) {
		passes(t, o, func(x *Run) {
			s := NewSignal(0)
			var closed Int32
			for range 2 {
				x.Go("receiver", func() {
					s.Receive()
					x.Assert(closed.Load() == 1, "closed first")
					s.Receive()
				})
			}
			x.Go("closer", func() { closed.Store(1); s.Close() })
			x.Wait()
		})
	})
}

func TestSignalWaits(t *testing.T) {
	everyMode(t, func(t *testing.T, o Options) {
		passes(t, o, func(x *Run) {
			s := NewSignal(1)
			var sent Int32
			x.Go("sender", func() {
				sent.Add(1)
				s.Send()
			})
			x.Go("receiver", func() {
				Receive(s.C())
				x.Assert(sent.Load() == 1, "received before it was sent")
			})
			x.Wait()
		})
	})
	f := fails(t, Deadlock, Options{}, alone(func() { NewSignal(1).Receive() }))
	require.Contains(t, f.Message, "a waits to receive from")
}

func TestSendMustNotWait(t *testing.T) {
	f := fails(t, Assertion, Options{}, func(x *Run) {
		s := NewSignal(1)
		x.Go("a", s.Send)
		x.Go("b", s.Send)
		x.Go("c", s.Receive)
		x.Wait()
	})
	require.Equal(t, "a send that would block", f.Message)
}

func TestReceiveFromAForeignChannelPanics(t *testing.T) {
	f := fails(t, Panic, Options{}, alone(func() { Receive(make(chan struct{})) }))
	require.Contains(t, f.Message, "a channel that no signal has handed out")
	f = fails(t, Panic, Options{}, alone(func() { NewSignal(1).ReceiveOr(t.Context().Done()) }))
	require.Contains(t, f.Message, "a done channel of no context")
}

func TestReceiveOr(t *testing.T) {
	everyMode(t, func(t *testing.T, o Options) {
		run := func(send, cancel bool) map[string]bool {
			return outcomes(t, o, func(x *Run, tell func(string)) {
				s, ctx := NewSignal(1), x.NewContext()
				ok := false
				x.Go("waiter", func() { ok = s.ReceiveOr(ctx.Done()) })
				if send {
					x.Go("sender", s.Send)
				}
				if cancel {
					x.Go("canceller", ctx.Cancel)
				}
				x.Wait()
				tell(fmt.Sprint(ok, len(s.Real)))
			})
		}
		require.Equal(t, set("true 0"), run(true, false))
		require.Equal(t, set("false 0"), run(false, true))
		require.Equal(t, set("true 0", "false 1"), run(true, true))
	})
	f := fails(t, Deadlock, Options{}, func(x *Run) {
		x.Go("a", func() { NewSignal(1).ReceiveOr(x.NewContext().Done()) })
		x.Wait()
	})
	require.Contains(t, f.Message, "a waits to receive from")
}

func TestReceiveOrOfBothIsAChoice(t *testing.T) {
	everyMode(t, func(t *testing.T, o Options) {
		got := outcomes(t, o, func(x *Run, tell func(string)) {
			s, ctx := NewSignal(1), x.NewContext()
			s.Send()
			ctx.Cancel()
			x.Go("a", func() { tell(fmt.Sprint(s.ReceiveOr(ctx.Done()), len(s.Real))) })
			x.Wait()
		})
		require.Equal(t, set("true 0", "false 1"), got)
	})
}

func receiveWithin(s *Signal) bool { return explorer{current}.receiveWithin(s) }

func TestReceiveWithin(t *testing.T) {
	everyMode(t, func(t *testing.T, o Options) {
		got := outcomes(t, o, func(x *Run, tell func(string)) {
			s := NewSignal(1)
			ok := false
			x.Go("waiter", func() { ok = receiveWithin(s) })
			x.Go("sender", s.Send)
			x.Wait()
			tell(fmt.Sprint(ok, len(s.Real)))
		})
		require.Equal(t, set("true 0", "false 1"), got)
		// No thread sends: that is a timeout, not a deadlock.
		got = outcomes(t, o, func(x *Run, tell func(string)) {
			x.Go("waiter", func() { tell(fmt.Sprint(receiveWithin(NewSignal(1)))) })
			x.Wait()
		})
		require.Equal(t, set("false"), got)
		// A timeout rescues a thread that waits without one.
		passes(t, o, func(x *Run) {
			s := NewSignal(1)
			x.Go("waiter", func() {
				if !receiveWithin(NewSignal(1)) {
					s.Send()
				}
			})
			x.Go("other", s.Receive)
			x.Wait()
		})
		// But not all.
		_ = fails(t, Deadlock, o, func(x *Run) {
			x.Go("waiter", func() { receiveWithin(NewSignal(1)) })
			x.Go("other", func() { NewSignal(1).Receive() })
			x.Wait()
		})
	})
}

// Outside of threads nothing else runs.
func TestWaitingInTheBodyIsADeadlock(t *testing.T) {
	for name, wait := range map[string]func(x *Run, h *Thread){
		"Lock": func(*Run, *Thread) {
			var mu Mutex
			mu.Lock()
			mu.Lock()
		},
		"Receive":   func(*Run, *Thread) { NewSignal(1).Receive() },
		"ReceiveOr": func(x *Run, _ *Thread) { NewSignal(1).ReceiveOr(x.NewContext().Done()) },
		"Join":      func(_ *Run, h *Thread) { h.Join() },
	} {
		f := fails(t, Deadlock, Options{}, func(x *Run) { wait(x, x.Go("a", func() {})) })
		require.Equal(t, name+" outside of threads", f.Message)
		require.Empty(t, f.Schedule)
	}
	passes(t, Options{}, func(x *Run) {
		s, ctx := NewSignal(1), x.NewContext()
		h := x.Go("a", func() {})
		x.Assert(!receiveWithin(s), "the time passes")
		x.Wait()
		h.Join()
		ctx.Cancel()
		x.Assert(!s.ReceiveOr(ctx.Done()), "cancelled")
		s.Send()
		x.Assert(s.ReceiveOr(ctx.Done()) && !s.Ready, "received")
		s.Send()
		x.Assert(receiveWithin(s) && !s.Ready, "received")
	})
}

func TestPool(t *testing.T) {
	everywhere(t, func(t require.TestingT) {
		made := 0
		p := Pool{New: func() any { made++; return made }}
		require.Equal(t, 1, p.Get())
		require.Equal(t, 2, p.Get())
		if _, ok := t.(tester); !ok { // What the real one does, it does when it likes.
			return
		}
		p.Put(1)
		p.Put(2)
		require.Equal(t, 2, p.Get())
		require.Equal(t, 1, p.Get())
		require.Equal(t, 3, p.Get())
	})
	outside := Pool{New: func() any { return "new" }}
	outside.Put("old")
	require.Contains(t, []any{"old", "new"}, outside.Get())
	// Each thread has its own stock, and the body has one.
	r := passes(t, Options{}, func(x *Run) {
		p := Pool{New: func() any { return "new" }}
		p.Put("body")
		for i := range 2 {
			x.Go("t", func() {
				x.Assert(p.Get() == "new", "nothing to reuse")
				p.Put(i)
				x.Assert(p.Get() == i, "its own")
				p.Put(i)
			})
		}
		x.Wait()
		x.Assert(p.Get() == "body", "the body's")
		x.Assert(p.Get() == "new", "nothing left")
	})
	require.Equal(t, 1, r.Executions, "pools add no interleavings")
	// What is put in there stays there.
	p := Pool{New: func() any { return "new" }}
	passes(t, Options{}, alone(func() { p.Put("explored") }))
	require.Equal(t, "new", p.Get())
}

func TestContext(t *testing.T) {
	everyMode(t, func(t *testing.T, o Options) {
		got := outcomes(t, o, func(x *Run, tell func(string)) {
			ctx := x.NewContext()
			var _ context.Context = ctx
			x.Assert(ctx.Err() == nil && ctx.Value(1) == nil, "new")
			x.Go("canceller", ctx.Cancel)
			x.Go("watcher", func() {
				err := ctx.Err()
				x.Assert(err == nil || err == context.Canceled, "%v", err)
				ctx.AfterFunc(func() {}) // depends on done
				done := ctx.done.Ready
				tell(fmt.Sprint(err != nil, done))
				x.Assert(!done || ctx.Err() != nil, "done without an error")
			})
			x.Wait()
			x.Assert(ctx.Err() == context.Canceled && ctx.done.Ready, "done")
		})
		require.Equal(t, set("false false", "false true", "true false", "true true"), got)
	})
}

func TestAfterFunc(t *testing.T) {
	everyMode(t, func(t *testing.T, o Options) {
		passes(t, o, func(x *Run) {
			ctx := x.NewContext()
			var before, during Int32
			ctx.AfterFunc(func() { before.Add(1) })
			x.Go("canceller", ctx.Cancel)
			x.Go("registrar", func() {
				ctx.AfterFunc(func() {
					x.Assert(ctx.Err() != nil, "after Cancel")
					during.Add(1)
				})
			})
			x.Wait()
			x.Assert(before.Load() == 1 && during.Load() == 1, "each ran once")
		})
		// What is taken back is not called, unless it was called before.
		got := outcomes(t, o, func(x *Run, tell func(string)) {
			ctx := x.NewContext()
			var ran Int32
			stop := ctx.AfterFunc(func() { ran.Add(1) })
			x.Go("canceller", ctx.Cancel)
			stopped := false
			x.Go("stopper", func() { stopped = stop() })
			x.Wait()
			x.Assert(!stop(), "stopped twice")
			tell(fmt.Sprint(stopped, ran.Load()))
		})
		require.Equal(t, set("true 0", "false 1"), got)
		// A context that was cancelled in the body.
		passes(t, o, func(x *Run) {
			ctx := x.NewContext()
			n, m := 0, 0
			ctx.AfterFunc(func() { n++ })
			ctx.Cancel()
			ctx.Cancel()
			ctx.AfterFunc(func() { m++ })
			x.Assert(n == 0 && m == 0, "threads of their own")
			x.Wait()
			x.Assert(n == 1 && m == 1, "each ran once")
		})
		passes(t, o, func(x *Run) {
			ctx := x.NewContext()
			ctx.AfterFunc(func() { x.Fail("not cancelled") })
			x.Go("a", func() {})
			x.Wait()
		})
	})
}

func TestDoneChannelsAreTheSameInEveryExecution(t *testing.T) {
	var first, second <-chan struct{}
	passes(t, Options{}, func(x *Run) {
		a, b := x.NewContext(), x.NewContext()
		if first == nil {
			first, second = a.Done(), b.Done()
		}
		x.Assert(a.Done() == first && b.Done() == second && first != second, "addresses vary")
		x.Assert(!a.Watchable, "only if asked for")
		x.Go("a", func() { Choose(2) })
		x.Wait()
	})
}
