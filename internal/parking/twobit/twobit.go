// Package twobit is a mutual exclusion lock of two bits, whose sleepers are in the table of package
// parking. The small locks of sync/mutex are made of it. word.go has the bits of the one of four
// bytes.
package twobit

import (
	"context"

	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// Bits are two bits that make a mutual exclusion lock.
//
//	state      means
//	unlocked   free
//	locked     held, and no goroutine sleeps but those that an unlock has woken
//	sleeping   held, and goroutines may sleep
//
// Sleepers are in the table. The lock barges: a goroutine that finds it free takes it. A sleeper of
// which handoffAfter wakes have failed is handed the lock by the next unlock that comes to it.
// Before it are at most other sleepers of which wakes have failed.
//
// Invariants:
//
//  1. The goroutine that changes the state from unlocked to another holds the lock. (TestModelBits
//     in sync/mutex)
//  2. A goroutine goes to sleep only while the state is sleeping. The unlock that ends that state
//     wakes one sleeper. There may be others, so that one sets sleeping when it takes the lock. So
//     as long as a goroutine sleeps, either the state is sleeping or a goroutine is awake that will
//     set it. (TestModelBits)
//  3. A goroutine that gives up passes on a wake that it has got, and unlocks a lock that it has
//     been handed. (TestModelBits/context)
//  4. While the state is sleeping only the holder changes it, under the bucket's lock. So a lock
//     can be handed over without being free in between.
//
// Source: Malte Skarupke, Fine-grained Locking with Two-Bit Mutexes (2022). There the first try of
// the one-byte lock is an exchange, which may erase sleeping, so that every later try has to set
// it; a compare-and-swap, which costs the same here, leaves no trace when it fails.
type Bits interface {
	// Get returns the state.
	Get() parking.State
	// Set changes the state, if it is from.
	Set(from, to parking.State) bool
}

const sleeping = parking.Sleepers

// Lock locks b after a try has failed, or returns the error of l if that ends the wait before. k is
// b's key.
func Lock[B Bits](l waiting.Limit, b B, k parking.Key) error {
	if err := lock(l, b, k); err != nil {
		return err
	}
	return waiting.KeepUntil(l, held[B]{b, k}, 1)
}

// Keep is called when b has just been locked. If ctx is done it unlocks b and returns ctx.Err().
func Keep[B Bits](ctx context.Context, b B, k parking.Key) error {
	return waiting.Keep(ctx, held[B]{b, k}, 1)
}

// held unlocks a lock, for [waiting.Keep].
type held[B Bits] struct {
	b B
	k parking.Key
}

func (h held[B]) GiveBack(int64) bool { return Unlock(h.b, h.k) }

// lock is Lock without the look at the context after the grant.
func lock[B Bits](l waiting.Limit, b B, k parking.Key) error {
	for i := 0; xsync.Spin(i); i++ {
		if b.Get() == parking.Unlocked && b.Set(parking.Unlocked, parking.Locked) {
			return nil
		}
	}
	l = l.Fixed()
	mine, failedWakes := parking.Locked, 0
	for {
		switch b.Get() {
		case parking.Unlocked:
			if b.Set(parking.Unlocked, mine) {
				return nil
			}
			continue
		case parking.Locked:
			if !b.Set(parking.Locked, sleeping) {
				continue
			}
		default:
		}
		how, ended := parking.Default().SleepUnasked(l, k, failedWakes, func() bool { return b.Get() == sleeping })
		switch {
		case ended:
			if how == parking.Handed {
				Unlock(b, k)
			}
			return l.Err()
		case how == parking.Handed:
			return nil
		case how == parking.Woken:
			mine = sleeping // invariant 2
			failedWakes++
		default:
		}
	}
}

// Unlock unlocks b, and reports false if it was not locked.
func Unlock[B Bits](b B, k parking.Key) bool {
	for { // A retry follows only another's success.
		switch b.Get() {
		case parking.Unlocked:
			return false
		case parking.Locked:
			if b.Set(parking.Locked, parking.Unlocked) {
				return true
			}
		default:
			if parking.Default().WakeOrHand(k, func(hand bool) bool {
				if hand {
					return b.Get() == sleeping
				}
				return b.Set(sleeping, parking.Unlocked)
			}) {
				return true
			}
		}
	}
}
