//go:build interleave

package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/waiter"
)

// O is set and cleared beside every way to lock and unlock, and beside a reader who may hide. The
// lock is free in the end, and nobody sleeps for ever.
func TestModelObserved(t *testing.T) {
	for _, k := range kinds {
		for name, use := range map[string]func(ctx context.Context, l *rwlock.RWLock){
			"write": func(_ context.Context, l *rwlock.RWLock) { l.Lock(); l.Unlock() },
			"try": func(_ context.Context, l *rwlock.RWLock) {
				if l.TryLock() {
					l.Unlock()
				}
				if l.TryRLock() {
					l.RUnlock()
				}
			},
			"context": func(ctx context.Context, l *rwlock.RWLock) {
				if l.LockContext(ctx) == nil {
					l.Downgrade()
					l.RUnlock()
				}
			},
			"timeout": func(_ context.Context, l *rwlock.RWLock) {
				if l.RLockTimeout(time.Second) {
					l.RUnlock()
				}
			},
			"upgrade": func(_ context.Context, l *rwlock.RWLock) {
				l.ULock()
				l.Upgrade()
				l.Unlock()
			},
			"try to upgrade": func(_ context.Context, l *rwlock.RWLock) {
				if l.TryULock() {
					if l.TryUpgrade() {
						l.DowngradeToUpgradable()
					}
					l.UUnlock()
				}
			},
			"future": func(_ context.Context, l *rwlock.RWLock) {
				var f waiter.Future
				l.BindRead(&f)
				f.Poll(nil)
				f.Release()
			},
		} {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2}, func(x *interleave.Run) {
					l := k.make()
					x.Name("l", l)
					ctx := x.NewContext()
					x.Go("t", func() { use(ctx, l) })
					x.Go("reader", func() { l.RLock(); l.RUnlock() })
					x.Go("observer", func() {
						rwlock.Observe(l, true)
						ctx.Cancel()
						rwlock.Observe(l, false)
					})
					x.Wait()
					x.Assert(l.TryLock(), "it is locked in the end")
					x.Assert(l.Waiting() == 0, "%d wait", l.Waiting())
				})
			})
		}
	}
}
