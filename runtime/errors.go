package rt

import (
	"errors"
	"fmt"

	"github.com/farad-go/farad/waiter"
)

// The errors of this package.
var (
	// ErrCancelled: the task was asked to end, and its wait was cut short. It is one value for the
	// whole module: [Context.Err] says whether this task was asked.
	ErrCancelled = waiter.ErrCancelled
	// ErrShutdown: the executor accepts no more tasks.
	ErrShutdown = errors.New("rt: executor shut down")
	// ErrGoexit: the task has called runtime.Goexit, as FailNow of package testing does.
	ErrGoexit = errors.New("rt: task called Goexit")
	// ErrStuck: tasks, blocking functions or reports did not end although they were asked to.
	ErrStuck = errors.New("rt: tasks did not end")
)

// A PanicError is the error of a task, or of a function of [Blocking], that has panicked. If no
// goroutine waits for the task, the panic is reported: see [WithPanicHandler].
type PanicError struct {
	Value any    // the argument of panic
	Stack []byte // formatted by debug.Stack
	Task  string // the name of the task, as in [TaskInfo]

	panics         *panics // of the executor; nil if the task has not ended
	asked, counted bool    // a goroutine has asked for it; it counts as unasked: guarded by panics.mu
	waits          int     // waits that were notified and not given up: guarded by panics.mu
}

// Error returns the value and the stack.
func (e *PanicError) Error() string {
	return fmt.Sprintf("rt: task panicked: %v\n\n%s", e.Value, e.Stack)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
