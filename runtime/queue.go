package rt

import "github.com/farad-go/farad/internal/xsync"

// A ring is the queue of one worker: first in, first out, and bounded. Its owner pushes and pops
// tasks; other workers steal half of them.
//
// head counts the tasks taken out, tail those put in. Task number n stands in slot n modulo the
// size.
//
// Invariants:
//
//  1. Only the owner writes tail and slots, and a slot only when its number is below
//     head+ringSize. So a reader of a slot that then advances head past it has read the task of
//     that number. A thief that was overtaken finds that head has changed, and drops what it has
//     read. (TestModel/ring)
//  2. Every number between head and tail is taken by exactly one compare-and-swap of head.
//
// Numbers repeat after 2³² tasks. To be misled, a thief would have to sleep between two
// instructions for exactly that many.
type ring struct {
	head  xsync.Uint32
	tail  xsync.Uint32
	slots [ringSize]xsync.Pointer[Task]

	// Written by the owner, for forget: the tasks of slots below clean are forgotten, and slots
	// from written on were not written since.
	clean, written uint32
}

// push puts t at the back. It reports false if there is no room.
func (r *ring) push(t *Task) bool {
	tail := r.tail.Load()
	if tail-r.head.Load() >= ringSize {
		return false
	}
	r.slots[tail%ringSize].Store(t)
	r.tail.Store(tail + 1)
	return true
}

// pop takes the oldest task, or nil.
func (r *ring) pop() *Task {
	for { // Each turn follows a theft.
		head := r.head.Load()
		if head == r.tail.Load() {
			return nil
		}
		t := r.slots[head%ringSize].Load()
		if r.head.CompareAndSwap(head, head+1) {
			return t
		}
	}
}

// empty reports whether the ring was empty when it looked.
func (r *ring) empty() bool { return r.head.Load() == r.tail.Load() }

// len returns the number of tasks, roughly.
func (r *ring) len() int {
	n := int32(r.tail.Load() - r.head.Load())
	return int(max(0, min(n, ringSize)))
}

// take takes the older half of the tasks, at least one. It returns the oldest, and moves the others
// into the ring of the caller, which is empty. The second result is the number of tasks taken; the
// first is nil if there are none.
func (r *ring) take(into *ring) (*Task, int) {
	for { // Each turn follows the success of another worker.
		head := r.head.Load()
		n := r.tail.Load() - head
		n -= n / 2
		if n == 0 {
			return nil, 0
		}
		if n > ringSize/2 { // head and tail were read at different times
			continue
		}
		first := r.slots[head%ringSize].Load()
		tail := into.tail.Load()
		for i := uint32(1); i < n; i++ {
			into.slots[(tail+i-1)%ringSize].Store(r.slots[(head+i)%ringSize].Load())
		}
		into.wrote(tail + n - 1)
		if r.head.CompareAndSwap(head, head+n) {
			into.tail.Store(tail + n - 1)
			return first, int(n)
		}
	}
}

// wrote is called when slots below the given number were written, even without success.
func (r *ring) wrote(end uint32) {
	if int32(end-r.written) > 0 {
		r.written = end
	}
}

// forget clears the slots of an empty ring, so that they keep no task from being collected. Only
// the owner may call it. A thief may still read a slot, but finds that head has changed.
func (r *ring) forget() {
	tail := r.tail.Load()
	r.wrote(tail)
	for range min(r.written-r.clean, ringSize) {
		r.written--
		r.slots[r.written%ringSize].Store(nil)
	}
	r.clean, r.written = tail, tail
}

// A list is a queue of tasks, linked through the tasks. Its users guard it.
type list struct {
	head, tail *Task
	size       int
}

func (l *list) pushBack(t *Task) {
	t.next = nil
	if l.tail == nil {
		l.head = t
	} else {
		l.tail.next = t
	}
	l.tail = t
	l.size++
}

func (l *list) popFront() *Task {
	t := l.head
	if t == nil {
		return nil
	}
	l.head = t.next
	if l.head == nil {
		l.tail = nil
	}
	t.next = nil
	l.size--
	return t
}

// An injection is the queue that all workers share. It holds tasks from outside the workers, and
// those that a ring has no room for.
type injection struct {
	mu   xsync.Mutex
	list list       // guarded by mu
	some xsync.Bool // the list is not empty; written under mu, when that changes
}

// push puts t at the back.
func (q *injection) push(t *Task) {
	q.mu.Lock()
	q.list.pushBack(t)
	if q.list.size == 1 {
		q.some.Store(true)
	}
	q.mu.Unlock()
}

// append puts a whole list, which is not empty, behind the others, and empties it.
func (q *injection) append(l *list) {
	q.mu.Lock()
	if q.list.tail == nil {
		q.list = *l
		q.some.Store(true)
	} else {
		q.list.tail.next = l.head
		q.list.tail = l.tail
		q.list.size += l.size
	}
	q.mu.Unlock()
	*l = list{}
}

// pop takes the oldest task, nil if there is none.
func (q *injection) pop() *Task {
	if !q.some.Load() {
		return nil
	}
	q.mu.Lock()
	t := q.popLocked()
	q.mu.Unlock()
	return t
}

// take returns the oldest task, or nil, and moves the share of the worker to its queue, which is
// empty.
func (q *injection) take(w *worker) *Task {
	if !q.some.Load() {
		return nil
	}
	q.mu.Lock()
	share := min(q.list.size/len(w.ex.workers), ringSize/2)
	t := q.popLocked()
	for ; share > 1; share-- {
		w.push(q.popLocked()) // The share fits: w.push does not come back here, where the lock is held.
	}
	q.mu.Unlock()
	return t
}

func (q *injection) popLocked() *Task {
	t := q.list.popFront()
	if t != nil && q.list.size == 0 {
		q.some.Store(false)
	}
	return t
}

// len returns the number of tasks.
func (q *injection) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.list.size
}

// An inbox receives the woken tasks of a worker. Anyone may push a task with one compare-and-swap.
// The worker, or the monitor for it, takes all tasks at once. The word also says whether the worker
// sleeps, so that the first push knows that it has to wake the worker.
//
//	nil      empty; the worker is awake, or a waker has committed to waking it
//	&asleep  empty; the worker sleeps, or is about to
//	other    a stack of tasks, newest first, linked through next
type inbox struct {
	top xsync.Pointer[Task]
}

// asleep marks the inbox of a sleeping worker.
var asleep Task

// push puts t in, and reports whether the worker slept. Then the caller wakes it.
func (b *inbox) push(t *Task) bool {
	for { // Each turn follows another push, or a look or the sleep of the worker.
		top := b.top.Load()
		if top == &asleep {
			t.next = nil
		} else {
			t.next = top
		}
		if b.top.CompareAndSwap(top, t) {
			return top == &asleep
		}
	}
}

// takeAll empties the inbox of a worker that is awake. The oldest task comes first.
func (b *inbox) takeAll() list {
	for { // Each turn follows a push.
		top := b.top.Load()
		if top == nil || top == &asleep {
			return list{}
		}
		if !b.top.CompareAndSwap(top, nil) {
			continue
		}
		if top.next == nil {
			return list{head: top, tail: top, size: 1}
		}
		l := list{tail: top}
		for t := top; t != nil; {
			next := t.next
			t.next = l.head
			l.head = t
			l.size++
			t = next
		}
		return l
	}
}

// sleep marks the worker as sleeping, unless there is a task for it.
func (b *inbox) sleep() bool { return b.top.CompareAndSwap(nil, &asleep) }

// wake undoes sleep, and reports whether it did. Then the caller wakes the worker.
func (b *inbox) wake() bool { return b.top.CompareAndSwap(&asleep, nil) }
