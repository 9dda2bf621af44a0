package waiting

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/xsync"
)

// A Limit says when a wait ends early: see package waiter.
type Limit struct {
	// Four words, so that a Limit stays in registers. A fifth would have it copied through memory,
	// several times for each wait.

	ctx  context.Context // nil: there is none
	done <-chan struct{} // ctx's, asked for once; without ctx, lasts or ends: the limit is a time
	time int64           // with lasts: how long the wait may last; with ends: until when, as xsync.Now says it;
	// if nothing ends the wait: inChannel, or 0
}

// inChannel is the time of a limit that never ends a wait, and puts it into a channel.
const inChannel = 1

// lasts and ends stand for the kinds of times. They are only compared.
var lasts, ends = make(chan struct{}), make(chan struct{})

// UntilDone returns the limit that ends a wait when ctx is done.
func UntilDone(ctx context.Context) Limit { return Limit{ctx: ctx, done: doneOf(ctx)} }

// doneOf returns the channel of a context, which a wait is about to need.
func doneOf(ctx context.Context) <-chan struct{} {
	done := ctx.Done()
	if done == nil {
		xsync.Learn(ctx)
	} else {
		mayWatch()
	}
	return done
}

// After returns the limit that ends a wait when it has lasted for d, and at once if d <= 0.
func After(d time.Duration) Limit {
	return Limit{done: lasts, time: int64(max(d, 0))} // Less than zero might wrap in left.
}

// Until returns the limit that ends a wait when it has lasted for d, if d > 0; otherwise when ctx
// is done. A context that cannot end is not asked for its channel.
func Until(ctx context.Context, d time.Duration) Limit {
	switch {
	case d > 0:
		return After(d)
	case xsync.MayEnd(ctx):
		return UntilDone(ctx)
	}
	return Limit{}
}

// Fixed returns l with a fixed end in time. A wait that sleeps more than once uses it, because
// After would grant each sleep the whole duration.
func (l Limit) Fixed() Limit {
	if l.done == lasts {
		l.time += xsync.Now() // It may wrap: only differences count.
		l.done = ends
	}
	return l
}

// InChannel returns l, but puts a wait that nothing ends into a channel, as [UseChannels] does. The
// profile of leaked goroutines finds it there.
func (l Limit) InChannel() Limit {
	if l.done == nil {
		l.time = inChannel
	}
	return l
}

// MayEnd reports whether l can end a wait.
func (l Limit) MayEnd() bool { return l.done != nil }

// Done returns the channel of the context, nil if l is a time or has a context that cannot end.
func (l Limit) Done() <-chan struct{} {
	if l.ctx == nil {
		return nil
	}
	return l.done
}

// Deadline returns when l will end a wait that begins now, in the time of the clock that locks use
// to wait, or 0 if that is not known.
func (l Limit) Deadline() int64 {
	switch l.done {
	case lasts:
		return l.time + xsync.Now() // It may wrap: only differences count.
	case ends:
		return l.time
	}
	if l.ctx != nil {
		if at, ok := l.ctx.Deadline(); ok {
			return xsync.Now() + int64(time.Until(at))
		}
	}
	return 0
}

// timed reports whether l is a time.
func (l Limit) timed() bool { return l.ctx == nil && l.done != nil }

// Cancelled returns the error of the context if that is done, otherwise nil. Locks call it after a
// grant, because a cancel that happened before the grant wins. A duration never cancels: if a grant
// and its end come together either may win.
func (l Limit) Cancelled() error {
	if l.ctx == nil {
		return nil
	}
	return l.ctx.Err()
}

// Err returns the error of a wait that l has ended: that of the context, or
// [context.DeadlineExceeded].
func (l Limit) Err() error {
	if l.ctx == nil {
		return context.DeadlineExceeded
	}
	return ContextError(l.ctx)
}

// ContextError returns the error of a context whose done channel is closed: that of a cancel if the
// context, of a foreign type, has none. A wait that was given up must not look like a success.
func ContextError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Canceled
}

// left returns how long a wait that begins now may last.
func (l Limit) left() time.Duration {
	if l.done == ends {
		return time.Duration(l.time - xsync.Now())
	}
	return time.Duration(l.time)
}
