// Package signal has the channel that is behind every Done of this module, and behind each sleep
// that is not by gopark.
//
// It is the only package of the core that uses channels. It imports nothing. The explorer of
// interleavings puts a scheduling point in front of each operation; what the operation does is
// always this code.
package signal

// A Signal is a channel of wake-ups without content.
type Signal chan struct{}

// New returns a signal with room for capacity wake-ups.
func New(capacity int) Signal { return make(Signal, capacity) }

// C returns the channel.
func (s Signal) C() <-chan struct{} { return s }

// Send adds a wake-up for which there is room.
func (s Signal) Send() { s <- struct{}{} }

// TrySend adds a wake-up if there is room for it and s exists.
func (s Signal) TrySend() {
	if s != nil { // the select would find out, but it takes longer, and futures mostly have no channel
		s.trySend()
	}
}

func (s Signal) trySend() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Close wakes every receiver, now and later, if s exists. It is called once, and instead of Send.
func (s Signal) Close() {
	if s != nil {
		close(s)
	}
}

// Closed returns a signal that has been closed, always the same.
func Closed() Signal { return closed }

var closed = func() Signal {
	s := New(0)
	s.Close()
	return s
}()

// Receive sleeps until there is a wake-up, and takes it.
func (s Signal) Receive() { <-s }

// TryReceive takes a wake-up if there is one and s exists.
func (s Signal) TryReceive() {
	if s != nil {
		s.tryReceive()
	}
}

func (s Signal) tryReceive() {
	select {
	case <-s:
	default:
	}
}

// ReceiveOr is Receive, but returns false if done is closed first.
func (s Signal) ReceiveOr(done <-chan struct{}) bool {
	select {
	case <-s:
		return true
	case <-done:
		return false
	}
}
