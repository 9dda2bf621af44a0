package fleettest

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/observe"
)

func status(w *world) {
	f, g := w.join(), w.join(fleet.WithTenure(time.Hour))
	a, b := w.semaphore(f, 3), w.semaphore(g, 3)
	w.noError(a.Acquire(w.ctx, 2))
	w.noError(b.Acquire(w.ctx, 1))
	got := make(chan error)
	go func() { got <- a.Acquire(w.ctx, 1) }()
	var st fleet.Status
	w.eventually(func() bool {
		all, err := g.Status(w.ctx)
		w.noError(err)
		w.equal(1, len(all))
		st = all[0]
		return len(st.Blocks) == 3
	}, "all is seen")
	w.equal("semaphore s", st.Name)
	w.equal(3, st.Size)
	w.equal(1, st.Held)
	w.shows(st.Blocks)
	b.Release(1)
	w.noError(receive(w, got))
	a.Release(3)
}

// shows ends the test unless blocks are those of this process: it has one permit, another process
// has two and waits for one.
func (w *world) shows(blocks []fleet.Block) {
	var own, others, waits int64
	for _, b := range blocks {
		w.check(strings.HasSuffix(b.Process, "/"+strconv.Itoa(os.Getpid())), b.Process)
		w.check(time.Since(b.Since).Abs() < time.Minute, b.Since)
		switch {
		case !b.Holds:
			waits += b.Permits
		case b.Own:
			own += b.Permits
			w.check(b.Tenure > 0, "somebody waits")
		default:
			others += b.Permits
		}
	}
	w.equal([]int64{1, 2, 1}, []int64{own, others, waits})
}

// lockOf returns an observed lock, by its name.
func (w *world) lockOf(name string) observe.Lock {
	all := observe.Read().Locks
	i := slices.IndexFunc(all, func(l observe.Lock) bool { return l.Name == name })
	w.check(i >= 0, name, "is not observed")
	return all[i]
}

// A semaphore of the fleet that is watched shows who holds and who waits, here and elsewhere.
func observedLocks(w *world) {
	f, g := w.join(), w.join(fleet.WithTenure(time.Hour))
	a, b := w.semaphore(f, 3), w.semaphore(g, 3)
	observe.Watch(a, "here", observe.LevelHolders)
	defer observe.Watch(a, "", observe.LevelOff)
	observe.Watch(b, "there", observe.LevelHolders)
	defer observe.Watch(b, "", observe.LevelOff)
	w.noError(a.Acquire(w.ctx, 2))
	p, err := b.AcquirePermit(w.ctx, 1)
	w.noError(err)
	got := make(chan error)
	go func() { got <- a.Acquire(w.ctx, 1) }()
	name := func(b fleet.Block) bool { return strings.HasSuffix(b.Process, "/"+strconv.Itoa(os.Getpid())) }
	var there observe.Lock
	var blocks []fleet.Block
	w.eventually(func() bool {
		there, blocks = w.lockOf("there"), nil
		for _, b := range there.Fleet.Blocks {
			blocks = append(blocks, fleet.Block(b))
		}
		unknown := slices.ContainsFunc(blocks, func(b fleet.Block) bool { return !name(b) })
		return len(blocks) == 3 && !unknown
	}, "all are known, by name")
	w.equal("fleet.Semaphore", there.Kind)
	w.equal(3, there.Size)
	w.equal(1, there.Held)
	w.equal(1, len(there.Holders))
	w.equal(0, there.Fleet.Losses)
	w.shows(blocks)
	here := w.lockOf("here")
	w.equal(1, len(here.Holders))
	w.equal(2, here.Holders[0].Permits)
	w.equal(1, len(here.Waiters))

	w.revoke(p)
	w.lost(p)
	w.noError(receive(w, got))
	w.eventually(func() bool { return w.lockOf("there").Fleet.Losses == 1 }, "the loss is counted")
	w.equal(1, len(w.lockOf("there").Holders), "it is not released")
	p.Release()
	a.Release(3)
	w.equal(0, len(w.lockOf("there").Holders))
	w.equal(0, len(w.lockOf("here").Holders))
}

// What is opened after All is observed, by the names that the fleet has for it.
func observedAll(w *world) {
	observe.All(observe.LevelHolders)
	defer observe.All(observe.LevelOff)
	f := w.join()
	m, err := f.Mutex(w.ctx, "leader")
	w.noError(err)
	rw, err := f.RWMutex(w.ctx, "config")
	w.noError(err)
	p, err := m.Lock(w.ctx)
	w.noError(err)
	q, err := rw.RLock(w.ctx)
	w.noError(err)
	_, err = m.TryLock(w.ctx)
	w.errorIs(err, fleet.ErrBusy)
	leader, config := w.lockOf("leader"), w.lockOf("config")
	w.equal("fleet.Mutex", leader.Kind)
	w.equal("fleet.RWMutex", config.Kind)
	w.equal(1, len(leader.Holders))
	w.equal(1, leader.Counts.Tried)
	w.check(config.Holders[0].Shared)
	p.Release()
	q.Release()
	w.equal(0, len(w.lockOf("leader").Holders))
	w.equal(0, len(w.lockOf("config").Holders))
}
