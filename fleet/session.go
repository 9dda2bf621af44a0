package fleet

import (
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/fleet/internal/clock"
	"github.com/farad-go/farad/fleet/store"
)

// A session is a lease and how long it may be relied on: its TTL from when the last renewal was
// sent, less a margin. Two clocks must agree. The monotonic one may stand still while the machine
// is suspended, and the wall clock may be set back.
//
// Invariants:
//
//  1. While valid reports true the server has not ended the lease, if the clocks of both run alike
//     within the margin: the server counts from when it got a renewal, and so from later than the
//     session does. (TestASessionCountsFromTheSending, TestTheMarginIsAFifth)
//  2. Once valid has reported false because of the time, or lost is set, it never reports true
//     again: renew changes only an end that it has found not to be over.
//     (TestARenewalBringsNothingBack)
//  3. A renewal never brings the end forward: the answer to an older one may come later.
//     (TestAnOlderRenewalChangesNothing)
type session struct {
	lease int64
	began int64                         // when the lease was asked for, on the monotonic clock
	ends  atomic.Pointer[clock.Instant] // nil: lost
	lost  chan struct{}                 // closed after ends is nil

	who   string       // by which others know the process
	epoch atomic.Int64 // transactions of the session's lines are guarded by it
}

// stored returns the session as the store knows it.
func (s *session) stored() store.Session { return store.Session{Lease: s.lease, Who: s.who} }

// reach notes an epoch, unless a later one is known.
func (s *session) reach(epoch int64) {
	for { // A retry follows only another's success.
		o := s.epoch.Load()
		if o >= epoch || s.epoch.CompareAndSwap(o, epoch) {
			return
		}
	}
}

// margin is the part of the TTL in which nothing is granted any more, and holders have time to
// stop.
func margin(ttl time.Duration) time.Duration { return ttl / 5 }

// newSession returns the session of a lease that was asked for at sent.
func newSession(id int64, sent clock.Instant, ttl time.Duration) *session {
	s := &session{lease: id, began: sent.Mono, lost: make(chan struct{})}
	ends := sent.Add(ttl - margin(ttl))
	s.ends.Store(&ends)
	return s
}

// valid reports whether the session may be relied on now.
func (s *session) valid() bool {
	ends := s.ends.Load()
	return ends != nil && clock.Now().Before(*ends)
}

// renew makes a session that is still valid last for ttl from when the renewal was sent. It reports
// false for one that is not: a renewal brings nothing back.
func (s *session) renew(sent clock.Instant, ttl time.Duration) bool {
	next := sent.Add(ttl - margin(ttl))
	for { // A retry follows only another's success.
		ends := s.ends.Load()
		if ends == nil || !clock.Now().Before(*ends) {
			return false
		}
		if next.Mono <= ends.Mono || s.ends.CompareAndSwap(ends, &next) {
			return true
		}
	}
}

// lose ends the session and reports whether it was the first to do so.
func (s *session) lose() bool {
	if s.ends.Swap(nil) == nil {
		return false
	}
	close(s.lost)
	return true
}

// left returns for how long the session is valid without a renewal.
func (s *session) left() time.Duration {
	ends := s.ends.Load()
	if ends == nil {
		return 0
	}
	return clock.Now().Until(*ends)
}
