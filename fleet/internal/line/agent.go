package line

import (
	"math"
	"slices"

	"github.com/farad-go/farad/fleet/store"
)

// A Local is what an agent's process has of the line: the lock for which its goroutines wait.
// Resize, Held and Demand count requests' permits, not weights; they differ for a read-write lock.
type Local interface {
	// Granted announces a new block, before Resize gives its permits: the revision of the state in
	// which it was seen to hold, and who may hold in it.
	Granted(rev int64, holders []int64)

	// Resize sets how many permits may be held. Those that are held stay held.
	Resize(permits int64)

	// Held returns how many permits are held: more than the size after a Resize, for a while.
	Held() int64

	// Demand returns what the oldest waiting request is for, and all of them. It need not count
	// further than enough.
	Demand(enough int64) (oldest, all int64)

	// Bound sets how large a request may be.
	Bound(permits int64)
}

// An Agent has one process's share of one line: it asks for blocks, gives what they hold to the
// process's goroutines, and returns it. It is a pure function of its inputs: it has no clock, no
// goroutine and no connection. Its methods are for one goroutine at a time.
//
// Its driver passes it states and changes of the line (Learn, See), calls Plan after each of these
// and whenever Attention says so, and commits the transaction that Plan returns. There is one
// transaction at a time.
//
// Invariants:
//
//  1. What the Local is given is at most what the agent's entries hold, less what a transaction was
//     ever sent to return; and so is what is held in it, unless the agent is lost. (the simulator's
//     checkBacked, after every event)
//  2. What a transaction that was sent, or the next one, returns is never given, nor counted,
//     whether the entry waited then or held. So it does not matter when, and whether, a transaction
//     is applied. What was only withdrawn is given again while it is held, in the tenure of a new
//     block.
//  3. Every write to an entry is guarded by its last change, and a new entry by its absence. So a
//     transaction whose answer was lost may be applied late, and then changes nothing that was
//     decided since, or makes an entry that the agent does not expect any more. It is the agent's
//     all the same.
//  4. While requests wait in the process, an entry of the agent waits in the line that suffices for
//     the oldest request, or a transaction is under way, or what the agent has suffices when others
//     release. (the simulator's checkPlanned)
//  5. While others wait, a block is not given for longer than the line's tenure, and nothing of it
//     while it is idle. A lean agent gives nothing idle at any time. (the simulator's checkPlanned)
//  6. What exceeds the size since it fell is not given. (TestASizeThatFallsIsWithdrawnAtOnce)
//  7. A transaction has no more operations than the server takes. Further returns are planned again
//     once it is answered. A new entry never waits for that. (TestATransactionHasALimit,
//     fleettest: MoreEntriesThanATransactionTakes)
//  8. A delete never waits for what the server has no space for. (the simulator's fill,
//     TestReturnsGoAloneWithoutSpace)
//  9. An agent owns the numbers that it has taken and no others. It is done only when nothing with
//     such a number is left, and nothing can come later: after a transaction without an answer it
//     first has all that was sent before fenced off. (the simulator's checkOwners)
//  10. Entries are merged only if all of them fit, in one transaction that is guarded by their last
//     changes and by the size's. So no sum rises above what the newest of them had, and what fits
//     goes on fitting. (the simulator's checkFits)
type Agent struct {
	lease  int64
	tenure int64 // ns
	rw     bool
	local  Local
	limit  int // operations of a transaction

	state  State
	blocks []block // own entries, in order of the line
	number func() int64
	first  int64  // smaller numbers are an earlier agent's
	next   int64  // larger ones are a later agent's, once this one is ending
	merge  *merge // that may have been done, or may be yet
	busy   bool   // a transaction is under way
	doubt  bool   // one had no answer, and may be applied at any time
	fence  bool   // the transaction that is under way ends that
	full   bool   // the last one that wrote something was refused for want of space
	lean   bool   // nothing idle is kept
	ending bool   // all goes back, and nothing is asked for
	lost   bool
}

// A block is an entry of the agent's.
type block struct {
	Entry
	holds bool  // it holds, or did before the size fell
	since int64 // when the agent saw that
	given int64 // how much of its weight the Local has
	keep  int64 // how much of its weight is not to be returned: at least given
}

// A merge makes one entry of several: the first of them gets the weight of all.
type merge struct {
	parts  []Entry // as they were
	weight int64   // of all
}

// NewAgent returns an agent that makes its entries with lease. number returns numbers for them,
// each larger than all that it has returned before. All agents of a lease use the same one, and of
// a line there is one at a time that is not ending.
func NewAgent(lease int64, number func() int64, tenure int64, rw bool, local Local) *Agent {
	first := number()
	return &Agent{
		lease: lease, number: number, first: first, next: first, rw: rw, local: local, limit: store.MostOps,
		tenure: min(tenure, Never/2), // so that its end is a time, too
	}
}

// Limit sets how many operations a transaction has at most: two or more, and store.MostOps without
// Limit.
func (a *Agent) Limit(ops int) { a.limit = ops }

// Lean has the agent return what is idle even while nobody waits. So an entry that holds says that
// somebody uses it.
func (a *Agent) Lean() { a.lean = true }

// State returns the newest state that the agent knows. The caller must not change it.
func (a *Agent) State() *State { return &a.state }

// Lost reports whether the agent has lost what it had: Lose was called, or somebody else has
// changed or deleted an entry.
func (a *Agent) Lost() bool { return a.lost }

// Returned reports whether the agent has nothing left, after End or a loss.
func (a *Agent) Returned() bool { return a.ending && len(a.blocks) == 0 && !a.busy }

// Done is Returned, and nothing can come later. An agent that is done may be forgotten.
func (a *Agent) Done() bool { return a.Returned() && !a.doubt }

// Learn gives the agent a state of the line, at time now. The agent ignores one that is older than
// what it knows.
func (a *Agent) Learn(s State, now int64) {
	if s.Rev >= a.state.Rev {
		a.state = s.Clone()
		a.absorb(now)
	}
}

// See gives the agent the changes of one revision.
func (a *Agent) See(rev int64, now int64, changes ...Change) {
	if rev > a.state.Rev {
		a.state.Apply(rev, changes...)
		a.absorb(now)
	}
}

// Answered notes that the transaction of the last Plan is over: it was carried out, or its guards
// were untrue, or it was refused before anything of it was done.
func (a *Agent) Answered(carriedOut bool) {
	a.doubt = a.doubt && (!a.fence || !carriedOut)
	a.busy, a.fence = false, false
}

// Unanswered notes that the transaction of the last Plan is given up. It may have been carried out,
// or may be yet. The driver has read the line since, and passed it to Learn.
func (a *Agent) Unanswered() { a.busy, a.fence, a.doubt = false, false, true }

// NoSpace is Unanswered for a transaction that the server has refused because it has no space: what
// fills the server is refused, and carried out. Such a server still deletes. So whole entries go
// back before anything else is tried again.
func (a *Agent) NoSpace() {
	a.Unanswered()
	a.full = true
}

// Busy reports whether a transaction is under way.
func (a *Agent) Busy() bool { return a.busy }

// Lose notes that the agent's lease must not be relied on any more.
func (a *Agent) Lose() {
	a.lost = true
	a.End()
}

// End has the agent give back everything, as soon as it is released, and ask for nothing.
func (a *Agent) End() {
	a.ending = true
	for i := range a.blocks {
		a.blocks[i].given = 0
	}
	a.local.Resize(0)
}

// absorb brings the blocks to what the state says, and gives what is new.
func (a *Agent) absorb(now int64) {
	a.local.Bound(a.permits(a.state.Size))
	a.merged()
	var blocks []block
	had, left, granted := a.given(), int64(0), false
	for e, holds := range a.state.Holding {
		if !a.owns(e.Key) {
			continue
		}
		b := block{keep: e.Weight}
		if i := slices.IndexFunc(a.blocks, func(b block) bool { return same(&b.Entry, e) }); i >= 0 {
			b = a.blocks[i]
		}
		b.Entry, b.keep = *e, min(b.keep, e.Weight)
		left += min(b.given, b.keep)
		if holds && !b.holds {
			b.holds, b.since = true, now
			if !a.ending && b.keep > 0 {
				b.given, granted = b.keep, true
			}
		}
		blocks = append(blocks, b)
	}
	a.blocks = blocks
	switch {
	case left < had || a.holding() < a.weight(a.local.Held()):
		a.Lose()
	case granted:
		a.renew(a.weight(a.local.Held())-had, now)
		a.local.Granted(a.state.Rev, holders(&a.state))
		a.local.Resize(a.permits(a.given()))
	}
}

// holders returns the leases that hold something in s, or may since before its size was written
// last. Each is there once, in ascending order.
func holders(s *State) []int64 {
	var all []int64
	for e, holds := range s.Holding {
		if (holds || e.Create < s.SizeMod) && !slices.Contains(all, e.Lease) {
			all = append(all, e.Lease)
		}
	}
	slices.Sort(all)
	return all
}

// renew gives again what was withdrawn, but is still held, of the newest blocks first, as part of a
// new block's tenure. Otherwise the new permits would pay that debt, and the request that they are
// for would wait for the end of a hold. A wait for the old blocks is a wait for the new one too.
func (a *Agent) renew(debt, now int64) {
	for i := range slices.Backward(a.blocks) {
		b := &a.blocks[i]
		if n := min(b.keep-b.given, debt); b.holds && n > 0 {
			b.given += n
			b.since = now
			debt -= n
		}
	}
}

// merged makes one block of those that a merge has made one entry of, if it was carried out.
func (a *Agent) merged() {
	if a.merge == nil {
		return
	}
	parts, left, changed := a.merge.parts, 0, false
	for _, p := range parts {
		if e := still(&a.state, &p); e != nil {
			left++
			changed = changed || e.Mod != p.Mod
		}
	}
	if left == len(parts) && !changed {
		return // not yet
	}
	if first := still(&a.state, &parts[0]); left == 1 && first != nil && first.Weight == a.merge.weight {
		into := a.block(first.Key)
		for _, p := range parts[1:] {
			b := a.block(p.Key)
			into.given += b.given
			into.keep += b.keep
			into.since = min(into.since, b.since)
			b.given = 0
		}
	}
	a.merge = nil // otherwise it cannot be carried out any more
}

// owns reports whether an entry is the agent's: its own numbers, and once it asks for no more, none
// that an agent after it may use.
func (a *Agent) owns(k Key) bool {
	return k.Lease == a.lease && k.Seq >= a.first && (!a.ending || k.Seq < a.next)
}

// given returns what the Local has been given, as a weight.
func (a *Agent) given() (sum int64) {
	for _, b := range a.blocks {
		sum += b.given
	}
	return sum
}

// holding returns what the agent's entries hold, and is not to be returned.
func (a *Agent) holding() (sum int64) {
	for _, b := range a.blocks {
		if b.holds {
			sum += b.keep
		}
	}
	return sum
}

// weight returns the weight under which permits may be held locally.
func (a *Agent) weight(permits int64) int64 {
	if a.rw && 0 < permits && permits < Everyone {
		return 1 // however many readers
	}
	return permits
}

// permits returns how many may be held locally under a weight.
func (a *Agent) permits(weight int64) int64 {
	if a.rw && 0 < weight && weight < Everyone {
		return Everyone - 1 // all but a writer
	}
	return weight
}

// A Txn is what an agent wants of the store: a transaction, or a fence.
type Txn struct {
	store.Txn

	Only bool // it only returns, and what else is due comes later: the server had no space

	// Fence says that nothing that was sent before with the lease may be carried out afterwards.
	// There are no operations then.
	Fence bool
}

// Never is a time that does not come.
const Never int64 = math.MaxInt64

// Plan withdraws what others should have and returns the transaction that is due, nil if none is.
// Without another event, call Plan again at the time wake.
func (a *Agent) Plan(now int64) (txn *Txn, wake int64) {
	if a.state.Rev == 0 {
		return nil, Never
	}
	wake = a.withdraw(now)
	if a.busy {
		return nil, wake
	}
	if a.Returned() {
		if a.doubt {
			a.busy, a.fence = true, true
			return &Txn{Fence: true}, wake
		}
		return nil, wake
	}
	ops, anew := a.ask(a.giveBack(nil))
	if len(ops) == 0 && anew == 0 {
		return nil, wake
	}
	txn = &Txn{}
	if whole := deletes(ops); a.full && len(whole) > 0 {
		ops, anew, txn.Only = whole, 0, true
	}
	ops = ops[:min(len(ops), a.limit-1)]
	if anew > 0 {
		if some := a.mergeable(a.limit - 1 - len(ops)); some != nil {
			ops = a.mergeInto(ops, some)
			txn.Merges, txn.SizeMod = true, a.state.SizeMod
		}
		ops = append(ops, Op{Key: Key{Lease: a.lease, Seq: a.number()}, Weight: anew})
		a.next = ops[len(ops)-1].Seq + 1
	}
	txn.Ops = ops
	a.busy, a.full = true, txn.Only
	return txn, wake
}

// mergeFrom is from how many entries on an agent merges those that hold, when it asks for another.
// Each merge makes one of all. So a process that acquires permits one after the other has a few
// entries, and merges them now and then.
const mergeFrom = 4

// mergeable returns entries to be merged, the oldest first, and at most as many as there is room
// for in the transaction. All fit, and none of them has permits to return.
func (a *Agent) mergeable(room int) (some []*block) {
	if a.rw || a.full {
		return nil
	}
	for e, holds := range a.state.Holding {
		if !holds {
			break
		}
		if a.owns(e.Key) {
			if b := a.block(e.Key); b.holds && b.keep == b.Weight {
				some = append(some, b)
			}
		}
	}
	if m := a.merge; m != nil { // it may be carried out yet: the same again, or nothing
		some = slices.DeleteFunc(some, func(b *block) bool {
			return !slices.ContainsFunc(m.parts, func(p Entry) bool { return p.Key == b.Key })
		})
		if len(some) < len(m.parts) || room < len(some) {
			return nil
		}
		return some
	}
	if len(some) < mergeFrom || room < 2 {
		return nil
	}
	return some[:min(len(some), room)]
}

// mergeInto appends the operations that merge entries into the first of them.
func (a *Agent) mergeInto(ops []Op, some []*block) []Op {
	m := &merge{}
	for _, b := range some {
		m.parts = append(m.parts, b.Entry)
		m.weight += b.Weight
		ops = append(ops, Op{Key: b.Key, Mod: b.Mod})
	}
	ops[len(ops)-len(some)].Weight = m.weight
	a.merge = m
	return ops
}

// deletes returns the operations that delete entries.
func deletes(ops []Op) (d []Op) {
	for _, op := range ops {
		if op.Weight == 0 {
			d = append(d, op)
		}
	}
	return d
}

// withdraw takes from the Local what it had for its tenure, or does not use, if that delays
// anybody. It returns when the next tenure ends.
func (a *Agent) withdraw(now int64) (wake int64) {
	wake = Never
	before := a.given()
	if before == 0 {
		return wake
	}
	a.shrink()
	others, own := a.waiting()
	if others {
		tenure := Tenure(&a.state, a.tenure)
		for i := range a.blocks {
			b := &a.blocks[i]
			switch end := b.since + tenure; {
			case b.given == 0:
			case now >= end:
				b.given = 0
			default:
				wake = min(wake, end)
			}
		}
	}
	if others || own || a.lean {
		idle := a.given() - a.weight(a.local.Held())
		for i := range a.blocks {
			b := &a.blocks[i]
			cut := max(0, min(b.given, idle))
			b.given -= cut
			idle -= cut
		}
	}
	if after := a.given(); after != before {
		a.local.Resize(a.permits(after))
	}
	return wake
}

// shrink withdraws what exceeds the size since it fell.
func (a *Agent) shrink() {
	free := a.state.Size
	for e := range a.state.Holding {
		if a.owns(e.Key) {
			b := a.block(e.Key)
			b.given = min(b.given, free)
		}
		free -= min(e.Weight, free)
	}
}

// waiting reports whether entries of others wait in the line, and entries of the agent.
func (a *Agent) waiting() (others, own bool) {
	for e, holds := range a.state.Holding {
		switch {
		case holds:
		case !a.owns(e.Key):
			others = true
		default:
			own = own || !a.block(e.Key).holds
		}
	}
	return others, own
}

func (a *Agent) block(k Key) *block {
	return &a.blocks[slices.IndexFunc(a.blocks, func(b block) bool { return b.Key == k })]
}

// giveBack appends the operations that return what was withdrawn and is not held any more, of the
// oldest blocks first.
func (a *Agent) giveBack(ops []Op) []Op {
	spare := a.holding() - max(a.given(), a.weight(a.local.Held()))
	for i := range a.blocks {
		b := &a.blocks[i]
		if !b.holds {
			continue
		}
		cut := max(0, min(b.keep-b.given, spare)) // it is negative after a loss
		b.keep -= cut
		spare -= cut
		if b.keep < b.Weight {
			ops = append(ops, Op{Key: b.Key, Mod: b.Mod, Weight: b.keep})
		}
	}
	return ops
}

// ask appends the operations that bring what the agent waits for to what its process waits for. It
// also returns the weight of a new entry, 0 if none is needed.
func (a *Agent) ask(ops []Op) (rest []Op, anew int64) {
	var oldest, all int64
	if !a.ending {
		oldest, all = a.local.Demand(a.permits(a.state.Size))
	}
	want, need := a.want(oldest, all), a.weight(oldest)
	most := min(max(need, a.weight(all)), a.state.Size)
	asked := false
	for i := range a.blocks {
		b := &a.blocks[i]
		switch {
		case b.holds:
			continue
		case want == 0 || asked || b.keep == 0 || a.given() < need && b.keep < need:
			b.keep = 0 // of no use, or too small
		default:
			b.keep = min(b.keep, most)
			asked = true
		}
		if b.keep < b.Weight {
			ops = append(ops, Op{Key: b.Key, Mod: b.Mod, Weight: b.keep})
		}
	}
	if asked {
		want = 0
	}
	return ops, want
}

// want returns what an entry should be for if the agent has none that waits. The oldest request
// decides. What else waits is asked for as far as nobody else has a use for it, or the process has
// less than an equal share. An agent that has enough for the oldest asks all the same: otherwise
// what does not divide evenly would stay with the process that is the first to see it free.
func (a *Agent) want(oldest, all int64) int64 {
	need, has := a.weight(oldest), a.given()
	if a.state.Rev == Unread { // nobody knows what others have a use for
		all = oldest
	}
	switch {
	case need > a.state.Size || has >= a.state.Size:
		return 0
	case a.rw && has >= need:
		return 0
	case a.rw:
		return need
	}
	free, active := a.state.Size, []int64{a.lease}
	for _, e := range a.state.Entries {
		free -= min(e.Weight, free)
		// Of more than half the size each has a share of one, however many there are.
		if int64(len(active)) <= a.state.Size/2 && !slices.Contains(active, e.Lease) {
			active = append(active, e.Lease)
		}
	}
	share := max(1, a.state.Size/int64(len(active)))
	return min(a.state.Size, max(need, min(all, max(free, share-has))))
}

// Attention returns which events in the process need a Plan: a request that begins to wait; a
// release that leaves something free; a release of what was withdrawn.
func (a *Agent) Attention() (waits, idle, debt bool) {
	others, own := a.waiting()
	return !a.ending && a.given() < a.state.Size, others || own || a.lean, a.given() < a.holding()
}
