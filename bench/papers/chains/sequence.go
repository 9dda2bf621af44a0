package chains

import "context"

// A chain's sequence is the number of its signals. Who waits for it to move needs no function that
// tells whether to wait: it notes the sequence, looks at whatever it waits for, and waits for the
// sequence to move from what it noted.
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
// chain. Who waits reads the sequence, then the condition, then pushes, then reads the sequence
// again. If the condition changed too late to be seen, the sequence changes later than it was
// noted; then the second look sees it, or the push was early enough for the signaller.
//
// In Listing 4 who finds the sequence moved flushes the chain without trying to put back what was
// there, because all on the chain were out of date, too. That is not so: somebody may have noted
// the new sequence, and pushed, between the signal and the late push (TestModelBelowIsUpToDate). So
// here the same steps are taken as in WaitUntil.
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
// sequence is not *seq, and leaves in *seq what it has seen last, which the caller gives to the
// next call, having looked at its condition in between. *seq is 0 at first.
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
