package semaphore

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/waiter"
)

// What an observed semaphore does instead, once its fast paths have failed: the same as an
// unobserved one, and it calls the hooks of its record. The bit O is in the engine's word, also if
// a policy has the permits.

var kind = observed.Register(observed.About{Name: "semaphore.Semaphore"}, (*Semaphore).observe, (*Semaphore).numbers).
	Returning((*Semaphore).giveBack)

func (s *Semaphore) observe(on bool) { s.e.Observe(on) }

func (s *Semaphore) numbers() observed.Numbers {
	size := s.Size()
	return observed.Numbers{Size: size, Free: size - s.held(), Waiting: s.Waiting()}
}

// held returns how many permits are held, even during a Resize. Only with a waiting array it may be
// too few, while a reduction waits in line.
func (s *Semaphore) held() int64 {
	switch p := s.p.(type) {
	case nil, *ordered:
		return s.permits().Held()
	case *capacitor:
		return p.held()
	default:
		return s.Size() - s.Available()
	}
}

// mayBeObserved reports whether s is observed, or has to join.
func (s *Semaphore) mayBeObserved() bool {
	return s.e.IsObserved() || observed.Everything() != observed.Off
}

// record returns the record of s, which joins if need be.
func (s *Semaphore) record() *observed.Record {
	if s.e.IsObserved() {
		return observed.Of(s)
	}
	return kind.Join(s)
}

// acquireObserved is Acquire for n permits, n > 0.
//
//go:noinline
func (s *Semaphore) acquireObserved(ctx context.Context, n int64) (err error) {
	if p, ok := s.p.(*ordered); ok {
		return s.acquireObservedAs(ctx, 0, p.nobody, n)
	}
	r := s.record()
	if s.try(n) {
		if err = waiter.Keep(ctx, taken{s}, n); err == nil {
			r.Took(n, false)
		} else {
			r.FailedWith(err)
		}
		return err
	}
	if err = s.refusal(n); err != nil {
		r.FailedWith(err)
		return err
	}
	l := waiter.UntilDone(ctx)
	w := r.Begin(n, false, l.MayEnd())
	err = context.Canceled // should the context panic
	defer func() { w.End(err) }()
	if s.p != nil {
		return s.p.Acquire(ctx, n)
	}
	l = w.Limit(l)
	k, atOnce := s.permits().BeginUntil(l, n)
	if k == nil {
		return atOnce
	}
	k.Sleeper().SleepInline()
	return s.permits().EndUntil(l, k)
}

// acquireTimeoutObserved is AcquireTimeout for n permits, n > 0.
//
//go:noinline
func (s *Semaphore) acquireTimeoutObserved(d time.Duration, n int64) error {
	if p, ok := s.p.(*ordered); ok {
		return s.acquireObservedAs(context.Background(), d, p.nobody, n)
	}
	r := s.record()
	if s.try(n) {
		r.Took(n, false)
		return nil
	}
	if err := s.refusal(n); err != nil {
		r.FailedWith(err)
		return err
	}
	w := r.Begin(n, false, true)
	var err error
	if s.p != nil {
		err = s.p.AcquireTimeout(d, n)
	} else {
		err = s.permits().Acquire(waiter.After(d), n, engine.AtBack)
	}
	w.End(err)
	return err
}

// refusal returns why there is no use in waiting for n permits, or nil.
func (s *Semaphore) refusal(n int64) error {
	switch {
	case s.e.IsClosed():
		return ErrClosed
	case n > s.Size():
		return s.named(ErrTooLarge, n)
	}
	return nil
}

// tryObserved is TryAcquire for n permits, n > 0.
//
//go:noinline
func (s *Semaphore) tryObserved(n int64) bool {
	r, ok := s.record(), s.try(n)
	if ok {
		r.Took(n, false)
	} else {
		r.Failed(observed.Tried)
	}
	return ok
}

// try takes n permits, n > 0, whether s is observed or not.
func (s *Semaphore) try(n int64) bool {
	if s.p != nil {
		return s.p.TryAcquire(n)
	}
	return s.permits().TryObserved(n)
}

// taken takes back what was taken, for [waiter.Keep].
type taken struct{ s *Semaphore }

func (t taken) GiveBack(n int64) bool {
	t.s.giveBack(n)
	return true
}

// giveBack returns n permits that the caller has taken, and that no record has.
func (s *Semaphore) giveBack(n int64) {
	if s.p != nil {
		s.p.Release(n)
	} else if !s.permits().Release(n) {
		s.releaseElse(n)
	}
}

// releaseObserved is Release of n permits, n > 0. If they are not held it records nothing, as far
// as that can be known before.
//
//go:noinline
func (s *Semaphore) releaseObserved(n int64) {
	_, array := s.p.(arrayPolicy)
	if array || n <= s.Size()-s.Available() || n <= s.held() {
		observed.Of(s).Released(n, false)
	}
	s.giveBack(n)
}

// startObserved starts the request of a future.
//
//go:noinline
func (s *Semaphore) startObserved(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	return observed.StartFuture(s.record(), s.permits(), w, waker, false)
}
