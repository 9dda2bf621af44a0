//go:build interleave

package semtest

import "github.com/farad-go/farad/internal/interleave"

// A Task polls futures: it sleeps until its waker, which it is itself, is called.
type Task struct {
	x     *interleave.Run
	owner int
	woken *interleave.Signal
	again bool // it has woken itself
}

// NewTask returns a task of the thread that runs.
func NewTask(x *interleave.Run) *Task {
	return &Task{x: x, owner: x.Running(), woken: interleave.NewSignal(1)}
}

// Wake implements [waiter.Waker].
func (t *Task) Wake() {
	if t.x.Running() == t.owner { // no other goroutine may touch the field: others wake whenever they like
		t.again = true
	}
	t.woken.TrySend()
}

// Sleep waits to be woken. A poll that meets a claimer's last steps wakes its own task; an executor
// would then run others first, as Yield does.
func (t *Task) Sleep() {
	t.woken.Receive()
	if t.again {
		t.again = false
		interleave.Yield()
	}
}
