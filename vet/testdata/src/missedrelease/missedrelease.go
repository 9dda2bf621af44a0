package missedrelease

import (
	"context"
	"errors"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/semaphore"
)

var errClosed = errors.New("closed")

func prepare() error { return nil }
func bad() bool      { return false }

func onError(ctx context.Context, sem *semaphore.Semaphore) error {
	if err := sem.Acquire(ctx, 1); err != nil {
		return err
	}
	if err := prepare(); err != nil {
		return err // want `this return is without sem.Release, which others have`
	}
	sem.Release(1)
	return nil
}

type store struct {
	mu     sync.Mutex
	closed bool
	n      int
}

func (s *store) add() error {
	s.mu.Lock()
	if s.closed {
		return errClosed // want `this return is without s.mu.Unlock`
	}
	s.n++
	s.count()
	s.mu.Unlock()
	return nil
}

// count releases nothing, so it may be called on the way.
func (s *store) count() { s.n++ }

func (s *store) nothing() {
	s.mu.Lock()
	if s.closed {
		return // want `this return is without s.mu.Unlock`
	}
	s.mu.Unlock()
}

func (s *store) atTheEnd() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.n++
} // want `the function ends without s.mu.Unlock, which its returns have`

func (s *store) byBool() bool {
	if !s.mu.TryLock() {
		return false
	}
	if s.closed {
		return false // want `this return is without s.mu.Unlock`
	}
	s.mu.Unlock()
	return true
}

func inALoop(ctx context.Context, sem *semaphore.Semaphore, jobs []func() error) error {
	for _, job := range jobs {
		if err := sem.Acquire(ctx, 1); err != nil {
			return err
		}
		if job() != nil {
			return errors.New("job") // want `this return is without sem.Release`
		}
		sem.Release(1)
	}
	return nil
}

func handle(ctx context.Context, sem *semaphore.Semaphore) (int64, error) {
	p, err := sem.AcquirePermit(ctx, 1)
	if err != nil {
		return 0, err
	}
	if bad() {
		return p.N(), nil // want `this return is without the release of p`
	}
	p.Release()
	return 0, nil
}

func limited(ctx context.Context, l *limit.Limiter) error {
	p, err := l.Acquire(ctx, 1)
	if err != nil {
		return err
	}
	err = prepare()
	switch {
	case err == nil:
		p.Success()
	case errors.Is(err, errClosed):
		return err // want `this return is without the release of p`
	default:
		p.Dropped()
	}
	return err
}

func two(ctx context.Context, sem *semaphore.Semaphore) error {
	p, err := sem.AcquirePermit(ctx, 1)
	if err != nil {
		return err
	}
	q, err := sem.AcquirePermit(ctx, 1)
	if err != nil {
		return err // want `this return is without the release of p`
	}
	p.Release()
	if bad() {
		return errClosed // want `this return is without the release of q`
	}
	q.Release()
	return nil
}

func tried(ctx context.Context, m *fleet.Mutex) error {
	p, err := m.TryLock(ctx)
	if errors.Is(err, fleet.ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := prepare(); err != nil {
		return err // want `this return is without the release of p`
	}
	p.Release()
	return nil
}

func okTwo(ctx context.Context, sem *semaphore.Semaphore) error {
	p, err := sem.AcquirePermit(ctx, 1)
	if err != nil {
		return err
	}
	q, err := sem.AcquirePermit(ctx, 1)
	if err != nil {
		p.Release()
		return err
	}
	p.Release()
	q.Release()
	return nil
}

var shared sync.Mutex

func finishShared() { shared.Unlock() }

func okOfThePackage() {
	shared.Lock()
	if bad() {
		finishShared()
		return
	}
	shared.Unlock()
}

func okDefer(ctx context.Context, sem *semaphore.Semaphore) error {
	if err := sem.Acquire(ctx, 1); err != nil {
		return err
	}
	defer sem.Release(1)
	return prepare()
}

func okDeferInLiteral(mu *sync.Mutex) error {
	mu.Lock()
	released := false
	defer func() {
		if !released {
			mu.Unlock()
		}
	}()
	if bad() {
		return errClosed
	}
	released = true
	mu.Unlock()
	return nil
}

func (s *store) okLockIfOpen() bool {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return false
	}
	return true // the caller has it
}

func (s *store) okOpen() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed
	}
	return nil // the caller has it
}

func (s *store) okReleasedByAMethod() {
	s.mu.Lock()
	if s.closed {
		s.finish()
		return
	}
	s.mu.Unlock()
}

func (s *store) finish() { s.mu.Unlock() }

func okGoroutine(sem *semaphore.Semaphore) {
	if !sem.TryAcquire(1) {
		return
	}
	if bad() {
		go func() {
			defer sem.Release(1)
			_ = prepare()
		}()
		return
	}
	sem.Release(1)
}

func okCorrelated(mu *sync.Mutex, wanted bool) {
	if wanted {
		mu.Lock()
	}
	if bad() {
		if wanted {
			mu.Unlock()
		}
		return
	}
	if wanted {
		mu.Unlock()
	}
}

func okContinue(sem *semaphore.Semaphore, jobs []func()) {
	for _, job := range jobs {
		if !sem.TryAcquire(1) {
			continue
		}
		if job == nil {
			sem.Release(1)
			continue
		}
		job()
		sem.Release(1)
	}
}

func okPassed(ctx context.Context, sem *semaphore.Semaphore, keep func(*semaphore.Semaphore)) error {
	if err := sem.Acquire(ctx, 1); err != nil {
		return err
	}
	if bad() {
		keep(sem)
		return errClosed
	}
	sem.Release(1)
	return nil
}

func okHandleMoves(ctx context.Context, sem *semaphore.Semaphore) (*semaphore.Permit, error) {
	p, err := sem.AcquirePermit(ctx, 2)
	if err != nil {
		return nil, err
	}
	if bad() {
		p.Release()
		return nil, errClosed
	}
	return p, nil
}

func okNamedResult(mu *sync.Mutex) (held bool, err error) {
	mu.Lock()
	held = true
	if bad() {
		err = errClosed
		return
	}
	mu.Unlock()
	return false, nil
}

func (s *store) okOnAnotherName() {
	mu := &s.mu
	s.mu.Lock()
	if s.closed {
		mu.Unlock()
		return
	}
	s.mu.Unlock()
}

func okPieces(ctx context.Context, sem *semaphore.Semaphore) error {
	if err := sem.Acquire(ctx, 2); err != nil {
		return err
	}
	sem.Release(1)
	if bad() {
		return errClosed
	}
	sem.Release(1)
	return nil
}

// okBeginRound leaves it held, as its name says.
func (s *store) okBeginRound() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.n++
}

func okPanics(mu *sync.Mutex) {
	mu.Lock()
	if bad() {
		panic("bad")
	}
	mu.Unlock()
}
