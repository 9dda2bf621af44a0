//go:build interleave

package sync

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/parking"
	proof "github.com/farad-go/farad/internal/proof/table"
	"github.com/farad-go/farad/waiter"
)

// The tie between a Mutex with its gate and futures, and their table in internal/proof. The shipped
// code runs one call, from every state that the table reaches with two requests, beside others that
// may make any step of the table at any point. After each step of the code the state must be one
// that the table allows.

// The requests of others, and that of the call if it makes one.
const (
	others = 2
	mine   = others
)

// A node is one request as it really is: a goroutine's or a future's.
type node struct {
	s *parking.Sleeper
	p *waiter.Parker // nil: a future's
	f *LockFuture    // nil: a goroutine's
}

// exists reports whether it has been met.
func (n *node) exists() bool { return n.f != nil || n.p != nil }

// waits returns what stands in the lock's line.
func (n *node) waits() *waiter.Waiter {
	if n.f != nil {
		return &n.f.r.f.Node
	}
	return &n.p.Waiter
}

// queues returns what stands in the gate's line.
func (n *node) queues() *waiter.Waiter {
	if n.f != nil {
		return &n.f.r.place
	}
	return &n.p.Waiter
}

func (n *node) sleeper() *parking.Sleeper {
	if n.f != nil {
		return &n.f.r.s
	}
	return n.s
}

// A call is an operation of the mutex, and where a thread of the table begins it.
type call struct {
	name   string
	place  int64
	own    int  // the request that is the code's; -1: none
	result bool // what it returns is compared
	seen   bool // it may be observed meanwhile
	ends   bool // its wait may end early
	run    func(c *conformance) bool
}

// A tie has what all runs share.
type tie struct {
	*testing.T
	*proof.MutexTable
	m     *proof.Machine
	taken map[string]bool
	ways  map[proof.State][]proof.Move // how others wake a call that sleeps
	runs  int
}

// A conformance is one call beside one behaviour of the others.
type conformance struct {
	*tie
	x      *interleave.Run
	mu     *Mutex
	gate   parking.Line // of the gate, and of the lock: they are in one bucket
	front  parking.Line
	nodes  [others + 1]node
	ctx    *interleave.Context
	over   bool // ctx is
	call   call
	lane   lane
	f      *proof.Follower
	path   *proof.Path
	left   int // moves that the others still have
	story  []string
	failed string
}

// calls returns what is called in the state s.
func (k *tie) calls(s *proof.State) (calls []call) {
	limit := func(c *conformance) waiter.Limit { return waiter.UntilDone(c.ctx) }
	add := func(c call) { calls = append(calls, c) }
	observed := s.Is(k.O)
	if !observed {
		add(call{name: "Lock", place: proof.MutexLock, own: mine, run: func(c *conformance) bool { c.mu.Lock(); return true }})
	}
	add(call{name: "acquire", place: proof.SpinLook, own: mine, result: true, seen: true, ends: true, run: func(c *conformance) bool {
		return c.mu.acquire(limit(c), rwWriter) == nil
	}})
	add(call{name: "try", place: proof.TryLook, own: mine, result: true, seen: true, run: func(c *conformance) bool {
		return c.mu.try(rwWriter, false)
	}})
	add(call{name: "start", place: proof.SpinLook, own: mine, result: true, seen: true, run: func(c *conformance) bool {
		r := &c.nodes[mine].f.r
		o := (*lockRequest)(r).start(&r.f.Node, nil)
		if o != waiter.Pending {
			r.f.Node.Finish(o)
		}
		return o == waiter.Granted
	}})
	if s.Get(k.H) == int(proof.HoldIn) {
		if !observed {
			add(call{name: "Unlock", place: proof.HoldFast, own: -1, run: func(c *conformance) bool { c.mu.Unlock(); return true }})
		}
		add(call{name: "unlock", place: proof.HoldSlow, own: -1, result: true, seen: true, run: func(c *conformance) bool {
			return c.mu.unlock()
		}})
	}
	adm := s.Get(k.Adm)
	future := s.GetAt(k.Fut, adm) == 1
	switch int64(s.Get(k.At)) {
	case proof.AdmLoad:
		if !future {
			add(call{name: "compete", place: proof.AdmLoad, own: adm, result: true, seen: true, ends: true, run: func(c *conformance) bool {
				return c.mu.compete(limit(c), true) == nil
			}})
		}
	case proof.AdmClaimed:
		if future {
			add(call{name: "Wake", place: proof.TellNext, own: -1, seen: true, run: func(c *conformance) bool {
				return c.nodes[adm].queues().Deliver(waiter.Granted)
			}})
		}
	case proof.AdmOpen:
		add(call{name: "open", place: proof.AdmOpen, own: -1, seen: true, run: func(c *conformance) bool { c.mu.gate.open(c.mu); return true }})
	}
	for x := range others {
		if s.GetAt(k.Fut, x) == 1 && s.GetAt(k.Left, x) == 0 && !k.starts(s, x) {
			add(call{name: "Release", place: proof.CancelLook, own: x, result: true, seen: true, run: func(c *conformance) bool {
				return c.nodes[x].f.r.f.Release()
			}})
		}
	}
	return calls
}

// starts reports whether the owner of future x is starting it.
func (k *tie) starts(s *proof.State, x int) bool {
	at, got := int64(s.Get(k.At)), s.Get(k.H) == int(proof.HoldGot)
	if got && s.Is(k.HF) && s.Get(k.Hn) == x {
		return true
	}
	if s.Get(k.Adm) != x || s.Is(k.By) {
		return false
	}
	return at == proof.AdmLoad || at == proof.AdmCas || at == proof.AdmPark || at == proof.AdmHeld && got
}

// A want is what the node of a future is like.
type want int

const (
	idle want = iota
	armed
	complete
	abandoned
)

// want returns what the node of future x is like in s.
func (k *tie) want(s *proof.State, x int) want {
	at := int64(s.Get(k.At))
	admitted := s.Get(k.Adm) == x && (at >= proof.AdmLoad && at <= proof.AdmPass ||
		at == proof.AdmHeld && (s.Get(k.H) == int(proof.HoldHand) || s.Get(k.H) == int(proof.HoldGive) ||
			s.Get(k.H) == int(proof.HoldGot)))
	switch {
	case s.GetAt(k.Left, x) == 1:
		return abandoned
	case s.Is(k.HF) && s.Get(k.Hn) == x:
		return complete
	case s.GetAt(k.In, x) == 1, admitted:
		return armed
	}
	return idle
}

// setUp makes a mutex in state s.
func (c *conformance) setUp(s *proof.State) {
	*parking.Default() = *parking.New(1)
	c.mu = &Mutex{lane: c.lane}
	c.gate = parking.Default().Line(c.mu.gate.key())
	c.gate.Unlock()
	c.front = parking.Default().Line(c.mu.key())
	c.front.Unlock()
	c.ctx = c.x.NewContext()
	for x := range c.nodes {
		n := &c.nodes[x]
		if s.GetAt(c.Fut, x) == 1 {
			n.f = new(LockFuture)
			n.f.Init(c.mu)
		} else if x != mine {
			n.s, n.p = parking.GetSleeper(), waiter.GetParker(waiter.Limit{})
		}
	}
	first := c.First(Express, 0, 0)
	c.put(&first, s)
}

// word is the word of s.
func (c *conformance) word(s *proof.State) uint32 {
	w := [...]uint32{parking.Unlocked, parking.Locked, sleeping}[s.Get(c.LK)]
	for v, bit := range map[*proof.Var]uint32{c.A: admitted, c.F: full, c.O: observing} {
		if s.Is(v) {
			w |= bit
		}
	}
	return w
}

// line returns who is in line at the gate of s, in order.
func (c *conformance) line(s *proof.State) (line []int) {
	for x := range c.nodes {
		if s.GetAt(c.In, x) == 1 {
			line = append(line, x)
		}
	}
	slices.SortFunc(line, func(a, b int) int { return s.GetAt(c.Pos, a) - s.GetAt(c.Pos, b) })
	return line
}

// asleep returns who sleeps in front of the lock, -1 if nobody does.
func (c *conformance) asleep(s *proof.State) int {
	if s.Get(c.At) == int(proof.AdmAsleep) {
		return s.Get(c.Adm)
	}
	return -1
}

// put changes the mutex from what old says to what s says.
func (c *conformance) put(old, s *proof.State) {
	if was, is := old.Get(c.PC) != int(proof.BucketFree), s.Get(c.PC) != int(proof.BucketFree); !was && is {
		parking.Default().Line(c.mu.gate.key())
	} else if was && !is {
		c.gate.Unlock()
	}
	c.mu.word.Store(c.word(s))
	c.mu.gate.state.Store(uint32(s.Get(c.G)))
	if old.Get(c.Used) != s.Get(c.Used) {
		c.mu.used = uint32(s.Get(c.Used))
	}
	for x := range c.nodes {
		if n := &c.nodes[x]; n.f != nil && !c.own(x) {
			c.putFuture(n, c.want(old, x), c.want(s, x))
		}
	}
	if was, is := c.line(old), c.line(s); !slices.Equal(was, is) {
		for _, x := range was {
			c.gate.Remove(c.nodes[x].sleeper())
		}
		for _, x := range is {
			n := &c.nodes[x]
			if n.f != nil && !slices.Contains(was, x) {
				n.f.r.place.Arm((*admission)(&n.f.r))
			}
			c.gate.Insert(n.sleeper(), n.queues(), false)
		}
	}
	c.putAdmitted(old, s)
}

// putAdmitted does so for the admitted.
func (c *conformance) putAdmitted(old, s *proof.State) {
	at, adm := int64(s.Get(c.At)), s.Get(c.Adm)
	was, is := c.asleep(old), c.asleep(s)
	if was == is && old.Get(c.At) == s.Get(c.At) {
		return
	}
	if was >= 0 {
		c.front.Remove(c.nodes[was].sleeper())
	}
	n := &c.nodes[adm]
	switch {
	case is >= 0:
		c.front.Insert(n.sleeper(), n.waits(), true)
	case n.f != nil && at == proof.AdmClaimed:
		if n.f.r.place.Status() == waiter.StatusIdle {
			n.f.r.place.Arm((*admission)(&n.f.r))
		}
	case n.f != nil && old.Get(c.At) == int(proof.AdmClaimed):
		n.f.r.place.Reset()
	case n.p != nil && at == proof.AdmTold:
		n.p.Deliver(waiter.Granted)
	case n.p != nil && old.Get(c.At) == int(proof.AdmTold):
		n.p.Sleeper().Sleep()
	}
}

// putFuture does so for the node of a future.
func (c *conformance) putFuture(n *node, was, is want) {
	w := n.waits()
	switch {
	case was == is:
	case is == armed:
		w.Arm(nil)
	case is == complete && was == armed, was == abandoned:
		w.Deliver(waiter.Granted)
	case is == complete:
		w.Finish(waiter.Granted)
	case is == abandoned:
		if w.Status() == waiter.StatusIdle {
			w.Arm(nil)
		}
		w.Abandon()
	default:
		n.f.r.place.Reset()
		w.Reset()
	}
}

// own reports whether the call is of the owner of request x.
func (c *conformance) own(x int) bool { return x == c.call.own }

// agrees reports whether the mutex is as s says.
func (c *conformance) agrees(s *proof.State) bool {
	if c.mu.word.Load() != c.word(s) || int(c.mu.gate.state.Load()) != s.Get(c.G) ||
		int(uint16(c.mu.used)) != s.Get(c.Used) || c.gate.Mutex().Locked() != (s.Get(c.PC) != int(proof.BucketFree)) {
		return false
	}
	q := c.gate.First()
	for _, x := range c.line(s) {
		if q == nil || q != c.nodes[x].sleeper() || q.Node() != c.nodes[x].queues() {
			return false
		}
		q = c.gate.Next(q)
	}
	if q != nil {
		return false
	}
	q = c.front.First()
	switch x := c.asleep(s); {
	case (x >= 0) != (q != nil), x >= 0 && (q != c.nodes[x].sleeper() || q.Node() != c.nodes[x].waits()):
		return false
	}
	for x := range c.nodes {
		switch {
		case !c.own(x):
			if !c.nodeAgrees(s, x) {
				return false
			}
		case s.GetAt(c.Left, x) == 1 && c.nodes[x].waits().Status() != waiter.StatusBusy:
			return false
		}
	}
	return true
}

// nodeAgrees is agrees for the node of another's request.
func (c *conformance) nodeAgrees(s *proof.State, x int) bool {
	n := &c.nodes[x]
	switch {
	case n.f != nil:
		status := n.waits().Status()
		switch c.want(s, x) {
		case idle:
			return status == waiter.StatusIdle
		case armed: // or the code is telling it
			holder, _, _ := c.Roles(s)
			tells := holder && s.Get(c.H) == int(proof.HoldGive)
			return status == waiter.StatusWaiting || tells && status == waiter.StatusBusy
		case complete:
			return status == waiter.StatusComplete
		default:
			return status == waiter.StatusBusy
		}
	case n.p != nil:
		told := s.Get(c.At) == int(proof.AdmTold) && s.Get(c.Adm) == x
		return told == (n.p.Sleeper().Pending() != 0)
	}
	return true
}

// ends compares what can be compared only when the call has returned: the node of the code's own
// future, and whether the nodes of futures that stand at the gate, and only they, are armed for it.
func (c *conformance) ends(s *proof.State) bool {
	for x := range c.nodes {
		if c.nodes[x].f == nil {
			continue
		}
		stands := s.GetAt(c.In, x) == 1 || s.Get(c.At) == int(proof.AdmClaimed) && s.Get(c.Adm) == x
		if stands != (c.nodes[x].queues().Status() == waiter.StatusWaiting) || !c.nodeAgrees(s, x) {
			return false
		}
	}
	return true
}

// note tells the table what it does not know by itself.
func (c *conformance) note(s *proof.State) {
	s.Set(c.Tm, min(int(uint16(c.mu.used)), Express-1))
	s.Set(c.TEnds, 0)
	if c.over {
		s.Set(c.TEnds, 1)
	}
}

// access says what the last step of the code was, for the table.
func (c *conformance) access() proof.Access {
	on, wrote := c.x.Last()
	kind := func(read, write proof.Access) proof.Access {
		if wrote {
			return write
		}
		return read
	}
	switch on {
	case unsafe.Pointer(&c.mu.word):
		return kind(proof.WordRead, proof.WordWrite)
	case unsafe.Pointer(&c.mu.gate.state):
		return kind(proof.GateRead, proof.GateWrite)
	case unsafe.Pointer(c.gate.Mutex()):
		if c.gate.Mutex().Locked() {
			return proof.MuLock
		}
		return proof.MuUnlock
	}
	return proof.Local
}

// after is called after each step of the code.
func (c *conformance) after() {
	if c.failed != "" {
		return
	}
	c.meet(c.gate, (*node).queues)
	c.meet(c.front, (*node).waits)
	a, before := c.access(), c.f.Places()
	c.f.Note(c.note)
	c.f.Step(a)
	c.f.Keep(c.agrees)
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("the table has no such step: access %d, from %v, to %s", a, before, c.describe())
		return
	}
	c.others()
}

// meet finds the sleeper of the code's goroutine.
func (c *conformance) meet(line parking.Line, of func(*node) *waiter.Waiter) {
	for q := line.First(); q != nil; q = line.Next(q) {
		if !slices.ContainsFunc(c.nodes[:], func(n node) bool { return n.exists() && of(&n) == q.Node() }) {
			c.nodes[c.call.own] = node{s: q, p: (*waiter.Parker)(unsafe.Pointer(q.Node()))} // its first field
		}
	}
}

func (c *conformance) describe() string {
	var b strings.Builder
	m := c.mu
	fmt.Fprintf(&b, "word %b, gate %d, used %d, bucket locked %t, line",
		m.word.Load(), m.gate.state.Load(), m.used, c.gate.Mutex().Locked())
	for q := c.gate.First(); q != nil; q = c.gate.Next(q) {
		fmt.Fprintf(&b, " %d", slices.IndexFunc(c.nodes[:], func(n node) bool { return (n.f != nil || n.p != nil) && n.queues() == q.Node() }))
	}
	fmt.Fprintf(&b, ", asleep %t, nodes", c.front.First() != nil)
	for _, n := range c.nodes {
		if n.f != nil {
			fmt.Fprintf(&b, " %d", n.waits().Status())
		}
	}
	return b.String()
}

// others has the other threads do what they do now: nothing, or a move if one is left. While the
// code sleeps, or waits for the bucket, they go on.
func (c *conformance) others() {
	for c.left > 0 || c.x.Blocked() {
		s := &c.f.Members[0].State
		blocked := c.x.Blocked()
		if blocked && s.Get(c.PC) == int(proof.BucketFree) { // It sleeps.
			if c.call.ends && !c.over && c.path.Choose(2) == 1 {
				c.end()
				return
			}
			for _, v := range c.way() {
				c.move(&v)
			}
			return
		}
		moves := c.moves()
		n := len(moves)
		ends := c.call.ends && !c.over && slices.Contains(c.f.Places(), "waits")
		if ends {
			n++
		}
		i := 0
		switch {
		case blocked && n == 0:
			c.failed = "who has the bucket cannot go on"
			return
		case blocked:
			i = c.path.Choose(len(moves))
		default:
			if i = c.path.Choose(n+1) - 1; i < 0 {
				return
			}
		}
		c.left--
		if i == len(moves) {
			c.end()
			continue
		}
		c.move(&moves[i])
	}
}

// end ends the context of the call.
func (c *conformance) end() {
	c.story = append(c.story, "the context ends")
	c.over = true
	c.ctx.Cancel()
}

func (c *conformance) move(v *proof.Move) {
	c.story = append(c.story, v.Name)
	old := c.f.Members[0].State
	c.f.Others(v)
	c.put(&old, &c.f.Members[0].State)
	if x := c.call.own; x >= 0 && c.nodes[x].f != nil && c.call.name == "Release" {
		n := &c.nodes[x]
		switch v.Name { // what a claimer does to the code's own node
		case "give", "give.refused", "refuse":
			if old.Get(c.Adm) == x {
				n.waits().Deliver(waiter.Granted)
			}
		}
	}
}

// moves returns what the others may do. They leave to the code what is the code's.
func (c *conformance) moves() (moves []proof.Move) {
	s := &c.f.Members[0].State
	var holder, admitted, tells, in bool
	for i := range c.f.Members {
		m := &c.f.Members[i].State
		h, a, t := c.Roles(m)
		holder, admitted, tells = holder || h, admitted || a, tells || t
		switch int64(m.Get(c.TPC)) {
		case proof.MutexIn:
			in = true
		case proof.MutexDone:
			return nil
		}
	}
	for _, v := range c.m.Moves(s, !in && s.Get(c.PC) != int(proof.BucketFree)) {
		switch {
		case c.x.Blocked() && !v.Inside:
		case holder && c.OfHolder(v.Step), admitted && c.OfAdmitted(v.Step), tells && c.Tells(v.Step):
		case v.Is(c.Tw, mine), c.call.own >= 0 && v.Is(c.Tw, c.call.own):
		case !c.call.seen && v.Name == "observe":
		case v.To == *s || !c.f.Allow(&v):
		default:
			moves = append(moves, v)
		}
	}
	return moves
}

// way returns the moves by which others wake the code, as few as can be.
func (c *conformance) way() []proof.Move {
	start := c.f.Members[0].State
	c.Canon(c.Table, &start, len(c.nodes))
	if way, ok := c.ways[start]; ok {
		return way
	}
	type origin struct {
		parent int
		by     proof.Move
	}
	queue, origins := []proof.State{start}, []origin{{parent: -1}}
	seen := map[proof.State]bool{start: true}
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		if s.Get(c.At) == int(proof.AdmTold) && s.Get(c.Adm) == c.call.own {
			var way []proof.Move
			for j := i; origins[j].parent >= 0; j = origins[j].parent {
				way = append(way, origins[j].by)
			}
			slices.Reverse(way)
			c.ways[start] = way
			return way
		}
		for _, v := range c.m.Moves(&s, true) {
			c.Canon(c.Table, &v.To, len(c.nodes))
			outside := !v.Inside && v.From >= proof.MutexLock
			waits := v.From == proof.GateWait || v.From == proof.GateGone || c.Tells(v.Step)
			if outside && !waits || v.Name == "wait.end" || v.Is(c.Tw, c.call.own) || seen[v.To] {
				continue
			}
			seen[v.To] = true
			queue, origins = append(queue, v.To), append(origins, origin{i, v})
		}
	}
	c.failed = "the code sleeps, and nobody can wake it"
	return nil
}

// run makes the call in state s.
func (c *conformance) run(s proof.State) {
	switch c.call.place {
	case proof.HoldFast, proof.HoldSlow:
		s.Set(c.H, int(c.call.place))
		s.Set(c.HF, 0)
		s.Set(c.TRes, 1)
	case proof.CancelLook:
		s.Set(c.TRes, 1)
	}
	s.Set(c.TPC, int(c.call.place))
	if c.call.own >= 0 {
		s.Set(c.Tw, c.call.own)
	}
	if c.call.name == "start" {
		s.SetAt(c.Fut, mine, 1)
	}
	got := false
	r := interleave.Explore(interleave.Options{Mode: interleave.Random, Executions: 1}, func(x *interleave.Run) {
		c.x = x
		own := c.call.own
		c.call.own = -1 // all nodes are made
		c.setUp(&s)
		c.call.own = own
		c.f = c.m.Follow(s)
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
		over := s.Get(c.TPC) == int(proof.MutexDone) && c.agrees(s) && c.ends(s)
		return over && (!c.call.result || s.Is(c.TRes) == got)
	})
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("the call has returned %t, in %s", got, c.describe())
		return
	}
	c.f.Took(c.taken)
}

// stride says which states are tried: one of so many. FARAD_STRESS=1 tries all.
func stride() int {
	switch {
	case os.Getenv("FARAD_STRESS") == "1":
		return 1
	case testing.Short():
		return 61
	default:
		return 5
	}
}

var lanesBefore = []lane{0, 1, 1 << 31, 1<<31 + 1}

// check makes a call in s, beside all behaviours of the others with so many moves.
func (k *tie) check(s *proof.State, call call, lane lane, left int) {
	path := new(proof.Path)
	for more := true; more; more = path.Next() {
		c := &conformance{tie: k, call: call, path: path, left: left, lane: lane}
		c.run(*s)
		require.Empty(k, c.failed, "%s by %d in %s\nthe others: %v", call.name, call.own, k.m.String(s), c.story)
	}
}

// opens says that the gate is about to open. It may be passed again before one that is about to
// queue looks: that takes two moves.
func (k *tie) opens(s *proof.State) bool {
	return s.Get(k.At) == int(proof.AdmOpen) && s.Get(k.G) == proof.GateClosed && s.Get(k.H) == int(proof.HoldIn)
}

// late says that a TryLock passes the gate, after which it may come too late.
func (k *tie) late(s *proof.State) bool { return s.Is(k.F) && s.Get(k.G) == proof.GateOpen }

// TestModelConforms compares the code with its table.
func TestModelConforms(t *testing.T) {
	if interleave.RaceEnabled {
		t.Skip("invariants are not checked under the race detector")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	table := proof.Mutex()
	table.Forget()
	k := &tie{
		T: t, MutexTable: table, m: proof.NewMachine(table.Table, others+1),
		taken: map[string]bool{}, ways: map[proof.State][]proof.Move{},
	}
	n, twice := 0, false
	for futures := range 3 {
		reach := proof.NewMachine(table.Table, others)
		first := table.First(Express, others, 1<<futures-1)
		states := reach.Reach([]proof.State{first}, 1_000_000, func(*proof.Step) bool { return true }).Met
		for i := range states {
			if states[i].Get(k.PC) != int(proof.BucketFree) {
				continue
			}
			s := &states[i]
			n++
			for _, call := range k.calls(s) {
				lane := lanesBefore[n%len(lanesBefore)]
				switch {
				case !twice && k.opens(s) && call.name == "acquire" && !testing.Short():
					twice = true
					k.check(s, call, lane, 2)
				case k.late(s) && call.name == "try":
					k.check(s, call, lane, 1)
				case n%stride() != 0, call.name == "acquire" && n%(3*stride()) != 0:
				default:
					k.check(s, call, lane, 1)
				}
			}
		}
	}
	t.Log(n, "states", k.runs, "runs")
	for _, s := range table.Steps {
		assert.True(t, s.Choice || testing.Short() || k.taken[s.Name], "the code never makes step %s, of %s", s.Name, s.In)
	}
}
