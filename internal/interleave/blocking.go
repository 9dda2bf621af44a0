package interleave

import (
	"slices"
	"sync"

	"github.com/farad-go/farad/internal/xsync/signal"
)

// adopt makes o an object of this execution, and reports whether it was none. It may be a global
// variable, so its value must be reset then: every execution begins with the same.
//
//go:norace
func (x *Run) adopt(o *object) bool {
	if o.Epoch == x.epoch {
		return false
	}
	*o = object{Epoch: x.epoch}
	return true
}

//go:norace
func (x explorer) mutex(m *Mutex) {
	if x.adopt(&m.Object) {
		m.Real = sync.Mutex{}
		m.Ready = true
	}
}

// Lock implements [model.Explorer].
//
//go:norace
func (x explorer) Lock(m *Mutex) {
	x.mutex(m)
	if x.quiet {
		waitAlone(m.Ready, "Lock")
		m.Real.Lock()
		m.Ready = false
		return
	}
	if !x.step(&m.Object, opLock) {
		return
	}
	m.Real.Lock()
	m.Ready = false
	x.wrote(&m.Object, true)
	if x.tracing {
		x.say(&m.Object, "Lock()")
	}
}

// TryLock implements [model.Explorer].
//
//go:norace
func (x explorer) TryLock(m *Mutex) bool {
	x.mutex(m)
	if !x.quiet && !x.step(&m.Object, opWrite) {
		return false
	}
	ok := m.Ready
	if ok {
		m.Real.Lock()
		m.Ready = false
	}
	if x.quiet {
		return ok
	}
	if !ok {
		x.exec.kind = opRead
	}
	x.wrote(&m.Object, ok)
	if x.tracing {
		x.say(&m.Object, "TryLock() = ", ok)
	}
	return ok
}

// Unlock implements [model.Explorer].
//
//go:norace
func (x explorer) Unlock(m *Mutex) {
	x.mutex(m)
	if !x.quiet && !x.step(&m.Object, opWrite) {
		return
	}
	if m.Ready {
		panic("interleave: unlock of an unlocked mutex")
	}
	m.Ready = true
	m.Real.Unlock()
	if x.quiet {
		return
	}
	x.wrote(&m.Object, true)
	if x.tracing {
		x.say(&m.Object, "Unlock()")
	}
}

//go:norace
func (x explorer) signal(s *Signal) {
	if x.adopt(&s.Object) {
		for len(s.Real) > 0 {
			<-s.Real
		}
		s.Ready = s.Over
	}
}

// settle notes whether there is something to receive.
//
//go:norace
func settle(s *Signal) { s.Ready = s.Over || len(s.Real) > 0 }

// Lend implements [model.Explorer]: what is received from the channel of s is received from s.
//
//go:norace
func (x explorer) Lend(s *Signal) {
	if !slices.Contains(x.signals, s) {
		x.signals = append(x.signals, s)
	}
}

// Send implements [model.Explorer]. If there is no room the execution fails: our senders never
// wait.
//
//go:norace
func (x explorer) Send(s *Signal) {
	x.signal(s)
	if !x.quiet && !x.step(&s.Object, opWrite) {
		return
	}
	if !x.quiet && len(s.Real) == cap(s.Real) {
		x.Fail("a send that would block")
	}
	s.Real.Send()
	settle(s)
	x.sent(s, true, "Send()")
}

// sent ends an operation that does not wait.
//
//go:norace
func (x explorer) sent(s *Signal, changed bool, what string) {
	if x.quiet {
		return
	}
	x.wrote(&s.Object, changed)
	if x.tracing {
		x.say(&s.Object, what)
	}
}

// Close implements [model.Explorer].
//
//go:norace
func (x explorer) Close(s *Signal) {
	x.signal(s)
	if !x.quiet && !x.step(&s.Object, opWrite) {
		return
	}
	s.Real.Close()
	s.Over = true
	settle(s)
	x.sent(s, true, "Close()")
}

// TrySend implements [model.Explorer].
//
//go:norace
func (x explorer) TrySend(s *Signal) { x.attempt(s, "TrySend()", signal.Signal.TrySend) }

// TryReceive implements [model.Explorer].
//
//go:norace
func (x explorer) TryReceive(s *Signal) { x.attempt(s, "TryReceive()", signal.Signal.TryReceive) }

// attempt does what does not wait. If it changes nothing, that was a read.
//
//go:norace
func (x explorer) attempt(s *Signal, what string, do func(signal.Signal)) {
	x.signal(s)
	if !x.quiet && !x.step(&s.Object, opWrite) {
		return
	}
	before := len(s.Real)
	do(s.Real)
	settle(s)
	if len(s.Real) == before && !x.quiet {
		x.exec.kind = opRead
	}
	x.sent(s, len(s.Real) != before, what)
}

// Receive implements [model.Explorer].
//
//go:norace
func (x explorer) Receive(s *Signal) {
	x.signal(s)
	if x.quiet {
		waitAlone(s.Over || len(s.Real) > 0, "Receive")
		s.Real.Receive()
		settle(s)
		return
	}
	x.receive(s, opReceive)
}

//go:norace
func (x explorer) receive(s *Signal, k kind) {
	if !x.step(&s.Object, k) {
		panic(abort{}) // A deferred function waits while its thread is unwound: nothing will come.
	}
	s.Real.Receive()
	settle(s)
	x.wrote(&s.Object, true)
	if x.tracing {
		x.say(&s.Object, "Receive()")
	}
}

// ReceiveOr implements [model.Explorer]. done must be that of a [Context].
//
//go:norace
func (x explorer) ReceiveOr(s *Signal, done <-chan struct{}) bool {
	x.signal(s)
	if x.quiet {
		if len(s.Real) == 0 { // done is never closed in fact
			waitAlone(x.contextOf(done).done.Ready, "ReceiveOr")
			return false
		}
		s.Real.Receive()
		settle(s)
		return true
	}
	c := x.contextOf(done)
	if !x.stepTo(op{kind: opReceiveOr, o: &s.Object, o2: &c.done}) {
		panic(abort{}) // as in receive
	}
	switch {
	case !s.Ready:
		x.exec.kind = opReadBoth
		c.edge.Load()
		if x.tracing {
			x.say(&s.Object, "ReceiveOr(done) = false")
		}
		return false
	case c.done.Ready:
		// The choice is a step of its own. Meanwhile no other thread takes the wake-up: a signal
		// has one receiver.
		x.exec.kind = opReadBoth
		if Choose(2) == 1 {
			return false
		}
		x.receive(s, opReceive)
		return true
	}
	s.Real.Receive()
	settle(s)
	x.wrote(&s.Object, true)
	if x.tracing {
		x.say(&s.Object, "ReceiveOr(done) = true")
	}
	return true
}

// receiveWithin is Receive, but in some executions the time passes first, at any point.
//
//go:norace
func (x explorer) receiveWithin(s *Signal) bool {
	x.signal(s)
	if x.quiet {
		if len(s.Real) == 0 {
			return false
		}
		s.Real.Receive()
		settle(s)
		return true
	}
	if Choose(2) == 1 {
		return false
	}
	x.receive(s, opTimed)
	return true
}

// Receive takes a value from the channel of a [Signal] that the code under test has handed out.
//
//go:norace
func Receive(c <-chan struct{}) {
	if x := current; x != nil {
		for _, s := range x.signals {
			if s.Real.C() == c {
				s.Receive()
				return
			}
		}
		panic("interleave: a channel that no signal has handed out")
	}
	<-c
}

// Wake implements [model.Explorer].
//
//go:norace
func (x explorer) Wake(s *Sleeper, w Wakeups) {
	s.Renew()
	x.TrySend(&s.Signal)
	s.Add(w) // in the same step
}

// Sleep implements [model.Explorer].
//
//go:norace
func (x explorer) Sleep(s *Sleeper, done <-chan struct{}, timed bool) Wakeups {
	s.Renew()
	ok := true
	switch {
	case timed:
		ok = x.receiveWithin(&s.Signal)
	case done != nil:
		ok = x.ReceiveOr(&s.Signal, done)
	default:
		x.Receive(&s.Signal)
	}
	if !ok {
		return 0
	}
	got := s.Take() // in the step that has received the first
	settle(&s.Signal)
	return got
}

// stock returns what the running thread has in p.
//
//go:norace
func (x explorer) stock(p *Pool) *[]any {
	if x.adopt(&p.Object) {
		clear(p.Stock)
	}
	i := 0
	if !x.quiet {
		i = 1 + x.running.id
	}
	for len(p.Stock) <= i {
		p.Stock = append(p.Stock, nil)
	}
	return &p.Stock[i]
}

// Get implements [model.Explorer].
//
//go:norace
func (x explorer) Get(p *Pool) any {
	stock := x.stock(p)
	if n := len(*stock); n > 0 {
		v := (*stock)[n-1]
		*stock = (*stock)[:n-1]
		return v
	}
	v := p.New()
	x.Layout(v)
	return v
}

// Put implements [model.Explorer].
//
//go:norace
func (x explorer) Put(p *Pool, v any) {
	stock := x.stock(p)
	*stock = append(*stock, v)
}
