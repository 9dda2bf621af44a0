// Package share is what the goroutines of a process have of one line: a lock with as many permits
// as the process's agent has given it. It is apart from package fleet so that the explorer of
// interleavings runs it as it is, with the agent and a line in memory.
//
// The lock is one of package waiter's, as the author of any lock may write it. Read permits.go
// first, then request.go, which has those who wait, and then share.go, which is between them and
// the agent.
package share

import (
	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/waiter"
)

// A Share is where the goroutines of a process wait for permits of one line, and what they hold.
//
// Invariants:
//
//  1. An acquire counts only if the share is valid afterwards. So whatever the agent does after a
//     loss, nothing is granted. (TestModelLoss)
//  2. A stamp is published before the permits of its block are given, and read after an acquire. So
//     a token is not older than the block that its permits are from. (checkStamp)
//  3. No wake-up of the driver is lost. The driver clears the bell, publishes which events need it,
//     and then looks at the permits. A request or a release changes these, and then looks at what
//     was published. (TestModelProcesses: otherwise a request waits for ever;
//     TestModelWhatIsIdleIsRung)
type Share struct {
	permits   permits
	attention atomicUint32         // which events need the driver
	stamp     atomicPointer[Stamp] // of the newest block
	seq       atomicInt64          // of the last token
	loose     atomicInt64          // permits that are held without a handle
	bell      *Bell                // the driver's
	valid     func() bool          // reports whether the permits may be relied on now
}

// A Stamp is the state in which a block was seen to hold.
type Stamp struct {
	Rev     int64
	Holders []int64
}

// The events that may need the driver.
const (
	onWait = 1 << iota // a request that begins to wait, or gives up
	onIdle             // a release after which something is free
	onDebt             // a release while more is held than was left
)

// Init makes s a share of nothing, in which requests of any size wait until the agent knows the
// size of the line. valid is called by any goroutine, with permits held.
func (s *Share) Init(bell *Bell, valid func() bool) {
	s.Bound(store.MaxWeight)
	s.bell, s.valid = bell, valid
}

// Observe says whether the share is observed. Then Try fails, so that slow paths record everything.
func (s *Share) Observe(on bool) { s.permits.observe(on) }

// IsObserved reports whether the share is observed.
func (s *Share) IsObserved() bool { return s.permits.isObserved() }

// Close ends all requests, now and later, with [waiter.ErrClosed]. What is held stays held.
func (s *Share) Close() { s.permits.close() }

// Try takes n permits, n > 0, without waiting, unless the share is observed.
func (s *Share) Try(n int64) bool { return s.permits.try(n, flags) && s.stillValid(n) }

// TryObserved is Try whether the share is observed or not.
func (s *Share) TryObserved(n int64) bool {
	return s.permits.try(n, flagWaiters|flagClosed) && s.stillValid(n)
}

// stillValid reports whether n permits that were just taken may be relied on. If not they go back.
func (s *Share) stillValid(n int64) bool {
	if s.valid() {
		return true
	}
	s.Release(n)
	return false
}

// requests are those of goroutines.
var requests = pool{New: func() any { return new(Request) }}

// Wait takes n permits, n > 0, and waits for them until l ends the wait. After a loss, as after
// Close, the error is [waiter.ErrClosed].
func (s *Share) Wait(l waiter.Limit, n int64) error {
	r := requests.Get().(*Request)
	*r = Request{share: s, sleeps: true}
	err := waiter.Wait(l, r, n) // If the context of l, of a foreign type, panics, r goes with it.
	requests.Put(r)
	if err == nil && !s.stillValid(n) {
		return waiter.ErrClosed
	}
	return err
}

// Release gives back n permits, n > 0. If fewer are held it changes nothing and reports false.
func (s *Share) Release(n int64) bool {
	if !s.permits.give(n, flagWaiters) && !s.permits.release(n) {
		return false
	}
	s.ringFree()
	return true
}

// ringFree rings for the driver after permits have been given back, if that needs it.
func (s *Share) ringFree() {
	if on := s.attention.Load(); on&onDebt != 0 || on&onIdle != 0 && s.permits.free() > 0 {
		s.bell.Ring()
	}
}

// ring rings for the driver, if the event needs it.
func (s *Share) ring(event uint32) {
	if s.attention.Load()&event != 0 {
		s.bell.Ring()
	}
}

// Loosen counts n permits, which the caller has taken, as held without a handle.
func (s *Share) Loosen(n int64) { s.loose.Add(n) }

// Loose returns how many permits are held without a handle.
func (s *Share) Loose() int64 { return s.loose.Load() }

// Tighten undoes Loosen: the caller has n of those permits, and is to release them. If fewer are
// held without a handle, it changes nothing and reports false.
func (s *Share) Tighten(n int64) bool {
	for { // A retry follows only another's success.
		o := s.loose.Load()
		if o < n {
			return false
		}
		if s.loose.CompareAndSwap(o, o-n) {
			return true
		}
	}
}

// Token returns the number of a token for permits that the caller has taken, and the stamp of the
// newest block; nil if there never was one.
func (s *Share) Token() (seq int64, st *Stamp) { return s.seq.Add(1), s.stamp.Load() }

// Had reports whether there ever was a block.
func (s *Share) Had() bool { return s.stamp.Load() != nil }

// Given returns how many permits may be held.
func (s *Share) Given() int64 { return s.permits.given.Load() }

// Available returns how many permits are not held, and is negative while more are held than given.
func (s *Share) Available() int64 { return s.permits.free() }

// Waiting returns how many requests wait.
func (s *Share) Waiting() int { return s.permits.waiting() }

// Plan has the agent of s decide, after it has learned what has happened.
func (s *Share) Plan(a *line.Agent, now int64) (txn *line.Txn, wake int64) {
	for {
		events := attention(a)
		s.attention.Store(events) // before the look at the permits
		txn, wake = a.Plan(now)
		if after := attention(a); txn != nil || after&^events == 0 {
			s.attention.Store(after)
			return txn, wake
		}
	}
}

func attention(a *line.Agent) (events uint32) {
	waits, idle, debt := a.Attention()
	if waits {
		events |= onWait
	}
	if idle {
		events |= onIdle
	}
	if debt {
		events |= onDebt
	}
	return events
}

// A Share is the [line.Local] of its agent.

// Granted implements [line.Local].
func (s *Share) Granted(rev int64, holders []int64) { s.stamp.Store(&Stamp{rev, holders}) }

// Resize implements [line.Local].
func (s *Share) Resize(n int64) { s.permits.resize(n) }

// Held implements [line.Local].
func (s *Share) Held() int64 { return s.permits.held() }

// Demand implements [line.Local].
func (s *Share) Demand(enough int64) (oldest, all int64) { return s.permits.demand(enough) }

// Bound implements [line.Local].
func (s *Share) Bound(n int64) { s.permits.limit(n) }
