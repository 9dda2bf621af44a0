package sync

import (
	"github.com/farad-go/farad/internal/observed"
)

// Of a Cond and a WaitGroup only the waits are told. Nobody knows who will signal, or who is to
// call Done, so such a wait has no holders, and is for no permits. The counter of a group is shown
// as what is held.

var (
	conds      = observed.Register(observed.About{Name: "sync.Cond"}, (*Cond).setWatched, (*Cond).numbers)
	waitGroups = observed.Register(
		observed.About{Name: "sync.WaitGroup"}, (*WaitGroup).setWatched, (*WaitGroup).numbers,
	)
)

// isMet reports whether c is observed, or is to be from now on.
func (c *Cond) isMet() bool { return c.isWatched() || observed.Everything() != observed.Off }

func (c *Cond) isWatched() bool { return c.flags.Load()&condWatched != 0 }

func (c *Cond) setWatched(on bool) {
	if on {
		c.flags.Or(condWatched)
	} else {
		c.flags.And(^uint32(condWatched))
	}
}

func (c *Cond) record() *observed.Record {
	if c.isWatched() {
		return observed.Of(c)
	}
	return conds.Join(c)
}

func (c *Cond) numbers() observed.Numbers { return observed.Numbers{Waiting: c.Waiting()} }

func (wg *WaitGroup) isMet() bool { return wg.isWatched() || observed.Everything() != observed.Off }

func (wg *WaitGroup) isWatched() bool { return wg.state.Load()&groupWatched != 0 }

func (wg *WaitGroup) setWatched(on bool) {
	if on {
		wg.state.Or(groupWatched)
	} else {
		wg.state.And(^groupWatched)
	}
}

func (wg *WaitGroup) record() *observed.Record {
	if wg.isWatched() {
		return observed.Of(wg)
	}
	return waitGroups.Join(wg)
}

func (wg *WaitGroup) numbers() observed.Numbers {
	s := wg.state.Load()
	return observed.Numbers{Free: -max(s>>counterShift, 0), Waiting: int(s & groupWaiters)}
}
