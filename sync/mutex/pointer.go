package mutex

import (
	"context"
	"time"
	"unsafe"

	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/parking/twobit"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A Pointer is a pointer to a T with a mutual exclusion lock in its two low bits. It gives a
// structure that has a pointer anyway a lock that takes no room. The zero Pointer is nil and
// unlocked. It must not be copied after first use. Order, waiting and synchronization of the lock
// are those of [Word]. It implements [sync.Locker].
//
// Lock and pointer are independent: Load and Store are atomic, and may be called whether or not the
// lock is held. The users decide what the lock protects, mostly what the pointer points to.
//
// A T must have a size of at least 4 bytes and be aligned to 4. An address with the two bits set is
// still inside the object, so the garbage collector keeps the object alive.
//
// Source: Malte Skarupke, Fine-grained Locking with Two-Bit Mutexes (probablydance.com, 2022).
type Pointer[T any] struct {
	_ noCopy
	_ [0]*T // no conversion between pointers to different types
	b pointerBits
}

// Load returns the pointer. The Store of it synchronizes before the return of Load.
func (p *Pointer[T]) Load() *T {
	o := base4(p.b.p.Load())
	if o == &nothing[0] {
		return nil
	}
	return (*T)(unsafe.Pointer(o)) // what Store was given
}

// Store sets the pointer and does not change the lock. It panics if v is not aligned to 4 bytes, or
// if T is smaller than 4 bytes.
func (p *Pointer[T]) Store(v *T) {
	if unsafe.Sizeof(*v) < 4 || uintptr(unsafe.Pointer(v))&parking.Mask != 0 {
		panic("mutex: Pointer to something that is too small, or not aligned to 4 bytes")
	}
	for { // A retry follows only another's success.
		o := p.b.p.Load()
		if p.b.p.CompareAndSwap(o, tagged((*byte)(unsafe.Pointer(v)), stateOf(o))) {
			return
		}
	}
}

// Lock locks p. If p is locked the caller waits.
func (p *Pointer[T]) Lock() {
	if !p.b.Set(parking.Unlocked, parking.Locked) {
		_ = twobit.Lock(waiting.Limit{}, &p.b, p.b.key())
	}
}

// TryLock locks p if it is unlocked, and reports whether it did.
func (p *Pointer[T]) TryLock() bool { return p.b.Set(parking.Unlocked, parking.Locked) }

// LockContext is Lock, but gives up when ctx is done and returns ctx.Err().
func (p *Pointer[T]) LockContext(ctx context.Context) error {
	if !xsync.MayEnd(ctx) {
		p.Lock()
		return nil
	}
	if err := usable(ctx); err != nil {
		return err
	}
	if !p.TryLock() {
		return twobit.Lock(waiting.UntilDone(ctx), &p.b, p.b.key())
	}
	if xsync.MayPanic(ctx) || ctx.Err() != nil {
		return twobit.Keep(ctx, &p.b, p.b.key())
	}
	return nil
}

// LockTimeout is Lock, but gives up when d has passed. It reports whether the lock is the caller's.
// If d <= 0 it never is; TryLock locks without waiting.
func (p *Pointer[T]) LockTimeout(d time.Duration) bool {
	return d > 0 && (p.TryLock() || twobit.Lock(waiting.After(d), &p.b, p.b.key()) == nil)
}

// Unlock unlocks p and wakes a waiter, if there is one. If p is not locked Unlock panics and does
// not change p.
func (p *Pointer[T]) Unlock() {
	if !p.b.Set(parking.Locked, parking.Unlocked) && !twobit.Unlock(&p.b, p.b.key()) {
		panic("mutex: unlock of unlocked mutex")
	}
}

// Waiting returns the number of goroutines that sleep for p. It is meant for tests and statistics.
func (p *Pointer[T]) Waiting() int { return parking.Sleeping(p.b.key()) }

// pointerBits are the two low bits of an address. The address is kept as one of a byte: one of a T
// would be misaligned.
type pointerBits struct{ p xsync.Pointer[byte] }

// Get returns the state.
func (b *pointerBits) Get() parking.State { return stateOf(b.p.Load()) }

// Set changes the state, if it is from.
func (b *pointerBits) Set(from, to parking.State) bool {
	for { // A retry follows only another's success, or a Store.
		o := b.p.Load()
		if stateOf(o) != from {
			return false
		}
		if b.p.CompareAndSwap(o, tagged(base4(o), to)) {
			return true
		}
	}
}

func (b *pointerBits) key() parking.Key { return parking.Key{Object: b, Hash: xsync.Address(b)} }

// nothing is what a pointer that is nil points to while it is locked: the collector calls small
// integers bad pointers. (An array of this type is aligned to 4 bytes.)
var nothing = (*[4]byte)(unsafe.Pointer(new(uint32)))

func stateOf(p *byte) parking.State { return parking.State(uintptr(unsafe.Pointer(p)) & parking.Mask) }

// base4 returns p without the bits. The result is in the object that p is in: both are of its first
// 4 bytes.
func base4(p *byte) *byte {
	if s := stateOf(p); s != parking.Unlocked { // The compiler takes whatever has been added to for not nil.
		return (*byte)(unsafe.Add(unsafe.Pointer(p), -int(s)))
	}
	return p
}

// tagged returns p, which has no bits, with those of s.
func tagged(p *byte, s parking.State) *byte {
	if s == parking.Unlocked {
		return p
	}
	if p == nil {
		p = &nothing[0]
	}
	return (*byte)(unsafe.Add(unsafe.Pointer(p), s))
}
