//go:build !interleave

package rwlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/sync/rwlock"
)

// A lock that is observed promises all that others do, and its record is empty in the end.
func TestObservedContract(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			var all []*rwlock.RWLock
			rwtest.Run(t, contractOf(func() *rwlock.RWLock {
				l := k.make()
				observed.Watch(l, t.Name(), observed.Holders)
				all = append(all, l)
				return l
			}))
			locks, _ := observed.Read()
			for _, l := range locks {
				if l.Name == t.Name() && l.Free == l.Size && l.Waiting == 0 {
					require.Empty(t, l.Holders)
					require.Empty(t, l.Waiters)
					require.Zero(t, l.Unknown)
				}
			}
			for _, l := range all {
				observed.Unwatch(l)
			}
		})
	}
}
