//go:build interleave

package mutex_test

import (
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/sync/mutex"
)

// The façade under the explorer; the engine has scenarios of its own.
func TestModelMutex(t *testing.T) {
	for name, body := range map[string]func(x *interleave.Run, m *mutex.Mutex, inside func()){
		"lock": func(x *interleave.Run, m *mutex.Mutex, inside func()) {
			x.Same(2, "t", func(int) {
				for range 2 {
					m.Lock()
					inside()
					m.Unlock()
				}
			})
		},
		"try": func(x *interleave.Run, m *mutex.Mutex, inside func()) {
			x.Go("locker", func() { m.Lock(); inside(); m.Unlock() })
			x.Same(2, "trier", func(int) {
				if m.TryLock() {
					inside()
					m.Unlock()
				}
			})
		},
		"timeout": func(x *interleave.Run, m *mutex.Mutex, inside func()) {
			x.Go("locker", func() { m.Lock(); inside(); m.Unlock() })
			x.Same(2, "hasty", func(int) {
				if m.LockTimeout(time.Second) {
					inside()
					m.Unlock()
				}
			})
		},
		"context": func(x *interleave.Run, m *mutex.Mutex, inside func()) {
			ctx := x.NewContext()
			x.Go("locker", func() { m.Lock(); inside(); m.Unlock() })
			x.Go("waiter", func() {
				if m.LockContext(ctx) == nil {
					inside()
					m.Unlock()
				}
			})
			x.Go("canceller", ctx.Cancel)
		},
		"future": func(x *interleave.Run, m *mutex.Mutex, inside func()) {
			x.Go("locker", func() { m.Lock(); inside(); m.Unlock() })
			x.Go("selector", func() {
				var f mutex.LockFuture
				f.Init(m)
				interleave.Receive(f.Done())
				x.Assert(f.Err() == nil, "not locked")
				inside()
				m.Unlock()
			})
			x.Go("loser", func() {
				var f mutex.LockFuture
				f.Init(m)
				f.Poll(nil)
				f.Cancel()
			})
		},
		"double unlock": func(x *interleave.Run, m *mutex.Mutex, _ func()) {
			var panics interleave.Int32
			m.Lock()
			x.Same(2, "unlocker", func(int) {
				if interleave.Panics(m.Unlock) != nil {
					panics.Add(1)
				}
			})
			x.Wait()
			x.Assert(panics.Load() == 1, "%d panics", panics.Load())
		},
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				m := new(mutex.Mutex)
				x.Name("m", m)
				var holders interleave.Int32
				body(x, m, func() {
					x.Assert(holders.Add(1) == 1, "two inside")
					holders.Add(-1)
				})
				if name != "double unlock" {
					x.Wait()
				}
				x.Assert(m.TryLock(), "the lock was lost")
				m.Unlock()
			})
		})
	}
}
