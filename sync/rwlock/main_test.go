package rwlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
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
	{"biased", func() *rwlock.RWLock { return rwlock.New(rwlock.WithReaderBias()) }},
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

// queued calls lock in a goroutine of its own, and returns when that waits. What it returns has a
// value when lock has returned.
func queued(t *testing.T, l *rwlock.RWLock, lock func()) <-chan struct{} {
	t.Helper()
	return rwtest.Queued(t, l, func() struct{} { lock(); return struct{}{} })
}

// What somebody can hold.
type state int

const (
	asNobody state = iota
	asReader
	asUpgradable
	asWriter
)

func (s state) String() string {
	return [...]string{"unlocked", "read-locked", "upgradable", "write-locked"}[s]
}

// lockAs brings a free lock into a state.
func lockAs(l *rwlock.RWLock, s state) {
	switch s {
	case asReader:
		l.RLock()
	case asUpgradable:
		l.ULock()
	case asWriter:
		l.Lock()
	default:
	}
}

// unlockAs ends what lockAs has begun.
func unlockAs(l *rwlock.RWLock, s state) {
	switch s {
	case asReader:
		l.RUnlock()
	case asUpgradable:
		l.UUnlock()
	case asWriter:
		l.Unlock()
	default:
	}
}

// requireState checks that one holds l as s says, and nobody else, and nobody waits.
func requireState(t *testing.T, l *rwlock.RWLock, s state) {
	t.Helper()
	require.Zero(t, l.Waiting(), "somebody waits")
	if ok := l.TryLock(); ok {
		l.Unlock()
		require.Equal(t, asNobody, s, "a writer gets in")
	} else {
		require.NotEqual(t, asNobody, s, "the lock was lost")
	}
	if ok := l.TryULock(); ok {
		l.UUnlock()
		require.Less(t, s, asUpgradable, "an upgradable reader gets in")
	} else {
		require.GreaterOrEqual(t, s, asUpgradable, "an upgradable reader does not get in")
	}
	if ok := l.TryRLock(); ok {
		l.RUnlock()
		require.NotEqual(t, asWriter, s, "a reader gets in")
	} else {
		require.Equal(t, asWriter, s, "a reader does not get in")
	}
}

// requireFree checks that l is unlocked and nobody waits.
func requireFree(t *testing.T, l *rwlock.RWLock) {
	t.Helper()
	requireState(t, l, asNobody)
}
