//go:build interleave

package sync

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	proof "github.com/farad-go/farad/internal/proof/table"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// The tie between a Cond and its table in internal/proof: one call, from every state that the table
// reaches with two waits, beside others that may make any step of the table at any point. After
// each step of the code the state must be one that the table allows.

// A condTie has what all runs share.
type condTie struct {
	*testing.T
	*proof.CondTable
	m     *proof.Machine
	taken map[string]bool
	ways  proof.Ways // how others let a call go on that is blocked
	runs  int
}

// How the wait of a call may end early.
const (
	never = iota
	byContext
	byTime
)

// A condOperation is an operation, and where a thread of the table begins it.
type condOperation struct {
	name   string
	place  int64
	own    int // the wait that is the code's; -1: none
	limit  int
	result bool // what it returns is compared
	panics bool // the unlock of L does
	then   int64
	run    func(c *condRun) int
}

// A condRun is one call beside one behaviour of the others. It is the lock of the condition, too.
type condRun struct {
	*condTie
	call     condOperation
	x        *interleave.Run
	cond     *Cond
	l        xsync.Mutex
	unlocked bool // the code has not L
	ps       [others + 1]*waiting.Parker
	ctx      *interleave.Context
	over     bool

	f      *proof.Follower
	path   *proof.Path
	left   int // moves that the others still have
	story  []string
	failed string
}

// Lock implements [Locker].
func (c *condRun) Lock() { c.l.Lock() }

// Unlock implements [Locker].
func (c *condRun) Unlock() {
	if c.call.panics {
		panic("a lock that panics")
	}
	c.l.Unlock()
}

func (c *condRun) until() waiting.Limit {
	switch c.call.limit {
	case byContext:
		return waiting.UntilDone(c.ctx)
	case byTime:
		return waiting.After(time.Second)
	}
	return waiting.Limit{}
}

// calls returns what is called in the state s.
func (k *condTie) calls(s *proof.State) (calls []condOperation) {
	add := func(c condOperation) {
		if c.then == 0 {
			c.then = proof.CondDone
		}
		calls = append(calls, c)
	}
	truth := func(ok bool) int {
		if ok {
			return 1
		}
		return 0
	}
	if s.Is(k.L) {
		add(condOperation{name: "Wait", place: proof.WaitLook, own: mine, run: func(c *condRun) int { c.cond.Wait(); return 1 }})
		add(condOperation{name: "Wait, L panics", place: proof.WaitLook, own: mine, panics: true, run: func(c *condRun) int {
			interleave.Panics(c.cond.Wait)
			return 0
		}})
		add(condOperation{name: "WaitContext", place: proof.WaitLook, own: mine, limit: byContext, result: true, run: func(c *condRun) int {
			return truth(c.cond.WaitContext(c.ctx) == nil)
		}})
		add(condOperation{name: "WaitTimeout", place: proof.WaitLook, own: mine, limit: byTime, result: true, run: func(c *condRun) int {
			return truth(c.cond.WaitTimeout(time.Second))
		}})
		add(condOperation{
			name: "WaitTimeout, L panics", place: proof.WaitLook, own: mine, limit: byTime, panics: true,
			run: func(c *condRun) int {
				interleave.Panics(func() { c.cond.WaitTimeout(time.Second) })
				return 0
			},
		})
	}
	add(condOperation{name: "Signal", place: proof.SignalLook, own: -1, run: func(c *condRun) int { c.cond.Signal(); return 0 }})
	add(condOperation{name: "Broadcast", place: proof.BroadLook, own: -1, run: func(c *condRun) int { c.cond.Broadcast(); return 0 }})
	for x := range others {
		if s.GetAt(k.In, x) == 0 && (s.GetAt(k.Cl, x) == 0 || s.GetAt(k.Got, x) == 1) {
			continue
		}
		for _, limit := range []int{never, byContext, byTime} {
			add(condOperation{
				name: "the rest of a wait", place: proof.CondSleep, own: x, limit: limit, result: true, then: proof.LockL,
				run: func(c *condRun) int {
					_, err := waiting.Wait(c.ps[x], c.until(), condLine{c.cond})
					if err == nil {
						c.ps[x].Put()
					}
					return truth(err == nil)
				},
			})
		}
		add(condOperation{name: "Leave", place: proof.UnlinkLock, own: x, then: proof.LockL, run: func(c *condRun) int {
			waiting.Leave(c.ps[x], condLine{c.cond})
			return 0
		}})
	}
	return calls
}

// line returns who is in line in s, in order.
func (k *condTie) line(s *proof.State) (line []int) {
	for x := range others + 1 {
		if s.GetAt(k.In, x) == 1 {
			line = append(line, x)
		}
	}
	slices.SortFunc(line, func(a, b int) int { return s.GetAt(k.Pos, a) - s.GetAt(k.Pos, b) })
	return line
}

func (k *condTie) flags(s *proof.State) (flags uint32) {
	if s.Is(k.Occ) {
		flags |= condOccupied
	}
	if s.Is(k.Obs) {
		flags |= condObserved
	}
	return flags
}

func (k *condTie) by(s *proof.State, x int) int64 {
	if s.GetAt(k.By, x) == 1 {
		return byBroadcast
	}
	return bySignal
}

// setLocked locks or unlocks m.
func setLocked(m *xsync.Mutex, locked bool) {
	if locked && !m.Locked() {
		m.Lock()
	} else if !locked && m.Locked() {
		m.Unlock()
	}
}

// put makes the Cond what s says.
func (c *condRun) put(s *proof.State) {
	setLocked(&c.cond.mu, s.Get(c.PC) != int(proof.CondFree))
	setLocked(&c.l, s.Is(c.L))
	c.cond.flags.Store(c.flags(s))
	if !c.lineAgrees(s) {
		for w := c.cond.line.Front(); w != nil; w = c.cond.line.Front() {
			c.cond.line.PopFront()
		}
		for _, x := range c.line(s) {
			c.cond.line.PushBack(&c.ps[x].Waiter)
		}
	}
	if c.cond.reach = nil; s.Is(c.HasReach) {
		c.cond.reach = &c.ps[s.Get(c.Reach)].Waiter
	}
	for x, p := range c.ps {
		if p == nil {
			continue
		}
		if woken := s.GetAt(c.Woken, x) == 1; woken && p.Sleeper().Pending() == 0 {
			p.Deliver(waiting.Granted)
		} else if !woken && p.Sleeper().Pending() != 0 {
			p.Sleeper().Sleep()
		}
		p.N = c.by(s, x)
	}
}

func (c *condRun) lineAgrees(s *proof.State) bool {
	w := c.cond.line.Front()
	for _, x := range c.line(s) {
		if w == nil || c.ps[x] == nil || w != &c.ps[x].Waiter {
			return false
		}
		w = c.cond.line.Next(w)
	}
	return w == nil
}

// agrees reports whether the Cond is as s says.
func (c *condRun) agrees(s *proof.State) bool {
	var reach *waiting.Waiter
	if s.Is(c.HasReach) {
		if p := c.ps[s.Get(c.Reach)]; p != nil {
			reach = &p.Waiter
		}
	}
	if !c.lineAgrees(s) || c.cond.reach != reach || c.cond.flags.Load() != c.flags(s) ||
		c.cond.mu.Locked() != (s.Get(c.PC) != int(proof.CondFree)) || c.l.Locked() != s.Is(c.L) {
		return false
	}
	for x, p := range c.ps {
		if p != nil && ((p.Sleeper().Pending() != 0) != (s.GetAt(c.Woken, x) == 1) ||
			p.N != c.by(s, x)) {
			return false
		}
	}
	return true
}

// access says what the last step of the code was, for the table.
func (c *condRun) access() proof.Access {
	on, wrote := c.x.Last()
	switch on {
	case nil:
		return proof.Local
	case unsafe.Pointer(&c.cond.flags):
		return proof.ByWrite(wrote, proof.WordRead, proof.WordWrite)
	case unsafe.Pointer(&c.cond.mu):
		if c.cond.mu.Locked() {
			return proof.MuLock
		}
		return proof.MuUnlock
	case unsafe.Pointer(&c.l):
		if c.l.Locked() {
			return proof.LLock
		}
		c.unlocked = true
		return proof.LUnlock
	}
	for _, p := range c.ps {
		if p != nil && on == unsafe.Pointer(p.Sleeper()) {
			return proof.ByWrite(wrote, proof.Sleeps, proof.Wakes)
		}
	}
	return proof.Local
}

// note tells the table what it does not know by itself.
func (c *condRun) note(s *proof.State) {
	s.Set(c.TOver, 0)
	if c.over {
		s.Set(c.TOver, 1)
	}
}

// after is called after each step of the code.
func (c *condRun) after() {
	if c.failed != "" {
		return
	}
	if w := c.cond.line.Back(); w != nil && c.ps[mine] == nil { // the code's own parker's first field
		if !slices.ContainsFunc(c.ps[:others], func(p *waiting.Parker) bool { return w == &p.Waiter }) {
			c.ps[mine] = (*waiting.Parker)(unsafe.Pointer(w))
		}
	}
	a, before := c.access(), c.f.Places()
	c.f.Note(c.note)
	c.f.Step(a)
	c.f.Keep(c.agrees)
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("the table has no such step: access %d, from %v; flags %d, %d in line, reach %t, L %t",
			a, before, c.cond.flags.Load(), c.cond.line.Len(), c.cond.reach != nil, c.l.Locked())
		return
	}
	c.others()
}

// others has the other threads do what they do now: nothing, or a move if one is left. While the
// code is blocked they go on.
func (c *condRun) others() {
	ends := func() bool {
		return c.call.limit == byContext && !c.over && slices.Contains(c.f.Places(), "sleeps")
	}
	for c.left > 0 && !c.isOver() {
		moves := slices.DeleteFunc(c.moves(&c.f.Members[0].State), func(v proof.Move) bool { return !c.f.Allow(&v) })
		n := len(moves) + 1
		if ends() {
			n++
		}
		i := c.path.Choose(n)
		if i == 0 {
			break
		}
		c.left--
		if i > len(moves) {
			c.end()
		} else {
			c.move(&moves[i-1])
		}
	}
	if !c.x.Blocked() {
		return
	}
	if ends() && c.path.Choose(2) == 1 {
		c.end()
		return
	}
	for c.x.Blocked() && c.failed == "" { // Where the code is may be one of several places.
		for _, v := range c.way() {
			c.move(&v)
		}
	}
}

// isOver reports whether the code may have made its last step.
func (c *condRun) isOver() bool {
	return slices.ContainsFunc(c.f.Members, func(m proof.Member) bool { return m.Get(c.TPC) == int(proof.CondDone) })
}

// end ends the context of the call.
func (c *condRun) end() {
	c.story = append(c.story, "the context ends")
	c.over = true
	c.ctx.Cancel()
	c.f.Note(c.note)
}

func (c *condRun) move(v *proof.Move) {
	c.story = append(c.story, v.Name)
	c.f.Others(v)
	c.put(&c.f.Members[0].State)
}

// moves returns what the others may do in s. They leave to the code what is the code's.
func (c *condRun) moves(s *proof.State) (moves []proof.Move) {
	in := slices.ContainsFunc(c.f.Members, func(m proof.Member) bool { return m.Get(c.TPC) == int(proof.CondIn) })
	own := c.call.own
	for _, v := range c.m.Moves(s, !in) {
		tells := func(x int) bool { return v.Name == "another tells" && v.Is(c.Tx, x) }
		codes := slices.ContainsFunc([]int{0, 1, mine}, func(x int) bool {
			return tells(x) && (c.f.Members[0].GetAt(c.Mine, x) == 1 || c.ps[x] == nil)
		})
		switch {
		case own >= 0 && v.Is(c.Tw, own):
		case codes:
		case v.Access == proof.LUnlock && own == mine && !c.unlocked:
		case v.Name == "observe" && slices.Contains(c.f.Places(), "wait"):
		case v.To == *s:
		default:
			moves = append(moves, v)
		}
	}
	return moves
}

// ready reports whether a thread in s can go on, if it is at a place where it may be blocked.
func (k *condTie) ready(s *proof.State) (ready, blocks bool) {
	switch int64(s.Get(k.TPC)) {
	case proof.EnterLock, proof.UnlinkLock, proof.CondGive, proof.SignalLock, proof.BroadLock:
		return s.Get(k.PC) == int(proof.CondFree), true
	case proof.CondSleep, proof.CondBoth, proof.CondWithdraw:
		return s.GetAt(k.Woken, s.Get(k.Tw)) == 1, true
	case proof.LockL:
		return !s.Is(k.L), true
	}
	return false, false
}

// way returns the moves by which others let the code go on, as few as can be.
func (c *condRun) way() []proof.Move {
	way, err := c.f.Way(c.ways, c.moves, c.ready)
	if err != nil {
		c.failed = err.Error()
	}
	return way
}

// run makes the call in state s.
func (c *condRun) run(s proof.State) {
	s.Set(c.TPC, int(c.call.place))
	if c.call.own >= 0 {
		s.Set(c.Tw, c.call.own)
	}
	if c.call.limit == byTime {
		s.Set(c.TTimed, 1)
	}
	got := -1
	r := interleave.Explore(interleave.Options{Mode: interleave.Random, Executions: 1}, func(x *interleave.Run) {
		c.x = x
		c.cond = NewCond(c)
		c.ctx = x.NewContext()
		for i := range c.ps {
			if i != mine || c.call.own != mine {
				c.ps[i] = waiting.GetParker(c.until())
			}
		}
		c.f = c.m.Follow(s)
		c.put(&s)
		x.Chooses(c.path.Choose)
		x.Always(c.after)
		x.Go("code", func() { got = c.call.run(c) })
		x.Wait()
	})
	c.runs++
	if c.failed == "" && r.Failure != nil {
		c.failed = r.Failure.Message
	}
	if c.failed != "" {
		return
	}
	c.f.Note(c.note)
	c.f.Step(proof.Local)
	c.f.Keep(func(s *proof.State) bool {
		return s.Get(c.TPC) == int(c.call.then) && c.agrees(s) && (!c.call.result || s.Get(c.TRes) == got)
	})
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("the call has returned %d", got)
		return
	}
	c.f.Took(c.taken)
}

// check makes a call in s, beside all behaviours of the others with so many moves.
func (k *condTie) check(s *proof.State, call condOperation, left int) {
	path := new(proof.Path)
	for more := true; more; more = path.Next() {
		c := &condRun{condTie: k, call: call, path: path, left: left}
		c.run(*s)
		require.Empty(k, c.failed, "%s by %d in %s\nthe others: %v", call.name, call.own, k.m.String(s), c.story)
	}
}

// behind returns states in which another is in line before reach. That takes three waits at once.
func (k *condTie) behind() (found []proof.State) {
	s := k.First()
	for x := range others + 1 {
		s.SetAt(k.In, x, 1)
		s.SetAt(k.Pos, x, others+1-x)
	}
	s.Set(k.Occ, 1)
	s.Set(k.Tail, others+2)
	met := k.m.Reach([]proof.State{s}, 20_000, func(s *proof.Step) bool {
		return !strings.HasPrefix(s.Name, "enter") && !strings.HasPrefix(s.Name, "another") && s.Name != "observe"
	}).Met
	for _, s := range met {
		r := s.Get(k.Reach)
		if s.Get(k.PC) == int(proof.CondFree) && s.Is(k.HasReach) && k.line(&s)[0] != r {
			found = append(found, s)
		}
	}
	return found
}

// TestModelCondConforms compares the code with its table.
func TestModelCondConforms(t *testing.T) {
	if interleave.RaceEnabled {
		t.Skip("invariants are not checked under the race detector")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	table := proof.Cond()
	k := &condTie{
		T: t, CondTable: table, m: proof.NewMachine(table.Table, others+1),
		taken: map[string]bool{}, ways: proof.Ways{},
	}
	reach := proof.NewMachine(table.Table, others)
	states := reach.Reach([]proof.State{table.First()}, 1_000_000, func(*proof.Step) bool { return true }).Met
	n := 0
	for i := range states {
		if s := &states[i]; s.Get(k.PC) == int(proof.CondFree) && !s.Is(k.Obs) {
			for _, call := range k.calls(s) {
				if n++; n%stride() == 0 {
					k.check(s, call, 1)
				}
			}
		}
	}
	for _, s := range k.behind() {
		for _, call := range k.calls(&s) {
			if call.name == "Leave" && call.own == s.Get(k.Reach) {
				k.check(&s, call, 1)
			}
		}
	}
	t.Log(len(states), "states", n, "calls", k.runs, "runs")
	if !testing.Short() {
		require.Empty(require.GoOn(t), table.NotMade(k.taken), "steps that the code never makes")
	}
}
