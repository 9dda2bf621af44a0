//go:build !interleave

package rwlock_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/waiter"
)

// The block profile shows contention where the goroutines wait, if they wait in channels.
func TestContentionIsInTheBlockProfile(t *testing.T) {
	defer waiter.UseChannels(waiter.UseChannels(true))
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		slow, before := []string{"rLockSlow", "lockSlow", "ULock", "Upgrade"}, map[string]int64{}
		for _, f := range slow {
			before[f] = locktest.TimesBlocked(t, "rwlock.(*RWLock)."+f)
		}
		locktest.Eventually(t, "all waits are in the profile", func() bool {
			l.Lock()
			waits := []<-chan struct{}{
				rwtest.Queued(t, l, func() { l.RLock(); defer l.RUnlock() }),
				rwtest.Queued(t, l, func() { l.ULock(); defer l.UUnlock() }),
				rwtest.Queued(t, l, func() { l.Lock(); defer l.Unlock() }),
			}
			time.Sleep(time.Millisecond) // for them to be asleep, as a rule: being in line comes before
			l.Unlock()
			for _, w := range waits {
				locktest.Receive(t, w)
			}
			l.RLock()
			l.ULock()
			up := rwtest.Queued(t, l, l.Upgrade)
			time.Sleep(time.Millisecond)
			l.RUnlock()
			locktest.Receive(t, up)
			l.Unlock()
			for _, f := range slow {
				if locktest.TimesBlocked(t, "rwlock.(*RWLock)."+f) <= before[f] {
					t.Log("not yet:", f)
					return false
				}
			}
			return true
		})
	})
}
