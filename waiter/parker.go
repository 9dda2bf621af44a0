package waiter

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/xsync"
)

// A Parker is a goroutine's waiter: a node and the means to sleep until it is told an outcome.
//
// Use: GetParker, queue the embedded Waiter, Park or ParkTimeout; if that returns [Pending], unlink the node, or, if
// a claimer was faster, Take the outcome that is on its way; Put. A waiting goroutine is durably blocked in the sense
// of testing/synctest.
//
// Invariants:
//
//  1. The token channel holds at most one outcome and at most one nudge, so neither the claimer nor the watch that
//     sends it ever blocks. (TestParkerTakesTokenAfterNudge)
//  2. A parker goes back to the pool, or to its watch, only when its owner has consumed every outcome that was sent:
//     whoever loses the race to unlink takes the outcome before Put. (TestParkerIsCleanAfterPut)
//  3. A parker made in a synctest bubble is never kept, and one made outside never used inside.
//     (TestParkersDoNotCrossBubbles)
type Parker struct {
	Waiter
	timer *time.Timer // made at the first ParkTimeout
	keep  bool        // may be kept for reuse (invariant 3)

	watch    *watch  // cancellation comes through this watch, otherwise by select
	wnx, wpv *Parker // the watch's list
	nudged   bool    // the watch's nudge has been consumed
}

// nudge is what a watch sends in place of an outcome: the context is done.
const nudge = Pending

var parkers = xsync.Pool{New: func() any { return newParker(true) }}

func newParker(keep bool) *Parker {
	return &Parker{Waiter: Waiter{token: make(chan Outcome, 2)}, keep: keep}
}

// GetParker returns a parker for a wait that ends early when ctx, whose done channel is given with it, is done; a nil
// channel stands for a wait that nothing ends early. In the steady state it allocates nothing.
func GetParker(ctx context.Context, done <-chan struct{}) *Parker {
	if inBubble() {
		return newParker(false)
	}
	if done != nil {
		if w := watchFor(ctx, done); w != nil {
			if p := w.get(); p != nil {
				return p
			}
		}
	}
	return parkers.Get().(*Parker)
}

// Put ends the use of p. Its node is unlinked and its outcome consumed.
func (p *Parker) Put() {
	switch {
	case !p.keep:
	case p.watch != nil:
		p.watch.put(p)
	default:
		parkers.Put(p)
	}
}

// Park waits for the outcome. It returns [Pending] when done is closed first; done is the channel that GetParker got.
func (p *Parker) Park(done <-chan struct{}) Outcome {
	if done == nil || p.watch != nil {
		o := <-p.token
		p.nudged = o == nudge
		return o
	}
	select {
	case o := <-p.token:
		return o
	case <-done:
		return nudge
	}
}

// ParkTimeout waits for the outcome, and returns [Pending] when d has passed without one.
func (p *Parker) ParkTimeout(d time.Duration) Outcome {
	if p.timer == nil {
		p.timer = time.NewTimer(d)
	} else {
		p.timer.Reset(d)
	}
	select {
	case o := <-p.token:
		p.timer.Stop()
		return o
	case <-p.timer.C:
		return Pending
	}
}

// Take waits for an outcome that is certain to come: a claimer has unlinked the node. It is called after Park or
// ParkTimeout has returned [Pending].
func (p *Parker) Take() Outcome { return <-p.token }
