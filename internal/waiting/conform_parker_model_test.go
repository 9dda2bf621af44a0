//go:build interleave

package waiting

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	proof "github.com/farad-go/farad/internal/proof/table"
	"github.com/farad-go/farad/internal/xsync"
)

// The tie between a parker with its watch and their table in internal/proof: one call of the owner,
// of a claimer, of the watch, or of one that gets a parker, from every state that the table
// reaches, beside others that may make any step of the table at any point. After each step of the
// code the state must be one that the table allows.

// A parkerContext is a context whose error and channel are variables of the table. A foreign one
// says what it likes, or panics.
type parkerContext struct {
	*interleave.Context
	err     interleave.Bool
	foreign bool
	choose  func(n int) int
}

// Err implements [context.Context].
func (c *parkerContext) Err() error {
	over := c.err.Load()
	if c.foreign {
		switch c.choose(3) {
		case 0:
			over = false
		case 1:
			over = true
		default:
			panic("a foreign context")
		}
	}
	if over {
		return context.Canceled
	}
	return nil
}

// A parkerTie has what all runs share.
type parkerTie struct {
	*testing.T
	*proof.ParkerTable
	m     *proof.Machine
	taken map[string]bool
	ways  proof.Ways // how others let a call go on that is blocked
	runs  int
}

// A parkerCall is an operation, and where a thread of the table begins it.
type parkerCall struct {
	name   string
	place  int64
	owner  bool
	result bool // what it returns is compared
	run    func(c *parkerRun) int
}

// What calls return, as the table numbers it.
const (
	gaveUp = iota
	gotGrant
	gotOther
	panicked
)

// A parkerRun is one call beside one behaviour of the others. It is the line of the parker, too.
type parkerRun struct {
	*parkerTie
	call parkerCall
	x    *interleave.Run
	p    *Parker
	w    *watch
	line *interleave.Uint32
	gave *interleave.Uint32 // what is given back is a step on it
	ctx  *parkerContext
	over bool // the channel of ctx is closed

	around [2]*Parker // neighbours in the list of the watch, or nil
	idle   *Parker    // another's, which is idle
	which  int        // which neighbours there are, and whether p sleeps in the cheapest way
	handed *Parker    // by the pool, in the last step
	third  *Parker    // another that the pool has handed out
	pooled bool       // others have put p into its pool
	given  int64      // what was given back in the last step, or 0
	back   bool       // p is in its pool when the call has returned

	f      *proof.Follower
	path   *proof.Path
	left   int // moves that the others still have
	story  []string
	failed string
}

// Unlink implements [Line].
func (c *parkerRun) Unlink(*Waiter) bool { return c.line.CompareAndSwap(1, 0) }

// GiveBack implements [Line].
func (c *parkerRun) GiveBack(n int64) bool {
	c.gave.Add(1)
	c.given = n
	return true
}

// limit is the limit of a wait of that kind.
func (c *parkerRun) limit(s *proof.State) Limit {
	switch s.Get(c.Kind) {
	case proof.Plain:
		return Limit{}
	case proof.Timed:
		return After(time.Second)
	}
	return UntilDone(c.ctx)
}

func (c *parkerRun) outcome() int {
	if c.p.Outcome() == Granted {
		return gotGrant
	}
	return gotOther
}

// calls returns what is called in the state s.
func (k *parkerTie) calls(s *proof.State) (calls []parkerCall) {
	add := func(c parkerCall) { calls = append(calls, c) }
	at := int64(s.Get(k.PC))
	switch {
	case at == proof.ParkSleep && s.Is(k.Asks):
		add(parkerCall{name: "Wait", place: at, owner: true, result: true, run: func(c *parkerRun) int {
			if _, err := Wait(c.p, c.limit(s), c); err != nil {
				return gaveUp
			}
			return c.outcome()
		}})
	case at == proof.ParkSleep:
		add(parkerCall{name: "Notified", place: at, owner: true, result: true, run: func(c *parkerRun) int {
			c.p.Start(c.limit(s))
			if c.p.Notified(c.limit(s)) {
				return c.outcome()
			}
			Leave(c.p, c)
			return gaveUp
		}})
	case at == proof.LeaveUnlink && !s.Is(k.Asks):
		add(parkerCall{name: "Leave", place: at, owner: true, run: func(c *parkerRun) int { Leave(c.p, c); return 0 }})
	case at == proof.PutLook:
		add(parkerCall{name: "Put", place: at, owner: true, run: func(c *parkerRun) int { c.p.Put(); return 0 }})
	}
	if at <= proof.ParkerQueued || at >= proof.PutLook {
		add(parkerCall{name: "get", place: proof.IdleLook, result: true, run: func(c *parkerRun) int {
			switch c.w.get() {
			case nil:
				return 0
			case c.p:
				return 1
			}
			return 2
		}})
	}
	if at == proof.ParkerPooled {
		add(parkerCall{name: "KeepUntil", place: proof.KeepLook, result: true, run: func(c *parkerRun) int {
			if KeepUntil(UntilDone(c.ctx), c, 2) == nil {
				return 1
			}
			return 0
		}})
	}
	if s.Get(k.At) == int(proof.ClaimedOutcome) {
		add(parkerCall{name: "Deliver", place: proof.ClaimedOutcome, run: func(c *parkerRun) int {
			if !s.Is(c.Grants) {
				c.p.Deliver(Closed)
			} else {
				c.p.HandOff()
			}
			return 0
		}})
	}
	if s.Is(k.Over) && !s.Is(k.Fired) && s.Get(k.F) == int(proof.FireNone) {
		add(parkerCall{name: "fire", place: proof.FireLock, run: func(c *parkerRun) int { c.w.fire(); return 0 }})
	}
	return calls
}

func wakeups(token, nudge bool) (w xsync.Wakeups) {
	if token {
		w |= xsync.Token
	}
	if nudge {
		w |= xsync.Nudge
	}
	return w
}

// setUp makes a parker and a watch in state s.
func (c *parkerRun) setUp(s *proof.State) {
	c.line, c.gave = new(interleave.Uint32), new(interleave.Uint32)
	c.ctx = &parkerContext{Context: c.x.NewContext(), foreign: s.Is(c.Foreign), choose: c.path.Choose}
	kind := parks
	if c.which&4 != 0 {
		kind = portable
	}
	c.p, c.w, c.idle = newParker(kind), &watch{done: c.ctx.Done()}, newParker(parks)
	c.idle.watch = c.w
	for i := range c.around {
		if c.which>>i&1 != 0 {
			c.around[i] = newParker(parks)
			c.around[i].watch = c.w
		}
	}
	pools[parks].New = func() any {
		c.handed = newParker(parks)
		if c.p.kind == parks && c.f.Members[0].Get(c.PC) == int(proof.ParkerPooled) {
			c.handed, c.pooled = c.p, false
		} else {
			c.third = c.handed
		}
		return c.handed
	}
	c.pooled = s.Get(c.PC) == int(proof.ParkerPooled)
	c.put(s)
}

// list returns the parkers in the list of the watch.
func (c *parkerRun) list(s *proof.State) []*Parker {
	if s.Is(c.Fired) {
		return nil
	}
	all := []*Parker{c.around[0], c.p, c.around[1]}
	if c.call.name == "get" {
		all = []*Parker{c.p, c.around[0], c.around[1]}
		if c.third != nil && c.third.watch == c.w {
			all = append([]*Parker{c.third}, all...)
		}
	}
	return slices.DeleteFunc(all, func(p *Parker) bool { return p == nil || p == c.p && !s.Is(c.Linked) })
}

// put makes parker and watch what s says.
func (c *parkerRun) put(s *proof.State) {
	p, w := c.p, c.w
	c.line.Store(uint32(s.Get(c.Line)))
	p.N, p.outcome = int64(s.Get(c.N)), Closed
	if s.Is(c.Outcome) {
		p.outcome = Granted
	}
	if there := wakeups(s.Is(c.Tok), s.Is(c.Nud)); p.sleeper.Pending() != there {
		if p.sleeper.Pending() != 0 {
			p.sleeper.Sleep()
		}
		if there != 0 {
			p.sleeper.Wake(there)
		}
	}
	p.got = wakeups(s.Is(c.GotTok), s.Is(c.GotNud))
	c.ctx.err.Store(s.Is(c.Err))
	if s.Is(c.Over) && !c.over {
		c.over = true
		c.ctx.Cancel()
	}
	if p.watch = nil; s.Is(c.W) {
		p.watch = w
	}
	w.idle.Store([]*Parker{nil, p, c.idle}[s.Get(c.Idle)])
	if locked := s.Get(c.Mu) != proof.MuFree; locked && !w.mu.Locked() {
		w.mu.Lock()
	} else if !locked && w.mu.Locked() {
		w.mu.Unlock()
	}
	if c.call.name == "fire" && w.fired {
		return // The code is in the list.
	}
	w.fired, w.list = s.Is(c.Fired), nil
	p.wnx, p.wpv = nil, nil
	var last *Parker
	for _, q := range c.list(s) {
		if q.wnx, q.wpv = nil, last; last == nil {
			w.list = q
		} else {
			last.wnx = q
		}
		last = q
	}
}

// agrees reports whether parker and watch are as s says.
func (c *parkerRun) agrees(s *proof.State) bool {
	p, w := c.p, c.w
	return int(c.line.Load()) == s.Get(c.Line) && p.N == int64(s.Get(c.N)) &&
		(p.outcome == Granted) == s.Is(c.Outcome) &&
		p.sleeper.Pending() == wakeups(s.Is(c.Tok), s.Is(c.Nud)) && p.got == wakeups(s.Is(c.GotTok), s.Is(c.GotNud)) &&
		(p.watch == w) == s.Is(c.W) && (p.watch == nil) != s.Is(c.W) && w.fired == s.Is(c.Fired) &&
		w.mu.Locked() == (s.Get(c.Mu) != proof.MuFree) && w.idle.Load() == []*Parker{nil, p, c.idle}[s.Get(c.Idle)] &&
		(s.Get(c.Mu) == proof.MuFire || c.listAgrees(s)) && (c.given == 0 || c.given == int64(s.Get(c.Tn)))
}

// listAgrees is agrees for the list of the watch.
func (c *parkerRun) listAgrees(s *proof.State) bool {
	if !s.Is(c.Linked) && (c.p.wnx != nil || c.p.wpv != nil) {
		return false
	}
	var last *Parker
	q := c.w.list
	for _, is := range c.list(s) {
		if q != is || q.wpv != last {
			return false
		}
		last, q = q, q.wnx
	}
	return q == nil
}

// access says what the last step of the code was, for the table.
func (c *parkerRun) access() proof.Access {
	on, wrote := c.x.Last()
	switch on {
	case unsafe.Pointer(c.line):
		return proof.ByWrite(wrote, proof.LineRead, proof.LineWrite)
	case unsafe.Pointer(&c.p.sleeper):
		return proof.ByWrite(wrote, proof.Sleeps, proof.Wakes)
	case unsafe.Pointer(&c.w.idle):
		return proof.ByWrite(wrote, proof.IdleRead, proof.IdleWrite)
	case unsafe.Pointer(&c.w.mu):
		if c.w.mu.Locked() {
			return proof.MuLock
		}
		return proof.MuUnlock
	case unsafe.Pointer(&c.ctx.err):
		return proof.CtxRead
	case unsafe.Pointer(c.gave):
		return proof.GivesBack
	}
	return proof.Local
}

// after is called after each step of the code.
func (c *parkerRun) after() {
	if c.failed != "" {
		return
	}
	a, before := c.access(), c.f.Places()
	c.f.Step(a)
	if c.handed != nil {
		c.f.Keep(func(s *proof.State) bool {
			if c.handed == c.p {
				return s.Get(c.PC) == int(proof.GetLock)
			}
			return s.Get(c.TPC) == int(proof.OtherLock)
		})
	}
	c.f.Keep(c.agrees)
	c.given = 0
	if len(c.f.Members) == 0 {
		p := c.p
		c.failed = fmt.Sprintf("the table has no such step: access %d, from %v; there %d, taken %d, watch %t, fired %t, idle %t, outcome %d",
			a, before, p.sleeper.Pending(), p.got, p.watch != nil, c.w.fired, c.w.idle.Load() == p, p.outcome)
		return
	}
	c.others()
	c.handed = nil
}

// others has the other threads do what they do now: nothing, or a move if one is left. While the
// code is blocked they go on.
func (c *parkerRun) others() {
	for c.left > 0 {
		moves := slices.DeleteFunc(c.moves(&c.f.Members[0].State), func(v proof.Move) bool { return !c.f.Allow(&v) })
		i := c.path.Choose(len(moves)+1) - 1
		if i < 0 {
			break
		}
		c.left--
		c.move(&moves[i])
	}
	if c.x.Blocked() {
		for _, v := range c.way() {
			c.move(&v)
		}
	}
}

// move has the others make a move.
func (c *parkerRun) move(v *proof.Move) {
	c.story = append(c.story, v.Name)
	c.f.Others(v)
	s := &c.f.Members[0].State
	c.pooled = c.pooled || v.Inside && s.Get(c.PC) == int(proof.ParkerPooled)
	c.put(s)
}

// moves returns what the others may do in s, if it changes anything. They leave to the code what is
// the code's, and the parker in its pool.
func (c *parkerRun) moves(s *proof.State) (moves []proof.Move) {
	at := int64(s.Get(c.TPC))
	if at == proof.ParkerDone {
		return nil
	}
	for _, v := range c.m.Moves(s, at != proof.ParkerIn) {
		switch {
		case at == proof.ParkerIn && v.To.Get(c.PC) != s.Get(c.PC):
		case s.Get(c.PC) == int(proof.ParkerPooled) && (v.Inside || v.To.Get(c.PC) != s.Get(c.PC)):
		case c.call.name == "Deliver" && v.To.Get(c.At) != s.Get(c.At):
		case c.call.name == "fire" && (v.To.Get(c.F) != s.Get(c.F) || v.From == proof.FireSend):
		case at == proof.OtherUnlock && v.From == proof.OtherUnlock:
		case v.From == proof.KeepLook, v.From == proof.KeepGive, v.From == proof.LeaveGive, v.Name == "is granted at once":
		case v.To == *s:
		default:
			moves = append(moves, v)
		}
	}
	return moves
}

// ready reports whether a thread in s can go on, if it is at a place where it may be blocked.
func (k *parkerTie) ready(s *proof.State) (ready, blocks bool) {
	at := int64(s.Get(k.TPC))
	if at == proof.ParkerIn {
		at = int64(s.Get(k.PC))
	}
	switch at {
	case proof.GetLock, proof.LeaveLock, proof.PartLock, proof.FireLock, proof.OtherLock:
		return s.Get(k.Mu) == proof.MuFree, true
	case proof.ParkSleep, proof.LeaveSleep, proof.PartSleep:
		over := at == proof.ParkSleep && s.Get(k.Kind) == proof.Selects && s.Is(k.Over)
		return s.Is(k.Tok) || s.Is(k.Nud) || over, true
	}
	return false, false
}

// way returns the moves by which others let the code go on, as few as can be.
func (c *parkerRun) way() []proof.Move {
	way, err := c.f.Way(c.ways, c.moves, c.ready)
	if err != nil {
		c.failed = err.Error()
	}
	return way
}

// run makes the call in state s.
func (c *parkerRun) run(s proof.State) {
	made := [2]func() any{pools[parks].New, pools[portable].New}
	defer func() { pools[parks].New, pools[portable].New = made[0], made[1] }()
	s.Set(c.TPC, int(c.call.place))
	if c.call.owner {
		s.Set(c.TPC, int(proof.ParkerIn))
	}
	if c.which&4 == 0 {
		s.Set(c.Tcheap, 1)
	}
	if c.call.place == proof.KeepLook {
		s.Set(c.Owed, 2)
		s.Set(c.Permits, 2)
		s.Set(c.Tn, 2)
	}
	got := panicked
	r := interleave.Explore(interleave.Options{Mode: interleave.Random, Executions: 1}, func(x *interleave.Run) {
		c.x = x
		c.setUp(&s)
		c.f = c.m.Follow(s)
		x.Chooses(c.path.Choose)
		x.Always(c.after)
		x.Go("code", func() {
			interleave.Panics(func() { got = c.call.run(c) })
			pools[parks].New = func() any { return nil }
			pools[portable].New = pools[parks].New
			c.back = pools[c.p.kind].Get() == any(c.p)
		})
		x.Wait()
	})
	c.runs++
	if c.failed == "" && r.Failure != nil {
		c.failed = r.Failure.Message
	}
	if c.failed != "" {
		return
	}
	c.f.Step(proof.Local)
	c.f.Keep(func(s *proof.State) bool {
		pooled := s.Get(c.PC) == int(proof.ParkerPooled)
		return s.Get(c.TPC) == int(proof.ParkerDone) && c.agrees(s) && (c.back || c.pooled) == pooled &&
			(!c.call.result || s.Get(c.TRes) == got)
	})
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("the call has returned %d; pooled %t", got, c.back)
		return
	}
	if c.call.name == "fire" {
		for _, q := range c.around {
			if q != nil && (q.sleeper.Pending() != xsync.Nudge || q.wnx != nil || q.wpv != nil) {
				c.failed = "another parker of the watch has no nudge, or is still linked"
			}
		}
	}
	c.f.Took(c.taken)
}

// parkerStride says which states are tried: one of so many. FARAD_STRESS=1 tries all.
func parkerStride() int {
	switch {
	case os.Getenv("FARAD_STRESS") == "1":
		return 1
	case testing.Short():
		return 127
	default:
		return 7
	}
}

// check makes a call in s, beside all behaviours of the others with so many moves.
func (k *parkerTie) check(s *proof.State, call parkerCall, which, left int) {
	path := new(proof.Path)
	for more := true; more; more = path.Next() {
		c := &parkerRun{parkerTie: k, call: call, path: path, which: which, left: left}
		c.run(*s)
		require.Empty(k, c.failed, "%s in %s\nthe others: %v", call.name, k.m.String(s), c.story)
	}
}

// TestModelParkerConforms compares the code with its table.
func TestModelParkerConforms(t *testing.T) {
	if interleave.RaceEnabled {
		t.Skip("invariants are not checked under the race detector")
	}
	table := proof.Parker()
	k := &parkerTie{
		T: t, ParkerTable: table, m: proof.NewMachine(table.Table, 1),
		taken: map[string]bool{}, ways: proof.Ways{},
	}
	all := k.m.Reach([]proof.State{table.First()}, 1_000_000, func(*proof.Step) bool { return true }).Met
	n := 0
	for i := range all {
		for _, call := range k.calls(&all[i]) {
			n++
			often := call.name == "Put" || call.name == "get" || call.name == "KeepUntil" // of which there are few
			if often && n%max(1, parkerStride()/6) == 0 || n%parkerStride() == 0 {
				k.check(&all[i], call, n/parkerStride()%8, 1)
			}
		}
	}
	t.Log(len(all), "states", n, "calls", k.runs, "runs")
	if !testing.Short() {
		require.Empty(require.GoOn(t), table.NotMade(k.taken), "steps that the code never makes")
	}
}
