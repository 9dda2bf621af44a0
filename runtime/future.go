package rt

import (
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Future is something that completes at some time, and that a task or a goroutine can wait for
// without blocking. The futures of the locks are Futures, and so are those of this package. A
// future has one owner at a time.
//
// Poll starts what the future is for, unless that was done, and reports whether the future is
// complete. If not, it wakes w when another Poll is worthwhile; w replaces the waker of the last
// Poll. Polling a complete future changes nothing.
//
// Err says how the future ended: nil for success, [waiter.ErrPending] if it has not ended. What a
// successful future has obtained, such as a permit, it keeps until Release.
//
// Release ends the future in every state: it gives up the wait, or gives back what was obtained.
// Release does not block, and may be called again. A deferred call is correct on every path. The
// next wait begins with the future's own Bind or Init. A [waiter.Future] has another end: Take
// leaves what was obtained to the owner.
//
// A future that waits for one task must be released before another task polls it. With the futures
// of this module the second task panics.
type Future interface {
	Poll(w waiter.Waker) bool
	Err() error
	Release()
}

// Await waits for f in a straight-line task and returns f.Err. The task holds no worker meanwhile.
// If the task is aborted, Await releases f and returns [ErrCancelled], and so does every later
// Await of the task.
//
// Await panics outside straight-line tasks, which [Go] starts. It allocates nothing.
func Await(cx *Context, f Future) error {
	t := cx.straightLine()
	if f == nil {
		panic("rt: Await of a nil future")
	}
	for {
		if t.isCancelled() {
			t.release(f)
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

// restart makes f a new request r. It reports false while f waits.
func restart(f *waiting.Future, r waiting.Request) bool {
	node := f.Node()
	for node.Status() == waiting.StatusBusy {
		xsync.Yield() // to the claimer, which is about to finish
	}
	switch node.Status() {
	case waiting.StatusWaiting:
		return false
	case waiting.StatusComplete:
		node.N = 0 // nothing to give back
	default:
	}
	waiting.Bind(f, r, 0)
	return true
}

// Yield lets the queued tasks run first. It returns [ErrCancelled] if the task was aborted. It is
// for straight-line tasks; poll tasks have [Context.Yield].
func Yield(cx *Context) error {
	t := cx.straightLine()
	cx.again = true
	cx.pause()
	if t.isCancelled() {
		return ErrCancelled
	}
	return nil
}
