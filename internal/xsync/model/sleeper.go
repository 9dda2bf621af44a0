package model

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
	Signal Signal // a wake-up of each kind
	got    atomic.Uintptr
	timer  *time.Timer
	time   time.Duration
}

// Init makes s ready.
//
//go:norace
func (s *Sleeper) Init(bool) { s.Signal.Real = signal.New(2) }

// Wake adds wake-ups.
//
//go:norace
func (s *Sleeper) Wake(w Wakeups) {
	if e := explorer; e != nil {
		e.Wake(s, w)
		return
	}
	s.Add(w) // Others run beside this call: what it announces must be there.
	s.Signal.Real.TrySend()
}

// Add adds wake-ups without a signal.
//
//go:norace
func (s *Sleeper) Add(w Wakeups) { s.got.Or(uintptr(w)) }

// Pending returns the wake-ups that are there, without a step: it is for invariants.
//
//go:norace
func (s *Sleeper) Pending() Wakeups {
	s.Renew()
	return Wakeups(s.got.Load())
}

// Renew forgets what an earlier execution has left.
//
//go:norace
func (s *Sleeper) Renew() {
	if explorer != nil && s.Signal.Epoch != epoch {
		s.got.Store(0)
	}
}

// Take takes the wake-ups that are there, without a step.
//
//go:norace
func (s *Sleeper) Take() Wakeups {
	got := Wakeups(s.got.Swap(0))
	for len(s.Signal.Real) > 0 {
		s.Signal.Real.TryReceive()
	}
	return got
}

// SleepInline does nothing: it is a part of Sleep.
func (s *Sleeper) SleepInline() {}

// Sleep waits until a wake-up is there, and takes all that are.
func (s *Sleeper) Sleep() Wakeups { return s.sleep(nil, false) }

// SleepOr is Sleep, but returns 0 if done is closed first.
func (s *Sleeper) SleepOr(done <-chan struct{}) Wakeups { return s.sleep(done, false) }

// StartTimer says for how long SleepTimed sleeps at most, outside explorations.
//
//go:norace
func (s *Sleeper) StartTimer(d time.Duration) { s.time = d }

// SleepTimed waits for a token, but in some executions the time passes first, at any point.
func (s *Sleeper) SleepTimed() bool { return s.sleep(nil, true) != 0 }

//go:norace
func (s *Sleeper) sleep(done <-chan struct{}, timed bool) Wakeups {
	if e := explorer; e != nil {
		return e.Sleep(s, done, timed)
	}
	var over <-chan time.Time
	if timed {
		if s.timer == nil {
			s.timer = time.NewTimer(s.time)
		} else {
			s.timer.Reset(s.time)
		}
		defer s.timer.Stop()
		over = s.timer.C
	}
	for s.got.Load() == 0 { // A signal may be that of a wake-up that was taken before it came.
		select {
		case <-s.Signal.Real:
		case <-done:
			return 0
		case <-over:
			return 0
		}
	}
	return s.Take()
}
