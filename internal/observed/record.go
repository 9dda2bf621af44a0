package observed

import (
	"context"
	"errors"
	"runtime"
	"runtime/trace"

	"golang.org/x/sys/cpu"

	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// Limits of one record.
const (
	maxHolds = 1 << 12
	maxWaits = 1 << 12
	period   = 256 // one acquisition in so many is timed, after the first period
)

// A Record is what is known about one lock.
//
// At [Counts] it counts, and times a sample of waits and holds. At [Holders] it also has a [Hold]
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
	kind    *About
	since   int64
	lock    weakLock
	cleanup runtime.Cleanup

	level   xsync.Uint32     // a Level
	seen    xsync.Uint32     // not 0: Released has to look at holds at Counts, too
	unnamed xsync.Uint32     // not 0: the first to wait gives the name
	many    xsync.Uint32     // not 0: more than a period has waited
	crowded xsync.Bool       // the bit O is clear for now: see Renewed
	line    xsync.Int64      // at Counts: the last grant that the monitor has seen waited for
	_       cpu.CacheLinePad // those above are read by all, and hardly ever written

	took    xsync.Int64 // without a wait
	granted xsync.Int64 // after a wait
	passed  xsync.Int64 // on the fast path, as the lock has reported
	weighed xsync.Int64 // how many of those a hold in the sample stands for
	lanes   xsync.Int64 // how many have been admitted while it was crowded
	late    xsync.Int64 // waits that have ended without a grant
	failed  [numWhys]xsync.Int64
	peak    xsync.Int64

	wait, hold histogram

	mu      xsync.Mutex // guards what follows
	name    string
	place   []uintptr          // where it was first waited for, if it has no name
	unknown int64              // permits that were held when the record began
	holds   entries            // at Holders: all; at Counts: a sample
	waits   entries            // at Holders
	owned   map[uintptr]*entry // those that belong to a future or a handle, by its address
	last    int64              // at Counts: how many had been acquired when the monitor came last, and when
	lastAt  int64
	stamp   int64  // at Counts: when a hold had begun that the monitor has seen to last; 0: none
	ticks   []tick // at Counts: the lines that the monitor has seen
	before  int64  // what the lock had counted when the record began
	shown   shown

	sites    map[*Stack]*Site // at Holders, of what has ended
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
	case errors.Is(err, waiter.ErrClosed):
		return Closed
	case errors.Is(err, waiter.ErrTooLarge):
		return TooLarge
	case errors.Is(err, waiter.ErrQueueFull):
		return QueueFull
	case errors.Is(err, waiter.ErrShed):
		return Shed
	case errors.Is(err, waiter.ErrWouldExpire):
		return WouldExpire
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	default:
		return Cancelled
	}
}

func newRecord(at uintptr, kind *About, lock weakLock) *Record {
	return &Record{
		at: at, id: NewID(), kind: kind, lock: lock, since: xsync.Now(),
	}
}

// set sets the name and the level.
func (r *Record) set(name string, level Level) {
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
	r.setLevelLocked(Off)
}

func (r *Record) setLevelLocked(level Level) {
	old := Level(r.level.Swap(uint32(level)))
	if level == old {
		return
	}
	// A sample is not all that is held, and may be of what has been released long ago.
	for e := r.holds.first; e != nil; e = r.holds.first {
		if old == Holders {
			r.forgetLocked(e, xsync.Now())
		} else {
			r.holds.remove(e)
			free(e)
		}
	}
	for _, e := range r.owned { // Futures tell of their ends only at Holders.
		r.dropLocked(e)
	}
	if level == Holders {
		r.unknown = unknownYet
	}
}

// unknownYet stands for all that are held: begin finds out how many.
const unknownYet = 1 << 62

// begin counts the permits that are held by unknown ones. The lock has the bit O.
func (r *Record) begin(fresh bool) {
	r.mu.Lock()
	if n, ok := r.lock.numbers(); ok && fresh {
		r.before = n.Passed
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
	if n, ok := r.lock.numbers(); ok {
		r.unknown = min(r.unknown, max(n.Held()-r.holds.permits, 0))
	}
}

// nameAfter has the lock be called by a place.
func (r *Record) nameAfter(s *Stack) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unnamed.Swap(0) != 0 {
		r.place = s.PCs()
	}
}

// Level returns how much the record keeps. Only at [Holders] keys are looked at.
func (r *Record) Level() Level {
	if inert {
		return Off
	}
	return Level(r.level.Load())
}

// Took says that the caller has taken n permits without a wait.
func (r *Record) Took(n int64, shared bool) { r.tookFor(n, shared, "", "", 0) }

// TookKey is Took for a table of locks. What one call acquires of several keys has the number of
// the call, which is 0 otherwise.
func (r *Record) TookKey(n int64, shared bool, key string, call uint64) {
	r.tookFor(n, shared, key, "", call)
}

// TookAs is Took for a tenant.
func (r *Record) TookAs(n int64, tenant string) { r.tookFor(n, false, "", tenant, 0) }

func (r *Record) tookFor(n int64, shared bool, key, tenant string, call uint64) {
	level := r.Level()
	if level == Off {
		return
	}
	c := r.took.Add(1)
	if level == Holders {
		r.addHold(n, shared, key, tenant, call)
	} else if c <= period || c%period == 0 {
		r.sampleHold(n, weightOf(c))
	}
}

// A Wait is one that has begun.
type Wait struct {
	r     *Record
	e     *entry // at Holders
	start int64  // at Counts: when it began; 0: it is not in the sample
	n     int64  // how many permits it is for

	weight int64 // for how many waits it stands in the sample

	region *trace.Region // nil unless the execution is traced
}

// Begin says that the caller begins to wait for n permits. canEnd says that a context or a time may
// end the wait. A wait for none, such as that for a signal, is followed by no hold.
func (r *Record) Begin(n int64, shared, canEnd bool) Wait {
	return r.BeginKey(n, shared, canEnd, "", 0, 0)
}

// BeginAs is Begin for a tenant.
func (r *Record) BeginAs(n int64, canEnd bool, tenant string) Wait {
	w := r.Begin(n, false, canEnd)
	if w.e != nil && tenant != "" {
		r.mu.Lock()
		w.e.Tenant = tenant
		r.mu.Unlock()
	}
	return w
}

// BeginKey is Begin for a table of locks, which knows the key by a hash. The call is that of
// [Record.TookKey].
func (r *Record) BeginKey(n int64, shared, canEnd bool, key string, hash, call uint64) Wait {
	if r.Skips() {
		return Wait{r: r, n: n}
	}
	return r.beginSlow(n, shared, canEnd, key, hash, call)
}

// Skips reports whether the caller's wait is one of those, most at [Counts], that are counted when
// they end, and no more. Then Begin need not be called, and Granted says that it has ended.
func (r *Record) Skips() bool {
	return r.Level() == Counts && r.many.Load() != 0 && !trace.IsEnabled() && !r.isPicked()
}

// isPicked picks one wait in a period, by what is as good as chance, and costs less: how many have
// been granted, and the caller's stack.
func (r *Record) isPicked() bool {
	return uint32(r.granted.Load()+int64(xsync.Hint()))*0x9e3779b9 < 1<<32/period //nolint:gosec // Fibonacci hashing
}

// Granted says that a wait for n permits has ended with them, which was skipped.
func (r *Record) Granted(n int64) {
	if c := r.granted.Add(1); c <= r.line.Load() || c%period == 0 {
		r.sample(c, Wait{n: n})
	}
	r.grantedUnseen(n)
}

// grantedUnseen says that a wait has ended with n permits whose beginning was not recorded. If the
// level has risen meanwhile they are those of an unknown holder.
func (r *Record) grantedUnseen(n int64) {
	if r.Level() != Holders {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Level() == Holders {
		r.unknown += n
	}
}

// sample puts the c-th grant into the sample, if it belongs there.
//
//go:noinline
func (r *Record) sample(c int64, w Wait) {
	if d := r.sinceTick(c); d > 0 { // All that were seen are counted, so this one does not stand for others.
		if w.start != 0 {
			d = xsync.Now() - w.start
		}
		r.wait.add(d, 1)
	} else if w.start != 0 {
		r.wait.add(xsync.Now()-w.start, w.weight)
	}
	if w.n > 0 && (c <= period || c%period == 0) && !r.crowded.Load() {
		r.sampleHold(w.n, weightOf(c))
	}
}

//go:noinline
func (r *Record) beginSlow(n int64, shared, canEnd bool, key string, hash, call uint64) Wait {
	if !inert && r.unnamed.Load() != 0 {
		r.nameAfter(here())
	}
	switch r.Level() {
	case Off:
		return Wait{}
	case Holders:
		e := newEntry(n, shared, key)
		e.CanEnd, e.hash, e.Call = canEnd, hash, call
		r.mu.Lock()
		r.pushLocked(&r.waits, e)
		r.peak.Store(max(r.peak.Load(), int64(r.waits.n)))
		r.mu.Unlock()
		return Wait{r: r, e: e, region: r.region()}
	}
	weight := int64(1)
	if r.many.Load() != 0 {
		weight = period
	}
	return Wait{r: r, n: n, start: xsync.Now(), weight: weight, region: r.region()}
}

// Limit returns the limit l of the wait. At [Holders] a wait that nothing ends sleeps in a channel,
// so that the runtime's profile finds it if it has leaked.
func (w Wait) Limit(l waiter.Limit) waiter.Limit {
	if w.e == nil {
		return l
	}
	return l.InChannel()
}

// End says that the wait has ended, with the permits if err is nil.
func (w Wait) End(err error) {
	r := w.r
	if inert || r == nil {
		return
	}
	if w.region != nil {
		w.region.End()
	}
	c := int64(0)
	if err == nil {
		c = r.granted.Add(1)
	} else {
		why := whyOf(err)
		r.failed[why].Add(1)
		if why != TooLarge && why != QueueFull && why != WouldExpire {
			r.late.Add(1)
		}
	}
	if w.e != nil {
		r.endWait(w.e, err == nil)
		return
	}
	if err != nil {
		return
	}
	if c == period {
		r.many.Store(1)
	}
	if w.start != 0 || c <= r.line.Load() || c%period == 0 {
		r.sample(c, w)
	}
	r.grantedUnseen(w.n)
}

// weightOf returns for how many acquisitions the c-th stands in the sample.
func weightOf(c int64) int64 {
	if c <= period {
		return 1
	}
	return period
}

// WantsReleases reports whether releases must be recorded.
func (r *Record) WantsReleases() bool { return inert || r.seen.Load() != 0 || r.Level() == Holders }

// Released says that the caller is about to give back n permits.
func (r *Record) Released(n int64, shared bool) { r.ReleasedKey(n, shared, "") }

// ReleasedKey is Released for a table of locks.
func (r *Record) ReleasedKey(n int64, shared bool, key string) {
	switch r.Level() {
	case Off:
	case Counts:
		if r.seen.Load() != 0 {
			r.endSample()
		}
	default:
		r.endHold(n, shared, key)
	}
}

// Shares says that the caller, which has returned a part of what it held alone, keeps n permits as
// a reader.
func (r *Record) Shares(n int64) {
	if r.Level() == Holders {
		r.share(n)
	}
}

// Renewed is called by a lock that counts its own fast-path acquisitions while the bit O is clear.
// Passed is how many there were since the express lane was renewed. Now it is renewed for the
// caller, which holds the lock alone. Watched is O. The lock is crowded if the caller has waited
// for the renewal.
//
// At [Counts] O is clear while the lock is crowded, until the monitor comes. So a crowded lock has
// its fast path. No acquisition is missed, but the fast path times no hold: Admitted does.
func (r *Record) Renewed(passed int64, watched, crowded bool) {
	level := r.Level()
	if level == Off {
		return
	}
	r.passed.Add(passed)
	crowded = crowded && level == Counts
	if r.crowded.Load() != crowded {
		r.crowded.Store(crowded)
	}
	switch {
	case crowded == !watched:
	case crowded:
		r.lock.observe(false)
		// Who has changed the level or the table sets the bit afterwards, or is seen here.
		if r.Level() != Counts || find(r.at) != r {
			r.agree()
		}
	default:
		r.agree()
	}
}

// Marked is called by a holder whose hold has just been recorded, of a lock that finds its record
// even while O is clear. Watched is O. At [Holders] a release has to be recorded, and it is only if
// O is set. The level rises before O is set. In between Marked sets it.
func (r *Record) Marked(watched bool) {
	if !watched && r.Level() == Holders {
		r.agree()
	}
}

// Admitted is called by a goroutine that has waited for a renewal of the lane, and has just got the
// lock. The end of its hold will be recorded, too. For some lanes the sample has this hold, for all
// that have passed.
func (r *Record) Admitted() {
	if r.crowded.Load() && r.lanes.Add(1)%sampledLanes == 1 {
		passed := r.passed.Load()
		r.sampleHold(1, sampledLanes+passed-r.weighed.Swap(passed))
	}
}

// sampledLanes is of how many lanes one has a hold in the sample.
const sampledLanes = 16

// acquired returns how many acquisitions there were, if the lock has counted so many more.
func (r *Record) acquired(more int64) int64 {
	return r.took.Load() + r.granted.Load() + r.passed.Load() + more - r.before
}

// Failed says that a request has ended at once, without a grant.
func (r *Record) Failed(why Why) {
	if r.Level() != Off {
		r.failed[why].Add(1)
	}
}

// FailedWith is Failed for a request that has ended with an error.
func (r *Record) FailedWith(err error) { r.Failed(whyOf(err)) }
