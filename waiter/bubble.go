//go:build !interleave

package waiter

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/internal/linked"
	"github.com/farad-go/farad/internal/xsync"
)

// bubbles says whether this process can contain testing/synctest bubbles at all: only a test binary
// that uses that package can. The first wait finds out and writes it; if several do, they all write
// the same. (The build information does not say it: in it the tests of a main package look like the
// program.)
var bubbles xsync.Uint32

// The values of bubbles.
const (
	bubblesUnknown = iota
	bubblesPossible
	bubblesNever
)

// InBubble reports whether the calling goroutine runs in a testing/synctest bubble, where nothing
// may be used that was made outside, nor anything be kept that was made inside. In a program
// without bubbles it costs one load.
func InBubble() bool { return bubbles.Load() != bubblesNever && inBubble() }

// inBubble is InBubble where bubbles may be possible. A channel or a timer that was made in a
// bubble kills the process when it is used outside, so a parker must not be kept there for reuse.
//
// A bubble's clock gives times without a monotonic reading; every other clock gives them with one.
// (time.Since would read one clock instead of two. But since Go 1.27 a bubble's answer is a
// difference between its clock and that of the machine, which a test may have set to any time.)
func inBubble() bool {
	if bubbles.Load() == bubblesUnknown {
		if !linked.Bubbles() {
			bubbles.Store(bubblesNever)
			return false
		}
		bubbles.Store(bubblesPossible)
	}
	now := time.Now()
	//nolint:staticcheck // Round(0) strips the monotonic reading, which Equal does not see
	return now == now.Round(0)
}

// WaitAcross waits until the request of f is complete, or the context of l ends the wait. It is for
// a goroutine in a bubble that may have to wait for one outside, or in another bubble: see
// [Across]. A time never ends it, because the bubble's clock stands still. If l has ended the wait
// the request has been given up, and the error is that of l.
func WaitAcross(f *Future, l Limit) error {
	kept := false
	defer func() {
		if !kept { // also if the context has panicked
			f.Release()
		}
	}()
	w := NewAcross()
	defer w.WakeAfter(l)()
	for {
		complete := f.Poll(w)
		if err := l.Cancelled(); err != nil { // perhaps before the grant
			return err
		}
		if complete {
			kept = true
			return f.Err()
		}
		w.Sleep()
	}
}

// An Across is where a goroutine of a bubble sleeps that anybody may wake, inside or outside. Like
// the wait for a standard mutex, and unlike every other wait of this module, its sleep is not
// durable. So the bubble's clock stands still meanwhile.
//
// It sleeps by locking mu a second time: Go's runtime offers no other sleep that crosses the border
// of a bubble.
type Across struct {
	mu    sync.Mutex
	woken atomic.Bool // mu is unlocked, or will be at once
}

// NewAcross returns an Across that nobody has woken.
func NewAcross() *Across {
	w := new(Across)
	w.mu.Lock()
	return w
}

// WakeAfter has w be woken when the context of l ends. It returns what undoes that. The context,
// which may be of a foreign type and panic, is asked nothing.
func (w *Across) WakeAfter(l Limit) (stop func() bool) {
	if l.ctx == nil || l.done == nil {
		return func() bool { return false }
	}
	return context.AfterFunc(ending{context.Background(), l.done}, w.Wake)
}

// An ending is a context of which only the channel matters.
type ending struct {
	context.Context
	done <-chan struct{}
}

// Done implements [context.Context].
func (e ending) Done() <-chan struct{} { return e.done }

// Err implements [context.Context]. It is asked when the channel is closed.
func (e ending) Err() error { return context.Canceled }

// Wake implements [Waker].
func (w *Across) Wake() {
	if !w.woken.Swap(true) {
		w.mu.Unlock()
	}
}

// Sleep returns when w has been woken since the last sleep.
func (w *Across) Sleep() {
	w.mu.Lock()
	w.woken.Store(false)
}
