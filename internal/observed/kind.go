package observed

import (
	"weak"

	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Level says how much a record keeps.
type Level uint8

// The levels.
const (
	Off     Level = iota // nothing
	Counts               // counters, and histograms
	Holders              // also who holds and who waits, with stacks
)

// Numbers are the state of a lock, each a value that it had at about the same time. What has no
// limit has a size of zero, and less than zero is free.
type Numbers struct {
	Size, Free int64
	Waiting    int
	Passed     int64 // acquisitions that the lock has counted and not reported yet: see [Record.Renewed]
	Elsewhere  int64 // of a lock of a fleet: permits that other processes may have
}

// Held returns how many permits this process holds.
func (n Numbers) Held() int64 { return n.Size - n.Free - n.Elsewhere }

// About says what the locks of a kind have in common.
type About struct {
	Name  string // such as "mutex.Mutex"
	Owned bool   // who acquires also releases

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

	// Of the locks of a fleet, nil otherwise.
	about func(lock *T) (*About, string) // the type, and the name unless Watch gives another
	fleet func(lock *T) *Fleet
}

// Register makes the locks of type *T known. It is called when a package is initialized.
func Register[T any](about About, observe func(lock *T, on bool), numbers func(lock *T) Numbers) *Kind[T] {
	k := &Kind[T]{About: about, observe: observe, numbers: numbers}
	kinds = append(kinds, k)
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

// Shared says that these are locks of fleets. They have names of their own, and are of several
// types. fleet returns what other processes have of one.
func (k *Kind[T]) Shared(about func(lock *T) (*About, string), fleet func(lock *T) *Fleet) *Kind[T] {
	k.about, k.fleet = about, fleet
	return k
}

// kinds are all that have been registered. They are written while packages are initialized.
var kinds []kind

// A kind is a [Kind] of any type.
//
// Programs that do not import package observe call none of its methods. So the linker leaves out
// what they call, and with it what makes a record.
type kind interface {
	watch(lock any, name string, level Level) (known bool)
	unwatch(lock any) (known bool)
}

// A joiner is a [Kind] of any type, whose locks may join on a slow path.
type joiner interface {
	joinOnSlowPath(lock any, level Level) *Record
}

func (k *Kind[T]) watch(lock any, name string, level Level) bool {
	l, ok := lock.(*T)
	if ok {
		if l == nil {
			panic("observe: a nil *" + k.Name)
		}
		k.join(l, name, level, byName)
	}
	return ok
}

func (k *Kind[T]) unwatch(lock any) bool {
	l, ok := lock.(*T)
	if ok && l != nil {
		leave(xsync.Address(l))
	}
	return ok
}

func (k *Kind[T]) joinOnSlowPath(lock any, level Level) *Record {
	return k.join(lock.(*T), "", level, bySlowPath)
}

// Join observes a lock at the level of [Everything], unless it is observed already, and returns its
// record. Slow paths call it, and constructors.
func (k *Kind[T]) Join(lock *T) *Record {
	level := Everything()
	if inert || level == Off {
		return &lost
	}
	if registry.full.Load() { // no use in taking the registry's lock for each wait
		registry.dropped.Add(1)
		return &lost
	}
	return registry.join(k, lock, level)
}

// MayBe reports whether a lock, whose bit O is set or not, may be observed, or has to join.
func MayBe(on bool) bool { return on || Everything() != Off }

// Record returns the record of a lock, whose bit O is set or not. A lock that is not observed
// joins, if all should.
func (k *Kind[T]) Record(lock *T, on bool) *Record {
	if on {
		return Of(lock)
	}
	return k.Join(lock)
}

// Recorder returns the record of a lock for its futures, nil if its bit O is not set.
func Recorder[T any](lock *T, on bool) waiter.Recorder {
	if !on {
		return nil
	}
	return Of(lock)
}

// A weakLock is a lock that the registry knows.
type weakLock interface {
	// observe sets or clears the lock's bit O.
	observe(on bool)
	// numbers reports false if the lock has been collected.
	numbers() (Numbers, bool)
	// isLeft reports whether the lock has been collected.
	isLeft() bool
	// ofKey returns the numbers of the key with a hash, of a table of locks.
	ofKey(hash uint64) (Numbers, bool)
	// giveBack returns n permits, if the lock is there and can.
	giveBack(n int64) bool
	// fleet returns what other processes have of a lock of a fleet, or nil.
	fleet() *Fleet
}

// A weakPointer is a [weakLock].
type weakPointer[T any] struct {
	kind *Kind[T]
	p    weak.Pointer[T]
}

func (w weakPointer[T]) observe(on bool) {
	if l := w.p.Value(); l != nil {
		w.kind.observe(l, on)
	}
}

func (w weakPointer[T]) numbers() (Numbers, bool) {
	if l := w.p.Value(); l != nil {
		return w.kind.numbers(l), true
	}
	return Numbers{}, false
}

func (w weakPointer[T]) isLeft() bool { return w.p.Value() == nil }

func (w weakPointer[T]) ofKey(hash uint64) (Numbers, bool) {
	if l := w.p.Value(); l != nil {
		return w.kind.ofKey(l, hash)
	}
	return Numbers{}, false
}

func (w weakPointer[T]) giveBack(n int64) bool {
	l := w.p.Value()
	if l == nil || w.kind.giveBack == nil {
		return false
	}
	w.kind.giveBack(l, n)
	return true
}

func (w weakPointer[T]) fleet() *Fleet {
	if l := w.p.Value(); l != nil && w.kind.fleet != nil {
		return w.kind.fleet(l)
	}
	return nil
}

// Watch observes a lock under a name, which may be empty. It reports false if its type is unknown,
// and panics if it is refused.
func Watch(lock any, name string, level Level) bool {
	for _, k := range kinds {
		if k.watch(lock, name, level) {
			return true
		}
	}
	return false
}

// Unwatch ends that. A lock that is not observed stays as it is.
func Unwatch(lock any) bool {
	for _, k := range kinds {
		if k.unwatch(lock) {
			return true
		}
	}
	return false
}

// Refuse says why the locks of type *T cannot be observed.
func Refuse[T any](why string) { kinds = append(kinds, refusal[T](why)) }

// A refusal is a [kind] whose locks cannot be observed.
type refusal[T any] string

func (r refusal[T]) watch(lock any, _ string, _ Level) bool { return r.refuse(lock) }
func (r refusal[T]) unwatch(lock any) bool                  { return r.refuse(lock) }

func (r refusal[T]) refuse(lock any) bool {
	if _, ok := lock.(*T); ok {
		panic("observe: " + string(r))
	}
	return false
}
