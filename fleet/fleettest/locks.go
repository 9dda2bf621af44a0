package fleettest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/fleet"
)

var locks = []func(w *world){
	mutex, mutexByOtherMeans, readersAndWriters, readersAndWritersByOtherMeans, anUnlockIsNotAnRUnlock,
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
					w.noError(m.LockContext(w.ctx))
					inside++
					if inside != 1 {
						w.Errorf("two are inside")
					}
					turns++
					inside--
					m.Unlock()
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
	w.check(!a.TryLock())
	ok, err := a.TryLockContext(w.ctx)
	w.noError(err)
	w.check(ok)
	ok, err = b.TryLockContext(w.ctx)
	w.noError(err)
	w.check(!ok)
	w.errorIs(b.LockTimeout(20*time.Millisecond), context.DeadlineExceeded)
	a.Unlock()
	w.panics(a.Unlock)
	p, err := b.LockPermit(w.ctx)
	w.noError(err)
	w.check(p.Valid())
	p.Release()
	w.noError(b.LockTimeout(patience))
	b.Unlock()
	a.Close()
	w.errorIs(a.LockContext(w.ctx), fleet.ErrClosed)
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
					w.noError(m.RLockContext(w.ctx))
					if n := readers.Add(1); n > most.Load() {
						most.Store(n)
					}
					if writers.Load() != 0 {
						w.Errorf("a reader beside a writer")
					}
					time.Sleep(500 * time.Microsecond)
					readers.Add(-1)
					m.RUnlock()
				}
			})
		}
		wg.Go(func() {
			for range 10 {
				w.noError(m.LockContext(w.ctx))
				if writers.Add(1) != 1 || readers.Load() != 0 {
					w.Errorf("a writer beside others")
				}
				time.Sleep(200 * time.Microsecond)
				writers.Add(-1)
				m.Unlock()
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
	p, err := a.RLockPermit(w.ctx)
	w.noError(err)
	w.check(a.TryRLock())
	w.check(!a.TryLock())
	w.noError(b.RLockTimeout(patience))
	w.errorIs(b.LockTimeout(30*time.Millisecond), context.DeadlineExceeded)
	w.panics(b.Unlock)
	b.RUnlock()
	p.Release()
	a.RUnlock()
	q, err := b.LockPermit(w.ctx)
	w.noError(err)
	w.errorIs(a.RLockTimeout(30*time.Millisecond), context.DeadlineExceeded)
	q.Release()
	w.noError(a.RLockContext(w.ctx))
	a.RUnlock()
	a.Close()
	w.errorIs(a.LockContext(w.ctx), fleet.ErrClosed)
}

// A reader that is none must not make room beside a writer.
func anUnlockIsNotAnRUnlock(w *world) {
	m, err := w.join().RWMutex(w.ctx, "s")
	w.noError(err)
	w.noError(m.LockContext(w.ctx))
	w.panics(m.RUnlock)
	m.Unlock()
}
