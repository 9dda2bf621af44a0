package fleettest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/fleet"
)

var locks = []func(w *world){
	mutex, mutexByOtherMeans, triesOfAMutexEnd, readersAndWriters, readersAndWritersByOtherMeans,
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
	w.errorIs(err, fleet.ErrLocked, "another process has it")
	_, err = w.within(20*time.Millisecond, b.Lock)
	w.errorIs(err, context.DeadlineExceeded)
	p.Release()
	q, err := b.Lock(w.ctx)
	w.noError(err)
	p.Release() // does nothing
	w.check(q.Valid())
	_, err = a.TryLock(w.ctx)
	w.errorIs(err, fleet.ErrLocked)
	q.Release()
	q, err = w.within(patience, b.Lock)
	w.noError(err)
	q.Release()
	a.Close()
	_, err = a.Lock(w.ctx)
	w.errorIs(err, fleet.ErrClosed)
}

// A try says why it has nothing, whether the mutex is free or not.
func triesOfAMutexEnd(w *world) {
	f := w.join()
	m, err := f.Mutex(w.ctx, "s")
	w.noError(err)
	done, cancel := context.WithCancel(w.ctx)
	cancel()
	end := func(ctx context.Context, m *fleet.Mutex, why error) {
		p, err := m.TryLock(ctx)
		w.errorIs(err, why)
		w.check(p == nil, "an error comes without a permit")
	}
	w.panics(func() { _, _ = m.TryLock(nil) }, "fleet: nil context") //nolint:staticcheck // the test
	end(done, m, context.Canceled)
	p, err := m.TryLock(w.ctx)
	w.noError(err)
	end(w.ctx, m, fleet.ErrLocked)
	end(done, m, context.Canceled)

	m.Close()
	end(w.ctx, m, fleet.ErrClosed)
	end(done, m, context.Canceled)
	w.check(p.Valid(), "it is held until it is released")
	again, err := f.Mutex(w.ctx, "s")
	w.noError(err)
	end(w.ctx, again, fleet.ErrLocked)
	p.Release()
	p, err = w.within(patience, again.Lock)
	w.noError(err)
	p.Release()
	w.noError(f.Close(w.ctx))
	end(w.ctx, again, fleet.ErrClosed)
}

// within has lock wait for so long.
func (w *world) within(
	t time.Duration, lock func(context.Context) (*fleet.Permit, error),
) (*fleet.Permit, error) {
	ctx, cancel := context.WithTimeout(w.ctx, t)
	defer cancel()
	return lock(ctx)
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
