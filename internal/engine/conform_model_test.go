//go:build interleave

package engine

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/order"
	proof "github.com/farad-go/farad/internal/proof/table"
	"github.com/farad-go/farad/internal/waiting"
)

// The tie between this package and its table in internal/proof. The shipped code runs one call,
// from every small state that the invariants allow, beside others that may make any step of the
// table at any point. After each step of the code the state must be one that the table allows.

// nodes is how many waiters there are: two in line, and the one of the call.
const nodes = 3

// A call is an operation of the engine, where a thread of the table begins it, and with what.
type call struct {
	name  string
	place int64
	n     int64 // permits, or a size
	w     int   // a waiter
	front bool
	most  int                      // how many requests the order takes; 0: any number
	run   func(c *conformance) int // what it returned
}

func result(ok bool) int {
	if ok {
		return proof.Yes
	}
	return proof.No
}

// outcomes are the results of Enqueue.
var outcomes = map[waiting.Outcome]int{
	waiting.Pending: proof.No, waiting.Granted: proof.Yes, waiting.Closed: proof.ResClosed,
	waiting.TooLarge: proof.ResTooLarge, waiting.QueueFull: proof.ResFull,
}

// calls returns what is called in the state s.
func (k *tie) calls(s *proof.State) (calls []call) {
	t := k.EngineTable
	add := func(name string, place, n int64, w int, run func(c *conformance, call call) int) {
		it := call{name: name, place: place, n: n, w: w}
		it.run = func(c *conformance) int { return run(c, it) }
		calls = append(calls, it)
	}
	for n := int64(1); n <= 2; n++ {
		add("TryAcquire", proof.T0, n, 0, func(c *conformance, k call) int { return result(c.p.TryAcquire(k.n)) })
		add("TryObserved", proof.H0, n, 0, func(c *conformance, k call) int { return result(c.p.TryObserved(k.n)) })
		// Where the owner of mu has not served yet only a legal release is the table's.
		if s.Get(t.PC) == int(proof.Free) || n <= int64(s.Get(t.Held)) {
			add("Release", proof.R0, n, 0, func(c *conformance, k call) int { return result(c.p.Release(k.n)) })
		}
	}
	if s.Get(t.PC) != int(proof.Free) { // Whatever locks begins when mu is free.
		return calls
	}
	for n := range int64(4) {
		add("Resize", proof.ZL, n, 0, func(c *conformance, k call) int { c.p.Resize(k.n); return 0 })
	}
	add("Close", proof.CL, 0, 0, func(c *conformance, _ call) int { c.e.Close(); return 0 })
	for on := range int64(2) {
		add("Observe", proof.OL, on, 0, func(c *conformance, k call) int { c.e.Observe(k.n == 1); return 0 })
	}
	for w := range nodes {
		switch {
		case s.GetAt(t.N, w) == 0:
			continue
		case s.GetAt(t.St, w) != proof.Fresh:
			add("Cancel", proof.XL, 0, w, func(c *conformance, k call) int {
				if c.e.ordered() {
					return result(Ordered{c.p, c.tickets[k.w]}.Unlink(c.ws[k.w]))
				}
				return result(c.p.Cancel(c.ws[k.w]))
			})
			continue
		}
		if s.Is(t.Ordered) {
			for _, most := range []int{0, nodes - 1} {
				k := call{name: "EnqueueBy", place: proof.KQ, w: w, most: most}
				k.run = func(c *conformance) int {
					line, o := c.p.EnqueueBy(c.ws[k.w], &order.By{Tenant: 0, Weight: 1})
					c.tickets[k.w] = line.ticket
					if o == waiting.QueueFull {
						return proof.ResOther // the order has refused it
					}
					return outcomes[o]
				}
				calls = append(calls, k)
			}
			continue
		}
		for at := range 2 {
			k := call{name: "Enqueue", place: proof.EQ, w: w, front: at == 1}
			if k.front && (s.GetAt(t.N, w) < 2 || s.Is(t.SlotF)) {
				continue
			}
			k.run = func(c *conformance) int { return outcomes[c.p.Enqueue(c.ws[k.w], Place(k.front))] }
			calls = append(calls, k)
		}
	}
	return calls
}

// A tie is the table, compiled.
type tie struct {
	*proof.EngineTable
	m     *proof.Machine
	taken map[string]bool
	runs  int
}

// A conformance is one call beside one behaviour of the others.
type conformance struct {
	*tie
	x       *interleave.Run
	e       *Engine
	p       Permits
	ws      [nodes]*waiting.Waiter
	tickets [nodes]*order.Ticket
	call    call
	f       *proof.Follower
	legal   bool

	path   *proof.Path // what the others do
	left   int         // moves that the others still have
	story  []string
	failed string
}

// setUp makes an engine in state s.
func (c *conformance) setUp(s *proof.State, base int64) {
	c.e = new(Engine)
	c.p = c.e.From(base)
	if s.Is(c.Ordered) || s.Get(c.MaxWaiting) > 0 {
		c.e.Opts = &Options{MaxWaiting: s.Get(c.MaxWaiting)}
		if s.Is(c.Ordered) {
			c.e.Opts.Order = order.New(order.Config{Queue: order.Queue{MaxWaiting: c.call.most}})
		}
	}
	for i := range c.ws {
		c.ws[i] = &waiting.Waiter{N: int64(s.GetAt(c.N, i))}
		c.ws[i].Arm(nil)
	}
	c.put(&proof.State{}, s)
}

// put changes the engine from what old says to what s says.
func (c *conformance) put(old, s *proof.State) {
	e := c.e
	if was, is := old.Get(c.PC) != int(proof.Free), s.Get(c.PC) != int(proof.Free); !was && is {
		e.mu.Lock()
	} else if was && !is {
		e.mu.Unlock()
	}
	e.word.Store(int64(c.word(s)))
	e.grown.Store(int64(s.Get(c.Grown)) - c.p.base)
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
	for i, w := range c.ws {
		was, is := old.GetAt(c.St, i), s.GetAt(c.St, i)
		if was == is {
			continue
		}
		var wake waiting.WakeList
		if was == proof.InOrder {
			e.Opts.Order.Remove(c.tickets[i], w)
		}
		if is == proof.InOrder {
			c.tickets[i], _ = e.Opts.Order.Push(w, &order.By{Tenant: 0, Weight: 1}, 0, false, &wake)
		}
		if o, ok := deliveredAs[is]; ok { // by another thread, which delivers at once
			w.Deliver(o)
		}
	}
}

// deliveredAs is the outcome that a claimed waiter gets.
var deliveredAs = map[int]waiting.Outcome{
	proof.Granted: waiting.Granted, proof.Closed: waiting.Closed,
	proof.TooLarge: waiting.TooLarge, proof.Shed: waiting.Shed,
}

// word is the word of s.
func (c *conformance) word(s *proof.State) State {
	o := State(int64(s.Get(c.Avail))-c.p.base) << permitShift
	if s.Is(c.W) {
		o |= flagWaiters
	}
	if s.Is(c.C) {
		o |= flagClosed
	}
	if s.Is(c.O) {
		o |= flagObserved
	}
	return o
}

// line returns who is in the list of s, in order.
func (c *conformance) line(s *proof.State) (line []int) {
	for i := range nodes {
		if s.GetAt(c.St, i) == proof.InList {
			line = append(line, i)
		}
	}
	slices.SortFunc(line, func(a, b int) int { return s.GetAt(c.Pos, a) - s.GetAt(c.Pos, b) })
	return line
}

// agrees reports whether the engine is as s says.
func (c *conformance) agrees(s *proof.State) bool {
	e := c.e
	if e.Look() != c.word(s) || e.grown.Load() != int64(s.Get(c.Grown))-c.p.base ||
		e.mu.Locked() != (s.Get(c.PC) != int(proof.Free)) {
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
	if q != nil {
		return false
	}
	inOrder := 0
	for i, w := range c.ws {
		st := s.GetAt(c.St, i)
		if st == proof.InOrder {
			inOrder++
		}
		if w.Outcome() != deliveredAs[st] { // Pending: not delivered
			return false
		}
	}
	if e.ordered() {
		ok := e.Opts.Order.Len() == inOrder
		e.Opts.Order.All(func(w *waiting.Waiter) {
			ok = ok && s.GetAt(c.St, slices.Index(c.ws[:], w)) == proof.InOrder
		})
		return ok
	}
	return true
}

// note tells the table what it does not know by itself.
func (c *conformance) note(s *proof.State) {
	s.Set(c.Len, len(c.line(s))) // the code may have pushed another since it has asked
	for i, w := range c.ws {
		n := proof.NotDelivered
		switch w.Status() {
		case waiting.StatusComplete:
			n = proof.Taken
		case waiting.StatusIdle:
			n = proof.Refused
		default:
		}
		s.SetAt(c.Delivered, i, n)
	}
}

// access says what the last step of the code was, for the proof.
func (c *conformance) access() proof.Access {
	on, wrote := c.x.Last()
	switch on {
	case unsafe.Pointer(&c.e.word):
		return proof.ByWrite(wrote, proof.WordRead, proof.WordWrite)
	case unsafe.Pointer(&c.e.grown):
		return proof.ByWrite(wrote, proof.GrownRead, proof.GrownWrite)
	case unsafe.Pointer(&c.e.slot):
		return proof.ByWrite(wrote, proof.SlotRead, proof.SlotWrite)
	case unsafe.Pointer(&c.e.mu):
		if c.e.mu.Locked() {
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
	a := c.access()
	before := c.f.Places()
	c.f.Note(c.note)
	c.f.Step(a)
	c.f.Keep(c.agrees)
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("a step that the table does not have: %s, from %v, to %s", accesses[a], before, c.describe())
		return
	}
	c.others()
}

var accesses = [...]string{
	"a step on nothing of the engine's", "a read of the word", "a write of the word", "a read of the size",
	"a write of the size", "a read of the slot", "a write of the slot", "Lock", "Unlock",
}

func (c *conformance) describe() string {
	var b strings.Builder
	o := c.e.Look()
	fmt.Fprintf(&b, "%d free, flags %03b, size %d", c.p.free(o), o&flags, c.p.Size())
	for i, w := range c.ws {
		if c.e.slot.Load() == w {
			fmt.Fprintf(&b, ", %d in the slot", i)
		}
	}
	for q := c.e.list.Front(); q != nil; q = c.e.list.Next(q) {
		fmt.Fprintf(&b, ", %d in the list", slices.Index(c.ws[:], q))
	}
	return b.String()
}

// others has the other threads do what they do now: nothing, or as many moves as are left.
func (c *conformance) others() {
	for c.left > 0 || c.x.Blocked() {
		moves, gone := c.moves()
		n := len(moves) + len(gone)
		i := 0
		if c.x.Blocked() { // Who has mu goes on.
			i = c.path.Choose(n)
		} else if i = c.path.Choose(n+1) - 1; i < 0 {
			return
		}
		c.left--
		if i >= len(moves) {
			w := gone[i-len(moves)]
			c.story = append(c.story, fmt.Sprintf("the owner of %d gives up", w))
			c.ws[w].Abandon()
			continue
		}
		v := &moves[i]
		old := c.f.Members[0].State
		c.f.Others(v)
		c.put(&old, &c.f.Members[0].State)
		c.story = append(c.story, v.Name)
	}
}

// moves returns what the others may do: moves of the table, and owners that give up after a claim.
func (c *conformance) moves() (moves []proof.Move, gone []int) {
	s := &c.f.Members[0].State
	in := s.Get(c.TPC) == int(proof.In)
	blocked, inHand := c.x.Blocked(), c.inHand(s)
	for _, v := range c.m.Moves(s, !in && s.Get(c.PC) != int(proof.Free)) {
		switch {
		case blocked && !v.Inside:
		case c.call.front && !v.Inside && v.From >= proof.SL: // it might fill the slot, see AtFront
		case v.Name == "S.lock" && !c.legal && c.call.name == "Release": // the call would release what that one has in hand
		case v.Name == "S.illegal": // it might release what is in the code's hand
		case v.To.Get(c.Held) < inHand && v.To.Get(c.Held) < s.Get(c.Held): // it releases that
		case !v.Inside && v.From >= proof.SL && c.uses(&v.To): // the call's own waiter
		default:
			moves = append(moves, v)
		}
	}
	if blocked {
		return moves, nil
	}
	for i, w := range c.ws {
		if st := s.GetAt(c.St, i); deliveredAs[st] != waiting.Pending && w.Status() == waiting.StatusWaiting {
			gone = append(gone, i)
		}
	}
	return moves, gone
}

// inHand returns how many permits are in the code's hand: what a legal call is to release, and what
// it has granted to waiters that may refuse it.
func (c *conformance) inHand(s *proof.State) int {
	n := 0
	p := int64(s.Get(c.TPC))
	if (c.legal || s.Is(c.TNested)) && (p >= proof.R0 && p <= proof.R3 || p == proof.SL) {
		n += s.Get(c.Tn)
	}
	for i, w := range c.ws {
		mine := s.GetAt(c.Claimed, i) == 1 || p == proof.R4 && s.Get(c.Tw) == i
		if mine && w.Status() != waiting.StatusComplete && s.GetAt(c.St, i) == proof.Granted {
			n += int(w.N)
		}
	}
	return n
}

// uses reports whether a move is on the waiter that the call queues.
func (c *conformance) uses(s *proof.State) bool {
	queues := c.call.place == proof.EQ || c.call.place == proof.KQ
	pc := s.Get(c.PC)
	return queues && s.Get(c.Own) == c.call.w && (pc == int(proof.E1) || pc == int(proof.K1) || pc == int(proof.X1))
}

// run makes one call in state s, beside one behaviour of the others.
func (c *conformance) run(s proof.State, base int64) {
	c.legal = c.call.name == "Release" && c.call.n <= int64(s.Get(c.Held))
	s.Set(c.TPC, int(c.call.place))
	s.Set(c.Tn, int(c.call.n))
	s.Set(c.Tw, c.call.w)
	if c.call.front {
		s.Set(c.TFront, 1)
	}
	got := -1
	r := interleave.Explore(interleave.Options{Mode: interleave.Random, Executions: 1}, func(x *interleave.Run) {
		c.x = x
		c.setUp(&s, base)
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
	c.f.Keep(func(s *proof.State) bool { return s.Get(c.TPC) == int(proof.Done) && s.Get(c.TRes) == got })
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("the call has returned %d, in %s", got, c.describe())
		return
	}
	c.f.Took(c.taken)
}

// states returns every state with few permits and at most two waiters that the invariants allow
// when mu is free.
func (k *tie) states() (states []proof.State) {
	t := k.EngineTable
	lines := [][]int64{nil, {1}, {2}, {1, 1}, {1, 2}, {2, 1}, {2, 2}}
	for _, config := range []struct {
		ordered    bool
		maxWaiting int
	}{
		{},
		{maxWaiting: 1},
		{maxWaiting: 2},
		{ordered: true},
	} {
		for size := range 3 {
			for avail := -2; avail <= size; avail++ {
				for flags := range 8 {
					for _, line := range lines {
						for where := range 1 << (len(line) + 1) {
							for own := 1; own <= 2; own++ {
								var s proof.State
								for _, v := range []*proof.Var{t.Size, t.Grown} {
									s.Set(v, size)
								}
								s.Set(t.Avail, avail)
								s.Set(t.Held, size-avail)
								s.Set(t.W, flags&1)
								s.Set(t.C, flags>>1&1)
								s.Set(t.O, flags>>2&1)
								s.Set(t.MaxWaiting, config.maxWaiting)
								if config.ordered {
									s.Set(t.Ordered, 1)
								}
								s.SetAt(t.N, nodes-1, own)
								s.Set(t.Tail, len(line)+1)
								s.Set(t.Aback, len(line)+1)
								for i, n := range line {
									s.SetAt(t.N, i, int(n))
									s.SetAt(t.Pos, i, i+1)
									s.SetAt(t.Arr, i, i+1)
									s.SetAt(t.St, i, proof.InList)
									if where>>(i+1)&1 == 1 {
										s.SetAt(t.St, i, proof.InOrder)
									}
								}
								if where&1 == 1 {
									if len(line) == 0 || s.GetAt(t.St, 0) != proof.InList {
										continue
									}
									s.Set(t.SlotF, 1)
									s.SetAt(t.St, 0, proof.InSlot)
								}
								if k.m.Broken(&s) == nil {
									states = append(states, s)
								}
							}
						}
					}
				}
			}
		}
	}
	return states
}

// stride returns which states are tried: one in so many. FARAD_STRESS=1 tries all, for some
// minutes.
func stride() int {
	switch {
	case os.Getenv("FARAD_STRESS") == "1":
		return 1
	case testing.Short():
		return 61
	default:
		return 7
	}
}

// TestModelConforms compares the code with its proof.
func TestModelConforms(t *testing.T) {
	if interleave.RaceEnabled {
		t.Skip("invariants are not checked under the race detector")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	e := proof.Engine()
	k := &tie{EngineTable: e, m: proof.NewMachine(e.Table, nodes), taken: map[string]bool{}}
	states := k.states()
	t.Log(len(states), "states")
	for i := range states {
		if i%stride() != 0 && !k.isFresh(&states[i]) && !k.isFull(&states[i]) {
			continue
		}
		for _, call := range k.calls(&states[i]) {
			k.check(t, states[i], call)
		}
	}
	t.Log(k.runs, "runs")
	if !testing.Short() {
		require.Empty(require.GoOn(t), e.NotMade(k.taken), "steps that the code never makes")
	}
}

// moves returns how many moves the others have. Two are needed where the code compares what it has
// read twice.
func (k *tie) moves(s *proof.State, call call) int {
	if call.name == "Release" && call.n == 1 && k.isFresh(s) {
		return 2
	}
	return 1
}

// isFresh says that nothing has happened yet to an engine of one permit.
func (k *tie) isFresh(s *proof.State) bool {
	return s.Get(k.Avail) == 1 && s.Get(k.Size) == 1 && !s.Is(k.W) && !s.Is(k.O) && !s.Is(k.C)
}

// isFull says that as many wait as may, and that the slot has to be counted for that.
func (k *tie) isFull(s *proof.State) bool {
	return s.Get(k.MaxWaiting) == 1 && s.Is(k.SlotF) && s.Get(k.Size) == 1 && !s.Is(k.O) && s.GetAt(k.N, 1) == 0
}

func (k *tie) check(t *testing.T, s proof.State, call call) {
	t.Helper()
	path := new(proof.Path)
	for more := true; more; more = path.Next() {
		c := &conformance{tie: k, call: call, path: path, left: k.moves(&s, call)}
		c.run(s, 1)
		require.Empty(t, c.failed, "%s(%d) of waiter %d in %s\nthe others: %v", call.name, call.n, call.w, k.m.String(&s), c.story)
	}
}
