package rt

import (
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// Join waits in a straight-line task until all futures are complete, and returns the first error in
// the order of the list. It does not return early, so what the others have obtained can be given
// back. If the task is aborted, Join releases all futures and returns [ErrCancelled]. It panics if
// a future is nil, or twice in the list. It allocates a few words, and with more than eight futures
// a few words for each.
func Join(cx *Context, fs ...Future) error {
	checkList("Join", fs)
	a := allOf{fs: fs}
	return Await(cx, &a)
}

// AllOf returns a Future that is complete when all of the futures are. Its Err is the first error
// in the order of the list. After its Release, bind each of them again before the next Poll. See
// [Join].
func AllOf(fs ...Future) Future {
	checkList("AllOf", fs)
	return &allOf{fs: fs}
}

// allOf is several futures as one: see [AllOf].
type allOf struct {
	fs    []Future
	ready int    // the number of complete futures at the front; with parts, of all complete ones
	parts *parts // nil for few futures, or before the first Poll
}

// Poll reports whether all futures are complete. The first Poll starts all of them, in the order of
// the list. A later one polls those that have been woken since.
func (a *allOf) Poll(w waiter.Waker) bool {
	if len(a.fs) > few {
		if a.ready < len(a.fs) {
			a.pollWoken(w)
		}
		return a.ready == len(a.fs)
	}
	all := true
	for i := a.ready; i < len(a.fs); i++ {
		switch {
		case !a.fs[i].Poll(w):
			all = false
		case all:
			a.ready = i + 1
		}
	}
	return all
}

// Err returns the first error of the futures in the order of the list, or [waiter.ErrPending] if
// not all are complete.
func (a *allOf) Err() error {
	if a.ready < len(a.fs) {
		return waiter.ErrPending
	}
	var first error
	for _, f := range a.fs { // ask all: the panic of a task that was asked for is not reported
		if err := f.Err(); first == nil {
			first = err
		}
	}
	return first
}

// Release releases all futures.
func (a *allOf) Release() {
	a.ready = 0
	if a.parts != nil {
		a.parts.end()
	}
	releaseBut(a.fs, -1, Future.Release)
}

// parts are many futures, each with a waker of its own that says which future was woken. So a wake
// costs one poll, and not a poll of every future.
//
// A wake puts its part into a list, and wakes the waiter for the whole if the list was empty. The
// owner takes the list, and sets the waker for the next wake in the same step.
//
// Invariants:
//
//  1. A part that was woken is polled afterwards: it is in the list, or the owner has taken it and
//     has not freed it yet. (TestModel/join of many)
//  2. If the list is not empty, the waker that was set last has been woken, or the owner has not
//     returned from the poll that set it. (TestModel/join of many)
type parts struct {
	all   []part
	begun bool // written by the owner: all have been polled

	mu    xsync.Mutex
	waker waiter.Waker // of the wait for the whole; guarded by mu, and so is woken
	woken *part
}

// A part is the waker of one of many futures.
type part struct {
	of *parts
	i  uint32 // its index

	queued bool // in the list, or in the one that the owner has taken; guarded by of.mu
	done   bool // complete; written by the owner
	next   *part
}

// pollWoken polls all futures the first time, and later those that have been woken.
func (a *allOf) pollWoken(w waiter.Waker) {
	p := a.parts
	if p == nil {
		p = &parts{all: make([]part, len(a.fs))}
		for i := range len(p.all) {
			p.all[i].of, p.all[i].i = p, uint32(i)
		}
		a.parts = p
	}
	if o, ok := p.owner().(waiting.Owner); ok {
		o.Displaced(w)
	}
	q := p.take(w)
	if !p.begun {
		p.begun = true
		for i := range len(p.all) {
			p.all[i].done = false
			a.pollPart(&p.all[i])
		}
	}
	for q != nil {
		next := p.free(q)
		if !q.done {
			a.pollPart(q)
		}
		q = next
	}
	if a.ready == len(a.fs) {
		p.end()
	}
}

func (a *allOf) pollPart(q *part) {
	if a.fs[q.i].Poll(q) {
		q.done = true
		a.ready++
	}
}

// take returns the list of woken parts, and directs the next wake to w.
func (p *parts) take(w waiter.Waker) *part {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waker = w
	q := p.woken
	p.woken = nil
	return q
}

// free lets a part be woken again, and returns its successor in the list that was taken.
func (p *parts) free(q *part) *part {
	p.mu.Lock()
	defer p.mu.Unlock()
	q.queued = false
	return q.next
}

// owner returns the waker of the wait for the whole.
func (p *parts) owner() waiter.Waker {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waker
}

// end ends the wait for the whole, in one step. A later wake of a part is a spurious one in the
// next round, and its part stands in the list once.
func (p *parts) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waker, p.woken, p.begun = nil, nil, false
	for i := range len(p.all) {
		p.all[i].queued = false
	}
}

// Wake implements [waiter.Waker].
func (q *part) Wake() {
	p := q.of
	p.mu.Lock()
	var w waiter.Waker
	if !q.queued {
		if p.woken == nil {
			w = p.waker
		}
		q.queued, q.next = true, p.woken
		p.woken = q
	}
	p.mu.Unlock()
	if w != nil {
		w.Wake()
	}
}

// Displaced implements [waiting.Owner], for the wait for the whole.
func (q *part) Displaced(by waiting.Waker) {
	if r, ok := by.(*part); ok && r == q {
		return // a part that was woken and still waits
	}
	if o, ok := q.of.owner().(waiting.Owner); ok {
		o.Displaced(by)
	}
	q.Wake() // the next poll of the whole looks at the part
}
