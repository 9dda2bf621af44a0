// Package chains has the waiting chains of the papers on the waiting array, for comparison with
// what we ship in internal/parking: there a bucket has a lock, a line and exact keys; here it is
// one pointer, without any lock, and a signal wakes all who happen to wait there.
//
// A chain is a stack to which goroutines add themselves, one element each, and from which only all
// are taken together (a pop-stack). Who is woken looks again at what it waits for, and comes back
// if it was woken in vain. There are two ways to wake a chain that has been detached (and one to
// wake a part of it, which has a file of its own, delegated.go):
//
//	Handed   an element is pushed by an exchange. Who is below it only its owner knows. The signaller tells the top, and each
//	         owner, as soon as it is told, the one below it.
//	Walked   an element is pushed by a compare-and-swap, after the link to the one below has been written into it. The
//	         signaller goes down the links and tells all.
//
//	              detached by an exchange
//	chain -> | C | -> | B | -> | A |        Handed: signaller tells C, C's owner tells B, B's owner tells A
//	           C came last                  Walked: signaller tells C, B, A
//
// Whoever does not want to wait any more after its push has to get off the chain before it may go
// on: because what it waits for has come meanwhile (the papers call it a mis-queue), or because its
// context is done, which the papers do not have. Both take the same steps, of which the first that
// applies is the last (see expel):
//
//  1. It is at the top: it puts back what was there, by a compare-and-swap, as if it had never
//     come.
//  2. It has been told already, or the chain is empty: it is off the chain.
//  3. Anything else: it flushes the chain. All on it are told, and itself among them.
//
// So who gives up may wake others in vain, and waits for those above it to pass on the wake; but
// chains mostly have one element, and then the first step does. The alternative, to leave the
// element behind for whoever detaches the chain, would wake nobody. But where nobody signals, waits
// that time out again and again would make the chain grow without end. And a wake that is handed
// down would have to get past such an element: the links would have to be written into all of them,
// and each tell would race with the owner. With the flush there is no element without an owner, so
// a wake that is handed down never stops, and to give up needs no code of its own. (Location is the
// exception, as in the paper: it leaves its element for later. It is for walked chains alone.)
//
// Invariants, each with a test that fails without it:
//
//  1. An element is pushed by its owner alone, once in a use, and is told exactly once or taken off
//     by its owner, at the top, but not both. (TestModelChains, whose Always looks for elements
//     that are told and still there; tell panics)
//  2. Handed: whoever holds the only reference to an element below tells it: the owner of the one
//     above, when it is told or when it flushes. So every element of a detached chain is told,
//     whatever its owners want by then. (TestModelChains/cancel)
//  3. What is below an element on a chain stays the same as long as it is there: nobody but the top
//     can leave. So the compare-and-swap of the first step puts back what is right, however often
//     the element has been used before. (TestModelChains/reuse)
//  4. The token that the parker gets is the last that others do to an element. The owner goes on
//     only when it has received it, or when nobody has been able to reach the element; only then
//     does it return to the pool. (TestModelChains under -race)
//  5. Handed: the owner passes the wake on before it does anything else, and calls nobody's
//     function in between. (TestWakeIsPassedOnFirst)
//
// Why no wake-up is lost: who waits pushes first and looks at its condition then; who signals
// changes the condition first and takes the chain then, or looks whether it is empty. The atomics
// are sequentially consistent, so one of them sees the other.
//
// Who makes progress: every step is a single atomic operation but for the push of Walked, which
// goes round only when another has pushed or detached. Who leaves by a flush waits for those who
// are to tell it: they have been woken or are running.
//
// Source: Dice and Kogan, Semaphores Augmented with a Waiting Array (Oracle Labs), Listing 3
// (Handed, the mis-queue), Listing 4 (sequences), Listing 5 (Walked, locations); for the news,
// section 2.
package chains

import (
	"context"

	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Wake is how all of a detached chain are woken.
type Wake int

// The ways to wake.
const (
	Handed    Wake = iota // from one to the next
	Walked                // by the signaller
	Delegated             // by the signaller, who leaves those whose condition does not hold: see delegated.go
)

// Config says what a table is like.
type Config struct {
	Chains    int  // how many, a power of two
	Wake      Wake // how they are woken
	Sequences bool // signals are counted, for Monitor, Wait and WaitLazy: one addition more for each, which Delegated has anyway
}

// A Table is an array of chains. Whoever waits and whoever signals agree on a hash.
type Table struct {
	chains    []chain
	wake      Wake
	sequences bool
}

// A chain is a slot of the table. Like the papers' it fills no cache line: their hashes place what
// belongs together in different ones.
type chain struct {
	top xsync.Pointer[element] // who came last; whoever waits pushes, whoever signals or leaves takes all
	seq xsync.Int64            // how many signals there have been, with Config.Sequences and with Delegated
}

// An element stands on a chain for one wait of its owner.
type element struct {
	parker *waiter.Parker // how the owner sleeps; written by it before the push, read by whoever tells
	below  *element       // Walked, Delegated: written before a push, read by whoever detached. Handed: the owner's
	news   News           // written by whoever tells, read by the owner when it has the token
	holds  func() bool    // Delegated: what it waits for, if others are to ask; written before the push
	told   xsync.Bool     // set by whoever tells, just before the token; cleared by the owner
	left   xsync.Bool     // Delegated: it does not want to wait any more; set by the owner, cleared before the push

	_ [128 - 6*8]byte // two lines, since some processors fetch them in pairs
}

// News is what a signal may have to say to whoever it wakes, so that a ticket's owner need not look
// at the semaphore, where all others do. The zero News says nothing.
type News struct {
	Semaphore uint64
	Grant     int64 // how many of its tickets had been granted
}

var elements = xsync.Pool{New: func() any { return new(element) }}

// New returns a table.
func New(c Config) *Table {
	if c.Chains < 1 || c.Chains&(c.Chains-1) != 0 {
		panic("chains: the number of chains is not a power of two")
	}
	return &Table{chains: make([]chain, c.Chains), wake: c.Wake, sequences: c.Sequences || c.Wake == Delegated}
}

func (t *Table) chain(hash uint64) *chain { return &t.chains[hash&uint64(len(t.chains)-1)] }

// WaitUntil waits until satisfied returns true, which it calls before it goes to sleep and after
// each wake, and never again after that. Whoever makes it true calls Signal afterwards, with the
// same hash. If ctx is done first it returns ctx.Err(), although the condition may have come true
// since satisfied was asked. satisfied must not panic: the element would stay behind.
func (t *Table) WaitUntil(ctx context.Context, hash uint64, satisfied func() bool) error {
	return t.until(ctx, t.chain(hash), satisfied, nothing)
}

// WaitNews is WaitUntil, but after a wake it asks enough about the news that came with it first,
// and returns if they are.
func (t *Table) WaitNews(ctx context.Context, hash uint64, satisfied func() bool, enough func(News) bool) error {
	return t.until(ctx, t.chain(hash), satisfied, enough)
}

func nothing(News) bool { return false }

func (t *Table) until(ctx context.Context, c *chain, satisfied func() bool, enough func(News) bool) error {
	for !satisfied() { // A turn follows a wake: a signal for this chain, or somebody who left it.
		if ok, err := t.once(ctx, c, satisfied, enough); ok || err != nil {
			return err
		}
	}
	return nil
}

// once waits for one wake, unless satisfied returns true, which it calls when it is on the chain.
// It reports whether satisfied did, or enough of the news.
func (t *Table) once(ctx context.Context, c *chain, satisfied func() bool, enough func(News) bool) (bool, error) {
	e := t.enter(ctx, c)
	if satisfied() {
		e.end(!t.expel(c, e))
		return true, nil
	}
	n, err := t.sleep(ctx, c, e)
	return err == nil && enough(n), err
}

// enter pushes an element, whose owner is the caller.
func (t *Table) enter(ctx context.Context, c *chain) *element {
	e := elements.Get().(*element)
	e.parker = waiter.GetParker(waiter.UntilDone(ctx))
	if t.wake == Handed {
		e.below = c.top.Swap(e)
	} else {
		c.push(e, e)
	}
	return e
}

// push pushes the elements from first down to last, which are linked.
func (c *chain) push(first, last *element) {
	for last.below = nil; !c.top.CompareAndSwap(last.below, first); { // A turn is lost only to another's success.
		last.below = c.top.Load()
	}
}

// sleep waits until e is told, ends its use, and returns the news.
func (t *Table) sleep(ctx context.Context, c *chain, e *element) (News, error) {
	if !e.parker.Park(waiter.UntilDone(ctx)) {
		e.end(!t.expel(c, e))
		return News{}, waiter.ContextError(ctx)
	}
	n := e.news
	t.passOn(e, n)
	e.parker.Put()
	e.free()
	return n, nil
}

// expel gets e, whose owner has not received the token, off its chain. It reports whether it has
// taken it off; if not, the token is here or on its way.
func (t *Table) expel(c *chain, e *element) bool {
	if t.wake == Delegated {
		t.resign(c, e)
		return false
	}
	if c.top.CompareAndSwap(e, e.below) { // invariant 3
		return true
	}
	var above *element
	if !e.told.Load() && c.top.Load() != nil {
		above = c.top.Swap(nil) // before those below are woken, who might come back and be woken again
	}
	t.passOn(e, News{}) // those below came first
	t.tell(above, News{})
	return false
}

// passOn tells who is below e, if that is its owner's duty.
func (t *Table) passOn(e *element, n News) {
	if t.wake == Handed {
		t.tell(e.below, n)
	}
}

// tell tells e, which the caller alone can reach, if it is not nil; and with it, sooner or later,
// all below.
func (t *Table) tell(e *element, n News) {
	if t.wake == Handed {
		if e != nil {
			e.tell(n)
		}
		return
	}
	for e != nil {
		below := e.below // read first: what has been told is its owner's again
		e.tell(n)
		e = below
	}
}

// tell tells e's owner.
func (e *element) tell(n News) {
	e.news = n
	if e.told.Swap(true) {
		panic("chains: an element was told twice")
	}
	e.parker.Deliver(waiter.Granted)
}

// end ends the use of e, which has been taken off its chain, or told; then it waits for the token.
func (e *element) end(told bool) {
	e.parker.Withdraw(told)
	e.free()
}

func (e *element) free() {
	e.parker, e.below, e.holds = nil, nil, nil
	e.told.Store(false)
	elements.Put(e)
}

// Signal wakes all who wait with this hash, and all others on the same chain.
func (t *Table) Signal(hash uint64) {
	c := t.chain(hash)
	t.count(c)
	t.detach(c, News{})
}

// SignalPolite is Signal, but does not write where nobody waits.
func (t *Table) SignalPolite(hash uint64) { t.SignalNews(hash, News{}) }

// SignalNews is SignalPolite, and gives all whom it wakes the news.
func (t *Table) SignalNews(hash uint64, n News) {
	c := t.chain(hash)
	t.count(c)
	if c.top.Load() != nil {
		t.detach(c, n)
	}
}

// detach takes all off a chain and tells them, or with Delegated those whom it concerns.
func (t *Table) detach(c *chain, n News) {
	if t.wake == Delegated {
		t.sift(c, n)
		return
	}
	t.tell(c.top.Swap(nil), n)
}

func (t *Table) count(c *chain) {
	if t.sequences {
		c.seq.Add(1)
	}
}
