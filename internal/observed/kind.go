package observed

import (
	"runtime"
	"weak"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// Numbers are the state of a lock, each a value that it had at about the same time. What has no
// limit has a size of zero, and less than zero is free.
type Numbers struct {
	Size, Free int64
	Waiting    int
	Passed     int64 // acquisitions that the lock has counted and not reported yet: see [Record].Renewed
	Elsewhere  int64 // of a lock of a fleet: permits that other processes may have
}

// Held returns how many permits this process holds.
func (n Numbers) Held() int64 { return n.Size - n.Free - n.Elsewhere }

// About says what the locks of a kind have in common.
type About struct {
	Name  string // such as "mutex.Mutex"
	Owned bool   // who acquires also releases

	// Few kinds have these. Inside returns the lock that x, which is none of the kind, has inside,
	// or nil: a wrapper may have type parameters. NameOf returns the name of a lock unless Watch
	// gives another. Fleet returns what is known of the processes that share it: a *hook.Fleet.
	Inside func(x any) (lock any)
	NameOf func(lock any) string
	Fleet  func(lock any) any

	Returns bool // see [Kind.Returning]
	Keys    bool // see [Kind.Keyed]
}

// A Kind is a type of locks that can be observed, *T.
type Kind[T any] struct {
	About
	observe func(lock *T, on bool) // sets or clears the bit O
	numbers func(lock *T) Numbers

	giveBack func(lock *T, n int64) // nil: a handle does not say what to return
	ofKey    func(lock *T, hash uint64) (Numbers, bool)
}

// Register makes the locks of type *T known. It is called when a package is initialized.
func Register[T any](about About, observe func(lock *T, on bool), numbers func(lock *T) Numbers) *Kind[T] {
	k := &Kind[T]{About: about, observe: observe, numbers: numbers}
	types = append(types, k)
	return k
}

// Returning says how permits are returned that a handle held when it was collected.
func (k *Kind[T]) Returning(giveBack func(lock *T, n int64)) *Kind[T] {
	k.Returns, k.giveBack = true, giveBack
	return k
}

// Keyed says that these are tables of locks, and how to ask for the numbers of the key with a hash.
// It reports false if two keys have that hash.
func (k *Kind[T]) Keyed(ofKey func(lock *T, hash uint64) (Numbers, bool)) *Kind[T] {
	k.Keys, k.ofKey = true, ofKey
	return k
}

// types are all that have been registered. They are written while packages are initialized.
var types []Type

// A Type is a [Kind] of any type, or knows that locks cannot be observed.
//
// Programs that do not import package records call none of its methods. So the linker leaves out
// what they call.
type Type interface {
	// Weak returns what the registry keeps of a lock. It reports false if the type is not that of
	// the lock, and panics if such a lock cannot be observed.
	Weak(lock any) (Lock, bool)
}

// Weak returns what the registry keeps of a lock. It reports false if its type is unknown, and
// panics if it cannot be observed.
func Weak(lock any) (l Lock, known bool) {
	for _, t := range types {
		if l, known = t.Weak(lock); known {
			return l, true
		}
	}
	return nil, false
}

// Weak implements [Type].
func (k *Kind[T]) Weak(lock any) (Lock, bool) {
	l, ok := lock.(*T)
	if !ok && k.Inside != nil {
		l, ok = k.Inside(lock).(*T)
	}
	if !ok {
		return nil, false
	}
	if l == nil {
		panic("observe: a nil *" + k.Name)
	}
	return weakLock[T]{k, weak.Make(l)}, true
}

// Join observes a lock at the level of [Everything], unless it is observed already, and returns its
// record. Slow paths call it, and constructors.
func (k *Kind[T]) Join(lock *T) Record {
	if Everything() == Off {
		return none{}
	}
	return join(k, lock)
}

// MayBe reports whether a lock, whose bit O is set or not, may be observed, or has to join.
//
//go:norace
func MayBe(on bool) bool { return on || Everything() != Off }

// Record returns the record of a lock, whose bit O is set or not. A lock that is not observed
// joins, if all should.
func (k *Kind[T]) Record(lock *T, on bool) Record {
	if on {
		return Of(lock)
	}
	return k.Join(lock)
}

// Recorder returns the record of a lock for its futures, nil if its bit O is not set.
func Recorder[T any](lock *T, on bool) waiting.Recorder {
	if !on {
		return nil
	}
	return Of(lock)
}

// A Lock is one that the registry knows. It has a weak pointer. Two are equal if they are of the
// same lock.
type Lock interface {
	About() *About
	// At returns where the lock is, and Value the lock, or nil if it has been collected.
	At() uintptr
	Value() any
	// Observe sets or clears the lock's bit O.
	Observe(on bool)
	// Numbers reports false if the lock has been collected.
	Numbers() (Numbers, bool)
	// IsLeft reports whether the lock has been collected.
	IsLeft() bool
	// OfKey returns the numbers of the key with a hash, of a table of locks.
	OfKey(hash uint64) (Numbers, bool)
	// GiveBack returns n permits, if the lock is there and can.
	GiveBack(n int64) bool
	// AfterCollected has f be called when the lock has been collected.
	AfterCollected(f func()) runtime.Cleanup
}

// A weakLock is a [Lock].
type weakLock[T any] struct {
	kind *Kind[T]
	p    weak.Pointer[T]
}

func (w weakLock[T]) About() *About { return &w.kind.About }

func (w weakLock[T]) At() uintptr { return xsync.Address(w.p.Value()) }

func (w weakLock[T]) Value() any {
	if l := w.p.Value(); l != nil {
		return l
	}
	return nil
}

func (w weakLock[T]) Observe(on bool) {
	if l := w.p.Value(); l != nil {
		w.kind.observe(l, on)
	}
}

func (w weakLock[T]) Numbers() (Numbers, bool) {
	if l := w.p.Value(); l != nil {
		return w.kind.numbers(l), true
	}
	return Numbers{}, false
}

func (w weakLock[T]) IsLeft() bool { return w.p.Value() == nil }

func (w weakLock[T]) OfKey(hash uint64) (Numbers, bool) {
	if l := w.p.Value(); l != nil {
		return w.kind.ofKey(l, hash)
	}
	return Numbers{}, false
}

func (w weakLock[T]) GiveBack(n int64) bool {
	l := w.p.Value()
	if l == nil || w.kind.giveBack == nil {
		return false
	}
	w.kind.giveBack(l, n)
	return true
}

func (w weakLock[T]) AfterCollected(f func()) runtime.Cleanup {
	return runtime.AddCleanup(w.p.Value(), func(f func()) { f() }, f)
}

// Refuse says why the locks of type *T cannot be observed.
func Refuse[T any](why string) { types = append(types, refusal[T](why)) }

// A refusal is a [Type] whose locks cannot be observed.
type refusal[T any] string

func (r refusal[T]) Weak(lock any) (Lock, bool) {
	if _, ok := lock.(*T); ok {
		panic("observe: " + string(r))
	}
	return nil, false
}
