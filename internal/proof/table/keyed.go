package table

import "slices"

// The locks of package keyed: sync/keyed/shard.go, lines.go and all.go. The table is one shard,
// with any number of keys, entries and waits: a node stands for one of each. Only one goroutine has
// the mutex of the shard, so its place is a variable of the table. The hash table is a map from
// keys to entries here, and the tie looks whether it is one. A call for several keys does what is
// for one key to each of those that are in this shard, and unlocks it then. How a wait ends, by a
// token, a context or a time, is in the table of a parker; here a wait takes its token, or gives up
// whenever it likes.

// KeyedTable is the table of a shard, with its variables for the tie.
type KeyedTable struct {
	*Table

	Size, RW *Var // the permits of each key; one of them is a reader's, and all of them a writer's
	N, Of    *Var // of a wait: its permits, and its key

	SHeld, SKey, SHas *Var // the shard's own key; whether its field has one
	Opened            *Var // the hash table was made
	Used, Spare       *Var // of an entry: it is in the table; in the free list
	EKey, EHeld, EHas *Var // its key, what is held of that, whether its field has a key
	In, Pos, At       *Var // of a wait: it is in line, where, and of which entry
	Woken             *Var // its token is there

	Cl, Got   *Var // a wait was claimed, and has taken its token
	Op        *Var // what the owner of the mutex does,
	K, Num, W *Var // with which key, for how many permits, and for which wait
	Legal     *Var // it gives back what is held

	InTab, EntryOf *Var // ghosts: a key has an entry, and which
	Held           *Var // ghost: what a key's holders hold
	Tail           *Var // ghost: the next place in line

	Tw, Tx, Tk, Tn *Var // the thread's wait, another node, its key, its permits
	Mine           *Var // what the thread has claimed, and is to tell
	TWaits         *Var // it waits if a try has failed

	// Of a call for several keys: that the thread makes one, whether it gives back, which keys it
	// names, and of which it has done with. Another may name any.
	TBatch, TGives, TNames, TDid *Var
	TTook, TQueued               *Var

	TOver, TTimed *Var // its limit is over; or may be at any time
	TRes          *Var
}

// The places in a shard.
const (
	KeyedFree int64 = iota
	KeyTry
	KeyOpen
	KeyTake
	KeyQueue
	KeyRelease
	KeyGive
	KeyServe
	KeyRemove
	KeyUnlink
	KeyAll // has locked the shard for several keys
	KeyEnd
	KeyTryLock // calls try
	KeyKeep    // has the permits, and looks at the context
	KeyBehind  // looks whether readers hold the key
	KeyEnter
	KeyLook        // calls what only looks
	KeyReleaseLock // calls release
	KeyAllLock     // calls what is for several keys
	KeySleep
	KeyBoth
	KeyAsk
	KeyLeave
	KeyWithdraw
	KeyGiveBack
	KeyTell
	KeyedIn // has the mutex
	KeyedDone
)

var keyedPlaces = []string{
	"free", "try", "open", "take", "queue", "release", "give", "serve", "remove", "unlink", "all", "end",
	"try-lock", "keep", "behind-lock", "enter-lock", "look-lock", "release-lock", "all-lock",
	"sleeps", "both", "ask", "leaves", "withdraw", "give-back", "tells", "lock", "over",
}

// What the owner of the mutex does.
const (
	toTry int64 = iota
	toLook
	toEnter
	toGive
	toGiveBack
	toUnlink
	toAll
)

// Keyed returns the table.
func Keyed() *KeyedTable {
	t := bareKeyed()
	t.defects()
	t.finish()
	return t
}

func bareKeyed() *KeyedTable {
	t := &KeyedTable{Table: &Table{Name: "keyed", Source: "sync/keyed/shard.go, lines.go, all.go", Places: keyedPlaces}}
	t.Assume = []string{
		"A mutex excludes, and the hash table is a map from keys to entries (the tie looks; the package has tests of its own).",
		"A token that was sent to a wait is taken once, and by its owner (the parker's table).",
		"A request is for one permit at least, and no more than there are; of a read-write lock for one or all. The façades see to that.",
		"What is given back by its holder is still held: a caller that releases what another holds cannot be distinguished from that one.",
		"Fewer than 2⁶⁰ − 2 goroutines read a key of a read-write lock.",
		"The steps do not depend on whether the lock is observed: those that tell its record have none.",
		"Fairness, for what is said about waiting: each holder releases one day, and each goroutine goes on.",
	}
	t.PC, t.Inside = t.scalar(Owner, Int, "pc"), KeyedIn
	t.Size, t.RW = t.scalar(Rigid, Int, "size"), t.scalar(Rigid, Bool, "rw")
	t.N, t.Of = t.array(Rigid, Int, "N"), t.array(Rigid, Node, "key")
	t.SHeld, t.SKey, t.SHas = t.scalar(Shared, Int, "sheld"), t.scalar(Shared, Node, "skey"), t.scalar(Shared, Bool, "shas")
	t.Opened = t.scalar(Shared, Bool, "opened")
	t.Used, t.Spare = t.array(Shared, Bool, "used"), t.array(Shared, Bool, "spare")
	t.EKey, t.EHeld, t.EHas = t.array(Shared, Node, "ekey"), t.array(Shared, Int, "eheld"), t.array(Shared, Bool, "ehas")
	t.In, t.Pos, t.At = t.array(Shared, Bool, "line"), t.array(Shared, Int, "pos"), t.array(Shared, Node, "at")
	t.Woken = t.array(Shared, Bool, "woken")
	t.Cl, t.Got = t.array(Owner, Bool, "claimed"), t.array(Owner, Bool, "got")
	t.Op, t.K, t.Num = t.scalar(Owner, Int, "op"), t.scalar(Owner, Node, "k"), t.scalar(Owner, Int, "n")
	t.W, t.Legal = t.scalar(Owner, Node, "w"), t.scalar(Owner, Bool, "legal")
	t.InTab, t.EntryOf = t.array(Ghost, Bool, "inTable"), t.array(Ghost, Node, "entry")
	t.Held, t.Tail = t.array(Ghost, Int, "held"), t.scalar(Ghost, Int, "tail")
	t.TPC = t.scalar(Thread, Int, "tpc")
	t.Tw, t.Tx = t.scalar(Thread, Node, "tw"), t.scalar(Thread, Node, "tx")
	t.Any = t.Tx
	t.Tk, t.Tn = t.scalar(Thread, Node, "tk"), t.scalar(Thread, Int, "tn")
	t.Mine, t.TWaits = t.array(Thread, Bool, "mine"), t.scalar(Thread, Bool, "twaits")
	t.TOver, t.TTimed = t.scalar(Thread, Bool, "tover"), t.scalar(Thread, Bool, "ttimed")
	t.TRes = t.scalar(Thread, Int, "tres")
	t.TBatch, t.TGives = t.scalar(Thread, Bool, "tbatch"), t.scalar(Thread, Bool, "tgives")
	t.TNames, t.TDid = t.array(Thread, Bool, "tnames"), t.array(Thread, Bool, "tdid")
	t.TTook, t.TQueued = t.scalar(Thread, Bool, "ttook"), t.scalar(Thread, Bool, "tqueued")
	t.Domains = []Domain{
		{Var: t.Tw, Nodes: true},
		{Var: t.Tx, Nodes: true},
		{Var: t.Tk, Nodes: true},
		{Var: t.Tn, Values: []int{1, 2, SmallEveryone}},
		{Var: t.TOver, Values: []int{0, 1}},
		{Var: t.TTimed, Values: []int{0}},
	}
	t.take()
	t.sleeps()
	t.give()
	t.several()
	t.says()
	t.Canon = func(_ *Table, s *State, nodes int) { t.canon(s, nodes) }
	return t
}

// SmallEveryone is what a writer holds where the table of a shard is run.
const SmallEveryone = 7

func (t *KeyedTable) at(places ...int64) *Expr { return oneOf(t.PC, places...) }
func (t *KeyedTable) does(ops ...int64) *Expr  { return oneOf(t.Op, ops...) }
func (t *KeyedTable) res(n int64) Update       { return t.TRes.Set(Num(n)) }

func (t *KeyedTable) in(name, fn string, from int64, to, guard *Expr, do ...Update) {
	do = append(do, t.PC.Set(to))
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: Local, From: from, Inside: true, Guard: guard, Do: do})
}

// locks adds the step that gets the mutex, for an operation on a key.
func (t *KeyedTable) locks(name, fn string, from, to, op int64, k, n, guard *Expr, do ...Update) {
	do = append(do, t.PC.Set(Num(to)), t.TPC.Set(Num(KeyedIn)), t.Op.Set(Num(op)), t.K.Set(k), t.Num.Set(n))
	t.Steps = append(t.Steps, &Step{
		Name: name, In: fn, Access: MuLock, From: from, Locks: true, Guard: And(t.at(KeyedFree), guard), Do: do,
	})
}

func (t *KeyedTable) out(name, fn string, a Access, from int64, to, guard *Expr, do ...Update) {
	do = append(do, t.TPC.Set(to))
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: a, From: from, Guard: guard, Do: do})
}

func (t *KeyedTable) choice() { t.Steps[len(t.Steps)-1].Choice = true }

// The vocabulary.

// right says that a request may be for n permits.
func (t *KeyedTable) right(n *Expr) *Expr {
	return If(t.RW.V(), Or(Eq(n, Num(1)), Eq(n, t.Size.V())), And(LessEq(Num(1), n), LessEq(n, t.Size.V())))
}

func (t *KeyedTable) reads(n *Expr) *Expr { return And(t.RW.V(), Eq(n, Num(1))) }

// most is how many permits are held at most where one takes or gives back n: a reader is one less
// than a writer.
func (t *KeyedTable) most(n *Expr) *Expr {
	return If(t.reads(n), Sub(t.Size.V(), Num(1)), t.Size.V())
}

// few is the assumption that readers are never as many as a writer's permits.
func (t *KeyedTable) few(n, held *Expr) *Expr {
	return Implies(t.reads(n), LessEq(Add(held, Num(3)), t.Size.V()))
}

// lineOf says that x is in the line of the entry e.
func (t *KeyedTable) lineOf(x, e *Expr) *Expr { return And(t.In.At(x), Eq(t.At.At(x), e)) }

func (t *KeyedTable) noneIn(e *Expr) *Expr {
	return All(func(x *Expr) *Expr { return Not(t.lineOf(x, e)) })
}

// first says that x is the first in its line.
func (t *KeyedTable) first(x *Expr) *Expr {
	return And(t.In.At(x), All(func(y *Expr) *Expr { return Implies(t.lineOf(y, t.At.At(x)), LessEq(t.Pos.At(x), t.Pos.At(y))) }))
}

// entry is the entry that find returns of the owner's key.
func (t *KeyedTable) entry() *Expr { return t.EntryOf.At(t.K.V()) }

// fits says that the owner's request can be granted at once.
func (t *KeyedTable) fits() *Expr { return t.fit(t.K.V(), t.Num.V()) }

// fit says that of the entry of k, for n permits.
func (t *KeyedTable) fit(k, n *Expr) *Expr {
	e := t.EntryOf.At(k)
	return And(t.noneIn(e), LessEq(n, Sub(t.most(n), t.EHeld.At(e))))
}

// can says that n permits of k may be given back.
func (t *KeyedTable) can(k, n *Expr) *Expr {
	there := t.EHeld.At(t.EntryOf.At(k))
	return And(t.InTab.At(k), LessEq(n, there), LessEq(there, t.most(n)))
}

// done is where an operation ends: of several keys the next one follows.
func (t *KeyedTable) done() *Expr { return If(t.does(toAll), Num(KeyAll), Num(KeyEnd)) }

// unused says that x is the next entry that insert uses.
func (t *KeyedTable) unused(x *Expr) *Expr {
	return And(Not(t.Used.At(x)), Or(t.Spare.At(x), All(func(y *Expr) *Expr { return Not(t.Spare.At(y)) })))
}

// insert makes x the entry of k.
func (t *KeyedTable) insert(x, k, held *Expr) []Update {
	return []Update{
		t.Used.SetAt(x, True), t.Spare.SetAt(x, Is(false)), t.EKey.SetAt(x, k), t.EHeld.SetAt(x, held), t.EHas.SetAt(x, True),
		t.InTab.SetAt(k, True), t.EntryOf.SetAt(k, x),
	}
}

// holds adds to what the holders of k hold, and returns the update.
func (t *KeyedTable) holds(k, n *Expr) Update { return t.Held.SetAt(k, Add(t.Held.At(k), n)) }

// ends are the updates with which the claim of x ends.
func (t *KeyedTable) ends(x *Expr) []Update {
	return []Update{t.Cl.SetAt(x, Is(false)), t.Got.SetAt(x, Is(false)), t.Woken.SetAt(x, Is(false))}
}

// take has what takes permits or gets in line, and open, which most operations begin with.
func (t *KeyedTable) take() {
	k, n, w, tw, tx, tk, tn := t.K.V(), t.Num.V(), t.W.V(), t.Tw.V(), t.Tx.V(), t.Tk.V(), t.Tn.V()
	z := Num(0)
	t.out("try.over", "usable", Local, KeyTryLock, Num(KeyedDone), t.TOver.V(), t.res(0))
	t.locks("try.lock", "table.try", KeyTryLock, KeyTry, toTry, tk, tn, t.right(tn))
	idle := And(Eq(t.SHeld.V(), z), Not(t.InTab.At(k)))
	t.in("try.fast", "table.try", KeyTry, Num(KeyEnd), idle,
		t.SHeld.Set(n), t.SKey.Set(k), t.SHas.Set(True), t.holds(k, n), t.res(1))
	t.in("try.slow", "table.try", KeyTry, Num(KeyOpen), Not(idle))

	next := If(t.does(toTry, toEnter), Num(KeyTake), If(t.does(toLook), Num(KeyEnd), If(t.does(toAll), Num(KeyAll), Num(KeyGive))))
	t.in("open.nothing", "shard.open", KeyOpen, next, Eq(t.SHeld.V(), z), t.Opened.Set(True))
	t.in("open.moves", "shard.open", KeyOpen, next, And(Not(Eq(t.SHeld.V(), z)), t.unused(tx)),
		append(t.insert(tx, t.SKey.V(), t.SHeld.V()), t.SHeld.Set(z), t.SHas.Set(Is(false)), t.Opened.Set(True))...)

	e := t.entry()
	t.in("take.new", "shard.take", KeyTake, t.done(), And(Not(t.InTab.At(k)), t.unused(tx)),
		append(t.insert(tx, k, n), t.holds(k, n), t.res(1))...)
	t.in("take.more", "shard.take", KeyTake, t.done(), And(t.InTab.At(k), t.fits(), t.few(n, t.EHeld.At(e))),
		t.EHeld.SetAt(e, Add(t.EHeld.At(e), n)), t.holds(k, n), t.res(1))
	t.in("take.not", "shard.take", KeyTake, If(t.does(toEnter), Num(KeyQueue), Num(KeyEnd)),
		And(t.InTab.At(k), Not(t.fits())), t.res(0))

	t.locks("behind.lock", "request.behindReaders", KeyBehind, KeyOpen, toLook, tk, tn, t.RW.V())
	t.locks("look.lock", "lines.look", KeyLook, KeyOpen, toLook, tk, tn, True)
	t.locks("enter.lock", "request.enter", KeyEnter, KeyOpen, toEnter, t.Of.At(tw), t.N.At(tw),
		And(Not(t.In.At(tw)), Not(t.Cl.At(tw)), t.right(t.N.At(tw))), t.W.Set(tw))
	t.in("queue", "entry.queue", KeyQueue, t.done(), True,
		t.In.SetAt(w, True), t.At.SetAt(w, e), t.Pos.SetAt(w, t.Tail.V()), t.Tail.Set(Add(t.Tail.V(), Num(1))))

	waits := If(t.TWaits.V(), If(t.RW.V(), Num(KeyBehind), Num(KeyEnter)), Num(KeyedDone))
	took := Eq(t.TRes.V(), Num(1))
	all := If(t.TGives.V(), Num(KeyTell), If(t.TQueued.V(), Num(KeySleep), If(t.TTook.V(), Num(KeyKeep), Num(KeyAllLock))))
	then := If(t.does(toTry), If(took, Num(KeyKeep), waits),
		If(t.does(toLook), If(t.TWaits.V(), Num(KeyEnter), Num(KeyedDone)),
			If(t.does(toEnter), If(took, Num(KeyKeep), Num(KeySleep)),
				If(t.does(toAll), all, If(And(t.does(toUnlink), t.Cl.At(w)), Num(KeyWithdraw), Num(KeyTell))))))
	t.Steps = append(t.Steps, &Step{
		Name: "end", In: "", Access: MuUnlock, From: KeyEnd, Inside: true, Guard: True,
		Do: []Update{t.PC.Set(Num(KeyedFree)), t.TPC.Set(then)},
	})
	t.out("keep.ok", "waiting.Keep", Local, KeyKeep, Num(KeyedDone), Not(t.TOver.V()), t.res(1))
	t.out("keep.over", "waiting.Keep", Local, KeyKeep, Num(KeyGiveBack), t.TOver.V(), t.res(0))
}

// sleeps has a wait from the line to its end.
func (t *KeyedTable) sleeps() {
	w, tw := t.W.V(), t.Tw.V()
	const sleep = "waiting.Wait"
	woken, leaves := t.Woken.At(tw), Num(KeyLeave)
	take := []Update{t.Woken.SetAt(tw, Is(false)), t.Got.SetAt(tw, True)}
	t.out("sleep.woken", sleep, Sleeps, KeySleep, Num(KeyAsk), woken, take...)
	t.out("sleep.over", sleep, Sleeps, KeySleep, leaves, t.TOver.V())
	t.out("sleep.both", sleep, Sleeps, KeySleep, Num(KeyBoth), And(woken, t.TOver.V()))
	t.out("sleep.late", sleep, Local, KeySleep, leaves, t.TTimed.V())
	t.out("both.woken", sleep, Sleeps, KeyBoth, Num(KeyAsk), woken, take...)
	t.out("both.over", sleep, Local, KeyBoth, leaves, True)
	t.out("ask.woken", sleep, Local, KeyAsk, Num(KeyedDone), And(t.Got.At(tw), Not(t.TOver.V())), append(t.ends(tw), t.res(1))...)
	t.out("ask.over", sleep, Local, KeyAsk, leaves, t.TOver.V())

	const fn = "request.Unlink"
	t.locks("unlink.lock", fn, KeyLeave, KeyUnlink, toUnlink, t.Of.At(tw), t.N.At(tw), Or(t.In.At(tw), t.Cl.At(tw)), t.W.Set(tw))
	t.in("unlink.gone", fn, KeyUnlink, Num(KeyEnd), Not(t.In.At(w)), t.res(0))
	t.in("unlink.out", fn, KeyUnlink, Num(KeyServe), t.In.At(w), t.In.SetAt(w, Is(false)), t.res(0))

	hand := append(t.ends(tw), t.Tk.Set(t.Of.At(tw)), t.Tn.Set(t.N.At(tw)), t.res(0))
	t.out("withdraw.woken", "Parker.Withdraw", Sleeps, KeyWithdraw, Num(KeyGiveBack), woken, hand...)
	t.out("withdraw.got", "Parker.Withdraw", Local, KeyWithdraw, Num(KeyGiveBack), t.Got.At(tw), hand...)
}

// give has what gives permits back and passes them on.
func (t *KeyedTable) give() {
	k, n, tx, tk, tn := t.K.V(), t.Num.V(), t.Tx.V(), t.Tk.V(), t.Tn.V()
	z := Num(0)
	held := And(t.right(tn), LessEq(tn, t.Held.At(tk)), LessEq(t.Held.At(tk), t.most(tn)))
	t.locks("release.lock", "lines.release", KeyReleaseLock, KeyRelease, toGive, tk, tn, held, t.Legal.Set(True))
	t.locks("release.wrong", "lines.release", KeyReleaseLock, KeyRelease, toGive, tk, tn, t.right(tn), t.Legal.Set(Is(false)))
	t.locks("back.lock", "request.GiveBack", KeyGiveBack, KeyOpen, toGiveBack, tk, tn, held, t.Legal.Set(True))
	own := And(Eq(t.SHeld.V(), n), Eq(t.SKey.V(), k))
	t.in("release.fast", "lines.release", KeyRelease, Num(KeyEnd), own,
		t.SHeld.Set(z), t.SHas.Set(Is(false)), t.holds(k, Sub(z, n)), t.res(1))
	t.in("release.slow", "lines.release", KeyRelease, Num(KeyOpen), Not(own))

	e := t.entry()
	there := t.EHeld.At(e)
	can := t.can(k, n)
	t.in("give.refuse", "entry.holds", KeyGive, Num(KeyEnd), Not(can), t.res(0))
	t.in("give.take", "shard.give", KeyGive, Num(KeyServe), can, t.EHeld.SetAt(e, Sub(there, n)), t.holds(k, Sub(z, n)),
		t.TRes.Set(If(t.does(toGiveBack), t.TRes.V(), Num(1))))

	free := Sub(t.Size.V(), there)
	t.in("serve.claim", "entry.serve", KeyServe, Num(KeyServe),
		And(t.lineOf(tx, e), t.first(tx), LessEq(t.N.At(tx), free), t.few(t.N.At(tx), there)),
		t.In.SetAt(tx, Is(false)), t.Cl.SetAt(tx, True), t.Mine.SetAt(tx, True),
		t.EHeld.SetAt(e, Add(there, t.N.At(tx))), t.holds(t.Of.At(tx), t.N.At(tx)))
	t.in("serve.stop", "entry.serve", KeyServe, If(And(Eq(there, z), Not(t.does(toUnlink))), Num(KeyRemove), t.done()),
		Or(t.noneIn(e), Any(func(x *Expr) *Expr { return And(t.lineOf(x, e), t.first(x), Less(free, t.N.At(x))) })))
	t.in("remove", "shard.remove", KeyRemove, t.done(), True,
		t.Used.SetAt(e, Is(false)), t.Spare.SetAt(e, True), t.EHas.SetAt(e, Is(false)), t.InTab.SetAt(k, Is(false)))
	t.in("trim", "buckets.trim", KeyEnd, Num(KeyEnd), And(t.does(toGive, toGiveBack, toAll), t.Spare.At(tx)), t.Spare.SetAt(tx, Is(false)))
	t.choice()

	asleep := And(t.Cl.At(tx), Not(t.Woken.At(tx)), Not(t.Got.At(tx)))
	first := And(t.Mine.At(tx), All(func(y *Expr) *Expr { return Implies(t.Mine.At(y), LessEq(t.Pos.At(tx), t.Pos.At(y))) }))
	const tell = "WakeList.HandOff"
	t.out("tell", tell, Wakes, KeyTell, Num(KeyTell), And(first, asleep), t.Woken.SetAt(tx, True), t.Mine.SetAt(tx, Is(false)))
	t.out("tell.end", tell, Local, KeyTell, Num(KeyedDone), All(func(y *Expr) *Expr { return Not(t.Mine.At(y)) }))
	t.out("another tells", "", Wakes, KeyedDone, Num(KeyedDone), asleep, t.Woken.SetAt(tx, True))
	t.choice()
}

// several has what a call does to the keys of this shard that it names: one after the other, and
// with the shard locked. It does it to all of them or to none.
func (t *KeyedTable) several() {
	tk, tx, tn, tw := t.Tk.V(), t.Tx.V(), t.Tn.V(), t.Tw.V()
	t.locks("all.lock", "batch.lock", KeyAllLock, KeyOpen, toAll, tk, tn, True)
	named := func(k *Expr) *Expr { return Implies(t.TBatch.V(), And(t.TNames.At(k), Not(t.TDid.At(k)))) }
	on := func(name, fn string, to int64, k, n, guard *Expr, do ...Update) {
		t.in(name, fn, KeyAll, Num(to), And(named(k), t.right(n), guard),
			append(do, t.K.Set(k), t.Num.Set(n), t.TDid.SetAt(k, True))...)
	}
	takes, gives := Implies(t.TBatch.V(), Not(t.TGives.V())), Implies(t.TBatch.V(), t.TGives.V())
	on("all.take", "batch.enter", KeyTake, tx, tn, And(takes, Implies(t.InTab.At(tx), t.fit(tx, tn))), t.TTook.Set(True))
	k, n := t.Of.At(tw), t.N.At(tw)
	on("all.queue", "batch.enter", KeyQueue, k, n,
		And(takes, Not(t.In.At(tw)), Not(t.Cl.At(tw)), t.InTab.At(k), Not(t.fit(k, n))), t.W.Set(tw), t.TQueued.Set(True))
	on("all.give", "batch.leave", KeyGive, tx, tn, And(gives, t.can(tx, tn)), t.Legal.Set(True))
	every := All(func(k *Expr) *Expr { return Implies(t.TNames.At(k), t.TDid.At(k)) })
	none := All(func(k *Expr) *Expr { return Not(t.TDid.At(k)) })
	t.in("all.done", "batch.unlock", KeyAll, Num(KeyEnd), every)
	cannot := Any(func(k *Expr) *Expr {
		return And(t.TNames.At(k), If(t.TGives.V(), Not(t.can(k, tn)), And(t.InTab.At(k), Not(t.fit(k, tn)))))
	})
	t.in("all.not", "batch.unlock", KeyAll, Num(KeyEnd), And(none, cannot), t.res(0))
}

// FirstKeyed is a first state: each key has size permits, and wait x wants wants[x] of keys[x].
func (t *KeyedTable) FirstKeyed(rw bool, size int, wants, keys []int) (s State) {
	s.Set(t.RW, truth(rw))
	s.Set(t.Size, size)
	s.Set(t.Tail, 1)
	for x, n := range wants {
		s.SetAt(t.N, x, n)
		s.SetAt(t.Of, x, keys[x])
	}
	return s
}

// Sort numbers the entries by their keys; the free ones follow. Nothing depends on which is which.
func (t *KeyedTable) Sort(s *State, nodes int) {
	old := *s
	number, n := make([]int, nodes), 0
	entries := func(of func(e int) bool) {
		for e := range nodes {
			if of(e) {
				number[e] = n
				n++
			}
		}
	}
	for k := range nodes {
		entries(func(e int) bool { return old.GetAt(t.Used, e) == 1 && old.GetAt(t.EKey, e) == k })
	}
	entries(func(e int) bool { return old.GetAt(t.Used, e) == 0 && old.GetAt(t.Spare, e) == 1 })
	entries(func(e int) bool { return old.GetAt(t.Used, e) == 0 && old.GetAt(t.Spare, e) == 0 })
	for e := range nodes {
		for _, v := range []*Var{t.Used, t.Spare, t.EKey, t.EHeld, t.EHas} {
			s.SetAt(v, number[e], old.GetAt(v, e))
		}
		if old.GetAt(t.Used, e) == 0 {
			s.SetAt(t.EKey, number[e], 0)
			s.SetAt(t.EHeld, number[e], 0)
		}
	}
	for x := range nodes {
		s.SetAt(t.EntryOf, x, 0)
		if old.GetAt(t.InTab, x) == 1 {
			s.SetAt(t.EntryOf, x, number[old.GetAt(t.EntryOf, x)])
		}
		s.SetAt(t.At, x, 0)
		if old.GetAt(t.In, x) == 1 {
			s.SetAt(t.At, x, number[old.GetAt(t.At, x)])
		}
	}
}

// canon renumbers entries and places, and forgets what nobody knows any more.
func (t *KeyedTable) canon(s *State, nodes int) {
	t.Sort(s, nodes)
	var places []int
	used := func(x int) bool { return s.GetAt(t.In, x) == 1 || s.GetAt(t.Cl, x) == 1 }
	for x := range nodes {
		if used(x) {
			places = append(places, s.GetAt(t.Pos, x))
		}
	}
	slices.Sort(places)
	for x := range nodes {
		if used(x) {
			s.SetAt(t.Pos, x, 1+slices.Index(places, s.GetAt(t.Pos, x)))
		} else {
			s.SetAt(t.Pos, x, 0)
		}
	}
	s.Set(t.Tail, 1+len(places))
	if s.Get(t.SHeld) == 0 {
		s.Set(t.SKey, 0)
	}
	if s.Get(t.PC) == int(KeyedFree) {
		for _, v := range []*Var{t.Op, t.K, t.Num, t.W, t.Legal} {
			s.Set(v, 0)
		}
	}
}
