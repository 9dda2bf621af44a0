package unreleasedfuture

import (
	"context"
	"time"

	"github.com/farad-go/farad/fleet"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

func work() error { return nil }

func forgotten(ctx context.Context, sem *semaphore.Semaphore) error {
	var f waiter.Future
	sem.Bind(&f, 1) // want `f is bound and never released: f.Release ends it in every state`
	select {
	case <-f.Done():
		return work()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func awaited(cx *rt.Context, mu *sync.Mutex) error {
	f := new(waiter.Future)
	mu.Bind(f) // want `f is bound and never released`
	if err := rt.Await(cx, f); err != nil {
		return err
	}
	return work()
}

func mixed(sem *semaphore.Semaphore) {
	f := &waiter.Future{}
	sem.Bind(f, 1) // want `f is bound and never released`
	<-f.Done()
	sem.Release(1) // without Take: no fix is certain
}

func inAFleet(sem *fleet.Semaphore) error {
	var f fleet.Future
	sem.Bind(&f, 1) // want `f is bound and never released`
	<-f.Done()
	return f.Err()
}

func inALoop(mu *sync.Mutex) {
	for range 3 {
		var f waiter.Future
		mu.Bind(&f) // want `f is bound and never released`
		f.Poll(nil)
	}
}

func okDeferred(sem *semaphore.Semaphore) {
	var f waiter.Future
	sem.Bind(&f, 1)
	defer f.Release()
	<-f.Done()
}

func okTaken(sem *semaphore.Semaphore) error {
	var f waiter.Future
	sem.Bind(&f, 1)
	<-f.Done()
	if err := f.Take(); err != nil {
		return err
	}
	sem.Release(1)
	return nil
}

func okInALiteral(mu *sync.Mutex) {
	var f waiter.Future
	mu.Bind(&f)
	defer func() { f.Release() }()
	f.Poll(nil)
}

func okMethodValue(mu *sync.Mutex, cleanup func(func())) {
	var f waiter.Future
	mu.Bind(&f)
	cleanup(f.Release)
}

func okPassed(mu *sync.Mutex, use func(*waiter.Future)) {
	var f waiter.Future
	mu.Bind(&f)
	use(&f)
}

func okReturned(mu *sync.Mutex) *waiter.Future {
	f := new(waiter.Future)
	mu.Bind(f)
	return f
}

func okStored(mu *sync.Mutex) []*waiter.Future {
	var all []*waiter.Future
	for range 3 {
		f := new(waiter.Future)
		mu.Bind(f)
		all = append(all, f)
	}
	return all
}

func okCombined(cx *rt.Context, mu *sync.Mutex) error {
	var f waiter.Future
	mu.Bind(&f)
	return rt.Await(cx, rt.Timeout(&f, time.Second))
}

func okPermit(sem *fleet.Semaphore) {
	var f fleet.Future
	sem.Bind(&f, 1)
	<-f.Done()
	f.Permit().Release()
}

func okNotBound() bool {
	var f waiter.Future
	return f.Complete()
}

type task struct{ f waiter.Future }

func (t *task) okField(mu *sync.Mutex) {
	mu.Bind(&t.f)
	t.f.Poll(nil)
}

func okAnothers(mu *sync.Mutex, f *waiter.Future) {
	mu.Bind(f)
	f.Poll(nil)
}

func okNothing(sem *semaphore.Semaphore) bool {
	var f waiter.Future
	sem.Bind(&f, 0)
	return f.Poll(nil)
}

func okRefused(sem *semaphore.Semaphore, requireError func(error)) {
	var f waiter.Future
	sem.Bind(&f, 3)
	f.Poll(nil)
	requireError(f.Err())
}
