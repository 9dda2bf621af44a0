package table

// A parker's wait: internal/waiting/parker.go, wait.go and watch.go. A parker has one owner, and
// its node at most one claimer. Its watch has any number of other parkers and one fire, under the
// lock of the watch. So where these are, are variables of the table.
//
// A parker is used again and again: with a new context each time, unless it stays with its watch.
// The sleeper is the abstract one, for which each call is one step (its own table: sleeper.go).

// ParkerTable is the parker's table, with its variables for the tie.
type ParkerTable struct {
	*Table

	Line, N, Outcome *Var // the node: in a line, what it asks for, and whether it was granted that
	Tok, Nud         *Var // what is there for the sleeper
	Err, Over        *Var // the context of the wait has an error; its channel is closed
	W, Linked        *Var // the parker has a watch; it is in its list
	Fired, Mu, Idle  *Var // the watch: it has fired; who has its lock; which parker is idle
	GotTok, GotNud   *Var // what the owner has taken

	Kind, Foreign     *Var // what ends the wait; its context may say what it likes
	Asks              *Var // the call asks the context after the wake-up
	Claimed, Nudged   *Var // what the owner that leaves has found
	Ln                *Var // its copy of N
	At, Grants        *Var // where the claimer is; whether the node was claimed with a grant
	F                 *Var // where the fire of the watch is
	Before            *Var // ghost: the context had ended before the claim
	Owed, Permits     *Var // ghosts: what is to be given back, or being kept; what has been granted and is neither back nor its owner's
	Tn, Twait, Tends  *Var // how many permits; the call is Wait; its wait had a context,
	Tforeign, Tpanics *Var // a foreign one; the context has panicked
	Tcheap, Tget      *Var // the parker that get finds sleeps in the cheapest way; get parts from one
	TRes              *Var
}

// What the steps of a parker access, besides MuLock and MuUnlock, which are of the watch, LineRead,
// LineWrite and GivesBack.
const (
	Sleeps Access = 50 + iota // looks for wake-ups, and takes all that are there
	Wakes
	IdleRead
	IdleWrite
	CtxRead
)

// What ends a wait.
const (
	Plain   = iota // the outcome alone
	Timed          // or a time
	Selects        // or a context, in a select
	Watched        // or the watch of a context
)

// Who has the lock of the watch.
const (
	MuFree = iota
	MuOwner
	MuFire
	MuOther
)

// Which parker is idle.
const (
	NoneIdle = iota
	MineIdle
	OtherIdle
)

// The places of a parker's owner, then those of others.
const (
	ParkerPooled int64 = iota // nobody's
	ParkerIdle                // nobody's, and kept by its watch
	GetLock                   // get: comes from the pool
	GetLook
	GetEnd
	GetLate
	ParkerHeld
	ParkerQueued
	ParkSleep
	ParkBoth // its select could do either
	ParkTook
	ParkAsk
	LeaveUnlink
	LeaveN
	LeaveLock // Withdraw
	LeaveLook
	LeaveEnd
	LeaveSleep
	LeavePut
	PutLook
	PutSwap
	PartLock
	PartLook
	PartEnd
	PartSleep
	NotClaimed // the claimer
	ClaimedOutcome
	ClaimedWake
	FireNone // the watch
	FireMark
	FireSend
	FireLock
	IdleLook // calls get
	IdleSwap
	PoolGet
	OtherLock // has another parker
	OtherUnlock
	OtherPut
	LeaveGive // has put the parker
	LeaveErr
	KeepLook // was granted without a wait
	KeepGive
	ParkerIn // the thread under test is the owner
	ParkerDone
)

var parkerPlaces = []string{
	"pooled", "idle", "get-lock", "get-look", "get-end", "get-late", "held", "queued", "sleep", "both", "took", "ask",
	"unlink", "n", "remove", "remove-look", "remove-end", "withdraw", "leave-put", "put", "put-swap",
	"part", "part-look", "part-end", "part-sleep", "nobody", "claimed", "claimed-wake",
	"not firing", "fire-mark", "fire-send", "fire", "get", "get-swap", "pool", "other", "other-end", "other-put",
	"give", "error", "keep", "keep-give", "owner", "over",
}

// Parker returns the table.
func Parker() *ParkerTable {
	t := bareParker()
	t.defects()
	t.finish()
	return t
}

func bareParker() *ParkerTable {
	t := &ParkerTable{Table: &Table{Name: "parker", Source: "internal/waiting: parker.go, wait.go, watch.go", Places: parkerPlaces}}
	t.Assume = []string{
		"Atomics are sequentially consistent, as Go promises, and a mutex excludes.",
		"A line has a lock, under which a node is in it or not: a claim and Unlink are one step each.",
		"One goroutine at a time is the owner; who claims a node delivers to it, once.",
		"A call of the sleeper is one step (the sleeper's table).",
		"A context has its error before its channel is closed, and its watch fires once, afterwards. A foreign context may say what it likes, and panic.",
		"The program makes no synctest bubbles; the slots in which watches are found are not in the table.",
		"Fairness, for what is said about waiting: each goroutine goes on.",
	}
	t.PC, t.Inside = t.scalar(Owner, Int, "pc"), ParkerIn
	t.Line, t.N, t.Outcome = t.scalar(Shared, Bool, "line"), t.scalar(Shared, Int, "n"), t.scalar(Shared, Bool, "granted")
	t.Tok, t.Nud = t.scalar(Shared, Bool, "token"), t.scalar(Shared, Bool, "nudge")
	t.Err, t.Over = t.scalar(Shared, Bool, "err"), t.scalar(Shared, Bool, "done")
	t.W, t.Linked = t.scalar(Shared, Bool, "watch"), t.scalar(Shared, Bool, "linked")
	t.Fired, t.Mu, t.Idle = t.scalar(Shared, Bool, "fired"), t.scalar(Shared, Int, "mu"), t.scalar(Shared, Int, "idle")
	t.GotTok, t.GotNud = t.scalar(Shared, Bool, "gotToken"), t.scalar(Shared, Bool, "gotNudge")
	t.Kind, t.Foreign = t.scalar(Owner, Int, "kind"), t.scalar(Owner, Bool, "foreign")
	t.Asks = t.scalar(Owner, Bool, "asks")
	t.Claimed, t.Nudged = t.scalar(Owner, Bool, "wasClaimed"), t.scalar(Owner, Bool, "nudged")
	t.Ln = t.scalar(Owner, Int, "copy")
	t.At, t.Grants, t.F = t.scalar(Owner, Int, "claimer"), t.scalar(Owner, Bool, "grants"), t.scalar(Owner, Int, "fire")
	t.Before = t.scalar(Ghost, Bool, "before")
	t.Owed, t.Permits = t.scalar(Ghost, Int, "owed"), t.scalar(Ghost, Int, "permits")
	t.TPC = t.scalar(Thread, Int, "tpc")
	t.Tn, t.Twait, t.Tends = t.scalar(Thread, Int, "tn"), t.scalar(Thread, Bool, "twait"), t.scalar(Thread, Bool, "tends")
	t.Tforeign, t.Tpanics = t.scalar(Thread, Bool, "tforeign"), t.scalar(Thread, Bool, "tpanics")
	t.Tcheap, t.Tget = t.scalar(Thread, Bool, "tcheap"), t.scalar(Thread, Bool, "tget")
	t.TRes = t.scalar(Thread, Int, "tres")
	t.Domains = []Domain{
		{Var: t.Tn, Values: []int{1, 2}},
		{Var: t.Tcheap, Values: []int{0, 1}},
		{Var: t.Twait, Values: []int{0}},
		{Var: t.Tends, Values: []int{0}},
		{Var: t.Tforeign, Values: []int{0}},
		{Var: t.Tpanics, Values: []int{0}},
		{Var: t.Tget, Values: []int{0}},
	}
	t.use()
	t.get()
	t.wait()
	t.leave()
	t.put()
	t.others()
	t.says()
	t.Canon = t.canon
	return t
}

func (t *ParkerTable) at(places ...int64) *Expr  { return oneOf(t.PC, places...) }
func (t *ParkerTable) kind(kinds ...int64) *Expr { return oneOf(t.Kind, kinds...) }
func (t *ParkerTable) res(n int64) Update        { return t.TRes.Set(Num(n)) }
func (t *ParkerTable) mu(who int64) *Expr        { return Eq(t.Mu.V(), Num(who)) }

// there says that a wake-up is there.
func (t *ParkerTable) there() *Expr { return Or(t.Tok.V(), t.Nud.V()) }

// in adds a step of the owner.
func (t *ParkerTable) in(name, fn string, a Access, from, to int64, guard *Expr, do ...Update) {
	do = append(do, t.PC.Set(Num(to)))
	if to == ParkerPooled || to == ParkerIdle || to == ParkerHeld {
		do = append([]Update{t.TPC.Set(Num(ParkerDone))}, do...) // unless the call goes on
	}
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: a, From: from, Inside: true, Guard: guard, Do: do})
}

// out adds a step of another thread, or of a claimer or the fire.
func (t *ParkerTable) out(name, fn string, a Access, from, to int64, guard *Expr, do ...Update) {
	do = append(do, t.TPC.Set(Num(to)))
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: a, From: from, Guard: guard, Do: do})
}

// choice says that the last step is another's choice.
func (t *ParkerTable) choice() { t.Steps[len(t.Steps)-1].Choice = true }

func no(vars ...*Var) (all []Update) {
	for _, v := range vars {
		all = append(all, v.Set(Is(false)))
	}
	return all
}

// use has what the owner, and the lock that it waits for, choose.
func (t *ParkerTable) use() {
	for kind, name := range []string{"gets a plain one", "gets a timed one", "gets one that selects"} {
		t.in(name, "GetParker", Local, ParkerPooled, ParkerHeld, True, t.Kind.Set(Num(int64(kind))))
		t.choice()
	}
	for _, foreign := range []bool{false, true} {
		name := "another context"
		if foreign {
			name = "a foreign context"
		}
		t.in(name, "", Local, ParkerPooled, ParkerPooled, True, append(no(t.Err, t.Over, t.Fired, t.Before),
			t.F.Set(Num(FireNone)), t.Mu.Set(Num(MuFree)), t.Idle.Set(Num(NoneIdle)), t.Foreign.Set(Is(foreign)))...)
		t.choice()
	}
	t.in("queues", "", LineWrite, ParkerHeld, ParkerQueued, True, t.Line.Set(True), t.N.Set(t.Tn.V()))
	t.choice()
	t.in("calls Wait", "", Local, ParkerQueued, ParkSleep, True, t.Asks.Set(True))
	t.choice()
	t.in("calls Notified", "", Local, ParkerQueued, ParkSleep, True, t.Asks.Set(Is(false)))
	t.choice()
	t.in("calls Leave", "", Local, ParkerQueued, LeaveUnlink, True, t.Asks.Set(Is(false)))
	t.choice()
	t.in("calls Put", "", Local, ParkerHeld, PutLook, True)
	t.choice()
}

// get has watch.get.
func (t *ParkerTable) get() {
	const fn = "watch.get"
	idle := t.Idle.V()
	none, mine, other := Eq(idle, Num(NoneIdle)), Eq(idle, Num(MineIdle)), Eq(idle, Num(OtherIdle))
	empty := t.Idle.Set(Num(NoneIdle))
	watched := t.Kind.Set(Num(Watched))
	t.out("get.none", fn, IdleRead, IdleLook, PoolGet, none)
	t.out("get.some", fn, IdleRead, IdleLook, IdleSwap, Not(none))
	t.out("get.mine", fn, IdleWrite, IdleSwap, ParkerDone, And(mine, t.Tcheap.V()), empty,
		t.PC.Set(Num(ParkerHeld)), watched, t.res(1))
	t.out("get.not cheap", fn, IdleWrite, IdleSwap, ParkerIn, And(mine, Not(t.Tcheap.V())), empty,
		t.PC.Set(Num(PartLock)), t.Tget.Set(True))
	t.out("get.other", fn, IdleWrite, IdleSwap, ParkerDone, other, empty, t.res(2))
	t.out("get.late", fn, IdleWrite, IdleSwap, PoolGet, none)
	t.out("pool.mine", fn, Local, PoolGet, ParkerIn, t.at(ParkerPooled), t.PC.Set(Num(GetLock)))
	t.out("pool.other", fn, Local, PoolGet, OtherLock, True)
	t.in("get.lock", fn, MuLock, GetLock, GetLook, t.mu(MuFree), t.Mu.Set(Num(MuOwner)))
	t.in("get.link", fn, Local, GetLook, GetEnd, Not(t.Fired.V()), t.W.Set(True), t.Linked.Set(True), watched)
	t.in("get.fired", fn, Local, GetLook, GetLate, t.Fired.V())
	t.in("get.end", fn, MuUnlock, GetEnd, ParkerHeld, True, t.Mu.Set(Num(MuFree)), t.res(1))
	t.in("get.too late", fn, MuUnlock, GetLate, ParkerPooled, True, t.Mu.Set(Num(MuFree)), t.res(0))
}

// takes are the updates with which the owner takes what is there.
func (t *ParkerTable) takes() []Update {
	return append(no(t.Tok, t.Nud), t.GotTok.Set(Or(t.GotTok.V(), t.Tok.V())), t.GotNud.Set(Or(t.GotNud.V(), t.Nud.V())))
}

// ends are the updates with which the wait ends by its outcome.
func (t *ParkerTable) ends() []Update {
	return append(no(t.GotTok, t.GotNud), t.TRes.Set(If(t.Outcome.V(), Num(1), Num(2))),
		t.Permits.Set(Sub(t.Permits.V(), If(t.Outcome.V(), t.N.V(), Num(0)))))
}

// wait has Wait up to where the wait ends, by its outcome or otherwise.
func (t *ParkerTable) wait() {
	const fn, sleep = "Parker.Woken", "Parker.sleepUnlessDone"
	there, ended := t.there(), t.res(0)
	t.in("sleep.plain", fn, Sleeps, ParkSleep, ParkerHeld, And(t.kind(Plain, Timed), there), append(t.ends(), no(t.Tok, t.Nud)...)...)
	t.in("sleep.timed out", fn, Local, ParkSleep, LeaveUnlink, t.kind(Timed), ended)
	t.in("sleep.watched", sleep, Sleeps, ParkSleep, ParkTook, And(t.kind(Watched), there), t.takes()...)
	selects := t.kind(Selects)
	t.in("select.woken", sleep, Sleeps, ParkSleep, ParkTook, And(selects, there, Not(t.Over.V())), t.takes()...)
	t.in("select.done", sleep, Sleeps, ParkSleep, ParkTook, And(selects, Not(there), t.Over.V()))
	t.in("select.both", sleep, Sleeps, ParkSleep, ParkBoth, And(selects, there, t.Over.V()))
	t.in("both.woken", sleep, Sleeps, ParkBoth, ParkTook, there, t.takes()...)
	t.in("both.done", sleep, Local, ParkBoth, ParkTook, True)
	token := And(t.GotTok.V(), Not(t.GotNud.V()))
	t.in("took.nudge", "Parker.wokenUnlessDone", Local, ParkTook, LeaveUnlink, Not(token), ended)
	t.in("took.token", "Parker.Notified", Local, ParkTook, ParkerHeld, And(token, Not(t.Asks.V())), t.ends()...)
	t.in("took.ask", "Parker.wokenUnlessDone", Local, ParkTook, ParkAsk, And(token, t.Asks.V()))
	foreign := t.Foreign.V()
	t.in("ask.no", "Parker.wokenUnlessDone", CtxRead, ParkAsk, ParkerHeld, Or(foreign, Not(t.Err.V())), t.ends()...)
	t.in("ask.over", "Parker.wokenUnlessDone", CtxRead, ParkAsk, LeaveUnlink, Or(foreign, t.Err.V()), ended)
	t.in("ask.panics", "WokenIn", CtxRead, ParkAsk, LeaveUnlink, foreign, t.res(3), t.Tpanics.Set(True))
}

// leave has Leave, and Withdraw.
func (t *ParkerTable) leave() {
	const fn = "Parker.Withdraw"
	line := t.Line.V()
	t.in("leave.unlink", "Leave", LineWrite, LeaveUnlink, LeaveN, line, append(no(t.Line), t.Claimed.Set(Is(false)))...)
	t.in("leave.claimed", "Leave", LineRead, LeaveUnlink, LeaveN, Not(line), t.Claimed.Set(True))
	t.in("leave.n", "Leave", Local, LeaveN, LeaveSleep, Not(t.W.V()), t.Ln.Set(t.N.V()))
	t.in("leave.n watched", "Leave", Local, LeaveN, LeaveLock, t.W.V(), t.Ln.Set(t.N.V()))
	t.removes("leave", LeaveLock, LeaveLook, LeaveEnd, LeaveSleep)
	enough := And(Implies(t.Claimed.V(), t.GotTok.V()), Implies(t.Nudged.V(), t.GotNud.V()))
	t.in("withdraw.sleep", fn, Sleeps, LeaveSleep, LeaveSleep, And(Not(enough), t.there()), t.takes()...)
	t.in("withdraw.enough", fn, Local, LeaveSleep, LeavePut, enough)
	granted := And(t.Claimed.V(), t.Outcome.V())
	t.in("withdraw.put", fn, Local, LeavePut, ParkerPooled, True, append(no(t.GotTok, t.GotNud, t.Nudged),
		t.Owed.Set(Add(t.Owed.V(), If(granted, t.Ln.V(), Num(0)))),
		t.TPC.Set(If(granted, Num(LeaveGive), Num(LeaveErr))), t.Tn.Set(t.Ln.V()), t.Twait.Set(t.Asks.V()),
		t.Tends.Set(t.kind(Selects, Watched)), t.Tforeign.Set(t.Foreign.V()))...)
	t.out("leave.give", "Leave", GivesBack, LeaveGive, LeaveErr, True, t.given()...)
	asks := And(t.Twait.V(), Not(t.Tpanics.V()))
	t.out("error.none", "EndWait", Local, LeaveErr, ParkerDone, Not(And(asks, t.Tends.V())))
	t.out("error", "EndWait", CtxRead, LeaveErr, ParkerDone, And(asks, t.Tends.V()))
	t.out("error.panics", "EndWait", CtxRead, LeaveErr, ParkerDone, And(asks, t.Tends.V(), t.Tforeign.V()), t.res(3))
}

// given are the updates with which what is owed is given back, or kept.
func (t *ParkerTable) given() []Update {
	return []Update{t.Owed.Set(Sub(t.Owed.V(), t.Tn.V())), t.Permits.Set(Sub(t.Permits.V(), t.Tn.V()))}
}

// removes adds the steps of watch.remove.
func (t *ParkerTable) removes(name string, lock, look, end, then int64) {
	const fn = "watch.remove"
	t.in(name+".lock", fn, MuLock, lock, look, t.mu(MuFree), t.Mu.Set(Num(MuOwner)))
	t.in(name+".fired", fn, Local, look, end, t.Fired.V(), t.W.Set(Is(false)), t.Nudged.Set(True))
	t.in(name+".remove", fn, Local, look, end, Not(t.Fired.V()), append(no(t.W, t.Linked), t.Nudged.Set(Is(false)))...)
	t.in(name+".end", fn, MuUnlock, end, then, True, t.Mu.Set(Num(MuFree)))
}

// put has Put, with what the watch does then.
func (t *ParkerTable) put() {
	const fn = "watch.put"
	none := Eq(t.Idle.V(), Num(NoneIdle))
	t.in("put.pool", "Parker.Put", Local, PutLook, ParkerPooled, Not(t.W.V()))
	t.in("put.look", fn, IdleRead, PutLook, PutSwap, And(t.W.V(), none))
	t.in("put.taken", fn, IdleRead, PutLook, PartLock, And(t.W.V(), Not(none)))
	t.in("put.idle", fn, IdleWrite, PutSwap, ParkerIdle, none, t.Idle.Set(Num(MineIdle)))
	t.in("put.late", fn, IdleRead, PutSwap, PartLock, Not(none))
	t.removes("part", PartLock, PartLook, PartEnd, PartSleep)
	// A parker that get has no use for goes this way, too; then get takes another one.
	then := t.TPC.Set(If(t.Tget.V(), Num(PoolGet), Num(ParkerDone)))
	t.in("part.sleep", "watch.part", Sleeps, PartSleep, ParkerPooled, And(t.Nudged.V(), t.there()),
		append(no(t.Tok, t.Nud, t.Nudged), then)...)
	t.in("part.pool", "watch.part", Local, PartSleep, ParkerPooled, Not(t.Nudged.V()), then)
}

// others has the claimer, the context and its watch, other parkers of that, and Keep.
func (t *ParkerTable) others() {
	nobody := Eq(t.At.V(), Num(NotClaimed))
	t.out("claims with a grant", "", LineWrite, ParkerDone, ClaimedOutcome, And(t.Line.V(), nobody), append(no(t.Line),
		t.At.Set(Num(ClaimedOutcome)), t.Grants.Set(True), t.N.Set(t.Tn.V()), t.Permits.Set(Add(t.Permits.V(), t.Tn.V())),
		t.Before.Set(t.Err.V()))...)
	t.choice()
	t.out("claims without", "", LineWrite, ParkerDone, ClaimedOutcome, And(t.Line.V(), nobody), append(no(t.Line, t.Grants),
		t.At.Set(Num(ClaimedOutcome)), t.Before.Set(t.Err.V()))...)
	t.choice()
	is := func(place int64) *Expr { return Eq(t.At.V(), Num(place)) }
	t.out("deliver", "Waiter.Deliver", Local, ClaimedOutcome, ClaimedWake, is(ClaimedOutcome),
		t.Outcome.Set(t.Grants.V()), t.At.Set(Num(ClaimedWake)))
	t.out("deliver.wake", "sleeping.Wake", Wakes, ClaimedWake, ParkerDone, is(ClaimedWake),
		t.Tok.Set(True), t.At.Set(Num(NotClaimed)))

	t.out("context has an error", "", Local, ParkerDone, ParkerDone, Not(t.Err.V()), t.Err.Set(True))
	t.choice()
	t.out("context's channel closes", "", Local, ParkerDone, ParkerDone, And(t.Err.V(), Not(t.Over.V())), t.Over.Set(True))
	t.choice()
	fires := func(place int64) *Expr { return Eq(t.F.V(), Num(place)) }
	const fn = "watch.fire"
	t.out("fire.lock", fn, MuLock, FireLock, FireMark, And(fires(FireNone), t.Over.V(), Not(t.Fired.V()), t.mu(MuFree)),
		t.Mu.Set(Num(MuFire)), t.F.Set(Num(FireMark)))
	t.out("fire.mark", fn, Local, FireMark, FireSend, fires(FireMark), t.Fired.Set(True), t.F.Set(Num(FireSend)))
	t.out("fire.send", fn, Wakes, FireSend, FireSend, And(fires(FireSend), t.Linked.V()), t.Nud.Set(True), t.Linked.Set(Is(false)))
	t.out("fire.end", fn, MuUnlock, FireSend, ParkerDone, And(fires(FireSend), Not(t.Linked.V())),
		t.Mu.Set(Num(MuFree)), t.F.Set(Num(FireNone)))

	none := Eq(t.Idle.V(), Num(NoneIdle))
	t.out("other.lock", "watch.get, watch.remove", MuLock, OtherLock, OtherUnlock, t.mu(MuFree), t.Mu.Set(Num(MuOther)))
	t.out("other.end", "watch.get, watch.remove", MuUnlock, OtherUnlock, ParkerDone, t.mu(MuOther), t.Mu.Set(Num(MuFree)),
		t.TRes.Set(If(t.Fired.V(), Num(0), Num(2))))
	t.out("other.put", "watch.put", IdleWrite, OtherPut, ParkerDone, none, t.Idle.Set(Num(OtherIdle)))
	t.choice()

	t.out("is granted at once", "", Local, ParkerDone, KeepLook, True,
		t.Owed.Set(Add(t.Owed.V(), t.Tn.V())), t.Permits.Set(Add(t.Permits.V(), t.Tn.V())))
	t.choice()
	foreign := t.Foreign.V()
	t.out("keep", "Keep", CtxRead, KeepLook, ParkerDone, Or(foreign, Not(t.Err.V())), append(t.given(), t.res(1))...)
	t.out("keep.over", "Keep", CtxRead, KeepLook, KeepGive, Or(foreign, t.Err.V()), t.res(0))
	t.out("keep.panics", "Keep", CtxRead, KeepLook, KeepGive, foreign, t.res(3))
	t.out("keep.give", "Keep", GivesBack, KeepGive, ParkerDone, True, t.given()...)
}

// First is the first state.
func (t *ParkerTable) First() (s State) {
	s.Set(t.At, int(NotClaimed))
	s.Set(t.F, int(FireNone))
	return s
}

// canon forgets what nobody knows any more.
func (t *ParkerTable) canon(_ *Table, s *State, _ int) {
	s.Set(t.Permits, s.Get(t.Permits)-s.Get(t.Owed))
	s.Set(t.Owed, 0)
	at := int64(s.Get(t.PC))
	if at < LeaveUnlink || at > LeavePut {
		s.Set(t.Claimed, 0)
	}
	if at < LeaveLock || at > LeavePut {
		s.Set(t.Ln, 0)
	}
	if at <= GetLook || at == GetLate || at >= PutLook {
		s.Set(t.Kind, 0)
	}
	if at <= ParkerQueued || at >= PutLook {
		s.Set(t.Asks, 0)
	}
	if between := at <= ParkerHeld || at >= PutLook; between || s.Is(t.Line) {
		for _, v := range []*Var{t.Grants, t.Before} {
			s.Set(v, 0)
		}
		if between {
			s.Set(t.N, 0)
		}
	}
}
