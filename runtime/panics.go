package rt

import (
	"errors"
	"fmt"
	"os"

	"github.com/farad-go/farad/internal/xsync"
)

// WithPanicHandler has handle called for each panic of a task that nobody waits for when the task
// ends: no Wait, Await, Poll or Done of its [JoinHandle] or of a [Completion] has begun, or all
// that had begun are given up, though they have just been told of the end. The same goes for a
// function of [Blocking] whose task was cancelled meanwhile. Without this option such a panic is
// printed to the standard error, as Go prints one that ends the program.
//
// Who asks later how the task has ended still gets the [*PanicError]. If nobody has by the end,
// [Executor.Shutdown] tells.
//
// handle runs on the goroutine of the worker, which polls nothing meanwhile, and Shutdown waits for
// it; so handle must not wait for Shutdown. If a wait is given up, handle runs where that is done.
// It may be called by several goroutines at once. A panic in handle ends the program: to have every
// such panic end it, let handle panic.
func WithPanicHandler(handle func(*PanicError)) Option {
	if handle == nil {
		panic("rt: nil panic handler")
	}
	return func(o *options) { o.panicked = handle }
}

// panics knows of the panics of an executor's tasks.
type panics struct {
	handle func(*PanicError)

	mu      xsync.Mutex
	all     uint64      // guarded by mu, as is what follows
	unasked int         // of those that nobody waited for: whose error nobody has asked for since
	one     *PanicError // of them; nil if it is not known any more
}

// ended is called under the lock of the task's shard, before anybody can learn of the panic. So
// many waits are being told of it. For each that goes without the error there is a call of gone,
// and one more for the caller.
func (p *panics) ended(e *PanicError, task string, waits int) {
	e.Task, e.panics = task, p
	p.mu.Lock()
	p.all++
	e.waits = waits + 1
	p.mu.Unlock()
}

// gone is called when a wait that was told of the end has been given up all the same. The last one
// reports the panic, unless somebody has asked for it. The caller holds no lock.
func (p *panics) gone(e *PanicError) {
	p.mu.Lock()
	e.waits--
	tell := e.waits == 0 && !e.asked
	if tell {
		e.counted = true
		p.unasked++
		if p.one == nil {
			p.one = e
		}
	}
	p.mu.Unlock()
	if tell {
		p.call(e)
	}
}

// call calls the handler. A panic there ends the program, although it may run in a task or on a
// goroutine of a pool, which recover from panics.
func (p *panics) call(e *PanicError) {
	if explored { // which unwinds threads by panics
		p.handle(e)
		return
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		r := recover()
		if r == nil {
			r = "rt: a panic handler has called Goexit"
		}
		go panic(r)
		select {}
	}()
	p.handle(e)
	returned = true
}

// endGivenUp is called when a wait that was told of the task's end has been given up all the same.
func (t *Task) endGivenUp() {
	s := t.registered()
	s.mu.Lock()
	e, _ := t.more.err.(*PanicError) //nolint:errorlint // the worker's own
	s.mu.Unlock()
	if e != nil {
		e.panics.gone(e)
	}
}

// observed returns err, which somebody has asked for.
func observed(err error) error {
	e, ok := err.(*PanicError) //nolint:errorlint // one that another task has returned is not its panic
	if !ok || e.panics == nil {
		return err
	}
	p := e.panics
	p.mu.Lock()
	defer p.mu.Unlock()
	e.asked = true
	if e.counted {
		e.counted = false
		p.unasked--
	}
	if p.one == e {
		p.one = nil
	}
	return err
}

// count returns how many there were.
func (p *panics) count() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// tell adds to the error of a Shutdown what nobody has asked for.
func (p *panics) tell(err error) error {
	p.mu.Lock()
	u := unaskedError{p.unasked, p.one}
	p.mu.Unlock()
	switch {
	case u.n == 0:
		return err
	case err == nil:
		return &u
	default:
		return errors.Join(err, &u)
	}
}

// An unaskedError is what Shutdown returns if tasks have panicked and nobody knows.
type unaskedError struct {
	n   int
	one *PanicError // may be nil
}

// Error implements error. It has no stack: that has been reported.
func (u *unaskedError) Error() string {
	text := fmt.Sprintf("rt: %d tasks panicked, and nobody waited for them", u.n)
	if u.n == 1 {
		text = "rt: a task panicked, and nobody waited for it"
	}
	if u.one != nil {
		text += ": " + u.one.value()
	}
	return text
}

// Unwrap returns one of the panics.
func (u *unaskedError) Unwrap() error {
	if u.one == nil {
		return nil
	}
	return u.one
}

// value returns the value as Go's runtime prints it.
func (e *PanicError) value() string {
	switch e.Value.(type) {
	case error, fmt.Stringer, string, bool, int, int8, int16, int32, int64,
		uint, uint8, uint16, uint32, uint64, uintptr, float32, float64, complex64, complex128:
		return fmt.Sprint(e.Value) // which survives methods that panic
	default:
		return fmt.Sprintf("(%T) %v", e.Value, e.Value)
	}
}

// printPanic is the handler if none is set. The text goes out at once, so that no other is in it.
func printPanic(e *PanicError) {
	text := fmt.Sprintf("panic: %s [recovered by the executor]\n\ntask %s, which nobody waits for:\n%s\n",
		e.value(), e.Task, e.Stack)
	_, _ = os.Stderr.WriteString(text)
}
