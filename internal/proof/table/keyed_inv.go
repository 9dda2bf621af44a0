package table

// What holds of a shard of package keyed. The numbers with an S are those at the head of
// sync/keyed/shard.go, those with an L of the table in lines.go; what has no number is needed for
// the induction. L3 is the guard of the steps with which a wait ends: each of them is in line, or
// was claimed. Of L4 the table has the keys of one shard; in which order shards are locked it does
// not say. L5 is that no step of a user is inside.

func (t *KeyedTable) says() {
	z, one := Num(0), Num(1)
	k, n, w, size := t.K.V(), t.Num.V(), t.W.V(), t.Size.V()
	all := func(f func(x *Expr) *Expr) *Expr { return All(f) }
	own := Not(Eq(t.SHeld.V(), z))
	t.Init = And(t.at(KeyedFree), Not(own), Not(t.SHas.V()), Not(t.Opened.V()), LessEq(z, size), Implies(t.RW.V(), LessEq(Num(3), size)),
		all(func(x *Expr) *Expr {
			return And(Not(t.Used.At(x)), Not(t.EHas.At(x)), Not(t.Spare.At(x)), Not(t.InTab.At(x)), Eq(t.Held.At(x), z),
				Not(t.In.At(x)), Not(t.Cl.At(x)), Not(t.Woken.At(x)), Not(t.Got.At(x)))
		}))

	t.safe("S1 in the table", "A key has one entry, and an entry one key.", And(
		all(func(k *Expr) *Expr {
			e := t.EntryOf.At(k)
			return Implies(t.InTab.At(k), And(t.Used.At(e), Eq(t.EKey.At(e), k)))
		}),
		all(func(e *Expr) *Expr {
			return Implies(t.Used.At(e), And(t.InTab.At(t.EKey.At(e)), Eq(t.EntryOf.At(t.EKey.At(e)), e)))
		})))
	t.safe("S1 once", "The shard's own key has no entry besides.", Implies(own, Not(t.InTab.At(t.SKey.V()))))
	t.safe("S1 held", "What is held of a key is what its entry says, or the shard, and nothing if it is in neither.",
		all(func(k *Expr) *Expr {
			return Eq(t.Held.At(k), If(t.InTab.At(k), t.EHeld.At(t.EntryOf.At(k)), If(And(own, Eq(t.SKey.V(), k)), t.SHeld.V(), z)))
		}))
	t.safe("S1 in use", "A key that has an entry is held, unless its release is about to take the entry out.",
		all(func(k *Expr) *Expr {
			leaving := And(t.at(KeyServe, KeyRemove), Not(t.does(toUnlink)), Eq(t.K.V(), k))
			return Implies(And(t.InTab.At(k), Not(leaving)), LessEq(one, t.Held.At(k)))
		}))
	t.safe("S2 line", "A request waits in the line of its key's entry.",
		all(func(x *Expr) *Expr {
			return Implies(t.In.At(x), And(t.InTab.At(t.Of.At(x)), Eq(t.At.At(x), t.EntryOf.At(t.Of.At(x)))))
		}))
	t.safe("S4 keys", "What is not in use has no key.", And(
		Eq(t.SHas.V(), own),
		all(func(e *Expr) *Expr { return Eq(t.EHas.At(e), t.Used.At(e)) })))
	t.invariant("S spare", "A free entry is in no line, and not in the table.",
		all(func(e *Expr) *Expr { return Not(And(t.Spare.At(e), t.Used.At(e))) }))
	t.safe("S opened", "Where an entry is looked for, and once there was one, the table was made.", Implies(
		Or(Any(func(x *Expr) *Expr { return Or(t.Used.At(x), t.In.At(x), t.Cl.At(x)) }),
			t.at(KeyTake, KeyQueue, KeyGive, KeyServe, KeyRemove, KeyUnlink, KeyAll)), t.Opened.V()))
	t.invariant("S open", "There the shard has no key of its own.", Implies(Or(t.at(KeyTake, KeyGive, KeyAll), And(t.at(KeyQueue, KeyServe, KeyRemove), t.does(toAll))), Not(own)))

	t.safe("L1 size", "No more than all permits of a key are held, nor fewer than none. Of a read-write lock readers hold two less, or a writer all.",
		all(func(k *Expr) *Expr {
			h := t.Held.At(k)
			return And(LessEq(z, h), LessEq(h, size), Implies(t.RW.V(), Or(LessEq(Add(h, Num(2)), size), Eq(h, size))))
		}))
	serving := func(x *Expr) *Expr { return And(t.at(KeyServe), Eq(k, t.Of.At(x))) }
	t.safe("L2 first", "The first of a line needs more permits than are free, unless its key is being served.",
		all(func(x *Expr) *Expr {
			return Implies(And(t.first(x), Not(serving(x))), Less(Sub(size, t.Held.At(t.Of.At(x))), t.N.At(x)))
		}))
	t.invariant("L2 behind", "Nobody waits behind what is taken out.",
		Implies(t.at(KeyRemove), And(t.InTab.At(k), Eq(t.Held.At(k), z), t.noneIn(t.entry()))))
	t.invariant("L2 serve", "What is served is in use.", Implies(t.at(KeyServe), And(t.InTab.At(k), Implies(t.does(toUnlink), LessEq(one, t.Held.At(k))))))
	t.invariant("L2 queue", "Who queues found too little, or another before it.",
		Implies(t.at(KeyQueue), And(t.InTab.At(k), Not(t.fits()))))
	t.safe("L3 claimed", "A wait is in line, or claimed. A token is there for one that was claimed, until it is taken.", And(
		all(func(x *Expr) *Expr { return Not(And(t.In.At(x), t.Cl.At(x))) }),
		all(func(x *Expr) *Expr { return Implies(t.Woken.At(x), And(t.Cl.At(x), Not(t.Got.At(x)))) })))
	t.invariant("places", "A line grows at its end, and each has a place of its own.", And(
		all(func(x *Expr) *Expr { return Implies(t.In.At(x), Less(t.Pos.At(x), t.Tail.V())) }),
		all(func(x *Expr) *Expr {
			return all(func(y *Expr) *Expr {
				return Implies(And(t.In.At(x), t.In.At(y), Eq(t.Pos.At(x), t.Pos.At(y))), Eq(x, y))
			})
		})))
	t.invariant("wants", "Who waits wants what a request may want.", all(func(x *Expr) *Expr { return Implies(t.In.At(x), t.right(t.N.At(x))) }))
	t.invariant("owner", "Who enters is in no line yet, and wants what its wait does.", And(
		Implies(Or(t.at(KeyQueue), And(t.at(KeyOpen, KeyTake), t.does(toEnter))),
			And(Not(t.In.At(w)), Not(t.Cl.At(w)), Eq(t.Of.At(w), k), Eq(t.N.At(w), n))),
		Implies(t.at(KeyUnlink), Eq(t.Of.At(w), k))))
	t.invariant("doing", "What the owner of the mutex does has brought it there.", And(
		Implies(t.at(KeyOpen), t.does(toTry, toLook, toEnter, toGive, toGiveBack, toAll)),
		Implies(t.at(KeyAll), t.does(toAll)),
		Implies(t.at(KeyUnlink), t.does(toUnlink)),
		Implies(t.at(KeyTry), t.does(toTry)),
		Implies(t.at(KeyRelease), t.does(toGive)),
		Implies(t.at(KeyGive), t.does(toGive, toGiveBack, toAll))))
	t.invariant("sizes", "A read-write lock has room for a reader.", Implies(t.RW.V(), LessEq(Num(3), size)))
	t.invariant("request", "It is a request that may be made.",
		Implies(Or(t.at(KeyTry, KeyTake, KeyQueue, KeyRelease, KeyGive), And(t.at(KeyOpen), Not(t.does(toLook, toAll)))), t.right(n)))
	t.invariant("legal", "Who gives back what it holds gives back what is held.",
		Implies(And(t.Legal.V(), Or(t.at(KeyRelease, KeyGive), And(t.at(KeyOpen), t.does(toGive, toGiveBack)))),
			And(LessEq(n, t.Held.At(k)), LessEq(t.Held.At(k), t.most(n)))))

	t.properties()
}

func (t *KeyedTable) properties() {
	k := t.K.V()
	all := func(f func(x *Expr) *Expr) *Expr { return All(f) }
	claimed := func(x *Expr) *Expr { return And(Not(t.Cl.At(x)), Next(t.Cl.At(x))) }
	freed := func(e *Expr) *Expr { return And(t.Used.At(e), Not(Next(t.Used.At(e)))) }
	t.property("S1 freed", "An entry is taken out when nobody holds its key, or waits for it.", all(func(e *Expr) *Expr {
		return Implies(freed(e), And(Eq(t.Held.At(t.EKey.At(e)), Num(0)), t.noneIn(e),
			all(func(x *Expr) *Expr { return Implies(t.In.At(x), Not(Eq(t.Of.At(x), t.EKey.At(e)))) })))
	}))
	t.property("S2 one key", "While an entry is in use it is that of one key.", all(func(e *Expr) *Expr {
		return Implies(And(t.Used.At(e), Next(t.Used.At(e))), Eq(t.EKey.At(e), Next(t.EKey.At(e))))
	}))
	t.property("S others", "The owner of the mutex changes nothing of another key than its own: not what is held, nor who waits.",
		all(func(x *Expr) *Expr {
			return And(
				Implies(Not(Or(Eq(x, k), t.at(KeyedFree))), Eq(Next(t.Held.At(x)), t.Held.At(x))),
				Implies(Not(Or(Eq(t.Of.At(x), k), t.at(KeyedFree))), And(Eq(Next(t.In.At(x)), t.In.At(x)), Not(claimed(x)))))
		}))
	t.property("order", "Who is claimed is the first of its line.", all(func(x *Expr) *Expr { return Implies(claimed(x), t.first(x)) }))
	t.property("grant", "Who is claimed holds what it wanted, from that moment on.", all(func(x *Expr) *Expr {
		return Implies(claimed(x), Eq(Next(t.Held.At(t.Of.At(x))), Add(t.Held.At(t.Of.At(x)), t.N.At(x))))
	}))
	t.property("no barging", "Permits of a key go to the first of its line, or nobody waits.", all(func(k *Expr) *Expr {
		waits := Any(func(x *Expr) *Expr { return And(t.In.At(x), Eq(t.Of.At(x), k)) })
		return Implies(And(Less(t.Held.At(k), Next(t.Held.At(k))), waits), Any(func(x *Expr) *Expr { return And(claimed(x), Eq(t.Of.At(x), k)) }))
	}))
	t.property("L3 decides", "Who leaves a line is claimed, or leaves by its own unlink, and then was not claimed.", all(func(x *Expr) *Expr {
		return Implies(And(t.In.At(x), Not(Next(t.In.At(x)))), Or(Next(t.Cl.At(x)), And(t.at(KeyUnlink), Eq(t.W.V(), x), Not(t.Cl.At(x)))))
	}))
	t.property("ends", "A claim ends when its token was taken, or is.", all(func(x *Expr) *Expr {
		return Implies(And(t.Cl.At(x), Not(Next(t.Cl.At(x)))), Or(t.Got.At(x), t.Woken.At(x)))
	}))
	t.property("no refusal", "What is held is never refused.",
		Implies(And(t.at(KeyGive), t.Legal.V(), Not(Next(t.at(KeyGive)))), Eq(Next(t.Held.At(k)), Sub(t.Held.At(k), t.Num.V()))))
	t.property("refusal", "A release of what is not held changes nothing.",
		Implies(And(t.at(KeyGive), Not(And(LessEq(t.Num.V(), t.Held.At(k)), LessEq(t.Held.At(k), t.most(t.Num.V()))))), Eq(Next(t.Held.At(k)), t.Held.At(k))))
	t.property("rank: place", "Nobody comes in before one who waits.", all(func(x *Expr) *Expr {
		return all(func(y *Expr) *Expr {
			return Implies(And(t.In.At(x), Next(t.In.At(x)), Next(t.In.At(y)), Next(Less(t.Pos.At(y), t.Pos.At(x)))),
				And(t.In.At(y), Less(t.Pos.At(y), t.Pos.At(x))))
		})
	}))

	t.theorem("S1 not in use", "While the mutex is free, a key that nobody holds has no entry and nobody waits for it.",
		Implies(t.at(KeyedFree), all(func(k *Expr) *Expr {
			return Implies(Eq(t.Held.At(k), Num(0)), And(Not(t.InTab.At(k)), all(func(x *Expr) *Expr {
				return Not(And(t.In.At(x), Eq(t.Of.At(x), k)))
			})))
		})))
	t.theorem("S1 one entry", "Two entries in use have different keys.", all(func(e *Expr) *Expr {
		return all(func(f *Expr) *Expr {
			return Implies(And(t.Used.At(e), t.Used.At(f), Eq(t.EKey.At(e), t.EKey.At(f))), Eq(e, f))
		})
	}))
	t.theorem("S4 nothing alive", "While the mutex is free and nobody holds a key, nothing has a key.",
		Implies(And(t.at(KeyedFree), all(func(k *Expr) *Expr { return Eq(t.Held.At(k), Num(0)) })),
			And(Not(t.SHas.V()), all(func(e *Expr) *Expr { return Not(t.EHas.At(e)) }))))
	t.theorem("S4 free", "A free entry has no key, and no line.",
		all(func(e *Expr) *Expr { return Implies(t.Spare.At(e), And(Not(t.EHas.At(e)), t.noneIn(e))) }))
	t.theorem("made", "Who looks into the hash table finds it made.",
		Implies(Or(And(t.at(KeyTry), t.InTab.At(k)), t.at(KeyTake, KeyQueue, KeyGive, KeyServe, KeyRemove, KeyUnlink, KeyAll)), t.Opened.V()))
	t.theorem("woken once", "Who is woken has not been before.", all(func(x *Expr) *Expr { return Not(And(t.Woken.At(x), t.Got.At(x))) }))
	t.theorem("no lost wake-up", "While the mutex is free, somebody holds the key of one who waits, and the first needs what is held.",
		Implies(t.at(KeyedFree), all(func(x *Expr) *Expr {
			return Implies(t.In.At(x), And(LessEq(Num(1), t.Held.At(t.Of.At(x))),
				Implies(t.first(x), Less(Sub(t.Size.V(), t.Held.At(t.Of.At(x))), t.N.At(x)))))
		})))
	t.theorem("lines", "Two that are in one line wait for one key.", all(func(x *Expr) *Expr {
		return all(func(y *Expr) *Expr {
			return Implies(And(t.In.At(x), t.In.At(y), Eq(t.At.At(x), t.At.At(y))), Eq(t.Of.At(x), t.Of.At(y)))
		})
	}))
}
