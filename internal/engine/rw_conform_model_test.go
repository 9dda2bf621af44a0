//go:build interleave

package engine

import (
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	proof "github.com/farad-go/farad/internal/proof/table"
	"github.com/farad-go/farad/internal/waiting"
)

// The tie between the read-write lock and its table: conform_model_test.go says how it works. The
// table's weights are small, and those of the code are as they are. What stands in a row the table
// does not know, only how many rows are whose. So the test keeps that.

const smallAll = 4*proof.SmallHalf - 2

// rwShares are what the table calls a share, or a part of one, and what the code does.
var rwShares = map[int]int64{
	1: Reader, 2*proof.SmallHalf - 1: Upgradable - Reader, 2 * proof.SmallHalf: Upgradable,
	smallAll - 2*proof.SmallHalf: Everyone - Upgradable, smallAll - 1: Everyone - Reader, smallAll: Everyone,
}

const (
	smallUp   = 2 * proof.SmallHalf
	smallRest = smallAll - smallUp
)

// heldAs is what the code's word says where the table's says that so many are free.
func heldAs(free int) (held int64) {
	h := smallAll - free
	if free == 0 {
		return Everyone
	}
	if h >= smallUp {
		held, h = held+Upgradable, h-smallUp
	}
	if h >= proof.SmallHalf {
		held, h = held+hiding, h-proof.SmallHalf
	}
	return held + int64(h)
}

// A row is of nobody, of a reader that will look again, which may be the code, or pinned.
type row int

const (
	empty row = iota
	theirs
	mine
	pinned
)

// An rwCall is an operation of the lock, where a thread of the table begins it, and with what.
type rwCall struct {
	name   string
	place  int64
	n      int // a share of the table's
	w      int // a waiter
	front  bool
	until  bool // it asks when the bias may come back
	reads  bool // the caller reads, holds for writing, or is the upgradable reader
	writes bool
	ups    bool
	over   bool // a reader's release, and nobody reads
	result bool // what it returns is compared
	run    func(c *rwConformance) int
}

type rwTie struct {
	*proof.RWTable
	m     *proof.Machine
	taken map[string]bool
	runs  int
}

// upgrading reports whether the upgradable reader waits.
func (k *rwTie) upgrading(s *proof.State) bool {
	for w := range nodes {
		if st := s.GetAt(k.St, w); (st == proof.InList || st == proof.InSlot) && s.GetAt(k.N, w) == smallRest {
			return true
		}
	}
	return false
}

// calls returns what is called in the state s, in which mu is free.
func (k *rwTie) calls(s *proof.State) (calls []rwCall) {
	add := func(c rwCall) { calls = append(calls, c) }
	ok := func(f func(l *RW) bool) func(c *rwConformance) int {
		return func(c *rwConformance) int { return result(f(c.l)) }
	}
	reads, up := s.Get(k.Reading) > 0, s.Is(k.Up) && !k.upgrading(s)
	add(rwCall{name: "TakeFirstRead", place: proof.FirstRead, result: true, run: ok((*RW).TakeFirstRead)})
	add(rwCall{name: "TakeAll", place: proof.TakesAll, result: true, run: ok((*RW).TakeAll)})
	add(rwCall{name: "GiveAll", place: proof.GivesAll, writes: s.Is(k.Writer), result: true, run: ok((*RW).GiveAll)})
	add(rwCall{name: "TryRead", place: proof.RT, until: true, result: true, run: ok((*RW).TryRead)})
	add(rwCall{name: "Hide", place: proof.HI, result: true, run: ok(func(l *RW) bool { return l.Hide(0) })})
	observed := rwCall{name: "TryReadObserved", place: proof.H0, n: 1, result: true, run: ok((*RW).TryReadObserved)}
	if s.Is(k.Biasable) {
		observed.place = proof.LL
	}
	add(observed)
	if reads {
		add(rwCall{name: "GiveLastRead", place: proof.LastRead, reads: true, result: true, run: ok((*RW).GiveLastRead)})
		add(rwCall{name: "Leave", place: proof.LV, reads: true, result: true, run: ok(func(l *RW) bool { return l.Leave(0) })})
		add(rwCall{name: "Rebias", place: proof.RB, reads: true, until: true, run: ok(func(l *RW) bool { l.Rebias(); return true })})
	}
	if reads || s.Get(k.Owned)+s.Get(k.Lost) == 0 { // An over-release beside a reader that hides may go unnoticed.
		add(rwCall{name: "ReleaseRead", place: proof.RR, reads: reads, over: !reads, result: true, run: ok((*RW).ReleaseRead)})
	}
	add(rwCall{name: "Unbias", place: proof.UL, run: ok(func(l *RW) bool { l.Unbias(); return true })})
	for on := range 2 {
		add(rwCall{name: "Observe", place: proof.OL, n: on, run: ok(func(l *RW) bool { l.Observe(on == 1); return true })})
	}
	for _, n := range slices.Sorted(maps.Keys(rwShares)) {
		share, ups := rwShares[n], n == smallUp || n == smallUp-1
		if n == 1 || ups && k.upgrading(s) {
			continue
		}
		add(rwCall{
			name: "Release", place: proof.RL, n: n, ups: ups && s.Is(k.Up), writes: s.Is(k.Writer), result: true,
			run: ok(func(l *RW) bool { return l.Release(share) }),
		})
	}
	for _, n := range []int{1, smallUp, smallAll, smallRest} {
		share, rest := rwShares[n], n == smallRest
		if rest && !up {
			continue
		}
		add(rwCall{
			name: "TryAcquire", place: proof.T0, n: n, ups: rest, result: true,
			run: ok(func(l *RW) bool { return l.TryAcquire(share) }),
		})
		add(rwCall{
			name: "TryObserved", place: proof.H0, n: n, ups: rest, result: true,
			run: ok(func(l *RW) bool { return l.TryObserved(share) }),
		})
		if n != 1 {
			add(rwCall{
				name: "TryExclusive", place: proof.GL, n: n, front: rest, ups: rest, result: true,
				run: ok(func(l *RW) bool { return l.TryExclusive(share, Place(rest)) }),
			})
		}
		add(rwCall{
			name: "enqueue", place: proof.EQ, n: n, w: nodes - 1, front: rest, ups: rest, result: true,
			run: func(c *rwConformance) int { return outcomes[c.l.enqueue(c.ws[nodes-1], Place(rest))] },
		})
	}
	for w := range nodes {
		if s.GetAt(k.St, w) != proof.Fresh {
			add(rwCall{
				name: "Unlink", place: proof.XL, w: w, result: true,
				run: func(c *rwConformance) int { return result(c.l.Unlink(c.ws[w])) },
			})
		}
	}
	return calls
}

// An rwConformance is one call beside one behaviour of the others.
type rwConformance struct {
	*rwTie
	x    *interleave.Run
	l    *RW
	rows []row // what stands in the table's rows
	ws   [nodes]*waiting.Waiter
	call rwCall
	f    *proof.Follower

	path   *proof.Path // what the others do
	left   int         // moves that the others still have
	script script
	story  []string
	failed string
}

// A script is what the others do when the code has come to a place, besides the moves that are
// left. It leads to steps that one move does not.
type script struct {
	call, at string
	moves    []string // steps; untilFree has the owner of mu go on until it is free
	state    func(k *rwTie, s *proof.State) bool
}

const untilFree = "until mu is free"

var scripts = []script{
	// The row that the code has filled is emptied by a reader that leaves, and the word changes.
	{"Hide", "HI2", []string{"Leave.another", "T.take"}, hidden},
	{"TryRead", "RT3", []string{"Leave.another", "T.take"}, hidden},
	// Then another fills it,
	{"Hide", "HI2", []string{"Leave.another", "Hide.fill", "T.take"}, hidden},
	{"TryRead", "RT3", []string{"Leave.another", "Hide.fill", "T.take"}, hidden},
	// and is let in.
	{"Hide", "HI2", []string{"Leave.another", "Hide.fill", "Hide.in", "T.take"}, hidden},
	{"TryRead", "RT3", []string{"Leave.another", "Hide.fill", "Hide.in", "T.take"}, hidden},
	// W is set, and nothing else, between two looks at the word.
	{"Hide", "HI2", []string{"UL.lock", "UO.mark"}, hidden},
	{"TryRead", "RT3", []string{"UL.lock", "UO.mark"}, hidden},
	// The bias ends between them.
	{"TryRead", "RT1", []string{"UL.lock", "UO.mark"}, hidden},
	{"ReleaseRead", "RR1", []string{"UL.lock", untilFree}, hidden},
	// The waiter that the code has seen goes, the bias comes back, and a hidden reader remains.
	{"ReleaseRead", "SL", []string{"X.lock", untilFree, "RB.take", "Hide.fill", "Hide.in", "RR.give"}, awaited},
	{"ReleaseRead", "SL", []string{"X.lock", untilFree}, awaited},
}

// hidden says that one reader hides, and nothing else is.
func hidden(k *rwTie, s *proof.State) bool {
	return s.Is(k.Bias) && !s.Is(k.O) && !s.Is(k.Up) && s.Get(k.Reading) == 1 && s.Get(k.Pinned) == 1 &&
		s.Get(k.Owned)+s.Get(k.Lost) == 0
}

// awaited says that a reader reads, and a writer waits.
func awaited(k *rwTie, s *proof.State) bool {
	return s.Is(k.Biasable) && !s.Is(k.O) && !s.Is(k.Up) && s.Get(k.Reading) == 1 &&
		s.Get(k.Owned)+s.Get(k.Lost) == 0 && s.GetAt(k.St, 0) == proof.InList && s.GetAt(k.N, 0) == smallAll &&
		s.GetAt(k.St, 1) == proof.Fresh
}

// setUp makes a lock in state s.
func (c *rwConformance) setUp(s *proof.State) {
	c.l = new(RW)
	if s.Is(c.Biasable) {
		c.l.InitBias()
		if c.call.until {
			c.l.Opts.bias.until.Store(int64(c.path.Choose(2)) * math.MaxInt64)
		}
		c.rows = make([]row, c.l.Opts.bias.rows())
		in := func(n int, r row) {
			for range n {
				c.rows[c.choose(empty)] = r
			}
		}
		in(s.Get(c.Pinned), pinned)
		in(s.Get(c.Owned), theirs)
	}
	for i := range c.ws {
		c.ws[i] = &waiting.Waiter{N: rwShares[s.GetAt(c.N, i)]}
		c.ws[i].Arm(nil)
	}
	c.put(&proof.State{}, s)
}

// choose returns a row that is one of these.
func (c *rwConformance) choose(of ...row) int {
	var rows []int
	for i, r := range c.rows {
		if slices.Contains(of, r) {
			rows = append(rows, i)
		}
	}
	return rows[c.path.Choose(len(rows))]
}

// count returns how many rows are one of these.
func (c *rwConformance) count(of ...row) (n int) {
	for _, r := range c.rows {
		if slices.Contains(of, r) {
			n++
		}
	}
	return n
}

// put changes the lock from what old says to what s says.
func (c *rwConformance) put(old, s *proof.State) {
	e := c.l.permits()
	if was, is := old.Get(c.PC) != int(proof.Free), s.Get(c.PC) != int(proof.Free); !was && is {
		e.mu.Lock()
	} else if was && !is {
		e.mu.Unlock()
	}
	e.word.Store(int64(c.word(s)))
	var slot *waiting.Waiter
	if s.Is(c.SlotF) {
		slot = c.ws[s.Get(c.Slot)]
	}
	e.slot.Store(slot)
	for e.list.PopFront() != nil { //nolint:revive // emptied
	}
	for _, i := range c.line(s) {
		e.list.PushBack(c.ws[i])
	}
	for i, r := range c.rows {
		b := &e.Opts.bias
		b.slot(uintptr(i)).Store(0)
		if r != empty {
			b.slot(uintptr(i)).Store(b.id)
		}
	}
	for i, w := range c.ws {
		if o, ok := deliveredAs[s.GetAt(c.St, i)]; ok && old.GetAt(c.St, i) != s.GetAt(c.St, i) {
			w.Deliver(o) // by another thread, which delivers at once
		}
	}
}

// word is the word of s.
func (c *rwConformance) word(s *proof.State) State {
	o := State(-heldAs(s.Get(c.Avail)) << permitShift)
	if s.Is(c.W) {
		o |= flagWaiters
	}
	if s.Is(c.O) {
		o |= flagObserved
	}
	return o
}

// line returns who is in the list of s, in order.
func (c *rwConformance) line(s *proof.State) (line []int) {
	for i := range nodes {
		if s.GetAt(c.St, i) == proof.InList {
			line = append(line, i)
		}
	}
	slices.SortFunc(line, func(a, b int) int { return s.GetAt(c.Pos, a) - s.GetAt(c.Pos, b) })
	return line
}

// agrees reports whether the lock is as s says.
func (c *rwConformance) agrees(s *proof.State) bool {
	e := c.l.permits()
	if e.Look() != c.word(s) || e.mu.Locked() != (s.Get(c.PC) != int(proof.Free)) ||
		s.Get(c.Owned)+s.Get(c.Pinned) != c.count(theirs, mine, pinned) {
		return false
	}
	slot := e.slot.Load()
	if (slot != nil) != s.Is(c.SlotF) || slot != nil && slot != c.ws[s.Get(c.Slot)] {
		return false
	}
	q := e.list.Front()
	for _, i := range c.line(s) {
		if q != c.ws[i] {
			return false
		}
		q = e.list.Next(q)
	}
	for i, w := range c.ws {
		if w.Outcome() != deliveredAs[s.GetAt(c.St, i)] { // Pending: not delivered
			return false
		}
	}
	return q == nil
}

// whose reports whether the rows are whose s says.
func (c *rwConformance) whose(s *proof.State) bool {
	return s.Get(c.Owned) == c.count(theirs, mine) && s.Get(c.Pinned) == c.count(pinned)
}

// access says what the last step of the code was, for the proof.
func (c *rwConformance) access() proof.Access {
	on, wrote := c.x.Last()
	switch on {
	case unsafe.Pointer(&c.l.word):
		return proof.ByWrite(wrote, proof.WordRead, proof.WordWrite)
	case unsafe.Pointer(&c.l.grown):
		return proof.ByWrite(wrote, proof.GrownRead, proof.GrownWrite)
	case unsafe.Pointer(&c.l.slot):
		return proof.ByWrite(wrote, proof.SlotRead, proof.SlotWrite)
	case unsafe.Pointer(&c.l.mu):
		if c.l.mu.Locked() {
			return proof.MuLock
		}
		return proof.MuUnlock
	}
	for i := range c.rows {
		if on == unsafe.Pointer(c.l.Opts.bias.slot(uintptr(i))) {
			return proof.ByWrite(wrote, proof.RowRead, proof.RowWrite)
		}
	}
	return proof.Local
}

// after is called after each step of the code.
func (c *rwConformance) after() {
	if c.failed != "" {
		return
	}
	for i := range c.rows { // The code has filled a row, or emptied one.
		switch full := c.l.Opts.bias.slot(uintptr(i)).Load() != 0; {
		case full && c.rows[i] == empty:
			c.rows[i] = mine
		case !full:
			c.rows[i] = empty
		}
	}
	a := c.access()
	before := c.f.Places()
	c.f.Step(a)
	c.f.Keep(c.agrees)
	hides := slices.ContainsFunc(c.f.Members, func(m proof.Member) bool { return c.hides(&m.State) })
	if i := slices.Index(c.rows, mine); i >= 0 && !hides {
		c.rows[i] = pinned // It has looked again.
	}
	c.f.Keep(c.whose)
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("a step that the table does not have: access %d, from %v, to %s", a, before, c.describe())
		return
	}
	c.others()
}

// hides reports whether the code has filled a row and not looked again, if it is where s says.
func (c *rwConformance) hides(s *proof.State) bool {
	return slices.Contains([]int64{proof.HI2, proof.HI3, proof.RT3, proof.RT4}, int64(s.Get(c.TPC)))
}

func (c *rwConformance) describe() string {
	var b strings.Builder
	o := c.l.permits().Look()
	fmt.Fprintf(&b, "%x held, flags %03b, rows %v", o.heldRW(), o&flags, c.rows)
	for i, w := range c.ws {
		if c.l.slot.Load() == w {
			fmt.Fprintf(&b, ", %d in the slot", i)
		}
	}
	for q := c.l.list.Front(); q != nil; q = c.l.list.Next(q) {
		fmt.Fprintf(&b, ", %d in the list", slices.Index(c.ws[:], q))
	}
	return b.String()
}

// others has the other threads do what they do now: nothing, or as many moves as are left.
func (c *rwConformance) others() {
	if len(c.script.moves) > 0 && slices.Equal(c.f.Places(), []string{c.script.at}) {
		moves := c.script.moves
		c.script.moves = nil
		for len(moves) > 0 && c.follow(moves[0]) {
			moves = moves[1:]
		}
	}
	for c.left > 0 && len(c.script.moves) == 0 || c.x.Blocked() {
		moves := c.moves()
		i := 0
		if c.x.Blocked() { // Who has mu goes on.
			i = c.path.Choose(len(moves))
		} else if i = c.path.Choose(len(moves)+1) - 1; i < 0 {
			return
		}
		c.left--
		c.move(&moves[i])
	}
}

// follow has the others make a move of a script, and reports whether they can.
func (c *rwConformance) follow(name string) bool {
	for {
		s := &c.f.Members[0].State
		if name == untilFree && s.Get(c.PC) == int(proof.Free) {
			return true
		}
		moves := slices.DeleteFunc(c.m.Moves(s, true), func(v proof.Move) bool {
			if name == untilFree {
				return !v.Inside
			}
			return v.Name != name
		})
		if len(moves) == 0 {
			return false
		}
		c.move(&moves[c.path.Choose(len(moves))])
		if name != untilFree {
			return true
		}
	}
}

// move has the others make a move.
func (c *rwConformance) move(v *proof.Move) {
	old := c.f.Members[0].State
	c.f.Others(v)
	c.story = append(c.story, v.Name)
	if from, to, ok := rowsOf(v.Name); ok {
		i := c.choose(from...)
		if c.rows[i] == mine {
			c.story = append(c.story, "the code's row")
			c.f.Note(func(s *proof.State) { s.Set(c.TOwns, 0) })
		}
		c.rows[i] = to
	}
	c.put(&old, &c.f.Members[0].State)
}

// rowsOf returns which rows a step of another may be on, and what they become.
func rowsOf(step string) (from []row, to row, ok bool) {
	switch _, what, _ := cutLast(step, "."); what {
	case "fill":
		return []row{empty}, theirs, true
	case "in":
		return []row{theirs}, pinned, true
	case "back":
		return []row{theirs}, empty, strings.Contains(step, "ide.") // and not E.back
	case "another", "another's":
		return []row{theirs, mine}, empty, true
	case "reader", "a reader's":
		return []row{pinned}, empty, true
	}
	return nil, empty, false
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// moves returns what the others may do. They leave to the code what is the code's.
func (c *rwConformance) moves() (moves []proof.Move) {
	s := &c.f.Members[0].State
	in := s.Get(c.TPC) == int(proof.In)
	blocked := c.x.Blocked()
	hides := c.hides(s)
	seen := map[proof.State]bool{}
	for _, v := range c.m.Moves(s, !in && s.Get(c.PC) != int(proof.Free)) {
		from, _, onRow := rowsOf(v.Name)
		less := func(p *proof.Var) bool { return v.To.Get(p) < s.Get(p) }
		pc := int64(v.To.Get(c.PC))
		switch {
		case blocked && !v.Inside:
		case strings.HasPrefix(v.Name, "TryRead.hide"), strings.HasPrefix(v.Name, "ReleaseRead.leave"):
			// as Hide and Leave
		case onRow && c.count(from...) == 0: // the row is the code's
		case c.call.over && !v.Inside && (less(c.Avail) || v.To.Get(c.Owned) > s.Get(c.Owned)):
			// The over-release would take that one's share, unseen.
		case c.reads(s) && less(c.Reading) && v.To.Get(c.Reading) == 0:
		case c.call.ups && (less(c.Up) || (pc == proof.E1 && s.GetAt(c.N, v.To.Get(c.Own)) == smallRest) ||
			pc == proof.G1 && v.To.Get(c.Num) == smallRest): // a second upgrade
		case c.call.writes && less(c.Writer):
		case v.Name == "S.lock" && !c.theirs(s, v.To.Get(c.Num)): // it would return what is the code's
		case hides && !s.Is(c.TOwns) && s.Get(c.Lost) == 1 &&
			(less(c.Lost) || strings.HasSuffix(v.Name, ".another's")): // the code is the one that is lost
		case !v.Inside && v.From >= proof.SL && c.uses(&v.To): // the call's own waiter
		case v.To == *s || !onRow && seen[v.To]:
		default:
			seen[v.To] = true
			moves = append(moves, v)
		}
	}
	return moves
}

// reads reports whether the code has a reader's share.
func (c *rwConformance) reads(s *proof.State) bool {
	at := int64(s.Get(c.TPC))
	return c.call.reads || at == proof.RB || at == proof.RB1
}

// theirs reports whether another than the code may return a share of n.
func (c *rwConformance) theirs(s *proof.State, n int) bool {
	switch n {
	case 1:
		if c.reads(s) {
			return s.Get(c.Reading) > 1
		}
		return s.Get(c.Reading) > 0
	case smallUp, smallUp - 1:
		return s.Is(c.Up) && !c.call.ups && !c.upgrading(s)
	}
	return s.Is(c.Writer) && !c.call.writes
}

// uses reports whether a move is on the waiter that the call queues.
func (c *rwConformance) uses(s *proof.State) bool {
	pc := s.Get(c.PC)
	return c.call.place == proof.EQ && s.Get(c.Own) == c.call.w && (pc == int(proof.E1) || pc == int(proof.X1))
}

// run makes one call in state s, beside one behaviour of the others.
func (c *rwConformance) run(s proof.State) {
	s.Set(c.TPC, int(c.call.place))
	s.Set(c.Tn, c.call.n)
	s.Set(c.Tw, c.call.w)
	s.Set(c.TRes, 0)
	if c.call.front {
		s.Set(c.TFront, 1)
	}
	if c.call.place == proof.EQ {
		s.SetAt(c.N, c.call.w, c.call.n)
	}
	got := -1
	r := interleave.Explore(interleave.Options{Mode: interleave.Random, Executions: 1}, func(x *interleave.Run) {
		c.x = x
		c.setUp(&s)
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
	c.f.Step(proof.Local)
	places := c.f.Places()
	c.f.Keep(func(s *proof.State) bool {
		return s.Get(c.TPC) == int(proof.Done) && (!c.call.result || s.Get(c.TRes) == got)
	})
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("the call has returned %d, in %s, from %v", got, c.describe(), places)
		return
	}
	c.f.Took(c.taken)
}

// states returns every state with few holders and at most two waiters that the invariants allow
// when mu is free.
func (k *rwTie) states() (states []proof.State) {
	kinds := []int{1, smallUp, smallAll, smallRest}
	lines := [][]int{nil}
	for _, a := range kinds {
		lines = append(lines, []int{a})
		for _, b := range kinds {
			lines = append(lines, []int{a, b})
		}
	}
	each := func(n int, f func(i int)) {
		for i := range n {
			f(i)
		}
	}
	var s proof.State
	add := func(line []int, slot int) {
		s := s
		s.Set(k.Tail, len(line)+1)
		s.Set(k.Aback, len(line)+1)
		for i, n := range line {
			s.SetAt(k.N, i, n)
			s.SetAt(k.Pos, i, i+1)
			s.SetAt(k.Arr, i, i+1)
			s.SetAt(k.St, i, proof.InList)
		}
		if slot == 1 {
			s.Set(k.SlotF, 1)
			s.SetAt(k.St, 0, proof.InSlot)
		}
		if k.m.Broken(&s) == nil {
			states = append(states, s)
		}
	}
	for how := range 3 { // without the bias, off, on
		for holder := range 3 { // none, an upgradable reader, a writer
			for counts := range 3 * 2 * 2 * 3 {
				for flags := range 4 {
					s = k.FirstRW(how > 0, how == 2)
					reading, lost, owned, pins := counts%3, counts/3%2, counts/6%2, counts/12
					s.Set(k.Reading, reading)
					s.Set(k.Lost, lost)
					s.Set(k.Owned, owned)
					s.Set(k.Pinned, pins)
					held := []int{0, smallUp, smallAll}[holder]
					s.Set(k.Up, holder%2)
					s.Set(k.Writer, holder/2)
					s.Set(k.Avail, s.Get(k.Avail)-held-reading-lost+pins)
					s.Set(k.W, flags&1)
					s.Set(k.O, flags>>1)
					if how == 0 && counts/3 > 0 {
						continue
					}
					for _, line := range lines {
						each(min(len(line), 1)+1, func(slot int) { add(line, slot) })
					}
				}
			}
		}
	}
	return states
}

// rwStride says which calls are tried: one in so many. FARAD_STRESS=1 tries all, for some minutes.
func rwStride() int {
	switch stride() {
	case 1:
		return 1
	case 7:
		return 23
	}
	return 191
}

// TestModelRWConforms compares the code of the read-write lock with its proof.
func TestModelRWConforms(t *testing.T) {
	if interleave.RaceEnabled {
		t.Skip("invariants are not checked under the race detector")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	l := proof.RW()
	k := &rwTie{RWTable: l, m: proof.NewMachine(l.Table, nodes), taken: map[string]bool{}}
	states := k.states()
	t.Log(len(states), "states")
	n := 0
	for i := range states {
		for _, call := range k.calls(&states[i]) {
			every := rwStride()
			if s := &states[i]; s.Is(l.SlotF) || !s.Is(l.W) && !s.Is(l.O) { // of these there are few
				every = (every + 4) / 5
			}
			if n++; n%every == 0 {
				k.check(t, states[i], call, script{})
			}
		}
	}
	for _, script := range scripts {
		i := slices.IndexFunc(states, func(s proof.State) bool { return script.state(k, &s) })
		for _, call := range k.calls(&states[i]) {
			if call.name == script.call {
				k.check(t, states[i], call, script)
			}
		}
	}
	t.Log(n, "calls", k.runs, "runs")
	if !testing.Short() {
		require.Empty(require.GoOn(t), l.NotMade(k.taken), "steps that the code never makes")
	}
}

func (k *rwTie) check(t *testing.T, s proof.State, call rwCall, script script) {
	t.Helper()
	path := new(proof.Path)
	for more := true; more; more = path.Next() {
		c := &rwConformance{rwTie: k, call: call, path: path, left: 1, script: script}
		c.run(s)
		const text = "%s(%d) of waiter %d in %s\nthe others: %v"
		require.Empty(t, c.failed, text, call.name, call.n, call.w, k.m.String(&s), c.story)
	}
}
