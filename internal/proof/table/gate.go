package table

// What sync.Mutex and sync.RWMutex have in common: the gate, and the requests that pass it, of
// goroutines and of futures. The source is sync/gate.go and request.go. Each lock adds steps of its
// own to these, and changes those that call it. A step or a statement that is here is the same of
// both.
//
// A request is a node, a goroutine's or a future's. One that has ended may be used again.

// GateTable is what the tables of the locks behind a gate share, with the variables for the tie.
type GateTable struct {
	*Table

	G       *Var // the gate: open, closed or waiting
	In, Pos *Var // who is in the gate's line, and where
	Left    *Var // the node of a future that its owner has abandoned

	Fut, E *Var // whether a node is a future's; Express

	H, At *Var // where the holder is, and the admitted; of a read-write lock: the writer
	Adm   *Var // the admitted request
	By    *Var // a claimer acts for it
	HF    *Var // the holder is a future that is complete,
	Hn    *Var // this one
	Own   *Var // the request of the bucket's owner

	Inside, Admitted   *Var // ghosts: how many have the mutex, and an admission
	Tail               *Var // ghost
	S                  *Var // ghost: places of the express lane that were used since it was renewed
	Behind             *Var // ghost: Express times the length of the line
	Over, Turns        *Var // ghosts: by how many a request was overtaken; Express for each renewal since it came
	Rank, Place        *Var // ghosts: Express for each request that is to get in before it: now, and when it came
	Tw, Tm, TTry, TRes *Var // the thread's request; what the lane lacks; the call is TryLock; a result
	Tx                 *Var // the first of the line
	TEnds              *Var // its wait may end early

	// What differs from lock to lock.
	sleeps    *Expr               // the word says that the admitted sleeps
	then      *Expr               // where a call goes on that has opened the gate
	ended     []Update            // what a call forgets that has
	alone     func(x *Expr) *Expr // the lock has no other use for request x
	isClaimed func(x *Expr) *Expr // a claimer is at work for the future x
}

// What the steps of a lock behind a gate access, besides those of the engine: MuLock and MuUnlock
// are the bucket's.
const (
	GateRead Access = 30 + iota
	GateWrite
	OpenRead // RWMutex.opening
	OpenWrite
)

// The states of the gate.
const (
	GateOpen = iota
	GateClosed
	GateWaiting
)

// The places in a mutex, and in a read-write lock. Those that only the latter has are marked.
const (
	BucketFree int64 = iota
	QLoad            // enqueue
	QCas
	QPass
	QCrowd // rw: the lock becomes crowded
	QInsert
	QEnd
	QAdmitted
	OLook // open
	ONone
	OPeekNone
	OUncrowd // rw: the lock is crowded no more
	OStore
	OEnd
	OPeek
	OLet // rw: lets readers in
	OLetLook
	OLetCas
	OLetTake
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
	XComplete
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
	WRead // rw: has taken the lock for the future of a reader

	AdmNone // the admission: nobody has it
	AdmLoad
	AdmCas
	AdmPark
	AdmParking
	AdmAsleep
	AdmClaimed
	AdmWoken
	AdmEnter // TryLock
	AdmPass  // under the bucket's lock
	AdmHeld  // the holder has it
	AdmOpen
	AdmQueue // to open, for others are in line
	AdmOpening
	AdmLeaves
	AdmRefuse
	AdmSwap    // rw: opens the gate that was not crowded
	AdmClear   // rw: gives up, and says that nobody sleeps
	AdmCount   // rw: gives up, and counts the openings
	AdmHanding // rw: a future reads, under the bucket's lock,
	AdmEntered // is about to count the openings,
	AdmGive    // to be completed,
	AdmUngive  // to be unlocked, for it was abandoned
	AdmLeft    // rw: the goroutine that opens the gate is to open it again

	HoldNone // the mutex: nobody has it
	HoldGot
	HoldIn
	HoldFast // calls Unlock
	HoldSwap // rw
	HoldPeek
	HoldSlow
	HoldCas
	HoldWake
	HoldWaking
	HoldHand
	HoldGive

	MutexLock // calls Lock
	LockSwap  // rw
	MutexPeek
	SpinLook // acquire
	SpinTry
	SpinEnd
	SpinOut // rw
	GatePass
	GateQueue
	GateWait
	GateGone
	TryLook // calls TryLock
	TrySwap
	TryClosed // rw: the gate was not open
	TryCount
	TryAgain
	CancelLook // gives up a future
	GiveUp     // takes a request out of its line
	TellNext   // has opened the gate
	TellRest   // rw: has opened it, and nobody is admitted
	TellSlept  // has unlocked
	CedeLook
	ReadLock // rw: calls RLock
	ReadPlace
	ReadBack
	ReadUnlock // calls RUnlock
	RouseLook
	RouseLock
	OpenedLook // rw: has opened the gate
	OpenedPass
	OpenedAll // has opened it, as often as opening said
	GiveRead  // tells the future of a reader
	NotLocked // rw: calls Unlock though no writer holds
	MutexIn   // has the bucket's lock
	MutexDone
)

var gatePlaces = []string{
	"free", "queue", "queue-swap", "queue-pass", "queue-crowd", "queue-insert", "queue-end", "queue-admitted",
	"open", "open-none", "open-peek", "open-uncrowd", "open-store", "open-end", "open-some", "let", "let-look", "let-swap",
	"let-take", "open-last", "open-take", "open-deliver",
	"sleep", "sleep-word", "sleep-insert", "sleep-end", "sleep-awake", "sleep-left",
	"leave", "leave-close", "leave-end", "leave-open", "leave-gone", "leave-complete",
	"wake", "wake-none", "wake-goroutine", "wake-future", "wake-take", "wake-hand", "wake-lost", "wake-end",
	"wake-deliver", "wake-give", "wake-read",
	"nobody", "attempt", "attempt-swap", "park", "parking", "asleep", "claimed", "woken", "enter", "passed", "held",
	"opens", "opens-line", "opening", "leaves", "refuses", "opens-swap", "clears", "counts", "handing-read", "entered",
	"gives-read", "unlocks-read", "left",
	"no holder", "got", "in", "unlock", "unlock-fast", "unlock-peek", "unlock-slow", "unlock-swap", "unlock-wake", "waking",
	"handing", "giving",
	"lock", "lock-swap", "lock-peek", "spin", "spin-swap", "spin-end", "spin-out", "pass", "queues", "waits", "gone",
	"try", "try-swap", "try-closed", "try-count", "try-again", "cancel", "give-up", "tell-next", "tell-rest", "tell-slept",
	"cede", "rlock", "rlock-place", "rlock-back", "runlock", "rouse", "rouse-lock", "opened", "opened-pass", "opened-all",
	"give-read", "not-locked", "bucket", "done",
}

// shared makes the variables that both locks have.
func (t *GateTable) shared() {
	t.G = t.scalar(Shared, Int, "gate")
	t.In, t.Pos, t.Left = t.array(Shared, Bool, "line"), t.array(Shared, Int, "pos"), t.array(Shared, Bool, "left")
	t.Fut, t.E = t.array(Rigid, Bool, "future"), t.scalar(Rigid, Int, "Express")
	t.H, t.At = t.scalar(Owner, Int, "holder"), t.scalar(Owner, Int, "admission")
	t.Adm, t.By = t.scalar(Owner, Node, "a"), t.scalar(Owner, Bool, "claimer")
	t.HF, t.Hn = t.scalar(Owner, Bool, "completeFuture"), t.scalar(Owner, Node, "h")
	t.Own = t.scalar(Owner, Node, "w")
	t.Inside, t.Admitted = t.scalar(Ghost, Int, "holders"), t.scalar(Ghost, Int, "admissions")
	t.Tail, t.S, t.Behind = t.scalar(Ghost, Int, "tail"), t.scalar(Ghost, Int, "express"), t.scalar(Ghost, Int, "behind")
	t.Over, t.Turns = t.array(Ghost, Int, "over"), t.array(Ghost, Int, "turns")
	t.Rank, t.Place = t.array(Ghost, Int, "rank"), t.array(Ghost, Int, "place")
	t.TPC = t.scalar(Thread, Int, "tpc")
	t.Tw, t.Tm = t.scalar(Thread, Node, "tw"), t.scalar(Thread, Int, "tmissing")
	t.TTry, t.TRes = t.scalar(Thread, Bool, "ttry"), t.scalar(Thread, Int, "tres")
	t.Tx = t.scalar(Thread, Node, "tx")
	t.Any = t.Tx
	t.TEnds = t.scalar(Thread, Bool, "tends")
}

// The vocabulary.

func (t *GateTable) at(places ...int64) *Expr    { return oneOf(t.PC, places...) }
func (t *GateTable) adm(places ...int64) *Expr   { return oneOf(t.At, places...) }
func (t *GateTable) holds(places ...int64) *Expr { return oneOf(t.H, places...) }
func (t *GateTable) gate(state int64) *Expr      { return Eq(t.G.V(), Num(state)) }
func (t *GateTable) res(n int64) Update          { return t.TRes.Set(Num(n)) }

func (t *GateTable) in(name, fn string, a Access, from, to int64, guard *Expr, do ...Update) {
	do = cat(do, []Update{t.PC.Set(Num(to))}) // not in place: steps may be given the same updates
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: a, From: from, Inside: true, Guard: guard, Do: do})
}

// unlocks adds the step that gives the bucket's lock back.
func (t *GateTable) unlocks(name, fn string, from int64, then *Expr, do ...Update) {
	t.in(name, fn, MuUnlock, from, BucketFree, True, cat(do, []Update{t.TPC.Set(then)})...)
}

// locks adds the step that gets the bucket's lock.
func (t *GateTable) locks(name, fn string, from, to int64, guard *Expr, do ...Update) {
	do = cat(do, []Update{t.PC.Set(Num(to)), t.TPC.Set(Num(MutexIn))})
	t.Steps = append(t.Steps, &Step{
		Name: name, In: fn, Access: MuLock, From: from, Locks: true, Guard: And(t.at(BucketFree), t.role(from), guard), Do: do,
	})
}

// role says that a thread at that place is the holder, or the admitted, if the place is of one.
func (t *GateTable) role(place int64) *Expr {
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
func (t *GateTable) out(name, fn string, a Access, from, to int64, guard *Expr, do ...Update) {
	t.outTo(name, fn, a, from, Num(to), guard, do...)
	s := t.Steps[len(t.Steps)-1]
	switch {
	case from >= AdmNone && from < HoldNone && to >= AdmNone && to < HoldNone:
		s.Do = append(s.Do, t.At.Set(Num(to)))
	case from >= HoldNone && from < MutexLock && to >= HoldNone && to < MutexLock:
		s.Do = append(s.Do, t.H.Set(Num(to)))
	}
}

func (t *GateTable) outTo(name, fn string, a Access, from int64, to, guard *Expr, do ...Update) {
	do = cat(do, []Update{t.TPC.Set(to)})
	role := t.role(from)
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: a, From: from, Guard: And(role, guard), Do: do, role: role})
}

// choice says that the last step is another's choice, not the code's.
func (t *GateTable) choice() { t.Steps[len(t.Steps)-1].Choice = true }

// waits says that x is in line, or admitted and not in yet.
func (t *GateTable) waits(x *Expr) *Expr { return Or(t.In.At(x), And(t.pending(), Eq(t.Adm.V(), x))) }

// pending says that the admitted is not in yet.
func (t *GateTable) pending() *Expr {
	return t.adm(AdmLoad, AdmCas, AdmPark, AdmParking, AdmAsleep, AdmClaimed, AdmWoken, AdmEnter, AdmPass)
}

func (t *GateTable) each(of, then func(x *Expr) *Expr) *Expr {
	return All(func(x *Expr) *Expr { return Implies(of(x), then(x)) })
}

func (t *GateTable) inLine(x *Expr) *Expr { return t.In.At(x) }

func (t *GateTable) lineEmpty() *Expr {
	return All(func(x *Expr) *Expr { return Not(t.In.At(x)) })
}

// lineOfOne says that x is alone in line.
func (t *GateTable) lineOfOne(x *Expr) *Expr {
	return And(t.In.At(x), t.each(t.inLine, func(y *Expr) *Expr { return Eq(x, y) }))
}

// first says that x is the first of the line.
func (t *GateTable) first(x *Expr) *Expr {
	return And(t.In.At(x), t.each(t.inLine, func(y *Expr) *Expr { return LessEq(t.Pos.At(x), t.Pos.At(y)) }))
}

// complete says that x is a future that has the mutex, and its outcome.
func (t *GateTable) complete(x *Expr) *Expr { return And(t.HF.V(), Eq(t.Hn.V(), x)) }

// isAdmitted says that x is admitted, and is still needed. One that has given up is not, nor is one
// that is in, unless it is a future that has to be completed.
func (t *GateTable) isAdmitted(x *Expr) *Expr {
	return And(Eq(t.Adm.V(), x), Or(t.pending(), t.adm(AdmRefuse), And(t.adm(AdmHeld), t.holds(HoldGot, HoldHand, HoldGive))))
}

// fresh says that no request uses x.
func (t *GateTable) fresh(x *Expr) *Expr {
	return And(Not(t.In.At(x)), Not(t.isAdmitted(x)), Not(t.complete(x)), Not(t.Left.At(x)), t.alone(x),
		Not(And(t.at(QLoad, QCas, QPass, QCrowd, QInsert), Eq(t.Own.V(), x))))
}

// claimed says that a claimer is at work for the future x, admitted or about to be completed.
func (t *GateTable) claimed(x *Expr) *Expr {
	return And(Eq(t.Adm.V(), x), Or(t.adm(AdmClaimed),
		And(t.By.V(), t.adm(AdmLoad, AdmCas, AdmPark, AdmParking)),
		And(t.adm(AdmHeld), Or(And(t.holds(HoldGot), t.By.V()), t.holds(HoldHand, HoldGive)))))
}

// turns are the updates with which the admitted renews the lane as it gets the lock.
func (t *GateTable) turns() []Update {
	return cat([]Update{
		t.S.Set(Num(0)),
		t.Turns.SetAll(func(x *Expr) *Expr { return If(t.In.At(x), Add(t.Turns.At(x), t.E.V()), Num(0)) }),
	}, t.goesOn())
}

// goesOn are the updates with which the admitted gets in, or gives up: all behind him are one
// nearer.
func (t *GateTable) goesOn() []Update {
	return []Update{t.Rank.SetAll(func(x *Expr) *Expr { return If(t.In.At(x), Sub(t.Rank.At(x), t.E.V()), Num(0)) })}
}

// outOfLine are the updates with which x leaves the line, and is not admitted: all behind it are
// one nearer.
func (t *GateTable) outOfLine(x *Expr) []Update {
	return []Update{
		t.In.SetAt(x, Is(false)), t.Behind.Set(Sub(t.Behind.V(), t.E.V())),
		t.Rank.SetAll(func(y *Expr) *Expr {
			return If(And(t.In.At(y), Less(t.Pos.At(x), t.Pos.At(y))), Sub(t.Rank.At(y), t.E.V()), t.Rank.At(y))
		}),
	}
}

// passes are the updates with which request x passes the open gate.
func (t *GateTable) passes(x *Expr, at int64) []Update {
	return []Update{
		t.G.Set(Num(GateClosed)), t.At.Set(Num(at)), t.Adm.Set(x), t.By.Set(Is(false)),
		t.Admitted.Set(Add(t.Admitted.V(), Num(1))),
		t.Over.SetAt(x, Num(0)), t.Turns.SetAt(x, Num(0)), t.Rank.SetAt(x, Num(0)), t.Place.SetAt(x, Num(0)),
	}
}

// fewer is the update with which an admission ends.
func (t *GateTable) fewer() Update { return t.Admitted.Set(Sub(t.Admitted.V(), Num(1))) }

// missing says what a lane that was renewed may lack.
func (t *GateTable) missing() *Expr { return And(LessEq(Num(0), t.Tm.V()), Less(t.Tm.V(), t.E.V())) }

// queue has the way through the gate.
func (t *GateTable) queue() {
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
	gone := t.gone()
	t.out("wait.go", "gate.pass, sleepAdmitted", Local, GateWait, AdmLoad, gone, t.At.Set(Num(AdmLoad)))
	t.out("wait.end", "waiting.Leave", Local, GateWait, GiveUp, And(t.TEnds.V(), Not(t.Fut.At(tw))))
	t.out("gone.go", "atGate.GiveBack, compete", Local, GateGone, AdmOpen, gone,
		append(t.goesOn(), t.At.Set(Num(AdmOpen)), t.res(0))...)
}

// gone says that the thread's request, a goroutine's, has been admitted.
func (t *GateTable) gone() *Expr {
	return And(t.adm(AdmWoken), Eq(t.Adm.V(), t.Tw.V()), Not(t.Fut.At(t.Tw.V())))
}

// sleep has the sleep of the admitted in front of the lock. A claimer whose future was abandoned
// goes on at refused.
func (t *GateTable) sleep(refused int64) {
	const fn = "sleepAdmitted, request.admit"
	adm := t.Adm.V()
	t.locks("sleep.lock", fn, AdmPark, KLook, True, t.At.Set(Num(AdmParking)))
	t.in("sleep.left", "request.admit", Local, KLook, KLeft, t.Left.At(adm))
	t.in("sleep.here", fn, Local, KLook, KWord, Not(t.Left.At(adm)))
	t.in("sleep.still", "isSleeping", WordRead, KWord, KInsert, t.sleeps)
	t.in("sleep.not", "isSleeping", WordRead, KWord, KAwake, Not(t.sleeps))
	t.in("sleep.insert", fn, Local, KInsert, KAsleep, True, t.At.Set(Num(AdmAsleep)))
	t.unlocks("sleep.asleep", fn, KAsleep, If(t.By.V(), t.then, If(t.Fut.At(adm), Num(MutexDone), Num(GateWait))),
		cat(t.ended, []Update{t.TRes.Set(If(t.By.V(), t.TRes.V(), Num(0)))})...)
	t.unlocks("sleep.awake", fn, KAwake, Num(AdmLoad), t.At.Set(Num(AdmLoad)))
	t.unlocks("sleep.refuse", fn, KLeft, Num(AdmRefuse), append(t.goesOn(), t.At.Set(Num(AdmRefuse)))...)
	t.out("refuse", "admission.Wake", Local, AdmRefuse, refused, True, t.Left.SetAt(adm, Is(false)))
}

// opens has gate.open under the bucket's lock, and what follows for whom it admits. It goes on at
// one of two places, whether none is in line or some are.
func (t *GateTable) opens(none, some int64) {
	const fn = "gate.open"
	t.locks("open.lock", fn, AdmQueue, OLook, True, t.At.Set(Num(AdmOpening)))
	t.in("open.none", fn, Local, OLook, ONone, t.lineEmpty())
	t.in("open.closed", fn, GateRead, ONone, OPeekNone, Not(t.gate(GateOpen)))
	t.in("open.peek none", "cedes", WordRead, OPeekNone, none, True)
	t.in("open.store", fn, GateWrite, OStore, OEnd, True, t.G.Set(Num(GateOpen)), t.At.Set(Num(AdmNone)), t.fewer())
	t.in("open.some", fn, Local, OLook, OPeek, Not(t.lineEmpty()))
	t.in("open.peek", "cedes", WordRead, OPeek, some, True)
	t.in("open.last", fn, GateWrite, OSome, OTake, Any(t.lineOfOne), t.G.Set(Num(GateClosed)))
	t.in("open.more", fn, Local, OSome, OTake, Not(Any(t.lineOfOne)))
	x := t.Tx.V()
	t.in("open.take", fn, Local, OTake, ODeliver, t.first(x),
		t.In.SetAt(x, Is(false)), t.Behind.Set(Sub(t.Behind.V(), t.E.V())),
		t.Adm.Set(x), t.At.Set(Num(AdmClaimed)), t.By.Set(Is(false)))
	t.unlocks("open.end", fn, OEnd, t.then, t.ended...)
	t.unlocks("open.deliver", fn, ODeliver, Num(TellNext))
	adm := t.Adm.V()
	t.outTo("tell", "Waiter.Deliver", Local, TellNext, t.then, And(t.adm(AdmClaimed), Not(t.Fut.At(adm))),
		cat(t.ended, []Update{t.At.Set(Num(AdmWoken))})...)
	t.out("tell.future", "admission.Wake", Local, TellNext, AdmLoad, And(t.adm(AdmClaimed), t.Fut.At(adm)),
		t.At.Set(Num(AdmLoad)), t.By.Set(True))
}

// wakes has the wake-up of the admitted that sleeps, by fn. The owner of the bucket's lock has read
// the word, and is the one that may wake. The updates of the step that unlocks are given, and where
// the caller goes on: when nobody slept, and when it has woken the goroutine that did.
func (t *GateTable) wakes(fn string, may, same *Expr, free []Update, then, woken *Expr) {
	there, adm := t.adm(AdmAsleep), t.Adm.V()
	t.in("wake.none", fn, Local, WLook, WNone, Not(there))
	t.in("wake.goroutine", fn, Local, WLook, WGoroutine, And(there, Not(t.Fut.At(adm))))
	t.in("wake.future", fn, Local, WLook, WFuture, And(there, t.Fut.At(adm)))
	t.in("wake.free", fn, WordWrite, WNone, WEnd, And(may, same), free...)
	t.in("wake.free goroutine", fn, WordWrite, WGoroutine, WTake, And(may, same), free...)
	t.in("wake.take", fn, Local, WTake, WDeliver, True, t.At.Set(Num(AdmClaimed)))
	for _, from := range []int64{WNone, WGoroutine, WFuture} {
		t.in("lost "+gatePlaces[from], fn, WordRead, from, WLost, Not(same))
	}
	t.unlocks("wake.end", fn, WEnd, then)
	t.unlocks("wake.deliver", fn, WDeliver, Num(TellSlept))
	t.unlocks("wake.give", fn, WGive, Num(HoldGive), t.H.Set(Num(HoldGive)))
	t.outTo("wake.tell", "Waiter.Deliver", Local, TellSlept, woken, And(t.adm(AdmClaimed), Not(t.Fut.At(adm))),
		t.At.Set(Num(AdmWoken)))
}

// gives has what follows when the lock has been taken for a future that writes.
func (t *GateTable) gives(fn string) {
	adm := t.Adm.V()
	t.outTo("give", fn, Local, HoldGive, t.then, Not(t.Left.At(adm)),
		cat(t.ended, []Update{t.H.Set(Num(HoldIn)), t.HF.Set(True), t.Hn.Set(adm)})...)
	t.out("give.refused", fn, Local, HoldGive, HoldSlow, t.Left.At(adm), t.Left.SetAt(adm, Is(false)))
}

// leaves has what a request does that gives up. then is where the admitted goes on.
func (t *GateTable) leaves(then int64) {
	const fn, line = "lockRequest.Unlink", "gate.leaveLocked"
	tw, own := t.Tw.V(), t.Own.V()
	future := t.Fut.At(tw)
	claimed := func(x *Expr) *Expr { return And(t.Fut.At(x), t.isClaimed(x)) }
	busy := Or(claimed(tw), And(Eq(t.Adm.V(), tw), t.adm(AdmAsleep)))
	t.out("cancel.complete", "Future.end", Local, CancelLook, HoldSlow, And(t.complete(tw), t.holds(HoldIn)),
		t.H.Set(Num(HoldSlow)), t.HF.Set(Is(false)))
	t.out("cancel.idle", "Future.end", Local, CancelLook, MutexDone,
		And(future, Not(t.waits(tw)), Not(t.complete(tw)), Not(t.Left.At(tw)), Not(claimed(tw)), t.alone(tw)))
	t.out("cancel.waits", "Future.end", Local, CancelLook, GiveUp,
		And(future, Not(t.Left.At(tw)), Or(t.In.At(tw), busy)))

	goroutine := Or(And(Not(future), Eq(t.Adm.V(), tw), t.adm(AdmClaimed, AdmWoken)), Not(t.alone(tw)))
	t.locks("leave.lock", fn, GiveUp, XLook,
		And(Not(t.Left.At(tw)), Or(t.In.At(tw), busy, goroutine, t.complete(tw))), t.Own.Set(tw))
	last := t.lineOfOne(own)
	t.in("leave.last", line, Local, XLook, XClose, last, t.outOfLine(own)...)
	t.in("leave.line", line, Local, XLook, XEnd, And(t.In.At(own), Not(last)), t.outOfLine(own)...)
	t.in("leave.close", line, GateWrite, XClose, XEnd, True, t.G.Set(Num(GateClosed)))
	front := And(t.adm(AdmAsleep), Eq(t.Adm.V(), own))
	t.in("leave.front", "asleep.Unlink, "+fn, Local, XLook, XOpen, front, append(t.goesOn(), t.At.Set(Num(AdmLeaves)))...)
	away := And(Not(t.In.At(own)), Not(front))
	t.in("leave.gone", "atGate.Unlink, asleep.Unlink", Local, XLook, XGone,
		And(away, Not(t.Fut.At(own)), Or(And(Eq(t.Adm.V(), own), t.adm(AdmClaimed, AdmWoken)), Not(t.alone(own)))))
	t.in("leave.abandon", fn, Local, XLook, XEnd, And(away, claimed(own)), t.Left.SetAt(own, True))
	t.in("leave.complete", fn, Local, XLook, XComplete, And(away, t.Fut.At(own), Not(claimed(own)), Or(t.complete(own), Not(t.alone(own)))))
	t.unlocks("leave.end", fn, XEnd, Num(MutexDone), t.TRes.Set(If(t.Fut.At(tw), t.TRes.V(), Num(0))))
	t.unlocks("leave.open", fn, XOpen, Num(then), t.At.Set(Num(then)), t.TRes.Set(If(t.Fut.At(tw), t.TRes.V(), Num(0))))
	t.unlocks("leave.wait", fn, XGone, Num(GateGone))
	t.unlocks("leave.back", fn, XComplete, Num(CancelLook))
}

// Roles says what the thread under test has: the lock as its holder, the admission, or a request
// that it has claimed and is to tell.
func (t *GateTable) Roles(s *State) (holder, admitted, tells bool) {
	at, h, a := int64(s.Get(t.TPC)), int64(s.Get(t.H)), int64(s.Get(t.At))
	if at == MutexIn {
		pc := int64(s.Get(t.PC))
		admitted = a == AdmParking || a == AdmOpening || a == AdmLeaves || a == AdmPass || a == AdmHanding
		return h == HoldWaking || h == HoldHand, admitted, pc == ODeliver || pc == WDeliver
	}
	return at >= HoldNone && at < MutexLock, at >= AdmNone && at < HoldNone, at == TellNext || at == TellSlept
}

// OfHolder says that s is a step of the holder.
func (t *GateTable) OfHolder(s *Step) bool {
	return !s.Inside && s.From >= HoldNone && s.From < MutexLock
}

// OfAdmitted says that s is a step of the admitted.
func (t *GateTable) OfAdmitted(s *Step) bool {
	return !s.Inside && s.From >= AdmNone && s.From < HoldNone
}

// Tells says that s is a step of one that tells the admitted.
func (t *GateTable) Tells(s *Step) bool { return s.From == TellNext || s.From == TellSlept }

// Forget drops what only the bound needs: then the table is finite.
func (t *GateTable) Forget() {
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

// canonLine renumbers positions, which grow without end, and forgets what nobody knows any more.
// needsAdm says that the admitted request still matters.
func (t *GateTable) canonLine(s *State, nodes int, needsAdm bool) {
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
	at := int64(s.Get(t.At))
	waits := at >= AdmLoad && at <= AdmPass
	if !waits && !needsAdm {
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
