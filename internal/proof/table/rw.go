package table

import "slices"

// The read-write lock: internal/engine/rw.go and bias.go. It is an engine, so it has the steps of
// engine.go that it uses, and its own. Its size never changes, it is never closed, and it has no
// order.
//
// Hidden readers are counted, and so are the rows of the lock's column. A row that holds the lock
// is owned as long as the reader that filled it last has not looked at the word again; then it is
// pinned. A reader that has filled a row and not looked again is one of owned, or, if its row was
// emptied, of lost. Who makes a step is one of those that are counted before it. So no row and no
// thread has a number, and there may be any number of both.

// RWTable is the table of the read-write lock, with its variables for the tie.
type RWTable struct {
	*EngineTable

	Half     *Var // what the bias holds; an upgradable reader holds two of it, a writer four, less two permits
	Rows     *Var // of the lock's column
	Biasable *Var // it was made with bias

	Bias, Writer, Up *Var // ghosts: the lock is biased, a writer holds it, an upgradable reader does
	Reading          *Var // ghost: how many readers read
	Owned, Pinned    *Var // rows that hold the lock: their sum is in memory
	Lost             *Var // ghost: readers that have not looked again, whose row was emptied

	Left, Hidden *Var // revealLocked: rows still to be looked at, hidden readers found
	Then         *Var // where the owner of mu goes on after revealLocked
	Queues       *Var // it is in enqueue
	Was, Took    *Var // TryExclusive has found the lock biased, has taken permits

	Tb, TOwns *Var // Hide: the copy of the word; the row is still the thread's
	TThen     *Var // what is left to do after the deliveries
}

// What the steps of the read-write lock access besides.
const (
	RowRead Access = 40 + iota
	RowWrite
)

// What is left to do after the deliveries.
const (
	AllDone   = iota
	ReleaseIt // ReleaseRead goes on
	LookAgain // Observe asks whether readers may hide
)

// The places of the read-write lock, after those of the engine.
const (
	J0 = Done + 1 + iota // the owner's: revealLocked
	J1
	J2
	SO // addLocked: the bias has come back
	UO // Unbias
	G1 // TryExclusive
	G2
	G3
	G4
	G5
	G6
	G7
	L1 // tryReadLocked
	L2
	L3
	FirstRead // a thread's: calls TakeFirstRead
	LastRead  // calls GiveLastRead
	TakesAll  // calls TakeAll
	GivesAll  // calls GiveAll
	HI        // calls Hide
	HI1
	HI2
	HI3
	RT // calls TryRead
	RTTake
	RT1
	RT2
	RT3
	RT4
	RB // calls Rebias
	RB1
	LV // calls Leave
	LV1
	LV2
	RR // calls ReleaseRead
	RRGive
	RR1
	RR2
	RR3
	RR4
	RL // calls Release
	RL1
	GL // each waits for mu, for an operation
	LL
	UL
	OB // Observe: may readers hide?
)

var rwPlaces = append(slices.Clone(enginePlaces),
	"J0", "J1", "J2", "SO", "UO", "G1", "G2", "G3", "G4", "G5", "G6", "G7", "L1", "L2", "L3",
	"First", "Last", "All", "Back", "HI", "HI1", "HI2", "HI3", "RT", "RT-take", "RT1", "RT2", "RT3", "RT4", "RB", "RB1",
	"LV", "LV1", "LV2", "RR", "RR-give", "RR1", "RR2", "RR3", "RR4", "RL", "RL1", "GL", "LL", "UL", "OB",
)

// RW returns the table.
func RW() *RWTable {
	t := bareRW()
	t.plants()
	t.finish()
	return t
}

func bareRW() *RWTable {
	t := &RWTable{EngineTable: &EngineTable{Table: &Table{Name: "rw", Source: "internal/engine", Places: rwPlaces}}}
	t.vars()
	t.Assume = []string{
		"Atomics are sequentially consistent, as Go promises, and mu excludes.",
		"A reader's share is returned by a reader, and Rebias is called by one. Of other shares nothing is assumed: a return of what is not held is refused, which is proved.",
		"While the upgradable reader upgrades nobody returns its share, nor what a try has got before the try has returned.",
		"A request is for a reader, an upgradable reader or a writer, or by the upgradable reader, at the front, for the rest.",
		"Fewer than 2⁵⁴ − 3 goroutines hold the lock or try to at once.",
		"A grant that its owner refuses is released: the engine's table has that.",
		"A waiter that is used again is a new waiter.",
		"Fairness, for what is said about waiting: each holder releases one day, and each goroutine goes on.",
	}
	t.outside()
	t.enqueue()
	t.serve()
	t.others()
	t.ofEngine()
	t.fast()
	t.hide()
	t.leave()
	t.give()
	t.reveal()
	t.tries()
	t.begin()
	t.holds()
	t.steps()
	t.ranges()
	t.Canon = t.canon
	return t
}

func (t *RWTable) vars() {
	t.Half, t.Rows = t.scalar(Rigid, Int, "half"), t.scalar(Rigid, Int, "rows")
	t.Biasable = t.scalar(Rigid, Bool, "biasable")
	t.variables()
	no, zero := Is(false), Num(0)
	for _, v := range []*Var{t.C, t.OC, t.TC, t.Ordered, t.Legal, t.TNested} {
		t.fix(v, no)
	}
	for _, v := range []*Var{t.MaxWaiting, t.D, t.Mine, t.Held, t.Len} {
		t.fix(v, zero)
	}
	for _, v := range []*Var{t.Grown, t.Size, t.Lim, t.G, t.Tg} {
		t.fix(v, t.all())
	}
	t.without(t.Y, t.Delivered)
	t.Bias, t.Writer, t.Up = t.scalar(Ghost, Bool, "bias"), t.scalar(Ghost, Bool, "writer"), t.scalar(Ghost, Bool, "upgradable")
	t.Reading = t.scalar(Ghost, Int, "reading")
	t.Owned, t.Pinned, t.Lost = t.scalar(Shared, Int, "owned"), t.scalar(Shared, Int, "pinned"), t.scalar(Ghost, Int, "lost")
	t.Left, t.Hidden = t.scalar(Owner, Int, "left"), t.scalar(Owner, Int, "hidden")
	t.Then, t.Queues = t.scalar(Owner, Int, "then"), t.scalar(Owner, Bool, "queues")
	t.Was, t.Took = t.scalar(Owner, Bool, "was"), t.scalar(Owner, Bool, "took")
	t.Tb, t.TOwns, t.TThen = t.scalar(Thread, Int, "tb"), t.scalar(Thread, Bool, "towns"), t.scalar(Thread, Int, "tthen")
}

// The shares.
func (t *RWTable) up() *Expr  { return Add(t.Half.V(), t.Half.V()) }
func (t *RWTable) all() *Expr { return Sub(Add(t.up(), t.up()), Num(2)) }

// The parts of a share that can be returned. rest is what an upgrade waits for.
func (t *RWTable) rest() *Expr      { return Sub(t.all(), t.up()) }
func (t *RWTable) allButOne() *Expr { return Sub(t.all(), Num(1)) }
func (t *RWTable) upButOne() *Expr  { return Sub(t.up(), Num(1)) }

// among says that n is one of them.
func among(n *Expr, of ...*Expr) *Expr {
	var one []*Expr
	for _, o := range of {
		one = append(one, Eq(n, o))
	}
	return Or(one...)
}

// What the word says where so many permits are free: bits 55 and 54, and those below.
func (t *RWTable) heldOf(free *Expr) *Expr   { return Sub(t.all(), free) }
func (t *RWTable) writerOf(free *Expr) *Expr { return Eq(free, Num(0)) }
func (t *RWTable) bit55(free *Expr) *Expr    { return LessEq(t.up(), t.heldOf(free)) }
func (t *RWTable) lower(free *Expr) *Expr {
	return If(t.bit55(free), Sub(t.heldOf(free), t.up()), t.heldOf(free))
}
func (t *RWTable) bit54(free *Expr) *Expr { return LessEq(t.Half.V(), t.lower(free)) }
func (t *RWTable) readersOf(free *Expr) *Expr {
	return If(t.bit54(free), Sub(t.lower(free), t.Half.V()), t.lower(free))
}
func (t *RWTable) biasedOf(free *Expr) *Expr { return And(t.bit54(free), Not(t.writerOf(free))) }

// legal is legalRW.
func (t *RWTable) legal(free, n *Expr) *Expr {
	return If(t.writerOf(free), among(n, t.all(), t.allButOne(), t.rest()),
		If(Eq(n, Num(1)), Less(Num(0), t.readersOf(free)), And(t.bit55(free), among(n, t.up(), t.upButOne()))))
}

// people are all that hold the lock or are about to know whether they do, and room says that there
// may be one more.
func (t *RWTable) people() *Expr {
	return Add(t.Reading.V(), t.Lost.V(), t.Owned.V(), bit(t.Writer.V()), bit(t.Up.V()))
}
func (t *RWTable) room() *Expr { return LessEq(Add(t.people(), Num(4)), t.Half.V()) }

// gain is what becomes of the holders when n permits are granted, and lose when they are returned.
func (t *RWTable) gain(n *Expr) []Update {
	return []Update{
		t.Writer.Set(Or(t.Writer.V(), among(n, t.all(), t.rest()))),
		t.Up.Set(If(Eq(n, t.rest()), Is(false), Or(t.Up.V(), Eq(n, t.up())))),
		t.Reading.Set(Add(t.Reading.V(), bit(Eq(n, Num(1))))),
	}
}

func (t *RWTable) lose(n *Expr) []Update {
	return []Update{
		t.Writer.Set(And(t.Writer.V(), Not(among(n, t.all(), t.allButOne(), t.rest())))),
		t.Up.Set(If(Eq(n, t.rest()), True, And(t.Up.V(), Not(among(n, t.up(), t.upButOne()))))),
		t.Reading.Set(Add(t.Reading.V(), If(Eq(n, Num(1)), Num(-1), bit(among(n, t.allButOne(), t.upButOne()))))),
	}
}

// inReveal says that the owner of mu is in revealLocked, and inTry that it is in TryExclusive.
func (t *RWTable) inReveal() *Expr { return t.at(J0, J1, J2) }

func (t *RWTable) inTry() *Expr {
	return Or(t.at(G1, G2, G3, G4, G5, G6, G7), And(t.inReveal(), t.goesTo(G3)))
}
func (t *RWTable) goesTo(place int64) *Expr { return Eq(t.Then.V(), Num(place)) }

// upgrading says that the upgradable reader waits for the rest, or is about to.
func (t *RWTable) upgrading() *Expr {
	return Or(Any(func(x *Expr) *Expr { return And(t.queued(x), Eq(t.N.At(x), t.rest())) }),
		And(t.enqueuing(), Eq(t.N.At(t.Own.V()), t.rest())), And(t.inTry(), Eq(t.Num.V(), t.rest())))
}

// got says that TryExclusive has what it wants, and has not returned.
func (t *RWTable) got() *Expr { return And(t.inTry(), t.Took.V()) }

// wants says that n is what one may ask for.
func (t *RWTable) wants(n *Expr) *Expr {
	return Or(among(n, Num(1), t.up(), t.all()),
		And(Eq(n, t.rest()), t.Up.V(), Not(t.upgrading()), Not(t.got())))
}

// has is what is assumed of one that returns n permits.
func (t *RWTable) has(n *Expr) *Expr {
	return And(Implies(Eq(n, Num(1)), Less(Num(0), t.Reading.V())),
		Implies(among(n, t.up(), t.upButOne()), Not(t.upgrading())),
		Implies(Not(Eq(n, Num(1))), Not(t.got())))
}

// ofEngine keeps the steps of the engine that a read-write lock uses, and adds who holds it.
func (t *RWTable) ofEngine() {
	uses := map[string]bool{}
	for _, name := range []string{
		"T.look", "T.not", "T.take", "T.lost", "H.look", "H.not", "H.take", "H.lost", "D.delivered", "D.done",
		"E.lock", "E.look", "E.size", "E.first", "E.behind", "E.second", "E.alone", "E.any", "E.take", "E.lost", "E.waits",
		"E.mark", "E.unmarked", "E.again", "E.back", "E.ahead", "F.none", "F.full", "F.room", "F.pop",
		"F.store", "U.unlock", "V.look", "V.nobody", "V.enough", "V.slot", "V.noslot", "V.claim", "V.pop", "V.stop",
		"V.order", "V.list", "V.oneleft", "V.last", "V.store", "X.lock", "X.slot", "X.notslot", "X.list", "X.gone",
		"O.lock", "O.set", "O.clear",
	} {
		uses[name] = true
	}
	t.Steps = slices.DeleteFunc(t.Steps, func(s *Step) bool { return !uses[s.Name] })
	n := t.Tn.V()
	for _, name := range []string{"T.take", "H.take"} {
		t.only(name, And(t.wants(n), t.room()))
		t.also(name, t.gain(n)...)
	}
	tw, w, x := t.Tw.V(), t.Own.V(), t.Tx.V()
	t.Step("E.lock").Guard = And(t.at(Free), t.is(tw, Fresh), t.wants(t.N.At(tw)), Eq(t.TFront.V(), Eq(t.N.At(tw), t.rest())))
	t.only("E.take", t.room())
	t.also("E.take", t.gain(t.N.At(w))...)
	t.only("V.claim", t.room())
	t.also("V.claim", t.gain(t.N.At(t.Slot.V()))...)
	t.only("V.pop", t.room())
	t.also("V.pop", t.gain(t.N.At(x))...)

	// enqueue ends the bias of a lock that has one.
	t.also("E.back", t.Queues.Set(True))
	t.also("E.ahead", t.Queues.Set(True))
	t.also("V.store", t.Queues.Set(Is(false)))
	for _, name := range []string{"F.none", "F.full", "F.store"} {
		t.goes(name, If(And(t.Queues.V(), t.Biasable.V()), Num(J0), Num(U)))
		t.also(name, t.Then.Set(Num(V1)))
	}
	// After the deliveries.
	delivered := t.none(func(y *Expr) *Expr { return t.Claimed.At(y) })
	next := func(then int64) *Expr { return And(delivered, Eq(t.TThen.V(), Num(then))) }
	done := []Update{t.TThen.Set(Num(AllDone))}
	t.Step("D.delivered").Guard = t.Claimed.At(x)
	t.Step("D.done").Guard = next(AllDone)
	t.out("D.again", "RW.ReleaseRead", Local, DL, RR, next(ReleaseIt), done...)
	t.out("D.look", "RW.Observe", Local, DL, OB, next(LookAgain), done...)
	t.also("O.lock", t.TThen.Set(If(Eq(n, Num(1)), Num(LookAgain), Num(AllDone))))
	t.out("OB.hide", "RW.Observe", WordRead, OB, UL, t.biasedOf(t.Avail.V()))
	t.out("OB.not", "RW.Observe", WordRead, OB, Done, Not(t.biasedOf(t.Avail.V())))
}

// quiet says that the word has no flag.
func (t *RWTable) quiet() *Expr { return And(Not(t.W.V()), Not(t.O.V())) }

// fast has what is inlined: one exchange each.
func (t *RWTable) fast() {
	avail := t.Avail.V()
	one, zero := Num(1), Num(0)
	for _, c := range []struct {
		name, fn string
		from     int64
		word, to *Expr
		may      *Expr
		who      []Update
	}{
		{"First", "RW.TakeFirstRead", FirstRead, t.all(), t.allButOne(), t.room(), t.gain(one)},
		{"Last", "RW.GiveLastRead", LastRead, t.allButOne(), t.all(), t.has(one), t.lose(one)},
		{"All", "RW.TakeAll", TakesAll, t.all(), zero, t.room(), t.gain(t.all())},
		{"Back", "RW.GiveAll", GivesAll, zero, t.all(), t.has(t.all()), t.lose(t.all())},
	} {
		is := And(Eq(avail, c.word), t.quiet())
		t.end(c.name+".yes", c.fn, WordWrite, c.from, Yes, And(is, c.may), append(c.who, t.Avail.Set(c.to))...)
		t.end(c.name+".no", c.fn, WordRead, c.from, No, Not(is))
	}
}

// hide has Hide, TryRead and Rebias.
func (t *RWTable) hide() {
	avail, ta := t.Avail.V(), t.Ta.V()
	for _, c := range []struct {
		name                string
		look, try, again, b int64
		not                 int64 // where it goes on if the reader cannot hide; Done: Hide returns
	}{{"Hide", HI, HI1, HI2, HI3, Done}, {"TryRead.hide", RT1, RT2, RT3, RT4, RTTake}} {
		const fn = "RW.Hide"
		no := func(name string, a Access, from int64, guard *Expr, do ...Update) {
			if c.not == Done {
				t.end(name, fn, a, from, No, guard, do...)
			} else {
				t.out(name, fn, a, from, c.not, guard, do...)
			}
		}
		same := And(Eq(avail, t.Tb.V()), t.biasedOf(avail), t.quiet())
		t.out(c.name+".look", fn, WordRead, c.look, c.try, And(t.quiet(), t.biasedOf(avail)), t.Tb.Set(avail))
		no(c.name+".not", WordRead, c.look, Not(And(t.quiet(), t.biasedOf(avail))))
		t.out(c.name+".fill", fn, RowWrite, c.try, c.again, And(Less(t.filled(), t.Rows.V()), t.room()),
			t.more(t.Owned), t.TOwns.Set(True))
		t.out(c.name+".taken", fn, RowRead, c.try, c.try, True)
		no(c.name+".full", Local, c.try, True)
		t.end(c.name+".in", fn, WordRead, c.again, Yes, And(same, t.TOwns.V(), t.some(t.Owned)),
			t.less(t.Owned), t.more(t.Pinned), t.more(t.Reading))
		t.end(c.name+".in all the same", fn, WordRead, c.again, Yes, And(same, Not(t.TOwns.V()), t.some(t.Lost)),
			t.less(t.Lost), t.more(t.Reading))
		t.out(c.name+".changed", fn, WordRead, c.again, c.b, Not(And(Eq(avail, t.Tb.V()), t.quiet())))
		no(c.name+".back", RowWrite, c.b, And(t.TOwns.V(), t.some(t.Owned)), t.less(t.Owned))
		no(c.name+".another's", RowWrite, c.b, And(Not(t.TOwns.V()), t.some(t.Lost), t.some(t.Owned)), t.less(t.Owned))
		no(c.name+".a reader's", RowWrite, c.b, And(Not(t.TOwns.V()), t.some(t.Lost), t.some(t.Pinned)),
			t.less(t.Lost), t.less(t.Pinned))
		t.end(c.name+".found", fn, RowRead, c.b, Yes, And(Not(t.TOwns.V()), t.some(t.Lost)), t.less(t.Lost), t.more(t.Reading))
	}

	const fn = "RW.TryRead"
	writer, flagged := t.writerOf(avail), Not(t.quiet())
	locked := And(t.Biasable.V(), Not(t.O.V()))
	t.end("RT.writer", fn, WordRead, RT, No, writer)
	t.end("RT.not", fn, WordRead, RT, No, And(Not(writer), flagged, Not(locked)))
	t.out("RT.locked", fn, WordRead, RT, LL, And(Not(writer), flagged, locked))
	t.out("RT.biased", fn, WordRead, RT, RT1, And(t.quiet(), t.biasedOf(avail)), t.tlook()...)
	t.out("RT.plain", fn, WordRead, RT, RTTake, And(t.quiet(), Not(writer), Not(t.biasedOf(avail))), t.tlook()...)
	take := And(t.tsame(), t.quiet(), Not(t.writerOf(ta)), t.room())
	counted := func() []Update { return append(t.gain(Num(1)), t.Avail.Set(Sub(avail, Num(1)))) }
	alone := Eq(ta, t.all())
	t.end("RT.first", "Engine.Take", WordWrite, RTTake, Yes, And(take, alone), counted()...)
	t.out("RT.take", "Engine.Take", WordWrite, RTTake, RB, And(take, Not(alone)), append(counted(), t.TRes.Set(Num(Yes)))...)
	t.out("RT.lost", "Engine.Take", WordRead, RTTake, RT, Not(t.tsame()))

	const again = "RW.Rebias"
	may := And(t.Biasable.V(), t.quiet(), Not(t.biasedOf(avail)))
	t.out("RB.plain", again, Local, RB, Done, Not(t.Biasable.V()))
	t.out("RB.look", again, WordRead, RB, RB1, And(t.Biasable.V(), t.quiet(), Not(t.biasedOf(avail))), t.tlook()...)
	t.out("RB.not", again, WordRead, RB, Done, And(t.Biasable.V(), Not(And(t.quiet(), Not(t.biasedOf(avail))))))
	t.out("RB.early", again, Local, RB1, Done, True)
	t.out("RB.take", "Engine.Take", WordWrite, RB1, Done, And(t.tsame(), may, t.some(t.Reading)),
		t.Avail.Set(Sub(avail, t.Half.V())), t.Bias.Set(True))
	t.out("RB.lost", "Engine.Take", WordRead, RB1, Done, Not(t.tsame()))
}

// filled is how many rows hold the lock.
func (t *RWTable) filled() *Expr { return Add(t.Owned.V(), t.Pinned.V()) }

func (t *RWTable) some(v *Var) *Expr  { return Less(Num(0), v.V()) }
func (t *RWTable) more(v *Var) Update { return v.Set(Add(v.V(), Num(1))) }
func (t *RWTable) less(v *Var) Update { return v.Set(Sub(v.V(), Num(1))) }

// leave has Leave and ReleaseRead.
func (t *RWTable) leave() {
	avail, ta := t.Avail.V(), t.Ta.V()
	for _, c := range []struct {
		name             string
		look, scan, take int64
		not              int64
	}{{"Leave", LV, LV1, LV2, Done}, {"ReleaseRead.leave", RR1, RR2, RR3, RR4}} {
		const fn, row = "RW.Leave", "bias.empty"
		no := func(name string, a Access, from int64, guard *Expr) {
			if c.not == Done {
				t.end(name, fn, a, from, No, guard)
			} else {
				t.out(name, fn, a, from, c.not, guard)
			}
		}
		t.out(c.name+".look", fn, WordRead, c.look, c.scan, t.biasedOf(avail))
		no(c.name+".not", WordRead, c.look, Not(t.biasedOf(avail)))
		t.out(c.name+".filled", row, RowRead, c.scan, c.take, Less(Num(0), t.filled()))
		t.out(c.name+".empty", row, RowRead, c.scan, c.scan, True)
		no(c.name+".none", Local, c.scan, True)
		t.end(c.name+".reader", row, RowWrite, c.take, Yes, And(t.has(Num(1)), t.some(t.Pinned)),
			t.less(t.Pinned), t.less(t.Reading))
		t.end(c.name+".another", row, RowWrite, c.take, Yes, And(t.has(Num(1)), t.some(t.Owned)),
			t.less(t.Owned), t.more(t.Lost), t.less(t.Reading))
		t.out(c.name+".late", row, RowRead, c.take, c.scan, True)
	}
	const fn = "RW.ReleaseRead"
	one := Num(1)
	biased, legal := t.biasedOf(avail), t.legal(avail, one)
	t.out("RR.biased", fn, WordRead, RR, RR1, biased, append(t.tlook(), t.Tn.Set(one))...)
	t.out("RR.waits", fn, WordRead, RR, SL, And(Not(biased), t.W.V()), t.Tn.Set(one))
	t.end("RR.over", fn, WordRead, RR, No, And(Not(biased), Not(t.W.V()), Not(legal)))
	t.out("RR.plain", fn, WordRead, RR, RRGive, And(Not(biased), Not(t.W.V()), legal), append(t.tlook(), t.Tn.Set(one))...)
	exact := Or(t.TW.V(), Eq(t.readersOf(ta), Num(0)))
	t.out("RR.exact", fn, Local, RR4, UL, exact, t.TThen.Set(Num(ReleaseIt)))
	t.out("RR.counted", fn, Local, RR4, RRGive, Not(exact))
	t.end("RR.give", "Engine.Give", WordWrite, RRGive, Yes,
		And(t.tsame(), Not(t.W.V()), Less(Num(0), t.readersOf(avail)), Not(t.writerOf(avail)), t.has(one)),
		append(t.lose(one), t.Avail.Set(Add(avail, one)))...)
	t.out("RR.lost", "Engine.Give", WordRead, RRGive, RR, Not(t.tsame()))
}

// give has Release and releaseSlow.
func (t *RWTable) give() {
	avail, ta, tn, n := t.Avail.V(), t.Ta.V(), t.Tn.V(), t.Num.V()
	share := among(tn, t.up(), t.upButOne(), t.all(), t.allButOne(), t.rest())
	t.out("RL.look", "RW.Release", WordRead, RL, RL1, Not(t.W.V()), t.tlook()...)
	t.out("RL.waits", "RW.Release", WordRead, RL, SL, t.W.V())
	t.end("RL.over", "RW.Release", Local, RL1, No, Not(t.legal(ta, tn)))
	t.end("RL.give", "Engine.Give", WordWrite, RL1, Yes, And(share, t.tsame(), Not(t.W.V()), t.legal(avail, tn), t.has(tn)),
		append(t.lose(tn), t.Avail.Set(Add(avail, tn)))...)
	t.out("RL.lost", "Engine.Give", WordRead, RL1, RL, And(t.legal(ta, tn), Not(t.tsame())))

	const fn = "RW.addLocked"
	legal, biased := t.legal(avail, n), t.biasedOf(avail)
	t.lock("S.lock", "RW.releaseSlow", SL, S1, Or(share, Eq(tn, Num(1))), t.Num.Set(tn))
	t.in("S.look", fn, WordRead, S1, S3, legal, t.look()...)
	t.in("S.biased", fn, WordRead, S1, SO, And(Not(legal), biased))
	t.in("S.refuse", fn, WordRead, S1, V1, And(Not(legal), Not(biased)), t.result(Num(No)))
	t.in("S.add", "Engine.Give", WordWrite, S3, V1, And(t.same(), t.has(n)),
		append(t.lose(n), t.Avail.Set(Add(avail, n)), t.result(Num(Yes)))...)
	t.in("S.lost", "Engine.Give", WordRead, S3, S1, Not(t.same()))
	t.in("S.mark", fn, WordWrite, SO, J0, True, t.W.Set(True), t.Then.Set(Num(S1)))
}

// reveal has revealLocked and Unbias.
func (t *RWTable) reveal() {
	const fn, row = "RW.revealLocked", "bias.empty"
	avail := t.Avail.V()
	left := t.less(t.Left)
	others := Less(t.Pinned.V(), t.Left.V()) // this row is not one of the pinned ones
	t.in("J.not", fn, WordRead, J0, U, Not(t.biasedOf(avail)))
	t.goes("J.not", t.Then.V())
	t.in("J.look", fn, WordRead, J0, J1, t.biasedOf(avail),
		append(t.look(), t.Left.Set(t.Rows.V()), t.Hidden.Set(Num(0)))...)
	some := Less(Num(0), t.Left.V())
	t.in("J.empty", row, RowRead, J1, J1, And(some, others), left)
	t.in("J.filled", row, RowRead, J1, J2, And(some, Less(Num(0), t.filled())))
	t.in("J.reader", row, RowWrite, J2, J1, t.some(t.Pinned), t.less(t.Pinned), left, t.more(t.Hidden))
	t.in("J.another", row, RowWrite, J2, J1, And(t.some(t.Owned), others),
		t.less(t.Owned), t.more(t.Lost), left, t.more(t.Hidden))
	t.in("J.late", row, RowRead, J2, J1, others, left)
	t.in("J.store", fn, WordWrite, J1, U, Eq(t.Left.V(), Num(0)),
		t.Avail.Set(Sub(Add(t.Oa.V(), t.Half.V()), t.Hidden.V())), t.W.Set(t.OW.V()), t.O.Set(t.OO.V()), t.Bias.Set(Is(false)))
	t.goes("J.store", t.Then.V())

	t.lock("UL.lock", "RW.Unbias", UL, UO, True)
	t.in("UO.mark", "RW.Unbias", WordWrite, UO, J0, True, t.W.Set(True), t.Then.Set(Num(V1)))
}

// tries has TryExclusive and tryReadLocked.
func (t *RWTable) tries() {
	const fn, staged = "RW.TryExclusive", "Engine.waitingLocked"
	avail, oa, n, tn := t.Avail.V(), t.Oa.V(), t.Num.V(), t.Tn.V()
	t.lock("G.lock", fn, GL, G1, And(t.wants(tn), Not(Eq(tn, Num(1))), Eq(t.TFront.V(), Eq(tn, t.rest()))),
		t.Num.Set(tn), t.Front.Set(t.TFront.V()), t.Took.Set(Is(false)), t.TRes.Set(Num(No)))
	t.in("G.biased", fn, WordRead, G1, G2, t.biasedOf(avail), t.Was.Set(True))
	t.in("G.plain", fn, WordRead, G1, G3, Not(t.biasedOf(avail)), t.Was.Set(Is(false)))
	t.in("G.mark", fn, WordWrite, G2, J0, True, t.W.Set(True), t.Then.Set(Num(G3)))
	back := Not(t.Front.V())
	nobody := And(t.listEmpty(), Not(t.SlotF.V()))
	t.in("G.first", fn, Local, G3, G4, t.Front.V())
	t.in("G.nobody", staged, SlotRead, G3, G4, And(back, nobody))
	t.in("G.waits", staged, SlotRead, G3, G6, And(back, Not(nobody)))
	t.in("G.look", fn, WordRead, G4, G5, LessEq(n, avail), t.look()...)
	t.in("G.less", fn, WordRead, G4, G6, Less(avail, n))
	t.in("G.take", "Engine.Take", WordWrite, G5, G4, And(t.same(), t.room()),
		append(t.gain(n), t.Avail.Set(Sub(avail, n)), t.Took.Set(True), t.TRes.Set(Num(Yes)))...)
	t.in("G.lost", "Engine.Take", WordRead, G5, G4, Not(t.same()))
	t.in("G.done", fn, Local, G6, U, Not(t.Was.V()))
	t.in("G.word", fn, WordRead, G6, G7, t.Was.V(), t.look()...)
	t.in("G.clear", fn, WordWrite, G7, U, True, t.Avail.Set(oa), t.O.Set(t.OO.V()), t.W.Set(Is(false)))

	const read = "RW.tryReadLocked"
	t.lock("L.lock", read, LL, L1, True)
	t.in("L.waits", staged, SlotRead, L1, U, Not(nobody), t.TRes.Set(Num(No)))
	t.in("L.nobody", staged, SlotRead, L1, L2, nobody)
	t.in("L.writer", read, WordRead, L2, U, t.writerOf(avail), t.TRes.Set(Num(No)))
	t.in("L.look", read, WordRead, L2, L3, Not(t.writerOf(avail)), t.look()...)
	t.in("L.take", "Engine.Take", WordWrite, L3, U, And(t.same(), t.room()),
		append(t.gain(Num(1)), t.Avail.Set(Sub(avail, Num(1))), t.TRes.Set(Num(Yes)))...)
	t.in("L.lost", "Engine.Take", WordRead, L3, L1, Not(t.same()))
}

// ranges are what is tried where the table is run from small states.
func (t *RWTable) ranges() {
	t.Domains = []Domain{
		{Var: t.Ta, Of: t.Avail},
		{Var: t.TW, Of: t.W},
		{Var: t.TO, Of: t.O},
		{Var: t.Tb, Of: t.Avail},
		{Var: t.Tn, Values: []int{1, smallUp - 1, smallUp, smallAll - smallUp, smallAll - 1, smallAll}},
		{Var: t.Tw, Nodes: true},
		{Var: t.Tx, Nodes: true},
		{Var: t.TFront, Values: []int{0, 1}},
		{Var: t.TOwns, Values: []int{0, 1}},
	}
}

// The weights where the table is run.
const (
	SmallHalf = 16
	smallUp   = 2 * SmallHalf
	smallAll  = 2*smallUp - 2
)
