package share

import (
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/waiter"
)

// What an observed share does instead, once its fast paths have failed: the same as an unobserved
// one, and tells its record. The record knows what this process's goroutines hold and wait for. A
// wait may be ended by another process, so it is never part of a deadlock that is reported.

var kind = observed.Register(observed.About{Name: "fleet"}, (*Share).observe, (*Share).numbers)

func (s *Share) observe(on bool) { s.e.Observe(on) }

func (s *Share) numbers() observed.Numbers {
	given := s.Given()
	return observed.Numbers{Size: given, Free: given - s.Held(), Waiting: s.Waiting()}
}

// tryObserved is Try.
//
//go:noinline
func (s *Share) tryObserved(n int64) bool {
	r := observed.Of(s)
	if !s.permits().TryObserved(n) {
		r.Failed(observed.Tried)
		return false
	}
	r.Took(n, false)
	return s.stillValid(n)
}

// waitObserved is Wait.
//
//go:noinline
func (s *Share) waitObserved(l waiter.Limit, n int64) error {
	r := observed.Of(s)
	if s.permits().TryObserved(n) {
		r.Took(n, false)
		return s.ifValid(n)
	}
	w := r.Begin(n, false, true)
	err := s.sleep(w.Limit(l), n)
	w.End(err)
	if err != nil {
		return err
	}
	return s.ifValid(n)
}
