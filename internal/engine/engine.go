package engine

import (
	"github.com/farad-go/farad/internal/order"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// MaxPermits is the largest size. Larger ones act as this one.
const MaxPermits int64 = 1 << 59

// The word:
//
//	63                                    3   2   1   0
//	+--------------------------------------+---+---+---+
//	|  permits, signed, counted from base  | O | C | W |
//	+--------------------------------------+---+---+---+
//
//	permits    W  C   meaning
//	> 0        0  0   that many are free
//	0          0  0   all are held, no request waits
//	any        1  0   a request is queued, and free permits are for the oldest one;
//	                  or the slot's waiter was the last, none are free; the next release clears W
//	< 0        .  0   debt: the size was reduced below what is held; releases pay it first
//	any        .  1   closed; releases still count
//
// O says that the lock is observed. It has no part in what the word means: while it is set the fast
// paths fail, and the façade's slow paths record what they do.
const (
	flagWaiters  = 1 << 0
	flagClosed   = 1 << 1
	flagObserved = 1 << 2
	flags        = flagWaiters | flagClosed | flagObserved
	permitShift  = 3
)

// An Engine counts permits and queues the requests that wait for them. It is the one mechanism
// under the semaphore, the mutex and the read-write lock. The last has a type of its own, [RW].
//
// A façade works with the [Permits] of its engine, which count from a base.
//
// Without waiters an acquire and a release are one atomic read-modify-write each. With waiters
// Release(1) hands its permit to the oldest waiter through the slot, by one exchange and without
// the mutex. Everything else happens under mu.
//
// Invariants, each with a test that fails without it:
//
//  1. Permits are conserved: available plus held is the size in every state.
//     (TestPermitsAreConserved)
//  2. When mu is free and a request is queued, W is set and fewer permits are available than the
//     oldest waiter needs. So a newcomer cannot barge, and no permit lies idle while a waiter could
//     use it. If W is set and none is queued, and the engine is not closed, then none is free: the
//     slot's waiter was the last, and got what was released.
//     (TestContract/TryNeverOvertakesAWaiter, TestModel)
//  3. The slot's waiter is older than the whole list, and needs exactly one permit; claims are
//     FIFO. While there is a debt the slot is empty. Its waiter needs no more than the size, and
//     nothing is free, so what a release hands over there was held. A waiter that came in at the
//     front counts as the oldest. (TestContract/GrantsAreFIFO, TestResizeDebtIsPaidFirst)
//  4. Unlinking a waiter (swap or compare-and-swap of the slot, removal from the list under mu) is
//     the single decision between grant, cancel, close and too-large.
//     (TestContract/StressConservesPermits)
//  5. No waiter is touched after its owner has seen the outcome. (the race detector, in every
//     stress test)
//  6. While W is set the word changes only under mu. (TestContendedReleaseGoesThroughTheSlot)
//  7. O changes only under mu, by Observe. Every other change of the word keeps it, and decides
//     nothing by it but whether a fast path fails. (TestModel/observe, TestObserveKeepsEverything)
//
// Why no wake-up is lost: a request that has to wait sets W, under mu, on the exact word in which
// it saw too few permits. A release that came before has changed the word, and the compare-and-swap
// fails. A release that comes after sees W, and finds the waiter in the slot or, under mu, in the
// list.
//
// Source: Volt's semaphore. Its published algorithm loses wake-ups; docs/design/semaphore.md lists
// the differences.
type Engine struct {
	word  xsync.Int64 // written by CAS while W is clear, under mu while W is set
	grown xsync.Int64 // size − base; written under mu

	slot xsync.Pointer[waiting.Waiter] // filled under mu; emptied by swap (release) or under mu

	mu   xsync.Mutex
	list waiting.Queue // guarded by mu

	Opts *Options // nil: none; set before first use, and not read on the fast paths
}

// Options are what only few engines have.
type Options struct {
	MaxWaiting int  // how many requests may wait; 0: any number
	bias       bias // of an [RW] only, which has no room for a second pointer

	Order *order.Order // guarded by mu; nil: first-in-first-out; see ordered.go
}

// Permits are an engine and the number from which its façade counts: the size of the façade's zero
// value. The base must be the same in all uses of an engine. The available permits are base plus
// those of the word. The size is base plus what Resize has added. So the zero Engine is ready, and
// the word alone says what is available, whatever happens to the size meanwhile.
//
// Permits are made where they are needed, by From: to pass them costs what it costs to pass both.
type Permits struct {
	*Engine
	base int64
}

// From returns the permits of e, counted from base.
func (e *Engine) From(base int64) Permits { return Permits{e, base} }

// Init sets the size and the options of an engine before its first use. opts may be nil.
func (e Permits) Init(size int64, opts *Options) {
	e.grown.Store(size - e.base)
	e.word.Store((size - e.base) << permitShift)
	e.Opts = opts
}

// Size returns the number of permits, available or held.
func (e Permits) Size() int64 { return e.base + e.grown.Load() }

// Available returns the number of permits that are not held. It is negative while there is a debt.
// Permits that are reserved for the oldest waiter are counted.
func (e Permits) Available() int64 { return e.free(e.Look()) }

// Glance returns the number of available permits and that of queued requests, for a monitor. While
// none is queued it reads the word alone: see [xsync.Glance64].
func (e Permits) Glance() (free int64, waiting int) {
	o := State(xsync.Glance64(&e.word))
	if o&flagWaiters != 0 {
		waiting = e.Waiting()
	}
	return e.free(o), waiting
}

// Waiting returns the number of queued requests.
func (e *Engine) Waiting() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waitingLocked()
}

func (e *Engine) waitingLocked() int {
	n := e.list.Len()
	if e.slot.Load() != nil {
		n++
	}
	if e.ordered() {
		n += e.Opts.Order.Len()
	}
	return n
}

// The fast path has two steps, each small enough to be inlined where the pair is not: Look, then
// Take or Give.

// A State is a value of the word.
type State int64

// Look returns the current state.
func (e *Engine) Look() State { return State(e.word.Load()) }

// free returns the number of available permits.
func (e Permits) free(o State) int64 { return e.base + int64(o>>permitShift) }

// Fits reports whether n permits, n > 0, can be taken on the fast path: that many are free, no
// request waits, and the engine is not observed.
func (e Permits) Fits(o State, n int64) bool { return o&flags == 0 && e.free(o) >= n }

// Take takes n permits, which fit, if the state is still o.
func (e *Engine) Take(o State, n int64) bool {
	return e.word.CompareAndSwap(int64(o), int64(o)-n<<permitShift)
}

// Returns reports whether n permits, n > 0, can be given back on the fast path, without a waiter to
// hand them to: no request waits, that many are held, and the engine is not observed. All must be
// true of one state, so the caller looks at o before. A Resize changes the word last when it
// shrinks and first when it grows. So a size that is not that of o makes n look too large, or makes
// Give fail. There is one exception: between Look and Give the size changes and the word comes back
// to o, by a second resize or by releases. Then an over-release at that moment goes unnoticed. A
// legal release is never refused.
func (e *Engine) Returns(o State, n int64) bool {
	return o&(flagWaiters|flagObserved) == 0 && n <= e.held(o)
}

// Held returns the number of permits that are held, even during a Resize.
func (e Permits) Held() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.held(e.Look())
}

// held returns the number of permits that are held if the size is still that of o.
func (e *Engine) held(o State) int64 { return e.grown.Load() - int64(o>>permitShift) }

// Give adds n permits, which are held, if the state is still o.
func (e *Engine) Give(o State, n int64) bool {
	return e.word.CompareAndSwap(int64(o), int64(o)+n<<permitShift)
}

// TakeOnly takes the permit of an engine that has one, counted from base 1, if it is free, there is
// no waiter, and the engine is not observed. It is small enough to be inlined, with its caller,
// where the caller's caller is.
func (e *Engine) TakeOnly() bool { return e.word.CompareAndSwap(0, -1<<permitShift) }

// GiveOnly gives it back, if it is held, there is no waiter, and the engine is not observed.
func (e *Engine) GiveOnly() bool { return e.word.CompareAndSwap(-1<<permitShift, 0) }

// TryAcquire takes n permits, n > 0, if they fit: it is the fast path. It does not fail because of
// other acquires that run at the same time and leave enough.
func (e Permits) TryAcquire(n int64) bool {
	for o := e.Look(); e.Fits(o, n); o = e.Look() { // A turn is lost only to another's success.
		if e.Take(o, n) {
			return true
		}
	}
	return false
}

// TryObserved is TryAcquire on the path of an engine that is observed, and of one that is not.
func (e Permits) TryObserved(n int64) bool {
	for { // A turn is lost only to another's success, or to Observe.
		o := e.Look()
		if o&(flagWaiters|flagClosed) != 0 || e.free(o) < n {
			return false
		}
		if e.Take(o, n) {
			return true
		}
	}
}

// Observe sets or clears O.
func (e *Engine) Observe(on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if on {
		e.word.Or(flagObserved)
	} else {
		e.word.And(^flagObserved)
	}
}

// IsObserved reports whether O is set. It may be out of date when it returns: a caller does the
// same to the word whatever the answer.
func (e *Engine) IsObserved() bool { return e.Look().IsObserved() }

// IsObserved reports whether O is set.
func (o State) IsObserved() bool { return o&flagObserved != 0 }

// A Place is where in the line a new waiter stands.
type Place bool

// The places. A waiter that comes in AtFront holds permits and wants more than one. Then the slot
// is empty: a waiter stands there only while nothing is free and no holder wants more. So the front
// of the list is the front of the line.
const (
	AtBack  Place = false
	AtFront Place = true
)

// Enqueue is the second half of an acquire, after TryAcquire has failed. It returns
// [waiting.Granted] or the outcome of an error at once. Otherwise it queues w, which is armed, and
// returns [waiting.Pending].
func (e Permits) Enqueue(w *waiting.Waiter, at Place) waiting.Outcome {
	e.mu.Lock()
	outcome := e.enqueueLocked(w, at)
	e.mu.Unlock()
	return outcome
}

// enqueueLocked is Enqueue under mu.
func (e Permits) enqueueLocked(w *waiting.Waiter, at Place) waiting.Outcome {
	o := e.Look()
	if o&flagClosed != 0 {
		return waiting.Closed
	}
	if w.N > e.Size() { // here, and not before, because of a Resize that we raced with
		return waiting.TooLarge
	}
	if at == AtFront || !e.stagedLocked() {
		for { // A turn is lost only to another's success.
			if e.free(o) >= w.N {
				if e.Take(o, w.N) {
					return waiting.Granted
				}
			} else if o&flagWaiters != 0 || e.word.CompareAndSwap(int64(o), int64(o|flagWaiters)) {
				break // from here on the word is ours: no permit can slip in between
			}
			o = e.Look()
		}
	} else if e.Opts != nil && e.Opts.MaxWaiting > 0 && e.waitingLocked() >= e.Opts.MaxWaiting {
		return waiting.QueueFull
	}
	if at == AtFront {
		e.list.PushFront(w)
	} else {
		e.list.PushBack(w)
	}
	e.refillLocked(o)
	return waiting.Pending
}

// refillLocked moves the oldest waiter of the list into the empty slot, where a release finds it
// without the mutex. The state is o, but for W.
func (e Permits) refillLocked(o State) {
	if w := e.list.Front(); w != nil && w.N == 1 && e.free(o) >= 0 && e.slot.Load() == nil {
		e.slot.Store(e.list.PopFront())
	}
}

// Release returns n permits, n > 0, to the waiters, in order, or to the word. If fewer are held it
// changes nothing and reports false.
func (e Permits) Release(n int64) bool {
	for {
		o := e.Look()
		if o&flagWaiters == 0 {
			if n > e.held(o) {
				break
			}
			if e.Give(o, n) {
				return true
			}
			continue // lost a turn to another's success
		}
		if n != 1 {
			break
		}
		w := e.slot.Swap(nil) // Its waiter wants one permit, so at least one is held: this is not an over-release.
		if w == nil {
			break
		}
		if w.HandOff() {
			return true
		}
		// Its owner had gone: the permit is ours again. Each turn uses up a waiter.
	}
	return e.releaseSlow(n)
}

// releaseSlow releases under mu.
//
//go:noinline
func (e Permits) releaseSlow(n int64) bool {
	var wake waiting.WakeList
	e.mu.Lock()
	ok := e.addLocked(n)
	e.serveLocked(&wake) // serves none if nothing was added
	e.mu.Unlock()
	deliver(e, &wake)
	return ok
}

// addLocked adds n permits to the word, unless they cannot be held.
func (e Permits) addLocked(n int64) bool {
	for { // W may be clear: a turn is lost only to another's success.
		o := e.Look()
		if n > e.held(o) {
			return false
		}
		if e.Give(o, n) {
			return true
		}
	}
}

// takeSlotLocked claims the slot's waiter, unless a release is faster. It returns nil if there is
// none.
func (e *Engine) takeSlotLocked() *waiting.Waiter {
	if e.slot.Load() == nil { // it is filled under mu only
		return nil
	}
	return e.slot.Swap(nil)
}

// serveLocked claims waiters, oldest first, as far as the permits suffice. It restores invariants 2
// and 3.
func (e Permits) serveLocked(wake *waiting.WakeList) {
	o := e.Look()
	if o&flagWaiters == 0 {
		return
	}
	for {
		for e.free(o) > 0 {
			w := e.takeSlotLocked()
			if w == nil {
				if w = e.list.Front(); w == nil || w.N > e.free(o) {
					break
				}
				e.list.PopFront()
			}
			o -= State(w.N << permitShift)
			wake.Add(w, waiting.Granted)
		}
		if !e.stageLocked(o, wake) {
			break
		}
	}
	if !e.waitsLocked() {
		o &^= flagWaiters
	}
	e.word.Store(int64(o))
	e.refillLocked(o)
}

// Cancel takes w out of the queue and reports whether it was there. If not, a claimer was faster,
// and the outcome is on its way to w. If w was the head, the waiters behind it are served.
func (e Permits) Cancel(w *waiting.Waiter) bool {
	var wake waiting.WakeList
	e.mu.Lock()
	ok := e.unlinkLocked(w, &wake)
	e.mu.Unlock()
	deliver(e, &wake)
	return ok
}

// unlinkLocked is Cancel under mu. The caller delivers to the waiters that it serves.
func (e Permits) unlinkLocked(w *waiting.Waiter, wake *waiting.WakeList) bool {
	ok := e.slot.CompareAndSwap(w, nil) || e.list.Remove(w)
	if ok {
		e.serveLocked(wake)
	}
	return ok
}

// A line takes back what has been granted: the [Permits] of an engine, or an [RW].
type line interface{ GiveBack(n int64) bool }

// deliver passes the claimed waiters their outcomes, and gives back to l what was granted to
// abandoned ones.
func deliver[L line](l L, claimed *waiting.WakeList) {
	for n := claimed.HandOff(); n > 0; n = claimed.HandOff() {
		waiting.GiveBack(l, n) // They are held, unless a caller has released more than it held.
	}
}

// Resize sets the size. Growth serves the queue; shrinking below what is held leaves a debt. Queued
// requests that are larger than the new size end with [waiting.TooLarge].
func (e Permits) Resize(size int64) {
	var wake waiting.WakeList
	e.mu.Lock()
	d := size - e.Size()
	if d < 0 { // the order is explained at Returns
		e.grown.Add(d)
		e.word.Add(d << permitShift)
	} else {
		e.word.Add(d << permitShift)
		e.grown.Add(d)
	}
	if e.word.Load()&flagWaiters != 0 {
		if d < 0 {
			e.shrinkQueueLocked(size, &wake)
		}
		e.serveLocked(&wake)
	}
	e.mu.Unlock()
	deliver(e, &wake)
}

// shrinkQueueLocked ends the queued requests for more than size, and empties the slot.
func (e *Engine) shrinkQueueLocked(size int64, wake *waiting.WakeList) {
	// A release must not hand over a permit that does not exist any more. Without a debt
	// serveLocked puts the waiter back into the slot.
	if w := e.takeSlotLocked(); w != nil {
		e.list.PushFront(w)
	}
	for w := e.list.Front(); w != nil; {
		next := e.list.Next(w)
		if w.N > size {
			e.list.Remove(w)
			wake.Add(w, waiting.TooLarge)
		}
		w = next
	}
	if e.ordered() {
		e.Opts.Order.Reject(size, wake)
	}
}

// Close ends all queued and all later requests with [waiting.Closed]. Releases stay legal.
func (e *Engine) Close() {
	var wake waiting.WakeList
	e.mu.Lock()
	if w := e.takeSlotLocked(); w != nil {
		wake.Add(w, waiting.Closed)
	}
	for w := e.list.PopFront(); w != nil; w = e.list.PopFront() {
		wake.Add(w, waiting.Closed)
	}
	if e.ordered() {
		e.Opts.Order.Drain(waiting.Closed, &wake)
	}
	// Last: once the flag is visible, no release grants the slot's waiter any more. If W is set the
	// next release clears it.
	e.word.Or(flagClosed)
	e.mu.Unlock()
	wake.Wake()
}

// IsClosed reports whether Close has been called.
func (e *Engine) IsClosed() bool { return e.word.Load()&flagClosed != 0 }
