package table

// What holds of a Cond. The numbers are those at the head of sync/cond.go; what has no number is
// needed for the induction. Invariant 1 is the guard of the step that unlocks L: the goroutine that
// does is in line, or was claimed.

func (t *CondTable) says() {
	z, tail, latest := Num(0), t.Tail.V(), t.Latest.V()
	own, reach, has := t.Own.V(), t.Reach.V(), t.HasReach.V()
	t.Init = And(t.at(CondFree), Not(t.Occ.V()), Not(has), LessEq(z, latest), LessEq(latest, tail), All(func(x *Expr) *Expr {
		return And(Not(t.In.At(x)), Not(t.Cl.At(x)), Not(t.Woken.At(x)), Not(t.Got.At(x)))
	}))
	t.safe("2 claimed", "A wait is in line, or claimed. A token is there for one that was claimed, until it is taken.", And(
		All(func(x *Expr) *Expr { return Not(And(t.In.At(x), t.Cl.At(x))) }),
		All(func(x *Expr) *Expr { return Implies(t.Woken.At(x), And(t.Cl.At(x), Not(t.Got.At(x)))) }),
		All(func(x *Expr) *Expr { return Implies(t.Got.At(x), t.Cl.At(x)) })))
	t.safe("2 by", "N of one that was claimed says whether by a broadcast.",
		All(func(x *Expr) *Expr { return Implies(And(t.Cl.At(x), Not(t.claims(x))), Eq(t.By.At(x), t.Broad.At(x))) }))
	t.safe("4 occupied", "While one is in line the flag says so.", Implies(Not(t.lineEmpty()), t.Occ.V()))
	clears := t.at(UnlinkClear, SignalClear, BroadClear, GiveClear)
	t.invariant("4 exact", "While nobody is, it does not, but between two steps under the lock.", And(
		Implies(And(t.Occ.V(), t.lineEmpty()), Or(clears, t.at(EnterPush))),
		Implies(Or(clears, t.at(EnterMark)), t.lineEmpty()),
		Implies(t.at(EnterPush), t.Occ.V())))
	t.invariant("places", "The line grows at its end, and each has a place of its own.", And(
		t.inLine(func(x *Expr) *Expr { return Less(t.Pos.At(x), tail) }),
		t.inLine(func(x *Expr) *Expr {
			return t.inLine(func(y *Expr) *Expr { return Or(Eq(x, y), Not(Eq(t.Pos.At(x), t.Pos.At(y)))) })
		})))
	t.safe("3 reach", "Reach is the last in line of those who entered before the latest signal.", And(
		Implies(has, And(t.In.At(reach), Less(t.Pos.At(reach), latest))),
		t.inLine(func(x *Expr) *Expr {
			return Implies(Less(t.Pos.At(x), latest), And(has, LessEq(t.Pos.At(x), t.Pos.At(reach))))
		})))
	t.invariant("3 latest", "The latest signal has been, and no claim is of a later one. Who signals has just begun.", And(
		LessEq(latest, tail),
		All(func(x *Expr) *Expr { return Implies(t.Cl.At(x), LessEq(t.Lim.At(x), latest)) }),
		Implies(t.at(SignalClaim, BroadClaim, BroadClear, BroadN, BroadEnd), Eq(latest, tail))))
	t.invariant("broadcast", "After a broadcast nobody is in line who waited before it.", And(
		All(func(x *Expr) *Expr {
			return Implies(And(t.Cl.At(x), t.Broad.At(x), Not(t.at(BroadClaim, BroadN))), t.inLine(func(y *Expr) *Expr { return LessEq(t.Lim.At(x), t.Pos.At(y)) }))
		}),
		Implies(t.at(BroadEnd), Not(has))))
	t.invariant("2 claims", "Who is about to write N has claimed by what it is to say.", And(
		Implies(t.at(SignalClear, SignalN, GiveClear, GiveN), Not(t.Broad.At(t.W.V()))),
		Implies(t.at(BroadClear, BroadN), t.Broad.At(t.W.V()))))
	t.invariant("owner", "Who enters is in no line yet. Who leaves waits. Who passes on has a token, of a signal.", And(
		Implies(t.at(EnterLook, EnterMark, EnterPush), And(Not(t.In.At(own)), Not(t.Cl.At(own)))),
		Implies(t.at(GiveClaim), And(t.Got.At(own), Not(t.By.At(own))))))

	t.properties()
}

func (t *CondTable) properties() {
	own := t.Own.V()
	claimed := func(x *Expr) *Expr { return And(Not(t.Cl.At(x)), Next(t.Cl.At(x))) }
	t.property("order", "Who is claimed has waited longest.", All(func(x *Expr) *Expr { return Implies(claimed(x), t.first(x)) }))
	t.property("later", "Who is claimed entered before the latest signal.",
		All(func(x *Expr) *Expr { return Implies(claimed(x), Less(t.Pos.At(x), Next(t.Latest.V()))) }))
	t.property("2 decides", "Who leaves the line is claimed, or leaves by its own unlink, and then was not claimed.",
		All(func(x *Expr) *Expr {
			return Implies(And(t.In.At(x), Not(Next(t.In.At(x)))),
				Or(Next(t.Cl.At(x)), And(t.at(UnlinkLook), Eq(own, x), Not(t.Cl.At(x)))))
		}))
	t.property("2 one", "A claim is of a signal, of a broadcast, or is passed on by one whose own claim ends.", All(func(x *Expr) *Expr {
		return Implies(claimed(x), Or(
			And(t.at(SignalClaim), Next(Not(t.Broad.At(x)))),
			And(t.at(BroadClaim), Next(t.Broad.At(x))),
			And(t.at(GiveClaim), Next(Not(t.Broad.At(x))), t.Cl.At(own), Not(Next(t.Cl.At(own))))))
	}))
	t.property("2 one at a time", "A step claims one at most.", All(func(x *Expr) *Expr {
		return All(func(y *Expr) *Expr { return Implies(And(claimed(x), claimed(y)), Eq(x, y)) })
	}))
	t.property("2 ends", "A claim ends when its token was taken: with the wait, which says so; or it was of a broadcast; or it is passed on.",
		All(func(x *Expr) *Expr { return Implies(And(t.Cl.At(x), Not(Next(t.Cl.At(x)))), t.Got.At(x)) }))
	t.property("3 not lost", "A signal that one gives up goes on, unless nobody is in line who waited when it was sent.",
		Implies(And(t.at(GiveClaim), Not(Next(t.Cl.At(own)))), Or(
			Any(func(x *Expr) *Expr { return And(claimed(x), Eq(Next(t.Lim.At(x)), t.Lim.At(own))) }),
			t.inLine(func(x *Expr) *Expr { return LessEq(t.Lim.At(own), t.Pos.At(x)) }))))
	t.property("signal", "A signal claims one, or nobody is in line.", Implies(And(t.at(SignalClaim), Not(Next(t.at(SignalClaim)))),
		Or(t.lineEmpty(), Any(claimed))))
	t.property("5 observed", "A step that observes changes nothing else.", Or(Eq(t.Obs.V(), Next(t.Obs.V())),
		And(Eq(t.Occ.V(), Next(t.Occ.V())), Eq(t.PC.V(), Next(t.PC.V())))))

	t.theorem("4 none", "A signal that does not find the flag has none to wake.", Implies(Not(t.Occ.V()), t.lineEmpty()))
	t.theorem("all", "When a broadcast unlocks, all who waited are claimed: nobody is in line.", Implies(t.at(BroadEnd), t.lineEmpty()))
	t.theorem("broadcast needs no heir", "Nobody is in line who waited before the broadcast that a wait has used.", All(func(x *Expr) *Expr {
		return Implies(And(t.Got.At(x), t.By.At(x), t.at(CondFree)), t.inLine(func(y *Expr) *Expr { return LessEq(t.Lim.At(x), t.Pos.At(y)) }))
	}))
	t.theorem("4 free", "While the lock is free the flag says whether one is in line.",
		Implies(t.at(CondFree), Eq(t.Occ.V(), Not(t.lineEmpty()))))
	t.theorem("woken once", "Who is woken has not been before.", All(func(x *Expr) *Expr { return Not(And(t.Woken.At(x), t.Got.At(x))) }))
}
