//go:build !interleave

package semaphore_test

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/sync/semaphore"
)

// A semaphore that is observed promises all that others do, and its records are empty in the end.
func TestObservedContract(t *testing.T) {
	for name, opts := range map[string][]semaphore.Option{
		"plain":     nil,
		"array":     {semaphore.WithWaitingArray(nil)},
		"capacitor": {semaphore.WithCapacitor(1, 0)},
		"shares":    {semaphore.WithShares(nil)},
	} {
		for _, level := range []observed.Level{observed.Counts, observed.Holders} {
			t.Run(name+"/"+[]string{"", "counts", "holders"}[level], func(t *testing.T) {
				if testing.Short() && (level == observed.Counts || locktest.RaceEnabled) && name != "plain" {
					t.Skip("the same hooks")
				}
				k := kind(opts...)
				var all []*semaphore.Semaphore
				k.New = func(n int64) semtest.Semaphore {
					s := semaphore.New(n, opts...)
					records.Watch(s, t.Name(), level)
					all = append(all, s)
					return s
				}
				semtest.Run(t, k)
				requireNothingHeld(t, t.Name())
				for _, s := range all {
					records.Unwatch(s)
				}
			})
		}
	}
}

// Who has not asked because of a panic is not seen to wait.
func TestAWeightThatPanicsObserved(t *testing.T) {
	testMadWeight(t, func(s *semaphore.Semaphore) {
		records.Watch(s, t.Name(), observed.Holders)
		t.Cleanup(func() { records.Unwatch(s) })
	})
	requireNothingHeld(t, t.Name())
}

// requireNothingHeld checks that the free locks of a name have no holds and no waits.
func requireNothingHeld(t *testing.T, name string) {
	t.Helper()
	locks, _ := records.Read()
	for _, l := range locks {
		if l.Name == name && l.Free == l.Size && l.Waiting == 0 {
			require.Empty(t, l.Holders)
			require.Empty(t, l.Waiters)
			require.Zero(t, l.Unknown)
		}
	}
}
