//go:build interleave

package sleep

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	proof "github.com/farad-go/farad/internal/proof/table"
)

// The tie between this package and its table in internal/proof: one call of the code, from every
// state that the invariants allow, beside others that may make any step of the table at any point.
// After each step of the code the state must be one that the table allows.

// A call is of the owner, or of a waker.
type call struct {
	name   string
	place  int64
	owner  bool
	wakeup Wakeups
	run    func(c *conformance) int // what it returned
}

var calls = []call{
	{name: "Sleep", place: proof.SleepLook, owner: true, run: func(c *conformance) int { return int(c.s.Sleep()) }},
	{name: "SleepOr", place: proof.SleepOrPark, owner: true, run: func(c *conformance) int {
		return int(c.s.SleepOr(c.ctx.Done()))
	}},
	{name: "SleepTimed", place: proof.SleepStart, owner: true, run: func(c *conformance) int {
		c.s.StartTimer(time.Second)
		if c.s.SleepTimed() {
			return 1
		}
		return 0
	}},
	wake(Token), wake(Nudge), wake(Token | Nudge),
}

func wake(w Wakeups) call {
	return call{
		name: fmt.Sprintf("Wake(%d)", w), place: proof.WakeLook, wakeup: w,
		run: func(c *conformance) int { c.s.Wake(w); return 0 },
	}
}

// A conformance is one call beside one behaviour of the others.
type conformance struct {
	*proof.SleeperTable
	m     *proof.Machine
	taken map[string]bool

	x    *interleave.Run
	s    *Sleeper
	ctx  *interleave.Context
	call call
	f    *proof.Follower
	path *proof.Path
	left int // moves that the others still have

	over   bool // the context has ended
	story  []string
	failed string
}

// word is the word of a state.
func (c *conformance) word(s *proof.State) (w uintptr) {
	if s.Is(c.Tok) {
		w |= uintptr(Token)
	}
	if s.Is(c.Nud) {
		w |= uintptr(Nudge)
	}
	if s.Is(c.Slp) {
		w |= asleep
	}
	return w
}

// put makes the sleeper what s says.
func (c *conformance) put(s *proof.State) {
	c.s.word.Store(c.word(s))
	for len(c.s.room.C()) > s.Get(c.Room) {
		c.s.room.TryReceive()
	}
	for len(c.s.room.C()) < s.Get(c.Room) {
		c.s.room.Send()
	}
	if c.s.timer != nil {
		c.s.timer.set.Store(s.Is(c.Timer))
	}
}

// agrees reports whether the sleeper is what s says.
func (c *conformance) agrees(s *proof.State) bool {
	return c.s.word.Load() == c.word(s) && len(c.s.room.C()) == s.Get(c.Room) &&
		s.Is(c.Timer) == (c.s.timer != nil && c.s.timer.set.Load())
}

// access says what the last step of the code was, for the table.
func (c *conformance) access() proof.Access {
	on, wrote := c.x.Last()
	switch {
	case on == unsafe.Pointer(&c.s.word):
		return proof.ByWrite(wrote, proof.WordRead, proof.WordWrite)
	case on == unsafe.Pointer(c.s.room):
		return proof.ByWrite(wrote, proof.RoomRead, proof.RoomWrite)
	case c.s.timer != nil && on == unsafe.Pointer(&c.s.timer.set):
		return proof.ByWrite(wrote, proof.TimerRead, proof.TimerWrite)
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
	c.f.Step(a)
	c.f.Keep(c.agrees)
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("a step that the table does not have: access %d, from %v, to word %d, room %d",
			a, before, c.s.word.Load(), len(c.s.room.C()))
		return
	}
	c.others()
}

// others has the other threads do what they do now: nothing, or as many moves as are left. While
// the code sleeps they go on.
func (c *conformance) others() {
	for c.left > 0 || c.x.Blocked() {
		s := &c.f.Members[0].State
		moves := c.moves(s)
		n := len(moves)
		ends := c.call.name == "SleepOr" && !c.over && s.Get(c.Room) == 0
		if ends {
			n++
		}
		i := 0
		switch blocked := c.x.Blocked(); {
		case blocked && n == 0:
			c.failed = "the code sleeps, and nobody can wake it"
			return
		case blocked:
			i = c.path.Choose(n)
		default:
			if i = c.path.Choose(n+1) - 1; i < 0 {
				return
			}
		}
		c.left--
		if i == len(moves) {
			c.story = append(c.story, "the context ends")
			c.over = true
			c.ctx.Cancel()
			continue
		}
		c.f.Others(&moves[i])
		c.put(&c.f.Members[0].State)
		c.story = append(c.story, moves[i].Name)
	}
}

// moves returns what the others may do, if it changes anything. Where both a send and the end of
// the context are there the explorer takes two steps for one, so that is left out.
func (c *conformance) moves(s *proof.State) (moves []proof.Move) {
	for _, v := range c.m.Moves(s, !c.call.owner) {
		both := c.over && v.To.Get(c.Room) > 0 && s.Get(c.PC) == int(proof.SleepOrWait)
		own := v.Name == "Wake.send" && s.Get(c.Sending) == 1 && s.Get(c.TPC) == int(proof.WakeSend) // the code's send
		if c.call.wakeup == Nudge && s.Get(c.TPC) <= int(proof.WakeSet) {                            // the code's nudge
			own = own || s.Is(c.Flying) && !v.To.Is(c.Flying)
		}
		// Tokens without end keep a timed wait from its nudge: fairness is assumed.
		unfair := c.left <= 0 && s.Is(c.Flying) && v.To.Is(c.Tok) && !s.Is(c.Tok)
		if v.To != *s && !both && !own && !unfair {
			moves = append(moves, v)
		}
	}
	return moves
}

// run makes the call in state s.
func (c *conformance) run(s proof.State) {
	s.Set(c.TPC, int(c.call.place))
	if c.call.owner {
		s.Set(c.PC, int(c.call.place))
		s.Set(c.TPC, int(proof.SleepIn))
	}
	if c.call.wakeup&Token != 0 {
		s.Set(c.Wt, 1)
	}
	if c.call.wakeup&Nudge != 0 {
		s.Set(c.Wn, 1)
	}
	got := -1
	r := interleave.Explore(interleave.Options{Mode: interleave.Random, Executions: 1}, func(x *interleave.Run) {
		c.x = x
		start = func(func()) {} // the timer is one of the others
		c.ctx = x.NewContext()
		c.s = new(Sleeper)
		c.s.Init(true)
		if !c.call.owner {
			c.s.timer = new(modelTimer)
		}
		c.put(&s)
		c.f = c.m.Follow(s)
		x.Always(c.after)
		x.Go("code", func() { got = c.call.run(c) })
		x.Wait()
	})
	if c.failed == "" && r.Failure != nil {
		c.failed = r.Failure.Message
	}
	if c.failed != "" {
		return
	}
	c.f.Keep(func(s *proof.State) bool {
		return s.Get(c.TPC) == int(proof.SleepDone) && (!c.call.owner || s.Get(c.TRes) == got)
	})
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("the call has returned %d", got)
		return
	}
	c.f.Took(c.taken)
}

// states returns every state that the invariants allow.
func states(t *proof.SleeperTable, m *proof.Machine) (states []proof.State) {
	for n := range 1 << 9 {
		for pc := proof.SleepIdle; pc <= proof.SleepStop; pc++ {
			var s proof.State
			s.Set(t.PC, int(pc))
			for i, v := range []*proof.Var{
				t.Tok, t.Nud, t.Slp, t.Room, t.Timer, t.Timed, t.Sending, t.Flying, t.GotNud,
			} {
				s.Set(v, n>>i&1)
			}
			if m.Broken(&s) == nil {
				states = append(states, s)
			}
		}
	}
	return states
}

// TestModelConforms compares the code with its table.
func TestModelConforms(t *testing.T) {
	if interleave.RaceEnabled {
		t.Skip("invariants are not checked under the race detector")
	}
	table := proof.Sleeper()
	m := proof.NewMachine(table.Table, 1)
	taken := map[string]bool{}
	runs := 0
	for _, s := range states(table, m) {
		for _, call := range calls {
			timed := s.Is(table.Timed)
			switch {
			case call.owner && (s.Get(table.PC) != int(proof.SleepIdle) || timed != (call.name == "SleepTimed") || s.Is(table.GotNud) || s.Is(table.Timer)):
				continue
			case timed && call.wakeup&Nudge != 0 && (call.wakeup != Nudge || !s.Is(table.Flying)):
				continue
			}
			path := new(proof.Path)
			for more := true; more; more = path.Next() {
				c := &conformance{SleeperTable: table, m: m, taken: taken, call: call, path: path, left: 1}
				if timed {
					c.left = 2 // so that a token comes before the nudge
				}
				c.run(s)
				runs++
				require.Empty(t, c.failed, "%s in %s\nthe others: %v", call.name, m.String(&s), c.story)
			}
		}
	}
	t.Log(runs, "runs")
	require.Empty(require.GoOn(t), table.NotMade(taken), "steps that the code never makes")
}
