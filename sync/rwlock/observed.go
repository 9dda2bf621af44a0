package rwlock

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/waiter"
)

// What an observed lock does instead, once its fast paths have failed: the same as an unobserved
// one, and it calls the hooks of its record. To the record the permits of the engine are the
// permits of the lock: a reader holds one, a writer all, an upgradable reader more than half.

var kind = observed.Register(observed.About{Name: "rwlock.RWLock", Owned: true}, (*RWLock).observe, (*RWLock).numbers)

func init() {
	observed.Within(func(lock any) any {
		if g, ok := lock.(interface{ observable() *RWLock }); ok {
			return g.observable()
		}
		return nil
	})
}

func (l *RWLock) observe(on bool) { l.e.Observe(on) }

func (l *RWLock) numbers() observed.Numbers {
	return observed.Numbers{Size: engine.Everyone, Free: l.e.Available(), Waiting: l.Waiting()}
}

// mayBeObserved reports whether l is observed, or has to join.
func (l *RWLock) mayBeObserved() bool {
	return l.e.IsObserved() || observed.Everything() != observed.Off
}

// record returns the record of l, which joins if need be.
func (l *RWLock) record() *observed.Record {
	if l.e.IsObserved() {
		return observed.Of(l)
	}
	return kind.Join(l)
}

// acquire waits for n permits, after a try has failed: until d, if not 0, has passed, or ctx is
// done.
func (l *RWLock) acquire(ctx context.Context, d time.Duration, n int64, at engine.Place) error {
	if l.mayBeObserved() {
		return l.acquireObserved(ctx, d, n, at)
	}
	return l.e.Acquire(waiter.Until(ctx, d), n, at)
}

//go:noinline
func (l *RWLock) acquireObserved(ctx context.Context, d time.Duration, n int64, at engine.Place) (err error) {
	r, shared := l.record(), n == engine.Reader
	if l.try(n) {
		err = l.e.Keep(ctx, n)
		if err == nil {
			r.Took(n, shared)
		} else {
			r.FailedWith(err)
		}
		return err
	}
	until := waiter.Until(ctx, d)
	w := r.Begin(n, shared, until.MayEnd())
	err = context.Canceled // should the context panic
	defer func() { w.End(err) }()
	return l.e.Acquire(w.Limit(until), n, at)
}

// try takes n permits whether l is observed or not, if no request waits.
func (l *RWLock) try(n int64) bool {
	switch {
	case n == engine.Reader && l.e.IsObserved():
		return l.e.TryReadObserved()
	case n == engine.Reader:
		return l.e.TryRead()
	case n == engine.Everyone && l.e.MayHide(): // it is not observed
		return l.e.TryExclusive(n, engine.AtBack)
	}
	return l.e.TryObserved(n)
}

// tryObserved is a try after the fast path has failed.
//
//go:noinline
func (l *RWLock) tryObserved(n int64) bool {
	ok := l.try(n)
	l.tried(n, ok)
	return ok
}

// tried records, if l has a record, how a try for n permits has ended.
func (l *RWLock) tried(n int64, ok bool) {
	if !l.e.IsObserved() {
		return
	}
	if r := l.record(); ok {
		r.Took(n, n == engine.Reader)
	} else {
		r.Failed(observed.Tried)
	}
}

// releasing records that the caller is about to return n permits.
//
//go:noinline
func (l *RWLock) releasing(n int64) {
	if !l.e.MayRelease(n) {
		return
	}
	r := observed.Of(l)
	r.Released(n, n == engine.Reader)
	if n == engine.Everyone-engine.Reader || n == engine.Upgradable-engine.Reader {
		r.Shares(engine.Reader)
	}
}

// startObserved starts the request of a future.
//
//go:noinline
func (l *RWLock) startObserved(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	return observed.StartFuture(l.record(), &l.e, w, waker, w.N == engine.Reader)
}
