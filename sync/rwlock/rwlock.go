package rwlock

import (
	"context"
	"sync"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/observed"
)

// An RWLock is a read-write lock: any number of readers hold it, or one writer. Beside the readers
// one upgradable reader may hold it, which can become the writer without letting go. The zero
// RWLock is unlocked. It must not be copied after first use.
//
// An RWLock implements [sync.Locker], as does its RLocker. It is not tied to a goroutine: one
// goroutine may lock it, and another unlock it. It takes 64 bytes on 64-bit machines; sync.RWMutex
// takes 24.
type RWLock struct {
	_ noCopy
	e engine.RW
}

// NewBiased returns an unlocked lock for data that several processors read at once and hardly ever
// write. Its readers announce themselves in a table that such locks share, so they do not compete
// for the lock's cache line. A writer ends the bias: it looks through the lock's part of the table,
// four entries for each processor, and then waits like any other writer. The bias returns when two
// readers overlap, but not before nine times as long has passed as its end took. So frequent writes
// cost at most a tenth more. Order, contexts, timeouts and futures are the same.
//
// Source: Dice and Kogan, BRAVO, arXiv:1810.01553.
func NewBiased() *RWLock {
	l := new(RWLock)
	l.e.InitBias()
	if observed.Everything() != observed.Off {
		kind.Join(l)
	}
	return l
}

// Waiting returns the number of waiters. It takes the lock of the queue, and is meant for tests and
// statistics.
func (l *RWLock) Waiting() int { return l.e.Waiting() }

// RLocker returns a [sync.Locker] whose Lock and Unlock are RLock and RUnlock of l.
func (l *RWLock) RLocker() sync.Locker { return (*rlocker)(l) }

type rlocker RWLock

func (r *rlocker) Lock()   { (*RWLock)(r).RLock() }
func (r *rlocker) Unlock() { (*RWLock)(r).RUnlock() }

// release returns a share, which must be held.
func (l *RWLock) release(n int64, otherwise string) {
	if l.e.IsObserved() {
		l.releasing(n)
	}
	if !l.e.Release(n) {
		panic(otherwise)
	}
}

// usable returns why a request with ctx is none.
func usable(ctx context.Context) error {
	if ctx == nil {
		panic("rwlock: nil context")
	}
	return ctx.Err()
}

// noCopy has vet complain about copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
