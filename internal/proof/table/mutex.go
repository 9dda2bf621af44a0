package table

// sync.Mutex with its gate: sync/mutex.go, gate.go, and request.go for its futures. Three things
// belong to at most one thread: the mutex, the admission through the gate, and the lock of the
// bucket where both lines are. So where the holder, the admitted and the bucket's owner are, are
// variables of the table; a thread may be two of them. All other locals constrain nothing, because
// a compare-and-swap compares the whole word. The steps at the gate are in gate.go.

// MutexTable is the mutex's table, with its variables for the tie.
type MutexTable struct {
	*GateTable

	LK, A, F, O     *Var // the word: unlocked, locked or sleeping; admitted, full, observing
	Used            *Var // the lower half
	Tlk, TA, TF, TO *Var // the thread's copy of the word
	TFull           *Var // its unlock has ended the lane
}

// The states of the lock's bits.
const (
	LockFree = iota
	LockLocked
	LockSleeping
)

// Mutex returns the table.
func Mutex() *MutexTable {
	t := bareMutex()
	t.defects()
	t.finish()
	return t
}

func bareMutex() *MutexTable {
	t := &MutexTable{GateTable: &GateTable{Table: &Table{Name: "mutex", Source: "sync: mutex.go, gate.go, request.go", Places: gatePlaces}}}
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
	t.Used = t.scalar(Shared, Int, "used")
	t.shared()
	t.Tlk, t.TA = t.scalar(Thread, Int, "tlock"), t.scalar(Thread, Bool, "tadmitted")
	t.TF, t.TO = t.scalar(Thread, Bool, "tfull"), t.scalar(Thread, Bool, "tobserving")
	t.TFull = t.scalar(Thread, Bool, "tended")
	t.sleeps, t.then, t.ended = t.is(LockSleeping), If(t.TTry.V(), Num(TryLook), Num(MutexDone)), []Update{t.TTry.Set(Is(false))}
	t.alone, t.isClaimed = func(*Expr) *Expr { return True }, t.claimed
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

func (t *MutexTable) is(lock int64) *Expr { return Eq(t.LK.V(), Num(lock)) }

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

// took are the updates with which request x takes the mutex on the express lane.
func (t *MutexTable) took(x *Expr) []Update {
	return []Update{
		t.LK.Set(Num(LockLocked)), t.H.Set(Num(HoldGot)), t.Inside.Set(Add(t.Inside.V(), Num(1))),
		t.HF.Set(t.Fut.At(x)), t.Hn.Set(x), t.S.Set(Add(t.S.V(), Num(1))),
		t.Over.SetAll(func(x *Expr) *Expr { return If(t.waits(x), Add(t.Over.At(x), Num(1)), Num(0)) }),
	}
}

// entered are the updates with which the admitted gets the mutex, beside those who had it.
// entered are the updates with which the admitted gets the mutex, beside those who had it.
func (t *MutexTable) entered(h int64, inside *Expr) []Update {
	return cat([]Update{
		t.LK.Set(Num(LockLocked)), t.A.Set(True), t.H.Set(Num(h)), t.At.Set(Num(AdmHeld)), t.HF.Set(Is(false)),
		t.Inside.Set(Add(inside, Num(1))),
	}, t.turns())
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
	missing := t.missing()
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

// admitted has the attempt of the admitted.
func (t *MutexTable) admitted() {
	const fn = "Mutex.attempt"
	free, locked := Eq(t.Tlk.V(), Num(LockFree)), Eq(t.Tlk.V(), Num(LockLocked))
	t.out("attempt.look", fn, WordRead, AdmLoad, AdmCas, True, t.look()...)
	t.out("attempt.enter", "Mutex.enter", WordWrite, AdmCas, HoldGot, And(free, t.same()), t.entered(HoldGot, t.Inside.V())...)
	t.out("attempt.lost", fn, WordRead, AdmCas, AdmLoad, And(Or(free, locked), Not(t.same())))
	t.out("attempt.sleep", fn, WordWrite, AdmCas, AdmPark, And(locked, t.same()), t.LK.Set(Num(LockSleeping)))
	t.out("attempt.asleep", fn, Local, AdmCas, AdmPark, Eq(t.Tlk.V(), Num(LockSleeping)))
	t.sleep(AdmOpen)
}

// open has gate.open of a lock that is never crowded.
func (t *MutexTable) open() {
	const fn = "gate.open"
	t.outTo("open", fn, GateWrite, AdmOpen, t.then, t.gate(GateClosed),
		cat(t.ended, []Update{t.G.Set(Num(GateOpen)), t.At.Set(Num(AdmNone)), t.fewer()})...)
	t.out("open.not", fn, GateRead, AdmOpen, AdmQueue, Not(t.gate(GateClosed)))
	t.opens(OStore, OSome)
	t.gives("grantTo, Mutex.wakeAdmitted")
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

	t.locks("wake.lock", wake, HoldWake, WLook, True, t.H.Set(Num(HoldWaking)))
	same := And(asleep, t.same())
	t.wakes(wake, asleep, t.same(), t.endOfLane(), Num(MutexDone), Num(CedeLook))
	t.in("wake.hand", wake, WordWrite, WFuture, WHand, same, append(t.entered(HoldHand, Sub(t.Inside.V(), Num(1))), t.F.Set(Is(false)))...)
	t.in("wake.renew", "Mutex.renew", Local, WHand, WGive, t.missing(), t.Used.Set(t.Tm.V()))
	t.unlocks("wake.again", wake, WLost, Num(HoldSlow), t.H.Set(Num(HoldSlow)))
}

// leave has what a request does that gives up, and the observers.
func (t *MutexTable) leave() {
	t.leaves(AdmOpen)
	t.out("observe", "Mutex.setObserved", WordWrite, MutexDone, MutexDone, True, t.O.Set(Not(t.O.V())))
	t.choice()
}

func (t *MutexTable) canon(_ *Table, s *State, nodes int) {
	h := int64(s.Get(t.H))
	t.canonLine(s, nodes, s.Get(t.At) == int(AdmRefuse) ||
		s.Get(t.At) == int(AdmHeld) && (h == HoldGot || h == HoldHand || h == HoldGive))
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
