package observed

import (
	"context"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A Level says how much a record keeps.
type Level uint8

// The levels.
const (
	Off     Level = iota // nothing
	Counts               // counters, and histograms
	Holders              // also who holds and who waits, with stacks
)

// A Request is for permits of a lock.
type Request struct {
	N      int64  // how many; 0: for a signal, and no hold follows
	Shared bool   // of a read-write lock: a reader's
	Tenant string // at [Holders], of a lock that is shared between tenants or classes
	Key    string // at [Holders], of a table of locks
	Hash   uint64 // of the key
	Call   uint64 // the number of a call for several keys; 0: it is for one
}

// A Record is what a lock calls while it is observed. Package records makes them.
//
// The hooks allocate nothing in the steady state, so requests are passed by value: what is passed
// by its address to a method of an interface is on the heap.
type Record interface {
	// Level returns how much the record keeps. Only at [Holders] keys are looked at.
	Level() Level
	// IsLeft reports whether the lock of the record has been collected. For a moment another lock
	// may have come to its address.
	IsLeft() bool

	// Tried records a try: ok says that it has taken q.
	Tried(q Request, ok bool)
	// AtOnce records a request that has ended without a wait, with the permits if err is nil. It
	// returns err.
	AtOnce(q Request, err error) error
	// Begin records that the caller begins to wait for q. CanEnd says that a context or a time may
	// end the wait. End records that it has ended, with the permits if err is nil. See [Await].
	Begin(q Request, canEnd bool) Wait
	End(w Wait, q Request, err error)
	// Skips reports whether the caller's wait is one of those, most at [Counts], that are counted
	// when they end, and no more. A lock may then wait without [Await], and calls Granted when the
	// wait has ended with n permits.
	Skips() bool
	Granted(n int64)
	// WantsReleases reports whether releases must be recorded.
	WantsReleases() bool
	// Released records that the caller is about to give back what it has requested as q.
	Released(q Request)
	// Shares says that the caller, which has returned a part of what it held alone, keeps n permits
	// as a reader.
	Shares(n int64)

	// Renewed is called by a lock that counts its own fast-path acquisitions while the bit O is
	// clear. Passed is how many there were since the express lane was renewed. Now it is renewed
	// for the caller, which holds the lock alone. On is O. The lock is crowded if the caller
	// has waited for the renewal.
	//
	// At [Counts] O is clear while the lock is crowded, until the monitor comes. So a crowded lock
	// has its fast path. No acquisition is missed, but the fast path times no hold: Admitted does.
	Renewed(passed int64, on, crowded bool)
	// Marked is called by a holder whose hold has just been recorded, of a lock that finds its
	// record even while O is clear. On is O. At [Holders] a release has to be recorded, and
	// it is only if O is set. The level rises before O is set. In between Marked sets it.
	Marked(on bool)
	// Admitted is called by a goroutine that has waited for a renewal of the lane, and has just got
	// the lock. The end of its hold will be recorded, too.
	Admitted()

	// FutureBegins records that the request of a future, whose node is w, is about to be made.
	// FutureWaits records that it has not been granted at once. See [StartFuture].
	FutureBegins(q Request, w *waiting.Waiter)
	FutureWaits(w *waiting.Waiter)
	waiting.Recorder

	// HandleTook says that the handle h has the n permits that the caller has just taken.
	HandleTook(h *xsync.Int64, n int64)
	// HandleReleasing says that the handle h is about to give back all that it has. It reports
	// false if no record says that it has something: the release then is recorded as any other.
	HandleReleasing(h *xsync.Int64) bool
	// HandleForgets says that what the handle h has is the caller's from now on.
	HandleForgets(h *xsync.Int64)
	// HandleSplits says that n permits of the handle h are another's now.
	HandleSplits(h, other *xsync.Int64, n int64)
	// HandlesMerge says that what the handle other has is that of h now.
	HandlesMerge(h, other *xsync.Int64)
}

// A Wait is one that has begun. Its fields are the record's.
type Wait struct {
	Begun  bool
	Entry  any   // at [Holders]
	Region any   // of the execution trace, if that is on
	Start  int64 // at [Counts]: when it began; 0: it is not in the sample
	Weight int64 // for how many waits it stands in the sample
}

// Await records a wait for q: that of acquire, which returns nil if the caller has the permits, and
// gives up when the limit that it is passed ends the wait. The record of the wait ends even if
// acquire panics, as a context may.
func Await(r Record, q Request, l waiting.Limit, acquire func(waiting.Limit) error) (err error) {
	w := r.Begin(q, l.MayEnd())
	err = context.Canceled // should acquire panic
	defer func() { r.End(w, q, err) }()
	if w.Entry != nil { // so that the runtime's profile finds the wait if it has leaked
		l = l.InChannel()
	}
	return acquire(l)
}

// StartFuture starts the request q of a future, whose node is w, by s, and records that.
func StartFuture[S interface {
	Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome
}](r Record, q Request, s S, w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	r.FutureBegins(q, w)
	o := s.Start(w, waker)
	switch o {
	case waiting.Granted:
	case waiting.Pending:
		r.FutureWaits(w)
	default:
		r.FutureEnded(w) // its owner asks why
	}
	return o
}

// A none is the record of a lock that is not observed any more. It drops everything.
type none struct{}

func (none) Level() Level                            { return Off }
func (none) IsLeft() bool                            { return false }
func (none) Tried(Request, bool)                     {}
func (none) AtOnce(_ Request, err error) error       { return err }
func (none) Begin(Request, bool) (w Wait)            { return w }
func (none) End(Wait, Request, error)                {}
func (none) Skips() bool                             { return false }
func (none) Granted(int64)                           {}
func (none) WantsReleases() bool                     { return Inert }
func (none) Released(Request)                        {}
func (none) Shares(int64)                            {}
func (none) Renewed(int64, bool, bool)               {}
func (none) Marked(bool)                             {}
func (none) Admitted()                               {}
func (none) FutureBegins(Request, *waiting.Waiter)   {}
func (none) FutureWaits(*waiting.Waiter)             {}
func (none) FutureSeen(*waiting.Waiter, error)       {}
func (none) FutureReleasing(*waiting.Waiter)         {}
func (none) FutureEnded(*waiting.Waiter)             {}
func (none) HandleTook(*xsync.Int64, int64)          {}
func (none) HandleReleasing(*xsync.Int64) bool       { return false }
func (none) HandleForgets(*xsync.Int64)              {}
func (none) HandleSplits(_, _ *xsync.Int64, _ int64) {}
func (none) HandlesMerge(_, _ *xsync.Int64)          {}
