package table

// sync.Cond: sync/cond.go. Its lock has one owner, so where that is, is a variable of the table. A
// node is one wait: nothing else is known of the goroutine that waits. How its wait ends, by a
// token, a context or a time, is in the table of a parker; here a wait takes its token, or gives up
// whenever it likes.

// CondTable is the table of a Cond, with its variables for the tie.
type CondTable struct {
	*Table

	Occ, Obs        *Var // the flags: occupied, observed
	In, Pos         *Var // who is in line, and where
	HasReach, Reach *Var // the last of those who entered before the latest signal
	L               *Var // the lock of the condition
	Woken           *Var // the token of a wait is there

	By      *Var // N of a wait: it was claimed by a broadcast
	Cl, Got *Var // a wait was claimed, and has taken its token
	Own, W  *Var // the wait of the lock's owner; the one that it claims

	Tail, Latest, Lim *Var // ghosts: the next place; what it was at the latest signal, and at that of a claim
	Broad             *Var // ghost: who was claimed by a broadcast

	Tw, Tx               *Var // the thread's wait; another
	Mine                 *Var // what the thread has claimed, and is to tell
	TOver, TTimed, TFail *Var // its limit is over; or may be at any time; the unlock of L has panicked
	TRes                 *Var
}

// What the steps of a Cond access, besides those of the engine and of a parker.
const (
	LLock Access = 60 + iota
	LUnlock
)

// The places in a Cond.
const (
	CondFree int64 = iota
	EnterLook
	EnterMark
	EnterPush
	EnterEnd
	UnlinkLook
	UnlinkClear
	UnlinkGone
	UnlinkNot
	SignalReach
	SignalClaim
	SignalClear
	SignalN
	SignalEnd
	BroadReach
	BroadClaim
	BroadClear
	BroadN
	BroadEnd
	GiveClaim
	GiveClear
	GiveN
	GiveEnd
	WaitLook // waits
	EnterLock
	UnlockL
	CondSleep
	CondBoth
	CondAsk
	UnlinkLock
	CondWithdraw
	CondGive
	TellNext1 // has passed on
	LockL
	SignalLook // calls Signal
	SignalLock
	BroadLook // calls Broadcast
	BroadLock
	TellMine // has claimed
	CondIn   // has the lock
	CondDone
)

var condPlaces = []string{
	"free", "enter", "enter-mark", "enter-push", "enter-end", "unlink", "unlink-clear", "unlinked", "not-there",
	"signal-reach", "signal-claim", "signal-clear", "signal-n", "signal-end",
	"broadcast-reach", "broadcast-claim", "broadcast-clear", "broadcast-n", "broadcast-end", "pass-on", "pass-clear", "pass-n", "pass-end",
	"wait", "enters", "unlocks", "sleeps", "both", "ask", "leaves", "withdraw", "give", "tells-next", "locks",
	"signal", "signal-lock", "broadcast", "broadcast-lock", "tells", "lock", "over",
}

// Cond returns the table.
func Cond() *CondTable {
	t := bareCond()
	t.defects()
	t.finish()
	return t
}

func bareCond() *CondTable {
	t := &CondTable{Table: &Table{Name: "cond", Source: "sync/cond.go", Places: condPlaces}}
	t.Assume = []string{
		"Atomics are sequentially consistent, as Go promises, and a mutex excludes.",
		"A token that was sent to a wait is taken once, and by its owner (the parker's table).",
		"Who waits holds L, and unlocks it in Wait alone.",
		"The steps of a wait do not depend on whether the Cond is observed: those that tell its record have none.",
		"Fairness, for what is said about waiting: each goroutine goes on.",
	}
	t.PC, t.Inside = t.scalar(Owner, Int, "pc"), CondIn
	t.Occ, t.Obs = t.scalar(Shared, Bool, "occupied"), t.scalar(Shared, Bool, "observed")
	t.In, t.Pos = t.array(Shared, Bool, "line"), t.array(Shared, Int, "pos")
	t.HasReach, t.Reach = t.scalar(Shared, Bool, "hasReach"), t.scalar(Shared, Node, "reach")
	t.L, t.Woken = t.scalar(Shared, Bool, "L"), t.array(Shared, Bool, "woken")
	t.Cl, t.By, t.Got = t.array(Owner, Bool, "claimed"), t.array(Shared, Bool, "n"), t.array(Owner, Bool, "got")
	t.Own, t.W, t.Broad = t.scalar(Owner, Node, "own"), t.scalar(Owner, Node, "w"), t.array(Ghost, Bool, "broadcast")
	t.Tail, t.Latest, t.Lim = t.scalar(Ghost, Int, "tail"), t.scalar(Ghost, Int, "latest"), t.array(Ghost, Int, "before")
	t.TPC = t.scalar(Thread, Int, "tpc")
	t.Tw, t.Tx = t.scalar(Thread, Node, "tw"), t.scalar(Thread, Node, "tx")
	t.Any = t.Tx
	t.Mine = t.array(Thread, Bool, "mine")
	t.TOver, t.TTimed = t.scalar(Thread, Bool, "tover"), t.scalar(Thread, Bool, "ttimed")
	t.TFail, t.TRes = t.scalar(Thread, Bool, "tfail"), t.scalar(Thread, Int, "tres")
	t.Domains = []Domain{
		{Var: t.Tw, Nodes: true},
		{Var: t.Tx, Nodes: true},
		{Var: t.TOver, Values: []int{0, 1}},
		{Var: t.TTimed, Values: []int{0}},
		{Var: t.TFail, Values: []int{0}},
	}
	t.wait()
	t.leave()
	t.signal()
	t.says()
	t.Canon = t.canon
	return t
}

func (t *CondTable) at(places ...int64) *Expr { return oneOf(t.PC, places...) }
func (t *CondTable) res(n int64) Update       { return t.TRes.Set(Num(n)) }

func (t *CondTable) in(name, fn string, a Access, from, to int64, guard *Expr, do ...Update) {
	t.inTo(name, fn, a, from, Num(to), guard, do...)
}

func (t *CondTable) inTo(name, fn string, a Access, from int64, to, guard *Expr, do ...Update) {
	do = append(do, t.PC.Set(to))
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: a, From: from, Inside: true, Guard: guard, Do: do})
}

// locks adds the step that gets the lock, for the wait Tw if there is one.
func (t *CondTable) locks(name, fn string, from, to int64, guard *Expr, do ...Update) {
	do = append(do, t.PC.Set(Num(to)), t.TPC.Set(Num(CondIn)))
	t.Steps = append(t.Steps, &Step{
		Name: name, In: fn, Access: MuLock, From: from, Locks: true, Guard: And(t.at(CondFree), guard), Do: do,
	})
}

// unlocks adds the step that gives the lock back.
func (t *CondTable) unlocks(name, fn string, from int64, then *Expr, do ...Update) {
	t.in(name, fn, MuUnlock, from, CondFree, True, append(do, t.TPC.Set(then))...)
}

func (t *CondTable) out(name, fn string, a Access, from, to int64, guard *Expr, do ...Update) {
	do = append(do, t.TPC.Set(Num(to)))
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: a, From: from, Guard: guard, Do: do})
}

func (t *CondTable) choice() { t.Steps[len(t.Steps)-1].Choice = true }

func (t *CondTable) inLine(f func(x *Expr) *Expr) *Expr {
	return All(func(x *Expr) *Expr { return Implies(t.In.At(x), f(x)) })
}

func (t *CondTable) lineEmpty() *Expr { return t.inLine(func(*Expr) *Expr { return Is(false) }) }

// alone says that nobody but x is in line.
func (t *CondTable) alone(x *Expr) *Expr { return t.inLine(func(y *Expr) *Expr { return Eq(x, y) }) }

func (t *CondTable) first(x *Expr) *Expr {
	return And(t.In.At(x), t.inLine(func(y *Expr) *Expr { return LessEq(t.Pos.At(x), t.Pos.At(y)) }))
}

func (t *CondTable) last(x *Expr) *Expr {
	return And(t.In.At(x), t.inLine(func(y *Expr) *Expr { return LessEq(t.Pos.At(y), t.Pos.At(x)) }))
}

// before says that x is next before w in line.
func (t *CondTable) before(x, w *Expr) *Expr {
	return And(t.In.At(x), Less(t.Pos.At(x), t.Pos.At(w)), t.inLine(func(y *Expr) *Expr {
		return Or(LessEq(t.Pos.At(y), t.Pos.At(x)), LessEq(t.Pos.At(w), t.Pos.At(y)))
	}))
}

// owned says that the owner of the lock works for the wait x.
func (t *CondTable) owned(x *Expr) *Expr {
	return And(Eq(t.Own.V(), x), t.at(EnterLook, EnterMark, EnterPush, EnterEnd, UnlinkLook, UnlinkClear, UnlinkGone,
		UnlinkNot, GiveClaim, GiveClear, GiveN, GiveEnd))
}

// claims says that the owner of the lock has claimed x, and has not written N.
func (t *CondTable) claims(x *Expr) *Expr {
	return And(Eq(t.W.V(), x), t.at(SignalClear, SignalN, BroadClear, BroadN, GiveClear, GiveN))
}

// ends are the updates with which the claim of x ends.
func (t *CondTable) ends(x *Expr) []Update {
	return []Update{t.Cl.SetAt(x, Is(false)), t.Got.SetAt(x, Is(false)), t.Lim.SetAt(x, Num(0))}
}

// wait has a wait until it is woken or gives up.
func (t *CondTable) wait() {
	tw, own := t.Tw.V(), t.Own.V()
	const fn = "Cond.enter"
	t.out("wait.look", "Cond.mayBeObserved", WordRead, WaitLook, EnterLock, True)
	t.locks("enter.lock", fn, EnterLock, EnterLook, And(Not(t.In.At(tw)), Not(t.Cl.At(tw))), t.Own.Set(tw))
	t.in("enter.first", fn, Local, EnterLook, EnterMark, t.lineEmpty())
	t.in("enter.more", fn, Local, EnterLook, EnterPush, Not(t.lineEmpty()))
	t.in("enter.mark", fn, WordWrite, EnterMark, EnterPush, True, t.Occ.Set(True))
	t.in("enter.push", fn, Local, EnterPush, EnterEnd, True,
		t.In.SetAt(own, True), t.Pos.SetAt(own, t.Tail.V()), t.Tail.Set(Add(t.Tail.V(), Num(1))))
	t.unlocks("enter.end", fn, EnterEnd, Num(UnlockL))
	waits := Or(t.In.At(tw), t.Cl.At(tw))
	t.out("unlock L", "Cond.unlock", LUnlock, UnlockL, CondSleep, And(t.L.V(), waits), t.L.Set(Is(false)))
	t.out("unlock panics", "Cond.unlock", Local, UnlockL, UnlinkLock, True, t.TFail.Set(True))
	t.choice()

	const sleep = "waiting.Wait"
	woken, free := t.Woken.At(tw), Not(t.owned(tw))
	take := []Update{t.Woken.SetAt(tw, Is(false)), t.Got.SetAt(tw, True)}
	t.out("sleep.woken", sleep, Sleeps, CondSleep, CondAsk, And(woken, free), take...)
	t.out("sleep.over", sleep, Sleeps, CondSleep, UnlinkLock, t.TOver.V())
	t.out("sleep.both", sleep, Sleeps, CondSleep, CondBoth, And(woken, t.TOver.V()))
	t.out("sleep.late", sleep, Local, CondSleep, UnlinkLock, t.TTimed.V())
	t.out("both.woken", sleep, Sleeps, CondBoth, CondAsk, And(woken, free), take...)
	t.out("both.over", sleep, Local, CondBoth, UnlinkLock, True)
	t.out("ask.woken", sleep, Local, CondAsk, LockL, And(t.Got.At(tw), free, Not(t.TOver.V())), append(t.ends(tw), t.res(1))...)
	t.out("ask.over", sleep, Local, CondAsk, UnlinkLock, t.TOver.V())
	t.out("lock L", "Cond.Wait, Cond.wait", LLock, LockL, CondDone, Not(t.L.V()), t.L.Set(True))
}

// leave has what a wait does that gives up.
func (t *CondTable) leave() {
	tw, own, tx := t.Tw.V(), t.Own.V(), t.Tx.V()
	const fn = "condLine.Unlink"
	t.locks("unlink.lock", fn, UnlinkLock, UnlinkLook, Or(t.In.At(tw), t.Cl.At(tw)), t.Own.Set(tw))
	there := t.In.At(own)
	is := And(t.HasReach.V(), Eq(t.Reach.V(), own))
	to := If(t.alone(own), Num(UnlinkClear), Num(UnlinkGone))
	out := t.In.SetAt(own, Is(false))
	t.in("unlink.not", fn, Local, UnlinkLook, UnlinkNot, Not(there))
	t.inTo("unlink.other", "Cond.removeLocked", Local, UnlinkLook, to, And(there, Not(is)), out)
	t.in("unlink.reach", "Cond.removeLocked", Local, UnlinkLook, UnlinkGone, And(there, is, t.before(tx, own)), out, t.Reach.Set(tx))
	t.inTo("unlink.first", "Cond.removeLocked", Local, UnlinkLook, to, And(is, t.first(own)), out, t.HasReach.Set(Is(false)))
	t.in("unlink.clear", "Cond.removeLocked", WordWrite, UnlinkClear, UnlinkGone, True, t.Occ.Set(Is(false)))
	then := If(t.TFail.V(), Num(CondDone), Num(LockL))
	t.unlocks("unlink.gone", fn, UnlinkGone, then, t.res(0))
	t.unlocks("unlink.claimed", fn, UnlinkNot, Num(CondWithdraw))

	got, free := t.Got.At(tw), Not(t.owned(tw))
	t.out("withdraw.woken", "Parker.Withdraw", Sleeps, CondWithdraw, CondGive, And(t.Woken.At(tw), free),
		t.Woken.SetAt(tw, Is(false)), t.Got.SetAt(tw, True))
	t.out("withdraw.got", "Parker.Withdraw", Local, CondWithdraw, CondGive, got)
	const give = "condLine.GiveBack"
	do := append(t.ends(tw), t.res(0), t.TPC.Set(then))
	t.Steps = append(t.Steps, &Step{
		Name: "give.broadcast", In: give, Access: Local, From: CondGive, Guard: And(got, t.By.At(tw), free), Do: do,
	})
	t.locks("give.lock", give, CondGive, GiveClaim, And(got, Not(t.By.At(tw))), t.Own.Set(tw))
	t.in("give.nobody", give, Local, GiveClaim, GiveEnd, Not(t.HasReach.V()), t.ends(own)...)
	t.inTo("give.claim", give, Local, GiveClaim, If(t.alone(tx), Num(GiveClear), Num(GiveN)),
		And(t.HasReach.V(), t.first(tx)), append(t.ends(own), t.claim(tx, false, t.Lim.At(own))...)...)
	t.in("give.clear", "Cond.removeLocked", WordWrite, GiveClear, GiveN, True, t.Occ.Set(Is(false)))
	t.in("give.n", "Cond.claimLocked", Local, GiveN, GiveEnd, True, t.By.SetAt(t.W.V(), Is(false)))
	t.unlocks("give.end", give, GiveEnd, Num(TellNext1), t.res(0))
	t.tells("give.tell", TellNext1, then)
}

// claim are the updates with which x, the first of the line, is claimed.
func (t *CondTable) claim(x *Expr, broadcast bool, before *Expr) []Update {
	return []Update{
		t.In.SetAt(x, Is(false)), t.Cl.SetAt(x, True), t.Broad.SetAt(x, Is(broadcast)), t.Lim.SetAt(x, before), t.W.Set(x),
		t.HasReach.Set(Not(Eq(t.Reach.V(), x))), t.Mine.SetAt(x, True),
	}
}

// tells adds the steps of a thread that tells those whom it has claimed, in their order.
func (t *CondTable) tells(name string, at int64, then *Expr) {
	x := t.Tx.V()
	asleep := And(t.Cl.At(x), Not(t.Woken.At(x)), Not(t.Got.At(x)), Not(t.claims(x)))
	first := And(t.Mine.At(x), All(func(y *Expr) *Expr { return Implies(t.Mine.At(y), LessEq(t.Pos.At(x), t.Pos.At(y))) }))
	t.out(name, "tell, WakeList.Wake", Wakes, at, at, And(first, asleep), t.Woken.SetAt(x, True), t.Mine.SetAt(x, Is(false)))
	none := All(func(y *Expr) *Expr { return Not(t.Mine.At(y)) })
	t.Steps = append(t.Steps, &Step{
		Name: name + " end", In: "tell, WakeList.Wake", Access: Local, From: at, Guard: none, Do: []Update{t.TPC.Set(then)},
	})
}

// signal has Signal and Broadcast, and what others choose.
func (t *CondTable) signal() {
	tx, tail := t.Tx.V(), t.Tail.V()
	for _, c := range []struct {
		name, fn                                string
		look, lock, reach, claim, clear, n, end int64
	}{
		{"signal", "Cond.Signal", SignalLook, SignalLock, SignalReach, SignalClaim, SignalClear, SignalN, SignalEnd},
		{"broadcast", "Cond.Broadcast", BroadLook, BroadLock, BroadReach, BroadClaim, BroadClear, BroadN, BroadEnd},
	} {
		broadcast := c.look == BroadLook
		next := c.end
		if broadcast {
			next = c.claim
		}
		t.out(c.name+".look", c.fn, WordRead, c.look, c.lock, t.Occ.V())
		t.out(c.name+".none", c.fn, WordRead, c.look, CondDone, Not(t.Occ.V()))
		t.locks(c.name+".lock", c.fn, c.lock, c.reach, True)
		t.in(c.name+".reach", c.fn, Local, c.reach, c.claim, t.last(tx), t.HasReach.Set(True), t.Reach.Set(tx), t.Latest.Set(tail))
		t.in(c.name+".empty", c.fn, Local, c.reach, c.claim, t.lineEmpty(), t.HasReach.Set(Is(false)), t.Latest.Set(tail))
		t.in(c.name+".nobody", "Cond.claimLocked", Local, c.claim, c.end, Not(t.HasReach.V()))
		t.inTo(c.name+".claim", "Cond.claimLocked", Local, c.claim, If(t.alone(tx), Num(c.clear), Num(c.n)),
			And(t.HasReach.V(), t.first(tx)), t.claim(tx, broadcast, tail)...)
		t.in(c.name+".clear", "Cond.removeLocked", WordWrite, c.clear, c.n, True, t.Occ.Set(Is(false)))
		t.in(c.name+".n", "Cond.claimLocked", Local, c.n, next, True, t.By.SetAt(t.W.V(), Is(broadcast)))
		t.unlocks(c.name+".end", c.fn, c.end, Num(TellMine))
	}
	t.tells("tell", TellMine, Num(CondDone))

	asleep := And(t.Cl.At(tx), Not(t.Woken.At(tx)), Not(t.Got.At(tx)), Not(t.claims(tx)))
	t.out("another tells", "", Wakes, CondDone, CondDone, asleep, t.Woken.SetAt(tx, True))
	t.choice()
	t.out("observe", "Cond.setObserved", WordWrite, CondDone, CondDone, True, t.Obs.Set(Not(t.Obs.V())))
	t.choice()
	t.out("another locks L", "", LLock, CondDone, CondDone, Not(t.L.V()), t.L.Set(True))
	t.choice()
	t.out("another unlocks L", "", LUnlock, CondDone, CondDone, t.L.V(), t.L.Set(Is(false)))
	t.choice()
}

// First is the first state.
func (t *CondTable) First() (s State) {
	s.Set(t.Tail, 1)
	s.Set(t.Latest, 1)
	return s
}

// canon renumbers places, which grow without end, and forgets what nobody knows any more.
func (t *CondTable) canon(_ *Table, s *State, nodes int) {
	old := *s
	used := func(x int) bool { return old.GetAt(t.In, x) == 1 || old.GetAt(t.Cl, x) == 1 }
	rank := func(place int) int {
		r := 1
		for x := range nodes {
			if used(x) && old.GetAt(t.Pos, x) < place {
				r++
			}
		}
		return r
	}
	for x := range nodes {
		s.SetAt(t.Pos, x, 0)
		s.SetAt(t.Lim, x, 0)
		if used(x) {
			s.SetAt(t.Pos, x, rank(old.GetAt(t.Pos, x)))
		}
		if old.GetAt(t.Cl, x) == 0 {
			s.SetAt(t.Broad, x, 0)
		} else {
			s.SetAt(t.Lim, x, rank(old.GetAt(t.Lim, x)))
		}
	}
	s.Set(t.Tail, rank(old.Get(t.Tail)))
	s.Set(t.Latest, rank(old.Get(t.Latest)))
	if !s.Is(t.HasReach) {
		s.Set(t.Reach, 0)
	}
	switch at := int64(s.Get(t.PC)); {
	case at == CondFree:
		s.Set(t.W, 0)
		s.Set(t.Own, 0)
	case at < SignalReach:
		s.Set(t.W, 0)
	case at <= BroadEnd:
		s.Set(t.Own, 0)
	}
}
