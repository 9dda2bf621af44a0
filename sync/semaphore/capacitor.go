package semaphore

import (
	"context"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// The word of a semaphore with a capacitor:
//
//	63                                19 18               3   2   1   0
//	+-----------------------------------+------------------+---+---+---+
//	|  free permits, signed             |  places left     | C | S | W |
//	+-----------------------------------+------------------+---+---+---+
//
//	W  S  C   meaning
//	0  0  .   none waits: an arrival that finds its permits takes them; the places mean nothing
//	1  0  .   some wait; one that is awake, or departs, will serve the line
//	1  1  .   a sleeper may be woken, by a release that leaves at least need permits free
//	.  .  1   closed; releases still count
const (
	capacitorWaits  = 1 << 0
	capacitorSleeps = 1 << 1
	capacitorClosed = 1 << 2

	capacitorPlace      = 1 << 3
	capacitorPlaces     = maxExpress * capacitorPlace // the bits
	capacitorPermit     = capacitorPlaces + capacitorPlace
	capacitorShift      = 19
	maxExpress          = 1<<16 - 1
	capacitorMaxPermits = 1 << 40
)

// A capacitor is [WithCapacitor]. Its permits and the places of the express lane are in one word,
// so that to take the lane is one step; those who wait stand in one line, the front of which is the
// gate.
//
// A waiter sleeps, passes the gate when it is the first and its permits are free, is woken,
// and competes with the express lane. If that was quicker it sleeps again, in front of all, and
// stays inside. It departs when it has its permits, or gives up. A future cannot compete: it is
// granted what it waits for in the step in which a goroutine would be woken, and departs in the
// same.
//
// Invariants:
//
//  1. Permits are conserved: free plus held is the size.
//     (TestCapacitorContract/…/StressConservesPermits)
//  2. Whenever the line is not locked, W is set while a request waits. With W set there are two
//     ways to take permits: a place of the lane, by a successful try; and a wake or a grant out of
//     the line. (TestModelCapacitorBypass)
//  3. No more pass than a platoon has members, and none of the next while a member is inside. When,
//     and only when, a member departs, the lane has all its places again. With the order of the
//     line that is the bound. (TestModelCapacitorBypass, TestExpressLaneEnds)
//  4. If a sleeper may pass, S is set, and need is how many free permits it takes. So the release
//     that frees them wakes it. If none may pass, a member of the platoon is awake, and checks the
//     line when it departs or sleeps again. (TestModelCapacitorHistories: a lost wake-up is a
//     deadlock)
//  5. Those inside who sleep again are the first of the line. (TestModelCapacitorBypass)
//
// Why no wake-up is lost: the locker of the line stores need first and then S, in the very word in
// which it saw too few permits. An earlier release has changed the word. A later one sees S, and a
// need that is at least as new.
//
// Source: the capacitor is Dice and Kogan's; the express lane is ours. See
// docs/design/capacitor.md.
type capacitor struct {
	word xsync.Int64
	size xsync.Int64 // written with the line locked
	// need is how many permits must be free to wake the first, with S set. Written under the line's
	// lock.
	need xsync.Int64

	table   *parking.Table // where they sleep
	members int64          // of a platoon
	express int64          // places of the lane
	most    int            // how many may wait; 0: any number

	// Guarded by the lock of the line:
	waiting  int   // requests without permits that have not given up
	entry    int64 // how many of the platoon may still pass
	inside   int64 // how many have passed and not departed
	asleep   int64 // how many of them sleep again; the others are awake
	promised int64 // how many permits those need who are awake
	renew    bool  // the lane has all its places again, and the word does not know yet

	_ cpu.CacheLinePad
}

func newCapacitor(n int64, o *options) *capacitor {
	p := &capacitor{members: o.members, express: o.express, most: o.MaxWaiting}
	if o.twa {
		p.table = (*parking.Table)(o.array).OrDefault()
	} else {
		p.table = parking.New(1)
	}
	n = min(n, capacitorMaxPermits)
	p.size.Store(n)
	p.word.Store(n * capacitorPermit)
	return p
}

type capacitorState int64

func (p *capacitor) look() capacitorState { return capacitorState(p.word.Load()) }

func (p *capacitor) swap(from, to capacitorState) bool {
	return p.word.CompareAndSwap(int64(from), int64(to))
}

func (o capacitorState) free() int64 { return int64(o >> capacitorShift) }

func (o capacitorState) isClosed() bool { return o&capacitorClosed != 0 }

// admits reports whether an arrival may take n permits: they are free, and no goroutine waits or
// the lane has a place.
func (o capacitorState) admits(n int64) bool {
	return !o.isClosed() && o.free() >= n && (o&capacitorWaits == 0 || o&capacitorPlaces != 0)
}

// less is o without n permits, and without a place if that counts.
func (o capacitorState) less(n int64) capacitorState {
	o -= capacitorState(n * capacitorPermit)
	if o&capacitorWaits != 0 {
		o -= capacitorPlace
	}
	return o
}

// TryAcquire takes n permits if an arrival may.
func (p *capacitor) TryAcquire(n int64) bool {
	for o := p.look(); o.admits(n); o = p.look() { // A retry follows only another's success.
		if p.swap(o, o.less(n)) {
			return true
		}
	}
	return false
}

// Acquire takes n permits, and waits for them if need be.
func (p *capacitor) Acquire(ctx context.Context, n int64) error {
	switch {
	case n > 0 && p.TryAcquire(n): // the first time it asks, a context allocates its channel
		return waiting.Keep(ctx, granted{p}, n)
	case n > 0:
		return p.acquire(waiting.UntilDone(ctx), n)
	case p.look().isClosed():
		return ErrClosed
	}
	return nil
}

// AcquireTimeout is Acquire, but gives up when d has passed.
func (p *capacitor) AcquireTimeout(d time.Duration, n int64) error {
	return p.acquire(waiting.After(d), n)
}

// acquire takes n permits, n > 0, unless until ends the wait before.
func (p *capacitor) acquire(until waiting.Limit, n int64) error {
	for i := 0; ; i++ {
		if p.TryAcquire(n) {
			return waiting.KeepUntil(until, granted{p}, n)
		}
		if o := p.look(); o&capacitorWaits != 0 && o&capacitorPlaces == 0 || !xsync.Spin(i) {
			break
		}
	}
	until = until.Fixed()
	s := parking.GetSleeper()
	k := s.Parker(until)
	k.N = n
	return p.await(until, s, k, p.enqueue(s, &k.Waiter))
}

// await ends an acquire that has come to o so far. k was got for until.
func (p *capacitor) await(until waiting.Limit, s *parking.Sleeper, k *waiting.Parker, o waiting.Outcome) error {
	// A retry follows a success inside or on the express lane, whose places are few.
	for inside := false; o == waiting.Pending; inside = true {
		var err error
		if o, err = waiting.Wait(k, until, gateLine{p, s, inside}); err != nil {
			s.Put(nil)
			return err
		}
		if o == waiting.Granted {
			o = p.compete(s, &k.Waiter)
		}
	}
	n := k.N
	s.Put(k)
	if o == waiting.Granted {
		return waiting.KeepUntil(until, granted{p}, n)
	}
	return o.Err()
}

// A gateLine is where a goroutine sleeps, as a [waiting.Line]; inside says whether it has passed
// the gate before. What it is granted is no more than a chance.
type gateLine struct {
	p      *capacitor
	s      *parking.Sleeper
	inside bool
}

func (l gateLine) Unlink(*waiting.Waiter) bool { return l.p.leave(l.s, l.inside) }

// GiveBack takes back the chance.
func (l gateLine) GiveBack(n int64) bool {
	p, line := l.p, l.p.line()
	p.promised -= n
	p.goneLocked(true)
	p.serveAndUnlock(line, waiting.WakeList{}, nil)
	return true
}

// granted takes back what was granted, for [waiting.Keep].
type granted struct{ p *capacitor }

func (g granted) GiveBack(n int64) bool { return g.p.giveBack(n) }

// enqueue puts s at the end of the line, for node, which is armed, and returns [waiting.Pending];
// or it returns an outcome at once.
func (p *capacitor) enqueue(s *parking.Sleeper, node *waiting.Waiter) waiting.Outcome {
	l := p.line()
	o := p.terminal(node.N)
	switch {
	case o != waiting.Pending:
	case p.TryAcquire(node.N):
		o = waiting.Granted
	case p.most > 0 && p.waiting >= p.most:
		o = waiting.QueueFull
	default:
		if p.waiting == 0 {
			p.entry, p.renew = p.members, true
		}
		p.waiting++
		l.Insert(s, node, false)
		return p.serveAndUnlock(l, waiting.WakeList{}, s)
	}
	l.Unlock()
	return o
}

// compete is called by a goroutine that has been woken. It takes its permits, or goes back into the
// line as the first.
func (p *capacitor) compete(s *parking.Sleeper, node *waiting.Waiter) waiting.Outcome {
	l := p.line()
	p.promised -= node.N
	if o := p.terminal(node.N); o != waiting.Pending {
		p.goneLocked(true)
		p.serveAndUnlock(l, waiting.WakeList{}, nil)
		return o
	}
	p.asleep++
	l.Insert(s, node, true)
	return p.serveAndUnlock(l, waiting.WakeList{}, s)
}

// terminal returns why there is no use in waiting for n permits, or [waiting.Pending]. The line is
// locked.
func (p *capacitor) terminal(n int64) waiting.Outcome {
	switch {
	case p.look().isClosed():
		return waiting.Closed
	case n > p.size.Load():
		return waiting.TooLarge
	}
	return waiting.Pending
}

// leave takes s out of the line, and reports whether it was there.
func (p *capacitor) leave(s *parking.Sleeper, inside bool) bool {
	l := p.line()
	ok := l.Remove(s)
	if ok {
		if inside {
			p.asleep--
		}
		p.goneLocked(inside)
	}
	p.serveAndUnlock(l, waiting.WakeList{}, nil)
	return ok
}

// line locks the line.
func (p *capacitor) line() parking.Line {
	return p.table.Line(parking.Key{Object: p, Hash: xsync.Address(p)})
}

// goneLocked is for a waiter that has left the line and is no longer counted as asleep. If it was
// inside it departs: the lane has all its places again, and after the last of a platoon the next
// may pass.
func (p *capacitor) goneLocked(inside bool) {
	p.waiting--
	if !inside {
		return
	}
	p.inside--
	p.renew = true
	if p.entry+p.inside == 0 {
		p.entry = p.members
	}
}

// serveAndUnlock wakes the waiters that may pass, or compete again, oldest first, as far as the
// permits go. It writes the new state of the line into the word and unlocks the line. Then it
// delivers to the woken ones, and to those in wake. If self, the caller's, is among them it is not
// woken: the caller returns the outcome.
func (p *capacitor) serveAndUnlock(l parking.Line, wake waiting.WakeList, self *parking.Sleeper) waiting.Outcome {
	o := waiting.Pending
	for {
		s, from := p.serveLocked(l)
		if s == nil {
			break
		}
		if p.admitLocked(l, s, from, s == self, &wake) && s == self {
			o = waiting.Granted
		}
	}
	l.Unlock()
	for n := wake.HandOff(); n > 0; n = wake.HandOff() {
		p.Release(n) // they were a future's that is not wanted any more
	}
	return o
}

// serveLocked returns the waiter to admit, and the word for which that is right. If there is none
// it returns nil, and the word is up to date.
func (p *capacitor) serveLocked(l parking.Line) (*parking.Sleeper, capacitorState) {
	for { // A retry follows only another's success.
		o, s := p.look(), l.First()
		to := o &^ (capacitorWaits | capacitorSleeps)
		if p.waiting > 0 {
			to |= capacitorWaits
		}
		if p.renew {
			to = to&^capacitorPlaces | capacitorState(p.express*capacitorPlace)
		}
		if s != nil && p.entry+p.asleep > 0 {
			need := p.promised + s.Node().N
			if o.free() >= need {
				return s, o
			}
			p.need.Store(need)
			to |= capacitorSleeps
		}
		if p.swap(o, to) {
			p.renew = false
			return nil, to
		}
	}
}

// admitLocked lets s pass, the first of the line, whose permits are free if the word is still o: it
// is granted them if it is here, or a future; otherwise it is woken to compete. It reports whether
// the word was.
func (p *capacitor) admitLocked(
	l parking.Line,
	s *parking.Sleeper,
	o capacitorState,
	here bool,
	wake *waiting.WakeList,
) bool {
	node := s.Node()
	granted := here || !node.OfGoroutine()
	if granted && !p.swap(o, o-capacitorState(node.N*capacitorPermit)) {
		return false
	}
	l.Remove(s)
	if p.asleep > 0 {
		p.asleep--
	} else {
		p.entry--
		p.inside++
	}
	if granted {
		p.goneLocked(true)
	} else {
		p.promised += node.N
	}
	if !here {
		wake.Add(node, waiting.Granted)
	}
	return true
}

// Release returns n permits, n > 0.
func (p *capacitor) Release(n int64) {
	if !p.giveBack(n) {
		panic(overReleased("released", n, p.Size(), p.Available()))
	}
}

// giveBack returns n permits. It reports false, and changes nothing, if fewer are held.
func (p *capacitor) giveBack(n int64) bool {
	o, ok := p.give(n)
	if !ok {
		l := p.line() // what it has seen may be from before a Resize and from after it
		o, ok = p.give(n)
		l.Unlock()
	}
	if ok && o&capacitorSleeps != 0 && o.free()+n >= p.need.Load() {
		p.serveAndUnlock(p.line(), waiting.WakeList{}, nil)
	}
	return ok
}

// give adds n permits to the word, unless fewer are held, and returns what the word was.
func (p *capacitor) give(n int64) (o capacitorState, ok bool) {
	for o = p.look(); n <= p.size.Load()-o.free(); o = p.look() { // A retry follows only another's success.
		if p.swap(o, o+capacitorState(n*capacitorPermit)) {
			return o, true
		}
	}
	return o, false
}

// held returns the number of permits that are held, even during a Resize.
func (p *capacitor) held() int64 {
	l := p.line()
	defer l.Unlock()
	return p.Size() - p.Available()
}

// Size implements policy.
func (p *capacitor) Size() int64 { return p.size.Load() }

// Available implements policy.
func (p *capacitor) Available() int64 { return p.look().free() }

// Waiting implements policy.
func (p *capacitor) Waiting() int {
	l := p.line()
	defer l.Unlock()
	return p.waiting
}

// Resize implements policy.
func (p *capacitor) Resize(n int64) {
	n = min(n, capacitorMaxPermits)
	var wake waiting.WakeList
	l := p.line()
	if d := n - p.size.Load(); d < 0 { // in this order, so that no release looks legal that is not
		p.size.Store(n)
		p.word.Add(d * capacitorPermit)
	} else {
		p.word.Add(d * capacitorPermit)
		p.size.Store(n)
	}
	inside := p.asleep
	for s := l.First(); s != nil; inside-- {
		next := l.Next(s)
		if node := s.Node(); node.N > n {
			p.endLocked(l, s, inside > 0, waiting.TooLarge, &wake)
		}
		s = next
	}
	p.serveAndUnlock(l, wake, nil)
}

// Close implements policy.
func (p *capacitor) Close() {
	var wake waiting.WakeList
	l := p.line()
	p.word.Or(capacitorClosed)
	for s := l.First(); s != nil; s = l.First() {
		p.endLocked(l, s, p.asleep > 0, waiting.Closed, &wake)
	}
	p.serveAndUnlock(l, wake, nil)
}

// endLocked ends the wait of s, which sleeps, inside or not.
func (p *capacitor) endLocked(
	l parking.Line, s *parking.Sleeper, inside bool, o waiting.Outcome, wake *waiting.WakeList,
) {
	l.Remove(s)
	wake.Add(s.Node(), o)
	if inside {
		p.asleep--
	}
	p.goneLocked(inside)
}
