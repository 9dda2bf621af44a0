//go:build !interleave

package sync

import (
	std "sync"
	"sync/atomic"

	"github.com/farad-go/farad/internal/waiting"
)

// waitAcross waits until the request of f is complete, or the context of l ends the wait. It is for
// a goroutine in a bubble that may have to wait for one outside, or in another bubble: see
// [across]. A time never ends it, because the bubble's clock stands still. If l has ended the wait
// the request has been given up, and the error is that of l.
func waitAcross(f *waiting.Future, l waiting.Limit) error {
	kept := false
	defer func() {
		if !kept { // also if the context has panicked
			f.Release()
		}
	}()
	w := newAcross()
	defer w.wakeAfter(l)()
	for {
		complete := f.Poll(w)
		if err := l.Cancelled(); err != nil { // perhaps before the grant
			return err
		}
		if complete {
			kept = true
			return f.Err()
		}
		w.sleep()
	}
}

// An across is where a goroutine of a bubble sleeps that anybody may wake, inside or outside. Like
// the wait for a standard mutex, and unlike every other wait of this module, its sleep is not
// durable. So the bubble's clock stands still meanwhile.
//
// It sleeps by locking mu a second time: Go's runtime offers no other sleep that crosses the border
// of a bubble.
type across struct {
	mu    std.Mutex
	woken atomic.Bool // mu is unlocked, or will be at once
}

// newAcross returns an across that nobody has woken.
func newAcross() *across {
	w := new(across)
	w.mu.Lock()
	return w
}

// wakeAfter has w be woken when the context of l ends. It returns what undoes that. The context,
// which may be of a foreign type and panic, is asked nothing.
func (w *across) wakeAfter(l waiting.Limit) (stop func()) {
	done := l.Done()
	if done == nil {
		return func() {}
	}
	undone := make(chan struct{})
	go func() {
		select {
		case <-done:
			w.Wake()
		case <-undone:
		}
	}()
	return func() { close(undone) }
}

// Wake implements [waiter.Waker].
func (w *across) Wake() {
	if !w.woken.Swap(true) {
		w.mu.Unlock()
	}
}

// sleep returns when w has been woken since the last sleep.
func (w *across) sleep() {
	w.mu.Lock()
	w.woken.Store(false)
}
