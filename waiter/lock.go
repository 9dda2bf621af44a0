package waiter

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/waiting"
)

// A Request is what a lock is to those who wait for it: to futures by [Bind], and to goroutines by
// [Wait]. They call its methods with no lock held.
type Request interface {
	// Start makes the request for the w.N permits of w, and returns its outcome; or it calls
	// w.Arm(waker), puts w into the lock's line, and returns [Pending].
	Start(w *Waiter, waker Waker) Outcome

	// Unlink takes w out of the line and reports whether it was there. If not, a release was
	// faster, and the outcome is on its way to w.
	Unlink(w *Waiter) bool

	// GiveBack takes back the n permits of a grant that came too late, or that its future has
	// released. If fewer are held it changes nothing and reports false.
	GiveBack(n int64) bool
}

// A Waiter is what stands in the line of a lock: one request. It belongs to the future or to the
// goroutine that waits, so a line of pointers allocates nothing for it. Its field N is how many
// permits the request is for.
type Waiter waiting.Waiter

// Arm prepares w for the line. When the request ends waker is woken, unless it is nil. The Start of
// a [Request] calls Arm before another goroutine can find w.
func (w *Waiter) Arm(waker Waker) { (*waiting.Waiter)(w).Arm(waker) }

// Deliver ends the request with outcome o, which must not be [Pending]. The caller has taken w out
// of the line, holds no lock, and must not touch w again. Deliver reports whether the outcome will
// be seen. If not, w was given up, and the caller takes back what it granted.
//
// A call of Deliver synchronizes before the return of the wait.
func (w *Waiter) Deliver(o Outcome) bool { return (*waiting.Waiter)(w).Deliver(waiting.Outcome(o)) }

// HandOff is Deliver of [Granted], for what the caller has held until now. If a goroutine waits for
// it, that runs at once, on the caller's processor, and the caller later. So what was handed over
// does not lie idle until the caller blocks, and no convoy forms.
func (w *Waiter) HandOff() bool { return (*waiting.Waiter)(w).HandOff() }

// An Outcome is how a request ended. It travels with the wake-up.
type Outcome uint8

// The outcomes.
const (
	// Pending means that the request waits.
	Pending = Outcome(waiting.Pending)
	// Granted means that the permits belong to the waiter.
	Granted = Outcome(waiting.Granted)
	// With the others the waiter got nothing. Each stands for the error of its name.
	Closed      = Outcome(waiting.Closed)
	TooLarge    = Outcome(waiting.TooLarge)
	QueueFull   = Outcome(waiting.QueueFull)
	Shed        = Outcome(waiting.Shed)
	WouldExpire = Outcome(waiting.WouldExpire)
)

// Err returns the error that the outcome stands for, nil for [Granted].
func (o Outcome) Err() error { return waiting.Outcome(o).Err() }

// Bind makes f a request for n permits, n >= 0, by way of r. It is the body of a lock's method
// Bind. It panics if a round of f is under way whose request waits, or was granted. The first Bind
// of a future by this function allocates.
func Bind(f *Future, r Request, n int64) {
	inner := (*waiting.Future)(f)
	a := waiting.Reuse[adapter](inner)
	a.Request = r
	waiting.Bind(inner, a, n)
}

// Wait makes a request of r for n permits, and sleeps until it is granted or l ends the wait. With
// an error the caller holds nothing: it is that of the outcome, or that of l. A cancel that
// happened before the grant wins. In the steady state Wait allocates nothing.
func Wait(l Limit, r Request, n int64) error {
	limit, a := waiting.Limit(l), adapter{r}
	p := waiting.GetParker(limit)
	p.N = n
	o := a.Start(&p.Waiter, nil)
	if o == waiting.Pending {
		p.Start(limit)
		p.Sleeper().SleepInline()
	}
	return waiting.EndRequest(p, limit, a, o)
}

// An adapter is a Request for package waiting.
type adapter struct{ Request }

// Start implements [waiting.Request].
func (a adapter) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	return waiting.Outcome(a.Request.Start((*Waiter)(w), waker))
}

// Unlink implements [waiting.Line].
func (a adapter) Unlink(w *waiting.Waiter) bool { return a.Request.Unlink((*Waiter)(w)) }

// Behind returns what a future names.
func (a adapter) Behind() any { return a.Request }

// A Limit says when a wait ends early: when a context is done, after a time, or never. The zero
// Limit never ends a wait.
type Limit waiting.Limit

// UntilDone returns the limit that ends a wait when ctx is done.
func UntilDone(ctx context.Context) Limit { return Limit(waiting.UntilDone(ctx)) }

// After returns the limit that ends a wait when it has lasted for d, and at once if d <= 0.
func After(d time.Duration) Limit { return Limit(waiting.After(d)) }
