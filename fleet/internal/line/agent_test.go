package line

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/store"
)

// local is a Local that a test moves by hand.
type local struct {
	size, held, oldest, all, bound int64
	rev                            int64
	holders                        []int64
}

func (l *local) Granted(rev int64, holders []int64) { l.rev, l.holders = rev, holders }
func (l *local) Resize(n int64)                     { l.size = n; l.serve() }
func (l *local) Held() int64                        { return l.held }
func (l *local) Demand(int64) (oldest, all int64)   { return l.oldest, l.all }
func (l *local) Bound(n int64)                      { l.bound = n }
func (l *local) wants(n ...int64)                   { l.oldest, l.all = n[0], sum(n) }
func (l *local) serve() {
	if l.oldest > 0 && l.size-l.held >= l.oldest && l.oldest == l.all {
		l.held += l.oldest
		l.oldest, l.all = 0, 0
	}
}

// numbers returns what numbers an agent's entries from next on. Smaller numbers are its own, too.
func numbers(next int64) func() int64 {
	last := int64(-1)
	return func() int64 {
		n := last
		last = max(next, n+1)
		return n
	}
}

func sum(n []int64) (s int64) {
	for _, n := range n {
		s += n
	}
	return s
}

func TestUncontended(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 10, false, &l)
	a.Learn(State{Rev: 5, Size: 4}, 0)
	require.EqualValues(t, 4, l.bound)
	txn, wake := a.Plan(0)
	require.Nil(t, txn, "nobody wants anything")
	require.Equal(t, Never, wake)

	l.wants(1)
	txn, _ = a.Plan(0)
	require.Equal(t, []Op{op(7, 0, 0, 1)}, txn.Ops)
	again, _ := a.Plan(0)
	require.Nil(t, again, "one transaction at a time")
	a.Answered(true)
	a.Learn(State{Rev: 6, Size: 4, Entries: []Entry{entry(7, 0, 6, 6, 1)}}, 1)
	require.EqualValues(t, 1, l.held)
	require.Equal(t, []int64{7}, l.holders)

	l.wants(2, 1, 3)
	txn, _ = a.Plan(1)
	require.Equal(t, []Op{op(7, 1, 0, 3)}, txn.Ops, "what is free, and no more")
}

// Who has not read the line asks for what the oldest request needs: others may wait for the rest.
func TestWhoHasReadNothingAsksForLittle(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 10, false, &l)
	a.Learn(State{Rev: Unread, Size: 8}, 0)
	require.EqualValues(t, 8, l.bound)
	l.wants(1, 1, 3)
	txn, _ := a.Plan(0)
	require.Equal(t, []Op{op(7, 0, 0, 1)}, txn.Ops)
	a.Answered(true)
	l.oldest = 2 // so that the Local is not served
	a.Learn(State{Rev: 6, Size: 8, Entries: []Entry{entry(8, 0, 3, 3, 2), entry(7, 0, 6, 6, 1)}}, 1)
	txn, _ = a.Plan(1)
	require.Len(t, txn.Ops, 1)
	require.EqualValues(t, 5, txn.Ops[0].Weight, "what is free")
}

// A lean agent returns what is idle, though nobody waits.
func TestALeanAgentKeepsNothingIdle(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(1), 10, false, &l)
	a.Lean()
	l.wants(2)
	a.Learn(State{Rev: 6, Size: 3, Entries: []Entry{entry(7, 0, 6, 6, 2)}}, 0)
	require.EqualValues(t, 2, l.held)
	txn, _ := a.Plan(0)
	require.Nil(t, txn, "it is in use")
	_, idle, _ := a.Attention()
	require.True(t, idle)
	l.held = 1
	txn, _ = a.Plan(0)
	require.Equal(t, []Op{op(7, 0, 6, 1)}, txn.Ops)
	a.Answered(true)
	a.See(7, 1, Entry{Key: Key{Lease: 7}, Create: 6, Mod: 7, Weight: 1})
	l.held = 0
	txn, _ = a.Plan(1)
	require.Equal(t, []Op{op(7, 0, 7, 0)}, txn.Ops)
}

func TestOthersWait(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(1), 10, false, &l)
	l.wants(1)
	s := State{Rev: 6, Size: 1, Entries: []Entry{entry(7, 0, 6, 6, 1)}}
	a.Learn(s, 100)
	require.EqualValues(t, 1, l.held)
	a.See(7, 103, entry(8, 0, 7, 7, 1))
	l.wants(1)
	txn, wake := a.Plan(103)
	require.Nil(t, txn)
	require.EqualValues(t, 110, wake, "the end of the tenure")
	txn, _ = a.Plan(110)
	require.Equal(t, []Op{op(7, 1, 0, 1)}, txn.Ops, "in line again, while the holder is inside")
	require.EqualValues(t, 0, l.size)
	a.Answered(true)
	a.See(8, 111, entry(7, 1, 8, 8, 1))
	l.held = 0
	txn, _ = a.Plan(112)
	require.Equal(t, []Op{op(7, 0, 6, 0)}, txn.Ops)
	a.Answered(true)
	a.See(9, 113, Entry{Key: key(7, 0)})
	require.False(t, a.Lost())
	require.Equal(t, []int64{8}, holders(a.State()))

	a.See(10, 114, Entry{Key: key(8, 0)})
	require.EqualValues(t, 1, l.held, "our turn")
	require.EqualValues(t, 10, l.rev)
}

// The longest tenure is none that has ended already.
func TestATenureWithoutEnd(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), math.MaxInt64, false, &l)
	l.wants(1)
	e := []Entry{entry(7, 0, 6, 6, 1), entry(8, 0, 7, 7, 1)}
	a.Learn(State{Rev: 7, Size: 1, Entries: e}, 100)
	require.EqualValues(t, 1, l.held)
	const later = 100 * 365 * 24 * int64(time.Hour)
	txn, wake := a.Plan(later)
	require.Nil(t, txn)
	require.Greater(t, wake, later)
	require.EqualValues(t, 1, l.size)
}

func TestIdleStaysWhileNobodyWaits(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 10, false, &l)
	e := []Entry{entry(8, 0, 5, 5, 1), entry(7, 0, 6, 6, 2)}
	a.Learn(State{Rev: 6, Size: 3, Entries: e}, 100)
	txn, wake := a.Plan(200)
	require.Nil(t, txn)
	require.Equal(t, Never, wake)
	require.EqualValues(t, 2, l.size)
}

// A lost request that appears late makes an entry that is not needed any more.
func TestOneEntryWaits(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 10, false, &l)
	l.wants(1, 1, 1)
	e := []Entry{entry(8, 0, 5, 5, 4), entry(7, 0, 6, 6, 3), entry(7, 1, 7, 7, 2)}
	a.Learn(State{Rev: 7, Size: 4, Entries: e}, 0)
	txn, _ := a.Plan(0)
	require.Equal(t, []Op{op(7, 1, 7, 0)}, txn.Ops)
	a.Answered(true)
	l.wants(1, 1)
	txn, _ = a.Plan(1)
	require.Equal(t, []Op{op(7, 0, 6, 2), op(7, 1, 7, 0)}, txn.Ops, "nor more than what waits")
}

// What the process has suffices for the oldest request once others release: a smaller entry stays.
func TestASmallerEntryStaysIfTheBlockSuffices(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 10, false, &l)
	l.held = 2
	e := []Entry{entry(7, 0, 5, 5, 2), entry(8, 0, 6, 6, 1), entry(7, 1, 7, 7, 1)}
	a.Learn(State{Rev: 7, Size: 3, Entries: e}, 0)
	l.wants(2)
	txn, _ := a.Plan(1)
	require.Nil(t, txn)
}

// What a new block renews is what is held, and nothing that is only not returned yet.
func TestANewBlockRenewsNoMoreThanIsHeld(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(2), 10, false, &l)
	e := []Entry{entry(7, 0, 4, 4, 1), entry(7, 1, 5, 5, 1), entry(8, 0, 6, 6, 1), entry(9, 0, 7, 7, 1)}
	l.held = 2
	a.Learn(State{Rev: 7, Size: 3, Entries: e}, 0)
	l.wants(1)
	txn, _ := a.Plan(10)
	require.Equal(t, []Op{op(7, 2, 0, 1)}, txn.Ops)
	l.held = 1 // nothing is returned while a transaction is under way
	a.See(8, 11, entry(7, 2, 8, 8, 1))
	a.See(9, 12, Entry{Key: key(8, 0)}, Entry{Key: key(9, 0)})
	require.EqualValues(t, 2, l.size)
	require.EqualValues(t, 2, l.held)
}

// The entry of a writer that gives up serves a reader that waits behind it, and excludes nobody
// whom a reader does not.
func TestAWritersEntryBecomesAReaders(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 10, true, &l)
	e := []Entry{entry(8, 0, 5, 5, 1), entry(7, 0, 6, 6, Everyone)}
	l.wants(1, Everyone)
	a.Learn(State{Rev: 6, Size: Everyone, Entries: e}, 0)
	txn, _ := a.Plan(0)
	require.Nil(t, txn, "the writer waits behind the reader")
	l.wants(1, 1)
	txn, _ = a.Plan(1)
	require.Equal(t, []Op{op(7, 0, 6, 1)}, txn.Ops)
}

func TestIdleGoesBackAtOnce(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 1000, false, &l)
	l.wants(2)
	a.Learn(State{Rev: 6, Size: 3, Entries: []Entry{entry(7, 0, 6, 6, 3)}}, 100)
	l.held = 1
	a.See(7, 103, entry(8, 0, 7, 7, 2))
	txn, _ := a.Plan(103)
	require.Equal(t, []Op{op(7, 0, 6, 1)}, txn.Ops)
	require.EqualValues(t, 1, l.size)
}

// What is in use stays for its tenure, also if it is of several blocks.
func TestOnlyWhatIsIdleGoesBack(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 1000, false, &l)
	a.Learn(State{Rev: 7, Size: 2, Entries: []Entry{entry(7, 0, 5, 5, 1), entry(7, 1, 6, 6, 1)}}, 100)
	require.EqualValues(t, 2, l.size)
	l.held = 1
	a.See(8, 103, entry(8, 0, 8, 8, 1))
	txn, wake := a.Plan(103)
	require.Equal(t, []Op{op(7, 0, 5, 0)}, txn.Ops)
	require.EqualValues(t, 1, l.size)
	require.EqualValues(t, 1100, wake)
}

func TestTampering(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 1000, false, &l)
	l.wants(2)
	a.Learn(State{Rev: 6, Size: 3, Entries: []Entry{entry(7, 0, 6, 6, 2)}}, 100)
	require.EqualValues(t, 2, l.held)
	a.See(7, 101, entry(7, 0, 6, 7, 1))
	require.True(t, a.Lost())
	require.EqualValues(t, 0, l.size)
	l.held = 0
	txn, _ := a.Plan(102)
	require.Equal(t, []Op{op(7, 0, 7, 0)}, txn.Ops)
}

func TestReadersAndWriters(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 10, true, &l)
	l.wants(1)
	a.Learn(State{Rev: 5, Size: Everyone}, 0)
	txn, _ := a.Plan(0)
	require.Equal(t, []Op{op(7, 0, 0, 1)}, txn.Ops)
	a.Answered(true)
	a.See(6, 0, entry(7, 0, 6, 6, 1))
	require.Equal(t, Everyone-1, l.size)
	l.held = 3 // readers
	l.wants(Everyone)
	txn, _ = a.Plan(1)
	require.Equal(t, []Op{op(7, 1, 0, Everyone)}, txn.Ops)
	a.Answered(true)
	a.See(7, 0, entry(7, 1, 7, 7, Everyone))
	l.held = 0
	txn, _ = a.Plan(2)
	require.Equal(t, []Op{op(7, 0, 6, 0)}, txn.Ops)
	a.Answered(true)
	a.See(8, 3, Entry{Key: key(7, 0)})
	require.Equal(t, Everyone, l.held)

	a.See(9, 4, entry(8, 0, 9, 9, 1)) // a reader elsewhere
	l.held = 2                        // the writer has gone, and readers have come
	txn, _ = a.Plan(5)
	require.Equal(t, []Op{op(7, 1, 7, 1)}, txn.Ops, "a writer's block becomes one of readers")
	require.Equal(t, Everyone-1, l.size)
}

// What is due beyond what a server takes in one transaction comes with the next ones. A request
// does not wait for that.
func TestATransactionHasALimit(t *testing.T) {
	const n = 100
	var l local
	a := NewAgent(7, numbers(100), 10, false, &l)
	s := State{Rev: n, Size: n}
	for i := range int64(n) {
		s.Entries = append(s.Entries, entry(7, i, i+1, i+1, 1))
	}
	a.Learn(s, 0)
	require.EqualValues(t, n, l.size)
	a.See(n+1, 1, entry(8, 0, n+1, n+1, n))
	l.wants(1)
	txn, _ := a.Plan(1)
	require.Len(t, txn.Ops, store.MostOps)
	require.Equal(t, op(7, 0, 1, 0), txn.Ops[0])
	require.Equal(t, op(7, n, 0, 1), txn.Ops[store.MostOps-1])
	var gone []Change
	for _, op := range txn.Ops {
		gone = append(gone, entry(op.Lease, op.Seq, n+2, n+2, op.Weight))
	}
	a.Answered(true)
	a.See(n+2, 2, gone...)
	require.Zero(t, l.size, "what comes later is not given, either")
	txn, _ = a.Plan(2)
	require.Len(t, txn.Ops, n-store.MostOps+1)
	require.Equal(t, op(7, store.MostOps-1, store.MostOps, 0), txn.Ops[0])
}

// A server without space refuses what writes, and deletes all the same.
func TestReturnsGoAloneWithoutSpace(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(2), 10, false, &l)
	e := []Entry{entry(7, 0, 4, 4, 1), entry(7, 1, 5, 5, 2), entry(8, 0, 6, 6, 3)}
	l.held = 1
	a.Learn(State{Rev: 6, Size: 3, Entries: e}, 0)
	l.wants(1)
	all := []Op{op(7, 0, 4, 0), op(7, 1, 5, 1), op(7, 2, 0, 1)}
	txn, _ := a.Plan(10)
	require.Equal(t, &Txn{Txn: store.Txn{Ops: all}}, txn)
	a.NoSpace()
	all[2].Seq++ // the number was used
	txn, _ = a.Plan(11)
	require.Equal(t, &Txn{Txn: store.Txn{Ops: all[:1]}, Only: true}, txn, "neither a request nor a part of an entry")
	a.Answered(true)
	a.See(7, 12, Entry{Key: key(7, 0)})
	txn, _ = a.Plan(12)
	require.Equal(t, &Txn{Txn: store.Txn{Ops: all[1:]}}, txn, "nothing else is due")
	a.NoSpace()
	l.held = 0
	all[2].Seq++
	txn, _ = a.Plan(13)
	require.Equal(t, &Txn{Txn: store.Txn{Ops: []Op{op(7, 1, 5, 0)}}, Only: true}, txn)
	a.Answered(true)
	a.See(8, 14, Entry{Key: key(7, 1)})
	txn, _ = a.Plan(14)
	require.Equal(t, &Txn{Txn: store.Txn{Ops: all[2:]}}, txn)
	a.Answered(true)
	a.See(9, 15, entry(7, 4, 9, 9, 1))
	txn, _ = a.Plan(15)
	require.Nil(t, txn, "there is space again")
}

// The simulator found the schedules of the tests below.

func TestAWaitingEntryThatIsReturnedIsNotGiven(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(1), 10, false, &l)
	l.wants(2)
	a.Learn(State{Rev: 6, Size: 2, Entries: []Entry{entry(8, 0, 5, 5, 1), entry(7, 0, 6, 6, 2)}}, 0)
	l.oldest, l.all = 0, 0 // it gives up
	txn, _ := a.Plan(1)
	require.Equal(t, []Op{op(7, 0, 6, 0)}, txn.Ops)
	l.wants(1)
	a.See(7, 2, Entry{Key: key(8, 0)}) // now it holds, and is deleted when the request arrives
	require.EqualValues(t, 0, l.size)
	require.Zero(t, l.rev, "no new block")
	a.Answered(true)
	txn, _ = a.Plan(3)
	require.Equal(t, []Op{op(7, 0, 6, 0), op(7, 1, 0, 1)}, txn.Ops)
}

func TestAnIdleBlockThatVanishesIsALoss(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 10, false, &l)
	a.Learn(State{Rev: 6, Size: 2, Entries: []Entry{entry(7, 0, 5, 5, 1)}}, 0)
	require.EqualValues(t, 1, l.size)
	a.See(7, 1, Entry{Key: key(7, 0)})
	require.True(t, a.Lost())
	require.EqualValues(t, 0, l.size)
}

// Somebody else takes a part of a block, and nobody holds that part. The rest is not relied on.
func TestAnIdleBlockThatShrinksIsALoss(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 10, false, &l)
	l.wants(1)
	a.Learn(State{Rev: 6, Size: 2, Entries: []Entry{entry(7, 0, 5, 5, 2)}}, 0)
	require.EqualValues(t, 2, l.size)
	require.EqualValues(t, 1, l.held)
	a.See(7, 1, entry(7, 0, 5, 7, 1))
	require.True(t, a.Lost())
	require.EqualValues(t, 0, l.size)
}

// After the end nothing is given, also if a turn comes then. It is done when all is returned.
// Somebody else deletes the entry of what was withdrawn, and is still held.
func TestAWithdrawnBlockThatVanishesWhileHeldIsALoss(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(1), 10, false, &l)
	l.wants(1)
	e := []Entry{entry(7, 0, 6, 6, 1), entry(8, 0, 7, 7, 1)}
	a.Learn(State{Rev: 7, Size: 1, Entries: e}, 100)
	a.Plan(110)
	require.EqualValues(t, 0, l.size)
	require.EqualValues(t, 1, l.held)
	a.See(8, 111, Entry{Key: key(7, 0)})
	require.True(t, a.Lost())
}

// The size may fall below what a request is for that waits.
func TestWhatTheSizeDoesNotAllowIsNotAskedFor(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 10, false, &l)
	l.wants(4, 1)
	a.Learn(State{Rev: 5, Size: 3}, 0)
	txn, _ := a.Plan(0)
	require.Nil(t, txn)
	a.See(6, 1, Entry{Key: SizeKey, Weight: 4, Mod: 6})
	txn, _ = a.Plan(1)
	require.Equal(t, []Op{op(7, 0, 0, 4)}, txn.Ops)
}

// What others hold is asked for as far as the process has less than an equal share.
func TestNoMoreThanAnEqualShareIsAskedFor(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 10, false, &l)
	l.wants(1, 1, 1, 1, 1, 1)
	e := []Entry{entry(8, 0, 3, 3, 3), entry(8, 1, 4, 4, 3), entry(9, 0, 5, 5, 6)}
	a.Learn(State{Rev: 5, Size: 12, Entries: e}, 0)
	txn, _ := a.Plan(0)
	require.Equal(t, []Op{op(7, 0, 0, 4)}, txn.Ops, "a third")
}

// A block of readers has room for another reader.
func TestReadersAskOnce(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(1), 10, true, &l)
	l.wants(1)
	a.Learn(State{Rev: 6, Size: Everyone, Entries: []Entry{entry(7, 0, 6, 6, 1)}}, 0)
	require.EqualValues(t, 1, l.held)
	l.wants(1)
	txn, _ := a.Plan(1)
	require.Nil(t, txn)
}

func TestTheEnd(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 10, false, &l)
	l.wants(1)
	a.Learn(State{Rev: 5, Size: 1, Entries: []Entry{entry(8, 0, 5, 5, 1)}}, 0)
	a.Plan(0)
	a.Answered(true)
	a.See(6, 0, entry(7, 0, 6, 6, 1))
	a.End()
	require.False(t, a.Done(), "an entry is left")
	a.See(7, 1, Entry{Key: key(8, 0)})
	require.EqualValues(t, 0, l.held)
	require.EqualValues(t, 0, l.rev, "no block is reported")
	txn, _ := a.Plan(1)
	require.Equal(t, []Op{op(7, 0, 6, 0)}, txn.Ops)
	a.See(8, 2, Entry{Key: key(7, 0)})
	require.False(t, a.Done(), "a transaction is under way")
	a.Answered(true)
	require.True(t, a.Done())
	require.False(t, a.Lost())
}

// A request that arrived twice makes the entry again after it was deleted. The new one waits.
func TestAnEntryMadeAgainIsAnotherBlock(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 0, false, &l)
	l.wants(1)
	a.Learn(State{Rev: 6, Size: 1, Entries: []Entry{entry(7, 0, 5, 5, 1), entry(8, 0, 6, 6, 1)}}, 0)
	l.held = 0
	txn, _ := a.Plan(1)
	require.Equal(t, []Op{op(7, 0, 5, 0)}, txn.Ops)
	a.Answered(true)
	a.Learn(State{Rev: 9, Size: 1, Entries: []Entry{entry(8, 0, 6, 6, 1), entry(7, 0, 9, 9, 1)}}, 2)
	l.wants(1)
	a.See(10, 3, Entry{Key: key(8, 0)})
	require.EqualValues(t, 1, l.held, "it holds only now")
}

// A block whose return is under way is nothing that another may be returned against.
func TestWhatIsReturnedTwiceIsCountedOnce(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 10, false, &l)
	l.wants(1)
	e := []Entry{entry(7, 0, 5, 5, 1), entry(8, 0, 6, 6, 1), entry(7, 1, 7, 7, 1)}
	a.Learn(State{Rev: 7, Size: 2, Entries: e}, 0)
	require.EqualValues(t, 1, l.held)
	txn, _ := a.Plan(1)
	require.Equal(t, []Op{op(7, 1, 7, 0)}, txn.Ops, "nobody wants it; no answer to this one")
	a.Answered(true)
	txn, _ = a.Plan(10)
	require.Equal(t, []Op{op(7, 1, 7, 0)}, txn.Ops)
	a.Answered(true)
	a.See(8, 11, Entry{Key: key(8, 0)})
	txn, _ = a.Plan(11)
	require.Equal(t, []Op{op(7, 1, 7, 0)}, txn.Ops, "the other one backs what is held")
}

// A request that comes then needs an entry of its own.
func TestAnEntryWhoseReturnHadNoAnswerIsNotWaitedFor(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(2), 10, false, &l)
	l.wants(1)
	e := []Entry{entry(7, 0, 5, 5, 1), entry(8, 0, 6, 6, 1), entry(7, 1, 7, 7, 1)}
	a.Learn(State{Rev: 7, Size: 2, Entries: e}, 0)
	require.EqualValues(t, 1, l.held)
	txn, _ := a.Plan(1)
	require.Equal(t, []Op{op(7, 1, 7, 0)}, txn.Ops, "nobody wants it; no answer to this one")
	a.Answered(true)
	l.wants(1)
	txn, _ = a.Plan(2)
	require.Equal(t, []Op{op(7, 1, 7, 0), op(7, 2, 0, 1)}, txn.Ops)
}

func TestASizeThatFallsIsWithdrawnAtOnce(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 1000, false, &l)
	l.wants(4)
	a.Learn(State{Rev: 6, Size: 4, Entries: []Entry{entry(7, 0, 6, 6, 4)}}, 0)
	require.EqualValues(t, 4, l.held)
	a.See(7, 1, Entry{Weight: 3})
	txn, _ := a.Plan(1)
	require.Nil(t, txn)
	require.EqualValues(t, 3, l.size, "nobody else waits, and still it is withdrawn")
	l.held = 2
	txn, _ = a.Plan(1)
	require.Equal(t, []Op{op(7, 0, 6, 3)}, txn.Ops)
}

// The hold of one goroutine is longer than many tenures: another's request has a block of its own.
func TestANewBlockServesWhileAnOldOneIsHeld(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(1), 10, false, &l)
	l.wants(1)
	e := []Entry{entry(7, 0, 5, 5, 1), entry(8, 0, 6, 6, 1), entry(9, 0, 7, 7, 1)}
	a.Learn(State{Rev: 7, Size: 2, Entries: e}, 0)
	require.EqualValues(t, 1, l.held)
	l.wants(1)
	txn, _ := a.Plan(10)
	require.Equal(t, []Op{op(7, 1, 0, 1)}, txn.Ops)
	require.EqualValues(t, 0, l.size)
	a.Answered(true)
	a.See(8, 11, entry(7, 1, 8, 8, 1))
	a.See(9, 12, Entry{Key: key(8, 0)})
	require.EqualValues(t, 1, l.held)
	a.See(10, 13, Entry{Key: key(9, 0)})
	require.EqualValues(t, 2, l.held, "both")
	require.EqualValues(t, 2, l.size)
	a.See(11, 14, entry(8, 1, 11, 11, 1))
	_, wake := a.Plan(14)
	require.EqualValues(t, 23, wake, "the new tenure is that of both")
	require.EqualValues(t, 2, l.size)
	a.Plan(23)
	require.EqualValues(t, 0, l.size)
}

// oneByOne returns an agent that holds n permits, each of an entry of its own.
func oneByOne(l *local, n int64) *Agent {
	a := NewAgent(7, numbers(n), 10, false, l)
	s := State{Rev: 100, Size: 100, SizeMod: 3}
	for i := range n {
		s.Entries = append(s.Entries, entry(7, i, 10+i, 10+i, 1))
	}
	l.held = n
	a.Learn(s, 0)
	return a
}

// Who takes permits one by one has them merged when he takes another. It is one block then.
func TestEntriesAreMerged(t *testing.T) {
	var l local
	a := oneByOne(&l, 4)
	l.wants(1)
	txn, _ := a.Plan(1)
	require.Equal(t, &Txn{Txn: store.Txn{Merges: true, SizeMod: 3, Ops: []Op{
		op(7, 0, 10, 4), op(7, 1, 11, 0), op(7, 2, 12, 0), op(7, 3, 13, 0), op(7, 4, 0, 1),
	}}}, txn)
	a.Answered(true)
	a.See(101, 2, entry(7, 0, 10, 101, 4), Entry{Key: key(7, 1)}, Entry{Key: key(7, 2)}, Entry{Key: key(7, 3)},
		entry(7, 4, 101, 101, 1))
	require.False(t, a.Lost())
	require.EqualValues(t, 5, l.size)
	require.EqualValues(t, 5, l.held)
	a.See(102, 3, entry(8, 0, 102, 102, 99))
	l.held = 1
	txn, _ = a.Plan(3)
	require.Equal(t, []Op{op(7, 0, 101, 0)}, txn.Ops, "what was merged goes back together")
}

// A merge that had no answer may be carried out at any time. Until it is, or cannot be any more, no
// other one is begun: not even of some of its entries, for which there would be room.
func TestAMergeInDoubt(t *testing.T) {
	var l local
	a := oneByOne(&l, 4)
	a.Limit(5)
	l.wants(1)
	first, _ := a.Plan(1)
	require.Len(t, first.Ops, 5)
	a.Unanswered()
	again, _ := a.Plan(2)
	require.Equal(t, first.Ops[:4], again.Ops[:4], "the same")
	a.Unanswered()
	a.Limit(4)
	other, _ := a.Plan(3)
	require.Len(t, other.Ops, 1, "no merge")
	a.Unanswered()
	a.See(101, 4, entry(7, 0, 10, 101, 4), Entry{Key: key(7, 1)}, Entry{Key: key(7, 2)}, Entry{Key: key(7, 3)},
		entry(7, 4, 101, 101, 1))
	require.False(t, a.Lost())
	require.EqualValues(t, 5, l.size)
}

// A put of an entry arrives once more after a merge has deleted it, and both are seen at once. The
// merge was carried out all the same.
func TestAPartOfAMergeIsMadeAgain(t *testing.T) {
	var l local
	a := oneByOne(&l, 4)
	l.wants(1)
	a.Plan(1)
	a.Unanswered()
	a.Learn(State{Rev: 102, Size: 100, SizeMod: 3, Entries: []Entry{
		entry(7, 0, 10, 101, 4), entry(7, 4, 101, 101, 1), entry(7, 2, 102, 102, 1),
	}}, 2)
	require.False(t, a.Lost())
	require.EqualValues(t, 6, l.size)
}

// A part of a merge goes back before the merge is carried out: now it cannot be any more.
func TestAMergeThatCameTooLate(t *testing.T) {
	var l local
	a := oneByOne(&l, 4)
	l.wants(1)
	a.Plan(1)
	a.Unanswered()
	l.oldest, l.all = 0, 0
	a.See(101, 2, entry(8, 0, 101, 101, 99))
	l.held = 3
	txn, _ := a.Plan(2)
	require.Equal(t, []Op{op(7, 0, 10, 0)}, txn.Ops)
	a.Answered(true)
	a.See(102, 3, Entry{Key: key(7, 0)})
	require.False(t, a.Lost())
	require.EqualValues(t, 3, l.size)
	require.Nil(t, a.merge)
}

// Somebody else writes the first part of a merge, as the merge would or not. Now the merge cannot
// be carried out any more, and gives way to another one.
func TestAMergeWhosePartWasWritten(t *testing.T) {
	for _, weight := range []int64{1, 4} {
		var l local
		a := oneByOne(&l, 4)
		l.wants(1)
		a.Plan(1)
		a.Unanswered()
		a.See(101, 2, entry(7, 0, 10, 101, weight))
		require.False(t, a.Lost())
		require.Nil(t, a.merge)
		require.EqualValues(t, 4, a.holding(), "of four parts")
		txn, _ := a.Plan(3)
		require.EqualValues(t, 101, txn.Ops[0].Mod)
	}
}

// The size fell. What does not fit, and is held, is merged with nothing.
func TestADebtIsNotMerged(t *testing.T) {
	var l local
	a := oneByOne(&l, 5)
	s := a.State().Clone()
	s.Rev, s.Size, s.SizeMod = 101, 5, 101
	s.Entries = append(s.Entries, entry(8, 0, 5, 5, 1))
	s.Sort()
	a.Learn(s, 1)
	require.EqualValues(t, 5, l.held)
	l.wants(1)
	txn, _ := a.Plan(1)
	require.True(t, txn.Merges)
	require.EqualValues(t, 101, txn.SizeMod)
	require.Equal(t, []Op{
		op(7, 0, 10, 4), op(7, 1, 11, 0), op(7, 2, 12, 0), op(7, 3, 13, 0), op(7, 5, 0, 1),
	}, txn.Ops)
}

// An agent that had no answer once is done only when nothing can come later.
func TestDoubtEndsWithAFence(t *testing.T) {
	var l local
	a := NewAgent(7, numbers(0), 10, false, &l)
	l.wants(1)
	a.Learn(State{Rev: 5, Size: 1}, 0)
	a.Plan(0)
	a.Unanswered()
	a.End()
	fence := &Txn{Fence: true}
	for _, over := range []func(){a.Unanswered, func() { a.Answered(false) }, a.NoSpace} {
		require.True(t, a.Returned())
		require.False(t, a.Done())
		txn, _ := a.Plan(1)
		require.Equal(t, fence, txn)
		require.False(t, a.Returned(), "it is under way")
		over()
	}
	txn, _ := a.Plan(2)
	require.Equal(t, fence, txn)
	a.See(6, 3, entry(7, 0, 6, 6, 1)) // just before
	a.Answered(true)
	require.False(t, a.Returned())
	txn, _ = a.Plan(3)
	require.Equal(t, []Op{op(7, 0, 6, 0)}, txn.Ops)
	a.Answered(true)
	a.See(7, 4, Entry{Key: key(7, 0)})
	require.True(t, a.Done())
}

// An agent leaves alone what the one before it has made, and what the next one makes.
func TestAgentsOfOneLease(t *testing.T) {
	var l, m local
	last := int64(0)
	number := func() int64 { last++; return last }
	a := NewAgent(7, number, 10, false, &l)
	a.Learn(State{Rev: 5, Size: 2}, 0)
	l.wants(1)
	a.Plan(0)
	a.Answered(true)
	a.End()
	b := NewAgent(7, number, 10, false, &m)
	s := State{Rev: 6, Size: 2, Entries: []Entry{entry(7, 2, 6, 6, 1)}}
	a.Learn(s, 0)
	b.Learn(s, 0)
	require.Zero(t, m.size)
	m.wants(1)
	txn, _ := b.Plan(1)
	require.Equal(t, []Op{op(7, 4, 0, 1)}, txn.Ops)
	b.Answered(true)
	b.See(7, 2, entry(7, 4, 7, 7, 1))
	a.See(7, 2, entry(7, 4, 7, 7, 1))
	require.EqualValues(t, 1, m.size)
	txn, _ = a.Plan(3)
	require.Equal(t, []Op{op(7, 2, 6, 0)}, txn.Ops)
}
