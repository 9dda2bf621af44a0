// Package chains implements the waiting chains of the papers on the waiting array, for comparison
// with internal/parking. A bucket of internal/parking has a lock, a line and exact keys. A chain is
// a single pointer without a lock, and a signal wakes every goroutine that waits there. Read this
// file first. The package may import internal/waiting and internal/xsync.
//
// A chain is a stack to which each goroutine adds one element, and from which all are removed
// together (a pop-stack). A goroutine that is woken checks its condition again, and comes back if
// the condition does not hold. There are two ways to wake a detached chain. A third, in
// delegated.go, wakes a part of it.
//
//	Handed   An exchange pushes the element, so only its owner knows the element below.
//	         The signaller notifies the top. Each owner, once notified, first notifies the one
//	         below.
//	Walked   A compare-and-swap pushes the element, after the link to the one below is written
//	         into it. The signaller follows the links and notifies every element.
//
//	              detached by an exchange
//	chain -> | C | -> | B | -> | A |    Handed: signaller notifies C, C's owner B, B's owner A
//	           C came last              Walked: signaller notifies C, B, A
//
// A goroutine may stop waiting after its push: its condition has come true meanwhile (the papers
// call this a mis-queue), or its context is done, which the papers do not have. It must then get
// its element off the chain. Both cases take the first of these steps that applies (see expel):
//
//  1. The element is at the top: a compare-and-swap restores what was there before the push.
//  2. The element has been notified already, or the chain is empty: the element is off the chain.
//  3. Otherwise the goroutine flushes the chain, which notifies every element on it, including its
//     own.
//
// So a goroutine that gives up may wake others without need, and waits until those above it have
// passed the wake on. Most chains have one element, and then the first step applies.
//
// The alternative is to leave the element behind for the next signaller, which wakes none. But
// where no goroutine signals, repeated timeouts would then grow the chain without bound. A wake
// that is handed down would also have to get past abandoned elements: every element would need its
// link, and each notification would race with the owner. With the flush every element has an owner,
// so a wake that is handed down never stops, and giving up needs no code of its own. Location is
// the exception, as in the paper: it leaves its element for later, and works on walked chains only.
//
// Invariants, each with a test that fails without it:
//
//  1. Only its owner pushes an element, once per use. It is then either notified exactly once, or
//     taken off at the top by its owner. (TestModelChains, whose Always looks for elements that are
//     notified and still there; notify panics)
//  2. Handed: the goroutine that holds the only reference to an element notifies it. That is the
//     owner of the element above, when it is notified or when it flushes. So every element of a
//     detached chain is notified, even if owners are giving up. (TestModelChains/cancel)
//  3. What is below an element does not change while the element is on a chain, because only the
//     top can leave. So the compare-and-swap of the first step restores the right value, however
//     often the element has been reused. (TestModelChains/reuse)
//  4. The token for the parker is the last access of others to an element. The owner continues only
//     after it has received the token, or when no other goroutine could reach the element. Only
//     then does the element return to the pool. (TestModelChains under -race)
//  5. Handed: the owner passes the wake on before it does anything else, and calls no function of
//     its caller in between. (TestWakeIsPassedOnFirst)
//
// Why no wake-up is lost: a waiter pushes first and then checks its condition. A signaller changes
// the condition first and then takes the chain, or checks whether it is empty. The atomics are
// sequentially consistent, so one of the two sees the other.
//
// Progress: every step is a single atomic operation except the push of Walked, which retries only
// after another push or detach has succeeded. A goroutine that leaves by a flush waits for those
// that will notify it: they have been woken or are running.
//
// Source: Dice and Kogan, Semaphores Augmented with a Waiting Array (Oracle Labs), Listing 3
// (Handed, the mis-queue), Listing 4 (sequences), Listing 5 (Walked, locations); for the news,
// section 2.
package chains

import (
	"context"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A Wake is the way to wake the elements of a detached chain.
type Wake int

// The ways to wake.
const (
	Handed    Wake = iota // each owner wakes the next
	Walked                // the signaller wakes all
	Delegated             // the signaller wakes those whose condition holds: see delegated.go
)

// Config configures a table.
type Config struct {
	Chains    int  // how many, a power of two
	Wake      Wake // how they are woken
	Sequences bool // count signals, for Monitor, Wait and WaitLazy; Delegated always does
}

// A Table is an array of chains. A waiter and its signaller use the same hash.
type Table struct {
	chains    []chain
	wake      Wake
	sequences bool
}

// A chain is a slot of the table. As in the papers it does not fill a cache line: the hashes spread
// neighbouring tickets over different lines.
type chain struct {
	top xsync.Pointer[element] // the newest; a waiter pushes, a signal or a flush takes all
	seq xsync.Int64            // number of signals, with Config.Sequences or Delegated
}

// An element is on a chain for one wait of its owner.
type element struct {
	parker   *waiting.Parker // written by the owner before the push, read by the notifier
	below    *element        // Handed: the owner's. Others: written before a push, read after a detach
	news     News            // written by the notifier, read by the owner after the token
	holds    func() bool     // Delegated: the condition, for others to call; written before the push
	notified xsync.Bool      // set by the notifier just before the token; cleared by the owner
	left     xsync.Bool      // Delegated: gives up; set by the owner, cleared before the push

	_ [128 - 6*8]byte // two lines, because some processors fetch them in pairs
}

// News is what a signal passes to the goroutines it wakes. With it, the owner of a ticket need not
// read the contended semaphore. The zero News says nothing.
type News struct {
	Semaphore uint64
	Grant     int64 // how many of its tickets have been granted
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

// WaitUntil waits until satisfied returns true. It calls satisfied before it sleeps and after each
// wake, and never again after satisfied has returned true. The goroutine that makes the condition
// true calls Signal afterwards, with the same hash. If ctx is done first, WaitUntil returns
// ctx.Err(), even if the condition has come true since the last call of satisfied. satisfied must
// not panic: the element would stay behind.
func (t *Table) WaitUntil(ctx context.Context, hash uint64, satisfied func() bool) error {
	return t.until(ctx, t.chain(hash), satisfied, nothing)
}

// WaitNews is WaitUntil, but after a wake it first calls enough with the news of the signal, and
// returns if that reports true.
func (t *Table) WaitNews(ctx context.Context, hash uint64, satisfied func() bool, enough func(News) bool) error {
	return t.until(ctx, t.chain(hash), satisfied, enough)
}

func nothing(News) bool { return false }

func (t *Table) until(ctx context.Context, c *chain, satisfied func() bool, enough func(News) bool) error {
	for !satisfied() { // A turn follows a wake: by a signal for this chain, or by a flush.
		if ok, err := t.once(ctx, c, satisfied, enough); ok || err != nil {
			return err
		}
	}
	return nil
}

// once waits for one wake, unless satisfied returns true, which it calls after the push. It reports
// whether satisfied or enough did.
func (t *Table) once(ctx context.Context, c *chain, satisfied func() bool, enough func(News) bool) (bool, error) {
	e := t.enter(ctx, c)
	if satisfied() {
		e.end(!t.expel(c, e))
		return true, nil
	}
	n, err := t.sleep(ctx, c, e)
	return err == nil && enough(n), err
}

// enter pushes a new element for the caller.
func (t *Table) enter(ctx context.Context, c *chain) *element {
	e := elements.Get().(*element)
	e.parker = waiting.GetParker(waiting.UntilDone(ctx))
	if t.wake == Handed {
		e.below = c.top.Swap(e)
	} else {
		c.push(e, e)
	}
	return e
}

// push pushes the linked elements from first down to last.
func (c *chain) push(first, last *element) {
	// Another push or detach makes the compare-and-swap fail.
	for last.below = nil; !c.top.CompareAndSwap(last.below, first); {
		last.below = c.top.Load()
	}
}

// sleep waits until e is notified, ends its use, and returns the news.
func (t *Table) sleep(ctx context.Context, c *chain, e *element) (News, error) {
	if !e.parker.Park(waiting.UntilDone(ctx)) {
		e.end(!t.expel(c, e))
		return News{}, waiting.ContextError(ctx)
	}
	n := e.news
	t.passOn(e, n)
	e.parker.Put()
	e.free()
	return n, nil
}

// expel gets e, whose owner has not received the token, off its chain. It reports whether the
// caller has taken it off. If not, the token has arrived or is on its way.
func (t *Table) expel(c *chain, e *element) bool {
	if t.wake == Delegated {
		t.resign(c, e)
		return false
	}
	if c.top.CompareAndSwap(e, e.below) { // invariant 3
		return true
	}
	var above *element
	if !e.notified.Load() && c.top.Load() != nil {
		above = c.top.Swap(nil) // before those below wake: they might come back
	}
	t.passOn(e, News{}) // those below came first
	t.notify(above, News{})
	return false
}

// passOn notifies the element below e, if that is the duty of e's owner.
func (t *Table) passOn(e *element, n News) {
	if t.wake == Handed {
		t.notify(e.below, n)
	}
}

// notify notifies e, if it is not nil, and all elements below, directly or through their owners.
// Only the caller can reach e.
func (t *Table) notify(e *element, n News) {
	if t.wake == Handed {
		if e != nil {
			e.notify(n)
		}
		return
	}
	for e != nil {
		below := e.below // read first: once notified, an element belongs to its owner
		e.notify(n)
		e = below
	}
}

// notify notifies e's owner.
func (e *element) notify(n News) {
	e.news = n
	if e.notified.Swap(true) {
		panic("chains: an element was notified twice")
	}
	e.parker.Deliver(waiting.Granted)
}

// end ends the use of e, which has been taken off its chain or notified. In the second case it
// waits for the token.
func (e *element) end(notified bool) {
	e.parker.Withdraw(notified)
	e.free()
}

func (e *element) free() {
	e.parker, e.below, e.holds = nil, nil, nil
	e.notified.Store(false)
	elements.Put(e)
}

// Signal wakes all waiters with this hash, and all others on the same chain.
func (t *Table) Signal(hash uint64) {
	c := t.chain(hash)
	t.count(c)
	t.detach(c, News{})
}

// SignalPolite is Signal, but does not write to an empty chain.
func (t *Table) SignalPolite(hash uint64) { t.SignalNews(hash, News{}) }

// SignalNews is SignalPolite, and gives the news to all goroutines that it wakes.
func (t *Table) SignalNews(hash uint64, n News) {
	c := t.chain(hash)
	t.count(c)
	if c.top.Load() != nil {
		t.detach(c, n)
	}
}

// detach takes all elements off a chain and notifies them; with Delegated, only those whose
// condition holds.
func (t *Table) detach(c *chain, n News) {
	if t.wake == Delegated {
		t.sift(c, n)
		return
	}
	t.notify(c.top.Swap(nil), n)
}

func (t *Table) count(c *chain) {
	if t.sequences {
		c.seq.Add(1)
	}
}
