package twa

import (
	"context"

	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
)

// enter lets w, which is armed, sleep until the w.N tickets before end have been granted, and
// returns [waiting.Pending]. Or it returns an outcome at once; if that is not [waiting.Granted] the
// tickets have been abandoned. A goroutine that ends the wait with another outcome has abandoned
// them, too.
func (s *tickets) enter(e *parking.Sleeper, w *waiting.Waiter, base, end int64) waiting.Outcome {
	n := w.N
	for { // A retry follows a Resize there and back.
		l := s.table().Line(s.key(s.id.get(), end))
		g := s.grant.Load()
		if g&closed == 0 && s.inLine(base, g, end) && n-base <= s.size() {
			if isTooLong(base, g, end) {
				l.Unlock()
				s.refuse(base, n, end)
				return waiting.QueueFull
			}
			l.Insert(e, w, false)
			l.Unlock()
			return waiting.Pending
		}
		l.Unlock()
		if o := s.outcome(base, n, end); o != waiting.Pending {
			return o
		}
	}
}

// until returns the limit of ctx for a wait for the n tickets before end. Should ctx, of a foreign
// type, panic, they are abandoned.
func (s *tickets) until(ctx context.Context, base, n, end int64) waiting.Limit {
	asked := false
	defer func() {
		if !asked {
			s.abandon(base, n, end)
		}
	}()
	l := waiting.UntilDone(ctx) // Only now: a context allocates its channel when it is first asked.
	asked = true
	return l
}

// await waits until the n tickets before end, which have just been taken, have been granted. It
// returns nil, the error of l, or an outcome's; with any error the tickets are abandoned.
func (s *tickets) await(l waiting.Limit, base, n, end int64) error {
	e := parking.GetSleeper()
	p := e.Parker(l)
	p.N = n
	o := s.enter(e, &p.Waiter, base, end)
	if o == waiting.Pending {
		p.Start(l)
		p.Sleeper().SleepInline()
		o, err := waiting.EndWait(p, l, ticketLine{s, e, base, end})
		if err != nil {
			p = nil
		}
		e.Put(p)
		if err != nil {
			return err
		}
		return o.Err()
	}
	e.Put(p)
	if o != waiting.Granted {
		return o.Err()
	}
	return waiting.KeepUntil(l, ticketLine{s: s, base: base}, n)
}

// begin is the first part of an await without a limit. The others are SleepInline of the parker's
// Sleeper, and finish. A caller whose speed matters makes the three calls itself: see SleepInline.
// begin returns nil, and the error of the outcome, if there is nothing to wait for.
func (s *tickets) begin(base, n, end int64) (*parking.Sleeper, *waiting.Parker, error) {
	e := parking.GetSleeper()
	p := e.Kept()
	p.N = n
	o := s.enter(e, &p.Waiter, base, end)
	if o == waiting.Pending {
		return e, p, nil
	}
	e.Put(p)
	return nil, nil, o.Err()
}

func finish(e *parking.Sleeper, p *waiting.Parker) error {
	p.Sleeper().Sleep()
	o := p.Outcome()
	e.Put(p)
	return o.Err()
}

// A ticketLine is where a goroutine waits for the tickets before end, as a [waiting.Line].
type ticketLine struct {
	s         *tickets
	e         *parking.Sleeper
	base, end int64
}

func (p ticketLine) Unlink(w *waiting.Waiter) bool {
	if !p.s.table().Leave(p.e) {
		return false // The claimer has abandoned the tickets, unless it has granted them.
	}
	p.s.abandon(p.base, w.N, p.end)
	return true
}

func (p ticketLine) GiveBack(n int64) bool {
	p.s.giveBack(p.base, n)
	return true
}

// keep is for n permits that have been granted without a wait. It returns nil if ctx had not ended
// before. Otherwise it gives them back and returns ctx.Err(). A check before the tickets are taken
// is not enough: the context may end afterwards, and the permits become free after that. For a
// request that has slept the parker checks.
//
//go:noinline
func (s *tickets) keep(ctx context.Context, base, n int64) error {
	return waiting.Keep(ctx, ticketLine{s: s, base: base}, n)
}

func (s *tickets) key(id, end int64) parking.Key {
	return parking.Key{Object: s, Part: end / step, Hash: uintptr(id)}
}

func (s *tickets) table() *parking.Table {
	if s.array == nil {
		return parking.Default()
	}
	return (*parking.Table)(s.array)
}
