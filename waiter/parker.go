package waiter

import (
	"github.com/farad-go/farad/internal/xsync"
)

// A Parker is a goroutine's waiter: a node and the means to sleep until it is told an outcome.
//
// Use: GetParker, queue the embedded Waiter, Park. After true the outcome is there: Put. After
// false, unlink the node and Withdraw. [Wait] does both. A waiting goroutine is durably blocked in
// the sense of testing/synctest.
//
// The owner sleeps in a receive from the signal channel. Up to two signals come in one use: the
// token, which says that the outcome is there, and the nudge of a watch, which says that the
// context is done. They look alike, which saves the runtime copying a value: only where the context
// is done can it have been a nudge, and Withdraw then counts.
//
// Invariants:
//
//  1. In one use at most one token and one nudge are sent, and the channel has room for both, so
//     neither the claimer nor the watch, which sends under its lock, ever blocks.
//     (TestParkerTakesTokenAndNudge)
//  2. A parker goes back to the pool only when every signal that was or will be sent has been
//     received, and to its watch only if no nudge has. (TestParkerIsCleanAfterUse,
//     TestConsumedNudgeHidesNoCancel)
//  3. A parker made in a synctest bubble is never kept, and one made outside never used inside.
//     (TestParkersAreNotKeptFromBubbles)
type Parker struct {
	Waiter
	timer xsync.Timer
	keep  bool // may be kept for reuse (invariant 3)
	got   int8 // signals received before a Withdraw

	watch    *watch  // nudges this parker; nil: Park selects
	wnx, wpv *Parker // the watch's list
}

var parkers = xsync.Pool{New: func() any { return newParker(true) }}

func newParker(keep bool) *Parker {
	return &Parker{Waiter: Waiter{signal: xsync.NewSignal(2)}, keep: keep}
}

// GetParker returns a parker for a wait that l may end. In the steady state it allocates nothing.
func GetParker(l Limit) *Parker {
	if InBubble() {
		return newParker(false)
	}
	if l.done != nil {
		if w := watchFor(l.ctx, l.done); w != nil {
			if p := w.get(); p != nil {
				return p
			}
		}
	}
	return parkers.Get().(*Parker)
}

// Put ends the use of p, whose node is in no queue: it was never queued, or Park has returned
// true.
func (p *Parker) Put() {
	if p.watch != nil {
		p.watch.put(p)
	} else if p.keep {
		parkers.Put(p)
	}
}

// Park waits until the outcome is there, and returns true; or until l, for which GetParker was
// called, ends the wait, and returns false. If the outcome is there but the context is done, it
// returns false.
func (p *Parker) Park(l Limit) bool {
	switch {
	case l.done != nil:
		return p.parkUntil(l)
	case l.timed:
		return p.signal.ReceiveWithin(&p.timer, l.left())
	}
	p.signal.Receive()
	return true
}

func (p *Parker) parkUntil(l Limit) bool {
	if p.watch != nil {
		p.signal.Receive()
	} else if !p.signal.ReceiveOr(l.done) {
		return false
	}
	// The watch is asked, too: a foreign context over a watched channel may have an Err of its own,
	// and a nudge that was taken for a token would leave a queued node in the pool.
	if l.ctx.Err() != nil || p.watch != nil && p.watch.fired.Load() {
		p.got = 1
		return false
	}
	return true
}

// Withdraw ends the use of p after Park has returned false. The caller has tried to unlink
// the node; if it was not queued any more, claimed is true, the outcome is here or on its
// way, and Withdraw waits for it and returns it. Otherwise it returns [Pending].
func (p *Parker) Withdraw(claimed bool) Outcome {
	var sent int8
	if claimed {
		sent++
	}
	if p.watch != nil && p.watch.remove(p) {
		sent++
	}
	for ; p.got < sent; p.got++ {
		p.signal.Receive()
	}
	p.got = 0
	o := Pending
	if claimed {
		o = p.Outcome()
	}
	p.Put()
	return o
}
