package capacitor

import (
	"context"
	"reflect"
	"sync"

	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A Wrapped is a lock of type L behind a [Gate]. No more than a platoon of goroutines wait for L at
// a time, and the next platoon follows when all of them have had it. So a Wrapped has bounded
// fairness even if L has none, and is faster than L if L suffers from many waiters. It implements
// [sync.Locker].
//
// The bound depends on the policy:
//
//	policy                  an arrival is overtaken by at most
//	none, the paper's       B − 1 of those who come later
//	[WithExpress](q)        (⌈(p+1)/B⌉ + 1) · q + B − 1, with p before it at the gate
//	[WhenContended]         B − 1
//	[WithBypass](p)         any number; there is no bound
//
// The zero Wrapped is not ready: Wrap makes one.
//
// Source: Dice and Kogan, Capacitors.
type Wrapped[L sync.Locker] struct {
	_ noCopy

	inner L
	made  bool // by Wrap
	gate  Gate
	opts  options

	try     func() bool                     // the inner lock's TryLock; nil: it has none
	locksIf func(ctx context.Context) error // its LockContext; nil: it has none

	// Invariants:
	//
	//  1. A goroutine that has passed the gate departs, once, after it has unlocked the inner lock
	//     or given up. (TestModelWrapped)
	//  2. passed, guarded by the inner lock, says whether the holder has. (TestModelWrapped)
	//  3. A goroutine that waits for the inner lock by its TryLock adds itself to trying before it
	//     tries. An unlock of the inner lock reads trying afterwards, and signals. So a signal
	//     follows each failed try. (TestModelWrappedTries)
	passed bool
	trying xsync.Int64
}

// Wrap returns inner behind a gate with platoons of b. No other goroutine may lock inner. It panics
// if b is not one for [NewGate], inner or an option is nil, or an option needs a TryLock that inner
// does not have.
func Wrap[L sync.Locker](inner L, b int64, opts ...Option) *Wrapped[L] {
	if v := reflect.ValueOf(inner); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		panic("capacitor: Wrap of a nil lock")
	}
	w := &Wrapped[L]{inner: inner, made: true, opts: chosen(opts)}
	if l, ok := any(inner).(interface{ TryLock() bool }); ok {
		w.try = l.TryLock
	}
	if l, ok := any(inner).(interface {
		LockContext(ctx context.Context) error
	}); ok {
		w.locksIf = l.LockContext
	}
	if w.try == nil && (w.opts.express > 0 || w.opts.contended) {
		panic("capacitor: the lock has no TryLock")
	}
	w.gate.init(b, &w.opts)
	return w
}

// Gate returns the gate, for its Platoon and Population.
func (w *Wrapped[L]) Gate() *Gate { return &w.gate }

// Lock locks w, and waits for it if need be. Nothing ends the wait early. It allocates what the
// inner lock does.
func (w *Wrapped[L]) Lock() {
	w.check()
	if w.goPast() {
		return
	}
	_ = w.gate.Arrive(context.Background()) // which is never done
	locked := false
	defer func() { w.departUnless(locked) }()
	w.inner.Lock()
	w.passed, locked = true, true
}

// departUnless is called at the end by a goroutine that has passed the gate: it departs unless it
// has locked the inner lock, which may have panicked.
func (w *Wrapped[L]) departUnless(locked bool) {
	if !locked {
		w.gate.Depart()
	}
}

func (w *Wrapped[L]) check() {
	if !w.made {
		panic("capacitor: Wrapped that Wrap has not made")
	}
}

// goPast locks w without the gate if the policy allows it, and nothing is in the way.
func (w *Wrapped[L]) goPast() bool {
	if w.tryPast() {
		return true
	}
	if w.skips() {
		w.inner.Lock()
		w.passed = false
		return true
	}
	return false
}

// tryPast is goPast for policies that try.
func (w *Wrapped[L]) tryPast() bool {
	switch {
	case w.gate.places.Load() > 0 && w.try():
		if w.gate.places.Load() <= 0 { // the last place has gone meanwhile
			w.unlockInner()
			return false
		}
		w.gate.places.Add(-1)
	case w.opts.contended && w.gate.isIdle() && w.try():
	default:
		return false
	}
	w.passed = false
	return true
}

// skips makes the trial of a fractional bypass.
func (w *Wrapped[L]) skips() bool { return w.opts.bypass > 0 && xsync.Chance(w.opts.bypass) }

// Unlock unlocks w. If it is not locked it does what the inner lock does: ours panic, sync.Mutex
// ends the program. An unlock too many that comes while others lock may unlock for them, and leave
// the gate with one too many or too few inside.
func (w *Wrapped[L]) Unlock() {
	w.check()
	passed := w.passed
	w.unlockInner()
	if passed {
		w.gate.Depart()
	}
}

// unlockInner unlocks the inner lock, and wakes the goroutines that wait to try it.
func (w *Wrapped[L]) unlockInner() {
	w.inner.Unlock()
	if w.trying.Load() != 0 {
		parking.Default().Signal(w.key())
	}
}

func (w *Wrapped[L]) key() parking.Key { return parking.Key{Object: w, Hash: xsync.Address(w)} }

// TryLock locks w if it is free, and reports whether it did. It does not if the gate is closed. It
// panics if the inner lock has no TryLock.
func (w *Wrapped[L]) TryLock() bool {
	w.check()
	if w.try == nil {
		panic("capacitor: the lock has no TryLock")
	}
	switch {
	case w.tryPast():
		return true
	case w.skips():
		if !w.try() {
			return false
		}
		w.passed = false
		return true
	case !w.gate.TryArrive():
		return false
	}
	locked := false
	defer func() { w.departUnless(locked) }()
	if locked = w.try(); locked {
		w.passed = true
	}
	return locked
}

// LockContext is Lock, but gives up when ctx is done and returns ctx.Err(), at the gate and behind
// it.
//
// Behind the gate it waits by the inner lock's LockContext(ctx) error, if it has one. Otherwise it
// tries the inner lock whenever w is unlocked, and sleeps in between: TryLock must fail only while
// a goroutine has the lock, or is about to get it. If there is no TryLock either, LockContext
// panics, unless no goroutine ever waits behind the gate: with platoons of one and without
// [WithBypass].
func (w *Wrapped[L]) LockContext(ctx context.Context) error {
	w.check()
	switch {
	case ctx == nil:
		panic("capacitor: nil context")
	case w.locksIf == nil && w.try == nil && (w.gate.Size() > 1 || w.opts.bypass > 0):
		panic("capacitor: LockContext needs a lock with a LockContext or a TryLock")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.tryPast() {
		return w.keep(ctx)
	}
	passes := !w.skips()
	if passes {
		if err := w.gate.Arrive(ctx); err != nil {
			return err
		}
	}
	locked := !passes
	defer func() { w.departUnless(locked) }()
	if err := w.lockInner(ctx); err != nil {
		return err
	}
	w.passed, locked = passes, true
	return w.keep(ctx)
}

// lockInner locks the inner lock, unless ctx is done first.
func (w *Wrapped[L]) lockInner(ctx context.Context) error {
	switch {
	case w.locksIf != nil:
		return w.locksIf(ctx)
	case w.try != nil && ctx.Done() != nil:
		return w.tryUntil(ctx)
	}
	w.inner.Lock() // nothing ends the wait, or there is none
	return nil
}

// tryUntil locks the inner lock by its TryLock, unless ctx is done first. It asks whenever a
// goroutine has unlocked it.
func (w *Wrapped[L]) tryUntil(ctx context.Context) error {
	until := waiting.UntilDone(ctx)
	w.trying.Add(1)
	defer w.trying.Add(-1)
	t, k := parking.Default(), w.key()
	for { // A retry follows others inside, or a bypass of the gate.
		seq := t.Sequence(k)
		if w.try() {
			return nil
		}
		if err := t.Await(until, k, seq); err != nil {
			return err
		}
	}
}

// keep is for w, which has just been locked. It returns nil, or, if ctx has ended, perhaps before,
// unlocks w.
func (w *Wrapped[L]) keep(ctx context.Context) error { return waiting.Keep(ctx, taken[L]{w}, 1) }

// taken unlocks a lock that was taken, for [waiting.Keep].
type taken[L sync.Locker] struct{ w *Wrapped[L] }

func (t taken[L]) GiveBack(int64) bool {
	t.w.Unlock()
	return true
}

// Waiting returns how many wait at the gate, and behind it with a context or if the inner lock has
// a Waiting() int. It is meant for tests and statistics.
func (w *Wrapped[L]) Waiting() int {
	w.check()
	n := w.gate.Waiting() + int(w.trying.Load())
	if l, ok := any(w.inner).(interface{ Waiting() int }); ok {
		n += l.Waiting()
	}
	return n
}
