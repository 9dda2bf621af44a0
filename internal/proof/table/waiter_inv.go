package table

// What holds of a future's node. The numbers are those at the head of internal/waiting/waiter.go;
// what has no number is needed for the induction.

func (t *WaiterTable) says() {
	waker, done, newest := t.Waker.V(), t.Done.V(), Num(Newest)
	z := Num(0)
	t.Init = And(t.at(OwnerIdle), t.claimed(ClaimNone), t.is(NodeIdle), Not(t.Line.V()), Eq(waker, z), Eq(done, z),
		Not(t.Outcome.V()), Not(t.Closed.V()), Not(t.Woken.V()), Not(t.Asked.V()), Not(t.Waking.V()), Not(t.Closing.V()),
		Eq(t.Permits.V(), z), Not(t.Mine.V()), Not(t.Grants.V()), Eq(t.Wake.V(), z), Eq(t.Close.V(), z))

	// Where owner and claimer are, and the state.
	t.invariant("states", "The state is one of seven.", And(LessEq(z, t.State.V()), LessEq(t.State.V(), Num(NodeClaimingAbandoned))))
	early := t.claimed(ClaimOutcome, ClaimLook, ClaimRegistering, ClaimArmed)
	t.safe("4 claimer", "The claimer's place says what the state may be. An abandoned node has a claimer.", And(
		Implies(early, t.is(NodeRegistering, NodeArmed, NodeAbandoned)),
		Implies(t.claimed(ClaimRead, ClaimPublish), t.is(NodeClaiming, NodeClaimingAbandoned)),
		Implies(t.claimed(ClaimRefuse), t.is(NodeAbandoned, NodeClaimingAbandoned)),
		Implies(t.claimed(ClaimNone), Not(t.busy()))))
	t.invariant("claimer's places", "The claimer is nowhere else.", Or(early, t.claimed(ClaimRead, ClaimPublish, ClaimRefuse, ClaimNone)))
	alone := t.at(StartQueue, DoneQueue, FinishFields, FinishStore, DoneFinish, DoneFinished, EndFields, EndReset)
	t.invariant("line", "A node in line waits, and nobody has claimed it. One that the owner prepares or has unlinked is not in line.",
		And(Implies(t.Line.V(), And(t.claimed(ClaimNone), t.is(NodeArmed, NodeRegistering), Not(alone))),
			Implies(t.at(EndAbandon, EndArmed, EndClaiming, EndStatus), Not(t.Line.V()))))
	t.safe("someone comes", "A node that waits is in line, or claimed.",
		Implies(And(t.is(NodeArmed, NodeRegistering), Not(alone)), Or(t.Line.V(), Not(t.claimed(ClaimNone)))))
	registering := t.at(PollWrite, PollBack, ChanMake, ChanBack)
	t.invariant("2 registering", "The owner alone registers, and then only a claimer moves the state, to complete.",
		And(Implies(registering, t.is(NodeRegistering, NodeComplete)), Implies(t.is(NodeRegistering), registering)))
	t.invariant("owner's idle", "What the owner prepares is idle, or armed, and nobody has claimed it.", And(
		Implies(t.at(StartFields, StartStore, DoneFields, DoneArm, EndGive, BindN), t.is(NodeIdle)),
		Implies(t.at(StartQueue, DoneQueue, EndFields, EndReset), t.is(NodeArmed)),
		Implies(t.at(FinishFields, FinishStore, DoneFinish, DoneFinished), t.is(NodeIdle, NodeArmed)),
		Implies(alone, t.claimed(ClaimNone))))
	t.invariant("owner's complete", "A complete node stays so until the owner resets it.",
		Implies(t.at(PollClose, ChanClose, ChanWake, ErrRead, TakeRead, TakeFields, TakeStore, EndOutcome, EndStore,
			BindRead, BindFields, BindStore), t.is(NodeComplete)))
	t.invariant("owner's look", "What the owner has seen says what the state can be now.", And(
		Implies(t.at(PollRearm, ChanLook, ChanRegister, EndArmed), t.is(NodeArmed, NodeClaiming, NodeComplete)),
		Implies(t.at(PollStatus, ChanAwait, EndClaiming), t.is(NodeClaiming, NodeComplete)),
		Implies(t.at(DoneLook, BindLook), Not(t.is(NodeAbandoned, NodeClaimingAbandoned)))))

	// Wake-ups.
	t.invariant("asked", "In a poll, a start or an end no earlier poll has left its waker.",
		Implies(t.Asked.V(), Not(Or(alone, t.at(PollLook, PollRearm, PollWrite, PollBack, PollClose, PollStatus, PollBusy,
			StartFields, StartStore, DoneFields, DoneArm, EndLook, EndUnlink, EndAbandon, EndArmed, EndClaiming, EndStatus,
			EndOutcome, EndStore, EndGive)))))
	waits := And(t.Asked.V(), Not(t.Woken.V()))
	t.safe("1 copies", "What the claimer has copied is what the node still has: no wake-up goes to a waker that has been replaced.",
		Implies(t.claimed(ClaimPublish), And(Eq(t.Wake.V(), waker), Eq(t.Close.V(), done))))
	t.invariant("waker", "The last poll's waker is in the node until it is woken, or is about to be.", And(
		Implies(And(t.at(PollBack, StartStore, StartQueue), t.With.V()), Eq(waker, newest)),
		Implies(And(waits, t.is(NodeRegistering, NodeArmed, NodeClaiming)), Eq(waker, newest)),
		Implies(And(waits, t.is(NodeComplete)), Or(t.Waking.V(), And(t.at(ChanMake, ChanBack, ChanClose, ChanWake), Eq(waker, newest))))))
	meets := t.at(PollWrite, PollBack, PollClose, ChanBack, ChanClose)
	t.invariant("2 channel", "The channel of a complete round is closed or about to be, by the claimer or by the owner that has met it.",
		Implies(And(t.is(NodeComplete), Eq(done, newest)), Or(t.Closed.V(), t.Closing.V(), meets)))
	begins := t.at(StartFields, StartStore, DoneFields, DoneArm, FinishFields, FinishStore, DoneFinish, DoneFinished, ChanMake)
	t.safe("closed once", "Nobody closes a channel that is closed, or that another is about to close.", And(
		Implies(t.Closing.V(), Not(t.Closed.V())),
		Implies(Or(t.is(NodeRegistering, NodeArmed), t.busy(), begins, And(meets, Eq(done, newest))), Not(Or(t.Closed.V(), t.Closing.V())))))
	t.invariant("channel", "A node that waits or is complete has no channel of an earlier round, and one that the owner has made.", And(
		Implies(t.is(NodeRegistering, NodeClaiming, NodeComplete), Or(Eq(done, z), Eq(done, newest))),
		Implies(And(t.is(NodeArmed), Not(t.at(FinishFields, DoneFinish))), Or(Eq(done, z), Eq(done, newest))),
		Implies(t.at(StartStore, DoneArm, FinishStore, DoneFinished, ChanRegister, ChanMake), Eq(done, z)),
		Implies(t.at(ChanBack, ChanClose, ChanWake), Eq(done, newest))))

	// Permits.
	t.invariant("outcome", "The outcome that the claimer has written is what it brings.",
		Implies(Not(t.claimed(ClaimNone, ClaimOutcome)), Eq(t.Outcome.V(), t.Grants.V())))
	t.invariant("mine", "What the owner gives back it was granted, and all of it. It takes a grant, and binds after none.", And(
		Implies(t.at(EndStore), Eq(bit(t.Mine.V()), bit(t.Outcome.V()))),
		Implies(t.at(TakeFields, TakeStore), t.Outcome.V()), Implies(t.at(BindFields, BindStore), Not(t.Outcome.V()))))
	t.invariant("finish", "A request that does not wait is granted.", Implies(t.at(FinishStore, DoneFinished), t.Outcome.V()))
	t.safe("conserved", "What was granted is with the claimer, with the owner, or back, once.",
		Eq(t.Permits.V(), Add(bit(And(Not(t.claimed(ClaimNone)), t.Grants.V())), bit(And(t.is(NodeComplete), t.Outcome.V())),
			bit(And(t.at(EndGive), t.Mine.V())), bit(t.at(FinishFields, FinishStore, DoneFinish, DoneFinished)))))

	t.properties()
}

func (t *WaiterTable) properties() {
	newest := Num(Newest)
	ends := And(Not(t.claimed(ClaimNone)), Next(t.claimed(ClaimNone)))
	t.property("once", "A request ends once: by its claimer, whose claim ends with it, or by Finish.",
		Implies(And(Not(t.is(NodeComplete)), Next(t.is(NodeComplete))), Or(ends, t.at(FinishStore, DoneFinished))))
	t.property("3 last", "A claim ends as the state becomes complete, or idle if the owner has left.",
		Implies(ends, Or(Next(t.is(NodeComplete)), And(t.is(NodeAbandoned, NodeClaimingAbandoned), Next(t.is(NodeIdle))))))
	t.property("4 refused", "Only the claimer of an abandoned node moves it, to idle.",
		Implies(And(t.is(NodeAbandoned, NodeClaimingAbandoned), Not(Eq(t.State.V(), Next(t.State.V())))), And(ends, Next(t.is(NodeIdle)))))
	t.property("stays", "A complete node keeps its outcome until the owner resets it.",
		Implies(t.is(NodeComplete), Or(t.at(TakeStore, EndStore, BindStore), And(Next(t.is(NodeComplete)), Eq(t.Outcome.V(), Next(t.Outcome.V()))))))
	t.property("closed", "A channel is closed after the request has ended.",
		Implies(And(Not(t.Closed.V()), Next(t.Closed.V())), t.is(NodeComplete, NodeIdle)))
	rank := func(e func(*Expr) *Expr) *Expr {
		r := Num(0)
		for _, p := range []struct{ place, rank int64 }{
			{ClaimOutcome, 6}, {ClaimLook, 4}, {ClaimRegistering, 5}, {ClaimArmed, 5}, {ClaimRead, 3}, {ClaimPublish, 2}, {ClaimRefuse, 1},
		} {
			r = If(t.claimed(p.place), Num(p.rank), r)
		}
		return e(r)
	}
	same := func(e *Expr) *Expr { return e }
	t.property("rank", "Each step of the claimer of an abandoned node brings it nearer to its end, of which there are at most six.",
		Implies(And(t.is(NodeAbandoned, NodeClaimingAbandoned), Not(Eq(t.At.V(), Next(t.At.V())))), Less(rank(Next), rank(same))))

	t.theorem("no lost wake-up", "Between calls, if the request has ended the last poll's waker has been woken, or is about to be.",
		Implies(And(t.at(OwnerIdle), t.is(NodeComplete), t.Asked.V()), Or(t.Woken.V(), t.Waking.V())))
	t.theorem("channel", "Between calls, if the request has ended its channel is closed, or about to be.",
		Implies(And(t.at(OwnerIdle), t.is(NodeComplete), Eq(t.Done.V(), newest)), Or(t.Closed.V(), t.Closing.V())))
	t.theorem("4 back", "Between calls, a node that is busy has a claimer, whose next steps complete it or make it idle.",
		Implies(And(t.at(OwnerIdle), t.busy()), Not(t.claimed(ClaimNone))))
	t.theorem("2 once", "Who is about to close a channel finds it open, and it is this round's.", And(
		Implies(Or(t.Closing.V(), t.at(ChanClose), And(t.at(PollClose), Eq(t.Done.V(), newest))), Not(t.Closed.V())),
		Implies(t.at(ChanLook, PollClose, ChanClose), Not(Eq(t.Done.V(), Num(Earlier))))))
	t.theorem("4 conserved", "Between calls, if nobody has claimed the node and it is not complete, nothing that was granted is out.",
		Implies(And(t.at(OwnerIdle), t.claimed(ClaimNone), Not(t.is(NodeComplete))), Eq(t.Permits.V(), Num(0))))
	t.theorem("no later round", "While somebody has claimed the node its owner begins no other round, and does not reset it.",
		Implies(Not(t.claimed(ClaimNone)), Not(t.at(StartFields, StartStore, StartQueue, DoneFields, DoneArm, DoneQueue,
			FinishFields, FinishStore, DoneFinish, DoneFinished, EndFields, EndReset, TakeRead, TakeFields, TakeStore, EndOutcome, EndStore,
			BindRead, BindFields, BindStore, BindN))))
	t.theorem("1 no race", "While the claimer reads waker and channel the owner writes neither.",
		Implies(t.claimed(ClaimRead), Not(t.at(PollWrite, ChanMake, StartFields, DoneFields, FinishFields, DoneFinish, EndFields,
			ErrRead, TakeRead, TakeFields, EndOutcome, BindFields))))
	t.theorem("no race", "While the claimer writes the outcome the owner neither reads nor writes it.",
		Implies(t.claimed(ClaimOutcome), Not(t.at(FinishFields, DoneFinish, ErrRead, TakeRead, EndOutcome, BindRead))))
	t.theorem("no panic", "A claimer that looks finds a node that waits, or one that was left.",
		Implies(t.claimed(ClaimLook), t.is(NodeRegistering, NodeArmed, NodeAbandoned)))
}
