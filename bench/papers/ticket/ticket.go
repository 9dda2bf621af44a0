package ticket

import (
	"golang.org/x/sys/cpu"

	"github.com/farad-go/farad/internal/xsync"
)

// A Semaphore is two counters. An acquire takes tickets with one addition and polls until they
// have been granted. A release grants tickets with one addition, whether or not any goroutine
// waits.
//
// Order: strict FIFO, in the order of the additions.
//
// Memory model: what happened before a Release happens before the return of the acquires that it
// serves.
//
// The zero Semaphore has no permits. A Semaphore must not be copied after first use. It allocates
// nothing.
//
// Deviation from the paper: it suggests to wait between two looks in proportion to the number of
// goroutines ahead. Here one yield does that: a goroutine that yields goes behind all that can run.
type Semaphore struct {
	// Invariants:
	//
	//  1. The permits before grant are the owners' of the tickets before grant: no more permits are
	//     held than there are. (TestModelTicket)
	//  2. Both counters may wrap around; only their difference is compared.
	//     (TestModelTicket, TestCountersMayWrapAround)
	ticket xsync.Int64 // tickets taken; written by acquires
	_      cpu.CacheLinePad
	grant  xsync.Int64 // tickets granted; written by releases
	_      cpu.CacheLinePad
}

// New returns a semaphore of n permits, all free. It panics if n is negative.
func New(n int64) *Semaphore {
	if n < 0 {
		panic("ticket: negative size")
	}
	s := new(Semaphore)
	s.grant.Store(n)
	return s
}

// Acquire takes n permits, n > 0. It returns when they have been granted, and polls until then.
// Nothing ends the wait early: a request for more permits than there are never returns.
func (s *Semaphore) Acquire(n int64) {
	end := s.ticket.Add(n)
	for spun := 0; ; { // Each retry waits for the requests ahead.
		switch ahead := end - s.grant.Load(); {
		case ahead <= 0:
			return
		case ahead == 1 && xsync.Spin(spun): // the next one
			spun++
		default:
			xsync.Yield()
		}
	}
}

// TryAcquire takes n permits, n > 0, if they are free and no goroutine waits, and reports whether
// it did.
func (s *Semaphore) TryAcquire(n int64) bool {
	for { // A retry follows another acquire.
		t := s.ticket.Load()
		if s.grant.Load()-t < n {
			return false
		}
		if s.ticket.CompareAndSwap(t, t+n) {
			return true
		}
	}
}

// Release returns n permits. They go to the goroutines that have waited longest. It does not check
// that n permits are held.
func (s *Semaphore) Release(n int64) { s.grant.Add(n) }

// Available returns the number of free permits, or minus the number of permits that waiting
// requests need.
func (s *Semaphore) Available() int64 { return s.grant.Load() - s.ticket.Load() }
