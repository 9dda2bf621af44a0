package rwlock_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/sync/rwlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

// kinds are the locks that every test runs with.
var kinds = []struct {
	name string
	make func() *rwlock.RWLock
}{
	{"plain", func() *rwlock.RWLock { return new(rwlock.RWLock) }},
	{"biased", rwlock.NewBiased},
}

// forEachKind runs f with a new lock of each kind, which must be free in the end.
func forEachKind(t *testing.T, f func(t *testing.T, l *rwlock.RWLock)) {
	t.Helper()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			l := k.make()
			f(t, l)
			requireFree(t, l)
		})
	}
}

// forEachKindAndProcs is forEachKind at several numbers of processors.
func forEachKindAndProcs(t *testing.T, f func(t *testing.T, l *rwlock.RWLock)) {
	t.Helper()
	locktest.AtEveryProcs(t, func(t *testing.T) {
		t.Helper()
		forEachKind(t, f)
	})
}

// requireFree checks that l is unlocked and no goroutine waits.
func requireFree(t *testing.T, l *rwlock.RWLock) {
	t.Helper()
	rwtest.RequireState(t, l, rwtest.Unlocked)
}

// A datum is plain variables under a lock. If a writer gets in beside a reader they differ.
type datum struct{ a, b int }
