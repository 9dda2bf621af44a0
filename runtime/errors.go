package rt

import (
	"errors"
	"fmt"

	"github.com/farad-go/farad/waiter"
)

// The errors of this package.
var (
	// ErrCancelled: the task has been asked to end, and the wait was cut short for it. It is the
	// value that the whole module uses; [Context.Err] tells whether this task was meant.
	ErrCancelled = waiter.ErrCancelled
	// ErrShutdown: the executor takes no more tasks.
	ErrShutdown = errors.New("rt: executor shut down")
	// ErrGoexit: the task ended its goroutine with runtime.Goexit, as FailNow of package testing
	// does.
	ErrGoexit = errors.New("rt: task called Goexit")
	// ErrStuck: tasks have not ended although they were cancelled.
	ErrStuck = errors.New("rt: tasks did not end")
)

// A PanicError says that a task, or a function given to [Blocking], has panicked. If nobody waits
// for it, it is reported: see [WithPanicHandler].
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // where, as debug.Stack formats it
	Task  string // the name of the task, as in [TaskInfo]

	panics         *panics // of the executor; nil: not of a task that has ended
	asked, counted bool    // somebody has asked for it; it is among the unasked: under its lock
	waits          int     // those that have been told, and have not gone: under its lock
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
