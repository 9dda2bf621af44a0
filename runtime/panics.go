package rt

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/farad-go/farad/internal/observed/agents"
	"github.com/farad-go/farad/internal/xsync"
)

// WithPanicHandler has handle called for each panic of a task that no goroutine waits for when the
// task ends. No goroutine waits if no Wait, Await, Poll or Done of its [JoinHandle] or of a
// [Completion] has begun, or if all of them are given up just after they were notified of the end.
// It also covers a function of [Blocking] whose task was aborted meanwhile. Without this option,
// such a panic is printed to the standard error in the format of a panic that ends the program.
//
// A later request for the error of the task still returns the [*PanicError]. If there is none by
// the end, [Executor.Shutdown] reports the panic.
//
// handle runs on the goroutine of the worker, which polls nothing meanwhile, or of the wait that is
// given up. Several goroutines may call it at the same time. Shutdown waits for it, so handle must
// not wait for Shutdown. A panic in handle ends the program.
func WithPanicHandler(handle func(*PanicError)) Option {
	if handle == nil {
		panic("rt: nil panic handler")
	}
	return func(o *options) { o.panicked = handle }
}

// panics knows the panics of an executor's tasks.
type panics struct {
	handle func(*PanicError)

	mu      xsync.Mutex
	all     uint64      // guarded by mu, and so are the fields below
	unasked int         // panics that no goroutine waited for, and whose error no goroutine has asked for since
	one     *PanicError // one of the unasked; nil if it is no longer known

	keeps bool // the last panics are kept
	kept  []keptPanic
}

// A keptPanic is one of the last panics of an executor that is observed.
type keptPanic struct {
	at time.Time
	e  *PanicError
}

const maxKeptPanics = 16

// ended is called under the lock of the task's shard, before anyone can observe the panic. waits is
// the number of waits that are notified of it. Each wait that is given up without the error calls
// gone, and so does the caller, once.
func (p *panics) ended(e *PanicError, task string, waits int) {
	e.Task, e.panics = task, p
	p.mu.Lock()
	p.all++
	if p.keeps {
		if len(p.kept) == maxKeptPanics {
			p.kept = slices.Delete(p.kept, 0, 1)
		}
		p.kept = append(p.kept, keptPanic{time.Now(), e})
	}
	e.waits = waits + 1
	p.mu.Unlock()
}

// gone is called when a wait that was notified of the end was given up. The last call reports the
// panic, unless a goroutine has asked for it. The caller holds no lock.
func (p *panics) gone(e *PanicError) {
	p.mu.Lock()
	e.waits--
	last := e.waits == 0 && !e.asked
	if last {
		e.counted = true
		p.unasked++
		if p.one == nil {
			p.one = e
		}
	}
	p.mu.Unlock()
	if last {
		p.call(e)
	}
}

// call calls the handler. A panic in the handler ends the program, even in a task or on a goroutine
// of a pool, both of which recover from panics.
func (p *panics) call(e *PanicError) {
	if explored { // The explorer unwinds threads by panics.
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

// endGivenUp is called when a wait that was notified of the end of the task was given up.
func (t *Task) endGivenUp() {
	s := t.registered()
	s.mu.Lock()
	e, _ := t.more.err.(*PanicError) //nolint:errorlint // the worker's own
	s.mu.Unlock()
	if e != nil {
		e.panics.gone(e)
	}
}

// askedFor returns err, after it has noted that a goroutine has asked for it.
func askedFor(err error) error {
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

// count returns the number of panics.
func (p *panics) count() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// keep sets whether the last panics are kept.
func (p *panics) keep(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keeps = on
	if !on {
		p.kept = nil
	}
}

// last returns the number of panics, and the last ones that are kept, oldest first.
func (p *panics) last() (n uint64, last []agents.Panic) {
	p.mu.Lock()
	n = p.all
	kept := slices.Clone(p.kept)
	p.mu.Unlock()
	for _, k := range kept { // without the lock: value may call a method of the user's
		last = append(last, agents.Panic{At: k.at, Task: k.e.Task, Value: k.e.value(), Stack: string(k.e.Stack)})
	}
	return n, last
}

// join adds the panics that no goroutine has asked for to the error of a Shutdown.
func (p *panics) join(err error) error {
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

// An unaskedError is the error of Shutdown for panics that no goroutine has asked for.
type unaskedError struct {
	n   int
	one *PanicError // may be nil
}

// Error implements error. The text has no stack, because that was reported.
func (u *unaskedError) Error() string {
	text := fmt.Sprintf("rt: %d tasks panicked unobserved", u.n)
	if u.n == 1 {
		text = "rt: a task panicked unobserved"
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

// value formats the value as Go's runtime does.
func (e *PanicError) value() string {
	switch e.Value.(type) {
	case error, fmt.Stringer, string, bool, int, int8, int16, int32, int64,
		uint, uint8, uint16, uint32, uint64, uintptr, float32, float64, complex64, complex128:
		return fmt.Sprint(e.Value) // survives methods that panic
	default:
		return fmt.Sprintf("(%T) %v", e.Value, e.Value)
	}
}

// printPanic is the default handler. It writes the text in one call, so that no other text is mixed
// in.
func printPanic(e *PanicError) {
	text := fmt.Sprintf("panic: %s [recovered by the executor]\n\ntask %s, unobserved:\n%s\n",
		e.value(), e.Task, e.Stack)
	_, _ = os.Stderr.WriteString(text)
}
