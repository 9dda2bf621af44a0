package twa

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Ticket is a semaphore like [Semaphore], with the same methods and the same order, but without an array: whoever has to wait asks
// again and again, and lets other goroutines run in between. So it never sleeps, and a release is one
// addition even if somebody waits. It is for waits that are about as long as a switch of goroutines, of no more goroutines than there are
// processors; more of them keep the processors busy with asking. A wait in a testing/synctest bubble is no durable one.
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

// poll waits as await does, without sleeping. If timed, the wait ends at until.
func (s *tickets) poll(ctx context.Context, timed bool, until, base, n, end int64) error {
	s.array.polling.Add(1)
	defer s.array.polling.Add(-1)
	for i := 0; ; i++ { // A turn is lost to those ahead.
		if o := s.settled(base, n, end); o != waiter.Pending {
			if err := ctx.Err(); err != nil && o == waiter.Granted {
				s.giveBack(base, n, end)
				return err
			}
			return o.Err()
		}
		err := ctx.Err()
		if timed && xsync.Now() >= until {
			err = context.DeadlineExceeded
		}
		if err != nil {
			s.abandon(base, n, end)
			return err
		}
		ahead := (end - granted(base, s.grant.Load())) / step
		if ahead <= 0 || ahead == 1 && xsync.Spin(i) { // granted by now, or the next one
			continue
		}
		// Once, however many are ahead: a yield goes behind all who can run, so they have had their turn when it returns, and it
		// takes the longer the more they are. (Listing 1 suggests a delay in proportion to the distance.)
		xsync.Yield()
	}
}

// pollFor is poll with a deadline d from now and no context.
func (s *tickets) pollFor(d time.Duration, base, n, end int64) error {
	return s.poll(context.Background(), true, xsync.Now()+int64(d), base, n, end)
}
