package chains

import "context"

// A Location is where one goroutine waits in a loop, for one condition after another:
//
//	l := t.NewLocation(ctx)
//	defer l.Close()
//	for !condition() {
//		if err := l.Wait(hash); err != nil { ... }
//	}
//
// Its calls of Wait alternate. The first pushes and returns at once, so that the caller checks its
// condition again, which closes the race with a signal. The second sleeps. If the caller does not
// make the second call, the element stays on the chain. It is taken off when the location is used
// for another chain, or closed. Until then a signal wakes it at most once without need, and the
// owner need not notice. A wake that is handed down would stop there, so locations need walked
// chains.
//
// The owner does not wait at once for an element that was flushed: another goroutine may be about
// to notify it. Two elements alternate, so that the next push does not wait (the papers'
// pipelining).
//
// Invariants:
//
//  1. At most one element, e, is on a chain. At most one other, old, has been notified or is about
//     to be. (TestModelLocation)
//  2. After Close nothing is on a chain. (TestModelLocation)
//
// Source: Listing 5. There the element belongs to the thread. Here it belongs to the location,
// because goroutines have no local variables.
type Location struct {
	table *Table
	ctx   context.Context // the parkers' context: an element may outlive the call that pushed it
	on    *chain          // where e is; nil: nowhere
	e     *element
	old   *element // off its chain; its token has not been received

	address uint64 // for WaitAddress: the last address, and its slot
	found   *chain
}

// NewLocation returns a location for waits that ctx ends.
func (t *Table) NewLocation(ctx context.Context) *Location {
	if t.wake != Walked {
		panic("chains: a location needs walked chains")
	}
	return &Location{table: t, ctx: ctx}
}

// Wait pushes an element and returns. If the previous call has pushed one to the same chain, Wait
// sleeps until there is a signal. If the context is done first, it returns ctx.Err().
func (l *Location) Wait(hash uint64) error { return l.wait(l.table.chain(hash)) }

// WaitAddress is Wait for an address, or another number, that has not been hashed. It remembers
// where the last one was. Signals use Mix32A of the address.
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
