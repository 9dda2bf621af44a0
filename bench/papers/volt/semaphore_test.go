package volt

import "github.com/farad-go/farad/internal/interleave"

// This file transcribes the page "Counting Semaphore Algorithm" of Volt's documentation: its
// functions, in its order, under its names. Each comment says which part of the page stands below
// it. The Mutex on top is left out.
//
// What threads share is of modelled types, so that the explorer sees every step, the racing ones
// included: also what the page has as plain fields and touches without the mutex (the waker, the
// links). What only the mutex's holder touches is plain here, too. Where the page leaves something
// open, the comments say "Reading:", and the reading is the one under which least goes wrong.

// Semaphore is the page's "Data Structures", first block. Alignment is left out.
type Semaphore struct {
	permits    interleave.Int64           // available; changed under mutex or by compare-and-swap
	fastWaiter interleave.Pointer[Waiter] // nil: empty
	mutex      interleave.Mutex
	waiters    waiterList // guarded by mutex
}

func newSemaphore(permits int64) *Semaphore {
	s := new(Semaphore)
	s.permits.Store(permits)
	return s
}

// Waiter is the page's "Data Structures", second block.
//
// Reading: waker and waker_ctx, two plain words on the page, are one word here: no mixture of two
// wakers is ever seen.
type Waiter struct {
	state            interleave.Int64 // permits still needed
	permitsRequested int64
	waker            interleave.Pointer[Waker]
	next, prev       interleave.Pointer[Waiter] // the page's pointers
}

// isComplete is used by "Cancellation", and mentioned in "Tier 1".
func (w *Waiter) isComplete() bool {
	return w.state.Load() == 0
}

// assignPermits is called in "The acquireWait Algorithm" for a waiter that is not queued yet.
func (w *Waiter) assignPermits(rem *int64) {
	needed := w.state.Load()
	take := min(*rem, needed)
	w.state.Store(needed - take)
	*rem -= take
}

// A Waker is what the page calls a wake callback with its context: it has the task polled again.
//
// Reading: a wake is remembered until the task looks, and wakes of a task that is awake do no harm.
type Waker struct{ *interleave.Signal }

func newWaker() *Waker { return &Waker{interleave.NewSignal(1)} }

func (k *Waker) wake() {
	k.TrySend()
}

// waiterList is the FIFO of "Data Structures": push front, serve from back.
type waiterList struct{ head, tail *Waiter }

func (l *waiterList) back() *Waiter { return l.tail }

func (l *waiterList) pushFront(w *Waiter) {
	w.next.Store(l.head)
	w.prev.Store(nil)
	if l.head != nil {
		l.head.prev.Store(w)
	} else {
		l.tail = w
	}
	l.head = w
}

func (l *waiterList) popBack() {
	w := l.tail
	l.tail = w.prev.Load()
	if l.tail != nil {
		l.tail.next.Store(nil)
	} else {
		l.head = nil
	}
}

// remove takes w out.
//
// Reading: one that is in no list stays what it is, and so does the list, as in Tokio, to which the
// page refers.
func (l *waiterList) remove(w *Waiter) {
	next := w.next.Load()
	prev := w.prev.Load()
	if prev == nil && l.head != w || next == nil && l.tail != w {
		return
	}
	if prev != nil {
		prev.next.Store(next)
	} else {
		l.head = next
	}
	if next != nil {
		next.prev.Store(prev)
	} else {
		l.tail = prev
	}
}

// tryAcquire is "The tryAcquire Fast Path". A compare-and-swap that fails returns the value on the
// page, and is followed by a load here, as everywhere below.
func (s *Semaphore) tryAcquire(num int64) bool {
	current := s.permits.Load()
	for {
		if current < num {
			return false
		}
		if s.permits.CompareAndSwap(current, current-num) {
			return true
		}
		current = s.permits.Load()
	}
}

// acquireWait is "The acquireWait Algorithm". It knows no fast slot.
func (s *Semaphore) acquireWait(w *Waiter) bool {
	needed := w.state.Load()
	if s.tryAcquire(needed) { // the page has the same loop in line
		w.state.Store(0)
		return true
	}
	s.mutex.Lock()
	if s.drain(w, needed) {
		s.mutex.Unlock()
		return true
	}
	s.waiters.pushFront(w)
	s.mutex.Unlock()
	return false
}

// drain is the middle of "The acquireWait Algorithm", from "Under lock: drain available permits via
// CAS" to "Partially fulfilled". It reports whether w has all that it needs.
func (s *Semaphore) drain(w *Waiter, needed int64) bool {
	acquired := int64(0)
	current := s.permits.Load()
	for acquired < needed && current > 0 {
		take := min(current, needed-acquired)
		if s.permits.CompareAndSwap(current, current-take) {
			acquired += take
		}
		current = s.permits.Load()
	}
	if acquired >= needed {
		w.state.Store(0)
		return true
	}
	if acquired > 0 {
		w.assignPermits(&acquired)
	}
	return false
}

// acquireWaitDirect is "The acquireWaitDirect Algorithm".
func (s *Semaphore) acquireWaitDirect(w *Waiter) bool {
	needed := w.state.Load()
	s.mutex.Lock()
	if s.drain(w, needed) { // "same as acquireWait slow path"
		s.mutex.Unlock()
		return true
	}
	if s.fastWaiter.CompareAndSwap(nil, w) {
		s.mutex.Unlock()
		return false
	}
	s.waiters.pushFront(w)
	s.mutex.Unlock()
	return false
}

// release is "The release Algorithm". Its tiers are functions of their own, cut where the page
// cuts.
func (s *Semaphore) release(num int64) {
	if num == 0 {
		return
	}
	if w := s.fastWaiter.Swap(nil); w != nil {
		s.releaseToFastWaiter(w, num)
		return
	}
	s.mutex.Lock()
	s.releaseLocked(num)
}

// releaseToFastWaiter is "Tier 1: Fast waiter slot (lock-free)", after the swap.
func (s *Semaphore) releaseToFastWaiter(w *Waiter, num int64) {
	// "CRITICAL: Copy waker BEFORE modifying state."
	waker := w.waker.Load()
	remaining := w.state.Load()
	if num >= remaining {
		w.state.Store(0)
		if surplus := num - remaining; surplus > 0 {
			s.releaseSurplus(surplus)
		}
		if waker != nil {
			waker.wake()
		}
		return
	}
	w.state.Store(remaining - num)
	if s.fastWaiter.CompareAndSwap(nil, w) {
		return
	}
	s.mutex.Lock()
	s.waiters.pushFront(w)
	s.mutex.Unlock()
}

// releaseSurplus is "Tier 2: releaseSurplus (mutex, for remaining list waiters)".
func (s *Semaphore) releaseSurplus(surplus int64) {
	s.mutex.Lock()
	s.releaseLocked(surplus)
}

// releaseLocked is "Tier 3: Mutex slow path (linked list)", after the mutex is taken;
// releaseSurplus ends in the same lines.
func (s *Semaphore) releaseLocked(num int64) {
	if s.waiters.back() == nil {
		s.permits.Add(num)
		s.mutex.Unlock()
		return
	}
	s.releaseToWaiters(num)
}

// releaseToWaiters is the second block of "Tier 3". It unlocks the mutex.
//
// Reading: where the page says "collect waker" it says so after popBack, so the waker is read
// there.
func (s *Semaphore) releaseToWaiters(num int64) {
	var wakeList []*Waker
	popBack := func(w *Waiter) {
		s.waiters.popBack()
		if waker := w.waker.Load(); waker != nil {
			wakeList = append(wakeList, waker)
		}
	}
	for num > 0 {
		w := s.waiters.back()
		if w == nil {
			break
		}
		remaining := w.state.Load()
		if remaining == 0 {
			popBack(w)
			continue
		}
		assign := min(num, remaining)
		w.state.Store(remaining - assign)
		num -= assign
		if remaining-assign != 0 {
			break // partially satisfied, no more permits
		}
		popBack(w)
	}
	if num > 0 {
		s.permits.Add(num)
	}
	s.mutex.Unlock()
	for _, k := range wakeList {
		k.wake()
	}
}

// cancelAcquire is "Cancellation".
//
// Reading: the page's function returns nothing. This one reports whether it found the request
// complete, so that a caller can give back what it was granted.
func (s *Semaphore) cancelAcquire(w *Waiter) (complete bool) {
	if w.isComplete() {
		return true
	}
	if s.fastWaiter.CompareAndSwap(w, nil) {
		s.release(w.permitsRequested - w.state.Load())
		return false
	}
	s.mutex.Lock()
	if w.isComplete() {
		s.mutex.Unlock()
		return true
	}
	s.waiters.remove(w)
	w.next.Store(nil)
	w.prev.Store(nil)
	acquired := w.permitsRequested - w.state.Load()
	s.mutex.Unlock()
	s.release(acquired)
	return false
}

// AcquireFuture is mentioned throughout, but not shown: it embeds its waiter, and its first poll
// calls tryAcquire, and then acquireWaitDirect.
type AcquireFuture struct {
	sem     *Semaphore
	waiter  Waiter
	waiting bool
}

func newFuture(s *Semaphore, num int64) *AcquireFuture {
	f := new(AcquireFuture)
	f.init(s, num)
	return f
}

// init makes f a new request. The previous one, if any, must be complete: "AcquireFuture may deinit
// after isComplete() returns true".
func (f *AcquireFuture) init(s *Semaphore, num int64) {
	f.sem, f.waiting = s, false
	f.waiter.permitsRequested = num
	f.waiter.state.Store(num)
	f.waiter.waker.Store(nil)
	f.waiter.next.Store(nil)
	f.waiter.prev.Store(nil)
}

// poll reports whether the permits are there. If not, k will be woken.
//
// Reading: a later poll that brings another waker stores it first and then looks again.
func (f *AcquireFuture) poll(k *Waker) bool {
	w := &f.waiter
	if !f.waiting {
		if f.sem.tryAcquire(w.permitsRequested) {
			w.state.Store(0)
			return true
		}
		w.waker.Store(k)
		f.waiting = true
		return f.sem.acquireWaitDirect(w)
	}
	if w.isComplete() {
		return true
	}
	if w.waker.Load() == k {
		return false
	}
	w.waker.Store(k)
	return w.isComplete()
}

// await polls, and sleeps until it is woken, until the permits are there: it is the task.
func (f *AcquireFuture) await(k *Waker) {
	for !f.poll(k) {
		k.Receive()
	}
}
