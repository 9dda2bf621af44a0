//go:build interleave

package mutextest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/waiter"
)

// A world is a mutex under exploration, and what it protects.
type world struct {
	*interleave.Run
	k       kind
	m       Small
	holders interleave.Int32
	panics  interleave.Int32 // of unlocks
	tooMany int32            // unlocks there are more than locks
	ended   bool             // the context has ended while a goroutine held the mutex, which guards it
}

// alone returns a new mutex when no goroutine sleeps anywhere: executions that were given up have
// left their sleepers in the table.
func (k kind) alone() Small {
	*parking.Default() = *parking.New(1)
	return k.mutex()
}

// use goes in and out, if the mutex has been locked, and unlocks it.
func (w *world) use(locked bool) {
	if locked {
		w.Assert(w.holders.Add(1) == 1, "two inside")
		w.holders.Add(-1)
		w.m.Unlock()
	}
}

func (w *world) lock()    { w.m.Lock(); w.use(true) }
func (w *world) try()     { w.use(w.m.TryLock()) }
func (w *world) timeout() { w.use(w.m.(Mutex).LockTimeout(time.Second)) }

func (w *world) within(ctx context.Context) {
	err := w.m.LockContext(ctx)
	w.Assert(err == nil || err == ctx.Err(), "not the context's error: %v", err) //nolint:errorlint // that very error
	w.use(err == nil)
}

// unlock unlocks what may not be locked.
func (w *world) unlock() {
	if p := interleave.Panics(w.m.Unlock); p != nil {
		w.Assert(!strings.Contains(fmt.Sprint(p), "lost"), "noticed too late: %v", p)
		w.panics.Add(1)
	}
}

func (w *world) future() *waiter.Future { return w.k.request(w.m) }

// bind begins the next round of f.
func (w *world) bind(f *waiter.Future) { w.k.bind(w.m, f) }

func (w *world) task() *semtest.Task { return semtest.NewTask(w.Run) }

// polled waits for f by polling, with another waker each time.
func (w *world) polled(f *waiter.Future) {
	for t := w.task(); !f.Poll(t); t = w.task() {
		t.Sleep()
	}
	w.use(f.Take() == nil)
}

// received waits for f by its channel.
func (w *world) received(f *waiter.Future) {
	interleave.Receive(f.Done())
	w.Assert(f.Take() == nil, "not locked")
	w.use(true)
}

// dropped polls f and gives it up, even if it is complete: something else was quicker.
func (w *world) dropped(f *waiter.Future) {
	f.Poll(w.task())
	f.Release()
}

// states are the states that begun knows. In the last the mutex is the owner's to unlock.
const states = 6

// begun brings f into one of the states.
func (w *world) begun(f *waiter.Future, state int) {
	switch state {
	case 0: // only bound
	case 1:
		f.Poll(w.task())
	case 2:
		f.Done()
	default:
		interleave.Receive(f.Done())
		w.Assert(w.holders.Add(1) == 1, "two inside")
		switch state {
		case 4:
			w.Assert(f.Err() == nil, "not locked")
		case 5:
			w.Assert(f.Take() == nil, "not locked")
		default:
		}
		w.holders.Add(-1)
	}
}

type scenario struct {
	name  string
	large bool // not for -short, and under a bound
	slow  bool // not for -short, if there is no bound
	body  func(w *world)
}

// What every mutex promises; with timeouts also what follows.
var smallScenarios = []scenario{
	{name: "lock/2x2", body: func(w *world) { w.Same(2, "t", func(int) { w.lock(); w.lock() }) }},
	{name: "lock/3x1", body: func(w *world) { w.Same(3, "t", func(int) { w.lock() }) }},
	{name: "lock/4x1", large: true, body: func(w *world) { w.Same(4, "t", func(int) { w.lock() }) }},
	{name: "lock/3x2", large: true, body: func(w *world) { w.Same(3, "t", func(int) { w.lock(); w.lock() }) }},
	{name: "try", body: func(w *world) {
		w.Same(2, "locker", func(int) { w.lock() })
		w.Go("trier", w.try)
	}},
	{name: "try/2", body: func(w *world) {
		w.Go("locker", w.lock)
		w.Same(2, "trier", func(int) { w.try() })
	}},
	{name: "context", body: func(w *world) {
		ctx := w.NewContext()
		w.Go("locker", w.lock)
		w.Go("waiter", func() { w.within(ctx) })
		w.Go("canceller", ctx.Cancel)
	}},
	// What a waiter gets that has given up goes to the next one: here a wake-up that finds it
	// cancelled.
	{name: "context/wake passed on", body: func(w *world) {
		ctx := w.NewContext()
		w.m.Lock()
		w.Go("locker", w.lock)
		w.Go("waiter", func() { w.within(ctx) })
		w.Go("holder", func() { ctx.Cancel(); w.m.Unlock() })
	}},
	// So does a lock that is handed over to a waiter after failed wake-ups.
	{name: "context/lock handed over", body: func(w *world) {
		ctx := w.NewContext()
		w.m.Lock()
		w.Go("waiter", func() { w.within(ctx) })
		w.Go("holder", func() { w.m.Unlock(); w.m.Lock(); ctx.Cancel(); w.m.Unlock() })
	}},
	{name: "context/cancel before unlock", body: func(w *world) {
		ctx := w.NewContext()
		w.Go("holder", func() {
			w.m.Lock()
			ctx.Cancel()
			w.ended = true
			w.m.Unlock()
		})
		w.Go("waiter", func() {
			if w.m.LockContext(ctx) == nil {
				w.Assert(!w.ended, "locked, though the context had ended before the unlock")
				w.use(true)
			}
		})
	}},
	// Whatever a context of a foreign type says, it loses no wake: a lock without an error is
	// a lock.
	{name: "foreign context/no error", body: func(w *world) { w.foreign(0) }},
	{name: "foreign context/error after closing", body: func(w *world) { w.foreign(1) }},
	{name: "foreign context/error and no end", body: func(w *world) { w.foreign(2) }},
	{name: "foreign context/error for a time", body: func(w *world) { w.foreign(3) }},
	{name: "foreign context/error taken back", body: func(w *world) { w.foreign(4) }},
	{name: "context among three", large: true, body: func(w *world) {
		ctx := w.NewContext()
		w.Same(2, "locker", func(int) { w.lock() })
		w.Go("waiter", func() { w.within(ctx) })
		w.Go("canceller", ctx.Cancel)
	}},
	{name: "double unlock", body: func(w *world) { w.unlocks(2) }},
	{name: "triple unlock", body: func(w *world) { w.unlocks(3) }},
}

// foreign waits with a foreign context that ends in one of the ways.
func (w *world) foreign(way int) {
	c := semtest.NewForeign(w.Run)
	w.m.Lock()
	w.Go("waiter", func() {
		err := w.m.LockContext(c)
		w.Assert(err == nil || err == semtest.ErrForeign || err == context.Canceled,
			"the error is %v", err) //nolint:errorlint // that very error
		w.use(err == nil)
	})
	w.Go("holder", w.m.Unlock)
	w.Go("canceller", func() { semtest.ForeignEnds[way].End(c) })
}

// unlocks unlocks n times what was locked once.
func (w *world) unlocks(n int) {
	w.m.Lock()
	w.tooMany = int32(n - 1)
	w.Same(n, "unlocker", func(int) { w.unlock() })
}

var timedScenarios = []scenario{
	{name: "timeout", body: func(w *world) {
		w.Go("locker", w.lock)
		w.Same(2, "hasty", func(int) { w.timeout() })
	}},
	{name: "timeout among three", large: true, body: func(w *world) {
		w.Same(2, "locker", func(int) { w.lock() })
		w.Go("hasty", w.timeout)
	}},
}

// What only mutexes with futures have, or promise.
var futureScenarios = []scenario{
	// An unlock too many may let two in. Then it panics, or another unlock does.
	{name: "unlock beside locks", body: func(w *world) {
		w.tooMany = 1
		w.Same(2, "locker", func(int) { w.m.Lock(); w.unlock() })
		w.Go("unlocker", w.unlock)
	}},
	{name: "future/done", body: func(w *world) {
		w.Go("locker", w.lock)
		w.Go("selector", func() { f := w.future(); w.received(f); w.bind(f); w.received(f) })
	}},
	{name: "future/poll", body: func(w *world) {
		w.Go("locker", w.lock)
		w.Go("task", func() { f := w.future(); w.polled(f); w.bind(f); w.polled(f) })
	}},
	{name: "future/done after poll", body: func(w *world) {
		w.Go("locker", w.lock)
		w.Go("task", func() {
			f, t := w.future(), w.task()
			if !f.Poll(t) {
				f.Done()
				t.Sleep() // Done does not lose the waker
			}
			w.received(f)
		})
	}},
	// Any goroutine may ask whether a future is complete. The answer is no until the lock was free.
	{name: "future/asked", body: func(w *world) {
		var free interleave.Bool
		w.m.Lock()
		f := w.future()
		w.Go("holder", func() { free.Store(true); w.m.Unlock() })
		w.Go("task", func() {
			for t := w.task(); !f.Poll(t); t = w.task() {
				t.Sleep()
			}
			w.Assert(f.Err() == nil && f.Complete(), "looked at, and not complete")
			f.Release()
		})
		w.Go("observer", func() {
			if f.Complete() {
				w.Assert(free.Load(), "complete while the lock is held")
			}
		})
	}},
	// Release ends a future in every state, and a second one does nothing.
	{name: "future/released", slow: true, body: func(w *world) {
		w.Go("locker", func() { w.lock(); w.lock() })
		w.Go("owner", func() {
			f := w.future()
			state := interleave.Choose(states)
			w.begun(f, state)
			f.Release()
			w.Assert(!f.Complete(), "complete after its release")
			f.Release()
			if state == states-1 {
				w.m.Unlock()
			}
			w.bind(f)
			w.polled(f)
		})
	}},
	{name: "future/drop", body: func(w *world) {
		w.Go("locker", func() { w.lock(); w.lock() })
		w.Go("loser", func() { f := w.future(); w.dropped(f); f.Release() })
	}},
	{name: "future/drop and bind", body: func(w *world) {
		w.Go("locker", w.lock)
		w.Go("loser", func() { f := w.future(); w.dropped(f); w.bind(f); w.polled(f) })
	}},
	{name: "future/drop and done", body: func(w *world) {
		w.Go("locker", w.lock)
		w.Go("loser", func() { f := w.future(); f.Done(); f.Release(); w.bind(f); w.received(f) })
	}},
	// Bind refuses what has not ended, and changes nothing.
	{name: "future/bind in every state", slow: true, body: func(w *world) {
		w.Go("locker", w.lock)
		w.Go("owner", func() {
			f, state := w.future(), interleave.Choose(states)
			w.begun(f, state)
			p := interleave.Panics(func() { w.bind(f) })
			w.Assert((p == nil) == (state == 0 || state == states-1), "Bind of state %d: %v", state, p)
			if state == states-1 {
				w.m.Unlock()
			}
			f.Release()
			w.bind(f)
			w.polled(f)
		})
	}},
	{name: "future/unlocked by the mutex", body: func(w *world) {
		w.Go("locker", w.lock)
		w.Go("owner", func() {
			f := w.future()
			w.received(f)
			f.Release()
			w.bind(f)
			w.dropped(f)
		})
	}},
	// The last waker is woken, whatever was polled with before, and the channel is closed.
	{name: "future/wakers that change", body: func(w *world) {
		w.Go("locker", w.lock)
		w.Go("task", func() {
			f, old, last := w.future(), w.task(), w.task()
			if !f.Poll(old) && !f.Poll(nil) {
				f.Done()
				if !f.Poll(last) {
					last.Sleep()
				}
			}
			w.received(f)
		})
	}},
	{name: "future/asked while it is dropped and begun again", slow: true, body: func(w *world) {
		f := w.future()
		w.Go("locker", w.lock)
		w.Go("owner", func() { w.dropped(f); w.bind(f); w.polled(f) })
		w.Go("observer", func() { f.Complete(); f.Complete() })
	}},
	// A waker may release what it is woken for, give up another request, and try the mutex: inside
	// the unlock that has woken it.
	{name: "future/released by its waker", body: func(w *world) {
		w.m.Lock()
		first, second := w.future(), w.future()
		w.Assert(!first.Poll(waiter.WakerFunc(func() {
			w.Assert(first.Complete() && !w.m.TryLock(), "woken, and not locked")
			if interleave.Choose(2) == 1 {
				second.Release()
			}
			first.Release()
		})), "locked")
		w.Assert(!second.Poll(waiter.WakerFunc(second.Release)), "locked")
		w.Go("locker", w.lock)
		w.Go("holder", w.m.Unlock)
	}},
	{name: "future/drop against timeout", large: true, body: func(w *world) {
		w.Go("locker", w.lock)
		w.Go("hasty", w.timeout)
		w.Go("loser", func() { w.dropped(w.future()) })
	}},
	{name: "future/all", large: true, body: func(w *world) {
		w.Go("locker", w.lock)
		w.Go("selector", func() { w.received(w.future()) })
		w.Go("loser", func() { w.dropped(w.future()) })
	}},
	{name: "future/polls", large: true, body: func(w *world) { w.Same(3, "task", func(int) { w.polled(w.future()) }) }},
}

// RunModel explores mutexes of type M, and their futures: every way to wait and to give
// up, at every point. No goroutine sleeps for ever, never are two inside, and in the end the lock
// is free. The known scenarios are skipped.
func RunModel[M any, PM mutexOf[M]](t *testing.T, known ...Known) {
	t.Helper()
	for _, s := range slices.Concat(smallScenarios, timedScenarios, futureScenarios) {
		t.Run(s.name, func(t *testing.T) {
			locktest.SkipKnown(t, s.name, known)
			s.check(t, kindOf[M, PM](), Subject{})
		})
	}
}

// RunModelOf is RunModel on mutexes that of.New makes, which are of type M.
func RunModelOf[M any, PM mutexOf[M]](t *testing.T, of Subject, known ...Known) {
	t.Helper()
	k := kindOf[M, PM]()
	k.mutex = of.New
	for _, s := range slices.Concat(smallScenarios, timedScenarios, futureScenarios) {
		t.Run(s.name, func(t *testing.T) {
			locktest.SkipKnown(t, s.name, known)
			s.check(t, k, of)
		})
	}
}

// A Subject is what RunSmallModel explores.
type Subject struct {
	New    func() Small
	Bound  int                              // preemptions; 0: none, but for the large scenarios
	Beside func(m Small)                    // what one more thread does meanwhile; nil: nothing
	After  func(x *interleave.Run, m Small) // what must then be so; nil: nothing more
}

// RunSmallModel explores what RunSmall tests.
func RunSmallModel(t *testing.T, of Subject) {
	t.Helper()
	k, list := kind{mutex: of.New}, smallScenarios
	if k.timed() {
		list = slices.Concat(list, timedScenarios)
	}
	for _, s := range list {
		t.Run(s.name, func(t *testing.T) { s.check(t, k, of) })
	}
}

// options returns how far to search; a large search is for tier two, and bounded.
func (of Subject) options(t *testing.T, s scenario) interleave.Options {
	t.Helper()
	bound := of.Bound
	if (s.large || s.slow && bound == 0) && (testing.Short() || interleave.RaceEnabled) {
		t.Skip("tier two")
	}
	if s.large {
		bound = cmp.Or(bound, 3)
	}
	if bound > 0 {
		return interleave.Options{Mode: interleave.Bounded, Bound: bound}
	}
	return interleave.Options{}
}

func (s scenario) check(t *testing.T, k kind, of Subject) {
	t.Helper()
	o := of.options(t, s)
	interleave.Check(t, o, func(x *interleave.Run) {
		w := &world{Run: x, k: k, m: k.alone()}
		x.Name("m", w.m)
		s.body(w)
		if of.Beside != nil {
			x.Go("beside", func() { of.Beside(w.m) })
		}
		x.Wait()
		x.Assert(w.panics.Load() == w.tooMany, "%d unlocks panicked, %d were too many", w.panics.Load(), w.tooMany)
		x.Assert(w.m.Waiting() == 0, "a goroutine still waits")
		x.Assert(w.m.TryLock(), "the lock was lost")
		x.Assert(!w.m.TryLock(), "two locks were made of one")
		w.m.Unlock()
		if of.After != nil {
			of.After(x, w.m)
		}
	})
}
