package interleave

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/internal/xsync/signal"
)

// Mutex models [sync.Mutex]. A thread that waits for it is not scheduled before it is free.
type Mutex struct {
	object
	v sync.Mutex
}

//go:norace
func (m *Mutex) run() *Run {
	x := current
	if x == nil {
		return nil
	}
	if m.epoch != x.epoch {
		m.adopt(x)
		m.v = sync.Mutex{}
		m.ready = true
	}
	if x.quiet {
		return nil
	}
	return x
}

// settle notes whether m is free. Outside explorations it is not needed.
//
//go:norace
func (m *Mutex) settle(free bool) {
	if current != nil {
		m.ready = free
	}
}

// Lock locks m.
//
//go:norace
func (m *Mutex) Lock() {
	x := m.run()
	if x == nil {
		waitAlone(m.ready, "Lock")
		m.v.Lock()
		m.settle(false)
		return
	}
	if !x.step(&m.object, opLock) {
		return
	}
	m.v.Lock()
	m.ready = false
	x.wrote(&m.object, true)
	if x.tracing {
		x.say(&m.object, "Lock()")
	}
}

// TryLock locks m if it is free.
//
//go:norace
func (m *Mutex) TryLock() bool {
	x := m.run()
	if x == nil {
		ok := m.v.TryLock()
		if ok {
			m.settle(false)
		}
		return ok
	}
	if !x.step(&m.object, opWrite) {
		return false
	}
	ok := m.ready
	if ok {
		m.v.Lock()
		m.ready = false
	} else {
		x.exec.kind = opRead
	}
	x.wrote(&m.object, ok)
	if x.tracing {
		x.say(&m.object, "TryLock() = ", ok)
	}
	return ok
}

// Unlock unlocks m. It panics if m is not locked.
//
//go:norace
func (m *Mutex) Unlock() {
	x := m.run()
	if x != nil && !x.step(&m.object, opWrite) {
		return
	}
	if current != nil && m.ready {
		panic("interleave: unlock of an unlocked mutex")
	}
	if x == nil {
		m.settle(true)
		m.v.Unlock()
		return
	}
	m.ready = true
	m.v.Unlock()
	x.wrote(&m.object, true)
	if x.tracing {
		x.say(&m.object, "Unlock()")
	}
}

// Locked reports whether m is locked, without a scheduling point: it is for invariants.
//
//go:norace
func (m *Mutex) Locked() bool {
	m.run()
	return m.epoch != 0 && !m.ready
}

// Signal models [signal.Signal].
type Signal struct {
	object
	v      signal.Signal
	closed bool
}

// NewSignal returns a signal with room for capacity wake-ups.
//
//go:norace
func NewSignal(capacity int) *Signal { return &Signal{v: signal.New(capacity)} }

// Closed returns a signal that has been closed, always the same.
func Closed() *Signal { return closedSignal }

var closedSignal = &Signal{v: signal.Closed(), closed: true}

//go:norace
func (s *Signal) run() *Run {
	x := current
	if x == nil {
		return nil
	}
	if s.epoch != x.epoch {
		s.adopt(x)
		for len(s.v) > 0 {
			<-s.v
		}
		s.ready = s.closed
	}
	if x.quiet {
		return nil
	}
	return x
}

// settle notes whether there is something to receive. Outside explorations it is not needed.
//
//go:norace
func (s *Signal) settle() {
	if current != nil {
		s.ready = s.closed || len(s.v) > 0
	}
}

// C returns the channel. In explorations it must be received from with [Receive].
//
//go:norace
func (s *Signal) C() <-chan struct{} {
	if s == nil {
		return nil
	}
	if x := current; x != nil {
		if !slices.Contains(x.signals, s) {
			x.signals = append(x.signals, s)
		}
	}
	return s.v
}

// Send adds a wake-up. If there is no room for it the execution fails: our senders never wait.
//
//go:norace
func (s *Signal) Send() {
	x := s.run()
	if x == nil {
		s.v.Send()
		s.settle()
		return
	}
	if !x.step(&s.object, opWrite) {
		return
	}
	if len(s.v) == cap(s.v) {
		x.Fail("a send that would block")
	}
	s.v.Send()
	s.settle()
	x.wrote(&s.object, true)
	if x.tracing {
		x.say(&s.object, "Send()")
	}
}

// Close wakes every receiver, now and later, if s exists.
//
//go:norace
func (s *Signal) Close() {
	if s == nil {
		return
	}
	x := s.run()
	if x != nil && !x.step(&s.object, opWrite) {
		return
	}
	s.v.Close()
	s.closed = true
	s.settle()
	if x == nil {
		return
	}
	x.wrote(&s.object, true)
	if x.tracing {
		x.say(&s.object, "Close()")
	}
}

// TrySend adds a wake-up if there is room for it and s exists.
//
//go:norace
func (s *Signal) TrySend() { s.attempt("TrySend()", signal.Signal.TrySend) }

// TryReceive takes a wake-up if there is one and s exists.
//
//go:norace
func (s *Signal) TryReceive() { s.attempt("TryReceive()", signal.Signal.TryReceive) }

// attempt does what does not wait. If it changes nothing, that was a read.
//
//go:norace
func (s *Signal) attempt(what string, do func(signal.Signal)) {
	if s == nil {
		return
	}
	x := s.run()
	if x != nil && !x.step(&s.object, opWrite) {
		return
	}
	before := len(s.v)
	do(s.v)
	s.settle()
	if x == nil {
		return
	}
	if len(s.v) == before {
		x.exec.kind = opRead
	}
	x.wrote(&s.object, len(s.v) != before)
	if x.tracing {
		x.say(&s.object, what)
	}
}

// Receive waits until there is a wake-up, and takes it.
//
//go:norace
func (s *Signal) Receive() {
	x := s.run()
	if x == nil {
		waitAlone(s.closed || len(s.v) > 0, "Receive")
		s.v.Receive()
		s.settle()
		return
	}
	s.receive(x, opReceive)
}

//go:norace
func (s *Signal) receive(x *Run, k kind) {
	if !x.step(&s.object, k) {
		panic(abort{}) // A deferred function waits while its thread is unwound: nothing will come.
	}
	s.v.Receive()
	s.settle()
	x.wrote(&s.object, true)
	if x.tracing {
		x.say(&s.object, "Receive()")
	}
}

// ReceiveOr is Receive, but returns false if done, which must be that of a [Context], is closed
// first. If both are possible either happens, in different executions.
//
//go:norace
func (s *Signal) ReceiveOr(done <-chan struct{}) bool {
	x := s.run()
	if x == nil {
		if x = current; x != nil && len(s.v) == 0 { // done is never closed in fact
			waitAlone(x.contextOf(done).done.ready, "ReceiveOr")
			return false
		}
		ok := s.v.ReceiveOr(done)
		s.settle()
		return ok
	}
	c := x.contextOf(done)
	if !x.stepTo(op{kind: opReceiveOr, o: &s.object, o2: &c.done}) {
		panic(abort{}) // as in receive
	}
	switch {
	case !s.ready:
		x.exec.kind = opReadBoth
		c.edge.Load()
		if x.tracing {
			x.say(&s.object, "ReceiveOr(done) = false")
		}
		return false
	case c.done.ready:
		// The choice is a step of its own. Meanwhile no other thread takes the wake-up: a signal
		// has one receiver.
		x.exec.kind = opReadBoth
		if Choose(2) == 1 {
			return false
		}
		s.receive(x, opReceive)
		return true
	}
	s.v.Receive()
	s.settle()
	x.wrote(&s.object, true)
	if x.tracing {
		x.say(&s.object, "ReceiveOr(done) = true")
	}
	return true
}

// A Timer serves ReceiveWithin outside explorations.
type Timer struct{ t *time.Timer }

func (t *Timer) receive(s signal.Signal, d time.Duration) bool {
	if t.t == nil {
		t.t = time.NewTimer(d)
	} else {
		t.t.Reset(d)
	}
	select {
	case <-s:
		t.t.Stop()
		return true
	case <-t.t.C:
		return false
	}
}

// ReceiveWithin is Receive, but in some executions the time passes first, at any point.
//
//go:norace
func (s *Signal) ReceiveWithin(t *Timer, d time.Duration) bool {
	x := s.run()
	if x == nil {
		if current != nil && len(s.v) == 0 {
			return false
		}
		ok := t.receive(s.v, d)
		s.settle()
		return ok
	}
	if Choose(2) == 1 {
		return false
	}
	s.receive(x, opTimed)
	return true
}

// Receive takes a value from the channel of a [Signal] that the code under test has handed out.
//
//go:norace
func Receive(c <-chan struct{}) {
	if x := current; x != nil {
		for _, s := range x.signals {
			if s.v.C() == c {
				s.Receive()
				return
			}
		}
		panic("interleave: a channel that no signal has handed out")
	}
	<-c
}

// Pool models [sync.Pool]: each thread has its own stock, so that pools add no interleavings; what
// is reused is reused at once. Every execution begins with empty pools.
type Pool struct {
	object
	New func() any

	v     sync.Pool
	stock [][]any // that of no thread first
}

//go:norace
func (p *Pool) run() (x *Run, stock *[]any) {
	if x = current; x == nil {
		return nil, nil
	}
	if p.epoch != x.epoch {
		p.adopt(x)
		clear(p.stock)
	}
	i := 0
	if !x.quiet {
		i = 1 + x.running.id
	}
	for len(p.stock) <= i {
		p.stock = append(p.stock, nil)
	}
	return x, &p.stock[i]
}

// Get returns a value that was put in, or a new one.
//
//go:norace
func (p *Pool) Get() any {
	x, stock := p.run()
	if x == nil {
		if v := p.v.Get(); v != nil {
			return v
		}
		return p.New()
	}
	if n := len(*stock); n > 0 {
		v := (*stock)[n-1]
		*stock = (*stock)[:n-1]
		return v
	}
	v := p.New()
	x.Layout(v)
	return v
}

// Put keeps v for reuse.
//
//go:norace
func (p *Pool) Put(v any) {
	if x, stock := p.run(); x != nil {
		*stock = append(*stock, v)
		return
	}
	p.v.Put(v)
}

// Context is a modelled context. Its Err and its done channel change in two steps, as those of
// package context do.
type Context struct {
	context.Context // values and deadline

	// Watchable says that many waits on this context may share one AfterFunc.
	Watchable bool

	err  Bool
	done object
	edge atomic.Uint32 // what the race detector sees of done
	c    chan struct{}
	fns  []*registration
}

// NewContext returns a context that Cancel ends.
func (x *Run) NewContext() *Context {
	n := len(x.contexts)
	if n == len(x.spares) {
		x.spares = append(x.spares, make(chan struct{}))
	}
	c := &Context{Context: context.Background(), c: x.spares[n]}
	c.done.adopt(x)
	x.contexts = append(x.contexts, c)
	return c
}

// Done returns a channel that stands for the context in [Signal.ReceiveOr]. It is never closed in
// fact.
//
//go:norace
func (c *Context) Done() <-chan struct{} { return c.c }

// Err returns [context.Canceled] after Cancel.
//
//go:norace
func (c *Context) Err() error {
	if c.err.Load() {
		return context.Canceled
	}
	return nil
}

// Cancel ends the context, and starts what AfterFunc has registered.
//
//go:norace
func (c *Context) Cancel() {
	if c.err.Swap(true) {
		return
	}
	x := current
	if !x.quiet {
		x.step(&c.done, opWrite)
		if x.tracing {
			x.say(&c.done, "close")
		}
	}
	c.done.ready = true
	c.edge.Add(1)
	for _, r := range c.fns {
		r.start(x)
	}
}

// AfterFunc has Cancel start f in a thread of its own. The function that it returns takes that
// back, and reports whether it was in time.
//
//go:norace
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	x := current
	r := &registration{c: c, f: f}
	if !x.quiet && !x.step(&c.done, opWrite) {
		return r.stop
	}
	c.edge.Add(1)
	if c.done.ready {
		r.start(x)
	} else {
		c.fns = append(c.fns, r)
	}
	return r.stop
}

// A registration is a function that waits for the end of a context.
type registration struct {
	c *Context
	f func() // nil: started, or taken back
}

//go:norace
func (r *registration) start(x *Run) {
	if f := r.f; f != nil {
		r.f = nil
		x.Go("AfterFunc", f)
	}
}

//go:norace
func (r *registration) stop() bool {
	x := current
	if !x.quiet && !x.step(&r.c.done, opWrite) {
		return false
	}
	r.c.edge.Add(1)
	if r.f == nil {
		return false
	}
	r.f = nil
	return true
}

//go:norace
func (x *Run) contextOf(done <-chan struct{}) *Context {
	for _, c := range x.contexts {
		if c.Done() == done {
			return c
		}
	}
	panic("interleave: a done channel of no context of this execution")
}
