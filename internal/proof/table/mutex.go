package table

// sync.Mutex with its gate: sync/mutex.go, gate.go, and request.go for its futures. Three things
// belong to at most one thread: the mutex, the admission through the gate, and the lock of the
// bucket where both lines are. So where the holder, the admitted and the bucket's owner are, are
// variables of the table; a thread may be two of them. All other locals constrain nothing, because
// a compare-and-swap compares the whole word.
//
// A request is a node, a goroutine's or a future's. One that has ended may be used again.

// MutexTable is the mutex's table, with its variables for the tie.
type MutexTable struct {
	*Table

	LK, A, F, O *Var // the word: unlocked, locked or sleeping; admitted, full, observing
	G           *Var // the gate: open, closed or waiting
	Used        *Var // the lower half
	In, Pos     *Var // who is in the gate's line, and where
	Left        *Var // the node of a future that its owner has abandoned

	Fut, E *Var // whether a node is a future's; Express

	H, At *Var // where the holder is, and the admitted
	Adm   *Var // the admitted request
	By    *Var // a claimer acts for it
	HF    *Var // the holder is a future that has been told,
	Hn    *Var // this one
	Own   *Var // the request of the bucket's owner

	Inside, Admitted   *Var // ghosts: how many have the mutex, and an admission
	Tail               *Var // ghost
	S                  *Var // ghost: places of the express lane that were used since it was renewed
	Behind             *Var // ghost: Express times the length of the line
	Over, Turns        *Var // ghosts: by how many a request was overtaken; Express for each renewal since it came
	Rank, Place        *Var // ghosts: Express for each request that is to get in before it: now, and when it came
	Tlk, TA, TF, TO    *Var // the thread's copy of the word
	Tw, Tm, TTry, TRes *Var // its request; what the lane lacks; the call is TryLock; a result
	Tx                 *Var // the first of the line
	TEnds, TFull       *Var // its wait may end early; its unlock has ended the lane
}

// What the steps of a mutex access, besides those of the engine: MuLock and MuUnlock are the
// bucket's.
const (
	GateRead Access = 30 + iota
	GateWrite
)

// The states of the gate.
const (
	GateOpen = iota
	GateClosed
	GateWaiting
)

// The states of the lock's bits.
const (
	LockFree = iota
	LockLocked
	LockSleeping
)

// The places in a mutex.
const (
	BucketFree int64 = iota
	QLoad            // enqueue
	QCas
	QPass
	QInsert
	QEnd
	QAdmitted
	OLook // open
	ONone
	OPeekNone
	OStore
	OEnd
	OPeek
	OSome
	OTake
	ODeliver
	KLook // goes to sleep in front of the lock
	KWord
	KInsert
	KAsleep
	KAwake
	KLeft
	XLook // gives up
	XClose
	XEnd
	XOpen
	XGone
	XTold
	WLook // wakes the admitted
	WNone
	WGoroutine
	WFuture
	WTake
	WHand
	WLost
	WEnd
	WDeliver
	WGive

	AdmNone // the admission: nobody has it
	AdmLoad
	AdmCas
	AdmPark
	AdmParking
	AdmAsleep
	AdmClaimed
	AdmTold
	AdmEnter // TryLock
	AdmPass  // under the bucket's lock
	AdmHeld  // the holder has it
	AdmOpen
	AdmQueue // to open, for others are in line
	AdmOpening
	AdmLeaves
	AdmRefuse

	HoldNone // the mutex: nobody has it
	HoldGot
	HoldIn
	HoldFast // calls Unlock
	HoldPeek
	HoldSlow
	HoldCas
	HoldWake
	HoldWaking
	HoldHand
	HoldGive

	MutexLock // calls Lock
	MutexPeek
	SpinLook // acquire
	SpinTry
	SpinEnd
	GatePass
	GateQueue
	GateWait
	GateGone
	TryLook // calls TryLock
	TrySwap
	TryPass
	CancelLook // gives up a future
	GiveUp     // takes a request out of its line
	TellNext   // has opened the gate
	TellSlept  // has unlocked
	CedeLook
	MutexIn // has the bucket's lock
	MutexDone
)

var mutexPlaces = []string{
	"free", "queue", "queue-swap", "queue-pass", "queue-insert", "queue-end", "queue-admitted",
	"open", "open-none", "open-peek", "open-store", "open-end", "open-some", "open-last", "open-take", "open-deliver",
	"sleep", "sleep-word", "sleep-insert", "sleep-end", "sleep-awake", "sleep-left",
	"leave", "leave-close", "leave-end", "leave-open", "leave-gone", "leave-told",
	"wake", "wake-none", "wake-goroutine", "wake-future", "wake-take", "wake-hand", "wake-lost", "wake-end",
	"wake-deliver", "wake-give",
	"nobody", "attempt", "attempt-swap", "park", "parking", "asleep", "claimed", "told", "enter", "passed", "held",
	"opens", "opens-line", "opening", "leaves", "refuses",
	"no holder", "got", "in", "unlock", "unlock-peek", "unlock-slow", "unlock-swap", "unlock-wake", "waking", "handing",
	"giving",
	"lock", "lock-peek", "spin", "spin-swap", "spin-end", "pass", "queues", "waits", "gone",
	"try", "try-swap", "try-pass", "cancel", "give-up", "tell-next", "tell-slept", "cede", "bucket", "done",
}

// Mutex returns the table.
func Mutex() *MutexTable {
	t := bareMutex()
	t.defects()
	t.finish()
	return t
}

func bareMutex() *MutexTable {
	t := &MutexTable{Table: &Table{Name: "mutex", Source: "sync: mutex.go, gate.go, request.go", Places: mutexPlaces}}
	t.Assume = []string{
		"Atomics are sequentially consistent, as Go promises, and the lock of a bucket excludes.",
		"Who unlocks holds: Unlock and the end of a future are legal, and come once for each lock.",
		"The program makes no synctest bubbles: no mutex is bubbled.",
		"To deliver to a node is one step, after which its owner goes on, or it has given up before (the tables of the sleeper and of a future's node).",
		"Those who observe a mutex change its bit only.",
		"A lane has one place at least, and Express at most; which number is the clock's choice.",
		"Fairness, for what is said about waiting: each holder unlocks one day, and each goroutine goes on.",
	}
	t.PC, t.Table.Inside = t.scalar(Owner, Int, "pc"), MutexIn
	t.LK = t.scalar(Shared, Int, "lock")
	t.A, t.F, t.O = t.scalar(Shared, Bool, "admitted"), t.scalar(Shared, Bool, "full"), t.scalar(Shared, Bool, "observing")
	t.G, t.Used = t.scalar(Shared, Int, "gate"), t.scalar(Shared, Int, "used")
	t.In, t.Pos, t.Left = t.array(Shared, Bool, "line"), t.array(Shared, Int, "pos"), t.array(Shared, Bool, "left")
	t.Fut, t.E = t.array(Rigid, Bool, "future"), t.scalar(Rigid, Int, "Express")
	t.H, t.At = t.scalar(Owner, Int, "holder"), t.scalar(Owner, Int, "admission")
	t.Adm, t.By = t.scalar(Owner, Node, "a"), t.scalar(Owner, Bool, "claimer")
	t.HF, t.Hn = t.scalar(Owner, Bool, "toldFuture"), t.scalar(Owner, Node, "h")
	t.Own = t.scalar(Owner, Node, "w")
	t.Inside, t.Admitted = t.scalar(Ghost, Int, "holders"), t.scalar(Ghost, Int, "admissions")
	t.Tail, t.S, t.Behind = t.scalar(Ghost, Int, "tail"), t.scalar(Ghost, Int, "express"), t.scalar(Ghost, Int, "behind")
	t.Over, t.Turns = t.array(Ghost, Int, "over"), t.array(Ghost, Int, "turns")
	t.Rank, t.Place = t.array(Ghost, Int, "rank"), t.array(Ghost, Int, "place")
	t.TPC = t.scalar(Thread, Int, "tpc")
	t.Tlk, t.TA = t.scalar(Thread, Int, "tlock"), t.scalar(Thread, Bool, "tadmitted")
	t.TF, t.TO = t.scalar(Thread, Bool, "tfull"), t.scalar(Thread, Bool, "tobserving")
	t.Tw, t.Tm = t.scalar(Thread, Node, "tw"), t.scalar(Thread, Int, "tmissing")
	t.TTry, t.TRes = t.scalar(Thread, Bool, "ttry"), t.scalar(Thread, Int, "tres")
	t.Tx = t.scalar(Thread, Node, "tx")
	t.Any = t.Tx
	t.TEnds, t.TFull = t.scalar(Thread, Bool, "tends"), t.scalar(Thread, Bool, "tended")
	t.lock()
	t.queue()
	t.admitted()
	t.open()
	t.unlock()
	t.leave()
	t.says()
	t.domains()
	t.Canon = t.canon
	return t
}

// The vocabulary.

func (t *MutexTable) at(places ...int64) *Expr    { return oneOf(t.PC, places...) }
func (t *MutexTable) adm(places ...int64) *Expr   { return oneOf(t.At, places...) }
func (t *MutexTable) holds(places ...int64) *Expr { return oneOf(t.H, places...) }
func (t *MutexTable) is(lock int64) *Expr         { return Eq(t.LK.V(), Num(lock)) }
func (t *MutexTable) gate(state int64) *Expr      { return Eq(t.G.V(), Num(state)) }
func (t *MutexTable) res(n int64) Update          { return t.TRes.Set(Num(n)) }

func (t *MutexTable) in(name, fn string, a Access, from, to int64, guard *Expr, do ...Update) {
	do = append(do, t.PC.Set(Num(to)))
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: a, From: from, Inside: true, Guard: guard, Do: do})
}

// unlocks adds the step that gives the bucket's lock back.
func (t *MutexTable) unlocks(name, fn string, from int64, then *Expr, do ...Update) {
	t.in(name, fn, MuUnlock, from, BucketFree, True, append(do, t.TPC.Set(then))...)
}

// locks adds the step that gets the bucket's lock.
func (t *MutexTable) locks(name, fn string, from, to int64, guard *Expr, do ...Update) {
	do = append(do, t.PC.Set(Num(to)), t.TPC.Set(Num(MutexIn)))
	t.Steps = append(t.Steps, &Step{
		Name: name, In: fn, Access: MuLock, From: from, Locks: true, Guard: And(t.at(BucketFree), t.role(from), guard), Do: do,
	})
}

// role says that a thread at that place is the holder, or the admitted, if the place is of one.
func (t *MutexTable) role(place int64) *Expr {
	switch {
	case place >= AdmNone && place < HoldNone:
		return t.adm(place)
	case place >= HoldNone && place < MutexLock:
		return t.holds(place)
	}
	return True
}

// out adds a step of a thread that has not the bucket's lock. If both places are the holder's, or
// both the admitted's, it moves him.
func (t *MutexTable) out(name, fn string, a Access, from, to int64, guard *Expr, do ...Update) {
	t.outTo(name, fn, a, from, Num(to), guard, do...)
	s := t.Steps[len(t.Steps)-1]
	switch {
	case from >= AdmNone && from < HoldNone && to >= AdmNone && to < HoldNone:
		s.Do = append(s.Do, t.At.Set(Num(to)))
	case from >= HoldNone && from < MutexLock && to >= HoldNone && to < MutexLock:
		s.Do = append(s.Do, t.H.Set(Num(to)))
	}
}

func (t *MutexTable) outTo(name, fn string, a Access, from int64, to, guard *Expr, do ...Update) {
	do = append(do, t.TPC.Set(to))
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: a, From: from, Guard: And(t.role(from), guard), Do: do})
}

// choice says that the last step is another's choice, not the code's.
func (t *MutexTable) choice() { t.Steps[len(t.Steps)-1].Choice = true }

func (t *MutexTable) look() []Update {
	return []Update{t.Tlk.Set(t.LK.V()), t.TA.Set(t.A.V()), t.TF.Set(t.F.V()), t.TO.Set(t.O.V())}
}

func (t *MutexTable) same() *Expr {
	return And(Eq(t.LK.V(), t.Tlk.V()), Eq(t.A.V(), t.TA.V()), Eq(t.F.V(), t.TF.V()), Eq(t.O.V(), t.TO.V()))
}

// lane says that what the thread has read leaves the express lane open.
func (t *MutexTable) lane() *Expr {
	return And(Eq(t.Tlk.V(), Num(LockFree)), Not(t.TA.V()), Not(t.TF.V()))
}

// waits says that x is in line, or admitted and not in yet.
func (t *MutexTable) waits(x *Expr) *Expr { return Or(t.In.At(x), And(t.pending(), Eq(t.Adm.V(), x))) }

// pending says that the admitted is not in yet.
func (t *MutexTable) pending() *Expr {
	return t.adm(AdmLoad, AdmCas, AdmPark, AdmParking, AdmAsleep, AdmClaimed, AdmTold, AdmEnter, AdmPass)
}

func (t *MutexTable) each(of, then func(x *Expr) *Expr) *Expr {
	return All(func(x *Expr) *Expr { return Implies(of(x), then(x)) })
}

func (t *MutexTable) inLine(x *Expr) *Expr { return t.In.At(x) }

func (t *MutexTable) lineEmpty() *Expr {
	return All(func(x *Expr) *Expr { return Not(t.In.At(x)) })
}

// lineOfOne says that x is alone in line.
func (t *MutexTable) lineOfOne(x *Expr) *Expr {
	return And(t.In.At(x), t.each(t.inLine, func(y *Expr) *Expr { return Eq(x, y) }))
}

// first says that x is the first of the line.
func (t *MutexTable) first(x *Expr) *Expr {
	return And(t.In.At(x), t.each(t.inLine, func(y *Expr) *Expr { return LessEq(t.Pos.At(x), t.Pos.At(y)) }))
}

// told says that x is a future that has the mutex, and knows it.
func (t *MutexTable) told(x *Expr) *Expr { return And(t.HF.V(), Eq(t.Hn.V(), x)) }

// isAdmitted says that x is admitted, and is still needed. One that has given up is not, nor is one
// that is in, unless it is a future that has to be told.
func (t *MutexTable) isAdmitted(x *Expr) *Expr {
	return And(Eq(t.Adm.V(), x), Or(t.pending(), t.adm(AdmRefuse), And(t.adm(AdmHeld), t.holds(HoldGot, HoldHand, HoldGive))))
}

// fresh says that no request uses x.
func (t *MutexTable) fresh(x *Expr) *Expr {
	return And(Not(t.In.At(x)), Not(t.isAdmitted(x)), Not(t.told(x)), Not(t.Left.At(x)),
		Not(And(t.at(QLoad, QCas, QPass, QInsert), Eq(t.Own.V(), x))))
}

// claimed says that a claimer is at work for the future x.
func (t *MutexTable) claimed(x *Expr) *Expr {
	return And(t.Fut.At(x), Eq(t.Adm.V(), x), Or(t.adm(AdmClaimed),
		And(t.By.V(), t.adm(AdmLoad, AdmCas, AdmPark, AdmParking)),
		And(t.adm(AdmHeld), Or(And(t.holds(HoldGot), t.By.V()), t.holds(HoldHand, HoldGive)))))
}

// took are the updates with which request x takes the mutex on the express lane.
func (t *MutexTable) took(x *Expr) []Update {
	return []Update{
		t.LK.Set(Num(LockLocked)), t.H.Set(Num(HoldGot)), t.Inside.Set(Add(t.Inside.V(), Num(1))),
		t.HF.Set(t.Fut.At(x)), t.Hn.Set(x), t.S.Set(Add(t.S.V(), Num(1))),
		t.Over.SetAll(func(x *Expr) *Expr { return If(t.waits(x), Add(t.Over.At(x), Num(1)), Num(0)) }),
	}
}

// entered are the updates with which the admitted gets the mutex, beside those who had it.
func (t *MutexTable) entered(h int64, inside *Expr) []Update {
	return cat([]Update{
		t.LK.Set(Num(LockLocked)), t.A.Set(True), t.H.Set(Num(h)), t.At.Set(Num(AdmHeld)), t.HF.Set(Is(false)),
		t.Inside.Set(Add(inside, Num(1))),
		t.S.Set(Num(0)),
		t.Turns.SetAll(func(x *Expr) *Expr { return If(t.In.At(x), Add(t.Turns.At(x), t.E.V()), Num(0)) }),
	}, t.goesOn())
}

// goesOn are the updates with which the admitted gets in, or gives up: all behind him are one
// nearer.
func (t *MutexTable) goesOn() []Update {
	return []Update{t.Rank.SetAll(func(x *Expr) *Expr { return If(t.In.At(x), Sub(t.Rank.At(x), t.E.V()), Num(0)) })}
}

// passes are the updates with which request x passes the open gate.
func (t *MutexTable) passes(x *Expr, at int64) []Update {
	return []Update{
		t.G.Set(Num(GateClosed)), t.At.Set(Num(at)), t.Adm.Set(x), t.By.Set(Is(false)),
		t.Admitted.Set(Add(t.Admitted.V(), Num(1))),
		t.Over.SetAt(x, Num(0)), t.Turns.SetAt(x, Num(0)), t.Rank.SetAt(x, Num(0)), t.Place.SetAt(x, Num(0)),
	}
}

// freed are the updates of an unlock.
func (t *MutexTable) freed() []Update {
	return []Update{
		t.LK.Set(Num(LockFree)), t.H.Set(Num(HoldNone)), t.HF.Set(Is(false)), t.Inside.Set(Sub(t.Inside.V(), Num(1))),
	}
}

// endOfLane are the updates of an unlock on the express lane.
func (t *MutexTable) endOfLane() []Update {
	last := LessEq(t.E.V(), t.Used.V())
	return append(t.freed(), t.F.Set(last), t.TFull.Set(last))
}

// lock has Lock, TryLock, and the start of a future, up to the gate.
func (t *MutexTable) lock() {
	tw := t.Tw.V()
	zero := And(t.is(LockFree), Not(t.A.V()), Not(t.F.V()), Not(t.O.V()))
	t.out("Lock.fast", "Mutex.Lock", WordWrite, MutexLock, HoldGot, And(zero, Not(t.Fut.At(tw))), t.took(tw)...)
	t.out("Lock.slow", "Mutex.Lock", WordRead, MutexLock, MutexPeek, Not(zero))
	t.out("Lock.peek", "Mutex.mayBeObserved", WordRead, MutexPeek, SpinLook, True)

	t.out("spin.look", "Mutex.spin, takeLane", WordRead, SpinLook, SpinTry, True, t.look()...)
	t.out("spin.take", "Mutex.express", WordWrite, SpinTry, HoldGot, And(t.lane(), t.same(), Implies(t.Fut.At(tw), t.fresh(tw))), t.took(tw)...)
	t.out("spin.lost", "Mutex.express", WordRead, SpinTry, SpinEnd, And(t.lane(), Not(t.same())))
	t.out("spin.not", "Mutex.express", Local, SpinTry, SpinEnd, Not(t.lane()))
	t.out("spin.again", "Mutex.spin", Local, SpinEnd, SpinLook, Not(t.TF.V()))
	t.choice()
	t.out("spin.end", "Mutex.spin, takeLane", Local, SpinEnd, GatePass, True)

	// What is the holder's has been written when Lock returns. A future that its owner has just
	// started knows at once.
	t.outTo("count", "Mutex.express, Mutex.Lock", Local, HoldGot, Num(MutexDone), Not(t.A.V()),
		t.H.Set(Num(HoldIn)), t.Used.Set(Add(t.Used.V(), Num(1))), t.res(1))
	missing := And(LessEq(Num(0), t.Tm.V()), Less(t.Tm.V(), t.E.V()))
	adm := t.Adm.V()
	t.outTo("renew", "Mutex.renew", Local, HoldGot, Num(MutexDone), And(t.A.V(), Not(t.By.V()), missing),
		t.H.Set(Num(HoldIn)), t.Used.Set(t.Tm.V()), t.HF.Set(t.Fut.At(adm)), t.Hn.Set(adm), t.res(1))
	t.out("renew.claimer", "Mutex.renew", Local, HoldGot, HoldGive, And(t.A.V(), t.By.V(), missing), t.Used.Set(t.Tm.V()))

	t.out("try.look", "Mutex.try", WordRead, TryLook, TrySwap, True, t.look()...)
	t.out("try.not", "Mutex.try", Local, TrySwap, MutexDone, Not(Eq(t.Tlk.V(), Num(LockFree))), t.res(0))
	t.out("try.take", "Mutex.express", WordWrite, TrySwap, HoldGot, And(t.lane(), t.same(), Not(t.Fut.At(tw))), t.took(tw)...)
	t.out("try.lost", "Mutex.express", WordRead, TrySwap, TryLook, And(t.lane(), Not(t.same())))
	full := And(Eq(t.Tlk.V(), Num(LockFree)), Not(t.lane()))
	t.out("try.pass", "gate.tryPass", GateWrite, TrySwap, AdmEnter, And(full, t.gate(GateOpen), t.fresh(tw), Not(t.Fut.At(tw))),
		t.passes(tw, AdmEnter)...)
	t.out("try.closed", "gate.tryPass", GateRead, TrySwap, MutexDone, And(full, Not(t.gate(GateOpen))), t.res(0))
	t.out("try.enter", "Mutex.enter", WordWrite, AdmEnter, HoldGot, And(full, t.same()), t.entered(HoldGot, t.Inside.V())...)
	t.out("try.late", "Mutex.enter", WordRead, AdmEnter, AdmOpen, And(full, Not(t.same())),
		append(t.goesOn(), t.TTry.Set(True))...)
}

// queue has the way through the gate.
func (t *MutexTable) queue() {
	const fn = "gate.enqueue"
	tw, own, e := t.Tw.V(), t.Own.V(), t.E.V()
	t.out("pass", "gate.tryPass", GateWrite, GatePass, AdmLoad, And(t.gate(GateOpen), t.fresh(tw)), t.passes(tw, AdmLoad)...)
	t.out("pass.not", "gate.tryPass", GateRead, GatePass, GateQueue, Not(t.gate(GateOpen)))
	t.locks("queue.lock", fn, GateQueue, QLoad, t.fresh(tw), t.Own.Set(tw))
	t.in("queue.waiting", fn, GateRead, QLoad, QInsert, t.gate(GateWaiting))
	t.in("queue.look", fn, GateRead, QLoad, QCas, Not(t.gate(GateWaiting)))
	t.in("queue.mark", fn, GateWrite, QCas, QInsert, t.gate(GateClosed), t.G.Set(Num(GateWaiting)))
	t.in("queue.not", fn, GateRead, QCas, QPass, Not(t.gate(GateClosed)))
	t.in("queue.pass", fn, GateWrite, QPass, QAdmitted, t.gate(GateOpen), t.passes(own, AdmPass)...)
	t.in("queue.again", fn, GateRead, QPass, QLoad, Not(t.gate(GateOpen)))
	rank := Add(t.Behind.V(), If(t.pending(), e, Num(0)))
	t.in("queue.insert", fn, Local, QInsert, QEnd, True,
		t.In.SetAt(own, True), t.Pos.SetAt(own, t.Tail.V()), t.Tail.Set(Add(t.Tail.V(), Num(1))),
		t.Behind.Set(Add(t.Behind.V(), e)), t.Rank.SetAt(own, rank), t.Place.SetAt(own, rank),
		t.Over.SetAt(own, Num(0)), t.Turns.SetAt(own, Num(0)))
	t.unlocks("queue.end", fn, QEnd, If(t.Fut.At(tw), Num(MutexDone), Num(GateWait)), t.res(0))
	t.unlocks("queue.admitted", fn, QAdmitted, Num(AdmLoad), t.At.Set(Num(AdmLoad)))
	gone := And(t.adm(AdmTold), Eq(t.Adm.V(), tw), Not(t.Fut.At(tw)))
	t.out("wait.go", "gate.pass, sleepAdmitted", Local, GateWait, AdmLoad, gone, t.At.Set(Num(AdmLoad)))
	t.out("wait.end", "waiter.Leave", Local, GateWait, GiveUp, And(t.TEnds.V(), Not(t.Fut.At(tw))))
	t.out("gone.go", "atGate.GiveBack, Mutex.compete", Local, GateGone, AdmOpen, gone,
		append(t.goesOn(), t.At.Set(Num(AdmOpen)), t.res(0))...)
}

// then is where a call goes on that has opened the gate.
func (t *MutexTable) then() *Expr { return If(t.TTry.V(), Num(TryLook), Num(MutexDone)) }

// admitted has the attempt of the admitted, and its sleep in front of the lock.
func (t *MutexTable) admitted() {
	const fn, sleep = "Mutex.attempt", "sleepAdmitted, request.admit"
	then := t.then()
	free, locked := Eq(t.Tlk.V(), Num(LockFree)), Eq(t.Tlk.V(), Num(LockLocked))
	adm := t.Adm.V()
	t.out("attempt.look", fn, WordRead, AdmLoad, AdmCas, True, t.look()...)
	t.out("attempt.enter", "Mutex.enter", WordWrite, AdmCas, HoldGot, And(free, t.same()), t.entered(HoldGot, t.Inside.V())...)
	t.out("attempt.lost", fn, WordRead, AdmCas, AdmLoad, And(Or(free, locked), Not(t.same())))
	t.out("attempt.sleep", fn, WordWrite, AdmCas, AdmPark, And(locked, t.same()), t.LK.Set(Num(LockSleeping)))
	t.out("attempt.asleep", fn, Local, AdmCas, AdmPark, Eq(t.Tlk.V(), Num(LockSleeping)))

	t.locks("sleep.lock", sleep, AdmPark, KLook, True, t.At.Set(Num(AdmParking)))
	t.in("sleep.left", "request.admit", Local, KLook, KLeft, t.Left.At(adm))
	t.in("sleep.here", sleep, Local, KLook, KWord, Not(t.Left.At(adm)))
	t.in("sleep.still", "Mutex.isSleeping", WordRead, KWord, KInsert, t.is(LockSleeping))
	t.in("sleep.not", "Mutex.isSleeping", WordRead, KWord, KAwake, Not(t.is(LockSleeping)))
	t.in("sleep.insert", sleep, Local, KInsert, KAsleep, True, t.At.Set(Num(AdmAsleep)))
	t.unlocks("sleep.asleep", sleep, KAsleep, If(t.By.V(), then, If(t.Fut.At(adm), Num(MutexDone), Num(GateWait))),
		t.TTry.Set(Is(false)), t.TRes.Set(If(t.By.V(), t.TRes.V(), Num(0))))
	t.unlocks("sleep.awake", sleep, KAwake, Num(AdmLoad), t.At.Set(Num(AdmLoad)))
	t.unlocks("sleep.refuse", sleep, KLeft, Num(AdmRefuse), append(t.goesOn(), t.At.Set(Num(AdmRefuse)))...)
	t.out("refuse", "admission.Wake", Local, AdmRefuse, AdmOpen, True, t.Left.SetAt(adm, Is(false)))
}

// open has gate.open, and what follows for whom it admits.
func (t *MutexTable) open() {
	const fn = "gate.open"
	then := t.then()
	fewer := t.Admitted.Set(Sub(t.Admitted.V(), Num(1)))
	t.outTo("open", fn, GateWrite, AdmOpen, then, t.gate(GateClosed),
		t.G.Set(Num(GateOpen)), t.At.Set(Num(AdmNone)), fewer, t.TTry.Set(Is(false)))
	t.out("open.not", fn, GateRead, AdmOpen, AdmQueue, Not(t.gate(GateClosed)))
	t.locks("open.lock", fn, AdmQueue, OLook, True, t.At.Set(Num(AdmOpening)))
	t.in("open.none", fn, Local, OLook, ONone, t.lineEmpty())
	t.in("open.closed", fn, GateRead, ONone, OPeekNone, Not(t.gate(GateOpen)))
	t.in("open.peek none", "Mutex.cedes", WordRead, OPeekNone, OStore, True)
	t.in("open.store", fn, GateWrite, OStore, OEnd, True, t.G.Set(Num(GateOpen)), t.At.Set(Num(AdmNone)), fewer)
	t.in("open.some", fn, Local, OLook, OPeek, Not(t.lineEmpty()))
	t.in("open.peek", "Mutex.cedes", WordRead, OPeek, OSome, True)
	t.in("open.last", fn, GateWrite, OSome, OTake, Any(t.lineOfOne), t.G.Set(Num(GateClosed)))
	t.in("open.more", fn, Local, OSome, OTake, Not(Any(t.lineOfOne)))
	x := t.Tx.V()
	t.in("open.take", fn, Local, OTake, ODeliver, t.first(x),
		t.In.SetAt(x, Is(false)), t.Behind.Set(Sub(t.Behind.V(), t.E.V())),
		t.Adm.Set(x), t.At.Set(Num(AdmClaimed)), t.By.Set(Is(false)))
	t.unlocks("open.end", fn, OEnd, then, t.TTry.Set(Is(false)))
	t.unlocks("open.deliver", fn, ODeliver, Num(TellNext))
	adm := t.Adm.V()
	t.outTo("tell", "Waiter.Deliver", Local, TellNext, then, And(t.adm(AdmClaimed), Not(t.Fut.At(adm))),
		t.At.Set(Num(AdmTold)), t.TTry.Set(Is(false)))
	t.out("tell.future", "admission.Wake", Local, TellNext, AdmLoad, And(t.adm(AdmClaimed), t.Fut.At(adm)),
		t.At.Set(Num(AdmLoad)), t.By.Set(True))
	// The mutex has been taken for a future.
	t.outTo("give", "grantTo, Mutex.wakeAdmitted", Local, HoldGive, then, Not(t.Left.At(adm)),
		t.H.Set(Num(HoldIn)), t.HF.Set(True), t.Hn.Set(adm), t.TTry.Set(Is(false)))
	t.out("give.refused", "grantTo, Mutex.wakeAdmitted", Local, HoldGive, HoldSlow, t.Left.At(adm), t.Left.SetAt(adm, Is(false)))
}

// unlock has Unlock, and the wake-up of the admitted that sleeps.
func (t *MutexTable) unlock() {
	const fn, wake = "Mutex.unlock", "Mutex.wakeAdmitted"
	room := Less(t.Used.V(), t.E.V())
	word := And(t.is(LockLocked), Not(t.A.V()), Not(t.F.V()), Not(t.O.V()))
	tlk := t.Tlk.V()
	for _, c := range []struct {
		name string
		to   int64
	}{{"calls Unlock", HoldFast}, {"gives back", HoldSlow}} {
		t.out(c.name, "", Local, HoldIn, c.to, True, t.HF.Set(Is(false)))
		t.choice()
	}
	t.outTo("Unlock.fast", "Mutex.Unlock", WordWrite, HoldFast, Num(MutexDone), And(room, word), t.freed()...)
	t.out("Unlock.last", "Mutex.Unlock", Local, HoldFast, HoldPeek, Not(room))
	t.out("Unlock.slow", "Mutex.Unlock", WordRead, HoldFast, HoldPeek, And(room, Not(word)))
	t.out("Unlock.peek", "Mutex.mayBeObserved", WordRead, HoldPeek, HoldSlow, True)
	t.out("unlock.look", fn, WordRead, HoldSlow, HoldCas, True, t.look()...)
	express := And(Eq(tlk, Num(LockLocked)), Not(t.TA.V()))
	t.outTo("unlock.express", fn, WordWrite, HoldCas, Num(CedeLook), And(express, t.same()), t.endOfLane()...)
	through := And(Eq(tlk, Num(LockLocked)), t.TA.V())
	t.outTo("unlock.admitted", fn, WordWrite, HoldCas, Num(AdmOpen), And(through, t.same()),
		append(t.freed(), t.A.Set(Is(false)), t.F.Set(Is(false)), t.At.Set(Num(AdmOpen)))...)
	t.out("unlock.lost", fn, WordRead, HoldCas, HoldSlow, And(Eq(tlk, Num(LockLocked)), Not(t.same())))
	asleep := And(Eq(tlk, Num(LockSleeping)), Not(t.TA.V()))
	t.out("unlock.sleeping", fn, Local, HoldCas, HoldWake, asleep)
	t.out("cede.not", "Mutex.cede", Local, CedeLook, MutexDone, Not(t.TFull.V()))
	t.out("cede", "Mutex.cede", GateRead, CedeLook, MutexDone, t.TFull.V())

	there, adm := t.adm(AdmAsleep), t.Adm.V()
	t.locks("wake.lock", wake, HoldWake, WLook, True, t.H.Set(Num(HoldWaking)))
	t.in("wake.none", wake, Local, WLook, WNone, Not(there))
	t.in("wake.goroutine", wake, Local, WLook, WGoroutine, And(there, Not(t.Fut.At(adm))))
	t.in("wake.future", wake, Local, WLook, WFuture, And(there, t.Fut.At(adm)))
	same := And(asleep, t.same())
	t.in("wake.free", wake, WordWrite, WNone, WEnd, same, t.endOfLane()...)
	t.in("wake.free goroutine", wake, WordWrite, WGoroutine, WTake, same, t.endOfLane()...)
	t.in("wake.take", wake, Local, WTake, WDeliver, True, t.At.Set(Num(AdmClaimed)))
	for _, from := range []int64{WNone, WGoroutine, WFuture} {
		t.in("lost "+mutexPlaces[from], wake, WordRead, from, WLost, Not(t.same()))
	}
	t.in("wake.hand", wake, WordWrite, WFuture, WHand, same, append(t.entered(HoldHand, Sub(t.Inside.V(), Num(1))), t.F.Set(Is(false)))...)
	t.in("wake.renew", "Mutex.renew", Local, WHand, WGive, And(LessEq(Num(0), t.Tm.V()), Less(t.Tm.V(), t.E.V())),
		t.Used.Set(t.Tm.V()))
	t.unlocks("wake.again", wake, WLost, Num(HoldSlow), t.H.Set(Num(HoldSlow)))
	t.unlocks("wake.end", wake, WEnd, Num(MutexDone))
	t.unlocks("wake.deliver", wake, WDeliver, Num(TellSlept))
	t.unlocks("wake.give", wake, WGive, Num(HoldGive), t.H.Set(Num(HoldGive)))
	t.out("wake.tell", "Waiter.Deliver", Local, TellSlept, CedeLook, And(t.adm(AdmClaimed), Not(t.Fut.At(adm))),
		t.At.Set(Num(AdmTold)))
}

// leave has what a request does that gives up, and the observers.
func (t *MutexTable) leave() {
	const fn, line = "lockRequest.Unlink", "gate.leaveLocked"
	tw, own := t.Tw.V(), t.Own.V()
	future := t.Fut.At(tw)
	busy := And(Eq(t.Adm.V(), tw), Or(t.claimed(tw), t.adm(AdmAsleep)))
	t.out("cancel.told", "Future.end", Local, CancelLook, HoldSlow, And(t.told(tw), t.holds(HoldIn)),
		t.H.Set(Num(HoldSlow)), t.HF.Set(Is(false)))
	t.out("cancel.idle", "Future.end", Local, CancelLook, MutexDone,
		And(future, Not(t.waits(tw)), Not(t.told(tw)), Not(t.Left.At(tw)), Not(t.claimed(tw))))
	t.out("cancel.waits", "Future.end", Local, CancelLook, GiveUp,
		And(future, Not(t.Left.At(tw)), Or(t.In.At(tw), busy)))

	goroutine := And(Not(future), Eq(t.Adm.V(), tw), t.adm(AdmClaimed, AdmTold))
	t.locks("leave.lock", fn, GiveUp, XLook, And(Not(t.Left.At(tw)), Or(t.In.At(tw), busy, goroutine, t.told(tw))), t.Own.Set(tw))
	last := t.lineOfOne(own)
	nearer := t.Rank.SetAll(func(x *Expr) *Expr {
		return If(And(t.In.At(x), Less(t.Pos.At(own), t.Pos.At(x))), Sub(t.Rank.At(x), t.E.V()), t.Rank.At(x))
	})
	out := []Update{t.In.SetAt(own, Is(false)), t.Behind.Set(Sub(t.Behind.V(), t.E.V())), nearer}
	t.in("leave.last", line, Local, XLook, XClose, last, out...)
	t.in("leave.line", line, Local, XLook, XEnd, And(t.In.At(own), Not(last)), out...)
	t.in("leave.close", line, GateWrite, XClose, XEnd, True, t.G.Set(Num(GateClosed)))
	front := And(t.adm(AdmAsleep), Eq(t.Adm.V(), own))
	t.in("leave.front", "asleep.Unlink, "+fn, Local, XLook, XOpen, front, append(t.goesOn(), t.At.Set(Num(AdmLeaves)))...)
	away := And(Not(t.In.At(own)), Not(front))
	t.in("leave.gone", "atGate.Unlink, asleep.Unlink", Local, XLook, XGone,
		And(away, Not(t.Fut.At(own)), Eq(t.Adm.V(), own), t.adm(AdmClaimed, AdmTold)))
	t.in("leave.abandon", fn, Local, XLook, XEnd, And(away, t.claimed(own)), t.Left.SetAt(own, True))
	t.in("leave.told", fn, Local, XLook, XTold, And(away, t.told(own)))
	t.unlocks("leave.end", fn, XEnd, Num(MutexDone), t.TRes.Set(If(t.Fut.At(tw), t.TRes.V(), Num(0))))
	t.unlocks("leave.open", fn, XOpen, Num(AdmOpen), t.At.Set(Num(AdmOpen)), t.TRes.Set(If(t.Fut.At(tw), t.TRes.V(), Num(0))))
	t.unlocks("leave.wait", fn, XGone, Num(GateGone))
	t.unlocks("leave.back", fn, XTold, Num(CancelLook))

	t.out("observe", "Mutex.setObserved", WordWrite, MutexDone, MutexDone, True, t.O.Set(Not(t.O.V())))
	t.choice()
}

// Roles says what the thread under test has: the mutex, the admission, or a request that it has
// claimed and is to tell.
func (t *MutexTable) Roles(s *State) (holder, admitted, tells bool) {
	at, h, a := int64(s.Get(t.TPC)), int64(s.Get(t.H)), int64(s.Get(t.At))
	if at == MutexIn {
		pc := int64(s.Get(t.PC))
		return h == HoldWaking || h == HoldHand, a == AdmParking || a == AdmOpening || a == AdmLeaves || a == AdmPass,
			pc == ODeliver || pc == WDeliver
	}
	return at >= HoldNone && at < MutexLock, at >= AdmNone && at < HoldNone, at == TellNext || at == TellSlept
}

// OfHolder says that s is a step of the holder.
func (t *MutexTable) OfHolder(s *Step) bool {
	return !s.Inside && s.From >= HoldNone && s.From < MutexLock
}

// OfAdmitted says that s is a step of the admitted.
func (t *MutexTable) OfAdmitted(s *Step) bool {
	return !s.Inside && s.From >= AdmNone && s.From < HoldNone
}

// Tells says that s is a step of one that tells the admitted.
func (t *MutexTable) Tells(s *Step) bool { return s.From == TellNext || s.From == TellSlept }

// Forget drops what only the bound needs: then the table is finite.
func (t *MutexTable) Forget() {
	renumber := t.Canon
	t.Canon = func(table *Table, s *State, nodes int) {
		renumber(table, s, nodes)
		for _, v := range []*Var{t.Over, t.Turns, t.Rank, t.Place} {
			s.arrays[v.slot] = [maxNodes]int8{}
		}
		s.Set(t.S, 0)
		s.Set(t.Behind, 0)
	}
}

// canon renumbers positions, which grow without end, and forgets what nobody knows any more.
func (t *MutexTable) canon(_ *Table, s *State, nodes int) {
	old, n := s.arrays[t.Pos.slot], 0
	for x := range nodes {
		r := 0
		if s.GetAt(t.In, x) == 1 {
			n++
			for y := range nodes {
				if s.GetAt(t.In, y) == 1 && old[y] <= old[x] {
					r++
				}
			}
		}
		s.SetAt(t.Pos, x, r)
	}
	s.Set(t.Tail, n+1)
	if s.Get(t.PC) == int(BucketFree) {
		s.Set(t.Own, 0)
	}
	at, h := int64(s.Get(t.At)), int64(s.Get(t.H))
	waits := at >= AdmLoad && at <= AdmPass
	if !waits && at != AdmRefuse && (at != AdmHeld || h != HoldGot && h != HoldHand && h != HoldGive) {
		s.Set(t.Adm, 0)
		s.Set(t.By, 0)
	}
	if !s.Is(t.HF) {
		s.Set(t.Hn, 0)
	}
	for x := range nodes {
		if s.GetAt(t.In, x) == 0 && (!waits || s.Get(t.Adm) != x) {
			for _, v := range []*Var{t.Over, t.Turns, t.Rank, t.Place} {
				s.SetAt(v, x, 0)
			}
		}
	}
}

func (t *MutexTable) domains() {
	t.Domains = []Domain{
		{Var: t.Tlk, Of: t.LK},
		{Var: t.TA, Of: t.A},
		{Var: t.TF, Of: t.F},
		{Var: t.TO, Of: t.O},
		{Var: t.Tw, Nodes: true},
		{Var: t.Tx, Nodes: true},
		{Var: t.Tm, Values: []int{0, 1}},
		{Var: t.TTry, Values: []int{0}},
		{Var: t.TEnds, Values: []int{1}},
		{Var: t.TFull, Values: []int{0}},
	}
}
