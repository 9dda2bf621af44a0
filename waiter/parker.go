package waiter

import (
	"github.com/farad-go/farad/internal/xsync"
)

// A Parker lets a goroutine sleep until its node is told an outcome. It is a node, the embedded
// Waiter, and the means to sleep.
//
// To wait, call GetParker, put the node into a queue, and call Park with the same limit. If Park
// returns true the outcome is there: call Put. If it returns false, take the node out of the queue
// and call Withdraw. A release takes the node out of the queue and calls its Deliver.
//
// A goroutine that waits is durably blocked in the sense of testing/synctest. In the steady state
// waiting allocates nothing.
type Parker struct {
	// The owner sleeps in a receive from the signal channel. In one use up to two signals come: the
	// token, which says that the outcome is there, and the nudge of a watch, which says that the
	// context is done. They look alike, which saves the runtime a copy. A signal can be a nudge
	// only if the context is done, and then Withdraw counts the signals.
	//
	// Invariants:
	//
	//  1. In one use at most one token and one nudge are sent, and the channel has room for both.
	//     So neither the claimer nor the watch, which sends under its lock, ever blocks.
	//     (TestParkerTakesTokenAndNudge)
	//  2. A parker goes back to the pool only when every signal that was or will be sent has been
	//     received, and to its watch only if no nudge has been received.
	//     (TestParkerIsCleanAfterUse, TestConsumedNudgeHidesNoCancel)
	//  3. A parker made in a synctest bubble is never kept, and one made outside is never used
	//     inside. (TestParkersAreNotKeptFromBubbles)

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

// GetParker returns a parker for a wait with limit l.
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

// Put ends the use of p. Its node must be in no queue: it was never queued, or Park has returned
// true.
func (p *Parker) Put() {
	if p.watch != nil {
		p.watch.put(p)
	} else if p.keep {
		parkers.Put(p)
	}
}

// Park waits until the outcome is there and returns true, or until l ends the wait and returns
// false. It returns false if the outcome is there but the context is done. l must be the limit that
// GetParker was called with, or that limit fixed.
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
	// The watch is asked, too. A foreign context over a watched channel may have an Err of its own,
	// and a nudge mistaken for a token would put a queued node into the pool.
	if l.ctx.Err() != nil || p.watch != nil && p.watch.fired.Load() {
		p.got = 1
		return false
	}
	return true
}

// Withdraw ends the use of p after Park has returned false. The caller has tried to take the node
// out of the queue. If the node was not there, claimed is true: the outcome is there or on its way,
// and Withdraw waits for it and returns it. Otherwise Withdraw returns [Pending].
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
