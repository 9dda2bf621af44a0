package table

// The hand-shake of a future's node: internal/waiting/waiter.go and internal/waiting/future.go. A
// node has one owner and at most one claimer, so where both are and what they know are variables of
// the table. A claimer that has finished with the node may still have a channel to close and a
// waker to wake. There may be any number of those, of this round and of earlier ones.
//
// What is plain memory (waker, done, outcome) has steps of its own, so that it is shown who may
// touch it when.
//
// Wakers and channels have no numbers without end. One is that of the last poll, or of this round
// (Newest), or an earlier one (Earlier): what was Newest becomes Earlier when another comes.

// WaiterTable is the node's table, with its variables for the tie.
type WaiterTable struct {
	*Table

	State *Var // the state word, with the numbers of the source
	Line  *Var // the node is in a queue

	Waker, Done, Outcome *Var // plain memory: None, Newest or Earlier; and whether permits were granted
	Closed               *Var // this round's channel is closed
	Woken                *Var // the last poll's waker has been woken since that poll

	Asked, With, Mine *Var // the last poll has left a waker, and waits; Poll has one; the owner has to give back
	At, Grants        *Var // where the claimer is, and whether it brings a grant
	Wake, Close       *Var // its copies of waker and done
	Waking, Closing   *Var // ghosts: a claimer is about to wake the newest waker, to close this round's channel
	Permits           *Var // ghost: how many have been granted and are not back, nor left with the owner

	TWake, TClose, TRes *Var // the copies of a claimer that has finished with the node; a result
}

// What the steps of a node access.
const (
	StateRead Access = 20 + iota
	StateWrite
	LineRead
	LineWrite
	ChanWrite // a channel is closed
	WakerCall // a waker is woken
	GivesBack // permits are given back
)

// Wakers and channels.
const (
	None = iota
	Newest
	Earlier
)

// The states of a node, as in the source.
const (
	NodeIdle = iota
	NodeRegistering
	NodeArmed
	NodeClaiming
	NodeComplete
	NodeAbandoned
	NodeClaimingAbandoned
)

// The places of a node's owner, then those of a claimer.
const (
	OwnerIdle    int64 = iota
	PollLook           // calls Poll
	PollRearm          // Rearm: found armed
	PollWrite          // registering
	PollBack           // endRegistering
	PollClose          // a claimer has come meanwhile
	PollStatus         // Rearm: not armed any more
	PollBusy           // wakes its own waker
	StartFields        // Request.Start: Arm
	StartStore         // Arm: its store
	StartQueue         // in a queue next
	FinishFields       // Finish
	FinishStore
	DoneAwait // calls Done
	DoneLook
	DoneFields // starts with no waker
	DoneArm
	DoneQueue
	DoneFinish
	DoneFinished
	ChanLook // Chan
	ChanRegister
	ChanMake
	ChanBack
	ChanClose
	ChanWake
	ChanAwait
	ErrLook  // calls Err
	ErrRead  // reads the outcome
	TakeLook // calls Take
	TakeRead // reads the outcome
	TakeFields
	TakeStore
	EndLook   // calls Release
	EndUnlink // not complete
	EndFields // unlinked: Reset
	EndReset  // its store
	EndAbandon
	EndArmed
	EndClaiming
	EndStatus  // not abandoned
	EndOutcome // complete
	EndStore   // Reset
	EndGive
	BindAwait // calls Bind
	BindLook
	BindRead // complete: reads the outcome
	BindFields
	BindStore
	BindN     // writes N
	ClaimNone // nobody has claimed the node
	ClaimOutcome
	ClaimLook
	ClaimRegistering
	ClaimArmed
	ClaimRead
	ClaimPublish
	ClaimRefuse
	ClaimClose // has finished with the node
	ClaimWake
	WaiterIn // the thread under test is the owner
	WaiterDone
)

var waiterPlaces = []string{
	"idle", "poll", "rearm", "poll-write", "poll-back", "poll-close", "poll-status", "poll-busy",
	"start", "start-store", "start-queue", "finish", "finish-store",
	"done", "done-look", "done-start", "done-store", "done-queue", "done-finish", "done-finish-store",
	"chan", "chan-register", "chan-make", "chan-back", "chan-close", "chan-wake", "chan-await",
	"err", "err-read", "take", "take-read", "take-fields", "take-store", "end", "end-unlink", "end-fields", "end-reset", "abandon", "abandon-armed", "abandon-claiming",
	"end-status", "end-outcome", "end-store", "end-give",
	"bind", "bind-look", "bind-read", "bind-fields", "bind-store", "bind-n",
	"none", "claimed", "look", "registering", "armed", "read", "publish", "refuse", "close", "wake", "owner", "over",
}

// Waiter returns the table.
func Waiter() *WaiterTable {
	t := bareWaiter()
	t.defects()
	t.finish()
	return t
}

func bareWaiter() *WaiterTable {
	t := &WaiterTable{Table: &Table{Name: "waiter", Source: "internal/waiting", Places: waiterPlaces}}
	t.Assume = []string{
		"Atomics are sequentially consistent, as Go promises.",
		"A queue has a lock, under which a node is in it or not: a claim and Unlink are one step each.",
		"One goroutine at a time is the owner of a future.",
		"A request that does not wait is granted; one that ends otherwise has the same steps.",
		"Fairness, for what is said about waiting: each goroutine goes on.",
	}
	t.PC, t.Inside = t.scalar(Owner, Int, "pc"), WaiterIn
	t.State, t.Line = t.scalar(Shared, Int, "state"), t.scalar(Shared, Bool, "line")
	t.Waker, t.Done = t.scalar(Shared, Int, "waker"), t.scalar(Shared, Int, "done")
	t.Outcome = t.scalar(Shared, Bool, "granted")
	t.Closed, t.Woken = t.scalar(Shared, Bool, "closed"), t.scalar(Shared, Bool, "woken")
	t.Asked, t.With = t.scalar(Owner, Bool, "asked"), t.scalar(Owner, Bool, "with")
	t.Mine = t.scalar(Owner, Bool, "mine")
	t.At, t.Grants = t.scalar(Owner, Int, "claimer"), t.scalar(Owner, Bool, "grants")
	t.Wake, t.Close = t.scalar(Owner, Int, "wake"), t.scalar(Owner, Int, "close")
	t.Waking, t.Closing = t.scalar(Ghost, Bool, "waking"), t.scalar(Ghost, Bool, "closing")
	t.Permits = t.scalar(Ghost, Int, "permits")
	t.TPC = t.scalar(Thread, Int, "tpc")
	t.TWake, t.TClose = t.scalar(Thread, Int, "twake"), t.scalar(Thread, Int, "tclose")
	t.TRes = t.scalar(Thread, Int, "tres")
	which := []int{None, Newest, Earlier}
	t.Domains = []Domain{{Var: t.TWake, Values: which}, {Var: t.TClose, Values: which}}
	t.owner()
	t.claimer()
	t.says()
	return t
}

// in adds a step of the owner.
func (t *WaiterTable) in(name, fn string, a Access, from, to int64, guard *Expr, do ...Update) {
	do = append(do, t.PC.Set(Num(to)))
	if to == OwnerIdle {
		do = append(do, t.TPC.Set(Num(WaiterDone)))
	}
	t.Steps = append(t.Steps, &Step{Name: name, In: fn, Access: a, From: from, Inside: true, Guard: guard, Do: do})
}

// call adds the begin of a call of the owner.
func (t *WaiterTable) call(name string, to int64, do ...Update) {
	t.in("calls "+name, "", Local, OwnerIdle, to, True, do...)
	t.Steps[len(t.Steps)-1].Choice = true
}

// claim adds a step of the claimer that has the node.
func (t *WaiterTable) claim(name, fn string, a Access, from, to int64, guard *Expr, do ...Update) {
	t.claimTo(name, fn, a, from, to, to, guard, do...)
}

// last adds a claimer's last step on the node, after which it is at place then.
func (t *WaiterTable) last(name, fn string, from, then int64, guard *Expr, do ...Update) {
	do = append(do, t.Grants.Set(Is(false)), t.Wake.Set(Num(None)), t.Close.Set(Num(None)))
	t.claimTo(name, fn, StateWrite, from, ClaimNone, then, guard, do...)
}

func (t *WaiterTable) claimTo(name, fn string, a Access, from, to, then int64, guard *Expr, do ...Update) {
	do = append(do, t.At.Set(Num(to)), t.TPC.Set(Num(then)))
	t.Steps = append(t.Steps, &Step{
		Name: name, In: fn, Access: a, From: from, Guard: And(Eq(t.At.V(), Num(from)), guard), Do: do,
	})
}

// out adds a step of a claimer that has finished with the node.
func (t *WaiterTable) out(name string, a Access, from, to int64, guard *Expr, do ...Update) {
	do = append(do, t.TPC.Set(Num(to)))
	t.Steps = append(t.Steps, &Step{Name: name, In: "Waiter.complete", Access: a, From: from, Guard: guard, Do: do})
}

func oneOf(v *Var, values ...int64) *Expr {
	var one []*Expr
	for _, n := range values {
		one = append(one, Eq(v.V(), Num(n)))
	}
	return Or(one...)
}

func (t *WaiterTable) at(places ...int64) *Expr      { return oneOf(t.PC, places...) }
func (t *WaiterTable) claimed(places ...int64) *Expr { return oneOf(t.At, places...) }
func (t *WaiterTable) is(states ...int64) *Expr      { return oneOf(t.State, states...) }
func (t *WaiterTable) to(state int64) Update         { return t.State.Set(Num(state)) }
func (t *WaiterTable) res(n int64) Update            { return t.TRes.Set(Num(n)) }

// busy says that a claimer is about to finish with the node.
func (t *WaiterTable) busy() *Expr { return t.is(NodeClaiming, NodeAbandoned, NodeClaimingAbandoned) }

// older is what becomes of a copy of the newest when another comes.
func (t *WaiterTable) older(v *Var) Update {
	return v.Set(If(Eq(v.V(), Num(Newest)), Num(Earlier), v.V()))
}

// fresh are the updates with which another waker becomes the newest: none has woken it.
func (t *WaiterTable) fresh() []Update {
	return []Update{
		t.older(t.Waker), t.older(t.Wake), t.Waking.Set(Is(false)), t.Woken.Set(Is(false)), t.Asked.Set(Is(false)),
	}
}

// round are the updates with which a round begins: its channel is not made, and none is about to
// close it.
func (t *WaiterTable) round() []Update {
	return []Update{
		t.older(t.Done), t.older(t.Close), t.Closing.Set(Is(false)), t.Closed.Set(Is(false)),
	}
}

// nothing are the updates of the fields that Reset and Finish write.
func (t *WaiterTable) nothing() []Update {
	return []Update{t.Waker.Set(Num(None)), t.Done.Set(Num(None))}
}

func (t *WaiterTable) owner() {
	t.poll()
	t.start()
	t.done()
	t.end()
}

// waits are the updates with which Poll returns false.
func (t *WaiterTable) waits() []Update { return []Update{t.res(0), t.Asked.Set(t.With.V())} }

func (t *WaiterTable) poll() {
	done, waits := t.Done.V(), t.waits()
	for _, c := range []struct {
		name string
		with bool
	}{{"Poll", true}, {"Poll without a waker", false}} {
		t.call(c.name, PollLook, append(t.fresh(), t.With.Set(Is(c.with)))...)
	}
	t.in("Poll.idle", "Future.Poll", StateRead, PollLook, StartFields, t.is(NodeIdle), t.round()...)
	t.in("Poll.armed", "Future.Poll", StateRead, PollLook, PollRearm, t.is(NodeArmed))
	t.in("Poll.complete", "Future.Poll", StateRead, PollLook, OwnerIdle, t.is(NodeComplete), t.res(1))
	t.in("Poll.busy", "Future.Poll", StateRead, PollLook, PollBusy, t.busy())
	t.in("Poll.wake", "Future.Poll", WakerCall, PollBusy, OwnerIdle, t.With.V(), append(waits, t.Woken.Set(True))...)
	t.in("Poll.nowaker", "Future.Poll", Local, PollBusy, OwnerIdle, Not(t.With.V()), waits...)

	t.in("Rearm.begin", "Waiter.Rearm", StateWrite, PollRearm, PollWrite, t.is(NodeArmed), t.to(NodeRegistering))
	t.in("Rearm.late", "Waiter.Rearm", StateRead, PollRearm, PollStatus, Not(t.is(NodeArmed)))
	t.in("Rearm.busy", "Waiter.Rearm", StateRead, PollStatus, PollBusy, t.busy())
	t.in("Rearm.complete", "Waiter.Rearm", StateRead, PollStatus, OwnerIdle, t.is(NodeComplete), t.res(1))
	t.in("Rearm.waker", "Waiter.Rearm", Local, PollWrite, PollBack, True,
		t.Waker.Set(If(t.With.V(), Num(Newest), Num(None))))
	t.in("Rearm.end", "Waiter.endRegistering", StateWrite, PollBack, OwnerIdle, t.is(NodeRegistering),
		append(waits, t.to(NodeArmed))...)
	t.in("Rearm.met", "Waiter.endRegistering", StateRead, PollBack, PollClose, Not(t.is(NodeRegistering)))
	t.in("Rearm.close", "Waiter.endRegistering", ChanWrite, PollClose, OwnerIdle, Not(Eq(done, Num(None))),
		t.Closed.Set(True), t.res(1))
	t.in("Rearm.nochan", "Waiter.endRegistering", Local, PollClose, OwnerIdle, Eq(done, Num(None)), t.res(1))
}

// start is the start of a request, by Poll and by Done.
func (t *WaiterTable) start() {
	grant := t.Permits.Set(Add(t.Permits.V(), Num(1)))
	for _, c := range []struct {
		name                                         string
		fields, store, queue, finish, finished, then int64
		with                                         *Expr
		queued, ended                                []Update
	}{
		{
			"Start", StartFields, StartStore, StartQueue, FinishFields, FinishStore, OwnerIdle,
			t.With.V(), t.waits(),
			[]Update{t.res(1)},
		},
		{"Done", DoneFields, DoneArm, DoneQueue, DoneFinish, DoneFinished, ChanLook, Is(false), nil, nil},
	} {
		t.in(c.name+".fields", "Waiter.Arm", Local, c.fields, c.store, True,
			t.Waker.Set(If(c.with, Num(Newest), Num(None))), t.Done.Set(Num(None)))
		t.in(c.name+".arm", "Waiter.Arm", StateWrite, c.store, c.queue, True, t.to(NodeArmed))
		t.in(c.name+".queue", "Request.Start", LineWrite, c.queue, c.then, True, append(c.queued, t.Line.Set(True))...)
		t.in(c.name+".granted", "Request.Start", Local, c.fields, c.finish, True, grant)
		t.in(c.name+".armed and granted", "Request.Start", Local, c.queue, c.finish, True, grant)
		t.in(c.name+".outcome", "Waiter.Finish", Local, c.finish, c.finished, True,
			append(t.nothing(), t.Outcome.Set(True))...)
		t.in(c.name+".finish", "Waiter.Finish", StateWrite, c.finished, c.then, True,
			append(c.ended, t.to(NodeComplete))...)
	}
}

func (t *WaiterTable) done() {
	waker, done := t.Waker.V(), t.Done.V()
	t.call("Done", DoneAwait)
	t.in("Done.await", "Future.awaitClaimer", StateRead, DoneAwait, DoneAwait, t.busy())
	t.in("Done.here", "Future.awaitClaimer", StateRead, DoneAwait, DoneLook, Not(t.busy()))
	t.in("Done.idle", "Future.Done", StateRead, DoneLook, DoneFields, t.is(NodeIdle), append(t.round(), t.Asked.Set(Is(false)))...)
	t.in("Done.begun", "Future.Done", StateRead, DoneLook, ChanLook, Not(t.is(NodeIdle)))
	has := Not(Eq(done, Num(None)))
	t.in("Chan.has", "Waiter.Chan", StateRead, ChanLook, OwnerIdle, has, t.res(1))
	t.in("Chan.complete", "Waiter.Chan", StateRead, ChanLook, OwnerIdle, And(Not(has), t.is(NodeComplete)), t.res(2))
	t.in("Chan.busy", "Waiter.Chan", StateRead, ChanLook, ChanAwait, And(Not(has), t.busy()))
	t.in("Chan.armed", "Waiter.Chan", StateRead, ChanLook, ChanRegister, And(Not(has), t.is(NodeArmed)))
	t.in("Chan.begin", "Waiter.Chan", StateWrite, ChanRegister, ChanMake, t.is(NodeArmed), t.to(NodeRegistering))
	t.in("Chan.late", "Waiter.Chan", StateRead, ChanRegister, ChanAwait, Not(t.is(NodeArmed)))
	t.in("Chan.make", "Waiter.Chan", Local, ChanMake, ChanBack, True, t.Done.Set(Num(Newest)))
	t.in("Chan.end", "Waiter.endRegistering", StateWrite, ChanBack, OwnerIdle, t.is(NodeRegistering), t.res(1), t.to(NodeArmed))
	t.in("Chan.met", "Waiter.endRegistering", StateRead, ChanBack, ChanClose, Not(t.is(NodeRegistering)))
	t.in("Chan.close", "Waiter.endRegistering", ChanWrite, ChanClose, ChanWake, True, t.Closed.Set(True))
	t.in("Chan.wake", "Waiter.Chan", WakerCall, ChanWake, OwnerIdle, Eq(waker, Num(Newest)), t.res(1), t.Woken.Set(True))
	t.in("Chan.nowaker", "Waiter.Chan", Local, ChanWake, OwnerIdle, Eq(waker, Num(None)), t.res(1))
	t.in("Chan.await", "Future.awaitClaimer", StateRead, ChanAwait, ChanAwait, t.busy())
	t.in("Chan.again", "Future.awaitClaimer", StateRead, ChanAwait, ChanLook, Not(t.busy()))
}

// end is what looks at the outcome of a round and what ends it: Err, Take, Release and Bind.
func (t *WaiterTable) end() {
	t.call("Err", ErrLook)
	t.in("Err.pending", "Future.Err", StateRead, ErrLook, OwnerIdle, Not(t.is(NodeComplete)), t.res(0))
	t.in("Err.complete", "Future.Err", StateRead, ErrLook, ErrRead, t.is(NodeComplete))
	t.in("Err.read", "Future.Err", Local, ErrRead, OwnerIdle, True, t.Waker.Set(Num(None)),
		t.TRes.Set(If(t.Outcome.V(), Num(2), Num(1))))

	t.call("Take", TakeLook)
	t.in("Take.pending", "Future.Err", StateRead, TakeLook, OwnerIdle, Not(t.is(NodeComplete)), t.res(0))
	t.in("Take.complete", "Future.Err", StateRead, TakeLook, TakeRead, t.is(NodeComplete))
	t.in("Take.refused", "Future.Err", Local, TakeRead, OwnerIdle, Not(t.Outcome.V()), t.Waker.Set(Num(None)), t.res(1))
	t.in("Take.granted", "Future.Err", Local, TakeRead, TakeFields, t.Outcome.V(), t.Waker.Set(Num(None)))
	t.in("Take.fields", "Waiter.Reset", Local, TakeFields, TakeStore, True, t.nothing()...)
	t.in("Take.store", "Waiter.Reset", StateWrite, TakeStore, OwnerIdle, True, t.res(2), t.to(NodeIdle),
		t.Permits.Set(Sub(t.Permits.V(), Num(1)))) // The grant is the owner's alone.

	t.call("Release", EndLook, t.Asked.Set(Is(false)))
	t.in("end.idle", "Future.end", StateRead, EndLook, OwnerIdle, t.is(NodeIdle), t.res(1))
	t.in("end.complete", "Future.end", StateRead, EndLook, EndOutcome, t.is(NodeComplete))
	t.in("end.waits", "Future.end", StateRead, EndLook, EndUnlink, Not(t.is(NodeIdle, NodeComplete)))
	t.in("end.unlink", "Line.Unlink", LineWrite, EndUnlink, EndFields, t.Line.V(), t.Line.Set(Is(false)))
	t.in("end.claimed", "Line.Unlink", LineRead, EndUnlink, EndAbandon, Not(t.Line.V()))
	t.in("end.fields", "Waiter.Reset", Local, EndFields, EndReset, True, t.nothing()...)
	t.in("end.reset", "Waiter.Reset", StateWrite, EndReset, OwnerIdle, True, t.res(1), t.to(NodeIdle))
	t.in("Abandon.armed", "Waiter.Abandon", StateRead, EndAbandon, EndArmed, t.is(NodeArmed))
	t.in("Abandon.claiming", "Waiter.Abandon", StateRead, EndAbandon, EndClaiming, t.is(NodeClaiming))
	t.in("Abandon.no", "Waiter.Abandon", StateRead, EndAbandon, EndStatus, Not(t.is(NodeArmed, NodeClaiming)))
	t.in("Abandon.leave", "Waiter.Abandon", StateWrite, EndArmed, OwnerIdle, t.is(NodeArmed), t.res(1), t.to(NodeAbandoned))
	t.in("Abandon.again", "Waiter.Abandon", StateRead, EndArmed, EndAbandon, Not(t.is(NodeArmed)))
	t.in("Abandon.leave claiming", "Waiter.Abandon", StateWrite, EndClaiming, OwnerIdle, t.is(NodeClaiming),
		t.res(1), t.to(NodeClaimingAbandoned))
	t.in("Abandon.published", "Waiter.Abandon", StateRead, EndClaiming, EndAbandon, Not(t.is(NodeClaiming)))
	t.in("end.status", "Future.end", StateRead, EndStatus, EndOutcome, t.is(NodeComplete))
	t.in("end.twice", "Future.end", StateRead, EndStatus, OwnerIdle, Not(t.is(NodeComplete)), t.res(1))
	t.in("end.outcome", "Future.end", Local, EndOutcome, EndStore, True, append(t.nothing(), t.Mine.Set(t.Outcome.V()))...)
	t.in("end.store", "Waiter.Reset", StateWrite, EndStore, EndGive, True, t.to(NodeIdle))
	t.in("end.give", "Future.end", GivesBack, EndGive, OwnerIdle, t.Mine.V(), t.res(1), t.Mine.Set(Is(false)),
		t.Permits.Set(Sub(t.Permits.V(), Num(1))))
	t.in("end.nothing", "Future.end", Local, EndGive, OwnerIdle, Not(t.Mine.V()), t.res(1))

	t.call("Bind", BindAwait)
	t.in("Bind.await", "Future.awaitClaimer", StateRead, BindAwait, BindAwait, t.busy())
	t.in("Bind.here", "Future.awaitClaimer", StateRead, BindAwait, BindLook, Not(t.busy()))
	t.in("Bind.idle", "Future.requireEnded", StateRead, BindLook, BindN, t.is(NodeIdle))
	t.in("Bind.complete", "Future.requireEnded", StateRead, BindLook, BindRead, t.is(NodeComplete))
	t.in("Bind.waits", "Future.requireEnded", StateRead, BindLook, OwnerIdle, Not(t.is(NodeIdle, NodeComplete)), t.res(0))
	t.in("Bind.granted", "Future.requireEnded", Local, BindRead, OwnerIdle, t.Outcome.V(), t.res(0))
	t.in("Bind.refused", "Future.requireEnded", Local, BindRead, BindFields, Not(t.Outcome.V()))
	t.in("Bind.fields", "Waiter.Reset", Local, BindFields, BindStore, True, t.nothing()...)
	t.in("Bind.reset", "Waiter.Reset", StateWrite, BindStore, BindN, True, t.to(NodeIdle))
	t.in("Bind.n", "Bind", Local, BindN, OwnerIdle, True, t.res(1))
}

func (t *WaiterTable) claimer() {
	for _, c := range []struct {
		name   string
		grants bool
	}{{"claims with a grant", true}, {"claims without", false}} {
		t.claim(c.name, "", LineWrite, ClaimNone, ClaimOutcome, t.Line.V(), t.Line.Set(Is(false)), t.Grants.Set(Is(c.grants)),
			t.Permits.Set(Add(t.Permits.V(), bit(Is(c.grants)))))
		t.Steps[len(t.Steps)-1].Choice = true
	}
	fn := "Waiter.complete"
	t.claim("Deliver.outcome", "Waiter.Deliver", Local, ClaimOutcome, ClaimLook, True, t.Outcome.Set(t.Grants.V()))
	t.claim("complete.registering", fn, StateRead, ClaimLook, ClaimRegistering, t.is(NodeRegistering))
	t.claim("complete.armed", fn, StateRead, ClaimLook, ClaimArmed, t.is(NodeArmed))
	t.claim("complete.abandoned", fn, StateRead, ClaimLook, ClaimRefuse, t.is(NodeAbandoned))
	t.last("complete.unwoken", fn, ClaimRegistering, WaiterDone, t.is(NodeRegistering), t.to(NodeComplete), t.res(1))
	t.claim("complete.back", fn, StateRead, ClaimRegistering, ClaimLook, Not(t.is(NodeRegistering)))
	t.claim("complete.claim", fn, StateWrite, ClaimArmed, ClaimRead, t.is(NodeArmed), t.to(NodeClaiming))
	t.claim("complete.late", fn, StateRead, ClaimArmed, ClaimLook, Not(t.is(NodeArmed)))
	t.claim("complete.copy", fn, Local, ClaimRead, ClaimPublish, True, t.Wake.Set(t.Waker.V()), t.Close.Set(t.Done.V()))
	newest := func(v *Var) *Expr { return Eq(v.V(), Num(Newest)) }
	t.last("complete.publish", fn, ClaimPublish, ClaimClose, t.is(NodeClaiming), t.to(NodeComplete), t.res(1),
		t.Waking.Set(newest(t.Wake)), t.Closing.Set(newest(t.Close)), t.TWake.Set(t.Wake.V()), t.TClose.Set(t.Close.V()))
	t.claim("complete.left", fn, StateRead, ClaimPublish, ClaimRefuse, Not(t.is(NodeClaiming)))
	t.last("complete.refuse", fn, ClaimRefuse, WaiterDone, True, t.to(NodeIdle), t.res(0),
		t.Permits.Set(Sub(t.Permits.V(), bit(t.Grants.V()))))

	t.out("close", ChanWrite, ClaimClose, ClaimWake, And(newest(t.TClose), t.Closing.V()),
		t.Closed.Set(True), t.Closing.Set(Is(false)))
	t.out("close.earlier", ChanWrite, ClaimClose, ClaimWake, Eq(t.TClose.V(), Num(Earlier)))
	t.out("close.none", Local, ClaimClose, ClaimWake, Eq(t.TClose.V(), Num(None)))
	t.out("wake", WakerCall, ClaimWake, WaiterDone, And(newest(t.TWake), t.Waking.V()),
		t.Woken.Set(True), t.Waking.Set(Is(false)))
	t.out("wake.earlier", WakerCall, ClaimWake, WaiterDone, Eq(t.TWake.V(), Num(Earlier)))
	t.out("wake.none", Local, ClaimWake, WaiterDone, Eq(t.TWake.V(), Num(None)))
}
