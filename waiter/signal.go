package waiter

import "time"

// A signal is what is behind every sleep and every Done of this module: a channel of wake-ups without content. The
// operations stand here, and nowhere else in the package, so that this file is all that a model of them has to replace.
type signal chan struct{}

func newSignal(capacity int) signal { return make(signal, capacity) }

// send adds a wake-up for which there is room.
func (s signal) send() { s <- struct{}{} }

// trySend adds a wake-up if there is room for it and s exists.
func (s signal) trySend() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// receive sleeps until there is a wake-up, and takes it.
func (s signal) receive() { <-s }

// tryReceive takes a wake-up if there is one and s exists.
func (s signal) tryReceive() {
	select {
	case <-s:
	default:
	}
}

// receiveOr is receive, but returns false if done is closed first.
func (s signal) receiveOr(done <-chan struct{}) bool {
	select {
	case <-s:
		return true
	case <-done:
		return false
	}
}

// receiveBefore is receive, but returns false if t fires first.
func (s signal) receiveBefore(t *time.Timer) bool {
	select {
	case <-s:
		return true
	case <-t.C:
		return false
	}
}
