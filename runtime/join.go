package runtime

import "github.com/farad-go/farad/waiter"

// Join waits in a straight-line task until all of the futures are complete, and returns the first error, in the order of
// the list. It does not end early: what has been obtained is there to be given back. If the task is cancelled, all
// futures are, and Join returns [ErrCancelled].
func Join(cx *Context, fs ...Future) error {
	a := All{fs: fs}
	return Await(cx, &a)
}

// AllOf returns the futures as one, which is complete when all of them are. See [Join].
func AllOf(fs ...Future) *All { return &All{fs: fs} }

// All is several futures as one: see [AllOf].
type All struct {
	fs    []Future
	ready int // the first so many are complete
}

// Poll reports whether all futures are complete. All of them are started by the first Poll.
func (a *All) Poll(w waiter.Waker) bool {
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

// Err returns the first error of the futures, in the order of the list; [waiter.ErrPending] unless all are complete.
func (a *All) Err() error {
	if a.ready < len(a.fs) {
		return waiter.ErrPending
	}
	var first error
	for _, f := range a.fs { // all of them: Err is what takes over what a future has obtained
		if err := f.Err(); first == nil {
			first = err
		}
	}
	return first
}

// Cancel cancels all of the futures: what some have obtained is given back, even if others have not yet.
func (a *All) Cancel() {
	a.ready = 0
	cancelBut(a.fs, -1, Future.Cancel)
}
