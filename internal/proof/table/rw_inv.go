package table

import "slices"

// What holds of the read-write lock. The numbers with RW are those at the head of
// internal/engine/rw.go, with bias those of bias.go, and the others those of engine.go. What has no
// number is what the induction needs besides.

func (t *RWTable) begin() {
	z := Num(0)
	t.Init = And(
		t.at(Free), Not(t.W.V()), Not(t.SlotF.V()),
		LessEq(Num(3), t.Half.V()), LessEq(z, t.Rows.V()), Implies(t.Bias.V(), t.Biasable.V()),
		Eq(t.Avail.V(), If(t.Bias.V(), Sub(t.all(), t.Half.V()), t.all())),
		Not(t.Writer.V()), Not(t.Up.V()), Eq(t.Reading.V(), z), Eq(t.Lost.V(), z), Eq(t.Owned.V(), z), Eq(t.Pinned.V(), z),
		Less(t.Head.V(), t.Tail.V()), Less(t.Afront.V(), t.Aback.V()),
		All(func(x *Expr) *Expr { return t.is(x, Fresh) }))
}

// counted is how many readers the word counts: those that read, and those that have not looked
// again, less the rows that stand for one of them, and less those that revealLocked has in hand.
func (t *RWTable) counted() *Expr {
	return Sub(Sub(Add(t.Reading.V(), t.Lost.V()), t.Pinned.V()), If(t.at(J1, J2), t.Hidden.V(), Num(0)))
}

// marked says that the owner of mu has set W although nobody is queued.
func (t *RWTable) marked() *Expr {
	return Or(t.inReveal(), t.at(SO, S1, S3), And(t.at(G3, G4, G5, G6, G7), t.Was.V()))
}

// ofQueue keeps the engine's statements that a read-write lock has, or only these parts of them.
func (t *RWTable) ofQueue(has map[string][]int) {
	t.invariants()
	all := t.Invariants
	t.Invariants = nil
	for _, i := range all {
		parts, ok := has[i.Name]
		if !ok {
			continue
		}
		if parts != nil {
			var some []*Expr
			for _, n := range parts {
				some = append(some, i.Is.args[n-1])
			}
			i.Is = some[0]
			if len(some) > 1 {
				i.Is = And(some...)
			}
		}
		t.Invariants = append(t.Invariants, i)
	}
}

func (t *RWTable) holds() {
	t.ofQueue(map[string][]int{
		"2 W": nil, "2 first": nil, "2 some": nil, "2 serve": nil, "2 serve alone": {2},
		"3 slot": nil, "3 oldest": nil, "3 empty": nil, "3 positions": nil, "3 arrivals": nil,
		"3 order": nil, "6 serve": nil, "6 read": nil, "6 read clear": nil, "6 refill": nil,
		"enqueue": nil, "enqueue alone": nil, "enqueue behind": nil, "refill": nil, "8 order": nil,
	})
	z := Num(0)
	avail, n, w := t.Avail.V(), t.Num.V(), t.Own.V()
	reading, lost, owned, pinned := t.Reading.V(), t.Lost.V(), t.Owned.V(), t.Pinned.V()
	left, oa := t.Left.V(), t.Oa.V()
	writer, up, bias := t.Writer.V(), t.Up.V(), t.Bias.V()

	t.safe("2 W alone", "If W is set and none is staged, none is free, unless the owner of mu has just set it.",
		Implies(And(t.W.V(), t.noneStaged(), Not(Or(t.growing(), t.serving(), t.marked(), t.at(EP)))), LessEq(avail, z)))
	t.invariant("3 in hand", "A waiter that is between list and slot is the owner's, and the oldest.",
		And(All(func(x *Expr) *Expr { return Eq(t.is(x, InHand), And(t.at(F3), Eq(x, w))) }),
			Implies(t.at(F3), t.each(t.inList, func(x *Expr) *Expr { return Less(t.Arr.At(w), t.Arr.At(x)) }))))
	t.safe("RW 1 conserved", "What is not free is held: by a writer, an upgradable reader, the bias, and the readers that are counted.",
		Eq(t.heldOf(t.free()), Add(If(writer, t.all(), z), If(up, t.up(), z), If(bias, t.Half.V(), z), t.counted())))
	t.safe("1 range", "The word counts between nothing and what a writer holds.", And(LessEq(z, avail), LessEq(avail, t.all())))
	t.safe("RW 1 exclusion", "Beside a writer there is no reader, hidden or not, and no upgradable reader.",
		Implies(writer, And(Not(up), Not(bias), Eq(reading, z), Eq(lost, z))))
	t.safe("bias 1 counts", "Nobody reads less than nothing, and a row is owned or pinned, or neither.",
		And(LessEq(z, reading), LessEq(z, lost), LessEq(z, owned), LessEq(z, pinned), LessEq(Add(owned, pinned), t.Rows.V())))
	t.safe("bias 1 readers", "The pinned rows stand for readers, each for another one.", LessEq(z, t.counted()))
	t.invariant("few", "There are fewer readers than the word can count.", LessEq(Add(t.people(), Num(3)), t.Half.V()))
	t.invariant("bias 4 off", "Without the bias no row is pinned: a row that holds the lock is that of a reader which will look again.",
		And(Implies(Not(bias), Eq(pinned, z)), Implies(bias, t.Biasable.V())))
	t.invariant("bias 2", "W and the bias exclude each other, unless the owner of mu is about to end the bias.",
		Implies(And(t.W.V(), bias), Or(And(t.Queues.V(), t.at(F1, F2, F3)), t.at(EP), t.inReveal())))
	t.invariant("reveal", "revealLocked has W set, and looks at each row: no row that it has passed is pinned.",
		And(Implies(Or(t.inReveal(), And(t.at(F1, F2, F3), t.Queues.V())), t.W.V()),
			Implies(t.at(J1, J2), And(bias, Eq(oa, avail), t.OW.V(), Eq(t.OO.V(), t.O.V()), LessEq(pinned, left)))))
	t.invariant("reveal ends", "It goes on where it was called, and there is nobody queued but where it then serves.",
		And(Implies(t.inReveal(), Or(t.goesTo(V1), t.goesTo(S1), t.goesTo(G3))),
			Implies(And(t.inReveal(), Not(t.goesTo(V1))), t.noneQueued()),
			Implies(And(t.inReveal(), t.goesTo(G3)), t.Was.V())))
	t.invariant("mark", "Where the owner of mu is about to set W, or to end what it has set, nobody is queued.",
		And(Implies(t.at(SO, G2), And(bias, t.noneQueued())),
			Implies(And(t.at(G3, G4, G5, G6, G7), t.Was.V()), And(t.W.V(), Not(bias), t.noneQueued())),
			Implies(t.at(G2), t.Was.V()),
			Implies(t.at(G7), And(t.Was.V(), Eq(oa, avail), Eq(t.OO.V(), t.O.V())))))
	t.invariant("kinds", "One waits for a share, at the front the upgradable reader for the rest.",
		And(t.each(t.queued, func(x *Expr) *Expr {
			return Or(among(t.N.At(x), Num(1), t.up(), t.all()), And(Eq(t.N.At(x), t.rest()), up))
		}),
			Implies(t.enqueuing(), And(Or(among(t.N.At(w), Num(1), t.up(), t.all()), And(Eq(t.N.At(w), t.rest()), up)),
				Eq(t.Front.V(), Eq(t.N.At(w), t.rest())))),
			Implies(t.inTry(), And(among(n, t.up(), t.all(), t.rest()), Eq(t.Front.V(), Eq(n, t.rest())))),
			Implies(And(t.inTry(), Eq(n, t.rest()), Not(t.Took.V())), up),
			Implies(t.got(), And(t.at(G4, G6, G7), If(Eq(n, t.up()), up, writer)))))
	t.safe("RW 4 one upgrade", "There is one upgrade at a time, and it is the first of the line.",
		And(t.each(t.queued, func(x *Expr) *Expr {
			return Implies(Eq(t.N.At(x), t.rest()), And(
				Not(And(t.enqueuing(), t.Front.V())), Not(And(t.inTry(), Eq(n, t.rest()))),
				t.each(t.queued, func(y *Expr) *Expr { return Or(Eq(x, y), Less(t.Arr.At(x), t.Arr.At(y))) })))
		})))
	t.invariant("try read", "Where tryReadLocked takes a permit nobody is queued, and W is clear.",
		And(Implies(t.at(L2, L3), t.noneQueued()), Implies(t.at(L3), Less(z, oa))))
	t.invariant("release", "A share that is about to be returned under mu has a number.",
		Implies(t.at(S3), t.legal(oa, n)))
	t.invariant("try", "Where TryExclusive takes permits there are as many.",
		And(Implies(t.at(G5), LessEq(n, oa)), Implies(And(t.at(G4, G5), Not(t.Front.V())), t.noneQueued())))
}

func (t *RWTable) steps() {
	t.properties()
	t.Theorems = nil
	t.Properties = slices.DeleteFunc(t.Properties, func(p *Property) bool {
		return !slices.Contains([]string{"4 once", "5 FIFO", "6 W freezes", "7 O", "rank: place"}, p.Name)
	})
	z := Num(0)
	granted := func(x *Expr) *Expr { return And(Not(t.is(x, Granted)), Next(t.is(x, Granted))) }
	holders := Add(t.Reading.V(), t.Lost.V(), bit(t.Writer.V()), bit(t.Up.V()))
	t.property("no passing", "While a request waits and the bias is off there become no more holders, but by a grant to the first of the line. A reader that hid too late takes the place of one that has left.",
		Or(t.noneQueued(), t.Bias.V(), LessEq(Next(holders), holders), Any(func(x *Expr) *Expr { return And(t.first(x), granted(x)) })))
	t.property("rank: share", "What is free for the first of the line becomes no less while it waits, but by an upgrade.",
		t.each(t.first, func(x *Expr) *Expr {
			return Or(Not(Next(t.queued(x))), t.Bias.V(), LessEq(t.free(), Next(t.free())), And(t.at(EL, G5), t.Front.V()))
		}))
	n := t.Num.V()
	t.property("RW 2 refused", "Who is refused under mu returns what nobody holds: a legal release never is.",
		Implies(And(t.at(S1), Next(t.at(V1))), And(
			Implies(Eq(n, Num(1)), Eq(t.Reading.V(), z)),
			Implies(among(n, t.all(), t.allButOne(), t.rest()), Not(t.Writer.V())),
			Implies(among(n, t.up(), t.upButOne()), Not(t.Up.V())))))

	free := t.Avail.V()
	t.theorem("RW 2 kinds", "The word says who holds, whenever it is up to date.",
		Implies(Not(Or(t.serving(), t.at(J1, J2))), And(
			Eq(t.writerOf(free), t.Writer.V()), Eq(t.biasedOf(free), t.Bias.V()),
			Implies(Not(t.Writer.V()), And(Eq(t.bit55(free), t.Up.V()), Eq(t.readersOf(free), t.counted()))))))
	t.theorem("RW 3 front", "Where the upgradable reader may come in at the front the slot is empty, and it wants more than one permit. The engine's table assumes that.",
		And(Implies(And(t.at(Free), t.Up.V()), Not(t.SlotF.V())), LessEq(Num(2), t.rest())))
	t.theorem("RW 3 slot", "If mu is free and somebody waits in the slot, a writer holds: a release of a reader need not look there.",
		Implies(And(t.at(Free), t.SlotF.V()), t.Writer.V()))
	t.theorem("bias 2 seen", "If mu is free and W is set the word counts each reader that reads.",
		Implies(And(t.at(Free), t.W.V()), And(Not(t.Bias.V()), Eq(t.counted(), Add(t.Reading.V(), t.Lost.V())))))
	t.theorem("bias 3 found", "Beside a writer no reader finds its row emptied.", Implies(t.Writer.V(), Eq(t.Lost.V(), z)))
	upgrade := Any(func(x *Expr) *Expr { return And(t.queued(x), Eq(t.N.At(x), t.rest())) })
	t.theorem("no lost wake-up", "If mu is free and a request is first in line somebody holds the lock, or is a reader about to know that it does, and does not itself wait for an upgrade.",
		Implies(t.at(Free), t.each(t.first, func(*Expr) *Expr { return Less(bit(upgrade), holders) })))
	t.theorem("RW 5 W alone", "If mu is free, or held by tryReadLocked, and W is set although nobody waits, a writer holds.",
		Implies(And(t.at(Free, L2, L3), t.W.V(), t.noneQueued()), t.Writer.V()))
	t.theorem("range", "The word counts between nothing and what a writer holds.", And(LessEq(z, free), LessEq(free, t.all())))
}

// FirstRW is a first state.
func (t *RWTable) FirstRW(biasable, biased bool, wants ...int) (s State) {
	s.Set(t.Half, SmallHalf)
	s.Set(t.Rows, 2)
	s.Set(t.Biasable, truth(biasable))
	s.Set(t.Bias, truth(biased))
	s.Set(t.Avail, smallAll-SmallHalf*truth(biased))
	s.Set(t.Tail, 1)
	s.Set(t.Aback, 1)
	for x, n := range wants {
		s.SetAt(t.N, x, n)
	}
	return s
}
