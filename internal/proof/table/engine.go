package table

// The engine: internal/engine/engine.go, acquire.go, and ordered.go, for which the order is a bag.
// Only one goroutine is under mu, so its place and its locals are variables of the table. Outside
// mu a goroutine's locals constrain nothing: each of its writes compares the whole word, or takes
// the slot, whatever is in it.

// EngineTable is the engine's table, with its variables for the tie.
type EngineTable struct {
	*Table

	// The word, the size, the slot.
	Avail, W, C, O *Var
	Grown          *Var // the size as it is stored
	SlotF, Slot    *Var
	// The waiters: where each is, and in the list its position.
	St, Pos, Head, Tail *Var
	// The options.
	N, MaxWaiting, Ordered *Var

	Size, Held, Mine    *Var // ghosts
	Arr, Afront, Aback  *Var // ghosts: the order of arrival
	Oa, OW, OC, OO      *Var // the owner's copy of the word
	Own, Num, D, G, Lim *Var // its waiter, its number, its other numbers
	Front, Legal, Y     *Var // Y: the waiter that comes out of the order

	// The thread under test: its copy of the word, the arguments of its call, the length of the
	// list, which waiters it has claimed, and what the deliveries came to. The tie sets the last
	// three.
	Ta, TW, TC, TO, Tg, Tn, Tw, Tx *Var
	TFront, TRes, TNested          *Var
	Len, Claimed, Delivered        *Var
}

// What the steps of the engine access.
const (
	Local Access = iota
	WordRead
	WordWrite
	GrownRead
	GrownWrite
	SlotRead
	SlotWrite
	MuLock
	MuUnlock
)

// Where a waiter is.
const (
	Fresh = iota
	InList
	InSlot
	InOrder
	InHand // between the list, or the order, and the slot
	Granted
	Cancelled
	Closed
	TooLarge
	Shed
	AtOnce // its request ended without a wait
)

// What the delivery to a waiter came to.
const (
	NotDelivered = iota
	Taken
	Refused
)

// The places. The owner's come first.
const (
	Free int64 = iota
	E1
	E2
	E3
	E5
	EL
	EA
	EP
	F1
	F2
	F3
	S1
	S2
	S3
	V1
	V2
	V3
	V4
	V5
	VA
	VB
	V7
	V8
	X1
	X2
	Z0
	Z1
	Z2
	Z4
	Z5
	Z6
	Z7
	Z8
	C1
	C2
	C3
	C4
	O1
	K1
	K2
	KA
	KB
	K5
	K6
	K7
	K9
	U
	// A thread's, outside.
	T0 // calls TryAcquire
	T1
	H0 // calls TryObserved
	H1
	R0 // calls Release
	R1
	R2
	R3
	R4
	SL // each waits for mu, for an operation
	EQ
	KQ
	XL
	ZL
	CL
	OL
	In // has mu: the owner's place says where
	DL // delivers
	Done
)

var enginePlaces = []string{
	"free", "E1", "E2", "E3", "E5", "EL", "EA", "EP", "F1", "F2", "F3", "S1", "S2", "S3",
	"V1", "V2", "V3", "V4", "V5", "VA", "VB", "V7", "V8", "X1", "X2",
	"Z0", "Z1", "Z2", "Z4", "Z5", "Z6", "Z7", "Z8", "C1", "C2", "C3", "C4", "O1",
	"K1", "K2", "KA", "KB", "K5", "K6", "K7", "K9", "U",
	"T0", "T1", "H0", "H1", "R0", "R1", "R2", "R3", "R4",
	"SL", "EQ", "KQ", "XL", "ZL", "CL", "OL", "In", "DL", "Done",
}

// The results of operations: what a call returns. An Enqueue's are the outcomes of package waiter.
const (
	No = iota
	Yes
	ResClosed
	ResTooLarge
	ResFull
	ResOther // the order refused it
)

// Engine returns the table.
func Engine() *EngineTable {
	t := bareEngine()
	t.defects()
	t.finish()
	return t
}

// bareEngine returns the table without defects, to plant one.
func bareEngine() *EngineTable {
	t := &EngineTable{Table: &Table{Name: "engine", Source: "internal/engine", Places: enginePlaces}}
	t.variables()
	t.Assume = engineAssumptions
	t.outside()
	t.enqueue()
	t.release()
	t.serve()
	t.others()
	t.ordered()
	t.initial()
	t.invariants()
	t.properties()
	t.domains()
	t.Canon = t.canon
	return t
}

var engineAssumptions = []string{
	"Atomics are sequentially consistent, as Go promises, and mu excludes.",
	"A fast release is legal: it gives back what is held. Under mu an over-release is refused, which is proved.",
	"A waiter that comes in at the front wants more than one permit, of an engine without an order whose slot is empty (the table of RW shows that).",
	"Sizes lie between 0 and 2⁵⁹, bases too; the façades see to that.",
	"Order.Pop returns nil only if the order is empty; whom it returns and whom it sheds is its own choice (internal/order has its own tests).",
	"A waiter that is used again is a new waiter; the hand-shake's table says when it may be.",
	"Fairness, for what is said about waiting: each holder releases one day, and each goroutine goes on.",
}

func (t *EngineTable) variables() {
	t.PC = t.scalar(Owner, Int, "pc")
	t.Avail = t.scalar(Shared, Int, "avail")
	t.W, t.C, t.O = t.scalar(Shared, Bool, "W"), t.scalar(Shared, Bool, "C"), t.scalar(Shared, Bool, "O")
	t.Grown = t.scalar(Shared, Int, "grown")
	t.SlotF, t.Slot = t.scalar(Shared, Bool, "full"), t.scalar(Shared, Node, "slot")
	t.St, t.Pos = t.array(Shared, Int, "st"), t.array(Shared, Int, "pos")
	t.Head, t.Tail = t.scalar(Ghost, Int, "head"), t.scalar(Ghost, Int, "tail")
	t.N = t.array(Rigid, Int, "N")
	t.Ordered = t.scalar(Rigid, Bool, "ordered")
	t.MaxWaiting = t.scalar(Rigid, Int, "maxWaiting")
	t.Size, t.Held, t.Mine = t.scalar(Ghost, Int, "size"), t.scalar(Ghost, Int, "held"), t.scalar(Ghost, Int, "mine")
	t.Arr = t.array(Ghost, Int, "arr")
	t.Afront, t.Aback = t.scalar(Ghost, Int, "afront"), t.scalar(Ghost, Int, "aback")
	t.Oa, t.OW = t.scalar(Owner, Int, "oa"), t.scalar(Owner, Bool, "oW")
	t.OC, t.OO = t.scalar(Owner, Bool, "oC"), t.scalar(Owner, Bool, "oO")
	t.Own, t.Num = t.scalar(Owner, Node, "w"), t.scalar(Owner, Int, "n")
	t.D, t.G, t.Lim = t.scalar(Owner, Int, "d"), t.scalar(Owner, Int, "g"), t.scalar(Owner, Int, "lim")
	t.Front, t.Legal = t.scalar(Owner, Bool, "front"), t.scalar(Owner, Bool, "legal")
	t.Y = t.scalar(Owner, Node, "y")

	t.TPC, t.Inside = t.scalar(Thread, Int, "tpc"), In
	t.Ta, t.TW = t.scalar(Thread, Int, "ta"), t.scalar(Thread, Bool, "tW")
	t.TC, t.TO = t.scalar(Thread, Bool, "tC"), t.scalar(Thread, Bool, "tO")
	t.Tg, t.Tn = t.scalar(Thread, Int, "tg"), t.scalar(Thread, Int, "tn")
	t.Tw, t.Tx = t.scalar(Thread, Node, "tw"), t.scalar(Thread, Node, "tx")
	t.Any = t.Tx
	t.TFront = t.scalar(Thread, Bool, "tfront")
	t.TRes, t.TNested = t.scalar(Thread, Int, "tres"), t.scalar(Thread, Bool, "tnested")
	t.Len = t.scalar(Thread, Int, "len")
	t.Claimed, t.Delivered = t.array(Thread, Bool, "claimed"), t.array(Thread, Int, "delivered")
}

// The vocabulary.

func (t *EngineTable) is(x *Expr, where ...int64) *Expr {
	var one []*Expr
	for _, s := range where {
		one = append(one, Eq(t.St.At(x), Num(s)))
	}
	return Or(one...)
}

func (t *EngineTable) at(places ...int64) *Expr {
	var one []*Expr
	for _, p := range places {
		one = append(one, Eq(t.PC.V(), Num(p)))
	}
	return Or(one...)
}

func (t *EngineTable) inList(x *Expr) *Expr { return t.is(x, InList) }
func (t *EngineTable) staged(x *Expr) *Expr { return t.is(x, InList, InSlot, InHand) }
func (t *EngineTable) queued(x *Expr) *Expr { return t.is(x, InList, InSlot, InHand, InOrder) }

func (t *EngineTable) none(of func(x *Expr) *Expr) *Expr {
	return All(func(x *Expr) *Expr { return Not(of(x)) })
}
func (t *EngineTable) listEmpty() *Expr  { return t.none(t.inList) }
func (t *EngineTable) noneQueued() *Expr { return t.none(t.queued) }
func (t *EngineTable) noneStaged() *Expr { return t.none(t.staged) }
func (t *EngineTable) noneInOrder() *Expr {
	return t.none(func(x *Expr) *Expr { return t.is(x, InOrder) })
}

func (t *EngineTable) each(of, then func(x *Expr) *Expr) *Expr {
	return All(func(x *Expr) *Expr { return Implies(of(x), then(x)) })
}

// isFront says that x is the first of the list.
func (t *EngineTable) isFront(x *Expr) *Expr {
	return And(t.inList(x), t.each(t.inList, func(y *Expr) *Expr { return LessEq(t.Pos.At(x), t.Pos.At(y)) }))
}

// first says that x is the first of the line: the slot's waiter, or else the list's first.
func (t *EngineTable) first(x *Expr) *Expr {
	return If(t.SlotF.V(), Eq(x, t.Slot.V()), t.isFront(x))
}

// same says that the word is still what the owner has read.
func (t *EngineTable) same() *Expr {
	return And(Eq(t.Avail.V(), t.Oa.V()), Eq(t.W.V(), t.OW.V()), Eq(t.C.V(), t.OC.V()), Eq(t.O.V(), t.OO.V()))
}

func (t *EngineTable) tsame() *Expr {
	return And(Eq(t.Avail.V(), t.Ta.V()), Eq(t.W.V(), t.TW.V()), Eq(t.C.V(), t.TC.V()), Eq(t.O.V(), t.TO.V()))
}

func (t *EngineTable) look() []Update {
	return []Update{t.Oa.Set(t.Avail.V()), t.OW.Set(t.W.V()), t.OC.Set(t.C.V()), t.OO.Set(t.O.V())}
}

func (t *EngineTable) tlook() []Update {
	return []Update{t.Ta.Set(t.Avail.V()), t.TW.Set(t.W.V()), t.TC.Set(t.C.V()), t.TO.Set(t.O.V())}
}

// in adds a step of the owner of mu.
func (t *EngineTable) in(name, fn string, a Access, from, to int64, guard *Expr, do ...Update) {
	do = append(do, t.PC.Set(Num(to)))
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: a, From: from, Inside: true, Guard: guard, Do: do})
}

// theirs is in, for a choice of the order's that depends on its settings.
func (t *EngineTable) theirs(name, fn string, a Access, from, to int64, guard *Expr, do ...Update) {
	t.in(name, fn, a, from, to, guard, do...)
	t.Steps[len(t.Steps)-1].Choice = true
}

// out adds a step of a thread that is not under mu.
func (t *EngineTable) out(name, fn string, a Access, from, to int64, guard *Expr, do ...Update) {
	do = append(do, t.TPC.Set(Num(to)))
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: a, From: from, Guard: guard, Do: do})
}

// end is out to the end of the call, or, if it was a grant's that was refused, of the delivery.
func (t *EngineTable) end(name, fn string, a Access, from int64, res int64, guard *Expr, do ...Update) {
	do = append(do, t.TPC.Set(If(t.TNested.V(), Num(DL), Num(Done))), t.result(Num(res)))
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: a, From: from, Guard: guard, Do: do})
}

func (t *EngineTable) result(r *Expr) Update { return t.TRes.Set(If(t.TNested.V(), t.TRes.V(), r)) }

// lock adds the step in which a thread gets mu.
func (t *EngineTable) lock(name, fn string, from, to int64, guard *Expr, do ...Update) {
	do = append(do, t.PC.Set(Num(to)), t.TPC.Set(Num(In)))
	t.Steps = append(t.Steps, &Step{
		Name: name, In: fn, Access: MuLock, From: from, Locks: true, Guard: And(t.at(Free), guard), Do: do,
	})
}

// grant is what a claim does for waiter x.
func (t *EngineTable) grant(x *Expr) []Update {
	return []Update{t.St.SetAt(x, Num(Granted)), t.Claimed.SetAt(x, True)}
}

// push puts a waiter at the back of the list.
func (t *EngineTable) push(w *Expr) []Update {
	return []Update{
		t.St.SetAt(w, Num(InList)), t.Pos.SetAt(w, t.Tail.V()), t.Tail.Set(Add(t.Tail.V(), Num(1))),
	}
}

// arrive makes the owner's waiter the newest.
func (t *EngineTable) arrive() []Update {
	return []Update{t.Arr.SetAt(t.Own.V(), t.Aback.V()), t.Aback.Set(Add(t.Aback.V(), Num(1)))}
}

func cat(u ...[]Update) (all []Update) {
	for _, s := range u {
		all = append(all, s...)
	}
	return all
}

// outside has the fast paths: the calls that take no mutex, and what leads to those that do.
func (t *EngineTable) outside() {
	a, n := t.Ta.V(), t.Tn.V()
	positive := Less(Num(0), n)
	take := []Update{t.Avail.Set(Sub(t.Avail.V(), n)), t.Held.Set(Add(t.Held.V(), n))}

	fits := And(positive, Not(t.TW.V()), Not(t.TC.V()), Not(t.TO.V()), LessEq(n, a))
	t.out("T.look", "Permits.TryAcquire", WordRead, T0, T1, True, t.tlook()...)
	t.end("T.not", "Permits.Fits", Local, T1, No, Not(fits))
	t.end("T.take", "Engine.Take", WordWrite, T1, Yes, And(fits, t.tsame()), take...)
	t.out("T.lost", "Engine.Take", WordRead, T1, T0, And(fits, Not(t.tsame())))

	fits = And(positive, Not(t.TW.V()), Not(t.TC.V()), LessEq(n, a))
	t.out("H.look", "Permits.TryObserved", WordRead, H0, H1, True, t.tlook()...)
	t.end("H.not", "Permits.TryObserved", Local, H1, No, Not(fits))
	t.end("H.take", "Engine.Take", WordWrite, H1, Yes, And(fits, t.tsame()), take...)
	t.out("H.lost", "Engine.Take", WordRead, H1, H0, And(fits, Not(t.tsame())))

	held := Sub(t.Tg.V(), a)
	t.out("R.look", "Permits.Release", WordRead, R0, R1, True, t.tlook()...)
	t.out("R.held", "Engine.held", GrownRead, R1, R2, Not(t.TW.V()), t.Tg.Set(t.Grown.V()))
	t.out("R.over", "Permits.Release", Local, R2, SL, Less(held, n))
	t.end("R.give", "Engine.Give", WordWrite, R2, Yes,
		And(positive, LessEq(n, held), Not(t.TW.V()), t.tsame(), LessEq(n, t.Held.V())),
		t.Avail.Set(Add(t.Avail.V(), n)), t.Held.Set(Sub(t.Held.V(), n)))
	t.out("R.lost", "Engine.Give", WordRead, R2, R0, And(LessEq(n, held), Not(t.tsame())))
	t.out("R.many", "Permits.Release", Local, R1, SL, And(t.TW.V(), Not(Eq(n, Num(1)))))
	t.out("R.one", "Permits.Release", Local, R1, R3, And(t.TW.V(), Eq(n, Num(1))))
	t.out("R.swap", "Permits.Release", SlotWrite, R3, R4, And(t.SlotF.V(), Eq(n, Num(1)), LessEq(n, t.Held.V())),
		t.SlotF.Set(Is(false)), t.St.SetAt(t.Slot.V(), Num(Granted)), t.Tw.Set(t.Slot.V()))
	t.out("R.empty", "Permits.Release", SlotWrite, R3, SL, And(Not(t.SlotF.V()), Eq(n, Num(1))))
	t.end("R.delivered", "Permits.Release", Local, R4, Yes, Eq(t.Delivered.At(t.Tw.V()), Num(Taken)))
	t.out("R.refused", "Permits.Release", Local, R4, R0, Eq(t.Delivered.At(t.Tw.V()), Num(Refused)))

	// What was claimed under mu is delivered after it. A grant that is refused is released again.
	x := t.Tx.V()
	mine := t.Claimed.At(x)
	t.out("D.delivered", "deliver", Local, DL, DL, And(mine, Eq(t.Delivered.At(x), Num(Taken))), t.Claimed.SetAt(x, Is(false)))
	t.out("D.refused", "giveBack", Local, DL, R0, And(mine, Eq(t.Delivered.At(x), Num(Refused)), t.is(x, Granted)),
		t.Claimed.SetAt(x, Is(false)), t.Tn.Set(t.N.At(x)), t.TNested.Set(True))
	t.out("D.dropped", "deliver", Local, DL, DL, And(mine, Eq(t.Delivered.At(x), Num(Refused)), Not(t.is(x, Granted))),
		t.Claimed.SetAt(x, Is(false)))
	t.out("D.done", "deliver", Local, DL, Done, t.none(func(y *Expr) *Expr { return t.Claimed.At(y) }))
}

// enqueue has Enqueue and refillLocked.
func (t *EngineTable) enqueue() {
	const fn, refill = "Permits.enqueueLocked", "Permits.refillLocked"
	w, oa := t.Own.V(), t.Oa.V()
	n := t.N.At(w)
	once := func(res int64) []Update { return []Update{t.St.SetAt(w, Num(AtOnce)), t.result(Num(res))} }

	tw := t.Tw.V()
	t.lock("E.lock", "Permits.Enqueue", EQ, E1,
		And(t.is(tw, Fresh), LessEq(Num(1), t.N.At(tw)),
			Not(t.Ordered.V()), Implies(t.TFront.V(), And(LessEq(Num(2), t.N.At(tw)), Not(t.SlotF.V())))),
		t.Own.Set(tw), t.Front.Set(t.TFront.V()))
	t.in("E.look", fn, WordRead, E1, E2, True, t.look()...)
	t.in("E.closed", fn, Local, E2, U, t.OC.V(), once(ResClosed)...)
	t.in("E.size", "Permits.Size", GrownRead, E2, E3, Not(t.OC.V()), t.Lim.Set(t.Grown.V()))
	fits := LessEq(n, t.Lim.V())
	t.in("E.large", fn, Local, E3, U, Not(fits), once(ResTooLarge)...)
	t.in("E.first", fn, Local, E3, EL, And(fits, t.Front.V()))
	back := And(fits, Not(t.Front.V()))
	t.in("E.behind", "Engine.stagedLocked", Local, E3, E5, And(back, Not(t.listEmpty())))
	t.in("E.second", "Engine.stagedLocked", SlotRead, E3, E5, And(back, t.listEmpty(), t.SlotF.V()))
	t.in("E.alone", "Engine.stagedLocked", SlotRead, E3, EL, And(back, t.listEmpty(), Not(t.SlotF.V())))
	waiting := Add(t.Len.V(), If(t.SlotF.V(), Num(1), Num(0)))
	limited := Less(Num(0), t.MaxWaiting.V())
	t.in("E.any", fn, Local, E5, EP, Not(limited))
	t.in("E.full", "Engine.waitingLocked", SlotRead, E5, U, And(limited, LessEq(t.MaxWaiting.V(), waiting)), once(ResFull)...)
	t.in("E.room", "Engine.waitingLocked", SlotRead, E5, EP, And(limited, Less(waiting, t.MaxWaiting.V())))

	t.in("E.take", "Engine.Take", WordWrite, EL, U, And(LessEq(n, oa), t.same()),
		append(once(Yes), t.Avail.Set(Sub(t.Avail.V(), n)), t.Held.Set(Add(t.Held.V(), n)))...)
	t.in("E.lost", "Engine.Take", WordRead, EL, EA, And(LessEq(n, oa), Not(t.same())))
	t.in("E.waits", fn, Local, EL, EP, And(Less(oa, n), t.OW.V()))
	t.in("E.mark", fn, WordWrite, EL, EP, And(Less(oa, n), Not(t.OW.V()), t.same()), t.W.Set(True))
	t.in("E.unmarked", fn, WordRead, EL, EA, And(Less(oa, n), Not(t.OW.V()), Not(t.same())))
	t.in("E.again", fn, WordRead, EA, EL, True, t.look()...)
	t.in("E.back", fn, Local, EP, F1, Not(t.Front.V()), append(cat(t.push(w), t.arrive()), t.result(Num(No)))...)
	t.in("E.ahead", fn, Local, EP, F1, t.Front.V(),
		t.St.SetAt(w, Num(InList)), t.Pos.SetAt(w, t.Head.V()), t.Head.Set(Sub(t.Head.V(), Num(1))),
		t.Arr.SetAt(w, t.Afront.V()), t.Afront.Set(Sub(t.Afront.V(), Num(1))), t.result(Num(No)))

	one := func(x *Expr) *Expr { return And(t.isFront(x), Eq(t.N.At(x), Num(1))) }
	oneFirst := And(Any(one), LessEq(Num(0), oa))
	t.in("F.none", refill, Local, F1, U, Not(oneFirst))
	t.in("F.full", refill, SlotRead, F1, U, And(oneFirst, t.SlotF.V()))
	t.in("F.room", refill, SlotRead, F1, F2, And(oneFirst, Not(t.SlotF.V())))
	x := t.Tx.V()
	t.in("F.pop", refill, Local, F2, F3, t.isFront(x),
		t.Own.Set(x), t.St.SetAt(x, Num(InHand)))
	t.in("F.store", refill, SlotWrite, F3, U, True,
		t.SlotF.Set(True), t.Slot.Set(w), t.St.SetAt(w, Num(InSlot)))
	t.in("U.unlock", "", MuUnlock, U, Free, True, t.TPC.Set(Num(DL)))
}

// release has releaseSlow.
func (t *EngineTable) release() {
	const fn = "Permits.addLocked"
	n, oa := t.Num.V(), t.Oa.V()
	tn := t.Tn.V()
	// A legal release has its permits in hand: others cannot release them.
	t.lock("S.lock", "Permits.releaseSlow", SL, S1, And(Less(Num(0), tn), LessEq(tn, t.Held.V())),
		t.Num.Set(tn), t.Legal.Set(True), t.Mine.Set(tn), t.Held.Set(Sub(t.Held.V(), tn)))
	t.lock("S.illegal", "Permits.releaseSlow", SL, S1, Less(Num(0), tn), t.Num.Set(tn), t.Legal.Set(Is(false)))
	t.in("S.look", fn, WordRead, S1, S2, True, t.look()...)
	t.in("S.held", "Engine.held", GrownRead, S2, S3, True, t.G.Set(t.Grown.V()))
	held := Sub(t.G.V(), oa)
	t.in("S.refuse", fn, Local, S3, V1, Less(held, n),
		t.Mine.Set(Num(0)), t.Held.Set(Add(t.Held.V(), t.Mine.V())), t.result(Num(No)))
	t.in("S.add", "Engine.Give", WordWrite, S3, V1, And(LessEq(n, held), t.same()),
		t.Avail.Set(Add(t.Avail.V(), n)), t.Mine.Set(Num(0)),
		t.Held.Set(If(t.Legal.V(), t.Held.V(), Sub(t.Held.V(), n))), t.result(Num(Yes)))
	t.in("S.lost", "Engine.Give", WordRead, S3, S1, And(LessEq(n, held), Not(t.same())))
}

// serve has serveLocked.
func (t *EngineTable) serve() {
	const fn, slot = "Permits.serveLocked", "Engine.takeSlotLocked"
	oa, x := t.Oa.V(), t.Tx.V()
	t.in("V.look", fn, WordRead, V1, V2, t.W.V(), t.look()...)
	t.in("V.nobody", fn, WordRead, V1, U, Not(t.W.V()))
	t.in("V.enough", fn, Local, V2, V5, LessEq(oa, Num(0)))
	some := Less(Num(0), oa)
	t.in("V.slot", slot, SlotRead, V2, V3, And(some, t.SlotF.V()))
	t.in("V.noslot", slot, SlotRead, V2, V4, And(some, Not(t.SlotF.V())))
	t.in("V.claim", slot, SlotWrite, V3, V2, t.SlotF.V(),
		append(t.grant(t.Slot.V()), t.SlotF.Set(Is(false)),
			t.Oa.Set(Sub(oa, t.N.At(t.Slot.V()))), t.Held.Set(Add(t.Held.V(), t.N.At(t.Slot.V()))))...)
	t.in("V.faster", slot, SlotWrite, V3, V4, Not(t.SlotF.V()))
	t.in("V.pop", fn, Local, V4, V2, And(t.isFront(x), LessEq(t.N.At(x), oa)),
		append(t.grant(x), t.Oa.Set(Sub(oa, t.N.At(x))), t.Held.Set(Add(t.Held.V(), t.N.At(x))))...)
	t.in("V.stop", fn, Local, V4, V5,
		t.each(t.isFront, func(y *Expr) *Expr { return Less(oa, t.N.At(y)) }))
	t.in("V.order", "Engine.ordered", Local, V5, V7, Not(t.Ordered.V()))
	const waits = "Engine.stagedLocked"
	t.in("V.list", waits, Local, V7, V8, Not(t.listEmpty()))
	t.in("V.oneleft", waits, SlotRead, V7, V8, And(t.listEmpty(), t.SlotF.V()))
	t.in("V.orderleft", waits, SlotRead, V7, V8, And(t.listEmpty(), Not(t.SlotF.V()), Not(t.noneInOrder())))
	t.in("V.last", waits, SlotRead, V7, V8, And(t.listEmpty(), Not(t.SlotF.V()), t.noneInOrder()), t.OW.Set(Is(false)))
	t.in("V.store", fn, WordWrite, V8, F1, True,
		t.Avail.Set(oa), t.W.Set(t.OW.V()), t.C.Set(t.OC.V()), t.O.Set(t.OO.V()))
}

// others has Cancel, Resize, Close and Observe.
func (t *EngineTable) others() {
	w := t.Own.V()
	const unlink = "Permits.unlinkLocked"
	here := And(t.SlotF.V(), Eq(t.Slot.V(), w))
	t.lock("X.lock", "Permits.Cancel", XL, X1, True, t.Own.Set(t.Tw.V()))
	t.in("X.order", "Ordered.Unlink", Local, X1, U, t.is(w, InOrder), t.St.SetAt(w, Num(Cancelled)), t.result(Num(Yes)))
	t.in("X.slot", unlink, SlotWrite, X1, V1, And(Not(t.is(w, InOrder)), here),
		t.SlotF.Set(Is(false)), t.St.SetAt(w, Num(Cancelled)), t.result(Num(Yes)))
	t.in("X.notslot", unlink, SlotRead, X1, X2, And(Not(t.is(w, InOrder)), Not(here)))
	t.in("X.list", unlink, Local, X2, V1, t.inList(w),
		t.St.SetAt(w, Num(Cancelled)), t.result(Num(Yes)))
	t.in("X.gone", unlink, Local, X2, U, Not(t.inList(w)), t.result(Num(No)))

	const resize, shrink = "Permits.Resize", "Engine.shrinkQueueLocked"
	d := t.D.V()
	less := Less(d, Num(0))
	addSize := t.Grown.Set(Add(t.Grown.V(), d))
	addWord := []Update{t.Avail.Set(Add(t.Avail.V(), d)), t.Size.Set(Add(t.Size.V(), d))}
	t.lock("Z.lock", resize, ZL, Z0, And(LessEq(Num(0), t.Tn.V()), LessEq(t.Tn.V(), Num(maxPermits))), t.Num.Set(t.Tn.V()))
	t.in("Z.size", "Permits.Size", GrownRead, Z0, Z1, True, t.D.Set(Sub(t.Num.V(), t.Grown.V())))
	t.in("Z.less", resize, GrownWrite, Z1, Z2, less, addSize)
	t.in("Z.debt", resize, WordWrite, Z2, Z5, True, addWord...)
	t.in("Z.more", resize, WordWrite, Z1, Z4, Not(less), addWord...)
	t.in("Z.grown", resize, GrownWrite, Z4, Z5, True, addSize)
	t.in("Z.nobody", resize, WordRead, Z5, U, Not(t.W.V()))
	t.in("Z.serve", resize, WordRead, Z5, V1, And(t.W.V(), Not(less)))
	t.in("Z.queue", resize, WordRead, Z5, Z6, And(t.W.V(), less))
	const slot = "Engine.takeSlotLocked"
	t.in("Z.slot", slot, SlotRead, Z6, Z7, t.SlotF.V())
	t.in("Z.noslot", slot, SlotRead, Z6, Z8, Not(t.SlotF.V()))
	t.in("Z.back", slot, SlotWrite, Z7, Z8, t.SlotF.V(),
		t.SlotF.Set(Is(false)), t.St.SetAt(t.Slot.V(), Num(InList)), t.Pos.SetAt(t.Slot.V(), t.Head.V()),
		t.Head.Set(Sub(t.Head.V(), Num(1))))
	t.in("Z.faster", slot, SlotWrite, Z7, Z8, Not(t.SlotF.V()))
	reject := func(x *Expr) *Expr { return And(t.is(x, InList, InOrder), Less(t.Num.V(), t.N.At(x))) }
	t.in("Z.reject", shrink, Local, Z8, V1, True,
		t.St.SetAll(func(x *Expr) *Expr { return If(reject(x), Num(TooLarge), t.St.At(x)) }),
		t.Claimed.SetAll(func(x *Expr) *Expr { return Or(t.Claimed.At(x), reject(x)) }))

	t.lock("C.lock", "Engine.Close", CL, C1, True)
	t.in("C.slot", slot, SlotRead, C1, C2, t.SlotF.V())
	t.in("C.noslot", slot, SlotRead, C1, C3, Not(t.SlotF.V()))
	t.in("C.end", slot, SlotWrite, C2, C3, t.SlotF.V(),
		t.SlotF.Set(Is(false)), t.St.SetAt(t.Slot.V(), Num(Closed)), t.Claimed.SetAt(t.Slot.V(), True))
	t.in("C.faster", slot, SlotWrite, C2, C3, Not(t.SlotF.V()))
	drained := func(x *Expr) *Expr { return t.is(x, InList, InOrder) }
	t.in("C.drain", "Engine.Close", Local, C3, C4, True,
		t.St.SetAll(func(x *Expr) *Expr { return If(drained(x), Num(Closed), t.St.At(x)) }),
		t.Claimed.SetAll(func(x *Expr) *Expr { return Or(t.Claimed.At(x), drained(x)) }))
	t.in("C.flag", "Engine.Close", WordWrite, C4, U, True, t.C.Set(True))

	t.lock("O.lock", "Engine.Observe", OL, O1, True, t.Num.Set(t.Tn.V()))
	t.in("O.set", "Engine.Observe", WordWrite, O1, U, Eq(t.Num.V(), Num(1)), t.O.Set(True))
	t.in("O.clear", "Engine.Observe", WordWrite, O1, U, Not(Eq(t.Num.V(), Num(1))), t.O.Set(Is(false)))
}

// ordered has what an ordered engine does besides. The order is a bag: it gives and sheds whom it
// likes.
func (t *EngineTable) ordered() {
	ord := t.Ordered.V()
	t.stage("V", V5, VA, VB, V2, V7, ord)
	t.in("V.listed", "Engine.stagedLocked", Local, V5, V7, And(ord, Not(t.listEmpty())))
	t.in("V.slotted", "Engine.stagedLocked", SlotRead, V5, V7, And(ord, t.listEmpty(), t.SlotF.V()))
	const by, staged = "Permits.enqueueByLocked", "Engine.stagedLocked"
	w, tw, x := t.Own.V(), t.Tw.V(), t.Tx.V()
	once := func(res int64) []Update { return []Update{t.St.SetAt(w, Num(AtOnce)), t.result(Num(res))} }
	t.lock("K.lock", "Permits.EnqueueBy", KQ, K1,
		And(ord, t.is(tw, Fresh), LessEq(Num(1), t.N.At(tw))), t.Own.Set(tw), t.Front.Set(Is(false)))
	t.in("K.list", staged, Local, K1, K5, Not(t.listEmpty()))
	t.in("K.slot", staged, SlotRead, K1, K5, And(t.listEmpty(), t.SlotF.V()))
	t.in("K.nobody", staged, SlotRead, K1, K2, And(t.listEmpty(), Not(t.SlotF.V())))
	t.in("K.look", by, WordRead, K2, K6, True, t.look()...)
	t.stage("K", K6, KA, KB, K5, K7, True)
	t.in("K.alone", by, WordRead, K7, E1, True)
	t.in("K.size", "Permits.Size", GrownRead, K5, K9, True, t.Lim.Set(t.Grown.V()))
	fits := LessEq(t.N.At(w), t.Lim.V())
	t.in("K.large", by, Local, K9, U, Not(fits), once(ResTooLarge)...)
	t.in("K.push", by, Local, K9, U, fits, t.St.SetAt(w, Num(InOrder)), t.result(Num(No)))
	t.in("K.refused", by, Local, K9, U, fits, once(ResOther)...)
	t.theirs("K.sheds", by, Local, K9, K9, And(fits, t.is(x, InOrder)), t.St.SetAt(x, Num(Shed)), t.Claimed.SetAt(x, True))
}

// stage adds stageLocked, from a place to one of two others: a waiter has been staged, or not.
func (t *EngineTable) stage(p string, from, pop, got, yes, no int64, guard *Expr) {
	const fn, staged = "Permits.stageLocked", "Engine.stagedLocked"
	x, y, oa := t.Tx.V(), t.Y.V(), t.Oa.V()
	t.in(p+".unstaged", staged, SlotRead, from, pop, And(guard, t.listEmpty(), Not(t.SlotF.V())))
	t.theirs(p+".shed", fn, Local, pop, pop, t.is(x, InOrder), t.St.SetAt(x, Num(Shed)), t.Claimed.SetAt(x, True))
	t.in(p+".noone", fn, Local, pop, no, t.noneInOrder())
	t.in(p+".next", fn, Local, pop, got, t.is(x, InOrder), t.Y.Set(x), t.St.SetAt(x, Num(InHand)))
	slot := And(Eq(t.N.At(y), Num(1)), Eq(oa, Num(0)))
	t.in(p+".tolist", fn, Local, got, yes, Not(slot), t.push(y)...)
	t.in(p+".toslot", fn, SlotWrite, got, yes, slot,
		t.SlotF.Set(True), t.Slot.Set(y), t.St.SetAt(y, Num(InSlot)))
}
