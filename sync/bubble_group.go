//go:build !interleave

package sync

import (
	std "sync"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// groups are the WaitGroups whose counter is not zero and was raised from zero in a bubble, with
// the number of the bubble. A wait in that bubble is durable. Any other wait in a bubble is not:
// the tasks run outside, as far as one can know.
var groups = struct {
	mu std.Mutex
	of map[*WaitGroup]uint64
	n  xsync.Int64 // how many there are, for a look without mu
}{of: map[*WaitGroup]uint64{}}

// tellBubble notes what Add has made of the counter. A later Add may have noted before.
func (wg *WaitGroup) tellBubble(delta int, counter int32) {
	var id uint64
	raised := delta > 0 && counter == int32(delta)
	if raised {
		id = bubble()
	}
	if id == 0 && groups.n.Load() == 0 {
		return // The mutex would order what groups do not.
	}
	groups.mu.Lock()
	defer groups.mu.Unlock()
	switch {
	case id != 0:
		groups.of[wg] = id
	case raised, wg.state.Load()>>counterShift == 0:
		delete(groups.of, wg)
	default:
	}
	groups.n.Store(int64(len(groups.of)))
}

// isForeign reports whether the caller runs in a bubble, in which the counter was not raised.
func (wg *WaitGroup) isForeign() bool {
	id := bubble()
	if id == 0 {
		return false
	}
	groups.mu.Lock()
	defer groups.mu.Unlock()
	return groups.of[wg] != id
}

// waitAcross is wait, but not durable.
func (wg *WaitGroup) waitAcross(l waiting.Limit) error {
	var f waiting.Future
	waiting.Bind(&f, groupRequest{groupLine{wg}}, 1)
	if err := waitAcross(&f, l); err != nil {
		return err
	}
	wg.checkReuse()
	return nil
}

// A groupRequest is a wait for the end of all tasks, as a [waiting.Request].
type groupRequest struct{ groupLine }

// Start implements [waiting.Request].
func (r groupRequest) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	w.Arm(waker)
	if r.wg.enter(w) {
		return waiting.Pending
	}
	return waiting.Granted
}
