package errdropped

import (
	"context"
	"testing"
	"time"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/keyed"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

var background = context.Background()

func work() {}

func statement(ctx context.Context, sem *semaphore.Semaphore, mu *sync.Mutex, km *keyed.Mutex[string]) {
	sem.Acquire(ctx, 1) // want `the error of Acquire is dropped: nothing is acquired if it fails`
	defer sem.Release(1)
	sem.AcquireTimeout(time.Second, 1) // want `the error of AcquireTimeout is dropped`
	sem.As("tenant").Acquire(ctx, 1)   // want `the error of Acquire is dropped`
	mu.LockContext(ctx)                // want `the error of LockContext is dropped`
	mu.LockTimeout(time.Second)        // want `the result of LockTimeout is dropped`
	km.LockContext(ctx, "key")         // want `the error of LockContext is dropped`
	go sem.Acquire(ctx, 1)             // want `the error of Acquire is dropped`
}

func blank(ctx context.Context, sem *semaphore.Semaphore, mu *sync.Mutex) {
	_ = sem.Acquire(ctx, 1) // want `the error of Acquire is dropped`
	work()
	sem.Release(1)
	_ = mu.LockContext(ctx) // want `the error of LockContext is dropped`
	defer mu.Unlock()
}

func handles(ctx context.Context, sem *semaphore.Semaphore, l *limit.Limiter) {
	sem.AcquirePermit(ctx, 1) // want `the error of AcquirePermit is dropped`
	l.Acquire(ctx, 1)         // want `the error of Acquire is dropped`
}

func waits(ctx context.Context, wg *sync.WaitGroup, count *twa.EventCount) {
	wg.WaitContext(ctx) // want `the error of WaitContext is dropped: the wait may have ended early`
	count.Await(ctx, 3) // want `the error of Await is dropped`
}

func overANetwork(f *fleet.Semaphore, m *fleet.Mutex, k *fleet.Keyed) {
	f.Acquire(context.Background(), 1) // want `the error of Acquire is dropped`
	f.Release(1)
	m.Lock(context.Background())                 // want `the error of Lock is dropped`
	m.TryLock(context.Background())              // want `the error of TryLock is dropped`
	k.Acquire(context.Background(), "key", 1)    // want `the error of Acquire is dropped`
	k.TryAcquire(context.Background(), "key", 1) // want `the error of TryAcquire is dropped`
	f.TryAcquire(1)                              // it uses no network
	f.TryAcquirePermit(context.Background(), 1)  // want `the error of TryAcquirePermit is dropped`
}

type embeds struct{ sync.Mutex }

func (e *embeds) promoted(ctx context.Context) {
	e.LockContext(ctx) // want `the error of LockContext is dropped`
	defer e.Unlock()
}

func endsEarly(sem *semaphore.Semaphore) {
	ctx, cancel := context.WithCancel(context.Background())
	go cancel()
	sem.Acquire(ctx, 1) // want `the error of Acquire is dropped`
	sem.Release(1)
}

func okChecked(ctx context.Context, sem *semaphore.Semaphore) error {
	if err := sem.Acquire(ctx, 1); err != nil {
		return err
	}
	defer sem.Release(1)
	return nil
}

func okReturned(ctx context.Context, mu *sync.Mutex) error { return mu.LockContext(ctx) }

func okNeverEnds(sem *semaphore.Semaphore, mu *sync.Mutex) {
	_ = sem.Acquire(context.Background(), 1)
	sem.Release(1)
	ctx := context.Background()
	_ = mu.LockContext(ctx)
	mu.Unlock()
	_ = mu.LockContext(background)
	mu.Unlock()
}

func okEndsWithTheFunction(t *testing.T, mu *sync.Mutex) {
	_ = mu.LockContext(t.Context())
	mu.Unlock()
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	_ = mu.LockContext(ctx)
	mu.Unlock()
}

func okTakenOnPurpose(ctx context.Context, sem *semaphore.Semaphore, mu *sync.Mutex) {
	sem.TryAcquire(1) // nobody else has it yet
	_ = mu.TryLock()
	_ = sem.Acquire(ctx, 2) // nothing is released here
}

func okGrace(ctx context.Context, wg *sync.WaitGroup) {
	_ = wg.WaitContext(ctx)
	wg.WaitTimeout(time.Second)
}

func okSaidByTheHandle(ctx context.Context, sem *semaphore.Semaphore, m *fleet.Mutex, f *fleet.Semaphore) bool {
	p, _ := sem.AcquirePermit(ctx, 1)
	if p != nil {
		p.Release()
	}
	q, _ := m.TryLock(ctx)
	defer q.Release()
	r, _ := f.TryAcquirePermit(ctx, 1)
	defer r.Release()
	return r != nil
}

func okPanics(sem *semaphore.Semaphore, panics func(func())) {
	panics(func() { sem.Acquire(nil, 1) })
	panics(func() { _ = sem.Acquire(nil, -1) })
	sem.Release(1)
}

func okReleaseIsOfAnother(ctx context.Context, sem *semaphore.Semaphore) {
	if sem.Acquire(ctx, 1) == nil {
		sem.Release(1)
	}
	_ = sem.Acquire(ctx, 4) // too many, which is what is tried
}

type other struct{}

func (other) Acquire(ctx context.Context, n int64) error { return nil }

func okOthers(ctx context.Context, o other, l interface{ LockContext(context.Context) error }) {
	o.Acquire(ctx, 1)
	l.LockContext(ctx)
}
