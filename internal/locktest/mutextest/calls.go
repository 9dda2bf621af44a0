//go:build interleave

package mutextest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/spec"
)

// A lock that promises no order is, as a sequential program, a word that says who holds it.

// A word is the state of a lock, of the pointer in its word, if there is one, and of the context.
type word struct {
	by        holder
	points    int // to the cell of this number
	cancelled bool
}

type holder uint8

const (
	nobody holder = iota
	somebody
	quitter // a caller that was handed the lock after giving up, and unlocks it
)

func (w *word) change(from, to holder) bool {
	if w.by != from {
		return false
	}
	w.by = to
	return true
}

func locked(w *word) bool   { return w.change(nobody, somebody) }
func refused(w *word) bool  { return w.by != nobody }
func unlocked(w *word) bool { return w.change(somebody, nobody) }
func panicked(w *word) bool { return w.by == nobody }
func inTime(w *word) bool   { return !w.cancelled && locked(w) }
func tooLate(w *word) bool  { return w.cancelled }
func cancel(w *word) bool   { w.cancelled = true; return true }
func lent(w *word) bool     { return w.change(nobody, quitter) }
func returned(w *word) bool { return w.change(quitter, nobody) }

// A pointer is a lock that shares its word with a pointer. One is independent of the other.
type pointer interface {
	Small
	Load() *int64
	Store(v *int64)
}

var cells [3]int64 // a pointer to the first is written as nil

func cell(i int) *int64 {
	if i == 0 {
		return nil
	}
	return &cells[i]
}

type call = spec.Call[word]

// A caller is a thread of a history, and what it has done.
type caller struct {
	x       *interleave.Run
	m       Small
	id      int
	ctx     *interleave.Context
	calls   []call
	perhaps [][]call
}

// do records the call that f makes, with the step that f returns.
func (c *caller) do(f func() (name string, step func(*word) bool)) {
	began := c.x.Invoke()
	name, step := f()
	end := c.x.Respond()
	if step != nil {
		c.calls = append(c.calls, call{Client: c.id, Name: name, Call: began, Return: end, Step: step})
		return
	}
	// It has given up, after the context had ended. It may have been handed the lock all the same,
	// and have unlocked it.
	c.calls = append(c.calls, call{Client: c.id, Name: name, Call: began, Return: end, Step: tooLate})
	c.perhaps = append(c.perhaps, []call{
		{Client: c.id, Name: name + ", handed the lock", Call: began, Return: end, Step: lent},
		{Client: c.id, Name: name + ", unlocked it", Call: began, Return: end, Step: returned},
	})
}

func (c *caller) unlock() {
	c.do(func() (string, func(*word) bool) {
		if interleave.Panics(c.m.Unlock) != nil {
			return "Unlock panics", panicked
		}
		return "Unlock", unlocked
	})
}

func (c *caller) lockAnd(then func()) {
	c.do(func() (string, func(*word) bool) { c.m.Lock(); return "Lock", locked })
	then()
	c.unlock()
}

func (c *caller) lock() { c.lockAnd(func() {}) }

func (c *caller) try() {
	got := false
	c.do(func() (string, func(*word) bool) {
		if got = c.m.TryLock(); got {
			return "TryLock() = true", locked
		}
		return "TryLock() = false", refused
	})
	if got {
		c.unlock()
	}
}

func (c *caller) within() {
	var err error
	c.do(func() (string, func(*word) bool) {
		if err = c.m.LockContext(c.ctx); err == nil {
			return "LockContext() = nil", inTime
		}
		c.x.Assert(err == c.ctx.Err(), "not the context's error: %v", err) //nolint:errorlint // that very error
		return "LockContext() = error", nil
	})
	if err == nil {
		c.unlock()
	}
}

func (c *caller) cancel() {
	c.do(func() (string, func(*word) bool) { c.ctx.Cancel(); return "cancel", cancel })
}

func (c *caller) store(i int) {
	c.do(func() (string, func(*word) bool) {
		c.m.(pointer).Store(cell(i))
		return fmt.Sprintf("Store(%d)", i), func(w *word) bool { w.points = i; return true }
	})
}

func (c *caller) load() {
	c.do(func() (string, func(*word) bool) {
		v, i := c.m.(pointer).Load(), 0
		for v != cell(i) {
			i++ // panics if it is none that was stored
		}
		return fmt.Sprintf("Load() = %d", i), func(w *word) bool { return w.points == i }
	})
}

// A smallHistory is a scenario whose calls and returns are recorded.
type smallHistory struct {
	name    string
	large   bool // not for -short, and under a bound
	cancel  bool // one more caller cancels the context
	callers []func(*caller)
}

func callers(fs ...func(*caller)) []func(*caller) { return fs }

func lockTwice(c *caller) { c.lock(); c.lock() }

var smallHistories = []smallHistory{
	{name: "lock", callers: callers((*caller).lock, (*caller).lock)},
	{name: "lock twice", callers: callers(lockTwice, (*caller).lock)},
	{name: "lock twice/both", large: true, callers: callers(lockTwice, lockTwice)},
	{name: "lock/3", large: true, callers: callers((*caller).lock, (*caller).lock, (*caller).lock)},
	{name: "try", callers: callers(lockTwice, (*caller).try)},
	{name: "try twice", callers: callers((*caller).lock, func(c *caller) { c.try(); c.try() })},
	{name: "try/3", large: true, callers: callers((*caller).lock, (*caller).lock, (*caller).try)},
	{name: "cancel", cancel: true, callers: callers((*caller).lock, (*caller).within)},
	{name: "cancel/3", large: true, cancel: true, callers: callers((*caller).lock, (*caller).lock, (*caller).within)},
	{
		name:    "cancel/try",
		large:   true,
		cancel:  true,
		callers: callers(func(c *caller) { c.lock(); c.try() }, (*caller).within),
	},
	// A lock that is handed to a waiter that has given up is held until the waiter unlocks it. A
	// try may see that.
	{name: "cancel/handed", callers: callers(
		func(c *caller) { c.lock(); c.lockAnd(c.cancel); c.try() }, (*caller).within)},
	// A caller that begins while the lock is free must not take it when it is unlocked after the
	// cancel.
	{name: "cancel/before unlock", callers: callers(
		func(c *caller) { c.lockAnd(c.cancel) }, (*caller).within)},
	{name: "cancel/before unlock/3", large: true, callers: callers(
		func(c *caller) { c.lockAnd(c.cancel) }, (*caller).within, (*caller).lock)},
	{name: "unlock too many", callers: callers((*caller).lock, (*caller).unlock)},
	{name: "unlock too many/3", large: true, callers: callers((*caller).lock, (*caller).lock, (*caller).unlock)},
}

var pointerHistories = []smallHistory{
	{name: "store", callers: callers(
		func(c *caller) { c.store(1); c.store(2) }, func(c *caller) { c.load(); c.load() })},
	{name: "store nil", callers: callers(
		func(c *caller) { c.store(1); c.store(0); c.load() }, func(c *caller) { c.lockAnd(c.load) })},
	{name: "store beside a lock", callers: callers(
		func(c *caller) { c.store(1); c.load() }, func(c *caller) { c.lockAnd(c.load); c.try() })},
	{name: "store with the lock", callers: callers(
		func(c *caller) { c.lockAnd(func() { c.load(); c.store(1) }) },
		func(c *caller) { c.lockAnd(func() { c.load(); c.store(2) }) },
	)},
	{name: "store beside sleepers", large: true, callers: callers(
		(*caller).lock, (*caller).lock, func(c *caller) { c.store(1); c.load() })},
	{name: "store beside a cancel", large: true, cancel: true, callers: callers(
		(*caller).lock, (*caller).within, func(c *caller) { c.store(1) })},
}

// RunSmallHistories checks every history of the explorer against a lock with one holder at a time
// and no order: a try fails only while it is held, an unlock panics only while it is not. The
// pointer of a lock, if it has one, is a register.
func RunSmallHistories(t *testing.T, of Subject) {
	t.Helper()
	k := kind{mutex: of.New}
	list := smallHistories
	if _, ok := k.mutex().(pointer); ok {
		list = slices.Concat(list, pointerHistories)
	}
	for _, h := range list {
		t.Run(h.name, func(t *testing.T) { h.check(t, k, of) })
	}
}

func (h smallHistory) check(t *testing.T, k kind, of Subject) {
	t.Helper()
	o := of.options(t, scenario{large: h.large})
	judge := spec.NewMachine[word]()
	interleave.Check(t, o, func(x *interleave.Run) {
		m, ctx := k.alone(), x.NewContext()
		x.Name("m", m)
		cs := make([]caller, len(h.callers))
		for i, f := range h.callers {
			cs[i] = caller{x: x, m: m, id: i, ctx: ctx}
			x.Go("caller"+string(rune('1'+i)), func() { f(&cs[i]) })
		}
		canceller := caller{x: x, id: len(cs), ctx: ctx}
		if h.cancel {
			x.Go("canceller", canceller.cancel)
		}
		if of.Beside != nil {
			x.Go("beside", func() { of.Beside(m) })
		}
		x.Wait()
		calls, perhaps := canceller.calls, [][]call(nil)
		for i := range cs {
			calls, perhaps = append(calls, cs[i].calls...), append(perhaps, cs[i].perhaps...)
		}
		if !judge.Linearizable(calls, perhaps...) {
			x.Fail("not linearizable:\n%v", spec.DescribeCalls(slices.Concat(append(perhaps, calls)...)))
		}
	})
	t.Logf("%d different histories", judge.Judged())
}
