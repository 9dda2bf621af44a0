//go:build interleave

package sync

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/parking"
	proof "github.com/farad-go/farad/internal/proof/table"
	"github.com/farad-go/farad/internal/waiting"
)

// The tie between the locks behind a gate, with its futures, and their tables in internal/proof.
// The shipped code runs one call, from states that the table reaches with few requests, beside
// others that may make any step of the table at any point. After each step of the code the state
// must be one that the table allows. What is here is the same of both locks.

// The requests of others, and that of the call if it makes one.
const (
	others = 2
	mine   = others
)

// A node is one request as it really is: a goroutine's or a future's.
type node struct {
	s *parking.Sleeper
	p *waiting.Parker // nil: a future's
	r *request        // nil: a goroutine's
	f *waiting.Future // of r
}

// unrecorded is a request whose lock has no record: the table knows no look for one.
type unrecorded struct{ r *request }

func (u unrecorded) Start(w *waiting.Waiter, k waiting.Waker) waiting.Outcome { return u.r.Start(w, k) }

func (u unrecorded) Unlink(w *waiting.Waiter) bool { return u.r.Unlink(w) }

func (u unrecorded) GiveBack(hold int64) bool { return u.r.GiveBack(hold) }

// exists reports whether it has been met.
func (n *node) exists() bool { return n.r != nil || n.p != nil }

// waits returns what stands in the lock's line.
func (n *node) waits() *waiting.Waiter {
	if n.r != nil {
		return n.r.w
	}
	return &n.p.Waiter
}

// queues returns what stands in the gate's line.
func (n *node) queues() *waiting.Waiter {
	if n.r != nil {
		return &n.r.place
	}
	return &n.p.Waiter
}

func (n *node) sleeper() *parking.Sleeper {
	if n.r != nil {
		return &n.r.s
	}
	return n.s
}

// A call is an operation of a lock, and where a thread of the table begins it.
type call struct {
	name   string
	place  int64
	own    int  // the request that is the code's; -1: none
	result bool // what it returns is compared
	seen   bool // it may be observed meanwhile
	ends   bool // its wait may end early
	alone  bool // nobody else does anything
	reads  bool // its request is a reader's
	tells  int  // the request that the code is to tell; -1: none
	run    func(c *conformance) bool
	script []scene
}

// A scene is what others do when the code is at a place, one after the other: what takes more moves
// than are tried everywhere. The move "end" ends the context of the call.
type scene struct {
	at    string
	moves string
}

// A subject is what differs from lock to lock.
type subject interface {
	// create makes a lock, and returns it.
	create(c *conformance) admitting
	// future makes a future of it for request x of s.
	// hold returns what request x wants.
	hold(s *proof.State, x int) int64
	// put changes the word from what old says to what s says, and agrees reports whether it is so.
	put(c *conformance, old, s *proof.State)
	agrees(c *conformance, s *proof.State) bool
	describe(c *conformance) string
	// access says what reads and writes of a variable of the lock are to the table.
	access(c *conformance, on unsafe.Pointer) (read, write proof.Access, ok bool)
	// begins changes the state in which a call begins.
	begins(c *conformance, s *proof.State)
	// note tells the table what it does not know by itself.
	note(c *conformance, s *proof.State)
	// others reports whether another may make a move, for all that only this lock has.
	others(c *conformance, v *proof.Move) bool
	// real reports whether s is one in which a lock can be: the table may allow more.
	real(s *proof.State) bool
	// want returns what the node of future x is like in s; letIn reports whether the goroutine of
	// request x has been let in, and knows it.
	want(s *proof.State, x int) want
	letIn(s *proof.State, x int) (in, woken bool)
}

// A tie has what all runs share.
type tie struct {
	*testing.T
	*proof.GateTable
	subject
	m     *proof.Machine
	taken map[string]bool
	ways  map[goal][]proof.Move // how others wake a call that cannot go on
	runs  int
}

// A goal is where others begin, and what the code waits for.
type goal struct {
	from   proof.State
	own    int
	sleeps bool // otherwise it has yielded
}

func newTie(t *testing.T, g *proof.GateTable, s subject) *tie {
	return &tie{
		T: t, GateTable: g, subject: s, m: proof.NewMachine(g.Table, others+1),
		taken: map[string]bool{}, ways: map[goal][]proof.Move{},
	}
}

// A conformance is one call beside one behaviour of the others.
type conformance struct {
	*tie
	x      *interleave.Run
	lock   admitting
	gate   parking.Line // of the gate, and of the lock: they are in one bucket
	front  parking.Line
	nodes  [others + 1]node
	tells  [others + 1]bool // requests that the code is to tell
	ctx    *interleave.Context
	over   bool // ctx is
	call   call
	lane   lane
	f      *proof.Follower
	path   *proof.Path
	left   int // moves that the others still have
	scenes int // that have been
	story  []string
	failed string
}

// A want is what the node of a future is like.
type want int

const (
	idle want = iota
	armed
	complete
	abandoned
)

// limit is that of a wait that may end early.
func (c *conformance) limit() waiting.Limit { return waiting.UntilDone(c.ctx) }

// start starts the code's future.
func (c *conformance) start() bool {
	r := c.nodes[mine].r
	o := r.start(r.w, nil)
	if o != waiting.Pending {
		r.w.Finish(o)
	}
	return o == waiting.Granted
}

// setUp makes a lock in state s.
func (c *conformance) setUp(s *proof.State) {
	*parking.Default() = *parking.New(1)
	c.lock = c.create(c)
	c.gate = parking.Default().Line(c.lock.gateOf().key())
	c.gate.Unlock()
	c.front = parking.Default().Line(c.lock.key())
	c.front.Unlock()
	c.ctx = c.x.NewContext()
	for x := range c.nodes {
		n := &c.nodes[x]
		if s.GetAt(c.Fut, x) == 1 {
			n.f = new(waiting.Future)
			n.r = &request{w: n.f.Node(), lock: c.lock}
			waiting.Bind(n.f, unrecorded{n.r}, c.hold(s, x))
		} else if x != mine {
			n.s, n.p = parking.GetSleeper(), waiting.GetParker(waiting.Limit{})
			n.p.N = c.hold(s, x)
		}
	}
	var first proof.State
	first.Set(c.H, int(proof.HoldNone))
	first.Set(c.At, int(proof.AdmNone))
	c.putAll(&first, s)
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

// woken reports whether the goroutine of request x has been woken in s.
func (c *conformance) woken(s *proof.State, x int) bool {
	_, woken := c.letIn(s, x)
	return woken || s.Get(c.At) == int(proof.AdmWoken) && s.Get(c.Adm) == x
}

// putAll changes the lock from what old says to what s says.
func (c *conformance) putAll(old, s *proof.State) {
	if was, is := old.Get(c.PC) != int(proof.BucketFree), s.Get(c.PC) != int(proof.BucketFree); !was && is {
		parking.Default().Line(c.lock.gateOf().key())
	} else if was && !is {
		c.gate.Unlock()
	}
	c.put(c, old, s)
	c.lock.gateOf().state.Store(uint32(s.Get(c.G)))
	for x := range c.nodes {
		if n := &c.nodes[x]; n.r != nil && !c.own(x) {
			c.putFuture(n, c.want(old, x), c.want(s, x))
		}
	}
	if was, is := c.line(old), c.line(s); !slices.Equal(was, is) {
		for _, x := range was {
			c.gate.Remove(c.nodes[x].sleeper())
		}
		for _, x := range is {
			n := &c.nodes[x]
			if n.r != nil && !slices.Contains(was, x) {
				n.r.place.Arm((*admission)(n.r))
			}
			c.gate.Insert(n.sleeper(), n.queues(), false)
		}
	}
	c.putAdmitted(old, s)
	for x := range c.nodes {
		if n := &c.nodes[x]; n.p != nil {
			c.putGoroutine(n, x, old, s)
		}
	}
}

// putGoroutine does so for the wake-up of a goroutine.
func (c *conformance) putGoroutine(n *node, x int, old, s *proof.State) {
	in, _ := c.letIn(old, x)
	switch is, _ := c.letIn(s, x); {
	case is && !in:
		n.p.N = isIn
	case in && !is:
		n.p.N = c.hold(s, x)
	}
	switch was, is := c.woken(old, x), c.woken(s, x); {
	case is && !was:
		n.p.Deliver(waiting.Granted)
	case was && !is:
		n.p.Sleeper().Sleep()
	}
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
	case n.r != nil && at == proof.AdmClaimed:
		if n.r.place.Status() == waiting.StatusIdle {
			n.r.place.Arm((*admission)(n.r))
		}
	case n.r != nil && old.Get(c.At) == int(proof.AdmClaimed):
		n.r.place.Reset()
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
		w.Deliver(waiting.Granted)
	case is == complete:
		w.Finish(waiting.Granted)
	case is == abandoned:
		if w.Status() == waiting.StatusIdle {
			w.Arm(nil)
		}
		w.Abandon()
	default:
		n.r.place.Reset()
		w.Reset()
	}
}

// own reports whether the call is of the owner of request x.
func (c *conformance) own(x int) bool { return x == c.call.own }

// agree reports whether the lock is as s says.
func (c *conformance) agree(s *proof.State) bool {
	if !c.agrees(c, s) || int(c.lock.gateOf().state.Load()) != s.Get(c.G) ||
		c.gate.Mutex().Locked() != (s.Get(c.PC) != int(proof.BucketFree)) {
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
		case s.GetAt(c.Left, x) == 1 && c.nodes[x].waits().Status() != waiting.StatusBusy:
			return false
		}
	}
	return true
}

// nodeAgrees is agree for the node of another's request.
func (c *conformance) nodeAgrees(s *proof.State, x int) bool {
	n := &c.nodes[x]
	switch {
	case n.r != nil:
		status := n.waits().Status()
		switch c.want(s, x) {
		case idle:
			return status == waiting.StatusIdle
		case armed: // or the code is telling it
			holder, _, _ := c.Roles(s)
			tells := holder && s.Get(c.H) == int(proof.HoldGive) || c.tells[x]
			return status == waiting.StatusWaiting || tells && status == waiting.StatusBusy
		case complete:
			return status == waiting.StatusComplete
		default:
			return status == waiting.StatusBusy
		}
	case n.p != nil:
		in, _ := c.letIn(s, x)
		return c.woken(s, x) == (n.p.Sleeper().Pending() != 0) && in == (n.p.N == isIn)
	}
	return true
}

// ended reports whether the call may have ended in s. That compares what can be compared only then:
// the node of the code's own future, and whether the nodes of futures that stand at the gate, and
// only they, are armed for it.
func (c *conformance) ended(s *proof.State) bool {
	if s.Get(c.TPC) != int(proof.MutexDone) || !c.agree(s) {
		return false
	}
	for x := range c.nodes {
		if c.tells[x] {
			return false
		}
		if c.nodes[x].r == nil {
			continue
		}
		stands := s.GetAt(c.In, x) == 1 || s.Get(c.At) == int(proof.AdmClaimed) && s.Get(c.Adm) == x
		if stands != (c.nodes[x].queues().Status() == waiting.StatusWaiting) || !c.nodeAgrees(s, x) {
			return false
		}
	}
	return true
}

// notes tells the table what it does not know by itself.
func (c *conformance) notes(s *proof.State) {
	c.note(c, s)
	s.Set(c.TEnds, 0)
	if c.over {
		s.Set(c.TEnds, 1)
	}
}

// lastAccess says what the last step of the code was, for the table.
func (c *conformance) lastAccess() proof.Access {
	on, wrote := c.x.Last()
	read, write, ok := c.access(c, on)
	switch {
	case ok && wrote:
		return write
	case ok:
		return read
	case on == unsafe.Pointer(&c.lock.gateOf().state) && wrote:
		return proof.GateWrite
	case on == unsafe.Pointer(&c.lock.gateOf().state):
		return proof.GateRead
	case on == unsafe.Pointer(c.gate.Mutex()):
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
	a, before, was := c.lastAccess(), c.f.Places(), c.f.Members[0].State
	c.f.Note(c.notes)
	c.f.Step(a)
	c.f.Keep(c.agree)
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("the table has no such step: access %d, from %v, to %s", a, before, c.describeAll())
		return
	}
	c.claims(&was)
	c.othersMove()
}

// claims finds the requests that the code is to tell: those that it has just let in.
func (c *conformance) claims(was *proof.State) {
	is := &c.f.Members[0].State
	for x := range c.nodes {
		if claimed(c.tie, is, x) != claimed(c.tie, was, x) {
			c.tells[x] = !c.tells[x]
		}
	}
}

// claimed reports whether request x has been let in, and not been woken.
func claimed(k *tie, s *proof.State, x int) bool {
	in, woken := k.letIn(s, x)
	return in && !woken
}

// meet finds the sleeper of the code's goroutine.
func (c *conformance) meet(line parking.Line, of func(*node) *waiting.Waiter) {
	for q := line.First(); q != nil; q = line.Next(q) {
		if !slices.ContainsFunc(c.nodes[:], func(n node) bool { return n.exists() && of(&n) == q.Node() }) {
			c.nodes[c.call.own] = node{s: q, p: (*waiting.Parker)(unsafe.Pointer(q.Node()))} // its first field
		}
	}
}

func (c *conformance) describeAll() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, gate %d, bucket locked %t, line", c.describe(c), c.lock.gateOf().state.Load(), c.gate.Mutex().Locked())
	for q := c.gate.First(); q != nil; q = c.gate.Next(q) {
		fmt.Fprintf(&b, " %d", slices.IndexFunc(c.nodes[:], func(n node) bool { return n.exists() && n.queues() == q.Node() }))
	}
	fmt.Fprintf(&b, ", asleep %t, nodes", c.front.First() != nil)
	for _, n := range c.nodes {
		if n.r != nil {
			fmt.Fprintf(&b, " %d", n.waits().Status())
		}
	}
	return b.String()
}

// othersMove has the other threads do what they do now: nothing, or a move if one is left. While
// the code sleeps, or waits for the bucket or for another, they go on.
func (c *conformance) othersMove() {
	if c.scenes < len(c.call.script) && slices.Contains(c.f.Places(), c.call.script[c.scenes].at) {
		c.scenes++
		c.play(c.call.script[c.scenes-1].moves)
		return
	}
	been := map[proof.State]bool{} // where others were while the code waited for the bucket
	for c.left > 0 || c.x.Blocked() {
		s := &c.f.Members[0].State
		blocked := c.x.Blocked()
		waits := slices.Contains(c.f.Places(), "waits")
		if blocked && s.Get(c.PC) == int(proof.BucketFree) { // It sleeps, or has yielded.
			if c.call.ends && !c.over && waits && c.path.Choose(2) == 1 {
				c.end()
				return
			}
			for _, v := range c.way(!slices.Contains(c.f.Places(), "try")) {
				c.move(&v)
			}
			c.x.Changed(unsafe.Pointer(&c.lock.gateOf().state))
			return
		}
		moves := c.moves()
		if blocked {
			been[*s] = true
			moves = slices.DeleteFunc(moves, func(v proof.Move) bool { return been[v.To] })
		}
		n := len(moves)
		ends := c.call.ends && !c.over && waits
		if ends {
			n++
		}
		i := 0
		switch {
		case blocked && n == 0:
			c.failed = fmt.Sprintf("who has the bucket cannot go on, beside the code at %v: %s", c.f.Places(), c.m.String(s))
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

// play makes moves, whose names are separated by commas.
func (c *conformance) play(names string) {
	for name := range strings.SplitSeq(names, ", ") {
		if name == "end" {
			c.end()
			continue
		}
		moves := c.moves()
		i := slices.IndexFunc(moves, func(v proof.Move) bool { return v.Name == name })
		if i < 0 {
			c.failed = "others cannot make move " + name
			return
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
	s := &c.f.Members[0].State
	c.putAll(&old, s)
	if x := c.call.own; x >= 0 && c.nodes[x].r != nil && c.call.name == "Release" {
		// What a claimer does to the code's own node.
		was, is := c.want(&old, x), c.want(s, x)
		if was == armed && is == complete || was == abandoned && is != abandoned {
			c.nodes[x].waits().Deliver(waiting.Granted)
		}
	}
}

// moves returns what the others may do. They leave to the code what is the code's.
func (c *conformance) moves() (moves []proof.Move) {
	s := &c.f.Members[0].State
	var holder, admitted, tells, in bool
	done := true
	for i := range c.f.Members {
		m := &c.f.Members[i].State
		h, a, t := c.Roles(m)
		holder, admitted, tells = holder || h, admitted || a, tells || t
		in = in || m.Get(c.TPC) == int(proof.MutexIn)
		done = done && m.Get(c.TPC) == int(proof.MutexDone)
	}
	if done {
		return nil
	}
	for _, v := range c.m.Moves(s, !in && s.Get(c.PC) != int(proof.BucketFree)) {
		switch {
		case c.x.Blocked() && !v.Inside:
		case holder && c.OfHolder(v.Step), admitted && c.OfAdmitted(v.Step), tells && c.Tells(v.Step):
		case v.Is(c.Tw, mine), c.call.own >= 0 && v.Is(c.Tw, c.call.own):
		case !c.call.seen && v.Name == "observe":
		case v.To == *s || !c.f.Allow(&v) || !c.others(c, &v):
		default:
			moves = append(moves, v)
		}
	}
	return moves
}

// way returns moves by which others wake the code: the first way that is found if those go on first
// that have the bucket, then those that tell, then the admitted, then the holder.
func (c *conformance) way(sleeps bool) []proof.Move {
	start := c.f.Members[0].State
	c.Canon(c.Table, &start, len(c.nodes))
	g := goal{start, c.call.own, sleeps}
	way, ok := c.ways[g]
	if !ok {
		if way, ok = c.search(&g, start, map[proof.State]bool{start: true}); !ok {
			c.failed = "the code cannot go on, and nobody can have it do so"
		}
		slices.Reverse(way)
		c.ways[g] = way
	}
	return way
}

// search returns a way from s, its last move first.
func (c *conformance) search(g *goal, s proof.State, seen map[proof.State]bool) (way []proof.Move, ok bool) {
	if g.sleeps && c.woken(&s, g.own) || !g.sleeps && s.Get(c.G) != proof.GateClosed {
		return nil, true
	}
	moves := slices.DeleteFunc(c.m.Moves(&s, true), func(v proof.Move) bool {
		return c.arrives(&v) || v.Name == "wait.end" || v.Name == "observe" || v.Is(c.Tw, g.own)
	})
	slices.SortStableFunc(moves, func(a, b proof.Move) int { return c.urgency(&a) - c.urgency(&b) })
	for _, v := range moves {
		c.Canon(c.Table, &v.To, len(c.nodes))
		if seen[v.To] || !c.real(&v.To) {
			continue
		}
		seen[v.To] = true
		if way, ok := c.search(g, v.To, seen); ok {
			return append(way, v), true
		}
	}
	return nil, false
}

// urgency says in which order others go on.
func (c *conformance) urgency(v *proof.Move) int {
	switch {
	case v.Inside:
		return 0
	case c.Tells(v.Step), v.From == proof.TellRest, v.From == proof.GiveRead:
		return 1
	case c.OfAdmitted(v.Step):
		return 2
	case c.OfHolder(v.Step):
		return 3
	}
	return 4
}

// arrives reports whether a move is of one that comes from outside.
func (c *conformance) arrives(v *proof.Move) bool {
	switch v.From {
	case proof.GateWait, proof.GateGone, proof.TellNext, proof.TellRest, proof.TellSlept,
		proof.ReadPlace, proof.ReadBack, proof.ReadUnlock, proof.RouseLook, proof.RouseLock,
		proof.OpenedAll, proof.GiveRead:
		return false
	case proof.CancelLook: // unlocks
		return v.Name != "cancel.complete read"
	}
	return !v.Inside && v.From >= proof.MutexLock
}

// run makes the call in state s.
func (c *conformance) run(s proof.State) {
	switch c.call.place {
	case proof.HoldFast, proof.HoldSlow:
		s.Set(c.H, int(c.call.place))
		s.Set(c.HF, 0)
		s.Set(c.TRes, 1)
	case proof.CancelLook, proof.ReadUnlock:
		s.Set(c.TRes, 1)
	}
	s.Set(c.TPC, int(c.call.place))
	if c.call.own >= 0 {
		s.Set(c.Tw, c.call.own)
	}
	if c.call.name == "start" {
		s.SetAt(c.Fut, mine, 1)
	}
	if c.call.tells >= 0 {
		c.tells[c.call.tells] = true
	}
	c.begins(c, &s)
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
	was := c.f.Members[0].State
	c.f.Note(c.notes)
	c.f.Step(proof.Local)
	c.f.Keep(c.agree)
	if len(c.f.Members) > 0 {
		c.claims(&was)
	}
	c.f.Keep(func(s *proof.State) bool { return c.ended(s) && (!c.call.result || s.Is(c.TRes) == got) })
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("the call has returned %t, in %s", got, c.describeAll())
		return
	}
	if c.scenes < len(c.call.script) {
		c.failed = "the code has not been at " + c.call.script[c.scenes].at
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
