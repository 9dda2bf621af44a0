package interleave

import (
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/internal/xsync/signal"
)

// Wakeups are reasons to wake a goroutine, as those of package sleep.
type Wakeups uint8

// The kinds of wake-ups.
const (
	Token Wakeups = 1 << iota
	Nudge
)

// Sleeper models the Sleeper of package sleep. Each of its calls is one step, where that one takes
// several. That package explores them, and shows that they amount to this.
type Sleeper struct {
	signal Signal // a wake-up of each kind
	got    atomic.Uintptr
	timer  Timer
	time   time.Duration
}

// Init makes s ready.
//
//go:norace
func (s *Sleeper) Init(bool) { s.signal.v = signal.New(2) }

// renew forgets what an earlier execution has left.
//
//go:norace
func (s *Sleeper) renew() {
	if x := current; x != nil && s.signal.epoch != x.epoch {
		s.got.Store(0)
	}
}

// Wake adds wake-ups.
//
//go:norace
func (s *Sleeper) Wake(w Wakeups) {
	s.renew()
	if current == nil { // Others run beside this call: what it announces must be there.
		s.got.Or(uintptr(w))
		s.signal.v.TrySend()
		return
	}
	s.signal.TrySend()
	s.got.Or(uintptr(w)) // in the same step
}

// Sleep waits until a wake-up is there, and takes all that are.
//
//go:norace
func (s *Sleeper) Sleep() Wakeups {
	s.renew()
	if current == nil {
		return s.alone(func() bool { s.signal.v.Receive(); return true })
	}
	s.signal.Receive()
	return s.take()
}

// alone takes what is there, or what receive has waited for, outside explorations. It returns 0 if
// receive has given up. A signal may be that of a wake-up that was taken before the signal came.
func (s *Sleeper) alone(receive func() bool) Wakeups {
	for s.got.Load() == 0 {
		if !receive() {
			return 0
		}
	}
	return s.take()
}

// Pending returns the wake-ups that are there, without a step: it is for invariants.
//
//go:norace
func (s *Sleeper) Pending() Wakeups {
	s.renew()
	return Wakeups(s.got.Load())
}

// take takes all wake-ups, in the step that has received the first.
//
//go:norace
func (s *Sleeper) take() Wakeups {
	got := Wakeups(s.got.Swap(0))
	for len(s.signal.v) > 0 {
		s.signal.v.TryReceive()
	}
	s.signal.settle()
	return got
}

// SleepInline does nothing: it is a part of Sleep.
func (s *Sleeper) SleepInline() {}

// SleepOr is Sleep, but returns 0 if done, which must be that of a [Context], is closed first.
//
//go:norace
func (s *Sleeper) SleepOr(done <-chan struct{}) Wakeups {
	s.renew()
	if current == nil {
		return s.alone(func() bool { return s.signal.v.ReceiveOr(done) })
	}
	if !s.signal.ReceiveOr(done) {
		return 0
	}
	return s.take()
}

// StartTimer says for how long SleepTimed sleeps at most, outside explorations.
//
//go:norace
func (s *Sleeper) StartTimer(d time.Duration) { s.time = d }

// SleepTimed waits for a token, but in some executions the time passes first, at any point.
//
//go:norace
func (s *Sleeper) SleepTimed() bool {
	s.renew()
	if current == nil {
		end := time.Now().Add(s.time)
		return s.alone(func() bool { return s.timer.receive(s.signal.v, time.Until(end)) }) != 0
	}
	return s.signal.ReceiveWithin(&s.timer, s.time) && s.take() != 0
}
