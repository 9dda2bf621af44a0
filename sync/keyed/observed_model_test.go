//go:build interleave

package keyed_test

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/sync/keyed"
)

// Whether it is observed makes no difference to a lock.
func TestModelObserved(t *testing.T) {
	for name, create := range map[string]func() mutextest.Small{
		"key":          func() mutextest.Small { return newMutex() },
		"several keys": func() mutextest.Small { return newTwoKeys() },
	} {
		t.Run(name, func(t *testing.T) {
			mutextest.RunSmallModel(t, mutextest.Subject{
				New: func() mutextest.Small {
					m := create()
					tableOf(m).Observe(true)
					return m
				},
				Bound: 2,
			})
		})
	}
}

// Nor is there one while it begins or ceases to be, beside a request that gives up.
func TestModelObservedBeside(t *testing.T) {
	interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2}, func(x *interleave.Run) {
		var m keyed.Mutex[int]
		ctx := x.NewContext()
		m.Lock(1)
		x.Go("holder", func() { m.Unlock(1) })
		x.Go("several", func() {
			if m.LockContext(ctx, 1, 2) == nil {
				m.Unlock(1, 2)
			}
		})
		x.Go("watcher", func() { m.Observe(true); m.Observe(false) })
		x.Go("canceller", ctx.Cancel)
		x.Wait()
		x.Assert(m.Len() == 0, "a key is locked")
	})
}
