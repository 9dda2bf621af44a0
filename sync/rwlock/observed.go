package rwlock

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/waiting"
)

// To the record the permits of the engine are the permits of the lock: a reader holds one, a writer
// all, an upgradable reader more than half.

var kind = observed.Register(observed.About{Name: "rwlock.RWLock", Owned: true, Inside: inside},
	(*RWLock).observe, (*RWLock).numbers)

// inside returns the lock of a guard.
func inside(x any) any {
	if g, ok := x.(interface{ observable() *RWLock }); ok {
		return g.observable()
	}
	return nil
}

func (l *RWLock) observe(on bool) { l.e.Observe(on) }

func (l *RWLock) numbers() observed.Numbers {
	free, waiting := l.e.Glance()
	return observed.Numbers{Size: engine.Everyone, Free: free, Waiting: waiting}
}

func (l *RWLock) mayBeObserved() bool { return observed.MayBe(l.e.IsObserved()) }

// record returns the record of l, which joins if need be.
func (l *RWLock) record() observed.Record { return kind.Record(l, l.e.IsObserved()) }

// requested is a request for n permits.
func requested(n int64) observed.Request { return observed.Request{N: n, Shared: n == engine.Reader} }

// acquire waits for n permits, after a try has failed: until d, if not 0, has passed, or ctx is
// done.
func (l *RWLock) acquire(ctx context.Context, d time.Duration, n int64, at engine.Place) error {
	if l.mayBeObserved() {
		return l.acquireObserved(ctx, d, n, at)
	}
	return l.e.Acquire(waiting.Until(ctx, d), n, at)
}

//go:noinline
func (l *RWLock) acquireObserved(ctx context.Context, d time.Duration, n int64, at engine.Place) error {
	r, q := l.record(), requested(n)
	if l.try(n) {
		return r.AtOnce(q, l.e.Keep(ctx, n))
	}
	acquire := func(until waiting.Limit) error { return l.e.Acquire(until, n, at) }
	return observed.Await(r, q, waiting.Until(ctx, d), acquire)
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
	if l.e.IsObserved() {
		q := requested(n)
		observed.Of(l).Tried(q, ok)
	}
}

// releasing records that the caller is about to return n permits.
//
//go:noinline
func (l *RWLock) releasing(n int64) {
	if !l.e.MayRelease(n) {
		return
	}
	r, q := observed.Of(l), requested(n)
	r.Released(q)
	if n == engine.Everyone-engine.Reader || n == engine.Upgradable-engine.Reader {
		r.Shares(engine.Reader)
	}
}
