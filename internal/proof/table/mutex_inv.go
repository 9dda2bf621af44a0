package table

// What holds of a mutex. A number with M is that of an invariant at the head of sync/mutex.go, with
// G of sync/gate.go, with F (futures) of sync/request.go. What has no number is needed for the
// induction.

func (t *MutexTable) says() {
	z, one, e := Num(0), Num(1), t.E.V()
	adm, used := t.Adm.V(), t.Used.V()
	t.Init = And(t.at(BucketFree), t.adm(AdmNone), t.holds(HoldNone), t.is(LockFree), Not(t.A.V()), Not(t.F.V()),
		t.gate(GateOpen), Eq(used, z), Eq(t.Inside.V(), z), Eq(t.Admitted.V(), z), Eq(t.S.V(), z), Eq(t.Behind.V(), z),
		LessEq(one, e), Not(t.HF.V()), All(func(x *Expr) *Expr { return And(Not(t.In.At(x)), Not(t.Left.At(x))) }))

	// The mutex.
	t.invariant("places", "The admitted is somewhere.", And(LessEq(Num(AdmNone), t.At.V()), LessEq(t.At.V(), Num(AdmRefuse))))
	t.invariant("states", "The lock has three states, and so has the gate.", And(
		LessEq(z, t.LK.V()), LessEq(t.LK.V(), Num(LockSleeping)), LessEq(z, t.G.V()), LessEq(t.G.V(), Num(GateWaiting))))
	t.safe("M1 alone", "One has the mutex while the word says so, and otherwise nobody.",
		Eq(t.Inside.V(), If(t.is(LockFree), z, one)))
	t.invariant("M1 holder", "The holder's place says so, too.", Eq(t.holds(HoldNone), t.is(LockFree)))
	t.safe("M4 admitted", "The bit admitted is set while the admitted holds the mutex.",
		And(Eq(t.A.V(), t.adm(AdmHeld)), Implies(t.A.V(), t.is(LockLocked))))
	t.invariant("M4 handed", "What is handed to a future, or given, is held with the admission.", Implies(t.holds(HoldHand, HoldGive), t.A.V()))
	t.invariant("M3 full", "The lane is full while nobody has the mutex, or the admitted has it.",
		Implies(And(t.F.V(), Not(t.is(LockFree))), t.A.V()))
	t.invariant("M3 not negative", "Places are used, and not given back.", LessEq(z, t.S.V()))
	renewed := Or(And(t.holds(HoldGot), t.A.V()), t.at(WHand))
	t.invariant("M3 used", "The holder's count is right once he has written it. While the lane is open a place is left.", And(
		Implies(Not(Or(renewed, t.holds(HoldGot))), LessEq(t.S.V(), used)),
		Implies(And(t.holds(HoldGot), Not(t.A.V())), And(LessEq(t.S.V(), Add(used, one)), Less(used, e))),
		Implies(renewed, Eq(t.S.V(), z)),
		Implies(And(t.is(LockFree), Not(t.F.V())), Less(used, e)),
		Implies(And(t.A.V(), Not(renewed)), Less(used, e)),
		LessEq(used, e)))

	t.gateHolds([]int64{QInsert, OTake, XClose}, []int64{XClose, ONone, OPeekNone, OStore}, []int64{OPeek, OSome, OTake})

	// Who is where.
	t.invariant("bucket", "The bucket's owner is where its step says.", And(
		Eq(t.at(KLook, KWord, KInsert, KAwake, KLeft), t.adm(AdmParking)),
		Eq(t.at(OLook, ONone, OPeekNone, OStore, OPeek, OSome, OTake), t.adm(AdmOpening)),
		Eq(t.at(XOpen), t.adm(AdmLeaves)), Eq(t.at(QAdmitted), t.adm(AdmPass)),
		Eq(t.at(WLook, WNone, WGoroutine, WFuture, WLost), t.holds(HoldWaking)),
		Eq(t.at(WHand, WGive), t.holds(HoldHand))))
	t.invariant("M2 look", "Who wakes has seen whether the admitted sleeps, and nobody else changes that.", And(
		Implies(t.at(WGoroutine, WTake), And(t.adm(AdmAsleep), Not(t.Fut.At(adm)))),
		Implies(t.at(WFuture), And(t.adm(AdmAsleep), t.Fut.At(adm))),
		Implies(t.at(WNone), Not(t.adm(AdmAsleep)))))
	t.safe("M2 sleeps", "While the admitted sleeps the word says so, or another is about to wake it.",
		Implies(t.adm(AdmAsleep), Or(t.is(LockSleeping), t.at(WTake))))
	t.invariant("M2 going to sleep", "Where the admitted goes to sleep the word says so still.", Implies(t.at(KInsert), t.is(LockSleeping)))

	t.requestsHold()
	t.invariant("F4 claimer", "A claimer acts for a future only.", And(
		Implies(And(t.By.V(), Not(t.adm(AdmNone))), t.Fut.At(adm)),
		Implies(t.holds(HoldHand, HoldGive), t.Fut.At(adm))))
	t.invariant("F4 complete", "A future that is complete has the mutex, and is one.",
		Implies(t.HF.V(), And(t.Fut.At(t.Hn.V()), Or(t.holds(HoldIn), And(t.holds(HoldGot), Not(t.A.V()))))))

	t.invariant("bound: Express", "The lane has a place.", LessEq(one, e))
	t.boundHolds()
	t.properties()
}

func (t *MutexTable) properties() {
	none := t.holds(HoldNone)
	t.property("M1 exclusion", "Who takes the mutex finds nobody in it, or is handed it by the holder.",
		Implies(And(Next(t.holds(HoldGot)), Not(t.holds(HoldGot))), none))
	t.property("M1 hand-over", "The holder hands over, under the bucket's lock.",
		Implies(And(Next(t.holds(HoldHand)), Not(t.holds(HoldHand))), And(t.holds(HoldWaking), t.adm(AdmAsleep))))
	t.property("M2 sleeping", "While the word says that the admitted sleeps only the holder changes that, under the bucket's lock.",
		Implies(And(t.is(LockSleeping), Not(Next(t.is(LockSleeping)))), And(t.holds(HoldWaking), Not(t.at(BucketFree)))))
	t.property("M3 used", "Only the holder writes what is his.",
		Or(Eq(t.Used.V(), Next(t.Used.V())), t.holds(HoldGot), t.holds(HoldHand)))
	t.property("M4 clears", "The step that clears admitted unlocks and clears full, and its thread opens the gate.",
		Implies(And(t.A.V(), Not(Next(t.A.V()))), And(Next(t.is(LockFree)), Not(Next(t.F.V())), Next(t.adm(AdmOpen)))))
	t.property("M6 observing", "A step that observes changes nothing else.", Or(Eq(t.O.V(), Next(t.O.V())),
		And(Eq(t.LK.V(), Next(t.LK.V())), Eq(t.A.V(), Next(t.A.V())), Eq(t.F.V(), Next(t.F.V())), Eq(t.H.V(), Next(t.H.V())), Eq(t.At.V(), Next(t.At.V())))))
	t.property("F4 once", "What was taken for an abandoned node is unlocked by its claimer.", All(func(x *Expr) *Expr {
		return Implies(And(t.Left.At(x), Not(Next(t.Left.At(x)))), Or(
			And(t.holds(HoldGive), Next(t.holds(HoldSlow))), And(t.adm(AdmRefuse), Next(t.adm(AdmOpen)))))
	}))
	t.gateSteps()
	t.gateFollows()

	t.theorem("M1 exclusion", "Never have two the mutex.", LessEq(t.Inside.V(), Num(1)))
	t.theorem("F4 complete", "A future that is complete has the mutex.", Implies(t.HF.V(), Not(t.is(LockFree))))
	awake := t.adm(AdmLoad, AdmCas, AdmPark, AdmClaimed, AdmWoken, AdmEnter, AdmOpen, AdmQueue, AdmRefuse)
	t.theorem("no lost wake-up", "If one waits, nobody has the mutex and nobody has the bucket's lock, the admitted is awake, or is being woken.",
		Implies(And(Or(Not(t.lineEmpty()), t.adm(AdmAsleep)), t.holds(HoldNone), t.at(BucketFree)), awake))
	t.theorem("no panic: unlock", "A holder that unlocks finds the mutex locked: with the admission, without, or asleep without.",
		Implies(t.holds(HoldSlow), Or(t.is(LockLocked), And(t.is(LockSleeping), Not(t.A.V())))))
	t.theorem("lane", "While who opens the gate reads the lane nobody writes it.",
		Implies(t.at(OPeekNone, OPeek, OStore, OSome), Not(Or(And(t.holds(HoldGot), t.A.V()), t.holds(HoldHand)))))
	t.theorem("not full for the admitted", "While the lane is full nobody but the admitted has the mutex.",
		Implies(And(t.F.V(), Not(t.is(LockFree))), t.adm(AdmHeld)))
}
