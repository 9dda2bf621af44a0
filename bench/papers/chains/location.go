package chains

import "context"

// A Location is where one goroutine waits, for one thing after the other, in a loop of its own:
//
//	l := t.NewLocation(ctx)
//	defer l.Close()
//	for !condition() {
//		if err := l.Wait(hash); err != nil { ... }
//	}
//
// Its calls of Wait alternate: the first pushes and returns at once, so that the caller looks at
// its condition again, which closes the race with a signal; the second sleeps. If the caller does
// not come back for the second the element stays where it is, and is taken off when the location is
// used for another chain or closed. In between it is woken in vain at most once: what a signal does
// to it the owner need not see. Handed down, a wake would stop there, so this is for walked chains
// alone.
//
// The element that is flushed from a chain is not waited for at once: somebody else may be about to
// tell it. Two elements take turns, so that the next push does not wait for that (the papers'
// pipelining).
//
// Invariants:
//
//  1. At most one element is on a chain, e, and at most one besides has been told or is about to
//     be, old. (TestModelLocation)
//  2. After Close nothing is on a chain. (TestModelLocation)
//
// Source: Listing 5. There the element is the thread's, here, for goroutines have no variables of
// their own, the location's.
type Location struct {
	table *Table
	ctx   context.Context // the parkers are made for it, and an element may outlive the call that pushed it
	on    *chain          // where e is; nil: nowhere
	e     *element
	old   *element // off its chain; its token has not been received

	address uint64 // for WaitAddress: what was looked up last, and where it is
	found   *chain
}

// NewLocation returns a location for waits that ctx ends.
func (t *Table) NewLocation(ctx context.Context) *Location {
	if t.wake != Walked {
		panic("chains: a location needs walked chains")
	}
	return &Location{table: t, ctx: ctx}
}

// Wait pushes, or if the last call has done so for the same chain, sleeps until there is a signal
// or the context is done; then it returns ctx.Err().
func (l *Location) Wait(hash uint64) error { return l.wait(l.table.chain(hash)) }

// WaitAddress is Wait for any address, or other number, that has not been hashed. It remembers
// where the last one was. Signals are for Mix32A of it.
func (l *Location) WaitAddress(address uint64) error {
	if l.found == nil || l.address != address {
		l.address, l.found = address, l.table.chain(Mix32A(address))
	}
	return l.wait(l.found)
}

func (l *Location) wait(c *chain) error {
	if l.on == c {
		e := l.e
		l.on, l.e = nil, nil
		_, err := l.table.sleep(l.ctx, c, e)
		return err
	}
	l.leave()
	l.on, l.e = c, l.table.enter(l.ctx, c)
	return nil
}

// leave gets the element off its chain, if it is on one.
func (l *Location) leave() {
	if l.on == nil {
		return
	}
	c, e := l.on, l.e
	l.on, l.e = nil, nil
	if l.table.expel(c, e) {
		e.end(false)
		return
	}
	l.settle()
	l.old = e
}

// settle waits for the token of the old element.
func (l *Location) settle() {
	if l.old != nil {
		l.old.end(true)
		l.old = nil
	}
}

// Close ends the use of l. It may be used again.
func (l *Location) Close() {
	l.leave()
	l.settle()
}
