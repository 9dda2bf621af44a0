package mutex

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/waiter"
)

// What an observed mutex does instead, once its fast paths have failed: the same as an unobserved
// one, and it calls the hooks of its record.

var kind = observed.Register(observed.About{Name: "mutex.Mutex", Owned: true}, (*Mutex).observe, (*Mutex).numbers)

func init() {
	const why = " has no bit to spare, and cannot be observed; a mutex.Mutex can"
	observed.Refuse[Word]("a mutex.Word" + why)
	observed.Refuse[Packed]("a mutex.Packed" + why)
	observed.Within(func(lock any) any {
		if g, ok := lock.(interface{ observable() *Mutex }); ok {
			return g.observable()
		}
		return nil
	})
}

func (m *Mutex) observe(on bool) { m.e.Observe(on) }

func (m *Mutex) numbers() observed.Numbers {
	return observed.Numbers{Size: 1, Free: m.permits().Available(), Waiting: m.Waiting()}
}

// mayBeObserved reports whether m is observed, or has to join.
func (m *Mutex) mayBeObserved() bool {
	return m.e.IsObserved() || observed.Everything() != observed.Off
}

// record returns the record of m, which joins if need be.
func (m *Mutex) record() *observed.Record {
	if m.e.IsObserved() {
		return observed.Of(m)
	}
	return kind.Join(m)
}

// lockObservedUntil locks m. It gives up when d, if not 0, has passed, or when ctx is done.
//
//go:noinline
func (m *Mutex) lockObservedUntil(ctx context.Context, d time.Duration) error {
	r, p := m.record(), m.permits()
	if p.TryObserved(1) {
		err := p.Keep(ctx, 1)
		if err == nil {
			r.Took(1, false)
		} else {
			r.FailedWith(err)
		}
		return err
	}
	return m.lockObserved(r, waiter.Until(ctx, d))
}

// lockObserved waits for m, which was not to be had at once.
//
//go:noinline
func (m *Mutex) lockObserved(r *observed.Record, until waiter.Limit) (err error) {
	p := m.permits()
	w := r.Begin(1, false, until.MayEnd())
	err = context.Canceled // should the context panic
	defer func() { w.End(err) }()
	until = w.Limit(until)
	k, atOnce := p.BeginUntil(until, 1)
	if k == nil {
		return atOnce
	}
	k.Sleeper().SleepInline()
	return p.EndUntil(until, k)
}

// tryLockSlow is TryLock when the fast path has failed, because m is locked or observed, or was.
//
//go:noinline
func (m *Mutex) tryLockSlow() bool {
	ok := m.permits().TryObserved(1)
	if m.e.IsObserved() {
		if r := m.record(); ok {
			r.Took(1, false)
		} else {
			r.Failed(observed.Tried)
		}
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
	observed.Of(m).Released(1, false)
	return p.Release(1)
}

// startObserved starts the request of a future.
//
//go:noinline
func (m *Mutex) startObserved(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	return observed.StartFuture(m.record(), m.permits(), w, waker, false)
}
