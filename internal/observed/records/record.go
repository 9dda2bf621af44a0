package records

import (
	"context"
	"errors"
	"runtime"
	"runtime/trace"

	"golang.org/x/sys/cpu"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// Limits of one record.
const (
	maxHolds = 1 << 12
	maxWaits = 1 << 12
	period   = 256 // one acquisition in so many is timed, after the first period
)

// A Record is what is known about one lock.
//
// At Counts it counts, and times a sample of waits and holds. At Holders it also has a [Hold]
// for all permits that were taken where a hook saw it, and a waiting for each wait.
//
// Invariants:
//
//  1. A hold is recorded after its permits were taken and forgotten before they are given back. So
//     the holds and the unknown ones are never more than are held. (TestHoldsAreHeld)
//  2. Nothing grows without bound: the oldest is dropped, and counted. (TestRecordIsBounded)
//  3. The hooks allocate nothing in the steady state. (TestHooksAllocateNothing)
type Record struct {
	at      uintptr
	id      uint64
	kind    *observed.About
	since   int64
	lock    observed.Lock
	cleanup runtime.Cleanup

	level   xsync.Uint32     // a Level
	seen    xsync.Uint32     // not 0: Released has to look at holds at Counts, too
	unnamed xsync.Uint32     // not 0: the first to wait gives the name
	many    xsync.Uint32     // not 0: more than a period has waited
	crowded xsync.Bool       // the bit O is clear for now: see Renewed
	line    xsync.Int64      // at Counts: the last grant that the monitor has seen waited for
	_       cpu.CacheLinePad // those above are read by all, and hardly ever written

	took    xsync.Int64 // without a wait, but for those in atOnce
	granted xsync.Int64 // after a wait
	passed  xsync.Int64 // on the fast path, as the lock has reported
	weighed xsync.Int64 // how many of those a hold in the sample stands for
	lanes   xsync.Int64 // how many have been admitted while it was crowded
	late    xsync.Int64 // waits that have ended without a grant
	failed  [numWhys]xsync.Int64
	peak    xsync.Int64

	mu      mutex // guards what follows
	wait    histogram
	hold    histogram
	name    string
	place   []uintptr // where it was first waited for, if it has no name
	size    int64     // when the record began
	unknown int64     // permits that were held when the record began
	holds   entries   // at Holders: all; at Counts: a sample
	waits   entries   // at Holders
	asking  int       // how many of those are of futures whose requests did not wait
	owned   *owned    // those that belong to a future or a handle; nil before the first
	spare   *entry    // for reuse
	atOnce  int64     // acquired without a wait, at Holders
	ids     uint64    // the next that nothing else in the process has
	idsLeft int
	spares  int   // how many
	last    int64 // at Counts: how many had been acquired when the monitor came last, and when
	lastAt  int64
	stamp   int64  // at Counts: when a hold had begun that the monitor has seen to last; 0: none
	ticks   []tick // at Counts: the lines that the monitor has seen
	before  int64  // what the lock had counted when the record began
	shown   shown

	sites    sites // at Holders, of what has ended
	pressure pressure
	keyed    *[keys]pressure // nil before the first key

	released, handed           uint64
	droppedHolds, droppedWaits uint64
}

// shown has the largest numbers that were read, so that no figure ever falls.
type shown struct{ acquired, contended uint64 }

// A Why says how a request ended without a grant.
type Why uint8

// The reasons.
const (
	Tried       Why = iota // a try failed
	TooLarge               // for more permits than there are
	QueueFull              // too many wait
	Cancelled              // by its context
	TimedOut               // by its time, or the deadline of its context
	Closed                 // by Close
	Shed                   // after too long a wait
	WouldExpire            // no permit was expected before its deadline
	numWhys
)

// whyOf returns why a request ended with an error.
func whyOf(err error) Why {
	switch {
	case err == errTried: //nolint:errorlint // it is never wrapped
		return Tried
	case errors.Is(err, waiting.ErrClosed):
		return Closed
	case errors.Is(err, waiting.ErrTooLarge):
		return TooLarge
	case errors.Is(err, waiting.ErrQueueFull):
		return QueueFull
	case errors.Is(err, waiting.ErrShed):
		return Shed
	case errors.Is(err, waiting.ErrWouldExpire):
		return WouldExpire
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	default:
		return Cancelled
	}
}

//go:norace
func newRecord(at uintptr, kind *observed.About, lock observed.Lock) *Record {
	return &Record{
		at: at, id: observed.NewID(), kind: kind, lock: lock, since: xsync.Now(),
	}
}

// set sets the name and the level.
func (r *Record) set(name string, level observed.Level) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name != "" {
		r.name = name
		r.unnamed.Store(0)
	} else if r.name == "" && r.place == nil {
		r.unnamed.Store(1)
	}
	r.setLevelLocked(level)
}

// forget ends the record, which has left the registry: what it has is nobody's any more.
func (r *Record) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.setLevelLocked(observed.Off)
}

func (r *Record) setLevelLocked(level observed.Level) {
	old := observed.Level(r.level.Swap(uint32(level)))
	if level == old {
		return
	}
	// A sample is not all that is held, and may be of what has been released long ago.
	for e := r.holds.first; e != nil; e = r.holds.first {
		if old == observed.Holders {
			r.forgetLocked(e, xsync.Now())
		} else {
			r.holds.remove(e)
			r.freeLocked(e)
		}
	}
	for e := range r.owned.all { // The ends of futures are recorded only at Holders.
		r.dropLocked(e)
	}
	if level == observed.Holders {
		r.unknown = unknownYet
	}
}

// unknownYet stands for all that are held: begin finds out how many.
const unknownYet = 1 << 62

// begin counts the permits that are held by unknown ones. The lock has the bit O.
func (r *Record) begin(fresh bool) {
	r.mu.Lock()
	if n, ok := r.lock.Numbers(); ok && fresh {
		r.before, r.size = n.Passed, n.Size
	}
	r.boundUnknownLocked()
	r.mu.Unlock()
}

// boundUnknownLocked lowers the number of unknown permits to what it can be. Invariant 1 makes this
// right at any moment: under mu the recorded holds are held.
func (r *Record) boundUnknownLocked() {
	if r.unknown == 0 || r.lock == nil {
		return
	}
	if n, ok := r.lock.Numbers(); ok {
		r.unknown = min(r.unknown, max(n.Held()-r.holds.permits, 0))
	}
}

// nameAfter has the lock be called by a place.
//
//go:norace
func (r *Record) nameAfter(s *Stack) {
	r.mu.enter()
	defer r.mu.leave()
	if r.unnamed.Swap(0) != 0 {
		r.place = s.PCs()
	}
}

// IsLeft implements [observed.Record], and so do the other hooks: Tried, AtOnce, Begin and the
// rest. Until a cleanup has taken the record out of the table, another lock may have come to its
// address.
func (r *Record) IsLeft() bool { return r.lock.IsLeft() }

// Level returns how much the record keeps.
//
//go:norace
func (r *Record) Level() observed.Level { return observed.Level(xsync.Glance32(&r.level)) }

// errTried is the reason of a try that has failed.
var errTried = errors.New("observed: tried")

// Tried records a try.
//
//go:norace
func (r *Record) Tried(q observed.Request, ok bool) {
	err := errTried
	if ok {
		err = nil
	}
	_ = r.AtOnce(q, err)
}

// AtOnce records a request that has ended without a wait.
//
//go:norace
func (r *Record) AtOnce(q observed.Request, err error) error {
	level := r.Level()
	switch {
	case level == observed.Off:
	case err != nil:
		r.fail(whyOf(err), false)
	default:
		if level == observed.Holders {
			r.addHold(q)
		} else if c := r.took.Add(1); c <= period || c%period == 0 {
			r.sampleHold(q.N, weightOf(c))
		}
	}
	return err
}

// fail counts a request that has failed, after a wait or without one.
//
//go:norace
func (r *Record) fail(why Why, waited bool) {
	xsync.RaceDisable()
	r.failed[why].Add(1)
	if waited && why != TooLarge && why != QueueFull && why != WouldExpire {
		r.late.Add(1)
	}
	xsync.RaceEnable()
}

// Begin records that the caller begins to wait.
//
//go:norace
func (r *Record) Begin(q observed.Request, canEnd bool) observed.Wait {
	if r.Skips() {
		return observed.Wait{Begun: true}
	}
	return r.beginSlow(q, canEnd)
}

// Skips reports whether the wait is not one of the sample, and nothing else wants to know of it.
//
//go:norace
func (r *Record) Skips() bool {
	return r.Level() == observed.Counts && r.many.Load() != 0 && !trace.IsEnabled() && !r.isPicked()
}

// isPicked picks one wait in a period, by what is as good as chance, and costs less: how many have
// been granted, and the caller's stack.
func (r *Record) isPicked() bool {
	return uint32(r.granted.Load()+int64(xsync.Hint()))*0x9e3779b9 < 1<<32/period //nolint:gosec // Fibonacci hashing
}

// Granted records that a wait that was skipped has ended.
func (r *Record) Granted(n int64) {
	if c := r.granted.Add(1); c <= r.line.Load() || c%period == 0 {
		r.sample(c, n, observed.Wait{})
	}
	r.grantedUnseen(n)
}

// grantedUnseen says that a wait has ended with n permits whose beginning was not recorded. If the
// level has risen meanwhile they are those of an unknown holder.
func (r *Record) grantedUnseen(n int64) {
	if r.Level() != observed.Holders {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Level() == observed.Holders {
		r.unknown += n
	}
}

// sample puts the c-th grant, of n permits after a wait, into the sample, if it belongs there.
//
//go:noinline
func (r *Record) sample(c, n int64, w observed.Wait) {
	if d := r.sinceTick(c); d > 0 { // All that were seen are counted, so this one does not stand for others.
		if w.Start != 0 {
			d = xsync.Now() - w.Start
		}
		r.timeWait(d, 1)
	} else if w.Start != 0 {
		r.timeWait(xsync.Now()-w.Start, w.Weight)
	}
	if n > 0 && (c <= period || c%period == 0) && !r.crowded.Load() {
		r.sampleHold(n, weightOf(c))
	}
}

func (r *Record) timeWait(d, weight int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wait.add(d, weight)
}

//go:noinline
//go:norace
func (r *Record) beginSlow(q observed.Request, canEnd bool) observed.Wait {
	if xsync.Glance32(&r.unnamed) != 0 {
		r.nameAfter(here())
	}
	level := r.Level()
	if level == observed.Off {
		return observed.Wait{}
	}
	w := observed.Wait{Begun: true, Region: r.region()}
	if level == observed.Holders {
		w.Entry = r.addWait(q, canEnd)
		return w
	}
	w.Start, w.Weight = xsync.Now(), 1
	if r.many.Load() != 0 {
		w.Weight = period
	}
	return w
}

// End records that a wait has ended.
//
//go:norace
func (r *Record) End(w observed.Wait, q observed.Request, err error) {
	if !w.Begun {
		return
	}
	if w.Region != nil {
		w.Region.(*trace.Region).End()
	}
	if err != nil {
		r.fail(whyOf(err), true)
	}
	if w.Entry != nil {
		r.endWait(w.Entry.(*entry), err == nil)
		return
	}
	if err != nil {
		return
	}
	c := r.granted.Add(1)
	if c == period {
		r.many.Store(1)
	}
	if w.Start != 0 || c <= r.line.Load() || c%period == 0 {
		r.sample(c, q.N, w)
	}
	r.grantedUnseen(q.N)
}

// weightOf returns for how many acquisitions the c-th stands in the sample.
//
//go:norace
func weightOf(c int64) int64 {
	if c <= period {
		return 1
	}
	return period
}

// WantsReleases reports whether releases must be recorded.
//
//go:norace
func (r *Record) WantsReleases() bool { return r.seen.Load() != 0 || r.Level() == observed.Holders }

// Released records that the caller is about to give back permits.
//
//go:norace
func (r *Record) Released(q observed.Request) {
	switch r.Level() {
	case observed.Off:
	case observed.Counts:
		if r.seen.Load() != 0 {
			r.endSample()
		}
	default:
		r.endHold(q)
	}
}

// Shares says that the caller keeps n permits as a reader.
//
//go:norace
func (r *Record) Shares(n int64) {
	if r.Level() == observed.Holders {
		r.share(n)
	}
}

// Renewed adds what the lock has counted, and clears or sets its bit O.
func (r *Record) Renewed(passed int64, on, crowded bool) {
	level := r.Level()
	if level == observed.Off {
		return
	}
	r.passed.Add(passed)
	crowded = crowded && level == observed.Counts
	if r.crowded.Load() != crowded {
		r.crowded.Store(crowded)
	}
	switch {
	case crowded == !on:
	case crowded:
		r.lock.Observe(false)
		// Who has changed the level or the table sets the bit afterwards, or is seen here.
		if r.Level() != observed.Counts || find(r.at) != r {
			r.agree()
		}
	default:
		r.agree()
	}
}

// Marked sets the bit O between a rise of the level and its own setting.
//
//go:norace
func (r *Record) Marked(on bool) {
	if !on && r.Level() == observed.Holders {
		r.agree()
	}
}

// Admitted records a hold after a wait for a renewal. For some lanes the sample has this hold, for
// all that have passed.
func (r *Record) Admitted() {
	if r.crowded.Load() && r.lanes.Add(1)%sampledLanes == 1 {
		passed := r.passed.Load()
		r.sampleHold(1, sampledLanes+passed-r.weighed.Swap(passed))
	}
}

// sampledLanes is of how many lanes one has a hold in the sample.
const sampledLanes = 16

// acquiredLocked returns how many acquisitions there were, if the lock has counted so many more.
func (r *Record) acquiredLocked(more int64) int64 {
	return r.atOnce + r.took.Load() + r.granted.Load() + r.passed.Load() + more - r.before
}
