package table

// What holds of sync.RWMutex. A number with R is that of an invariant at the head of
// sync/rwmutex.go; gate_inv.go has those of the gate and of futures. What has no number is needed
// for the induction.

func (t *RWMutexTable) says() {
	z, one := Num(0), Num(1)
	adm, e, most := t.Adm.V(), t.E.V(), t.Most.V()
	x, sleeping, crowded := t.X.V(), t.Z.V(), t.C.V()
	reading, vain, placing, rousing := t.Reading.V(), t.Vain.V(), t.Placing.V(), t.Rousing.V()
	readers, used := t.Readers.V(), t.Used.V()
	var nothing []*Expr
	for _, v := range []*Var{
		t.Readers, t.Used, t.Opening, t.Op, t.Inside, t.Admitted, t.S, t.Behind, t.Reading, t.Vain, t.Placing, t.Rousing,
	} {
		nothing = append(nothing, Eq(v.V(), z))
	}
	t.Init = And(t.at(BucketFree), t.adm(AdmNone), t.holds(HoldNone), t.gate(GateOpen), Not(x), Not(t.A.V()), Not(sleeping),
		Not(crowded), Not(t.HF.V()), And(nothing...), LessEq(one, e), LessEq(one, most),
		All(func(x *Expr) *Expr { return And(Not(t.In.At(x)), Not(t.Left.At(x)), t.is(x, LetNone)) }))

	t.invariant("states", "The gate has three states, and so has the opener.", And(
		LessEq(z, t.G.V()), LessEq(t.G.V(), Num(GateWaiting)), LessEq(z, t.Op.V()), LessEq(t.Op.V(), Num(OpAway))))

	// The lock.
	t.safe("R1 alone", "One writer holds the lock while the word says so, and otherwise none.",
		Eq(t.Inside.V(), If(x, one, z)))
	t.invariant("R1 holder", "The holder's place says so, too.", Eq(t.holds(HoldNone), Not(x)))
	t.safe("R1 exclusion", "Beside a writer nobody reads, nor is about to know whether it does.",
		Implies(x, And(Eq(reading, z), Eq(placing, z))))
	t.safe("R1 counted", "The word counts those that read, those that have come in vain, and those that are about to add a place.",
		Eq(readers, Add(reading, vain, placing)))
	t.invariant("R1 counts", "Of none there are less than nothing.", And(
		LessEq(z, reading), LessEq(z, vain), LessEq(z, placing), LessEq(z, rousing)))
	t.invariant("few", "There may be a goroutine.", LessEq(one, most))
	t.safe("R4 admitted", "The bit admitted is set while the admitted holds the lock as a writer.",
		And(Eq(t.A.V(), t.adm(AdmHeld)), Implies(t.A.V(), x)))
	t.invariant("R4 handed", "What is handed to a future, or given, is held with the admission.", Implies(t.holds(HoldHand, HoldGive), t.A.V()))
	t.safe("R3 places", "No more have got in on the express lane since it was renewed than places were used, nor than it has.",
		And(LessEq(z, t.S.V()), LessEq(t.S.V(), used), LessEq(t.S.V(), e)))
	t.safe("R6 places", "Places that were used in vain are no more than there may be goroutines: their count does not grow into the next bit.",
		LessEq(Add(used, placing, one), Add(e, most)))
	t.safe("R8 crowded", "While a request is in line, or sleeps in front of the lock, the word says so.", And(
		Implies(Not(t.lineEmpty()), crowded), Implies(t.adm(AdmAsleep), crowded)))
	t.invariant("R8 waited", "So it does while the admitted waits that has waited, and where one is about to join the line.", And(
		Implies(sleeping, crowded), Implies(And(t.pending(), t.Waited.V()), crowded), Implies(t.at(QInsert), crowded)))

	// The admitted that sleeps.
	t.safe("R2 sleeps", "While the admitted sleeps the word says so, or another is about to wake it.",
		Implies(t.adm(AdmAsleep), Or(sleeping, t.at(WTake))))
	t.invariant("R2 sleeper", "Only of the admitted the word says that it sleeps, is about to, or has given up just now.",
		Implies(sleeping, t.adm(AdmPark, AdmParking, AdmAsleep, AdmLeaves, AdmRefuse, AdmClear)))
	t.safe("R2 writer", "Beside readers it is a writer that sleeps.",
		Implies(And(sleeping, Not(x), t.adm(AdmPark, AdmParking, AdmAsleep)), Not(t.Reader.At(adm))))
	t.safe("R2 woken", "If the word says that one sleeps, and nobody holds the lock, a reader that has left is about to wake it.",
		Implies(And(sleeping, Not(x), Eq(readers, z)), Less(z, rousing)))
	t.invariant("R2 going to sleep", "Where the admitted goes to sleep the word says so still, and where it does not, or is woken, not.",
		And(Implies(t.at(KInsert), sleeping), Implies(t.at(KAwake, WTake), Not(sleeping))))
	t.invariant("R2 look", "Who wakes has seen whether the admitted sleeps, and nobody else changes that.", And(
		Implies(t.at(WGoroutine, WTake), And(t.adm(AdmAsleep), Not(t.Fut.At(adm)))),
		Implies(t.at(WFuture), And(t.adm(AdmAsleep), t.Fut.At(adm))),
		Implies(t.at(WNone), Not(t.adm(AdmAsleep)))))

	// The gate.
	lets := []int64{OLet, OLetLook, OLetCas, OLetTake}
	empty := []int64{XClose, ONone, OPeekNone, OUncrowd, OStore}
	some := []int64{OPeek, OLetLook, OLetCas, OLetTake, OSome, OTake}
	t.gateHolds([]int64{QCrowd, QInsert, OTake, XClose, OLet, OUncrowd, OStore}, empty, some)
	t.requestsHold()
	opening := append([]int64{OLook, ONone, OPeekNone, OUncrowd, OStore, OPeek, OSome, OTake}, lets...)
	t.invariant("bucket", "The bucket's owner is where its step says.", And(
		Eq(t.at(KLook, KWord, KInsert, KAwake, KLeft), t.adm(AdmParking)),
		Eq(t.at(opening...), t.adm(AdmOpening)),
		Eq(t.at(XOpen), t.adm(AdmLeaves)), Eq(t.at(QAdmitted), t.adm(AdmPass)), Eq(t.at(WRead), t.adm(AdmHanding)),
		Eq(And(t.at(WLook, WNone, WGoroutine, WFuture, WLost), t.Wh.V()), t.holds(HoldWaking)),
		Eq(t.at(WGive), t.holds(HoldHand))))
	t.invariant("let", "Where one is let in it is a reader, and the first.", Implies(t.at(OLetLook, OLetCas, OLetTake),
		t.each(t.first, func(x *Expr) *Expr { return And(t.Reader.At(x), Not(t.Fut.At(x))) })))

	// Futures.
	t.invariant("F4 claimer", "A claimer acts for a future only.", And(
		Implies(And(t.By.V(), Not(t.adm(AdmNone))), t.Fut.At(adm)),
		Implies(t.holds(HoldHand, HoldGive), t.Fut.At(adm))))
	t.invariant("F4 complete", "A future that is complete has the lock, and is one.",
		Implies(t.HF.V(), And(t.Fut.At(t.Hn.V()), t.holds(HoldIn))))
	t.invariant("F1 alone", "The admitted has not got in before.", Implies(t.isAdmitted(adm), t.alone(adm)))
	t.invariant("F4 read", "Who has taken the lock for a future that reads is about to tell it.", And(
		Implies(t.adm(AdmHanding, AdmGive), t.is(adm, LetGiving)),
		Implies(And(t.adm(AdmEntered), t.By.V()), t.is(adm, LetGiving))))

	// The opener.
	t.safe("opening", "The word opening counts the opener, and the admission that was left to it.",
		Eq(t.Opening.V(), Add(If(t.opener(OpNone), z, one), If(t.adm(AdmLeft), one, z))))
	t.safe("left", "An admission is left to an opener that is about to look.", Implies(t.adm(AdmLeft), t.opener(OpAway)))
	t.boundHolds()
	t.steps()
}

func (t *RWMutexTable) steps() {
	adm, z := t.Adm.V(), Num(0)
	x, sleeping := t.X.V(), t.Z.V()
	starts := func(b *Expr) *Expr { return And(Not(b), Next(b)) }
	ends := func(b *Expr) *Expr { return And(b, Not(Next(b))) }
	t.property("R1 writer", "The step that makes one a writer finds no reader.",
		Implies(starts(x), Eq(t.Readers.V(), z)))
	t.property("R1 reader", "Who gets in for reading finds no writer, or ends the writer's hold with the same step.",
		Implies(Less(t.Reading.V(), Next(t.Reading.V())), Not(Next(x))))
	t.property("R1 hand-over", "The writer hands over, under the bucket's lock.",
		Implies(And(x, Next(t.holds(HoldHand)), Not(t.holds(HoldHand))), And(t.holds(HoldWaking), t.adm(AdmAsleep))))
	t.property("R2 sleeping", "The word comes to say that the admitted sleeps where the lock is not available to it, and ceases under the bucket's lock, or if it gives up.",
		And(Implies(starts(sleeping), And(t.adm(AdmCas), Or(x, And(Not(t.Reader.At(adm)), Less(z, t.Readers.V()))))),
			Implies(ends(sleeping), Or(Not(t.at(BucketFree)), t.adm(AdmClear)))))
	t.property("R3 renewed", "Only the admitted renews the lane, once, as it gets the lock.",
		Implies(Less(Next(t.Used.V()), t.Used.V()),
			And(t.adm(AdmCas, AdmEnter, AdmAsleep), Next(t.adm(AdmHeld, AdmOpen, AdmEntered, AdmHanding)))))
	t.property("R4 clears", "The step that clears admitted unlocks, and its thread opens the gate.",
		Implies(ends(t.A.V()), And(Next(Not(x)), Next(t.adm(AdmOpen)))))
	var same []*Expr
	for _, v := range []*Var{t.X, t.A, t.Z, t.C, t.Readers, t.Used, t.H, t.At, t.G} {
		same = append(same, Eq(v.V(), Next(v.V())))
	}
	t.property("R7 observed", "A step that observes changes nothing else.", Or(Eq(t.O.V(), Next(t.O.V())), And(same...)))
	t.property("R8 clears", "Only the admitted says that the lock is crowded no more: under the bucket's lock, when nobody is in line or sleeps.",
		Implies(ends(t.C.V()), And(t.adm(AdmOpening), Not(t.at(BucketFree)), t.lineEmpty(), Not(sleeping))))
	t.property("together", "Who lets readers in stops at a writer or a future, or beside a writer that holds the lock.",
		Implies(And(Next(t.at(OSome)), Not(t.at(OSome))),
			Or(x, Any(func(y *Expr) *Expr { return And(t.first(y), Or(Not(t.Reader.At(y)), t.Fut.At(y))) }))))
	t.property("let in", "Who is let in is a goroutine that wants to read, the first of the line.", All(func(x *Expr) *Expr {
		return Implies(starts(t.is(x, LetIn)), And(t.Reader.At(x), Not(t.Fut.At(x)), t.first(x), Not(Next(t.In.At(x)))))
	}))
	t.property("opening", "Who opens the gate again takes over an admission that was left to it.",
		Implies(And(Less(Next(t.Opening.V()), t.Opening.V()), Not(t.adm(AdmOpen)), Next(t.adm(AdmOpen))), t.adm(AdmLeft)))
	t.property("F4 once", "What was taken for an abandoned node is unlocked by its claimer.", All(func(x *Expr) *Expr {
		return Implies(ends(t.Left.At(x)), Or(And(t.holds(HoldGive), Next(t.holds(HoldSlow))), And(t.adm(AdmRefuse), Next(t.adm(AdmClear))),
			And(t.is(x, LetGiving), Next(t.is(x, LetNone)), Or(Not(t.adm(AdmGive)), Not(Eq(adm, x)), Next(t.adm(AdmUngive))))))
	}))
	t.gateSteps()

	t.gateFollows()
	t.theorem("R1 exclusion", "Never are there two writers, nor a writer beside a reader.",
		And(LessEq(t.Inside.V(), Num(1)), Or(Eq(t.Inside.V(), z), Eq(t.Reading.V(), z))))
	t.theorem("R2 writer", "Who sleeps beside readers is a writer.",
		Implies(And(t.adm(AdmAsleep), sleeping, Less(z, t.Reading.V())), Not(t.Reader.At(adm))))
	t.theorem("R6 places", "The count of places does not grow into the next bit: it is less than a lane and all goroutines.",
		Less(t.Used.V(), Add(t.E.V(), t.Most.V())))
	t.theorem("R8 crowded", "While a request is in line, or sleeps in front of the lock, the places of the lane count.",
		Implies(Or(Not(t.lineEmpty()), t.adm(AdmAsleep)), t.C.V()))
	t.theorem("F4 complete", "A future that is complete, and writes, has the lock.", Implies(t.HF.V(), And(x, t.Fut.At(t.Hn.V()))))
	t.theorem("R5 no lost wake-up", "If one waits, nobody is in the way and nobody has the bucket's lock, the admitted is awake, is being woken, or is about to be.",
		Implies(And(Or(Not(t.lineEmpty()), t.adm(AdmAsleep)), Not(x), Eq(t.Readers.V(), z), t.at(BucketFree)),
			Or(And(t.adm(AdmAsleep), Less(z, t.Rousing.V())), Not(t.adm(AdmNone, AdmAsleep, AdmHeld)))))
	t.theorem("R5 left", "If the admission was left to the opener, there is one.", Implies(t.adm(AdmLeft), Not(t.opener(OpNone))))
	t.theorem("no panic: unlock", "A writer that unlocks finds that one holds the lock: with the admission, without, or beside one that sleeps.",
		Implies(t.holds(HoldSlow), And(x, Not(And(t.A.V(), sleeping)))))
	t.theorem("nobody sleeps", "Where a reader that was let in for an abandoned future is removed nobody sleeps.",
		Implies(t.adm(AdmUngive), Not(sleeping)))
	t.theorem("openings", "The word opening is at most two.", LessEq(t.Opening.V(), Num(2)))
}
