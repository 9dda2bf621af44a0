package sync

import (
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/xsync"
)

// Of a Cond and a WaitGroup only the waits are recorded. Nobody knows which goroutine will signal
// or call Done, so such a wait has no holders, and is for no permits. The counter of a group is
// shown as what is held.

var (
	conds      = observed.Register(observed.About{Name: "sync.Cond"}, (*Cond).setObserved, (*Cond).numbers)
	waitGroups = observed.Register(
		observed.About{Name: "sync.WaitGroup"}, (*WaitGroup).setObserved, (*WaitGroup).numbers,
	)
)

func (c *Cond) mayBeObserved() bool { return observed.MayBe(c.isObserved()) }

func (c *Cond) isObserved() bool { return c.flags.Load()&condObserved != 0 }

func (c *Cond) setObserved(on bool) {
	if on {
		c.flags.Or(condObserved)
	} else {
		c.flags.And(^uint32(condObserved))
	}
}

func (c *Cond) record() observed.Record { return conds.Record(c, c.isObserved()) }

func (c *Cond) numbers() (n observed.Numbers) {
	if xsync.Glance32(&c.flags)&condOccupied != 0 {
		n.Waiting = c.Waiting()
	}
	return n
}

func (wg *WaitGroup) mayBeObserved() bool { return observed.MayBe(wg.isObserved()) }

func (wg *WaitGroup) isObserved() bool { return wg.state.Load()&groupObserved != 0 }

func (wg *WaitGroup) setObserved(on bool) {
	if on {
		wg.state.Or(groupObserved)
	} else {
		wg.state.And(^groupObserved)
	}
}

func (wg *WaitGroup) record() observed.Record { return waitGroups.Record(wg, wg.isObserved()) }

func (wg *WaitGroup) numbers() observed.Numbers {
	s := xsync.Glance64(&wg.state)
	return observed.Numbers{Free: -max(s>>counterShift, 0), Waiting: int(s & groupWaiters)}
}
