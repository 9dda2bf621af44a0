package fleettest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/fleet"
)

var locks = []func(w *world){
	mutex, mutexByOtherMeans, triesEnd, readersAndWriters, readersAndWritersByOtherMeans,
}

func mutex(w *world) {
	var inside, turns int
	var wg sync.WaitGroup
	for range 3 {
		m, err := w.join(fleet.WithTenure(time.Millisecond)).Mutex(w.ctx, "s")
		w.noError(err)
		for range 4 {
			wg.Go(func() {
				for range 25 {
					p, err := m.Lock(w.ctx)
					w.noError(err)
					inside++
					if inside != 1 {
						w.Errorf("two are inside")
					}
					turns++
					inside--
					p.Release()
				}
			})
		}
	}
	wg.Wait()
	w.equal(300, turns)
}

func mutexByOtherMeans(w *world) {
	a, err := w.join().Mutex(w.ctx, "s")
	w.noError(err)
	b, err := w.join().Mutex(w.ctx, "s")
	w.noError(err)
	p, err := a.TryLock(w.ctx)
	w.noError(err)
	w.check(p.Valid())
	_, err = b.TryLock(w.ctx)
	w.errorIs(err, fleet.ErrBusy, "another process has it")
	_, err = w.within(20*time.Millisecond, b.Lock)
	w.errorIs(err, context.DeadlineExceeded)
	p.Release()
	q, err := b.Lock(w.ctx)
	w.noError(err)
	p.Release() // does nothing
	w.check(q.Valid())
	_, err = a.TryLock(w.ctx)
	w.errorIs(err, fleet.ErrBusy)
	q.Release()
	q, err = w.within(patience, b.Lock)
	w.noError(err)
	q.Release()
	a.Close()
	_, err = a.Lock(w.ctx)
	w.errorIs(err, fleet.ErrClosed)
}

// An acquirer is one of the ways to hold a lock of any kind.
type acquirer = func(context.Context) (*fleet.Permit, error)

// A kind is a lock of which one is held at a time.
type kind struct {
	try, acquire acquirer
	close        func()
	closed       error // what a try returns after close, if its context has ended
}

// kinds open locks that have a try.
var kinds = []func(w *world, f *fleet.Fleet) kind{
	func(w *world, f *fleet.Fleet) kind {
		m, err := f.Mutex(w.ctx, "s")
		w.noError(err)
		return kind{m.TryLock, m.Lock, m.Close, context.Canceled}
	},
	func(w *world, f *fleet.Fleet) kind {
		s := w.semaphore(f, 1)
		try := func(ctx context.Context) (*fleet.Permit, error) { return s.TryAcquirePermit(ctx, 1) }
		acquire := func(ctx context.Context) (*fleet.Permit, error) { return s.AcquirePermit(ctx, 1) }
		return kind{try, acquire, s.Close, context.Canceled}
	},
	func(w *world, f *fleet.Fleet) kind {
		k := w.keyed(f, 1)
		try := func(ctx context.Context) (*fleet.Permit, error) { return k.TryAcquire(ctx, "a", 1) }
		return kind{try, ofKey(k, "a", 1), k.Close, fleet.ErrClosed}
	},
}

// A try says why it has nothing, whether the permits are free or not.
func triesEnd(w *world) {
	done, cancel := context.WithCancel(w.ctx)
	cancel()
	end := func(ctx context.Context, try acquirer, why error) {
		p, err := try(ctx)
		w.errorIs(err, why)
		w.check(p == nil, "an error comes without a permit")
	}
	for _, open := range kinds {
		f := w.join()
		k := open(w, f)
		w.panics(func() { _, _ = k.try(nil) }, "fleet: nil context")
		end(done, k.try, context.Canceled)
		p, err := k.try(w.ctx)
		w.noError(err)
		end(w.ctx, k.try, fleet.ErrBusy)
		end(done, k.try, context.Canceled)

		k.close()
		end(w.ctx, k.try, fleet.ErrClosed)
		end(done, k.try, k.closed)
		w.check(p.Valid(), "it is held until it is released")
		again := open(w, f)
		end(w.ctx, again.try, fleet.ErrBusy)
		p.Release()
		p, err = w.within(patience, again.acquire)
		w.noError(err)
		p.Release()
		w.noError(f.Close(w.ctx))
		end(w.ctx, again.try, fleet.ErrClosed)
	}
}

// within has acquire wait for so long.
func (w *world) within(t time.Duration, acquire acquirer) (*fleet.Permit, error) {
	ctx, cancel := context.WithTimeout(w.ctx, t)
	defer cancel()
	return acquire(ctx)
}

// Readers of all processes share the lock, writers do not, and neither starves.
func readersAndWriters(w *world) {
	var readers, writers, most atomic.Int64
	var wg sync.WaitGroup
	for range 3 {
		m, err := w.join(fleet.WithTenure(2*time.Millisecond)).RWMutex(w.ctx, "s")
		w.noError(err)
		for range 3 {
			wg.Go(func() {
				for range 20 {
					p, err := m.RLock(w.ctx)
					w.noError(err)
					if n := readers.Add(1); n > most.Load() {
						most.Store(n)
					}
					if writers.Load() != 0 {
						w.Errorf("a reader beside a writer")
					}
					time.Sleep(500 * time.Microsecond)
					readers.Add(-1)
					p.Release()
				}
			})
		}
		wg.Go(func() {
			for range 10 {
				p, err := m.Lock(w.ctx)
				w.noError(err)
				if writers.Add(1) != 1 || readers.Load() != 0 {
					w.Errorf("a writer beside others")
				}
				time.Sleep(200 * time.Microsecond)
				writers.Add(-1)
				p.Release()
			}
		})
	}
	wg.Wait()
	w.check(most.Load() > 1, "readers share it")
}

func readersAndWritersByOtherMeans(w *world) {
	a, err := w.join().RWMutex(w.ctx, "s")
	w.noError(err)
	b, err := w.join().RWMutex(w.ctx, "s")
	w.noError(err)
	p, err := a.RLock(w.ctx)
	w.noError(err)
	again, err := a.RLock(w.ctx)
	w.noError(err)
	other, err := w.within(patience, b.RLock)
	w.noError(err)
	for _, m := range []*fleet.RWMutex{a, b} {
		_, err = w.within(30*time.Millisecond, m.Lock)
		w.errorIs(err, context.DeadlineExceeded)
	}
	other.Release()
	other.Release() // does nothing: the readers of a still hold it
	_, err = w.within(30*time.Millisecond, b.Lock)
	w.errorIs(err, context.DeadlineExceeded)
	p.Release()
	again.Release()
	q, err := b.Lock(w.ctx)
	w.noError(err)
	p.Release() // a reader that is none makes no room beside a writer
	for _, m := range []*fleet.RWMutex{a, b} {
		_, err = w.within(30*time.Millisecond, m.RLock)
		w.errorIs(err, context.DeadlineExceeded)
	}
	q.Release()
	p, err = a.RLock(w.ctx)
	w.noError(err)
	p.Release()
	a.Close()
	_, err = a.Lock(w.ctx)
	w.errorIs(err, fleet.ErrClosed)
	_, err = a.RLock(w.ctx)
	w.errorIs(err, fleet.ErrClosed)
}
