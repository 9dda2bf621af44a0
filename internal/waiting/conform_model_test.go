//go:build interleave

package waiting

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	proof "github.com/farad-go/farad/internal/proof/table"
	"github.com/farad-go/farad/internal/xsync"
)

// The tie between a future's node and its table in internal/proof: one call of the owner, or one
// Deliver, from every state that the table reaches, beside others that may make any step of the
// table at any point. After each step of the code the state must be one that the table allows.

// A mark is a waker.
type mark struct{ c *conformance }

// Wake implements [Waker].
func (m *mark) Wake() {
	m.c.woke.Add(1)
	if m == m.c.newest {
		m.c.woken = true
	}
}

// A conformance is one call beside one behaviour of the others. It is the line of its future, too.
type conformance struct {
	*proof.WaiterTable
	m     *proof.Machine
	taken map[string]bool

	x       *interleave.Run
	future  *Future
	line    *interleave.Uint32
	woke    *interleave.Uint32 // each wake-up is a step on it,
	gave    *interleave.Uint32 // and so is what is given back
	newest  *mark              // the last poll's
	woken   bool               // newest has been woken
	channel xsync.Signal       // this round's
	signals []xsync.Signal     // all
	claims  bool               // the code under test is the claimer
	f       *proof.Follower
	path    *proof.Path
	left    int      // moves that the others still have
	script  []string // moves that they make before a channel is closed
	story   []string
	failed  string
}

// Start implements [Request]: the request waits, or is granted at once, armed or not.
func (c *conformance) Start(w *Waiter, waker Waker) Outcome {
	how := c.path.Choose(3)
	if how == 0 {
		return Granted
	}
	w.Arm(waker)
	if how == 1 {
		return Granted
	}
	c.line.Store(1)
	return Pending
}

// Unlink implements [Line].
func (c *conformance) Unlink(*Waiter) bool { return c.line.CompareAndSwap(1, 0) }

// GiveBack implements [Line].
func (c *conformance) GiveBack(int64) bool {
	c.gave.Add(1)
	return true
}

// waker and done say which waker and which channel the node has.
func (c *conformance) waker() int {
	switch c.future.node.waker {
	case nil:
		return proof.None
	case Waker(c.newest):
		return proof.Newest
	}
	return proof.Earlier
}

func (c *conformance) done() int {
	switch c.future.node.done {
	case nil:
		return proof.None
	case c.channel:
		return proof.Newest
	}
	return proof.Earlier
}

func isClosed(s xsync.Signal) bool {
	select {
	case <-s.C():
		return true
	default:
		return false
	}
}

// put makes the future what s says.
func (c *conformance) put(s *proof.State) {
	w := &c.future.node
	if old := w.state.Swap(uint32(s.Get(c.State))); int(old) != s.Get(c.State) {
		c.x.Changed(unsafe.Pointer(&w.state))
	}
	c.line.Store(uint32(s.Get(c.Line)))
	if c.waker() != s.Get(c.Waker) {
		w.waker = []Waker{nil, c.newest, &mark{c}}[s.Get(c.Waker)]
	}
	if c.done() != s.Get(c.Done) {
		if s.Get(c.Done) == proof.Newest && c.channel == nil {
			c.channel = c.signal()
		}
		switch s.Get(c.Done) {
		case proof.None:
			w.done = nil
		case proof.Newest:
			w.done = c.channel
		default:
			w.done = c.signal()
		}
	}
	if s.Is(c.Closed) && c.channel != nil && !isClosed(c.channel) {
		c.channel.Close()
	}
	w.outcome = Closed
	if s.Is(c.Outcome) {
		w.outcome = Granted
	}
	c.woken = s.Is(c.Woken)
}

func (c *conformance) signal() xsync.Signal {
	s := xsync.NewSignal(0)
	c.signals = append(c.signals, s)
	return s
}

// agrees reports whether the future is what s says.
func (c *conformance) agrees(s *proof.State) bool {
	w := &c.future.node
	return int(w.state.Load()) == s.Get(c.State) && int(c.line.Load()) == s.Get(c.Line) &&
		c.waker() == s.Get(c.Waker) && c.done() == s.Get(c.Done) && (w.outcome == Granted) == s.Is(c.Outcome) &&
		c.woken == s.Is(c.Woken) &&
		(c.done() != proof.Newest || isClosed(c.channel) == s.Is(c.Closed))
}

// access says what the last step of the code was, for the table.
func (c *conformance) access() proof.Access {
	on, wrote := c.x.Last()
	switch on {
	case nil:
		return proof.Local
	case unsafe.Pointer(&c.future.node.state):
		return proof.ByWrite(wrote, proof.StateRead, proof.StateWrite)
	case unsafe.Pointer(c.line):
		return proof.ByWrite(wrote, proof.LineRead, proof.LineWrite)
	case unsafe.Pointer(c.woke):
		return proof.WakerCall
	case unsafe.Pointer(c.gave):
		return proof.GivesBack
	}
	if slices.ContainsFunc(c.signals, func(s xsync.Signal) bool { return unsafe.Pointer(s) == on }) {
		return proof.ChanWrite
	}
	return proof.Local
}

// after is called after each step of the code.
func (c *conformance) after() {
	if c.failed != "" {
		return
	}
	if d := c.future.node.done; d != nil && !slices.Contains(c.signals, d) { // The code has made it.
		c.signals, c.channel = append(c.signals, d), d
	}
	a, before := c.access(), c.f.Places()
	c.f.Step(a)
	c.f.Keep(c.agrees)
	if len(c.f.Members) == 0 {
		w := &c.future.node
		const text = "the table has no such step: access %d, from %v; state %d, waker %d, done %d, outcome %d"
		c.failed = fmt.Sprintf(text, a, before, w.state.Load(), c.waker(), c.done(), w.outcome)
		return
	}
	c.others()
}

// others has the other threads do what they do now: nothing, or a move if one is left. While the
// code waits for the claimer they go on.
func (c *conformance) others() {
	if slices.Equal(c.f.Places(), []string{"close"}) {
		for _, name := range c.script {
			moves := c.m.Moves(&c.f.Members[0].State, true)
			i := slices.IndexFunc(moves, func(v proof.Move) bool { return v.Name == name })
			c.move(&moves[i])
		}
		c.script = nil
	}
	for c.left > 0 || c.x.Blocked() {
		moves := c.moves(&c.f.Members[0].State)
		i := 0
		switch blocked := c.x.Blocked(); {
		case blocked && len(moves) == 0:
			c.failed = "the code waits, and nobody can end that"
			return
		case blocked:
			i = c.path.Choose(len(moves))
		default:
			if i = c.path.Choose(len(moves)+1) - 1; i < 0 {
				return
			}
		}
		c.left--
		c.move(&moves[i])
	}
}

// move has the others make a move.
func (c *conformance) move(v *proof.Move) {
	c.story = append(c.story, v.Name)
	c.f.Others(v)
	c.renamed(v)
	c.put(&c.f.Members[0].State)
}

// renamed takes note of a poll, or a round, that the others have begun: what was newest is so no
// more.
func (c *conformance) renamed(v *proof.Move) {
	older := func(p *proof.Var) {
		c.f.Note(func(s *proof.State) {
			if s.Get(p) == proof.Newest {
				s.Set(p, proof.Earlier)
			}
		})
	}
	switch v.Name {
	case "Poll.idle", "Done.idle":
		c.channel = nil
		older(c.TClose)
	case "calls Poll", "calls Poll without a waker":
		c.newest = &mark{c}
		older(c.TWake)
	}
}

// moves returns what the others may do, if it changes anything. They leave to the code what is the
// code's.
func (c *conformance) moves(s *proof.State) (moves []proof.Move) {
	for _, v := range c.m.Moves(s, c.claims) {
		at := s.Get(c.TPC)
		own := c.claims && (at < int(proof.ClaimClose) && v.To.Get(c.At) != s.Get(c.At) ||
			at == int(proof.ClaimClose) && s.Get(c.TClose) == proof.Newest && v.Name == "close" ||
			at <= int(proof.ClaimWake) && s.Get(c.TWake) == proof.Newest && v.Name == "wake")
		if v.To != *s && !own {
			moves = append(moves, v)
		}
	}
	return moves
}

// call makes the call that begins where s is, and returns the result, as the table numbers it.
func (c *conformance) call(s *proof.State) int {
	yes := func(ok bool) int {
		if ok {
			return 1
		}
		return 0
	}
	if c.claims {
		if s.Is(c.Grants) {
			return yes(c.future.node.Deliver(Granted))
		}
		return yes(c.future.node.Deliver(Closed))
	}
	switch int64(s.Get(c.PC)) {
	case proof.PollLook:
		if s.Is(c.With) {
			return yes(c.future.Poll(c.newest))
		}
		return yes(c.future.Poll(nil))
	case proof.DoneAwait:
		switch c.future.Done() {
		case xsync.Closed().C():
			return 2
		case c.channel.C():
			return 1
		}
		return 0
	case proof.ErrLook:
		return looked(c.future.Err())
	case proof.TakeLook:
		return looked(c.future.Take())
	case proof.EndLook:
		c.future.Release()
		return 1
	default:
		return yes(interleave.Panics(func() { Bind(c.future, c, 1) }) == nil)
	}
}

// looked numbers what Err and Take return.
func looked(err error) int {
	switch err {
	case nil:
		return 2
	case ErrPending:
		return 0
	}
	return 1
}

// run makes the call in state s.
func (c *conformance) run(s proof.State) {
	s.Set(c.TPC, int(proof.WaiterIn))
	if c.claims {
		s.Set(c.TPC, int(proof.ClaimOutcome))
	}
	got := -1
	r := interleave.Explore(interleave.Options{Mode: interleave.Random, Executions: 1}, func(x *interleave.Run) {
		c.x = x
		c.future = &Future{r: c, bound: true}
		c.future.node.N = 1
		c.line, c.woke, c.gave = new(interleave.Uint32), new(interleave.Uint32), new(interleave.Uint32)
		c.newest = &mark{c}
		c.put(&s)
		c.f = c.m.Follow(s)
		x.Always(c.after)
		x.Go("code", func() { got = c.call(&s) })
		x.Wait()
	})
	if c.failed == "" && r.Failure != nil {
		c.failed = r.Failure.Message
	}
	if c.failed != "" {
		return
	}
	c.f.Step(proof.Local)
	c.f.Keep(func(s *proof.State) bool {
		return s.Get(c.TPC) == int(proof.WaiterDone) && s.Get(c.TRes) == got
	})
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("the call has returned %d", got)
		return
	}
	c.f.Took(c.taken)
}

// stride says which states are tried: one of so many.
func stride() int {
	if testing.Short() {
		return 11
	}
	return 1
}

// A tie has what all runs share.
type tie struct {
	*testing.T
	table *proof.WaiterTable
	m     *proof.Machine
	taken map[string]bool
	runs  int
}

// check makes the call that begins in s, beside all behaviours of the others with so many moves.
func (k *tie) check(s *proof.State, claims bool, left int, script ...string) {
	path := new(proof.Path)
	for more := true; more; more = path.Next() {
		c := &conformance{
			WaiterTable: k.table, m: k.m, taken: k.taken, claims: claims, path: path, left: left, script: script,
		}
		c.run(*s)
		k.runs++
		require.Empty(k, c.failed, "the claimer's call: %t, in %s\nthe others: %v", claims, k.m.String(s), c.story)
	}
}

// TestModelConforms compares the code with its table. The others have one move, and in some states
// more: three beside the owner, two beside the claimer.
func TestModelConforms(t *testing.T) {
	if interleave.RaceEnabled {
		t.Skip("invariants are not checked under the race detector")
	}
	table := proof.Waiter()
	k := &tie{T: t, table: table, m: proof.NewMachine(table.Table, 1), taken: map[string]bool{}}
	all := k.m.Reach([]proof.State{table.First()}, 1_000_000, func(*proof.Step) bool { return true }).Met
	begins := []int64{proof.PollLook, proof.DoneAwait, proof.ErrLook, proof.TakeLook, proof.EndLook, proof.BindAwait}
	round := []string{"end.complete", "end.outcome", "end.store", "end.give", "calls Poll", "Poll.idle"}
	owner, claimer, next := 0, 0, false
	for i := range all {
		s := &all[i]
		at := int64(s.Get(table.PC))
		if slices.Contains(begins, at) {
			if owner++; owner%stride() == 0 {
				k.check(s, false, 1)
			}
			if owner%(3*stride()) == 0 {
				k.check(s, false, 3)
			}
		}
		if s.Get(table.At) != int(proof.ClaimOutcome) {
			continue
		}
		if claimer++; claimer%stride() == 0 {
			k.check(s, true, 1)
		}
		if claimer%(3*stride()) == 0 {
			k.check(s, true, 2)
		}
		// One in which the owner ends the round, and begins another, before its channel is closed.
		if !next && at == proof.EndLook && s.Get(table.State) == proof.NodeArmed && s.Get(table.Done) == proof.Newest &&
			s.Is(table.Grants) {
			next = true
			k.check(s, true, 0, round...)
		}
	}
	t.Log(len(all), "states", k.runs, "runs")
	if !testing.Short() {
		require.Empty(require.GoOn(t), table.NotMade(k.taken), "steps that the code never makes")
	}
}
