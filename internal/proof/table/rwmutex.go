package table

// sync.RWMutex: sync/rwmutex.go, with gate.go and request.go. The steps at the gate are in gate.go
// of this folder, and are those of a mutex. The holder is the writer. Readers are counted: those
// that read, those that have come in vain and have not removed themselves yet, those that are about
// to add a place, and those that have found the admitted asleep as they left. A goroutine that
// makes a step is one of those that are counted before it. So readers have no number, and there may
// be any number of them.
//
// The admission does not end when a reader gets in: that reader still has to open the gate. For a
// future it is the goroutine that acted for it, which opens the gate as often as the word opening
// says. That goroutine is the opener, of which there is one.

// RWMutexTable is the table of sync.RWMutex, with its variables for the tie.
type RWMutexTable struct {
	*GateTable

	X, A, Z, C, O *Var // the word: a writer, the admitted one; somebody sleeps, somebody waits; it is observed
	Readers, Used *Var // the word: how many readers, and places
	Opening       *Var
	Reader        *Var // whether a node is a reader's
	Most          *Var // how many goroutines there may be
	Let           *Var // what becomes of the request of a reader that has a hold, and waits for its outcome

	Wh      *Var // who wakes is the writer
	Op      *Var // where the opener is
	Woken   *Var // the admitted has been taken out of the lock's line, not out of the gate's
	Waited  *Var // ghost: the admitted has slept, or stood in line
	Reading *Var // ghost: readers that have the lock
	Vain    *Var // ghost: readers that have come in vain
	Placing *Var // ghost: readers that are about to add a place
	Rousing *Var // ghost: readers that have left, and may have to wake the admitted

	TX, TA, TZ, TC, TO   *Var // the thread's copy of the word
	TReaders, TUsed      *Var
	TLock, TAgain, TOpen *Var // the call is RLock; it has let readers run; the thread is the opener
}

// What becomes of the request of a reader that has a hold and waits for its outcome.
const (
	LetNone   = iota
	LetIn     // a goroutine's: it was let in
	LetWoken  // and woken
	LetGiving // a future's: it is about to be completed
	LetHas    // and has been
)

// Where the opener is.
const (
	OpNone = iota
	OpActs // it acts for the admitted
	OpAway // it has opened the gate, and is about to ask whether it is to do so again
)

// RWMutex returns the table.
func RWMutex() *RWMutexTable {
	t := bareRWMutex()
	t.defects()
	t.finish()
	return t
}

func bareRWMutex() *RWMutexTable {
	t := &RWMutexTable{GateTable: &GateTable{Table: &Table{
		Name: "rwmutex", Source: "sync: rwmutex.go, gate.go, request.go", Places: gatePlaces,
	}}}
	t.Assume = []string{
		"Atomics are sequentially consistent, as Go promises, and the lock of a bucket excludes.",
		"Who unlocks for reading has a read lock. Of Unlock nothing is assumed but that it is not called for another's lock: where no writer holds, that it is refused is proved.",
		"The program makes no synctest bubbles: no lock is bubbled.",
		"To deliver to a node is one step, after which its owner goes on, or it has given up before (the tables of the sleeper and of a future's node).",
		"Those who observe a lock change its bit only.",
		"A lane has one place at least, and Express at most; which number is the clock's choice.",
		"Fewer than 2²⁵ goroutines hold the lock or try to at once.",
		"Fairness, for what is said about waiting: each holder unlocks one day, and each goroutine goes on.",
	}
	t.variables()
	t.reads()
	t.writes()
	t.spins()
	t.tries()
	t.line()
	t.attempts()
	t.openings()
	t.unlock()
	t.rouse()
	t.giveUp()
	t.says()
	t.domains()
	t.Canon = t.canon
	return t
}

func (t *RWMutexTable) variables() {
	t.PC, t.Table.Inside = t.scalar(Owner, Int, "pc"), MutexIn
	t.X, t.A = t.scalar(Shared, Bool, "writer"), t.scalar(Shared, Bool, "admitted")
	t.Z, t.C, t.O = t.scalar(Shared, Bool, "sleeping"), t.scalar(Shared, Bool, "crowded"), t.scalar(Shared, Bool, "observed")
	t.Readers, t.Used = t.scalar(Shared, Int, "readers"), t.scalar(Shared, Int, "used")
	t.Opening = t.scalar(Shared, Int, "openings")
	t.Reader, t.Most = t.array(Rigid, Bool, "reader"), t.scalar(Rigid, Int, "most")
	t.Let = t.array(Owner, Int, "let")
	t.shared()
	t.Wh, t.Op, t.Woken = t.scalar(Owner, Bool, "writerWakes"), t.scalar(Owner, Int, "opener"), t.scalar(Owner, Bool, "woken")
	t.Waited = t.scalar(Ghost, Bool, "waited")
	t.Reading, t.Vain = t.scalar(Ghost, Int, "reading"), t.scalar(Ghost, Int, "vain")
	t.Placing, t.Rousing = t.scalar(Ghost, Int, "placing"), t.scalar(Ghost, Int, "rousing")
	t.TX, t.TA, t.TZ = t.scalar(Thread, Bool, "twriter"), t.scalar(Thread, Bool, "tadmitted"), t.scalar(Thread, Bool, "tsleeping")
	t.TC, t.TO = t.scalar(Thread, Bool, "tcrowded"), t.scalar(Thread, Bool, "tobserved")
	t.TReaders, t.TUsed = t.scalar(Thread, Int, "treaders"), t.scalar(Thread, Int, "tused")
	t.TLock, t.TAgain = t.scalar(Thread, Bool, "trlock"), t.scalar(Thread, Bool, "tagain")
	t.TOpen = t.scalar(Thread, Bool, "topener")

	t.sleeps = t.Z.V()
	t.then = If(t.TOpen.V(), Num(OpenedAll), t.goesOnAt())
	t.alone = func(x *Expr) *Expr { return Eq(t.Let.At(x), Num(LetNone)) }
	t.isClaimed = func(x *Expr) *Expr { return Or(Eq(t.Let.At(x), Num(LetGiving)), t.claimed(x)) }
}

// goesOnAt is where a call goes on that has done everything for others.
func (t *RWMutexTable) goesOnAt() *Expr {
	return If(t.TTry.V(), Num(TryLook), If(t.TLock.V(), Num(MutexPeek), Num(MutexDone)))
}

// The vocabulary.

func (t *RWMutexTable) opener(at int64) *Expr          { return Eq(t.Op.V(), Num(at)) }
func (t *RWMutexTable) is(x *Expr, let int64) *Expr    { return Eq(t.Let.At(x), Num(let)) }
func (t *RWMutexTable) more(v *Var) Update             { return v.Set(Add(v.V(), Num(1))) }
func (t *RWMutexTable) less(v *Var) Update             { return v.Set(Sub(v.V(), Num(1))) }
func (t *RWMutexTable) some(v *Var) *Expr              { return Less(Num(0), v.V()) }
func (t *RWMutexTable) lets(x *Expr, let int64) Update { return t.Let.SetAt(x, Num(let)) }
func (t *RWMutexTable) full(used *Expr) *Expr          { return LessEq(t.E.V(), used) }
func (t *RWMutexTable) available(reader, x, n *Expr) *Expr {
	return And(Not(x), Or(reader, Eq(n, Num(0))))
}

// away is the update with which one that acts for the admitted does so no more. If it is the
// opener, it is still that.
func (t *RWMutexTable) away() Update {
	return t.Op.Set(If(t.opener(OpActs), Num(OpAway), t.Op.V()))
}

// acts is the update with which a thread begins to act for the admitted, which it can if mayAct.
func (t *RWMutexTable) acts() Update  { return t.Op.Set(If(t.TOpen.V(), Num(OpActs), t.Op.V())) }
func (t *RWMutexTable) mayAct() *Expr { return Implies(t.TOpen.V(), t.opener(OpAway)) }

// room says that there may be one more goroutine.
func (t *RWMutexTable) room() *Expr {
	return Less(Add(t.Reading.V(), t.Vain.V(), t.Placing.V(), t.Rousing.V()), t.Most.V())
}

func (t *RWMutexTable) look() []Update {
	return []Update{
		t.TX.Set(t.X.V()), t.TA.Set(t.A.V()), t.TZ.Set(t.Z.V()), t.TC.Set(t.C.V()), t.TO.Set(t.O.V()),
		t.TReaders.Set(t.Readers.V()), t.TUsed.Set(t.Used.V()),
	}
}

func (t *RWMutexTable) same() *Expr {
	return And(Eq(t.X.V(), t.TX.V()), Eq(t.A.V(), t.TA.V()), Eq(t.Z.V(), t.TZ.V()), Eq(t.C.V(), t.TC.V()), Eq(t.O.V(), t.TO.V()),
		Eq(t.Readers.V(), t.TReaders.V()), Eq(t.Used.V(), t.TUsed.V()))
}

// free says that what the thread has read is available to its request, and lane that it is so to
// one on the express lane.
func (t *RWMutexTable) free() *Expr {
	return t.available(t.Reader.At(t.Tw.V()), t.TX.V(), t.TReaders.V())
}

func (t *RWMutexTable) lane() *Expr {
	return And(t.free(), Or(Not(t.TC.V()), Not(t.full(t.TUsed.V()))))
}

// counts says that x waits: it is in line, or admitted and has waited.
func (t *RWMutexTable) counts(x *Expr) *Expr {
	return Or(t.In.At(x), And(t.pending(), Eq(t.Adm.V(), x), t.Waited.V()))
}

// overtakes are the updates with which one gets in on the express lane. It uses a place if the lock
// is crowded.
func (t *RWMutexTable) overtakes(crowded *Expr) []Update {
	place := If(crowded, Num(1), Num(0))
	return []Update{
		t.Used.Set(Add(t.Used.V(), place)), t.S.Set(Add(t.S.V(), place)),
		t.Over.SetAll(func(x *Expr) *Expr {
			return If(t.counts(x), Add(t.Over.At(x), Num(1)), If(t.waits(x), t.Over.At(x), Num(0)))
		}),
	}
}

// takes are the updates with which request x takes the lock on the express lane.
func (t *RWMutexTable) takesRead(x *Expr) []Update {
	return cat([]Update{t.more(t.Readers), t.more(t.Reading), t.Let.SetAt(x, If(t.Fut.At(x), Num(LetHas), t.Let.At(x))), t.res(1)},
		t.overtakes(t.C.V()))
}

func (t *RWMutexTable) takesWrite(x *Expr) []Update {
	return cat([]Update{
		t.X.Set(True), t.H.Set(Num(HoldIn)), t.more(t.Inside), t.HF.Set(t.Fut.At(x)), t.Hn.Set(x), t.res(1),
	}, t.overtakes(t.C.V()))
}

// entersRead are the updates with which the admitted gets the lock for reading, and renews the
// lane.
func (t *RWMutexTable) entersRead() []Update {
	return cat([]Update{t.Z.Set(Is(false)), t.Used.Set(t.Tm.V()), t.more(t.Readers), t.more(t.Reading)}, t.turns())
}

// entersWrite are those with which it gets the lock for writing, from the holder if there is one.
func (t *RWMutexTable) entersWrite(h int64) []Update {
	return cat([]Update{
		t.X.Set(True), t.A.Set(True), t.Z.Set(Is(false)), t.Used.Set(t.Tm.V()), t.H.Set(Num(h)), t.At.Set(Num(AdmHeld)),
		t.Inside.Set(Add(t.Inside.V(), If(t.X.V(), Num(0), Num(1)))),
	}, t.turns())
}

// freed are the updates of an unlock.
func (t *RWMutexTable) freed() []Update {
	return []Update{
		t.X.Set(Is(false)), t.H.Set(Num(HoldNone)), t.HF.Set(Is(false)), t.less(t.Inside),
	}
}

// removes are the updates with which a reader removes itself, one of those.
func (t *RWMutexTable) removes(of *Var) []Update {
	return []Update{t.less(t.Readers), t.less(of), t.Rousing.Set(If(t.Z.V(), Add(t.Rousing.V(), Num(1)), t.Rousing.V()))}
}

// left is where one goes on that has removed itself.
func (t *RWMutexTable) left() *Expr { return If(t.Z.V(), Num(RouseLook), t.then) }

// reads has RLock and RUnlock.
func (t *RWMutexTable) reads() {
	const fn, slow = "RWMutex.RLock", "RWMutex.rLockSlow"
	x, c, used := t.X.V(), t.C.V(), t.Used.V()
	none := t.overtakes(Is(false))
	t.out("RLock.in", fn, WordWrite, ReadLock, MutexDone, And(t.room(), Not(x), Not(c)),
		cat([]Update{t.more(t.Readers), t.more(t.Reading), t.res(1)}, none)...)
	t.out("RLock.crowded", fn, WordWrite, ReadLock, ReadPlace, And(t.room(), Not(x), c, Not(t.full(used))),
		t.more(t.Readers), t.more(t.Placing))
	t.out("RLock.vain", fn, WordWrite, ReadLock, ReadBack, And(t.room(), Or(x, And(c, t.full(used)))),
		t.more(t.Readers), t.more(t.Vain))
	t.out("RLock.place", slow, WordWrite, ReadPlace, MutexDone, And(t.some(t.Placing), Not(t.full(used))),
		cat([]Update{t.less(t.Placing), t.more(t.Reading), t.res(1)}, t.overtakes(True))...)
	t.out("RLock.late", slow, WordWrite, ReadPlace, ReadBack, And(t.some(t.Placing), t.full(used)),
		t.less(t.Placing), t.more(t.Vain), t.more(t.Used))
	t.outTo("RLock.back", "RWMutex.rUnlock", WordWrite, ReadBack, If(t.Z.V(), Num(RouseLook), Num(MutexPeek)), t.some(t.Vain),
		cat([]Update{t.TLock.Set(True)}, t.removes(t.Vain))...)
	t.out("Lock.peek", "RWMutex.mayBeObserved", WordRead, MutexPeek, SpinLook, True, t.TLock.Set(Is(false)))
	t.outTo("RUnlock", "RWMutex.RUnlock, rUnlock", WordWrite, ReadUnlock, t.left(), t.some(t.Reading), t.removes(t.Reading)...)
}

// writes has the fast path of Lock.
func (t *RWMutexTable) writes() {
	const fn = "RWMutex.Lock"
	tw := t.Tw.V()
	open := And(Not(t.X.V()), Eq(t.Readers.V(), Num(0)), Not(t.C.V()), Not(t.O.V()))
	t.out("Lock.look", fn, WordRead, MutexLock, LockSwap, open, t.look()...)
	t.out("Lock.slow", fn, WordRead, MutexLock, MutexPeek, Not(open))
	t.out("Lock.fast", fn, WordWrite, LockSwap, MutexDone, And(t.same(), t.lane(), Not(t.TC.V()), Not(t.Reader.At(tw)), Not(t.Fut.At(tw))),
		t.takesWrite(tw)...)
	t.out("Lock.lost", fn, WordRead, LockSwap, MutexPeek, Not(t.same()))
}

// spins has the express lane, and what an arrival does before it queues.
func (t *RWMutexTable) spins() {
	const fn = "RWMutex.spin"
	tw := t.Tw.V()
	reader, future := t.Reader.At(tw), t.Fut.At(tw)
	may := And(t.lane(), t.same(), Implies(future, t.fresh(tw)))
	t.out("spin.look", "RWMutex.spin, takeLane", WordRead, SpinLook, SpinTry, True, t.look()...)
	t.out("spin.read", "RWMutex.express", WordWrite, SpinTry, MutexDone, And(may, reader, t.room()), t.takesRead(tw)...)
	t.out("spin.write", "RWMutex.express", WordWrite, SpinTry, MutexDone, And(may, Not(reader)), t.takesWrite(tw)...)
	t.outTo("spin.lost", "RWMutex.express", WordRead, SpinTry, If(future, Num(GatePass), Num(SpinLook)), And(t.lane(), Not(t.same())))
	ended := And(t.TC.V(), t.full(t.TUsed.V()))
	t.out("spin.future", "RWMutex.takeLane", Local, SpinTry, GatePass, And(Not(t.lane()), future))
	t.out("spin.not", fn, Local, SpinTry, SpinEnd, And(Not(t.lane()), Not(future), Not(ended)))
	t.out("spin.asleep", "RWMutex.isRenewed", Local, SpinTry, SpinOut, And(Not(t.lane()), Not(future), ended, t.TZ.V()))
	awake := And(Not(t.lane()), Not(future), ended, Not(t.TZ.V()))
	t.out("spin.renewed", "RWMutex.isRenewed", GateRead, SpinTry, SpinEnd, And(awake, t.gate(GateClosed)))
	t.out("spin.ended", "RWMutex.isRenewed", GateRead, SpinTry, SpinOut, And(awake, Not(t.gate(GateClosed))))
	t.out("spin.again", fn, Local, SpinEnd, SpinLook, True)
	t.choice()
	t.out("spin.end", fn, Local, SpinEnd, SpinOut, True)

	const let = "RWMutex.letReadersRun"
	t.out("spin.queue", "RWMutex.acquire", Local, SpinOut, GatePass, t.TAgain.V(), t.TAgain.Set(Is(false)))
	t.out("spin.writer", let, WordRead, SpinOut, GatePass, And(Not(t.TAgain.V()), t.X.V()))
	t.out("spin.readers", let, WordRead, SpinOut, SpinLook, And(Not(t.TAgain.V()), Not(t.X.V())), t.TAgain.Set(True))
}

// tries has TryLock and TryRLock.
func (t *RWMutexTable) tries() {
	const fn = "RWMutex.try"
	tw := t.Tw.V()
	reader := t.Reader.At(tw)
	t.out("try.look", fn, WordRead, TryLook, TrySwap, True, append(t.look(), t.TTry.Set(Is(false)))...)
	t.out("try.not", fn, Local, TrySwap, MutexDone, Not(t.free()), t.res(0))
	may := And(t.lane(), t.same(), Not(t.Fut.At(tw)))
	t.out("try.read", "RWMutex.express", WordWrite, TrySwap, MutexDone, And(may, reader, t.room()), t.takesRead(tw)...)
	t.out("try.write", "RWMutex.express", WordWrite, TrySwap, MutexDone, And(may, Not(reader)), t.takesWrite(tw)...)
	t.out("try.lost", "RWMutex.express", WordRead, TrySwap, TryLook, And(t.lane(), Not(t.same())))
	full := And(t.free(), Not(t.lane()))
	t.out("try.pass", "gate.tryPass", GateWrite, TrySwap, AdmEnter, And(full, t.gate(GateOpen), t.fresh(tw), Not(t.Fut.At(tw))),
		append(t.passes(tw, AdmEnter), t.Waited.Set(Is(false)))...)
	t.out("try.closed", "gate.tryPass", GateRead, TrySwap, TryClosed, And(full, Not(t.gate(GateOpen))))
	t.out("try.enters read", "RWMutex.enter", WordWrite, AdmEnter, AdmOpen, And(full, t.same(), reader, Eq(tw, t.Adm.V()), t.missing(), t.room()),
		append(t.entersRead(), t.res(1))...)
	t.outTo("try.enters", "RWMutex.enter", WordWrite, AdmEnter, Num(MutexDone), And(full, t.same(), Not(reader), Eq(tw, t.Adm.V()), t.missing()),
		append(t.entersWrite(HoldIn), t.res(1))...)
	t.out("try.late", "RWMutex.enter", WordRead, AdmEnter, AdmOpen, And(full, Not(t.same())), append(t.goesOn(), t.TTry.Set(True))...)
	given := Or(Not(reader), t.TZ.V())
	t.out("try.given up", fn, Local, TryClosed, MutexDone, given, t.res(0))
	t.out("try.waiting", fn, GateRead, TryClosed, MutexDone, And(Not(given), t.gate(GateWaiting)), t.res(0))
	t.out("try.nobody", fn, GateRead, TryClosed, TryCount, And(Not(given), Not(t.gate(GateWaiting))))
	t.out("try.opening", fn, OpenRead, TryCount, MutexDone, Not(Eq(t.Opening.V(), Num(0))), t.res(0))
	t.out("try.no opening", fn, OpenRead, TryCount, TryAgain, Eq(t.Opening.V(), Num(0)))
	t.out("try.again", fn, GateRead, TryAgain, TryLook, True)
}

// line has the way through the gate, in whose line the lock becomes crowded.
func (t *RWMutexTable) line() {
	t.queue()
	t.goes("queue.waiting", Num(QCrowd))
	t.goes("queue.mark", Num(QCrowd))
	t.in("queue.crowd", "RWMutex.setCrowded", WordWrite, QCrowd, QInsert, True, t.C.Set(True))
	for _, name := range []string{"pass", "queue.pass"} {
		t.also(name, t.Waited.Set(Is(false)))
	}
	// A goroutine that has been let in.
	tw := t.Tw.V()
	in := And(t.is(tw, LetWoken), Not(t.Fut.At(tw)))
	t.out("wait.in", "gate.pass", Local, GateWait, MutexDone, in, t.lets(tw, LetNone), t.res(1))
	t.out("gone.in", "atGate.GiveBack", Local, GateGone, ReadUnlock, in, t.lets(tw, LetNone), t.res(0))
	// One that was woken in front of the lock says so, though the unlock has.
	t.only("gone.go", Not(t.Woken.V()))
	t.out("gone.awake", "asleep.GiveBack, RWMutex.compete", Local, GateGone, AdmClear, And(t.gone(), t.Woken.V()),
		append(t.goesOn(), t.At.Set(Num(AdmClear)), t.res(0))...)
}

// attempts has the attempt of the admitted, and its sleep.
func (t *RWMutexTable) attempts() {
	const fn, enter = "RWMutex.attempt", "RWMutex.enter"
	adm := t.Adm.V()
	reader, future, by := t.Reader.At(adm), t.Fut.At(adm), t.By.V()
	free := t.available(reader, t.TX.V(), t.TReaders.V())
	t.out("attempt.look", fn, WordRead, AdmLoad, AdmCas, True, t.look()...)
	may := And(free, t.same(), t.missing())
	knows := []Update{t.HF.Set(future), t.Hn.Set(adm), t.res(1)}
	t.outTo("attempt.write", enter, WordWrite, AdmCas, Num(MutexDone), And(may, Not(reader), Not(by)),
		append(t.entersWrite(HoldIn), knows...)...)
	t.outTo("attempt.write for", enter, WordWrite, AdmCas, Num(HoldGive), And(may, Not(reader), by), t.entersWrite(HoldGive)...)
	t.out("attempt.read", enter, WordWrite, AdmCas, AdmOpen, And(may, reader, Not(future), t.room()), append(t.entersRead(), t.res(1))...)
	t.out("attempt.read future", enter, WordWrite, AdmCas, AdmEntered, And(may, reader, future, Not(by), t.room()),
		append(t.entersRead(), t.lets(adm, LetHas), t.res(1))...)
	t.out("attempt.read for", enter, WordWrite, AdmCas, AdmEntered, And(may, reader, by, t.room()),
		append(t.entersRead(), t.lets(adm, LetGiving))...)
	t.out("attempt.lost", fn, WordRead, AdmCas, AdmLoad, Not(t.same()))
	t.out("attempt.sleep", fn, WordWrite, AdmCas, AdmPark, And(Not(free), t.same()),
		t.Z.Set(True), t.C.Set(True), t.Waited.Set(True))
	t.sleep(AdmClear)
	t.also("sleep.insert", t.away())
}

// openings has gate.open, and who opens it for whom.
func (t *RWMutexTable) openings() {
	const fn, let = "gate.open", "RWMutex.letIn"
	x := t.Tx.V()
	t.out("open.crowded", "RWMutex.isCrowded", WordRead, AdmOpen, AdmQueue, t.C.V())
	t.out("open.look", "RWMutex.isCrowded", WordRead, AdmOpen, AdmSwap, Not(t.C.V()))
	t.outTo("open", fn, GateWrite, AdmSwap, Num(OpenedLook), t.gate(GateClosed),
		t.G.Set(Num(GateOpen)), t.At.Set(Num(AdmNone)), t.fewer(), t.away())
	t.out("open.not", fn, GateRead, AdmSwap, AdmQueue, Not(t.gate(GateClosed)))
	t.outTo("opened", "RWMutex.isCrowded", WordRead, OpenedLook, t.then, Not(t.C.V()))
	t.out("opened.crowded", "RWMutex.isCrowded", WordRead, OpenedLook, OpenedPass, t.C.V())
	t.out("opened.pass", "gate.tryPass", GateWrite, OpenedPass, AdmOpen, And(t.gate(GateOpen), t.mayAct()),
		t.G.Set(Num(GateClosed)), t.At.Set(Num(AdmOpen)), t.By.Set(Is(false)), t.more(t.Admitted), t.acts())
	t.outTo("opened.not", "gate.tryPass", GateRead, OpenedPass, t.then, Not(t.gate(GateOpen)))

	t.opens(OUncrowd, OLet)
	t.in("open.uncrowd", "RWMutex.setCrowded", WordWrite, OUncrowd, OStore, True, t.C.Set(Is(false)))
	t.also("open.store", t.away())
	t.goesTo("open.end", Num(TellRest))
	t.also("open.take", t.away(), t.Waited.Set(True), t.Woken.Set(Is(false)))
	t.only("tell.future", t.mayAct())
	t.also("tell.future", t.acts())
	// Readers at the front of the line are let in.
	reads := func(x *Expr) *Expr { return And(t.Reader.At(x), Not(t.Fut.At(x))) }
	t.in("let.first", fn, Local, OLet, OLetLook, And(t.first(x), reads(x)))
	t.in("let.stop", fn, Local, OLet, OSome, And(t.first(x), Not(reads(x))))
	t.in("let.all", fn, Local, OLet, OUncrowd, t.lineEmpty())
	t.in("let.look", let, WordRead, OLetLook, OLetCas, Not(t.X.V()), t.look()...)
	t.in("let.not", let, WordRead, OLetLook, OSome, t.X.V())
	t.in("let.in", let, WordWrite, OLetCas, OLetTake, And(Not(t.TX.V()), t.same(), t.room()), t.more(t.Readers), t.more(t.Reading))
	t.in("let.lost", let, WordRead, OLetCas, OLetLook, Not(t.same()))
	t.in("let.take", fn, Local, OLetTake, OLet, t.first(x), append(t.outOfLine(x), t.lets(x, LetIn))...)
	for _, from := range []int64{TellNext, TellRest} {
		t.out("tell.in "+gatePlaces[from], "Waiter.Deliver", Local, from, from, t.is(x, LetIn), t.lets(x, LetWoken))
	}
	t.outTo("tell.done", fn, Local, TellRest, t.then, True)

	// The future of a reader is in, and the gate is to be opened.
	const entered, all = "RWMutex.entered", "RWMutex.reopenAll"
	adm, by := t.Adm.V(), t.By.V()
	first := Eq(t.Opening.V(), Num(0))
	t.out("entered.first", entered, OpenWrite, AdmEntered, AdmGive, And(first, by), t.more(t.Opening), t.Op.Set(Num(OpActs)), t.TOpen.Set(True))
	t.out("entered.first own", entered, OpenWrite, AdmEntered, AdmOpen, And(first, Not(by)),
		t.more(t.Opening), t.Op.Set(Num(OpActs)), t.TOpen.Set(True))
	t.outTo("entered.later", entered, OpenWrite, AdmEntered, If(by, Num(GiveRead), t.then), Not(first),
		t.more(t.Opening), t.At.Set(Num(AdmLeft)), t.away())
	t.out("give.read", "grantTo", Local, AdmGive, AdmOpen, Not(t.Left.At(adm)), t.lets(adm, LetHas))
	t.out("give.read refused", "grantTo", Local, AdmGive, AdmUngive, t.Left.At(adm), t.Left.SetAt(adm, Is(false)), t.lets(adm, LetNone))
	t.out("give.unlock", "RWMutex.rUnlock", WordWrite, AdmUngive, AdmOpen, And(t.some(t.Reading), Not(t.Z.V())), t.removes(t.Reading)...)
	giving := And(t.is(x, LetGiving), Not(And(Eq(adm, x), t.adm(AdmHanding, AdmEntered, AdmGive))))
	t.outTo("give.read later", "grantTo", Local, GiveRead, t.then, And(giving, Not(t.Left.At(x))), t.lets(x, LetHas))
	t.out("give.read later refused", "grantTo", Local, GiveRead, ReadUnlock, And(giving, t.Left.At(x)),
		t.Left.SetAt(x, Is(false)), t.lets(x, LetNone))
	t.outTo("opened.all", all, OpenWrite, OpenedAll, t.goesOnAt(), And(t.opener(OpAway), Eq(t.Opening.V(), Num(1))),
		t.less(t.Opening), t.Op.Set(Num(OpNone)), t.TOpen.Set(Is(false)))
	t.out("opened.again", all, OpenWrite, OpenedAll, AdmOpen, And(t.opener(OpAway), Not(Eq(t.Opening.V(), Num(1)))),
		t.less(t.Opening), t.Op.Set(Num(OpActs)), t.At.Set(Num(AdmOpen)))
	t.gives("grantTo, RWMutex.unlockAndWake")
	t.also("give", t.away())
}

// goesTo has a step lead its thread to another place.
func (t *RWMutexTable) goesTo(name string, place *Expr) { t.change(name, t.TPC.Set(place)) }

// unlock has Unlock.
func (t *RWMutexTable) unlock() {
	const fn = "RWMutex.unlock"
	tx, ta, tz := t.TX.V(), t.TA.V(), t.TZ.V()
	plain := And(t.X.V(), Not(t.A.V()), Not(t.Z.V()), Not(t.O.V()))
	for _, c := range []struct {
		name string
		to   int64
	}{{"calls Unlock", HoldFast}, {"gives back", HoldSlow}} {
		t.out(c.name, "", Local, HoldIn, c.to, True, t.HF.Set(Is(false)))
		t.choice()
	}
	t.out("Unlock.look", "RWMutex.Unlock", WordRead, HoldFast, HoldSwap, plain, t.look()...)
	t.out("Unlock.slow", "RWMutex.Unlock", WordRead, HoldFast, HoldPeek, Not(plain))
	express := And(tx, Not(ta), Not(tz))
	t.outTo("Unlock.fast", "RWMutex.Unlock", WordWrite, HoldSwap, Num(MutexDone), And(express, t.same()), t.freed()...)
	t.out("Unlock.lost", "RWMutex.Unlock", WordRead, HoldSwap, HoldPeek, Not(t.same()))
	t.out("Unlock.peek", "RWMutex.isObserved", WordRead, HoldPeek, HoldSlow, True)
	t.out("unlock.look", fn, WordRead, HoldSlow, HoldCas, True, t.look()...)
	t.outTo("unlock.express", fn, WordWrite, HoldCas, t.then, And(express, t.same()), t.freed()...)
	t.outTo("unlock.admitted", fn, WordWrite, HoldCas, Num(AdmOpen), And(tx, ta, Not(tz), t.same()),
		append(t.freed(), t.A.Set(Is(false)), t.At.Set(Num(AdmOpen)))...)
	t.out("unlock.lost", fn, WordRead, HoldCas, HoldSlow, And(tx, Not(tz), Not(t.same())))
	t.out("unlock.sleeping", fn, Local, HoldCas, HoldWake, And(tx, Not(ta), tz))
	t.out("unlock.nothing", fn, WordRead, NotLocked, MutexDone, Not(t.X.V()), t.res(0))
}

// rouse has the wake-up of the admitted that sleeps, by the writer or by a reader that has left.
func (t *RWMutexTable) rouse() {
	const fn, wake = "RWMutex.wakeAdmitted", "RWMutex.unlockAndWake"
	z, wh, adm := t.Z.V(), t.Wh.V(), t.Adm.V()
	free := t.available(Is(false), t.X.V(), t.Readers.V())
	t.outTo("rouse.not", fn, WordRead, RouseLook, t.then, And(t.some(t.Rousing), Or(Not(z), Not(free))), t.less(t.Rousing))
	t.out("rouse.look", fn, WordRead, RouseLook, RouseLock, And(z, free), t.look()...)
	t.locks("rouse.lock", wake, RouseLock, WLook, t.some(t.Rousing), t.Wh.Set(Is(false)))
	t.locks("wake.lock", wake, HoldWake, WLook, True, t.H.Set(Num(HoldWaking)), t.Wh.Set(True))
	asleep := And(t.TZ.V(), Eq(t.TX.V(), wh), Not(t.TA.V()), Or(wh, Eq(t.TReaders.V(), Num(0))))
	rousing := t.Rousing.Set(If(wh, t.Rousing.V(), Sub(t.Rousing.V(), Num(1))))
	nobody := If(wh, Num(HoldNone), t.H.V())
	freed := []Update{
		t.X.Set(And(t.X.V(), Not(wh))), t.H.Set(nobody), t.Inside.Set(If(wh, Sub(t.Inside.V(), Num(1)), t.Inside.V())), rousing,
	}
	t.wakes(wake, asleep, t.same(), append(freed, t.Z.Set(Is(false))), t.then, t.then)
	t.also("wake.take", t.Woken.Set(True))
	may := And(asleep, t.same(), t.missing())
	t.in("wake.hand", wake, WordWrite, WFuture, WGive, And(may, Not(t.Reader.At(adm))), append(t.entersWrite(HoldHand), rousing)...)
	t.in("wake.read", wake, WordWrite, WFuture, WRead, And(may, t.Reader.At(adm), t.room()),
		cat(t.entersRead(), freed, []Update{t.lets(adm, LetGiving), t.By.Set(True), t.At.Set(Num(AdmHanding))})...)
	t.unlocks("wake.again", wake, WLost, If(wh, Num(HoldSlow), Num(RouseLook)), t.H.Set(If(wh, Num(HoldSlow), t.H.V())))
	t.unlocks("wake.entered", wake, WRead, Num(AdmEntered), t.At.Set(Num(AdmEntered)))
}

// giveUp has what a request does that gives up, and the observers.
func (t *RWMutexTable) giveUp() {
	tw, adm := t.Tw.V(), t.Adm.V()
	t.leaves(AdmClear)
	t.out("cancel.complete read", "Future.end", Local, CancelLook, ReadUnlock, And(t.is(tw, LetHas), Not(t.Left.At(tw))), t.lets(tw, LetNone))
	t.outTo("leave.clear", "RWMutex.leave, compete", WordWrite, AdmClear, If(t.Fut.At(adm), Num(AdmCount), Num(AdmOpen)), True,
		t.Z.Set(Is(false)), t.At.Set(If(t.Fut.At(adm), Num(AdmCount), Num(AdmOpen))))
	t.out("leave.first", "RWMutex.leave", OpenWrite, AdmCount, AdmOpen, Eq(t.Opening.V(), Num(0)),
		t.more(t.Opening), t.Op.Set(Num(OpActs)), t.TOpen.Set(True))
	t.outTo("leave.later", "RWMutex.leave", OpenWrite, AdmCount, t.then, Not(Eq(t.Opening.V(), Num(0))),
		t.more(t.Opening), t.At.Set(Num(AdmLeft)), t.away())
	t.out("observe", "RWMutex.setObserved", WordWrite, MutexDone, MutexDone, True, t.O.Set(Not(t.O.V())))
	t.choice()
}

func (t *RWMutexTable) canon(_ *Table, s *State, nodes int) {
	h := int64(s.Get(t.H))
	switch int64(s.Get(t.At)) {
	case AdmRefuse, AdmClear, AdmCount, AdmHanding, AdmEntered, AdmGive:
		t.canonLine(s, nodes, true)
	case AdmHeld:
		t.canonLine(s, nodes, h == HoldHand || h == HoldGive)
	default:
		t.canonLine(s, nodes, false)
	}
	if s.Get(t.PC) == int(BucketFree) {
		s.Set(t.Wh, 0)
	}
	at := int64(s.Get(t.At))
	if at < AdmLoad || at > AdmPass {
		s.Set(t.Waited, 0)
	}
	if at != AdmClaimed && at != AdmWoken {
		s.Set(t.Woken, 0)
	}
}

func (t *RWMutexTable) domains() {
	t.Domains = []Domain{
		{Var: t.TX, Values: []int{0, 1}}, // what was read may have changed
		{Var: t.TA, Of: t.A},
		{Var: t.TZ, Of: t.Z},
		{Var: t.TC, Of: t.C},
		{Var: t.TO, Of: t.O},
		{Var: t.TReaders, Of: t.Readers},
		{Var: t.TUsed, Of: t.Used},
		{Var: t.Tw, Nodes: true},
		{Var: t.Tx, Nodes: true},
		{Var: t.Tm, Values: []int{0, 1}},
		{Var: t.TTry, Values: []int{0}},
		{Var: t.TEnds, Values: []int{1}},
		{Var: t.TOpen, Values: []int{0, 1}},
	}
}
