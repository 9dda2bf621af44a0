package sync

import (
	"context"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// An observed lock has a bit in its word that keeps everybody off the fast paths. The slow paths
// call the hooks of the lock's record, and otherwise ignore the bit and keep it. So a lock may
// begin to be observed at any time, and cease: what happens is the same. No hook runs under a lock.
//
// A Mutex that is crowded, and only counted, is without the bit meanwhile. It counts on the fast
// path itself, and its slow paths ask whether it has a record: see [observed.Record].
//
// The monitor reads the numbers at any time, by xsync.Glance32 and Glance64, and takes no lock of
// theirs while nobody waits: then the program may write a new lock over an old one
// (TestAnIdleLockMayBeOverwritten). It writes only to a Mutex that is counted, was crowded and is
// held: it sets the bit again. If the mutex is unlocked and written over between these two steps
// that is a race.
//
// A hold is recorded after the lock has been taken, and its end before the lock is free again.
// There is one exception: RUnlock has removed its reader already when it sees the bit.

var (
	mutexes = observed.Register(
		observed.About{Name: "sync.Mutex", Owned: true}, (*Mutex).setObserved, (*Mutex).numbers,
	)
	rwMutexes = observed.Register(
		observed.About{Name: "sync.RWMutex", Owned: true}, (*RWMutex).setObserved, (*RWMutex).numbers,
	)
)

// What may be requested of a Mutex, and of an RWMutex.
var (
	alone   = observed.Request{N: 1}
	reading = observed.Request{N: 1, Shared: true}
	writing = observed.Request{N: rwSize}
)

// An acquirer waits for a lock, observed or not. It is no method of [observable]: with an interface
// the linker keeps whatever its methods' types can show by reflection. For a limit that is much,
// because of its context: see docs/policy.md.
type acquirer func(until waiting.Limit, hold int64) error

// observable is a lock as its hooks see it.
type observable interface {
	isObserved() bool
	setObserved(on bool)
	// mayBeObserved reports whether it may be observed, or has to join.
	mayBeObserved() bool
	// known returns the record, nil if the lock is not observed. Record has such a lock join, if
	// all should.
	known() observed.Record
	record() observed.Record
	// requested is a hold as the record has it.
	requested(hold int64) observed.Request

	// holds is called by a goroutine whose hold has just been recorded in r.
	holds(r observed.Record)

	// isAdmitted is asked by a holder, of a lock that may be without its bit. It reports whether he
	// has come through the gate: then his release is on the slow path all the same.
	isAdmitted() bool

	try(hold int64, record bool) bool
	drop(hold int64)
}

// lockObserved locks an observed lock, by acquire if it has to wait. It gives up when until ends
// the wait.
//
//go:norace
func lockObserved(l observable, hold int64, until waiting.Limit, acquire acquirer) error {
	if ok, err := takeObserved(l, hold, nil); ok {
		return err
	}
	return waitObserved(l, hold, until, acquire)
}

// lockObservedContext is lockObserved, but gives up when ctx is done: a cancel before the unlock
// that has let the caller in wins.
func lockObservedContext(ctx context.Context, l observable, hold int64, acquire acquirer) error {
	keep := func() error { return waiting.Keep(ctx, taken{l}, hold) }
	if ok, err := takeObserved(l, hold, keep); ok {
		return err
	}
	return waitObserved(l, hold, waiting.UntilDone(ctx), acquire)
}

// takeObserved takes an observed lock if nobody has to wait for it, and reports whether that was
// so. Then keep, unless it is nil, may give the lock back, and returns why.
//
//go:norace
func takeObserved(l observable, hold int64, keep func() error) (ok bool, err error) {
	r := l.record()
	if !l.try(hold, false) {
		return false, nil
	}
	if keep != nil {
		err = keep()
	}
	if r.AtOnce(l.requested(hold), err) == nil {
		l.holds(r)
	}
	return true, err
}

// waitObserved locks an observed lock that was not free, by acquire.
func waitObserved(l observable, hold int64, until waiting.Limit, acquire acquirer) error {
	r := l.record()
	// It never sleeps in a channel, where no profile would find it as leaked: the table has it.
	err := observed.Await(r, l.requested(hold), until, func(waiting.Limit) error {
		if err := acquire(until, hold); err != nil {
			return err
		}
		return waiting.KeepUntil(until, taken{l}, hold)
	})
	if err == nil {
		if l.holds(r); l.isAdmitted() {
			r.Admitted()
		}
	}
	return err
}

// tryObserved is the TryLock of an observed lock.
func tryObserved(l observable, hold int64) bool {
	r, ok := l.record(), l.try(hold, false)
	if r.Tried(l.requested(hold), ok); ok {
		l.holds(r)
	}
	return ok
}

//go:norace
func (m *Mutex) isObserved() bool { return m.peek()&observing != 0 }

func (m *Mutex) setObserved(on bool) {
	if on {
		m.word.Or(observing)
	} else {
		m.word.And(^observing)
	}
}

//go:norace
func (m *Mutex) record() observed.Record {
	if r := m.known(); r != nil {
		return r
	}
	return mutexes.Join(m)
}

// known looks m up, because the bit is clear while m is crowded: see [observed.Record].
// Then the record at its address may be that of another, which has been collected.
//
//go:norace
func (m *Mutex) known() observed.Record {
	r := observed.Of(m)
	if r.Level() == observed.Off || !m.isObserved() && r.IsLeft() {
		return nil
	}
	return r
}

// mayBeObserved reports whether m may be observed, or has to join.
//
//go:norace
func (m *Mutex) mayBeObserved() bool { return m.isObserved() || observed.Any() }

// holds: the record is found without the bit, and its level rises before that is set.
//
//go:norace
func (m *Mutex) holds(r observed.Record) { r.Marked(m.isObserved()) }

//go:norace
func (m *Mutex) isAdmitted() bool { return m.word.Load()&admitted != 0 }

// passed returns how many have taken m on the fast path since the express lane was renewed. Used is
// the holder's, but those who count may ask without waiting for him: it is one word, which is never
// seen half written, and a count may be a little late.
//
//go:norace
func (m *Mutex) passed() int64 {
	used := m.used
	return max(int64(uint16(used))-int64(used/slow), 0)
}

//go:norace
func (m *Mutex) requested(int64) observed.Request { return alone }

func (m *Mutex) numbers() observed.Numbers {
	n := observed.Numbers{Size: 1, Waiting: m.Waiting(), Passed: m.passed()}
	switch w := xsync.Glance32(&m.word); {
	case w&bubbled != 0:
		if _, writing := held(m); !writing {
			n.Free = 1
		}
	case w&parking.Mask == parking.Unlocked:
		n.Free = 1
	default:
	}
	return n
}

//go:norace
func (l *RWMutex) isObserved() bool { return l.peek()&rwObserved != 0 }

func (l *RWMutex) setObserved(on bool) {
	if on {
		l.word.Or(rwObserved)
	} else {
		l.word.And(^rwObserved)
	}
}

//go:norace
func (l *RWMutex) record() observed.Record {
	if r := l.known(); r != nil {
		return r
	}
	return rwMutexes.Join(l)
}

//go:norace
func (l *RWMutex) known() observed.Record {
	if l.isObserved() {
		return observed.Of(l)
	}
	return nil
}

// mayBeObserved reports whether l is observed, or has to join.
//
//go:norace
func (l *RWMutex) mayBeObserved() bool { return observed.MayBe(l.isObserved()) }

// rwSize is how many readers there may be. A writer counts for all of them.
const rwSize = 1<<31 - 1

//go:norace
func (l *RWMutex) holds(observed.Record) {} // its record is found by the bit only

//go:norace
func (l *RWMutex) isAdmitted() bool { return false }

//go:norace
func (l *RWMutex) requested(hold int64) observed.Request {
	if hold == rwReader {
		return reading
	}
	return writing
}

func (l *RWMutex) numbers() observed.Numbers {
	w := xsync.Glance64(&l.word)
	readers, writing := w/rwReader, w&rwWriter != 0
	if w&rwBubbled != 0 {
		readers, writing = held(l)
	}
	n := observed.Numbers{Size: rwSize, Waiting: l.Waiting()}
	if !writing {
		n.Free = rwSize - max(readers, 0)
	}
	return n
}

// A starter is a request that starts without its record.
type starter request

// Start implements [waiting.Request].
func (s *starter) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	return (*request)(s).start(w, waker)
}

// Recorder implements [waiting.Recorded].
func (r *request) Recorder() waiting.Recorder {
	if !r.lock.mayBeObserved() || r.lock.known() == nil {
		return nil
	}
	return (*recorded)(r)
}

// recorded is a request of an observed lock, as the recorder of its future.
type recorded request

// FutureSeen implements [waiting.Recorder], and so do the next two.
func (r *recorded) FutureSeen(w *waiting.Waiter, err error) {
	to := r.lock.known()
	if to == nil { // any more
		return
	}
	to.FutureSeen(w, err)
	if err == nil {
		r.lock.holds(to)
	}
}

// FutureReleasing is that of the lock's record.
func (r *recorded) FutureReleasing(w *waiting.Waiter) {
	if to := r.lock.known(); to != nil {
		to.FutureReleasing(w)
	}
}

// FutureEnded is that of the lock's record.
func (r *recorded) FutureEnded(w *waiting.Waiter) {
	if to := r.lock.known(); to != nil {
		to.FutureEnded(w)
	}
}
