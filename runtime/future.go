package rt

import (
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Future is something that completes some time, and that a task or a goroutine can wait for
// without blocking. The futures of the locks are such, and those of this package. A future is for
// one owner at a time.
//
// Poll starts what the future is for if it has not been started, and reports whether it is
// complete. If not, w will be woken when it is worth polling again; it takes the place of the waker
// of the last Poll. Polling a complete future changes nothing.
//
// Err says how it ended: nil for success, [waiter.ErrPending] if it has not. What a future that
// succeeded has obtained, a permit for instance, is the owner's from the first Err that returned
// nil.
//
// A future that waits for one task must be cancelled before another task polls it: futures that are
// built on [waiter.Waiter], as those of this module are, make the second task panic.
//
// Cancel ends it. What it has obtained and the owner has not, it gives back. Cancel does not block,
// and a second one does no harm. The futures of the locks have a Release or Unlock besides, which
// gives back even what the owner has: deferred after Init it is right however the waits of a task
// end.
type Future interface {
	Poll(w waiter.Waker) bool
	Err() error
	Cancel()
}

// Await waits for f, and returns its Err. Meanwhile the task holds no worker. If the task is
// cancelled, Await cancels f and returns [ErrCancelled]; so does every further Await of the task.
//
// It is for straight-line tasks, the ones that [Go] starts, and panics elsewhere. It allocates
// nothing.
func Await(cx *Context, f Future) error {
	t := cx.straightLine()
	if f == nil {
		panic("rt: Await of a nil future")
	}
	for {
		if t.isCancelled() {
			t.cancel(f)
			return ErrCancelled
		}
		if t.poll(f) {
			if cx.spent() {
				cx.pause()
			}
			return f.Err()
		}
		t.waits = f
		cx.pause()
		t.waits = nil
	}
}

// repoll is the Poll of a future that is one node and has been started; s is the node's status.
func repoll(n *waiter.Waiter, s waiter.Status, w waiter.Waker) bool {
	if s == waiter.StatusWaiting {
		s = n.Rearm(w)
	}
	if s == waiter.StatusBusy && w != nil {
		w.Wake() // a claimer is at its last few steps
	}
	return s == waiter.StatusComplete
}

// settle waits for the last steps of the one that has begun to complete a node. A value on the
// channel comes before them, and so may the end of a Cancel.
func settle(n *waiter.Waiter) {
	for n.Status() == waiter.StatusBusy {
		xsync.Yield()
	}
}

// Yield lets other tasks run. It returns [ErrCancelled] if the task has been cancelled. It is for
// straight-line tasks; poll tasks have [Context.Yield].
func Yield(cx *Context) error {
	t := cx.straightLine()
	cx.again = true
	cx.pause()
	if t.isCancelled() {
		return ErrCancelled
	}
	return nil
}
