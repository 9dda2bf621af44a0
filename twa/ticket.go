package twa

import (
	"context"
	"math"
	"time"

	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Ticket is a semaphore like [Semaphore], with the same methods and the same order, but without
// an array: whoever has to wait asks again and again, and lets other goroutines run in between. So
// it never sleeps, and a release is one addition even if somebody waits. It is for waits that are
// about as long as a switch of goroutines, of no more goroutines than there are processors; more of
// them keep the processors busy with asking. A wait in a testing/synctest bubble is no durable one,
// so the bubble's clock stands still meanwhile, and neither a timeout nor a deadline ends it.
//
// It allocates nothing. The context's error is what ends a wait: a context whose channel is closed
// while it has no error, against the rules, does not.
//
// Requests that are too large for a Resize end one by one, as each of them asks again. What one of
// them passes on may still be granted to another that has not asked yet.
//
// The zero Ticket is a Semaphore: use NewTicket.
//
// Source: Dice and Kogan, Semaphores Augmented with a Waiting Array, Listing 1.
type Ticket struct{ Semaphore }

// NewTicket returns a ticket semaphore of n permits, all free. It panics if n is negative.
func NewTicket(n int64) *Ticket {
	t := new(Ticket)
	t.init(n)
	t.t.array = new(Array)
	return t
}

// forever is a time that does not end.
const forever time.Duration = math.MaxInt64

// poll waits as await does, for d at most, without sleeping.
func (s *tickets) poll(ctx context.Context, d time.Duration, n, end int64) error {
	if s.refuse(zero, n, end) {
		return ErrQueueFull
	}
	s.array.polling.Add(1)
	defer s.array.polling.Add(-1)
	until := xsync.Now() + int64(d) // it may wrap: only the difference counts
	spun := 0
	for { // A turn is lost to those ahead.
		if o := s.settled(zero, n, end); o != waiter.Pending {
			if err := ctx.Err(); err != nil && o == waiter.Granted {
				s.giveBack(zero, n)
				return err
			}
			return o.Err()
		}
		err := ctx.Err()
		if d != forever && xsync.Now()-until >= 0 {
			err = context.DeadlineExceeded
		}
		if err != nil {
			s.abandon(zero, n, end)
			return err
		}
		g := s.grant.Load()
		switch ahead := (end - granted(zero, g)) / step; {
		case ahead <= 0 || g&closed != 0: // it has ended by now
		case ahead == 1 && xsync.Spin(spun): // the next one
			spun++
		default:
			// Once, however many are ahead: a yield goes behind all who can run, so they have had
			// their turn when it returns, and it takes the longer the more they are. (Listing 1
			// suggests a delay in proportion to the distance.)
			xsync.Yield()
		}
	}
}
