package engine

import (
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// Reader bias: readers announce themselves in a table instead of on the lock's word. So the readers
// of one lock, on several processors, do not fight for a cache line. A writer looks at the word
// only, so it has to end the bias first.
//
// While a lock is biased, the bias holds a share of its permits on behalf of all readers that hide
// in the table. So a writer finds too few permits and queues, as always. The request that queues
// ends the bias: for each hidden reader it takes a permit from the share of the bias and empties
// the reader's slot. Then it returns the rest of the share. That needs no waiting, only a look at
// each row of the table. From then on the writer waits for counted readers, with a context, a
// timeout, or as a future.
//
// Slots and permits are fungible. A reader that leaves empties any slot of the lock, preferably the
// one that it filled. If it finds none it returns a permit. So RUnlock need not know how, on which
// stack or in which goroutine RLock ended.
//
// Invariants:
//
//  1. The slots that hold the lock, plus the readers that the word counts, are the readers that
//     read, plus those that have filled a slot and not yet looked at the word again.
//     (TestModelRW/bias)
//  2. When mu is free, W and the bias exclude each other: a waiter sees all readers in the word.
//  3. A reader that has filled a slot may read if it then finds the lock biased and W clear. It may
//     also read if the slot is not its own any more: then a permit was taken for it.
//  4. While the lock is not biased, each slot that holds it is one whose reader has filled it and
//     not yet looked again. So no slot stands for one that reads. (TestModelRWConforms)
//
// Why 3 is safe: W is set before the slots are looked at. A reader that has seen W clear afterwards
// had filled its slot before, and is found there. A reader that sees W set and finds its slot taken
// has been counted meanwhile, in the word or in another slot. That unit is there until a reader
// returns one.
//
// Source: Dice and Kogan, BRAVO – Biased Locking for Reader-Writer Locks (USENIX ATC 2019,
// arXiv:1810.01553). There the writer, holding the lock, spins until the readers have emptied all
// slots, and RUnlock gets the slot as an argument.

// A bias is what an RW with reader bias has besides its engine.
type bias struct {
	table  table
	column uintptr
	id     int64 // what the lock's readers put into their slots, unique to the lock

	// until is when the lock may be biased again. Earlier it would not pay, because revoking is
	// expensive.
	until xsync.Int64
}

const (
	probes uintptr = 4 // how many rows a reader tries

	// After a revocation the lock stays unbiased for inhibition times the duration of it, so that
	// revocations take a tenth of the time at most. (BRAVO's N.)
	inhibition = 9
)

// A table is shared by many locks. It is rows of columns slots, one after the other; the number of
// rows is a power of two. A free slot is 0. A lock has a column, maybe together with other locks. A
// reader begins at a row that the address of its stack gives. Goroutines have different stacks, and
// RUnlock usually finds the row of RLock.
type table []xsync.Int64

func newTable(rows int) table { return make(table, rows*columns) }

func (b *bias) slot(row uintptr) *xsync.Int64 {
	return &b.table[(row*columns+b.column)&uintptr(len(b.table)-1)]
}

func (b *bias) rows() uintptr { return uintptr(len(b.table) / columns) }

// InitBias makes l, which is zero, a lock with reader bias, biased.
func (l *RW) InitBias() {
	l.Opts = new(Options)
	l.Opts.bias.init()
	l.word.Store(-hiding << permitShift)
}

// isBiased reports whether readers may hide or be hidden.
func (o State) isBiased() bool {
	h := o.heldRW()
	return h&hiding != 0 && h != Everyone
}

// Hide lets a reader in through the table, if readers may hide and there is room.
func (l *RW) Hide(row uintptr) bool {
	e := l.permits()
	o := e.Look()
	if o&flags != 0 || !o.isBiased() {
		return false
	}
	b := &e.Opts.bias
	for i := range int(probes) {
		s := b.slot(row + uintptr(i))
		if !s.CompareAndSwap(0, b.id) {
			continue
		}
		if e.Look() == o { // still biased, and W clear; or so again, which is as good
			return true
		}
		return !s.CompareAndSwap(b.id, 0) // invariant 3
	}
	return false
}

// Leave lets a reader out through the table, if it finds a hidden one. It looks first where Hide
// began, and at the next page, because RUnlock may be called at another depth of the stack.
func (l *RW) Leave(row uintptr) bool {
	if !l.MayHide() {
		return false
	}
	b := &l.Opts.bias
	if b.empty(b.slot(row)) || b.empty(b.slot(row+1)) || b.empty(b.slot(row-1)) {
		return true
	}
	for i := range int(b.rows()) {
		if b.empty(b.slot(row + uintptr(i))) {
			return true
		}
	}
	return false
}

// empty empties a slot if it holds the lock, and reports whether it did.
func (b *bias) empty(s *xsync.Int64) bool { return s.Load() == b.id && s.CompareAndSwap(b.id, 0) }

// Rebias makes the lock biased if it may be. The caller is a reader that was not alone or had to
// wait.
func (l *RW) Rebias() {
	e := l.permits()
	if e.Opts == nil {
		return
	}
	o := e.Look()
	if o&flags == 0 && !o.isBiased() && xsync.Now() >= e.Opts.bias.until.Load() {
		e.Take(o, hiding) // room is left for it: see rw.go
	}
}

// MayHide reports whether there may be hidden readers, which are in a writer's way without holding
// permits.
func (l *RW) MayHide() bool { return l.permits().Look().isBiased() }

// Unbias ends the bias. All readers are then counted.
func (l *RW) Unbias() {
	l.mu.Lock()
	l.word.Or(flagWaiters)
	l.unbiasLocked()
}

// unbiasLocked ends the bias and serves the waiters, for which the share of the bias may suffice. W
// is set. unbiasLocked unlocks mu.
func (l *RW) unbiasLocked() {
	var wake waiting.WakeList
	l.revealLocked()
	l.permits().serveLocked(&wake) // clears W if there is no waiter
	l.mu.Unlock()
	deliver(l, &wake)
}

// revealLocked ends the bias. W is set.
func (l *RW) revealLocked() {
	e := l.permits()
	o := e.Look()
	if !o.isBiased() {
		return
	}
	b, start, hidden := &e.Opts.bias, xsync.Now(), int64(0)
	for i := range int(b.rows()) {
		if b.empty(b.slot(uintptr(i))) {
			hidden++ // its reader will look for a permit and wait for mu
		}
	}
	e.word.Store(int64(o) + (hiding-hidden)<<permitShift)
	end := xsync.Now()
	b.until.Store(end + inhibition*(end-start))
}
