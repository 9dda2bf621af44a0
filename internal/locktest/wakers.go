package locktest

import "sync/atomic"

// A CountingWaker counts how often it is woken.
type CountingWaker struct{ atomic.Int64 }

// Wake counts.
func (w *CountingWaker) Wake() { w.Add(1) }

// A ChannelWaker is a channel of one place, which has a value if the waker was woken since a
// goroutine received.
type ChannelWaker chan struct{}

// NewChannelWaker returns a waker that was not woken.
func NewChannelWaker() ChannelWaker { return make(ChannelWaker, 1) }

// Wake sends a value, unless there is one.
func (w ChannelWaker) Wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}
