package table

// What holds of every lock behind a gate. A number with G is that of an invariant at the head of
// sync/gate.go, with F (futures) of sync/request.go. What has no number is needed for the
// induction.

// gateHolds says what holds of the gate. Between some places what it says of the line is not so;
// the line is empty at some, and not at others.
func (t *GateTable) gateHolds(between, empty, some []int64) {
	z, one := Num(0), Num(1)
	t.safe("G1 one", "One is admitted while the gate is not open, and otherwise nobody.",
		Eq(t.Admitted.V(), If(t.gate(GateOpen), z, one)))
	t.invariant("G1 admitted", "The place of the admitted says so, too.", Eq(t.adm(AdmNone), t.gate(GateOpen)))
	t.safe("G2 waiting", "While the bucket's lock is free the gate says that others are in line if and only if they are.",
		Implies(Not(t.at(between...)), Eq(t.gate(GateWaiting), Not(t.lineEmpty()))))
	t.invariant("G2 changes", "So it does under the lock, but between two steps.", And(
		Implies(t.at(QCrowd, QInsert, XClose, OLet), t.gate(GateWaiting)),
		Implies(t.at(empty...), t.lineEmpty()),
		Implies(t.at(some...), Not(t.lineEmpty())),
		Implies(t.at(OTake), Eq(t.gate(GateClosed), Any(t.lineOfOne)))))
	t.invariant("G3 positions", "The line grows at its end, and each has a place of its own.", And(
		t.each(t.inLine, func(x *Expr) *Expr { return Less(t.Pos.At(x), t.Tail.V()) }),
		t.each(t.inLine, func(x *Expr) *Expr {
			return t.each(t.inLine, func(y *Expr) *Expr { return Or(Eq(x, y), Not(Eq(t.Pos.At(x), t.Pos.At(y)))) })
		})))
}

// requestsHold says what holds of requests.
func (t *GateTable) requestsHold() {
	adm, own := t.Adm.V(), t.Own.V()
	t.safe("F1 nowhere else", "The admitted is not in line, nor is a future that has the lock.",
		t.each(t.inLine, func(x *Expr) *Expr { return And(Not(t.isAdmitted(x)), Not(t.complete(x)), t.alone(x)) }))
	t.invariant("F1 queues", "What is about to be put in line is used by no request.",
		Implies(t.at(QLoad, QCas, QPass, QCrowd, QInsert), And(Not(t.In.At(own)), Not(t.isAdmitted(own)), Not(t.complete(own)),
			Not(t.Left.At(own)), t.alone(own))))
	t.safe("F3 asleep", "No abandoned node is in line or sleeps: a claimer is at work for it.",
		All(func(x *Expr) *Expr {
			return Implies(t.Left.At(x), And(t.Fut.At(x), Or(t.isClaimed(x), And(Eq(adm, x), t.at(KLeft)), And(Eq(adm, x), t.adm(AdmRefuse)))))
		}))
	t.invariant("F3 looked", "What is put to sleep has not been abandoned.", Implies(t.at(KWord, KInsert, KAwake), Not(t.Left.At(adm))))
}

// boundHolds says by how much a request is overtaken.
func (t *GateTable) boundHolds() {
	z, e := Num(0), t.E.V()
	t.invariant("bound: length", "An empty line is no shorter than that.", Implies(t.lineEmpty(), LessEq(z, t.Behind.V())))
	t.invariant("bound: rank", "A request in line gets in after the admitted and after all that came before it.", And(
		t.each(t.waits, func(x *Expr) *Expr { return LessEq(z, t.Rank.At(x)) }),
		t.each(t.inLine, func(x *Expr) *Expr { return Implies(t.pending(), LessEq(e, t.Rank.At(x))) }),
		t.each(t.inLine, func(x *Expr) *Expr {
			return t.each(t.inLine, func(y *Expr) *Expr {
				return Implies(Less(t.Pos.At(x), t.Pos.At(y)), LessEq(Add(t.Rank.At(x), e), t.Rank.At(y)))
			})
		}),
		t.each(t.inLine, func(x *Expr) *Expr {
			return LessEq(Add(t.Rank.At(x), e), Add(t.Behind.V(), If(t.pending(), e, z)))
		})))
	t.invariant("bound: turns", "The lane is renewed no more often than others were before the request when it came.",
		t.each(t.waits, func(x *Expr) *Expr { return LessEq(Add(t.Turns.At(x), t.Rank.At(x)), t.Place.At(x)) }))
	t.invariant("bound: overtaken", "A request is overtaken on the express lane only, by no more than it has places each time.",
		t.each(t.waits, func(x *Expr) *Expr { return LessEq(t.Over.At(x), Add(t.Turns.At(x), t.S.V())) }))
}

// gateSteps says what holds of each step.
func (t *GateTable) gateSteps() {
	adm := t.Adm.V()
	t.property("G1 admission", "Who is admitted passes the open gate, or is admitted by who was admitted before.",
		Implies(And(t.adm(AdmNone), Not(Next(t.adm(AdmNone)))), t.gate(GateOpen)))
	t.property("G2 under the lock", "Only under the bucket's lock others come to be in line, as the gate says, or cease to be.",
		Or(Eq(t.gate(GateWaiting), Next(t.gate(GateWaiting))), Not(t.at(BucketFree))))
	t.property("G3 FIFO", "Who leaves the line, and does not give up, is the first of it.", All(func(x *Expr) *Expr {
		return Implies(And(t.In.At(x), Not(Next(t.In.At(x))), Not(t.at(XLook))), t.first(x))
	}))
	t.property("G4 leaves", "Who leaves the line is admitted, or let in, or gives up itself.", All(func(x *Expr) *Expr {
		return Implies(And(t.In.At(x), Not(Next(t.In.At(x)))),
			Or(And(t.at(OTake), Next(t.adm(AdmClaimed)), Next(Eq(adm, x))), t.at(OLetTake), And(t.at(XLook), Eq(t.Own.V(), x))))
	}))
	t.property("nobody comes before", "One that is in line comes no further from its turn.", All(func(x *Expr) *Expr {
		return Implies(And(t.In.At(x), Next(t.In.At(x))), LessEq(Next(t.Rank.At(x)), t.Rank.At(x)))
	}))
}

// gateFollows says what follows.
func (t *GateTable) gateFollows() {
	adm := t.Adm.V()
	t.theorem("G1 one", "Never are two admitted.", LessEq(t.Admitted.V(), Num(1)))
	t.theorem("bound: places", "Since the lane was renewed no more places were used than there are.", LessEq(t.S.V(), t.E.V()))
	t.theorem("G admitted", "While one is in line another is admitted.", Or(t.lineEmpty(), Not(t.adm(AdmNone))))
	t.theorem("F3 asleep", "No abandoned node is in line, or sleeps in front of the lock.", All(func(x *Expr) *Expr {
		return Implies(t.Left.At(x), Not(Or(t.In.At(x), And(t.adm(AdmAsleep), Eq(adm, x)))))
	}))
	t.theorem("bound", "A request that waits has been overtaken by at most (p + 1) · Express, where p were before it when it came.",
		t.each(t.waits, func(x *Expr) *Expr { return LessEq(t.Over.At(x), Add(t.Place.At(x), t.E.V())) }))
	t.theorem("no panic: open", "Who opens the gate finds it closed.", Implies(t.at(ONone), Not(t.gate(GateOpen))))
}
