package table

// What holds of a parker. A number with P is that of an invariant at the head of
// internal/waiting/parker.go, with W of internal/waiting/watch.go. What has no number is needed for
// the induction.

func (t *ParkerTable) says() {
	z := Num(0)
	tok, nud, gotTok, gotNud := t.Tok.V(), t.Nud.V(), t.GotTok.V(), t.GotNud.V()
	line, claimed, nudged := t.Line.V(), t.Claimed.V(), t.Nudged.V()
	w, linked, fired := t.W.V(), t.Linked.V(), t.Fired.V()
	nobody := Eq(t.At.V(), Num(NotClaimed))
	t.Init = And(t.at(ParkerPooled), nobody, Eq(t.F.V(), Num(FireNone)), t.mu(MuFree), Eq(t.Idle.V(), Num(NoneIdle)),
		Not(line), Not(tok), Not(nud), Not(gotTok), Not(gotNud), Not(t.Err.V()), Not(t.Over.V()), Not(w), Not(linked),
		Not(fired), Not(nudged), Not(t.Before.V()), Eq(t.Owed.V(), z), Eq(t.Permits.V(), z))

	// The token.
	waits := t.at(ParkerQueued, ParkSleep, ParkBoth, ParkTook, ParkAsk, LeaveUnlink)
	left := t.at(LeaveN, LeaveLock, LeaveLook, LeaveEnd, LeaveSleep, LeavePut)
	open := Or(waits, And(left, claimed))
	t.safe("P1 token", "While a request is open its node is in line, or claimed, or its token is there, or taken: one of these. Otherwise none.",
		Eq(Add(bit(line), bit(Not(nobody)), bit(tok), bit(gotTok)), bit(open)))
	t.invariant("unlinked", "Who leaves has found the node, or it was claimed.", Implies(left, Not(line)))
	t.invariant("took", "What was taken the owner still looks at. It asks the context with a token, and without a nudge.", And(
		Implies(gotTok, Or(t.at(ParkTook, ParkAsk, LeaveUnlink), left)),
		Implies(t.at(ParkAsk), And(gotTok, Not(gotNud))),
		Implies(t.at(LeavePut), And(Implies(claimed, gotTok), Implies(nudged, gotNud)))))

	// The nudge.
	t.safe("P1 nudge", "A parker with a watch is in its list, or its nudge is there, or taken: one of these. One without has none, unless the owner knows of it.",
		Eq(Add(bit(linked), bit(nud), bit(gotNud)), bit(Or(w, nudged))))
	t.invariant("nudged", "The owner knows of a nudge only between its farewell to the watch and the pool.", And(
		Implies(nudged, t.at(LeaveEnd, LeaveSleep, LeavePut, PartEnd, PartSleep)),
		Implies(linked, w)))
	t.invariant("taken nudge", "A nudge is taken in a wait, or after the farewell.",
		Implies(gotNud, Or(t.at(ParkTook, LeaveUnlink), left)))
	has := t.at(ParkerIdle, GetEnd, LeaveLock, LeaveLook, PutSwap, PartLock, PartLook)
	hasNot := t.at(ParkerPooled, GetLock, GetLook, GetLate, LeaveEnd, LeaveSleep, LeavePut, PartEnd, PartSleep)
	t.invariant("watch", "Where the owner is, its parker has a watch or not. A wait by the watch's nudge has one, and no other has.", And(
		Implies(has, w), Implies(hasNot, Not(w)),
		Implies(Or(waits, t.at(GetEnd, ParkerHeld, LeaveN)), Eq(w, t.kind(Watched)))))

	// The watch.
	t.invariant("W lock", "The lock of the watch is the owner's, or the fire's: the place says whose.", And(
		Eq(t.mu(MuOwner), t.at(GetLook, GetEnd, GetLate, LeaveLook, LeaveEnd, PartLook, PartEnd)),
		Eq(t.mu(MuFire), oneOf(t.F, FireMark, FireSend))))
	t.safe("W2 nudges", "Once the watch has fired no parker is in its list, but those to which it is sending.",
		Implies(And(linked, fired), Eq(t.F.V(), Num(FireSend))))
	t.invariant("W2 sends", "While the watch sends it has fired. So it has where a nudge has been sent.", And(
		Implies(Eq(t.F.V(), Num(FireSend)), fired), Implies(Or(nud, gotNud, nudged), fired)))
	t.invariant("W2 after the end", "A watch fires when its context is over.", And(
		Implies(Or(fired, Eq(t.F.V(), Num(FireMark))), t.Over.V()), Implies(t.Over.V(), t.Err.V())))
	t.safe("W3 idle", "The watch says that a parker is idle while it is.", Eq(Eq(t.Idle.V(), Num(MineIdle)), t.at(ParkerIdle)))

	// The outcome.
	granted := And(open, Not(line), t.Grants.V())
	t.invariant("outcome", "When the token is there the outcome is.",
		Implies(Or(tok, gotTok, Eq(t.At.V(), Num(ClaimedWake))), Eq(t.Outcome.V(), t.Grants.V())))
	t.invariant("n", "Who leaves gives back what the claimer has granted.",
		Implies(And(t.at(LeaveLock, LeaveLook, LeaveEnd, LeaveSleep, LeavePut), claimed), Eq(t.Ln.V(), t.N.V())))
	t.safe("conserved", "What was granted is with the claimer, on its way to the owner, with the owner, or back, once.",
		Eq(t.Permits.V(), Add(t.Owed.V(), If(granted, t.N.V(), z))))
	t.invariant("cancel", "A cancel before the claim is one now.", Implies(t.Before.V(), t.Err.V()))

	t.properties()
}

func (t *ParkerTable) properties() {
	nobody := Eq(t.At.V(), Num(NotClaimed))
	t.property("cancel wins", "A wait that asks its context is not granted what came after the cancel, unless the context is a foreign one.",
		Implies(And(t.at(ParkSleep, ParkBoth, ParkTook, ParkAsk), Next(t.at(ParkerHeld)), t.kind(Selects, Watched), t.Asks.V(), t.Before.V()),
			t.Foreign.V()))
	t.property("ends", "A wait that ends by its outcome has a token, and the claimer has finished.",
		Implies(And(t.at(ParkSleep, ParkBoth, ParkTook, ParkAsk), Next(t.at(ParkerHeld))), And(Or(t.Tok.V(), t.GotTok.V()), nobody)))
	t.property("once", "A nudge is sent to a parker of the list, under the lock of the watch.",
		Implies(And(Not(t.Nud.V()), Next(t.Nud.V())), And(t.Linked.V(), t.mu(MuFire))))
	t.property("W1 leaves", "A parker leaves the list by its nudge, or by its owner under the lock.",
		Implies(And(t.Linked.V(), Not(Next(t.Linked.V()))), Or(Next(t.Nud.V()), t.mu(MuOwner))))
	t.property("kept", "A wake-up stays until the owner takes it.", And(
		Implies(And(t.Tok.V(), Not(Next(t.Tok.V()))), t.at(ParkSleep, ParkBoth, LeaveSleep)),
		Implies(And(t.Nud.V(), Not(Next(t.Nud.V()))), t.at(ParkSleep, ParkBoth, LeaveSleep, PartSleep))))
	t.property("plain", "A wait that nothing but its outcome or a time ends takes a token, and no nudge.",
		Implies(And(t.at(ParkSleep), t.kind(Plain, Timed), Next(t.at(ParkerHeld))), And(t.Tok.V(), Not(t.Nud.V()))))

	t.theorem("P2 pooled", "A parker in its pool, or just out of it, has nothing left over, nor will anything come.",
		Implies(t.at(ParkerPooled, GetLock, GetLook, GetLate),
			Not(Or(t.Line.V(), Not(nobody), t.Tok.V(), t.Nud.V(), t.GotTok.V(), t.GotNud.V(), t.Linked.V()))))
	t.theorem("P2 idle", "An idle parker's nudge is still to be sent, or there.", Implies(t.at(ParkerIdle), Or(t.Linked.V(), t.Nud.V())))
	t.theorem("W1 linked", "A parker is in the list of its watch until the watch fires, or the parker leaves.",
		Implies(And(t.W.V(), Not(t.Fired.V())), t.Linked.V()))
	t.theorem("conserved", "Between two waits, what was granted is its owner's, or about to be given back or kept.",
		Implies(t.at(ParkerPooled, ParkerIdle, ParkerHeld), Eq(t.Permits.V(), t.Owed.V())))
	t.theorem("no early end", "A wait that takes a nudge has a context that is over.", Implies(t.GotNud.V(), t.Err.V()))
	t.theorem("no lost wake-up", "One that waits is in line, or a claimer is at work, or its token is there.",
		Implies(t.at(ParkSleep), Or(t.Line.V(), Not(nobody), t.Tok.V())))
	t.theorem("no lost cancel", "One that waits by the watch of its context is in the list, or its nudge is there. If the watch has fired and its lock is free, it is there.", And(
		Implies(And(t.at(ParkSleep), t.kind(Watched)), Or(t.Linked.V(), t.Nud.V())),
		Implies(And(t.at(ParkSleep), t.kind(Watched), t.Fired.V(), t.mu(MuFree)), t.Nud.V())))
	t.theorem("withdraw ends", "What Withdraw waits for is there, taken, or a claimer is about to send it.",
		Implies(t.at(LeaveSleep), And(Implies(t.Claimed.V(), Or(t.Tok.V(), t.GotTok.V(), Not(nobody))),
			Implies(t.Nudged.V(), Or(t.Nud.V(), t.GotNud.V())))))
	t.theorem("part ends", "Who parts from a watch that has fired finds the nudge.", Implies(And(t.at(PartSleep), t.Nudged.V()), t.Nud.V()))
	t.theorem("no race", "While the claimer writes the outcome the owner does not read it, nor who uses the parker next.",
		Implies(Eq(t.At.V(), Num(ClaimedOutcome)), Not(Or(t.at(ParkerPooled, ParkerIdle, ParkerHeld, ParkAsk, LeavePut), t.Tok.V()))))
	t.theorem("W3 late", "A wait that begins after the fire gets no parker of the watch, or one whose nudge is there.",
		Implies(And(t.at(ParkerHeld), t.W.V(), t.Fired.V(), t.mu(MuFree)), t.Nud.V()))
}
