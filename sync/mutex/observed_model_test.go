//go:build interleave

package mutex_test

import (
	"context"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/waiter"
)

// O is set and cleared beside every way to lock and unlock. All exclude each other, and the mutex
// is free in the end.
func TestModelObserved(t *testing.T) {
	for name, lock := range map[string]func(ctx context.Context, m *mutex.Mutex) (ok bool){
		"lock":    func(_ context.Context, m *mutex.Mutex) bool { m.Lock(); return true },
		"try":     func(_ context.Context, m *mutex.Mutex) bool { return m.TryLock() },
		"context": func(ctx context.Context, m *mutex.Mutex) bool { return m.LockContext(ctx) == nil },
		"timeout": func(_ context.Context, m *mutex.Mutex) bool { return m.LockTimeout(time.Second) },
		"future": func(_ context.Context, m *mutex.Mutex) bool {
			var f waiter.Future
			m.Bind(&f)
			defer f.Release()
			return f.Poll(nil) && f.Take() == nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 3}, func(x *interleave.Run) {
				var m mutex.Mutex
				var inside interleave.Int32
				x.Name("m", &m)
				ctx := x.NewContext()
				x.Go("t", func() {
					if lock(ctx, &m) {
						count(&inside)
						m.Unlock()
					}
				})
				x.Go("u", func() {
					m.Lock()
					count(&inside)
					m.Unlock()
				})
				x.Go("observer", func() {
					mutex.Observe(&m, true)
					ctx.Cancel()
					mutex.Observe(&m, false)
				})
				x.Wait()
				x.Assert(inside.Load() >= 1, "nobody was inside")
				x.Assert(m.TryLock(), "it is locked in the end")
			})
		})
	}
}
