package chains

import (
	"context"

	"github.com/farad-go/farad/waiter"
)

// With Delegated it is the signaller who looks whether what somebody waits for has come true, and
// wakes only those for whom it has. The others stay asleep: there are no futile wakes, at the price
// of asking for each on the chain, one after the other.
//
//	             detached                          told: B                put back
//	chain -> | C | -> | B | -> | A |      C.holds() no, B.holds() yes, A.holds() no      chain -> | C | -> | A |
//
// Papers of the same authors propose it, and name a patent application of Oracle's:
// ORA200224-US-NP, published as US20210311773A1 (Efficient Condition Variables via Delegated
// Condition Evaluation). So nothing but this comparison may use it: no lock of this module does,
// and .golangci.yml forbids all but bench/ and the other comparisons, which do not use this, to
// import this package.
//
// What an owner waits for is asked by others, while the owner may be asking it, too, and again
// after it has said yes. So it must be a function that only looks, at what may be looked at by all.
// It is not asked after the wait has ended: who asks holds the element, which the owner does not
// leave without its token. Since others get hold of it, the function is on the heap: an allocation
// for each wait that has to make one. Who waits on such a table in one of the other ways is woken
// by every signal.
//
// Invariants, besides those of the package, of which 2 and 3 are for others (here nobody but a
// signaller takes elements off, all at once, and it may put them back in other company):
//
//  1. Between the swap that detaches an element and its tell, or the push that puts it back, one
//     signaller alone has it. (TestModelChains under -race)
//  2. A signaller reads the sequence, detaches, asks, puts back, and reads the sequence again. If
//     it has moved, somebody may have found the chain without those who have been put back, and the
//     signaller asks for all of them anew. (TestModelChains/two of each)
//  3. Who leaves says so in its element, and signals: then it is told like anybody whose condition
//     has come true. (TestModelChains/cancel)
//
// Why no wake-up is lost: who makes a condition true adds to the sequence afterwards, and looks at
// the chain then. Whom it finds it asks. Whom it does not find has not been pushed yet, and looks
// at its condition when it has been; or another signaller has it. That one has read the sequence
// before it detached. If that was after the addition, it asks after the condition has come true. If
// it was before, it has yet to put back what it keeps, and then sees by the sequence that it has to
// ask again.
//
// Who makes progress: a signaller goes round only if another has signalled meanwhile.
//
// Source: Dice and Kogan, Semaphores Augmented with a Waiting Array, section 2, which names the
// idea and refers to their paper on condition variables; how it is done without a lock is ours.

// WaitDelegated waits until holds returns true, when the caller or a signaller asks. If ctx is done
// first it returns ctx.Err(). Whoever makes it true signals afterwards, with the same hash. holds
// must not panic.
func (t *Table) WaitDelegated(ctx context.Context, hash uint64, holds func() bool) error {
	if t.wake != Delegated {
		panic("chains: a table whose signallers do not ask")
	}
	if holds() {
		return nil
	}
	c := t.chain(hash)
	e := t.delegate(ctx, c, holds)
	if holds() {
		e.end(!t.expel(c, e))
		return nil
	}
	_, err := t.sleep(ctx, c, e)
	return err
}

// delegate pushes an element, whose owner is the caller, for others to ask holds. (It is not enter,
// lest all conditions escape to the heap.)
func (t *Table) delegate(ctx context.Context, c *chain, holds func() bool) *element {
	e := elements.Get().(*element)
	e.parker, e.holds = waiter.GetParker(waiter.UntilDone(ctx)), holds
	e.left.Store(false)
	c.push(e, e)
	return e
}

// sift tells all on a chain whom a signal concerns, after the sequence has been moved.
func (t *Table) sift(c *chain, n News) {
	for c.top.Load() != nil { // A turn follows another's signal.
		seq := c.seq.Load()
		first, last := detain(c.top.Swap(nil), n)
		if first == nil {
			return
		}
		c.push(first, last)
		if c.seq.Load() == seq {
			return
		}
	}
}

// detain tells all on a detached chain but those who have a condition that does not hold, and stay.
// It links these, in their order.
func detain(e *element, n News) (first, last *element) {
	for e != nil {
		below := e.below // read first: what has been told is its owner's again
		switch {
		case e.holds == nil || e.left.Load() || e.holds():
			e.tell(n)
		case first == nil:
			first, last = e, e
		default:
			last.below, last = e, e
		}
		e = below
	}
	return first, last
}

// resign gets e told, whose owner does not want to wait any more, by the caller or by another
// signaller.
func (t *Table) resign(c *chain, e *element) {
	e.left.Store(true)
	t.count(c)
	t.sift(c, News{})
}
