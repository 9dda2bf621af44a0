package waiting

import "github.com/farad-go/farad/internal/xsync"

// A Queue is a FIFO of waiters, doubly linked through the nodes. Every operation takes constant
// time and allocates nothing. The zero Queue is empty. The user of a Queue guards it with a lock.
//
// The lists of internal/parking, internal/order, internal/observed and runtime/antspool are written
// out, too. A generic list that finds the links of an element by a method takes 6.5 ns for a push
// and a remove, this one 1.6 (Go 1.26): the method is called through a dictionary. If the links
// name their element instead, each node has a word more.
type Queue struct {
	head, tail *Waiter
	size       int
}

// Len returns how many waiters are queued.
func (q *Queue) Len() int { return q.size }

// Front returns the oldest waiter, or nil.
func (q *Queue) Front() *Waiter { return q.head }

// Back returns the newest waiter, or nil.
func (q *Queue) Back() *Waiter { return q.tail }

// Next returns the waiter behind w, or nil. w must be in the queue.
func (q *Queue) Next(w *Waiter) *Waiter { return w.next }

// Prev returns the waiter in front of w, or nil if it is the oldest or not in the queue.
func (q *Queue) Prev(w *Waiter) *Waiter { return w.prev }

// PushBack queues w behind all others.
func (q *Queue) PushBack(w *Waiter) {
	w.next, w.prev, w.queued = nil, q.tail, true
	if q.tail == nil {
		q.head = w
	} else {
		q.tail.next = w
	}
	q.tail = w
	q.size++
}

// PushFront queues w in front of all others, as the oldest.
func (q *Queue) PushFront(w *Waiter) {
	w.next, w.prev, w.queued = q.head, nil, true
	if q.head == nil {
		q.tail = w
	} else {
		q.head.prev = w
	}
	q.head = w
	q.size++
}

// PopFront unlinks and returns the oldest waiter, or nil.
func (q *Queue) PopFront() *Waiter {
	w := q.head
	if w == nil {
		return nil
	}
	q.head = w.next
	if q.head == nil {
		q.tail = nil
	} else {
		q.head.prev = nil
	}
	w.next, w.queued = nil, false
	q.size--
	return w
}

// Remove unlinks w and reports whether it was queued. w must not be in another queue.
func (q *Queue) Remove(w *Waiter) bool {
	if !w.queued {
		return false
	}
	if w.prev == nil {
		q.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev, w.queued = nil, nil, false
	q.size--
	return true
}

// A WakeList collects the waiters that a critical section has claimed. They are woken in one batch
// after the lock is released. The list is linked through the nodes, whose queue links are free
// after the claim, so a batch of any size allocates nothing. The zero WakeList is empty.
type WakeList struct {
	head    *Waiter
	tail    *Waiter // while head is not nil
	granted bool    // to a goroutine
}

// Add appends a claimed waiter and the outcome that it will get.
func (l *WakeList) Add(w *Waiter, o Outcome) {
	w.outcome = o // w.next is nil: whatever unlinks a waiter leaves it so
	if l.head == nil {
		l.head = w
	} else {
		l.tail.next = w
	}
	l.tail = w
	l.granted = l.granted || o == Granted && w.ofGoroutine
}

// Wake tells each waiter its outcome, in the order of the claims, and removes it from the list. It
// returns 0 when the list is empty. If a waiter that was granted permits had been abandoned, Wake
// stops and returns their number: the caller gives them back and calls Wake again. The caller holds
// no lock.
func (l *WakeList) Wake() (refused int64) {
	for w := l.head; w != nil; w = l.head {
		// Read first: after Deliver the node belongs to its owner.
		n, o := w.N, w.outcome
		l.head, w.next = w.next, nil
		if !w.Deliver(o) && o == Granted && n > 0 {
			return n
		}
	}
	return 0
}

// HandOff is Wake for what the caller has held until now. When all are awake they run before the
// caller does, as with [Waiter.HandOff].
func (l *WakeList) HandOff() (refused int64) {
	refused = l.Wake()
	if refused == 0 && l.granted {
		l.granted = false
		xsync.Cede()
	}
	return refused
}
