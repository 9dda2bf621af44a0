package failedrelease

import (
	"context"
	"errors"
	"time"

	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/keyed"
	"github.com/farad-go/farad/sync/semaphore"
)

func work() error { return nil }

func direct(ctx context.Context, sem *semaphore.Semaphore) error {
	if err := sem.Acquire(ctx, 1); err != nil {
		sem.Release(1) // want `sem.Release releases what was not acquired: the acquire has failed on this path`
		return err
	}
	defer sem.Release(1)
	return work()
}

func early(ctx context.Context, sem *semaphore.Semaphore) error {
	err := sem.Acquire(ctx, 1)
	defer sem.Release(1) // want `deferred sem.Release runs also if the acquire has failed: defer it after the look at the error`
	if err != nil {
		return err
	}
	return work()
}

func inALoop(ctx context.Context, sem *semaphore.Semaphore, jobs []func()) error {
	for _, job := range jobs {
		if err := sem.Acquire(ctx, 1); err != nil {
			sem.Release(1) // want `releases what was not acquired`
			return err
		}
		job()
		sem.Release(1)
	}
	return nil
}

type pool struct{ mu sync.Mutex }

func (p *pool) byBool() bool {
	if !p.mu.LockTimeout(time.Second) {
		p.mu.Unlock() // want `p.mu.Unlock releases what was not acquired`
		return false
	}
	p.mu.Unlock()
	return true
}

func (p *pool) byVariable() {
	ok := p.mu.TryLock()
	if ok {
		_ = work()
	} else {
		p.mu.Unlock() // want `releases what was not acquired`
		return
	}
	p.mu.Unlock()
}

func inverse(ctx context.Context, sem *semaphore.Semaphore) error {
	err := sem.Acquire(ctx, 2)
	if err == nil {
		sem.Release(2)
		return nil
	}
	sem.Release(2) // want `releases what was not acquired`
	return err
}

func bySwitch(ctx context.Context, sem *semaphore.Semaphore) {
	err := sem.Acquire(ctx, 1)
	switch {
	case errors.Is(err, context.Canceled):
		sem.Release(1) // want `releases what was not acquired`
	case err != nil:
	default:
		sem.Release(1)
	}
}

func register(mu *sync.Mutex) {}

func shown(ctx context.Context) error {
	var mu sync.Mutex
	register(&mu)
	if err := mu.LockContext(ctx); err != nil {
		mu.Unlock() // want `releases what was not acquired`
		return err
	}
	mu.Unlock()
	return nil
}

func okChecked(ctx context.Context, sem *semaphore.Semaphore) error {
	if err := sem.Acquire(ctx, 1); err != nil {
		return err
	}
	defer sem.Release(1)
	return work()
}

func okGivesBackEarlierOnes(ctx context.Context, sem *semaphore.Semaphore, n int) error {
	for i := range n {
		if err := sem.Acquire(ctx, 1); err != nil {
			for range i {
				sem.Release(1)
			}
			return err
		}
	}
	return nil
}

func okTwo(ctx context.Context, a, b *semaphore.Semaphore) error {
	if err := a.Acquire(ctx, 1); err != nil {
		return err
	}
	if err := b.Acquire(ctx, 1); err != nil {
		a.Release(1)
		return err
	}
	defer a.Release(1)
	defer b.Release(1)
	return work()
}

func okConditional(ctx context.Context, sem *semaphore.Semaphore) (err error) {
	err = sem.Acquire(ctx, 1)
	defer func() {
		if err == nil {
			sem.Release(1)
		}
	}()
	if err != nil {
		return err
	}
	_ = work()
	return nil
}

func okByVariable(mu *sync.Mutex, wanted bool) {
	locked := false
	if wanted {
		locked = mu.TryLock()
	}
	_ = work()
	if locked {
		mu.Unlock()
	}
}

func okTried(ctx context.Context, sem *semaphore.Semaphore) error {
	if !sem.TryAcquire(1) {
		if err := sem.Acquire(ctx, 1); err != nil {
			return err
		}
	}
	sem.Release(1)
	return nil
}

func okHeldByTheCaller(ctx context.Context, mu *sync.Mutex) error {
	mu.Unlock()
	err := work()
	if lockErr := mu.LockContext(ctx); lockErr != nil {
		return lockErr
	}
	return err
}

func okGrows(ctx context.Context, sem *semaphore.Semaphore, held *int64, n int64) error {
	if err := sem.Acquire(ctx, n); err != nil {
		sem.Release(*held) // what the caller has
		*held = 0
		return err
	}
	*held += n
	return nil
}

func okNumberChanges(ctx context.Context, sem *semaphore.Semaphore, held, n int64) error {
	if err := sem.Acquire(ctx, n); err != nil {
		n = held // what the caller has
		sem.Release(n)
		return err
	}
	return nil
}

func okLockChanges(ctx context.Context, a, b *semaphore.Semaphore) error {
	sem := a
	if err := sem.Acquire(ctx, 1); err != nil {
		sem = b // which the caller has
		sem.Release(1)
		return err
	}
	return nil
}

func okRequired(ctx context.Context, sem *semaphore.Semaphore, require func(error)) {
	err := sem.Acquire(ctx, 1)
	require(err)
	sem.Release(1)
}

func okExits(ctx context.Context, sem *semaphore.Semaphore, fatal func(error)) {
	err := sem.Acquire(ctx, 1)
	defer sem.Release(1)
	if err != nil {
		panic(err)
	}
}

func okInAGoroutine(ctx context.Context, sem *semaphore.Semaphore) error {
	if err := sem.Acquire(ctx, 1); err != nil {
		return err
	}
	go func() {
		defer sem.Release(1)
		_ = work()
	}()
	return nil
}

func okKeys(ctx context.Context, m *keyed.Mutex[string]) error {
	if err := m.LockContext(ctx, "a"); err != nil {
		return err
	}
	if err := m.LockContext(ctx, "b"); err != nil {
		m.Unlock("a")
		return err
	}
	m.Unlock("b")
	m.Unlock("a")
	return nil
}

func okRetries(ctx context.Context, sem *semaphore.Semaphore) error {
	err := sem.Acquire(ctx, 1)
	if err != nil {
		err = sem.Acquire(context.Background(), 1)
	}
	if err != nil {
		return err
	}
	sem.Release(1)
	return nil
}
