package table

import "slices"

// The sleeper: internal/xsync/sleep/sleeper.go. Its owner is one goroutine, so where it is and what
// it knows are variables of the table. Any number of others wake it. To sleep by gopark or in the
// channel is one to the table: the owner is in the word, and goes on when a waker sends.

// SleeperTable is the sleeper's table, with its variables for the tie.
type SleeperTable struct {
	*Table

	Tok, Nud, Slp *Var // the word: a token, a nudge, or that the owner sleeps
	Room          *Var // how many sends the owner has not received
	Timer         *Var // it is set
	Timed         *Var // the sleeper is one of timed waits: only its timer nudges

	Sending, Flying *Var // ghosts: wakers about to send; the timer's nudge is on its way
	GotTok, GotNud  *Var // what the owner's call has taken so far
	Late            *Var // the owner waits for a nudge that is on its way

	Vt, Vn, Vs, Wt, Wn, TRes *Var // a waker's copy of the word, what it adds, and the result of a call
}

// What the steps of the sleeper access, besides WordRead and WordWrite.
const (
	RoomRead Access = 10 + iota
	RoomWrite
	TimerRead
	TimerWrite
)

// The places of a sleeper's owner, then those of a waker.
const (
	SleepIdle   int64 = iota
	SleepLook         // calls Sleep
	SleepAgain        // the loop of sleep
	SleepPark         // about to say that it sleeps
	SleepWait         // receives
	SleepTake         // takes what is there
	SleepOrPark       // calls SleepOr
	SleepOrWait
	SleepOrLeave
	SleepOrReceive
	SleepStart // calls StartTimer, then SleepTimed
	SleepStop
	WakeLook // calls Wake
	WakeSet
	WakeSend
	SleepIn // the thread under test is the owner
	SleepDone
)

var sleeperPlaces = []string{
	"idle", "look", "again", "park", "wait", "take", "or-park", "or-wait", "or-leave", "or-receive", "start", "stop",
	"wake", "wake-set", "wake-send", "owner", "done",
}

// Sleeper returns the table.
func Sleeper() *SleeperTable {
	t := bareSleeper()
	t.defects()
	t.finish()
	return t
}

func bareSleeper() *SleeperTable {
	t := &SleeperTable{Table: &Table{Name: "sleeper", Source: "internal/xsync/sleep", Places: sleeperPlaces}}
	t.Assume = []string{
		"Atomics are sequentially consistent, as Go promises.",
		"A goroutine that gopark has put to sleep goes on after one goready, and goready is called after that sleep has been committed (docs/design/parking.md); the channel keeps what is sent.",
		"One goroutine at a time is the owner.",
		"Only its timer nudges a sleeper of timed waits; StartTimer and SleepTimed come in turn.",
		"Fairness, for what is said about waiting: each goroutine goes on.",
	}
	t.PC, t.Inside = t.scalar(Owner, Int, "pc"), SleepIn
	t.Tok, t.Nud, t.Slp = t.scalar(Shared, Bool, "token"), t.scalar(Shared, Bool, "nudge"), t.scalar(Shared, Bool, "sleeps")
	t.Room, t.Timer = t.scalar(Shared, Int, "room"), t.scalar(Shared, Bool, "timer")
	t.Timed = t.scalar(Rigid, Bool, "timed")
	t.Sending, t.Flying = t.scalar(Ghost, Int, "sending"), t.scalar(Ghost, Bool, "flying")
	t.GotTok, t.GotNud = t.scalar(Owner, Bool, "gotToken"), t.scalar(Owner, Bool, "gotNudge")
	t.Late = t.scalar(Owner, Bool, "late")
	t.TPC = t.scalar(Thread, Int, "tpc")
	t.Vt, t.Vn, t.Vs = t.scalar(Thread, Bool, "vt"), t.scalar(Thread, Bool, "vn"), t.scalar(Thread, Bool, "vs")
	t.Wt, t.Wn = t.scalar(Thread, Bool, "wt"), t.scalar(Thread, Bool, "wn")
	t.TRes = t.scalar(Thread, Int, "tres")
	t.Domains = []Domain{
		{Var: t.Vt, Values: []int{0, 1}},
		{Var: t.Vn, Values: []int{0, 1}},
		{Var: t.Vs, Values: []int{0, 1}},
		{Var: t.Wt, Values: []int{0, 1}},
		{Var: t.Wn, Values: []int{0, 1}},
	}
	t.steps()
	t.says()
	return t
}

func (t *SleeperTable) in(name, fn string, a Access, from, to int64, guard *Expr, do ...Update) {
	do = append(do, t.PC.Set(Num(to)))
	if to == SleepIdle {
		do = append(do, t.TPC.Set(Num(SleepDone)))
	}
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: a, From: from, Inside: true, Guard: guard, Do: do})
}

func (t *SleeperTable) out(name, fn string, a Access, from, to int64, guard *Expr, do ...Update) {
	do = append(do, t.TPC.Set(Num(to)))
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: a, From: from, Guard: guard, Do: do})
}

func (t *SleeperTable) at(places ...int64) *Expr {
	var one []*Expr
	for _, p := range places {
		one = append(one, Eq(t.PC.V(), Num(p)))
	}
	return Or(one...)
}

func bit(b *Expr) *Expr { return If(b, Num(1), Num(0)) }

// there says that a wake-up is there, and zero that the word is 0.
func (t *SleeperTable) there() *Expr { return Or(t.Tok.V(), t.Nud.V()) }
func (t *SleeperTable) zero() *Expr  { return And(Not(t.there()), Not(t.Slp.V())) }

// result is what a call of the owner's returns: the wake-ups, or whether a token is one of them.
func (t *SleeperTable) steps() {
	tok, nud, slp, room := t.Tok.V(), t.Nud.V(), t.Slp.V(), t.Room.V()
	got := []Update{t.GotTok.Set(Is(false)), t.GotNud.Set(Is(false))}

	// Calls of the owner.
	for _, c := range []struct {
		name string
		to   int64
		may  *Expr
	}{{"calls Sleep", SleepLook, Not(t.Timed.V())}, {"calls SleepOr", SleepOrPark, Not(t.Timed.V())}} {
		t.in(c.name, "", Local, SleepIdle, c.to, c.may, append(got, t.Late.Set(Is(false)))...)
		t.Steps[len(t.Steps)-1].Choice = true
	}
	t.in("calls SleepTimed", "", Local, SleepIdle, SleepStart, t.Timed.V(), append(got, t.Late.Set(Is(false)))...)
	t.Steps[len(t.Steps)-1].Choice = true

	t.in("Sleep.look", "Sleeper.Sleep", WordRead, SleepLook, SleepAgain, t.zero())
	t.in("Sleep.there", "Sleeper.Sleep", WordRead, SleepLook, SleepTake, t.there())
	t.in("sleep.look", "Sleeper.sleep", WordRead, SleepAgain, SleepPark, t.zero())
	t.in("sleep.there", "Sleeper.sleep", WordRead, SleepAgain, SleepTake, t.there())
	t.in("sleep.commit", "Sleeper.sleep", WordWrite, SleepPark, SleepWait, t.zero(), t.Slp.Set(True))
	t.in("sleep.refused", "Sleeper.sleep", WordRead, SleepPark, SleepAgain, t.there())
	t.in("sleep.receive", "Sleeper.sleep", RoomRead, SleepWait, SleepAgain, Less(Num(0), room), t.Room.Set(Sub(room, Num(1))))

	take := []Update{
		t.GotTok.Set(Or(t.GotTok.V(), tok)), t.GotNud.Set(Or(t.GotNud.V(), nud)), t.Tok.Set(Is(false)), t.Nud.Set(Is(false)),
	}
	wakeups := Add(bit(tok), bit(nud), bit(nud)) // Token is 1, Nudge is 2
	timed := t.Timed.V()
	t.in("take", "Sleeper.take", WordWrite, SleepTake, SleepIdle, Not(timed), append(take, t.TRes.Set(wakeups))...)
	t.in("take.timed", "Sleeper.take", WordWrite, SleepTake, SleepStop, And(timed, Not(t.Late.V())), take...)
	t.in("take.late", "Sleeper.take", WordWrite, SleepTake, SleepIdle, And(timed, t.Late.V(), Or(t.GotNud.V(), nud)),
		append(take, t.TRes.Set(bit(Or(t.GotTok.V(), tok))))...)
	t.in("take.again", "Sleeper.take", WordWrite, SleepTake, SleepLook, And(timed, t.Late.V(), Not(Or(t.GotNud.V(), nud))), take...)

	t.in("SleepOr.commit", "Sleeper.SleepOr", WordWrite, SleepOrPark, SleepOrWait, t.zero(), t.Slp.Set(True))
	t.in("SleepOr.there", "Sleeper.SleepOr", WordRead, SleepOrPark, SleepTake, t.there())
	t.in("SleepOr.receive", "Sleeper.SleepOr", RoomRead, SleepOrWait, SleepTake, Less(Num(0), room), t.Room.Set(Sub(room, Num(1))))
	t.in("SleepOr.done", "Sleeper.SleepOr", RoomRead, SleepOrWait, SleepOrLeave, True)
	t.in("SleepOr.leave", "Sleeper.SleepOr", WordWrite, SleepOrLeave, SleepIdle, slp, t.Slp.Set(Is(false)), t.TRes.Set(Num(0)))
	t.in("SleepOr.woken", "Sleeper.SleepOr", WordRead, SleepOrLeave, SleepOrReceive, Not(slp))
	t.in("SleepOr.coming", "Sleeper.SleepOr", RoomRead, SleepOrReceive, SleepTake, Less(Num(0), room), t.Room.Set(Sub(room, Num(1))))

	t.in("StartTimer", "Sleeper.StartTimer", TimerWrite, SleepStart, SleepLook, True, t.Timer.Set(True))
	t.in("Stop.intime", "Sleeper.SleepTimed", TimerWrite, SleepStop, SleepIdle, t.Timer.V(), t.Timer.Set(Is(false)),
		t.TRes.Set(bit(t.GotTok.V())))
	t.in("Stop.late", "Sleeper.SleepTimed", TimerRead, SleepStop, SleepLook, And(Not(t.Timer.V()), Not(t.GotNud.V())), t.Late.Set(True))
	t.in("Stop.got", "Sleeper.SleepTimed", TimerRead, SleepStop, SleepIdle, And(Not(t.Timer.V()), t.GotNud.V()),
		t.TRes.Set(bit(t.GotTok.V())))

	// Wakers, and the timer.
	wt, wn := t.Wt.V(), t.Wn.V()
	v := And(Eq(tok, t.Vt.V()), Eq(nud, t.Vn.V()), Eq(slp, t.Vs.V()))
	may := And(Or(wt, wn), Implies(timed, Implies(wn, And(t.Flying.V(), Not(wt)))))
	flown := t.Flying.Set(And(t.Flying.V(), Not(And(timed, wn))))
	t.out("timer.fires", "", TimerWrite, SleepDone, SleepDone, t.Timer.V(), t.Timer.Set(Is(false)), t.Flying.Set(True))
	t.Steps[len(t.Steps)-1].Choice = true
	t.out("Wake.look", "Sleeper.Wake", WordRead, WakeLook, WakeSet, True, t.Vt.Set(tok), t.Vn.Set(nud), t.Vs.Set(slp))
	t.out("Wake.add", "Sleeper.Wake", WordWrite, WakeSet, SleepDone, And(may, v, Not(t.Vs.V())),
		t.Tok.Set(Or(tok, wt)), t.Nud.Set(Or(nud, wn)), flown)
	t.out("Wake.lost", "Sleeper.Wake", WordRead, WakeSet, WakeLook, Not(v))
	t.out("Wake.rouse", "Sleeper.Wake", WordWrite, WakeSet, WakeSend, And(may, v, t.Vs.V()),
		t.Slp.Set(Is(false)), t.Tok.Set(wt), t.Nud.Set(wn), t.Sending.Set(Add(t.Sending.V(), Num(1))), flown)
	t.out("Wake.send", "Sleeper.Wake", RoomWrite, WakeSend, SleepDone, Less(Num(0), t.Sending.V()),
		t.Sending.Set(Sub(t.Sending.V(), Num(1))), t.Room.Set(Add(room, Num(1))))
}

func (t *SleeperTable) says() {
	tok, nud, slp := t.Tok.V(), t.Nud.V(), t.Slp.V()
	z := Num(0)
	t.Init = And(t.at(SleepIdle), t.zero(), Eq(t.Room.V(), z), Eq(t.Sending.V(), z), Not(t.Timer.V()), Not(t.Flying.V()))
	inside := Add(bit(slp), t.Room.V(), t.Sending.V())
	sleeping := t.at(SleepWait, SleepOrWait, SleepOrLeave, SleepOrReceive)

	t.safe("1 over 0", "The owner never sleeps beside a wake-up that is there.", Implies(slp, Not(t.there())))
	t.safe("2 one", "While the owner sleeps the word says so, or one send is there or on its way; otherwise none of it.",
		Eq(inside, bit(sleeping)))
	t.invariant("2 counts", "There are no fewer wakers than none.", LessEq(z, t.Sending.V()))
	t.safe("3 there", "Who was taken out of the word, or stops sleeping, finds a wake-up.",
		Implies(Or(And(sleeping, Not(slp)), t.at(SleepTake)), t.there()))
	calls := Not(t.at(SleepIdle, SleepStart))
	t.safe("timer", "In a timed wait the timer is set, or its nudge is on its way, there or taken; afterwards no nudge is there or comes.",
		Implies(t.Timed.V(), Eq(Add(bit(t.Timer.V()), bit(t.Flying.V()), bit(nud), bit(And(calls, t.GotNud.V()))), bit(calls))))
	t.invariant("timer begins", "A timed wait begins with nothing taken.",
		Implies(t.at(SleepStart), And(Not(t.GotNud.V()), Not(t.Late.V()))))
	t.invariant("timed", "Timed waits have no select.",
		Implies(t.Timed.V(), Not(t.at(SleepOrPark, SleepOrWait, SleepOrLeave, SleepOrReceive))))

	t.property("3 kept", "A wake-up stays until the owner takes it.",
		And(Implies(And(tok, Not(Next(tok))), t.at(SleepTake)), Implies(And(nud, Not(Next(nud))), t.at(SleepTake))))
	t.property("1 owner", "Only the owner says that it sleeps.", Implies(And(Not(slp), Next(slp)), t.at(SleepPark, SleepOrPark)))
	t.property("2 waker", "Who takes the sleeping owner out sends, unless it is the owner.",
		Implies(And(slp, Not(Next(slp))), Or(t.at(SleepOrLeave), Eq(Next(t.Sending.V()), Add(t.Sending.V(), Num(1))))))
	t.property("nothing for nothing", "What is taken is something.", Implies(And(t.at(SleepTake), Not(Next(t.at(SleepTake)))), t.there()))
	t.property("timer ends", "A timed wait ends with no nudge there nor on its way, and the timer stopped.",
		Implies(And(t.Timed.V(), Not(t.at(SleepIdle)), Next(t.at(SleepIdle))),
			And(Not(Next(nud)), Not(Next(t.Flying.V())), Not(Next(t.Timer.V())))))

	t.theorem("no lost wake-up", "One that sleeps beside a wake-up has a send there or on its way.",
		Implies(And(t.at(SleepWait, SleepOrWait), t.there()), Less(z, Add(t.Room.V(), t.Sending.V()))))
	t.theorem("one send", "The channel never holds more than one send.", LessEq(t.Room.V(), Num(1)))
}

func (t *SleeperTable) defects() {
	for _, d := range []struct {
		name  string
		timed bool
		plant func(t *SleeperTable)
	}{
		{"the owner sleeps beside a wake-up", false, func(t *SleeperTable) {
			t.Step("sleep.commit").Guard = Not(t.Slp.V())
		}},
		{"a second wake-up takes the place of the first", false, func(t *SleeperTable) {
			t.change("Wake.add", t.Tok.Set(t.Wt.V()))
			t.change("Wake.add", t.Nud.Set(t.Wn.V()))
		}},
		{"a sleeper that gives up forgets the waker", false, func(t *SleeperTable) {
			t.change("SleepOr.woken", t.PC.Set(Num(SleepTake)))
		}},
		{"a sleeper that gives up does not take itself out", false, func(t *SleeperTable) {
			s := t.Step("SleepOr.leave")
			s.Do = slices.DeleteFunc(slices.Clone(s.Do), func(u Update) bool { return u.v == t.Slp })
		}},
		{"a nudge comes after the wait", true, func(t *SleeperTable) { t.change("Stop.late", t.PC.Set(Num(SleepIdle))) }},
		{"the timer is not stopped", true, func(t *SleeperTable) {
			s := t.Step("Stop.intime")
			s.Do = slices.DeleteFunc(slices.Clone(s.Do), func(u Update) bool { return u.v == t.Timer })
		}},
		{"a waker leaves the sleeper in the word", false, func(t *SleeperTable) {
			s := t.Step("Wake.rouse")
			s.Do = slices.DeleteFunc(slices.Clone(s.Do), func(u Update) bool { return u.v == t.Slp })
		}},
		{"a waker takes the sleeper out without a wake-up", false, func(t *SleeperTable) {
			t.change("Wake.rouse", t.Tok.Set(Is(false)))
			t.change("Wake.rouse", t.Nud.Set(Is(false)))
		}},
		{"a waker does not compare", false, func(t *SleeperTable) {
			t.Step("Wake.rouse").Guard = And(t.Step("Wake.rouse").Guard.args[0], t.Vs.V())
		}},
		{"a waker adds over a sleeper", false, func(t *SleeperTable) {
			t.Step("Wake.add").Guard = And(t.Step("Wake.add").Guard.args[0], Not(t.Vs.V()))
		}},
		{"a sleeper goes on without a receive", false, func(t *SleeperTable) {
			t.Step("sleep.receive").Guard = True
			s := t.Step("sleep.receive")
			s.Do = slices.DeleteFunc(slices.Clone(s.Do), func(u Update) bool { return u.v == t.Room })
		}},
		{"the owner takes only the token", false, func(t *SleeperTable) {
			t.change("take", t.Tok.Set(Is(false)))
			t.Step("take").Guard = Not(t.Timed.V())
			t.change("take", t.PC.Set(Num(SleepWait)))
		}},
		{"a waker rouses and does not send", false, func(t *SleeperTable) {
			s := t.Step("Wake.rouse")
			s.Do = slices.DeleteFunc(slices.Clone(s.Do), func(u Update) bool { return u.v == t.Sending })
		}},
		{"the wait ends where the nudge is still on its way", true, func(t *SleeperTable) {
			t.Step("take.late").Guard = And(t.Timed.V(), t.Late.V())
		}},
	} {
		t.Defects = append(t.Defects, &Defect{
			Name: d.name, Reaches: true, States: 5_000,
			make: func() *Table {
				t := bareSleeper()
				d.plant(t)
				t.finish()
				return t.Table
			},
			start: func(x *Table) (*Machine, []State) {
				var s State
				s.Set(t.Timed, truth(d.timed))
				return NewMachine(x, 1), []State{s}
			},
			may: func(*Step) bool { return true },
		})
	}
}
