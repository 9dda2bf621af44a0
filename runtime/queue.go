package rt

import "github.com/farad-go/farad/internal/xsync"

// A ring is the queue of one worker: first in, first out, bounded. Its owner puts tasks in and
// takes them out; others steal half of what is there.
//
// head counts the tasks taken out, tail those put in; a task stands in the slot of its number
// modulo the size.
//
// Invariants:
//
//  1. Only the owner writes tail and slots, and a slot only when its number is below head+ringSize:
//     whoever reads a slot and then moves head past it has read the task of that number. A thief
//     that was overtaken finds head moved, and has read in vain. (TestModel/ring)
//  2. Every number between head and tail is taken by exactly one compare-and-swap of head.
//
// After 2³² tasks the numbers repeat. A thief would have to sleep between two of its instructions
// for exactly so long.
type ring struct {
	head  xsync.Uint32
	tail  xsync.Uint32
	slots [ringSize]xsync.Pointer[Task]

	// The owner's, for forget: what slots below clean have had is gone, those from written on have
	// had nothing since.
	clean, written uint32
}

// push puts t behind all others. It reports false if there is no room.
func (r *ring) push(t *Task) bool {
	tail := r.tail.Load()
	if tail-r.head.Load() >= ringSize {
		return false
	}
	r.slots[tail%ringSize].Store(t)
	r.tail.Store(tail + 1)
	return true
}

// pop takes the oldest task, nil if there is none.
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

// empty reports whether nothing was there when it looked.
func (r *ring) empty() bool { return r.head.Load() == r.tail.Load() }

// len returns about how many tasks there are.
func (r *ring) len() int {
	n := int32(r.tail.Load() - r.head.Load())
	return int(max(0, min(n, ringSize)))
}

// take moves the older half of the tasks, at least one, into the ring of another worker, which is
// empty and the caller's own, and returns the oldest of them, which it does not put there. It
// returns nil if there was nothing, and the number.
func (r *ring) take(into *ring) (*Task, int) {
	for { // Each turn follows somebody else's success.
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

// wrote is called when slots below the given number have been written, be it in vain.
func (r *ring) wrote(end uint32) {
	if int32(end-r.written) > 0 {
		r.written = end
	}
}

// forget has an empty ring keep no task from being collected, nor what it refers to. Only the owner
// may call it. A thief may read a slot as it goes, but finds head moved.
func (r *ring) forget() {
	tail := r.tail.Load()
	r.wrote(tail)
	for range min(r.written-r.clean, ringSize) {
		r.written--
		r.slots[r.written%ringSize].Store(nil)
	}
	r.clean, r.written = tail, tail
}

// A list is a queue of tasks, linked through the tasks. Whoever uses it guards it.
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

// An injection is the queue that all workers share: for tasks that come from outside, and for what
// has no room in a ring.
type injection struct {
	mu   xsync.Mutex
	list list       // guarded by mu
	some xsync.Bool // the list is not empty; written under mu, when that changes
}

// push puts t behind the others.
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

// take returns the oldest task, nil if there is none, and moves the worker's share of the others to
// its queue, which is empty.
func (q *injection) take(w *worker) *Task {
	if !q.some.Load() {
		return nil
	}
	q.mu.Lock()
	share := min(q.list.size/len(w.ex.workers), ringSize/2)
	t := q.popLocked()
	for ; share > 1; share-- {
		w.push(q.popLocked()) // does not overflow into this queue, whose lock is held
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

// len returns how many tasks there are.
func (q *injection) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.list.size
}

// An inbox is where a worker finds what was woken for it. Anybody may put a task in, with one
// compare-and-swap; it is emptied all at once, by the worker or, if that does not come to it, by
// another. The word also says whether the worker sleeps, so that whoever puts in the first task is
// the one who has to wake it.
//
//	nil      empty; the worker is awake, or somebody has undertaken to wake it
//	&asleep  empty; the worker sleeps, or is about to
//	other    a stack of tasks, newest first, linked through next
type inbox struct {
	top xsync.Pointer[Task]
}

// asleep marks the inbox of a worker that sleeps.
var asleep Task

// push puts t in, and reports whether the worker slept: then the caller wakes it.
func (b *inbox) push(t *Task) bool {
	for { // Each turn follows somebody else's push, the worker's look, or its falling asleep.
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

// takeAll empties the inbox of a worker that is awake. The tasks come oldest first.
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

// sleep marks the worker as sleeping, unless there is something for it.
func (b *inbox) sleep() bool { return b.top.CompareAndSwap(nil, &asleep) }

// wake undoes sleep, and reports whether it did: then it is the caller who wakes the worker.
func (b *inbox) wake() bool { return b.top.CompareAndSwap(&asleep, nil) }
