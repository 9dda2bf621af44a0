package twa

import (
	"context"
	"hash/maphash"
	"math/bits"
	"reflect"
	"strconv"

	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// An Array is a waiting array: buckets, each with a lock and a line of sleepers, over which all
// waiting goroutines are spread. Any number of semaphores may share an array. A wake finds its own
// sleeper, whatever else is in the bucket.
//
// Semaphores use the array of the process by default, and a nil *Array is that one, too. With an
// array of its own, a semaphore with many sleepers does not slow others down. NewArray makes one.
type Array parking.Table

const maxBuckets = 1 << 24 // a gigabyte of them

// NewArray returns an array with so many buckets, rounded up to a power of two, 1<<24 at most; one
// bucket takes a cache line. It panics if buckets is negative.
func NewArray(buckets int) *Array {
	if buckets < 0 {
		panic("twa: array of " + strconv.Itoa(buckets) + " buckets")
	}
	return (*Array)(parking.New(rounded(buckets)))
}

func rounded(buckets int) int { return 1 << bits.Len(uint(min(max(buckets, 1), maxBuckets)-1)) }

// table returns the table of a, or that of the process if a is nil.
func (a *Array) table() *parking.Table { return (*parking.Table)(a).OrDefault() }

// What follows is waiting for whatever one likes, by a key: any value that can be compared, as a
// rule a pointer to what changes. The key is only compared; the array does not look behind it. All
// panic if the key is nil, or a slice, a map, a function or a value with one in it.

// WaitUntil waits until satisfied reports true, or ctx is done. It calls satisfied at once, once
// more before it sleeps, and again after every Signal for the key. The calls are made by the
// waiting goroutine, without a lock held. A goroutine that makes the condition true must do so in a
// way that others may see concurrently, under a lock or by an atomic operation, and then call
// Signal. WaitUntil returns nil only if the last call of satisfied reported true, and otherwise
// ctx.Err(). With a context that is done already it returns without a call. A cancel that happened
// before the change always wins, so the last answer may have been true even if it returns an error.
// It panics if ctx, key or satisfied is nil. It allocates nothing in the steady state, except for
// what satisfied refers to.
//
// Memory model: what happened before a Signal happens before the question that follows it.
//
// Source: AddressWaitUntil, of Dice and Kogan, Semaphores Augmented with a Waiting Array.
func (a *Array) WaitUntil(ctx context.Context, key any, satisfied func() bool) error {
	k := keyOf(ctx, key)
	if satisfied == nil {
		panic("twa: WaitUntil without a condition")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	t := a.table()
	if satisfied() {
		return stillErr(ctx)
	}
	t.Announce(k) // what is asked from here on is asked after it: see SignalPolite
	defer t.Retract(k)
	for { // A retry follows a signal: something has changed.
		seq := t.Sequence(k)
		if satisfied() {
			return stillErr(ctx)
		}
		if err := t.Await(waiting.UntilDone(ctx), k, seq); err != nil {
			return err
		}
	}
}

// Signal has all look again who wait for the key, in the order of their coming.
func (a *Array) Signal(key any) { a.table().Signal(keyOf(context.Background(), key)) }

// SignalPolite is Signal for goroutines that wait by WaitUntil, and for no others. While none does,
// it only reads. A goroutine that has called Monitor may miss it.
func (a *Array) SignalPolite(key any) {
	if k := keyOf(context.Background(), key); a.table().Announced(k) {
		a.table().Signal(k)
	}
}

// A Sequence is how many signals an array has had, for a key and for others that it does not
// distinguish from it. The zero Sequence is that of a time before all signals.
type Sequence int64

// Monitor returns the present sequence for a key. Look at what may change afterwards, and then
// Wait. What happened before the signals that it counts happens before its return.
//
// Source: KeyMonitor and KeyWait, of Dice and Kogan, Listing 4.
func (a *Array) Monitor(key any) Sequence {
	return Sequence(a.table().Sequence(keyOf(context.Background(), key)))
}

// Wait waits for a signal for the key, unless there has been one since Monitor returned seq, or ctx
// is done. It may return early, without any signal for this key, so the caller has to look again.
// Errors are as for WaitUntil. What happened before the signal happens before its return; and it
// allocates nothing in the steady state.
func (a *Array) Wait(ctx context.Context, key any, seq Sequence) error {
	k := keyOf(ctx, key)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := a.table().Await(waiting.UntilDone(ctx), k, int64(seq)); err != nil {
		return err
	}
	return stillErr(ctx)
}

// WaitLazy is Wait and Monitor in one: it waits, unless the sequence is another than *seq, and then
// sets *seq to what it is, if there is no error. So a loop that looks and then calls WaitLazy,
// until it likes what it sees, needs no Monitor; the first call does not wait as a rule.
func (a *Array) WaitLazy(ctx context.Context, key any, seq *Sequence) error {
	if err := a.Wait(ctx, key, *seq); err != nil {
		return err
	}
	*seq = a.Monitor(key)
	return nil
}

// A number distinguishes objects in the hash of their keys. It is given when a goroutine first
// waits, and 0 until then. An address would do as long as the collector moves nothing.
type number struct{ xsync.Int64 }

var numbers xsync.Int64 // given so far

// get returns the number, and gives one if need be.
func (x *number) get() int64 {
	if x.Load() == 0 {
		x.CompareAndSwap(0, numbers.Add(1))
	}
	return x.Load()
}

var seed = maphash.MakeSeed()

func keyOf(ctx context.Context, key any) parking.Key {
	switch {
	case ctx == nil:
		panic("twa: nil context")
	case key == nil:
		panic("twa: nil key")
	}
	// Of a pointer, as of all that is no struct, array or interface, the type tells.
	if t := reflect.TypeOf(key); t.Kind() != reflect.Pointer && !reflect.ValueOf(key).Comparable() {
		panic("twa: key of type " + t.String() + ", which cannot be compared")
	}
	return parking.Key{Object: key, Hash: uintptr(maphash.Comparable(seed, key))}
}
