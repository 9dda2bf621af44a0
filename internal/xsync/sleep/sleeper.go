package sleep

import "time"

// The word of a Sleeper:
//
//	0             no wake-up is there, and the owner does not sleep
//	Token, Nudge  these wake-ups are there
//	another       the owner sleeps: its g, or asleep if it sleeps in the channel
//
// Invariants:
//
//  1. Only the owner says in the word that it sleeps, and only over 0. So it never sleeps while a
//     wake-up is there. (TestModel)
//  2. The waker that takes the sleeping owner out of the word wakes it, and no other does.
//     (TestModel)
//  3. A wake-up stays in the word until the owner takes it. (TestModel)
//
// The runtime has marked the owner as waiting before the step of invariant 1 (see gopark.go). So a
// goready that comes at once finds a goroutine that waits.

// Wakeups are reasons to wake a goroutine.
type Wakeups uint8

// The kinds of wake-ups. A second wake-up of one kind, before the first is taken, adds nothing.
const (
	// Token means that what the goroutine waits for is there.
	Token Wakeups = 1 << iota
	// Nudge means that the wait may have to end early.
	Nudge

	kinds = uintptr(Token | Nudge)

	// asleep stands for an owner that sleeps in the channel. No g has this address.
	asleep uintptr = 1 << 2
)

// A Sleeper is where one goroutine, the owner, sleeps until another wakes it. Init comes before the
// first use. A Sleeper is part of an object on the heap, because others refer to it while its owner
// sleeps, and stacks move.
type Sleeper struct {
	word  word
	room  room  // where the owner sleeps if not by gopark; nil otherwise
	timer timer // nudges the owner; made at first use
}

// Init makes s ready. If portable, its owner sleeps in a channel. SleepOr needs that, and so does a
// bubble of testing/synctest.
func (s *Sleeper) Init(portable bool) {
	if portable || !Parks() {
		s.room = newRoom()
	}
}

// Wake adds wake-ups, and wakes the owner if it sleeps. It synchronizes before the return of the
// Sleep that takes them.
func (s *Sleeper) Wake(w Wakeups) {
	for { // A retry follows a step of the owner or of another waker.
		v := s.word.Load()
		if v&^kinds == 0 {
			if s.word.CompareAndSwap(v, v|uintptr(w)) {
				return
			}
			continue
		}
		if s.word.CompareAndSwap(v, uintptr(w)) {
			if v == asleep {
				s.room.Send()
			} else {
				ready(v)
			}
			return
		}
	}
}

// Sleep waits until a wake-up is there, and takes all that are.
func (s *Sleeper) Sleep() Wakeups {
	if s.word.Load() == 0 {
		s.sleep()
	}
	return s.take()
}

// Pending returns the wake-ups that are there, and takes none. The owner calls it.
func (s *Sleeper) Pending() Wakeups { return Wakeups(s.word.Load()) }

// take takes the wake-ups that are there. The caller is the owner, so it does not sleep.
func (s *Sleeper) take() Wakeups { return Wakeups(s.word.Swap(0)) }

// sleep returns when a wake-up is there.
func (s *Sleeper) sleep() {
	for s.word.Load() == 0 { // One turn: a waker leaves a wake-up.
		if s.room == nil {
			park(&s.word)
		} else if s.word.CompareAndSwap(0, asleep) {
			s.room.Receive()
		}
	}
}

// SleepOr is Sleep, but returns 0 if done is closed first. If both have happened it may return
// either. s must be portable.
func (s *Sleeper) SleepOr(done <-chan struct{}) Wakeups {
	if s.word.CompareAndSwap(0, asleep) && !s.room.ReceiveOr(done) {
		if s.word.CompareAndSwap(asleep, 0) {
			return 0
		}
		s.room.Receive() // A waker has been faster, and this is on its way.
	}
	return s.take()
}

// StartTimer has the owner nudged when d has passed. It comes before SleepTimed.
func (s *Sleeper) StartTimer(d time.Duration) {
	if s.timer == nil {
		s.timer = afterFunc(d, func() { s.Wake(Nudge) })
	} else {
		s.timer.Reset(d)
	}
}

// SleepTimed waits until the token is there and returns true, or until the timer has run out and
// returns false. If both have happened it returns true. Afterwards no nudge is there, nor on its
// way.
func (s *Sleeper) SleepTimed() bool {
	got := s.Sleep()
	if !s.timer.Stop() {
		for got&Nudge == 0 { // It is on its way.
			got |= s.Sleep()
		}
	}
	return got&Token != 0
}
