//go:build interleave

package share

import (
	"errors"
	"slices"
	"testing"

	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A world is a line in memory and the processes that share it. Each process has a thread that
// drives its agent, as the driver of package fleet does, and threads that use its share.
type world struct {
	*interleave.Run
	mu        xsync.Mutex
	state     line.State // guarded by mu
	resource  bool       // that checks tokens
	inside    []token    // of what is held, if there is a resource; guarded by mu
	processes []*process
	held      xsync.Int64
	users     xsync.Int64
}

// A token is what a resource sees.
type token struct {
	lease, seq int64
	stamp      *Stamp
}

type process struct {
	*world
	Share
	lease int64
	bell  Bell
	calls xsync.Signal
	agent *line.Agent
	valid xsync.Bool
}

func newWorld(x *interleave.Run, size int64, rw bool, tenure int64, processes int) *world {
	w := &world{Run: x, state: line.State{Rev: 1, Size: size}}
	for i := range processes {
		p := &process{world: w, lease: int64(i + 1)}
		p.calls = xsync.NewSignal(1)
		p.bell.Init(func() { p.calls.TrySend() })
		p.valid.Store(true)
		p.Init(&p.bell, p.valid.Load)
		p.agent = line.NewAgent(p.lease, new(numbers).next, tenure, rw, &p.Share)
		p.agent.Learn(w.state, 0)
		w.processes = append(w.processes, p)
	}
	x.Always(func() { w.Assert(w.held.Load() <= size, "%d are held of %d", w.held.Load(), size) })
	return w
}

// commit is etcd's part: all of t, or nothing.
func (w *world) commit(t *line.Txn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var changes []line.Change
	for _, op := range t.Ops {
		var had line.Entry
		for _, e := range w.state.Entries {
			if e.Key == op.Key {
				had = e
			}
		}
		if had.Mod != op.Mod {
			return
		}
		rev := w.state.Rev + 1
		c := line.Entry{Key: op.Key, Create: had.Create, Mod: rev, Weight: op.Weight}
		if had.Mod == 0 {
			c.Create = rev
		}
		changes = append(changes, c)
	}
	w.applyLocked(changes...)
}

// resize is an operator's.
func (w *world) resize(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.applyLocked(line.Change{Weight: n})
}

func (w *world) applyLocked(changes ...line.Change) {
	w.state.Apply(w.state.Rev+1, changes...)
	for _, p := range w.processes {
		p.bell.Ring() // the watch
	}
}

func (w *world) read() line.State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.Clone()
}

// drive runs the agent of p until no user is left.
func (p *process) drive() {
	for {
		p.bell.Clear()
		if p.users.Load() == 0 {
			return
		}
		p.agent.Learn(p.read(), 0)
		if txn, _ := p.Plan(p.agent, 0); txn != nil {
			p.commit(txn)
			p.agent.Learn(p.read(), 0)
			p.agent.Answered(true)
			continue
		}
		p.calls.Receive()
	}
}

// use acquires n permits, of which a writer needs more than 1, and releases them.
func (p *process) use(n int64) {
	if !p.Try(n) && (!p.IsObserved() || !p.TryObserved(n)) {
		err := p.Wait(waiter.Limit{}, n)
		p.Assert(err == nil, "%v", err)
	}
	p.held.Add(n)
	seq, st := p.Token()
	p.Assert(st != nil && slices.Contains(st.Holders, p.lease), "permits without a stamp")
	if p.resource {
		p.show(token{p.lease, seq, st})
	}
	p.held.Add(-n)
	p.Assert(p.Release(n), "a release of what is held was refused")
}

// show is an operation on the resource. Of two tokens that are good at a time, the newer one names
// the lease of the older.
func (p *process) show(t token) {
	p.mu.Lock()
	for _, o := range p.inside {
		old, young := t, o
		if o.stamp.Rev < t.stamp.Rev {
			old, young = o, t
		}
		names := old.stamp.Rev == young.stamp.Rev || slices.Contains(young.stamp.Holders, old.lease)
		p.Assert(names, "a token of lease %d outdates one of lease %d, which has lost nothing", young.lease, old.lease)
	}
	p.inside = append(p.inside, t)
	p.mu.Unlock()
	p.mu.Lock()
	p.inside = slices.DeleteFunc(p.inside, func(o token) bool { return o == t })
	p.mu.Unlock()
}

// run starts the drivers, and a user of p for each of uses.
func (w *world) run(uses map[int][]int64) {
	for i, p := range w.processes {
		w.users.Add(int64(len(uses[i])))
		w.Go("driver", p.drive)
	}
	for i, p := range w.processes {
		for _, n := range uses[i] {
			w.Go("user", func() {
				p.use(n)
				w.leave()
			})
		}
	}
	w.Wait()
}

// leave is called by a user at its end. The last one has the drivers end.
func (w *world) leave() {
	if w.users.Add(-1) == 0 {
		for _, p := range w.processes {
			p.bell.Ring()
		}
	}
}

// The size falls at any moment: nobody's token is outdated meanwhile, and all are served. Each
// process sees its own selection of the states.
func TestModelResize(t *testing.T) {
	interleave.Check(t, interleave.Options{Mode: interleave.PCT, Depth: 5, Executions: 10000}, func(x *interleave.Run) {
		w := newWorld(x, 2, false, 0, 2)
		w.resource = true
		w.Go("operator", func() { w.resize(1) })
		w.run(map[int][]int64{0: {1}, 1: {1}})
	})
}

// Two processes that share a line, with all that their goroutines, their drivers and the line do in
// between: never is more held than there is, and nobody waits for ever.
func TestModelProcesses(t *testing.T) {
	for _, s := range []struct {
		name  string
		size  int64
		rw    bool
		uses  map[int][]int64
		bound int
		long  bool // not for -short

		tenure   int64 // which does not end, as the time stands still, unless it is 0
		observed bool  // at some time: the bit O is set, and cleared again
	}{
		{"one process", 1, false, map[int][]int64{0: {1, 1}}, 2, false, 0, false},
		{"two processes", 1, false, map[int][]int64{0: {1}, 1: {1}}, 1, false, 0, false},
		{"what is idle goes back", 1, false, map[int][]int64{0: {1}, 1: {1}}, 1, false, 1, false},
		{"two permits", 2, false, map[int][]int64{0: {2}, 1: {1}}, 1, true, 0, false},
		{"more users than permits", 1, false, map[int][]int64{0: {1, 1}, 1: {1}}, 1, true, 0, false},
		{"a reader and a writer", line.Everyone, true, map[int][]int64{0: {1}, 1: {line.Everyone}}, 1, true, 0, false},
		{"observed", 1, false, map[int][]int64{0: {1, 1}}, 1, false, 0, true},
		{"observed, and two processes", 1, false, map[int][]int64{0: {1}, 1: {1}}, 1, true, 1, true},
	} {
		t.Run(s.name, func(t *testing.T) {
			if s.long && testing.Short() {
				t.Skip("tier two")
			}
			interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: s.bound}, func(x *interleave.Run) {
				w := newWorld(x, s.size, s.rw, s.tenure, len(s.uses))
				if s.observed {
					w.Go("observer", func() {
						w.processes[0].Observe(true)
						w.processes[0].Observe(false)
					})
				}
				w.run(s.uses)
			})
		})
	}
}

// A loss at any moment: nothing is granted that begins afterwards, waits end, and nothing
// is held at the end.
func TestModelLoss(t *testing.T) {
	interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2}, func(x *interleave.Run) {
		w := newWorld(x, 1, false, 0, 1)
		p := w.processes[0]
		w.users.Add(2)
		w.Go("driver", p.drive)
		w.Go("loser", func() {
			p.valid.Store(false)
			w.Assert(!p.Try(1), "granted after the loss, before anybody has closed the share")
			p.Close()
			w.Assert(!p.Try(1), "granted after the loss")
			w.Assert(errors.Is(p.Wait(waiter.Limit{}, 1), waiter.ErrClosed), "granted after the loss")
			w.leave()
		})
		w.Go("user", func() {
			before := p.valid.Load()
			if p.Try(1) || p.Wait(waiter.Limit{}, 1) == nil {
				w.Assert(before, "granted to a request that began after the loss")
				w.Assert(p.Release(1), "a release of what is held was refused")
			}
			w.leave()
		})
		w.Wait()
		w.Assert(p.Held() == 0, "%d are held at the end", p.Held())
	})
}
