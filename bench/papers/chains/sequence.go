package chains

import "context"

// A chain's sequence is the number of its signals. A goroutine that waits for the sequence to move
// needs no function for its condition: it notes the sequence, checks its condition, and waits until
// the sequence differs from the note.
//
//	for {
//		seq := t.Monitor(hash)
//		if condition() {
//			break
//		}
//		t.Wait(ctx, hash, seq)
//	}
//
// Why no wake-up is lost: the signaller changes the condition, then the sequence, then takes the
// chain. A waiter reads the sequence, then the condition, then pushes, then reads the sequence
// again. If it missed the change of the condition, the sequence changes after the first read. Then
// either the second read sees the change, or the signaller finds the pushed element.
//
// In Listing 4 a waiter that finds the sequence moved flushes the chain, and does not try to
// restore what was there, because everything on the chain is said to be out of date, too. That is
// not so: another goroutine may have noted the new sequence, and pushed, between the signal and the
// late push (TestModelBelowIsUpToDate). So here the steps are the same as in WaitUntil.
//
// Source: Listing 4.

// Monitor returns the sequence of the chain of hash.
func (t *Table) Monitor(hash uint64) uint64 { return uint64(t.chain(hash).seq.Load()) }

// Wait waits until the sequence of the chain of hash is not seq, or returns ctx.Err() if ctx is
// done first.
func (t *Table) Wait(ctx context.Context, hash, seq uint64) error {
	t.needSequences()
	c := t.chain(hash)
	return t.until(ctx, c, func() bool { return uint64(c.seq.Load()) != seq }, nothing)
}

// WaitLazy is Wait for callers without Monitor. It returns after any wake, and at once if the
// sequence is not *seq. It stores the last sequence that it has read in *seq, for the next call.
// The caller checks its condition between the calls. *seq is 0 at first.
func (t *Table) WaitLazy(ctx context.Context, hash uint64, seq *uint64) error {
	t.needSequences()
	c, was := t.chain(hash), *seq
	moved := func() bool {
		*seq = uint64(c.seq.Load())
		return *seq != was
	}
	if moved() {
		return nil
	}
	_, err := t.once(ctx, c, moved, nothing)
	return err
}

func (t *Table) needSequences() {
	if !t.sequences {
		panic("chains: a table without sequences")
	}
}
