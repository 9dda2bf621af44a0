package model

import (
	"sync"

	"github.com/farad-go/farad/internal/xsync/signal"
)

// Mutex models [sync.Mutex]. A thread that waits for it is not scheduled before it is free.
type Mutex struct {
	Object
	Real sync.Mutex
}

// Lock locks m.
//
//go:norace
func (m *Mutex) Lock() {
	if e := explorer; e != nil {
		e.Lock(m)
		return
	}
	m.Real.Lock()
}

// TryLock locks m if it is free.
//
//go:norace
func (m *Mutex) TryLock() bool {
	if e := explorer; e != nil {
		return e.TryLock(m)
	}
	return m.Real.TryLock()
}

// Unlock unlocks m. It panics if m is not locked.
//
//go:norace
func (m *Mutex) Unlock() {
	if e := explorer; e != nil {
		e.Unlock(m)
		return
	}
	m.Real.Unlock()
}

// Locked reports whether m is locked, without a step: it is for invariants. After an exploration
// that is how it was at the end.
//
//go:norace
func (m *Mutex) Locked() bool {
	return m.Epoch != 0 && (explorer == nil || m.Epoch == epoch) && !m.Ready
}

// Pool models [sync.Pool]: each thread has its own stock, so that pools add no interleavings; what
// is reused is reused at once. Every execution begins with empty pools.
type Pool struct {
	Object
	New func() any

	Stock [][]any // that of no thread first
	real  sync.Pool
}

// Get returns a value that was put in, or a new one.
//
//go:norace
func (p *Pool) Get() any {
	if e := explorer; e != nil {
		return e.Get(p)
	}
	if v := p.real.Get(); v != nil {
		return v
	}
	return p.New()
}

// Put keeps v for reuse.
//
//go:norace
func (p *Pool) Put(v any) {
	if e := explorer; e != nil {
		e.Put(p, v)
		return
	}
	p.real.Put(v)
}

// Signal models [signal.Signal].
type Signal struct {
	Object
	Real signal.Signal
	Over bool // it has been closed
}

// NewSignal returns a signal with room for capacity wake-ups.
//
//go:norace
func NewSignal(capacity int) *Signal { return &Signal{Real: signal.New(capacity)} }

// Closed returns a signal that has been closed, always the same.
func Closed() *Signal { return closed }

var closed = &Signal{Real: signal.Closed(), Over: true}

// C returns the channel. In explorations the explorer receives from it.
//
//go:norace
func (s *Signal) C() <-chan struct{} {
	if s == nil {
		return nil
	}
	if e := explorer; e != nil {
		e.Lend(s)
	}
	return s.Real
}

// Send adds a wake-up for which there is room.
//
//go:norace
func (s *Signal) Send() {
	if e := explorer; e != nil {
		e.Send(s)
		return
	}
	s.Real.Send()
}

// TrySend adds a wake-up if there is room for it and s exists.
//
//go:norace
func (s *Signal) TrySend() {
	if e := explorer; e != nil && s != nil {
		e.TrySend(s)
	} else if s != nil {
		s.Real.TrySend()
	}
}

// Receive waits until there is a wake-up, and takes it.
//
//go:norace
func (s *Signal) Receive() {
	if e := explorer; e != nil {
		e.Receive(s)
		return
	}
	s.Real.Receive()
}

// TryReceive takes a wake-up if there is one and s exists.
//
//go:norace
func (s *Signal) TryReceive() {
	if e := explorer; e != nil && s != nil {
		e.TryReceive(s)
	} else if s != nil {
		s.Real.TryReceive()
	}
}

// ReceiveOr is Receive, but returns false if done is closed first. If both are possible either
// happens, in different executions.
//
//go:norace
func (s *Signal) ReceiveOr(done <-chan struct{}) bool {
	if e := explorer; e != nil {
		return e.ReceiveOr(s, done)
	}
	return s.Real.ReceiveOr(done)
}

// Close wakes every receiver, now and later, if s exists.
//
//go:norace
func (s *Signal) Close() {
	if e := explorer; e != nil && s != nil {
		e.Close(s)
	} else if s != nil {
		s.Real.Close()
		s.Over = true
	}
}
