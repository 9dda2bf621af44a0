package fence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/farad-go/farad/sync/semaphore"
)

// Invariants. A token u is dead if a token t with t.Rev > u.Rev has been presented and u.Lease is
// not among t.Survivors. An operation is inside from its Begin to its End, its eviction if earlier.
//
//	G1  The operations inside have at most the size together, but for those that were inside when
//	    the size fell.                                          TestGateDecidesAsTheRuleSays
//	G2  No operation inside has a dead token.                   TestGateDecidesAsTheRuleSays
//	G3  A token is refused as stale exactly if it is dead; no token returns from the dead.
//	                                                            TestGateDecidesAsTheRuleSays
//	G4  The gate stores one token, at most one more for each of its survivors, and what is inside.
//	                                                            TestGateForgetsWhatItNeedsNot
//	G5  The functions that Do runs have at most the size together, the evicted ones included.
//	                                                            TestDoWaitsForTheEvicted
//
// S2, for a semaphore whose entries keep S1 (their granted weights never exceed the size) and for
// processes that release a permit only after the operation has ended: nobody is refused for want
// of room. Proof. Let m have the greatest revision of the tokens that were presented. A process
// that is inside, or asks to be and is not dead, has a lease that held at m.Rev: otherwise m, or m
// being its own token, says so. Consider such a lease L. Its operations inside are permits that it
// had given out at one time, from blocks that were granted to it up to m.Rev, since a later grant
// would have given one of the tokens a greater revision. As long as a permit is out, its weight
// stays in the entry, unless L is lost as a whole. So the operations of L have at most the weight
// that L held at m.Rev, and those of all leases the size, by S1.
//
// Why the floors say what is dead (G3). For a lease that is not among the newest token's survivors,
// the newest token has the greatest revision of those that leave it out. For the survivors, floors
// has the token with the greatest revision that leaves them out. A lease that enters the
// survivors was left out by the newest token until then, which has the greatest such revision. A
// lease that drops out of them needs no floor any more.

var (
	// ErrFull is the error of an operation for which there is no room. If all processes end an
	// operation before they release its permits, the cause is a size that differs from the fleet's.
	ErrFull = errors.New("fence: more operations inside than permits")
	// ErrNotInside is the error of the end of an operation that has not begun, or has ended.
	ErrNotInside = errors.New("fence: the operation is not inside")
)

// A Gate is what a server checks whose operations are guarded by a semaphore with several permits,
// or by a read-write lock. Tokens come in any order and as late as they like. The gate refuses the
// dead ones, and evicts operations whose token dies while they are inside.
//
// Use [Gate.Do] for operations that run in this process: an HTTP or gRPC handler, a job. Use Begin,
// Check and End where the client is the one who begins and ends, or where one operation is several
// requests. Use Check alone for operations that take no time.
//
// A gate remembers in memory, and forgets with its process. If what it guards survives the process,
// store the text of the token with the greatest revision with it, and Check it after a restart.
type Gate struct {
	mu     sync.Mutex
	size   int64
	used   int64 // the sum of the weights inside
	inside map[identity]*operation
	newest Token           // the token with the greatest revision; zero before the first
	floors map[int64]Token // by survivor of newest: what makes its older tokens dead; without their survivors

	room *semaphore.Semaphore // held by the functions that Do runs: evicted ones are in it and not inside
}

// identity is what distinguishes the tokens of one semaphore.
type identity struct{ rev, seq, lease int64 }

func (t Token) identity() identity { return identity{t.Rev, t.Seq, t.Lease} }

// operation is all that is inside with one token.
type operation struct {
	weight int64           // guarded by the mutex of the gate
	ctx    context.Context // ends at the eviction, with the StaleError as its cause
	evict  context.CancelCauseFunc
}

// NewGate returns a gate for a semaphore of this size. It panics if size is negative. A read-write
// lock of the fleet has a size of 1<<30: a reader begins with 1, a writer with all.
func NewGate(size int64) *Gate {
	return &Gate{
		size:   size,
		inside: make(map[identity]*operation),
		floors: make(map[int64]Token),
		room:   semaphore.New(size),
	}
}

// Resize changes the size, as the semaphore's is changed: before that when it grows, after that
// when it falls. What is inside stays. It panics if size is negative.
func (g *Gate) Resize(size int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.room.Resize(size)
	g.size = size
}

// Check returns nil if t may act. It returns a [StaleError] if t is dead, and ErrMalformed for a
// token that no grant can have made. The gate learns from t which others are dead.
//
// An operation that began with t checks before each of its effects, and stops when it is evicted.
// No newer operation has had an effect then, if they all check in the same critical section
// as the effect. An operation that has not begun is checked for its token only.
func (g *Gate) Check(t Token) error {
	if err := t.check(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.learnLocked(t)
	return g.staleLocked(t)
}

// Begin lets an operation of weight n in. It first evicts what t shows to be dead. The errors are
// those of Check, and ErrFull. Several operations may begin with one token. Begin panics if n is
// not positive.
func (g *Gate) Begin(t Token, n int64) error {
	_, err := g.begin(t, n)
	return err
}

func (g *Gate) begin(t Token, n int64) (*operation, error) {
	if n <= 0 {
		panic("fence: Begin with a weight that is not positive")
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.learnLocked(t)
	if err := g.staleLocked(t); err != nil { // G3
		return nil, err
	}
	if n > g.size-g.used { // G1
		return nil, fmt.Errorf("%w: %d of %d, and %d more", ErrFull, g.used, g.size, n)
	}
	op := g.inside[t.identity()]
	if op == nil {
		op = &operation{}
		op.ctx, op.evict = context.WithCancelCause(context.Background())
		g.inside[t.identity()] = op
	}
	op.weight += n
	g.used += n
	return op, nil
}

// End lets weight n of the operations that began with t out. It returns a [StaleError] if they have
// been evicted, and ErrNotInside if there is less inside.
func (g *Gate) End(t Token, n int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	op := g.inside[t.identity()]
	if op == nil {
		if err := g.staleLocked(t); err != nil {
			return err
		}
		return ErrNotInside
	}
	if n <= 0 || n > op.weight {
		return fmt.Errorf("%w: weight %d of %d", ErrNotInside, n, op.weight)
	}
	op.weight -= n
	g.used -= n
	if op.weight == 0 {
		delete(g.inside, t.identity())
	}
	return nil
}

// Do runs f as an operation of weight n. The context of f carries t. It ends when the operation is
// evicted, with the [StaleError] as its cause; f should return soon.
//
// An evicted f may still run for a while. Do therefore waits for those until there is room, at most
// until ctx is done: the functions that run have the size at most. The errors are those of Begin
// and of ctx, and what f returns; to an error of an evicted f the StaleError is added.
func (g *Gate) Do(ctx context.Context, t Token, n int64, f func(context.Context) error) error {
	op, err := g.begin(t, n)
	if err != nil {
		return err
	}
	defer func() { _ = g.End(t, n) }() // the evicted have left already
	ctx, cancel := context.WithCancelCause(NewContext(ctx, t))
	defer cancel(nil)
	defer context.AfterFunc(op.ctx, func() { cancel(context.Cause(op.ctx)) })()
	err = g.room.Acquire(ctx, n) // G5
	if stale := context.Cause(op.ctx); stale != nil {
		if err == nil {
			g.room.Release(n)
		}
		return stale
	}
	switch {
	case errors.Is(err, semaphore.ErrTooLarge): // the size has fallen since the Begin
		return ErrFull
	case err != nil:
		return err
	}
	defer g.room.Release(n)
	err = f(ctx)
	if stale := context.Cause(op.ctx); err != nil && stale != nil {
		return fmt.Errorf("%w: %w", stale, err)
	}
	return err
}

// learnLocked takes note of which tokens t shows to be dead, and evicts their operations.
func (g *Gate) learnLocked(t Token) {
	by := Token{Rev: t.Rev, Seq: t.Seq, Lease: t.Lease}
	switch {
	case t.Rev > g.newest.Rev:
		floors := make(map[int64]Token, len(g.floors)) // G4: those of leases that drop out are left behind
		for _, lease := range t.Survivors {
			floor, ok := g.floors[lease]
			if !g.newest.survived(lease) && g.newest.Rev > 0 {
				floor, ok = Token{Rev: g.newest.Rev, Seq: g.newest.Seq, Lease: g.newest.Lease}, true
			}
			if ok {
				floors[lease] = floor
			}
		}
		by.Survivors = slices.Clone(t.Survivors) // the caller's may change
		g.newest, g.floors = by, floors
	case t.Rev == g.newest.Rev && slices.Equal(t.Survivors, g.newest.Survivors): // nothing new, as a rule
		return
	default:
		learned := false
		for _, lease := range g.newest.Survivors {
			if t.Rev > g.floors[lease].Rev && !t.survived(lease) {
				g.floors[lease] = by
				learned = true
			}
		}
		if !learned {
			return
		}
	}
	for id, op := range g.inside { // G2
		if err := g.staleLocked(Token{Rev: id.rev, Seq: id.seq, Lease: id.lease}); err != nil {
			delete(g.inside, id)
			g.used -= op.weight
			op.evict(err)
		}
	}
}

// staleLocked returns a StaleError if t is dead. It returns a nil error, not a nil StaleError.
func (g *Gate) staleLocked(t Token) error {
	by := g.floors[t.Lease]
	if !g.newest.survived(t.Lease) {
		by = Token{Rev: g.newest.Rev, Seq: g.newest.Seq, Lease: g.newest.Lease}
	}
	if t.Rev < by.Rev {
		return &StaleError{Token: t, By: by}
	}
	return nil
}
