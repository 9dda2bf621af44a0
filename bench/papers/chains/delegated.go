package chains

import (
	"context"

	"github.com/farad-go/farad/internal/waiting"
)

// With Delegated the signaller evaluates the conditions of the waiters, and wakes only those whose
// condition holds. The others stay asleep. So there are no futile wakes, but the signaller
// evaluates every condition on the chain, one after the other.
//
//	             detached                                                        put back
//	chain -> | C | -> | B | -> | A |                              chain -> | C | -> | A |
//	C.holds() no, B.holds() yes, A.holds() no; notified: B
//
// Papers of the same authors propose it, and name a patent application of Oracle's:
// ORA200224-US-NP, published as US20210311773A1 (Efficient Condition Variables via Delegated
// Condition Evaluation). So only this comparison may use it. No lock of this module does, and
// .golangci.yml forbids the import of this package outside bench/ and the other comparisons, which
// do not use Delegated.
//
// Other goroutines evaluate the owner's condition, possibly while the owner evaluates it, and again
// after it has held. So the condition must be a function that only reads, and only what all may
// read. It is not called after the wait has ended: a signaller that calls it holds the element, and
// the owner does not leave without the token. The function escapes to the heap: a wait that has to
// make one allocates. A goroutine that waits on such a table in one of the other ways is woken by
// every signal.
//
// Invariants in addition to those of the package. (2 and 3 of the package concern the other ways to
// wake: here only a signaller takes elements off, all at once, and may put them back in another
// order.)
//
//  1. Between the swap that detaches an element and its notification, or the push that puts it
//     back, exactly one signaller has it. (TestModelChains under -race)
//  2. A signaller reads the sequence, detaches, evaluates, puts back, and reads the sequence again.
//     If it has moved, another signaller may have missed the elements that were put back, and the
//     signaller evaluates all of them again. (TestModelChains/two of each)
//  3. An owner that leaves says so in its element, and signals. Then it is notified like one whose
//     condition has come true. (TestModelChains/cancel)
//
// Why no wake-up is lost: a goroutine makes a condition true, then adds to the sequence, then looks
// at the chain. It evaluates the conditions of the elements that it finds. An element that it does
// not find either has not been pushed yet, and its owner checks the condition after the push; or
// another signaller has it. That signaller read the sequence before it detached. If it read after
// the addition, it evaluates after the condition has come true. If it read before, it still has to
// put its elements back, and then sees that the sequence has moved.
//
// Progress: a signaller repeats only if another has signalled meanwhile.
//
// Source: Dice and Kogan, Semaphores Augmented with a Waiting Array, section 2, which names the
// idea and refers to their paper on condition variables. The implementation without a lock is our
// own.

// WaitDelegated waits until holds returns true, called by the waiter or by a signaller. If ctx is
// done first it returns ctx.Err(). The goroutine that makes the condition true signals afterwards,
// with the same hash. holds must not panic.
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

// delegate pushes an element for the caller, with holds for others to call. (It is not part of
// enter: there all conditions would escape to the heap.)
func (t *Table) delegate(ctx context.Context, c *chain, holds func() bool) *element {
	e := elements.Get().(*element)
	e.parker, e.holds = waiting.GetParker(waiting.UntilDone(ctx)), holds
	e.left.Store(false)
	c.push(e, e)
	return e
}

// sift notifies the elements of a chain whose condition holds, after the sequence has moved.
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

// detain notifies the elements of a detached chain, except those with a condition that does not
// hold. It links the latter in their order.
func detain(e *element, n News) (first, last *element) {
	for e != nil {
		below := e.below // read first: once notified, an element belongs to its owner
		switch {
		case e.holds == nil || e.left.Load() || e.holds():
			e.notify(n)
		case first == nil:
			first, last = e, e
		default:
			last.below, last = e, e
		}
		e = below
	}
	return first, last
}

// resign gets e notified, whose owner gives up, by the caller or by another signaller.
func (t *Table) resign(c *chain, e *element) {
	e.left.Store(true)
	t.count(c)
	t.sift(c, News{})
}
