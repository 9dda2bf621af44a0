package table

// What holds of the engine. The numbers are those at the head of internal/engine/engine.go and
// ordered.go. What has no number is what the induction needs besides.

const maxPermits = 1 << 59

func (t *EngineTable) serving() *Expr { return t.at(V2, V3, V4, V5, VA, VB, V7, V8) }

// free is what is free: while serveLocked runs the word is out of date, and its copy counts.
func (t *EngineTable) free() *Expr { return If(t.serving(), t.Oa.V(), t.Avail.V()) }

func (t *EngineTable) enqueuing() *Expr { return t.at(E1, E2, E3, E5, EL, EA, EP) }

// enqueuingBy is the part of EnqueueBy before the waiter is in the order, or goes on as others do.
func (t *EngineTable) enqueuingBy() *Expr { return t.at(K1, K2, K5, K6, K7, K9, KA, KB) }

// shrinking says that the size has become less, and the queue does not know it yet.
func (t *EngineTable) shrinking() *Expr {
	return And(t.at(Z5, Z6, Z7, Z8), Less(t.D.V(), Num(0)))
}

// grown says that there is more, and the queue does not know it yet.
func (t *EngineTable) growing() *Expr {
	return Or(t.at(V1, Z4), And(t.at(Z5), Not(Less(t.D.V(), Num(0)))))
}

func (t *EngineTable) initial() {
	z := Num(0)
	t.Init = And(
		t.at(Free), Not(t.W.V()), Not(t.C.V()), Not(t.SlotF.V()),
		LessEq(z, t.Size.V()), LessEq(t.Size.V(), Num(maxPermits)),
		Eq(t.Grown.V(), t.Size.V()), Eq(t.Avail.V(), t.Size.V()), Eq(t.Held.V(), z), Eq(t.Mine.V(), z),
		Less(t.Head.V(), t.Tail.V()), Less(t.Afront.V(), t.Aback.V()),
		All(func(x *Expr) *Expr { return t.is(x, Fresh) }),
		Implies(t.Ordered.V(), Eq(t.MaxWaiting.V(), z)))
}

func (t *EngineTable) invariants() {
	z, one := Num(0), Num(1)
	avail, oa, size, grown, d, n, w := t.Avail.V(), t.Oa.V(), t.Size.V(), t.Grown.V(), t.D.V(), t.Num.V(), t.Own.V()
	held := Add(t.Held.V(), t.Mine.V())
	plain := Not(t.Ordered.V())
	negative := Less(d, z)

	// 1.
	t.safe("1 conserved", "What is held and what is free are the size, in every state.",
		Eq(Add(held, t.free()), size))
	t.safe("1 held", "Nobody holds less than nothing.", LessEq(z, t.Held.V()))
	t.invariant("1 in hand", "A legal release that has mu has its permits in hand.",
		And(Eq(t.Mine.V(), If(And(t.at(S1, S2, S3), t.Legal.V()), n, z)), Implies(t.at(S1, S2, S3), LessEq(one, n))))
	t.invariant("1 size", "The stored size is the size, but between the two steps of Resize.",
		Eq(grown, Add(size, If(t.at(Z2), d, If(t.at(Z4), Sub(z, d), z)))))
	t.invariant("1 resize", "Resize goes to a size between 0 and 2⁵⁹.",
		And(Implies(t.at(Z0, Z1), And(LessEq(z, n), LessEq(n, Num(maxPermits)))),
			Implies(t.at(Z1), Eq(d, Sub(n, grown))),
			Implies(t.at(Z2), And(negative, LessEq(z, grown), Eq(n, grown))),
			Implies(t.at(Z4), And(Not(negative), Eq(n, size))),
			Implies(t.at(Z5, Z6, Z7, Z8), Eq(n, size))))
	t.safe("1 range", "The size and what is held are at most 2⁵⁹, and the word counts no more, nor a larger debt.",
		And(LessEq(z, size), LessEq(size, Num(maxPermits)), LessEq(held, Num(maxPermits)),
			LessEq(Num(-maxPermits), avail), LessEq(avail, Num(maxPermits))))

	// 2.
	t.safe("2 W", "While a request is queued W is set, at every moment.", t.each(t.queued, func(*Expr) *Expr { return t.W.V() }))
	t.safe("2 first", "Fewer permits are free than the oldest waiter needs, unless the owner of mu is about to serve.",
		Implies(Not(Or(t.growing(), t.serving())), t.each(t.first, func(x *Expr) *Expr { return Less(avail, t.N.At(x)) })))
	t.safe("2 W alone", "If W is set and none is staged, and the engine is not closed, none is free.",
		Implies(And(t.W.V(), Not(t.C.V()), t.noneStaged(), Not(Or(t.growing(), t.serving(), t.at(EP, C4)))), LessEq(avail, z)))
	t.invariant("2 some", "Permits are handed out only while there are some.", Implies(t.at(V3, V4), Less(z, oa)))
	t.invariant("2 serve", "When serveLocked ends the first of the line needs more than is left.",
		Implies(t.at(V5, V7, V8), t.each(t.first, func(x *Expr) *Expr { return Less(oa, t.N.At(x)) })))
	t.invariant("2 serve alone", "When serveLocked ends, and none is staged, nothing is left unless W goes.",
		And(Implies(And(t.at(V7), t.noneStaged(), Less(z, oa)), t.noneInOrder()),
			Implies(And(t.at(V8), t.noneStaged(), t.OW.V()), LessEq(oa, z))))

	// 3.
	t.safe("3 slot", "The slot's waiter is the one that is there, and needs one permit.",
		And(All(func(x *Expr) *Expr { return Eq(t.is(x, InSlot), And(t.SlotF.V(), Eq(x, t.Slot.V()))) }),
			Implies(t.SlotF.V(), Eq(t.N.At(t.Slot.V()), one))))
	t.safe("3 oldest", "The slot's waiter is older than the list.",
		Implies(And(plain, t.SlotF.V()), t.each(t.inList, func(x *Expr) *Expr { return Less(t.Arr.At(t.Slot.V()), t.Arr.At(x)) })))
	t.safe("3 no debt", "While there is a debt the slot is empty, unless the size has just become less.",
		And(Implies(And(t.SlotF.V(), Not(t.serving()), Not(t.shrinking())), LessEq(z, avail)),
			Implies(And(t.SlotF.V(), t.serving()), LessEq(z, oa))))
	t.invariant("3 empty", "Where the list and the order are looked at, the slot is empty.",
		Implies(t.at(V4, VA, VB, Z8, C3, C4, F2, F3, K2, K6, K7, KA, KB), Not(t.SlotF.V())))
	t.invariant("3 positions", "The positions of the list lie between its ends.",
		And(Less(t.Head.V(), t.Tail.V()),
			t.each(t.inList, func(x *Expr) *Expr { return And(Less(t.Head.V(), t.Pos.At(x)), Less(t.Pos.At(x), t.Tail.V())) })))
	t.invariant("3 arrivals", "So do the arrivals.",
		Implies(plain, And(Less(t.Afront.V(), t.Aback.V()),
			t.each(t.staged, func(x *Expr) *Expr { return And(Less(t.Afront.V(), t.Arr.At(x)), Less(t.Arr.At(x), t.Aback.V())) }))))
	t.invariant("3 order", "The order of the list is the order of arrival.",
		Implies(plain, t.each(t.inList, func(x *Expr) *Expr {
			return t.each(t.inList, func(y *Expr) *Expr {
				return Implies(Not(Eq(x, y)), And(Not(Eq(t.Pos.At(x), t.Pos.At(y))),
					Eq(Less(t.Pos.At(x), t.Pos.At(y)), Less(t.Arr.At(x), t.Arr.At(y)))))
			})
		})))
	t.invariant("3 in hand", "A waiter that is between list and slot is the owner's, and the oldest.",
		And(All(func(x *Expr) *Expr {
			return Eq(t.is(x, InHand), Or(And(t.at(F3), Eq(x, w)), And(t.at(VB, KB), Eq(x, t.Y.V()))))
		}),
			Implies(And(plain, t.at(F3)), t.each(t.inList, func(x *Expr) *Expr { return Less(t.Arr.At(w), t.Arr.At(x)) }))))

	// 6: what the owner of mu knows, because the word is frozen while W is set.
	t.invariant("6 serve", "While serveLocked runs W is set, and the flags that it has read are those of the word.",
		Implies(t.serving(), And(t.W.V(), Eq(t.OC.V(), t.C.V()), Eq(t.OO.V(), t.O.V()), Implies(Not(t.at(V8)), t.OW.V()),
			t.each(t.queued, func(*Expr) *Expr { return t.OW.V() }))))
	read := t.at(E2, E3, E5, EL, EP, K6, KA, KB)
	t.invariant("6 read", "What was read with W set is still the word.",
		Implies(read, And(Eq(t.OC.V(), t.C.V()), Implies(t.OW.V(), And(t.W.V(), Eq(avail, oa))))))
	t.invariant("6 read clear", "What was read without W says that nobody is queued.",
		Implies(And(t.at(E2, E3, E5, EL, K6, KA, KB), Not(t.OW.V())), t.noneQueued()))
	t.invariant("6 refill", "Where refillLocked runs its copy is the word, if anybody is queued.",
		Implies(t.at(F1, F2, F3), Or(t.noneQueued(), And(t.W.V(), Eq(avail, oa)))))
	t.invariant("6 size read", "A size that was read under mu is still the size.",
		And(Implies(t.at(S3), Eq(t.G.V(), grown)),
			Implies(t.at(E3, E5, EL, EA, EP, K9), Eq(t.Lim.V(), size))))

	// The operations.
	t.invariant("enqueue", "The owner's waiter is not queued yet, and wants something; at the front it is what AtFront asks for.",
		Implies(Or(t.enqueuing(), t.enqueuingBy()), And(t.is(w, Fresh), LessEq(one, t.N.At(w)),
			Implies(t.Front.V(), And(LessEq(Num(2), t.N.At(w)), Not(t.SlotF.V()), plain)))))
	t.invariant("enqueue open", "What is queued was not too large, and the engine was open.",
		And(Implies(t.at(E3, E5, EL, EA, EP), Not(t.C.V())),
			Implies(t.at(E5, EL, EA, EP), LessEq(t.N.At(w), size))))
	t.invariant("enqueue alone", "At the back, one takes permits only while nobody is queued.",
		Implies(And(t.at(EL, EA), Not(t.Front.V())), t.noneQueued()))
	t.invariant("enqueue behind", "Behind others W is set, and if they have gone there is too little.",
		And(Implies(t.at(E5, EP), And(t.W.V(), Eq(avail, oa))),
			Implies(And(t.at(E5, EP), Or(t.Front.V(), t.noneStaged())), Less(oa, t.N.At(w)))))
	t.invariant("enqueue by", "An ordered engine's request has no other place in line.",
		And(Implies(t.enqueuingBy(), And(t.Ordered.V(), Not(t.Front.V()))),
			Implies(t.at(KB), And(LessEq(oa, z), t.OW.V())),
			Implies(t.at(K5, K9), And(t.W.V(), Not(t.C.V()))),
			Implies(Or(t.at(K7), And(t.Ordered.V(), t.enqueuing())), t.noneQueued())))
	t.invariant("refill", "The waiter that goes into the slot wants one permit, and none is free.",
		And(Implies(t.at(F2), And(LessEq(z, oa), Any(func(x *Expr) *Expr { return And(t.isFront(x), Eq(t.N.At(x), one)) }))),
			Implies(t.at(F3), And(Eq(t.N.At(w), one), Eq(oa, z)))))
	t.invariant("release", "What a legal release has read says that it is legal.",
		Implies(And(t.at(S2, S3), t.Legal.V()), LessEq(n, Sub(size, oa))))
	t.invariant("wants", "Every queued request wants something.", t.each(t.queued, func(x *Expr) *Expr { return LessEq(one, t.N.At(x)) }))
	t.safe("too large", "No queued request is larger than the size, unless that has just become less.",
		Implies(Not(t.shrinking()), t.each(t.queued, func(x *Expr) *Expr { return LessEq(t.N.At(x), size) })))
	t.safe("closed", "A closed engine has no queue.", Implies(Or(t.C.V(), t.at(C4)), t.noneQueued()))

	// Ordered.
	t.safe("8 order", "Only an ordered engine has an order.", Implies(plain, t.noneInOrder()))
	t.safe("10 staged", "In an ordered engine at most one request is staged.",
		Implies(t.Ordered.V(), t.each(t.staged, func(x *Expr) *Expr {
			return t.each(t.staged, func(y *Expr) *Expr { return Eq(x, y) })
		})))
	t.invariant("10 room", "Where one is staged no other is.",
		And(Implies(t.at(VA, K2, K6, KA), t.noneStaged()), Implies(t.at(VA, VB), t.Ordered.V())))
}

func (t *EngineTable) properties() {
	t.property("4 once", "A request ends once.", All(func(x *Expr) *Expr {
		ended := Not(Or(t.is(x, Fresh), t.queued(x)))
		return Implies(ended, Eq(Next(t.St.At(x)), t.St.At(x)))
	}))
	granted := func(x *Expr) *Expr { return And(Not(t.is(x, Granted)), Next(t.is(x, Granted))) }
	t.property("5 FIFO", "Who is granted is the oldest that waits, or was staged.", All(func(x *Expr) *Expr {
		return Implies(granted(x), And(t.first(x),
			Implies(Not(t.Ordered.V()), t.each(t.queued, func(y *Expr) *Expr {
				return Or(Eq(x, y), Less(t.Arr.At(x), t.Arr.At(y)))
			}))))
	}))
	word := And(Eq(Next(t.Avail.V()), t.Avail.V()), Next(t.W.V()), Eq(Next(t.C.V()), t.C.V()), Eq(Next(t.O.V()), t.O.V()))
	t.property("6 W freezes", "While W is set only the owner of mu changes the word.",
		Implies(And(t.W.V(), Eq(t.PC.V(), Next(t.PC.V()))), word))
	t.property("7 O", "O changes only by Observe.", Or(Eq(t.O.V(), Next(t.O.V())), t.at(O1)))
	t.property("C stays", "What is closed stays closed.", Implies(t.C.V(), Next(t.C.V())))
	t.property("no barging", "Permits leave what is free while nobody waits, to the first of the line, to the front, or with the size.",
		Or(LessEq(t.free(), Next(t.free())), Less(Next(t.Size.V()), t.Size.V()), t.noneQueued(),
			And(t.at(EL), t.Front.V()), Any(func(x *Expr) *Expr { return And(t.first(x), granted(x)) })))
	t.property("no refusal", "A legal release is never refused.",
		Implies(And(t.at(S3), t.Legal.V(), Eq(Next(t.Mine.V()), Num(0))), Eq(Next(t.Avail.V()), Add(t.Avail.V(), t.Num.V()))))
	t.property("rank: place", "Nobody comes in before one who waits, but at the front.",
		Implies(Not(Or(t.Ordered.V(), And(t.at(EP), t.Front.V()))), t.each(t.queued, func(x *Expr) *Expr {
			return All(func(y *Expr) *Expr {
				return Implies(And(Next(t.queued(x)), Next(t.queued(y)), Next(Less(t.Arr.At(y), t.Arr.At(x)))),
					And(t.queued(y), Less(t.Arr.At(y), t.Arr.At(x))))
			})
		})))
	t.property("rank: share", "What is free for the first of the line becomes no less while it waits, unless the size does.",
		t.each(t.first, func(x *Expr) *Expr {
			return Or(Not(Next(t.queued(x))), LessEq(t.free(), Next(t.free())), Less(Next(t.Size.V()), t.Size.V()),
				And(t.at(EL), t.Front.V()))
		}))

	t.theorem("no lost wake-up", "If mu is free and a request is first in line, somebody holds a permit, whose release is to come.",
		Implies(t.at(Free), t.each(t.first, func(*Expr) *Expr { return LessEq(Num(1), t.Held.V()) })))
	t.theorem("first of an ordered line", "If mu is free, one waits and none is staged, somebody holds every permit there is.",
		Implies(And(t.at(Free), t.noneStaged(), Not(t.noneQueued())), LessEq(t.Size.V(), t.Held.V())))
	t.theorem("hand-over", "If mu is free, what a release takes out of the slot is a permit that was held, and there is no other.",
		Implies(And(t.at(Free), t.SlotF.V()), And(Eq(t.Avail.V(), Num(0)), LessEq(Num(1), t.Held.V()))))
	t.theorem("a base", "The word never overflows: counted from any base, the permits fit into 61 bits.",
		And(LessEq(Num(-maxPermits), t.free()), LessEq(t.free(), Num(maxPermits)),
			LessEq(Num(-maxPermits), t.Avail.V()), LessEq(t.Avail.V(), Num(maxPermits))))
}

// canon renumbers positions and arrivals, which grow without end, and forgets what nobody knows any
// more.
func (t *EngineTable) canon(_ *Table, s *State, nodes int) {
	rank := func(v *Var, in func(st int) bool, low, high *Var) {
		old := s.arrays[v.slot]
		n := 0
		for x := range nodes {
			if !in(s.GetAt(t.St, x)) {
				s.SetAt(v, x, 0)
				continue
			}
			n++
			r := 1
			for y := range nodes {
				if in(s.GetAt(t.St, y)) && (old[y] < old[x] || old[y] == old[x] && y < x) {
					r++
				}
			}
			s.SetAt(v, x, r)
		}
		s.Set(low, 0)
		s.Set(high, n+1)
	}
	if s.Get(t.PC) == int(Free) { // nobody has locals
		for _, v := range t.Vars {
			if v.Kind == Owner {
				s.Set(v, 0)
			}
		}
	}
	rank(t.Pos, func(st int) bool { return st == InList }, t.Head, t.Tail)
	rank(t.Arr, func(st int) bool { return st >= InList && st <= InHand }, t.Afront, t.Aback)
}

// domains are what is tried where the table is run from small states.
func (t *EngineTable) domains() {
	t.Domains = []Domain{
		{Var: t.Ta, Of: t.Avail},
		{Var: t.TW, Of: t.W},
		{Var: t.TC, Of: t.C},
		{Var: t.TO, Of: t.O},
		{Var: t.Tg, Of: t.Grown},
		{Var: t.Tn, Values: []int{0, 1, 2}},
		{Var: t.Tw, Nodes: true},
		{Var: t.Tx, Nodes: true},
		{Var: t.TFront, Values: []int{0, 1}},
		{Var: t.Len, Values: []int{0, 1}},
	}
}

// firstStates returns the first states, with all choices of what the waiters want: one permit or
// two.
func (t *EngineTable) firstStates(c engineStart) (from []State) {
	for wants := range 1 << c.nodes {
		var s State
		for _, v := range []*Var{t.Size, t.Grown, t.Avail} {
			s.Set(v, c.size)
		}
		s.Set(t.Tail, 1)
		s.Set(t.Aback, 1)
		s.Set(t.Ordered, truth(c.ordered))
		for x := range c.nodes {
			s.SetAt(t.N, x, 1+wants>>x&1)
		}
		from = append(from, s)
	}
	return from
}
