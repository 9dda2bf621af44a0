package waiting

import (
	"time"

	"github.com/farad-go/farad/internal/xsync"
)

// A Parker lets a goroutine sleep until its node gets an outcome. It is a node, the embedded
// Waiter, and the means to sleep.
//
// To wait, call GetParker, put the node into a queue, and call Park with the same limit. If Park
// returns true the outcome is there: call Put. If it returns false, take the node out of the queue
// and call Withdraw. A release takes the node out of the queue and calls its Deliver.
//
// A goroutine that waits is durably blocked in the sense of testing/synctest. In the steady state
// waiting allocates nothing.
type Parker struct {
	// Invariants:
	//
	//  1. In one use of a parker at most one token comes, which says that the outcome is there, and
	//     at most one nudge, which says that the limit may have ended the wait.
	//     (TestParkerTakesTokenAndNudge)
	//  2. A parker goes back to its pool only when every wake-up that was or will be sent has been
	//     taken, and to its watch only if no nudge has been taken.
	//     (TestParkerIsCleanAfterUse, TestConsumedNudgeHidesNoCancel)
	//  3. A parker made in a synctest bubble is never kept, and one made outside is never used
	//     inside. (TestParkersAreNotKeptFromBubbles)

	Waiter

	sleeper xsync.Sleeper
	got     xsync.Wakeups // taken before a Withdraw
	kind    parkerKind

	watch    *watch  // nudges this parker; nil: a wait with a context selects
	wnx, wpv *Parker // the watch's list
}

// A sleeping is a parker as the waker of its own node.
type sleeping Parker

// Wake implements [Waker].
func (p *sleeping) Wake() { p.sleeper.Wake(xsync.Token) }

// A parkerKind says how a parker sleeps, and where it is kept.
type parkerKind uint8

const (
	parks    parkerKind = iota // in the cheapest way
	portable                   // in a channel
	bubbled                    // in a channel, and is not kept: invariant 3
)

// pools keep parkers for reuse.
var pools = [...]xsync.Pool{
	parks:    {New: func() any { return newParker(parks) }},
	portable: {New: func() any { return newParker(portable) }},
}

func newParker(k parkerKind) *Parker {
	p := &Parker{kind: k}
	p.ofGoroutine, p.waker = true, (*sleeping)(p)
	p.sleeper.Init(k != parks)
	return p
}

// cheapest returns the pool of the parkers that sleep in the cheapest way that is allowed now.
func cheapest() *xsync.Pool { return &pools[cheapestKind()] }

func cheapestKind() parkerKind {
	if xsync.Parks() {
		return parks
	}
	return portable
}

// IsCheapest reports whether p sleeps in the cheapest way that is allowed now. [UseChannels]
// changes that. A caller that keeps p for more than one wait without a limit asks before each of
// them, and gets another parker if the answer is false.
func (p *Parker) IsCheapest() bool { return p.kind == cheapestKind() }

// GetParker returns a parker for a wait with limit l.
func GetParker(l Limit) *Parker {
	if InBubble() {
		return newParker(bubbled)
	}
	if l.done == nil && l.time == inChannel {
		return pools[portable].Get().(*Parker)
	}
	if l.ctx == nil || l.done == nil {
		return cheapest().Get().(*Parker)
	}
	if w := watchOf(l.ctx, l.done); w != nil {
		if p := w.get(); p != nil {
			return p
		}
	}
	return pools[portable].Get().(*Parker)
}

// isBubbledClock reports whether the caller's clock is that of a testing/synctest bubble. It gives
// times without a monotonic reading; every other clock gives them with one.
//
// (time.Since would read one clock instead of two. But since Go 1.27 a bubble's answer is a
// difference between its clock and that of the machine, which a test may have set to any time.)
//
//go:norace
func isBubbledClock() bool {
	now := time.Now()
	//nolint:staticcheck // Round(0) strips the monotonic reading, which Equal does not see
	return now == now.Round(0)
}

// Put ends the use of p. Its node must be in no queue: it was never queued, or Park has returned
// true.
func (p *Parker) Put() {
	if p.watch != nil {
		p.watch.put(p)
	} else if p.kind != bubbled {
		pools[p.kind].Put(p)
	}
}

// Park waits until the outcome is there and returns true, or until l ends the wait and returns
// false. It returns false if the outcome is there but the context is done. l must be the limit that
// GetParker was called with, or that limit fixed.
func (p *Parker) Park(l Limit) bool {
	p.Start(l)
	p.sleeper.SleepInline()
	return p.Woken(l)
}

// Start begins a wait with limit l. It is the first of the three steps of Park, for callers that do
// the second one, SleepInline of the Sleeper, themselves. The third is Woken.
func (p *Parker) Start(l Limit) {
	if l.timed() {
		p.sleeper.StartTimer(l.left())
	}
}

// Sleeper returns where p sleeps.
func (p *Parker) Sleeper() *xsync.Sleeper { return &p.sleeper }

// Woken is the third step of Park: most often p need not sleep any more.
func (p *Parker) Woken(l Limit) bool {
	switch {
	case l.done == nil:
		p.sleeper.Sleep()
		return true
	case l.ctx == nil:
		return p.sleeper.SleepTimed()
	}
	return p.wokenUnlessDone(l)
}

func (p *Parker) wokenUnlessDone(l Limit) bool {
	// The nudge counts too: a foreign context over a watched channel may have an Err of its own.
	p.sleepUnlessDone(l)
	return p.got == xsync.Token && l.ctx.Err() == nil && p.took()
}

// Notified is Woken, but does not ask the context once more: the caller does, with what it got.
func (p *Parker) Notified(l Limit) bool {
	if l.done == nil || l.ctx == nil {
		return p.Woken(l)
	}
	p.sleepUnlessDone(l)
	return p.got == xsync.Token && p.took()
}

func (p *Parker) sleepUnlessDone(l Limit) {
	if p.watch != nil {
		p.got = p.sleeper.Sleep()
	} else {
		p.got = p.sleeper.SleepOr(l.done)
	}
}

// took ends the use of a token.
func (p *Parker) took() bool {
	p.got = 0
	return true
}

// Withdraw ends the use of p after Park has returned false. The caller has tried to take the node
// out of the queue. If the node was not there, claimed is true: the outcome is there or on its way,
// and Withdraw waits for it and returns it. Otherwise Withdraw returns [Pending].
func (p *Parker) Withdraw(claimed bool) Outcome {
	var sent xsync.Wakeups
	if claimed {
		sent |= xsync.Token
	}
	if p.watch != nil && p.watch.remove(p) {
		sent |= xsync.Nudge
	}
	for p.got&sent != sent {
		p.got |= p.sleeper.Sleep()
	}
	p.got = 0
	o := Pending
	if claimed {
		o = p.Outcome()
	}
	p.Put()
	return o
}
