package mutex

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/parking/twobit"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A Packed is an array of n mutual exclusion locks in 2n bits: ten thousand locks take 2.5 kB. The
// locks are numbered from 0. Order, waiting and synchronization of each are those of a [Word].
// An unlock wakes only a waiter of its own lock. Sixteen neighbours share four bytes, and slow each
// other down when many processors use them at the same time.
//
// The methods panic if there is no lock i. The zero Packed has no locks. A Packed may be copied;
// the copies have the same locks.
//
// Source: Malte Skarupke, Fine-grained Locking with Two-Bit Mutexes (probablydance.com, 2022),
// where waking one of several locks in a byte is left as an exercise.
type Packed struct {
	words []xsync.Uint32
	n     int
}

const (
	perWord   = 16
	maxPacked = 1 << 50 // in 2 bits each, as much memory as a 64-bit machine can ever have
)

// NewPacked returns n unlocked locks. It panics if n is negative or above 1<<50.
func NewPacked(n int) Packed {
	switch {
	case n < 0:
		panic("mutex: NewPacked(" + strconv.Itoa(n) + "): a negative number")
	case int64(n) > maxPacked:
		panic("mutex: NewPacked(" + strconv.Itoa(n) + "): more than fit into any memory")
	}
	return Packed{words: make([]xsync.Uint32, (uint(n)+perWord-1)/perWord), n: n}
}

// Len returns how many locks there are.
func (p Packed) Len() int { return p.n }

// Lock locks lock i. If lock i is locked the caller waits.
func (p Packed) Lock(i int) {
	if uint(i) >= uint(p.n) {
		refuse(i, p.n)
	}
	b := packedBits{&p.words[uint(i)/perWord], uint(i)} // as at does, which is not inlined
	if !b.word.CompareAndSwap(0, b.alone()) {
		b.lockSlow()
	}
}

func (b packedBits) lockSlow() {
	if !b.Set(parking.Unlocked, parking.Locked) {
		_ = twobit.Lock(waiting.Limit{}, b, b.key())
	}
}

// TryLock locks lock i if it is unlocked, and reports whether it did.
func (p Packed) TryLock(i int) bool { return p.at(i).tryLock() }

// LockContext is Lock, but gives up when ctx is done and returns ctx.Err().
func (p Packed) LockContext(ctx context.Context, i int) error {
	b := p.at(i)
	if err := usable(ctx); err != nil {
		return err
	}
	if !b.tryLock() {
		return twobit.Lock(waiting.UntilDone(ctx), b, b.key())
	}
	if xsync.MayPanic(ctx) || ctx.Err() != nil {
		return twobit.Keep(ctx, b, b.key())
	}
	return nil
}

// LockTimeout is Lock, but gives up when d has passed. It reports whether the lock is the caller's.
// If d <= 0 it never is; TryLock locks without waiting. It panics if there is no lock i.
func (p Packed) LockTimeout(d time.Duration, i int) bool {
	b := p.at(i)
	return d > 0 && (b.tryLock() || twobit.Lock(waiting.After(d), b, b.key()) == nil)
}

// Unlock unlocks lock i and wakes a waiter, if there is one. If lock i is not locked Unlock panics
// and does not change it.
func (p Packed) Unlock(i int) {
	if uint(i) >= uint(p.n) {
		refuse(i, p.n)
	}
	b := packedBits{&p.words[uint(i)/perWord], uint(i)}
	if !b.word.CompareAndSwap(b.alone(), 0) {
		b.unlockSlow()
	}
}

func (b packedBits) unlockSlow() {
	if !twobit.Unlock(b, b.key()) {
		panic("mutex: unlock of unlocked mutex")
	}
}

// Locker returns lock i as a [sync.Locker]. It allocates.
func (p Packed) Locker(i int) sync.Locker {
	p.at(i)
	return &packedLocker{p, i}
}

type packedLocker struct {
	p Packed
	i int
}

func (l *packedLocker) Lock()   { l.p.Lock(l.i) }
func (l *packedLocker) Unlock() { l.p.Unlock(l.i) }

// Waiting returns the number of goroutines that sleep for lock i. It is meant for tests and
// statistics.
func (p Packed) Waiting(i int) int { return parking.Sleeping(p.at(i).key()) }

// at returns the bits of lock i.
func (p Packed) at(i int) packedBits {
	if uint(i) >= uint(p.n) {
		refuse(i, p.n)
	}
	return packedBits{&p.words[uint(i)/perWord], uint(i)}
}

//go:noinline
func refuse(i, n int) { panic("mutex: lock " + strconv.Itoa(i) + " of " + strconv.Itoa(n)) }

// packedBits are the bits of one lock.
type packedBits struct {
	word   *xsync.Uint32
	number uint
}

func (b packedBits) shift() uint { return b.number % perWord * 2 }

// alone is the word in which nothing but this lock is locked: as a rule, where there are many
// locks. So the first try needs not look at the word.
func (b packedBits) alone() uint32 { return parking.Locked << b.shift() }

func (b packedBits) tryLock() bool {
	return b.word.CompareAndSwap(0, b.alone()) || b.Set(parking.Unlocked, parking.Locked)
}

// Get returns the state.
func (b packedBits) Get() parking.State { return b.word.Load() >> b.shift() & parking.Mask }

// Set changes the state, if it is from.
func (b packedBits) Set(from, to parking.State) bool {
	for { // A retry follows only another's success, or a neighbour's.
		o := b.word.Load()
		if o>>b.shift()&parking.Mask != from {
			return false
		}
		if b.word.CompareAndSwap(o, o^(from^to)<<b.shift()) {
			return true
		}
	}
}

func (b packedBits) key() parking.Key {
	return parking.Key{Object: b.word, Part: int64(b.number), Hash: xsync.Address(b.word)}
}
