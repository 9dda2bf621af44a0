package mutex

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/waiting"
)

// requested is what a caller asks for, and returns.
var requested = observed.Request{N: 1}

var kind = observed.Register(observed.About{Name: "mutex.Mutex", Owned: true, Inside: inside},
	(*Mutex).observe, (*Mutex).numbers)

func init() {
	const why = " has no bit to spare, and cannot be observed; a mutex.Mutex can"
	observed.Refuse[Word]("a mutex.Word" + why)
	observed.Refuse[Packed]("a mutex.Packed" + why)
}

// inside returns the mutex of a guard.
func inside(x any) any {
	if g, ok := x.(interface{ observable() *Mutex }); ok {
		return g.observable()
	}
	return nil
}

func (m *Mutex) observe(on bool) { m.e.Observe(on) }

func (m *Mutex) numbers() observed.Numbers {
	free, waiting := m.permits().Glance()
	return observed.Numbers{Size: 1, Free: free, Waiting: waiting}
}

func (m *Mutex) mayBeObserved() bool { return observed.MayBe(m.e.IsObserved()) }

// record returns the record of m, which joins if need be.
func (m *Mutex) record() observed.Record { return kind.Record(m, m.e.IsObserved()) }

// lockObserved is the slow path of LockContext and LockTimeout, d > 0, of an observed mutex.
//
//go:noinline
func (m *Mutex) lockObserved(ctx context.Context, d time.Duration) error {
	r, p := m.record(), m.permits()
	if p.TryObserved(1) {
		return r.AtOnce(requested, p.Keep(ctx, 1))
	}
	return observed.Await(r, requested, waiting.Until(ctx, d), func(l waiting.Limit) error { return p.Wait(l, 1) })
}

// tryLockSlow is TryLock when the fast path has failed, because m is locked or observed, or was.
//
//go:noinline
func (m *Mutex) tryLockSlow() bool {
	ok := m.permits().TryObserved(1)
	if m.e.IsObserved() {
		observed.Of(m).Tried(requested, ok)
	}
	return ok
}

// unlockObserved unlocks m, and records that.
//
//go:noinline
func (m *Mutex) unlockObserved() bool {
	p := m.permits()
	if p.Available() > 0 {
		return false
	}
	observed.Of(m).Released(requested)
	return p.Release(1)
}
