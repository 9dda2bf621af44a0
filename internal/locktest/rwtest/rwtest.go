// Package rwtest has the tests that every read-write lock of this module must pass, whatever its
// order: what the doc comments of sync/rwlock and sync/capacitor promise alike. So a user goes from
// one to the other by changing one line. It is for tests.
package rwtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest"
)

// A Lock is what the tests are about.
type Lock interface {
	sync.Locker
	TryLock() bool
	LockContext(ctx context.Context) error
	LockTimeout(d time.Duration) bool
	RLock()
	TryRLock() bool
	RUnlock()
	RLockContext(ctx context.Context) error
	RLockTimeout(d time.Duration) bool
	RLocker() sync.Locker
	Waiting() int
}

// Run runs all tests on new locks, which must be free in the end.
func Run(t *testing.T, create func() Lock) {
	t.Helper()
	for _, list := range [][]test{basics, waits, bubbles} {
		for _, test := range list {
			t.Run(test.name, func(t *testing.T) {
				defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
				test.run(t, create)
			})
		}
	}
}

// A test makes the locks that it is to try.
type test struct {
	name string
	run  func(t *testing.T, create func() Lock)
}

// once makes a test of one that needs one lock.
func once(f func(t *testing.T, l Lock)) func(t *testing.T, create func() Lock) {
	return func(t *testing.T, create func() Lock) {
		t.Helper()
		l := create()
		f(t, l)
		requireState(t, l, asNobody)
	}
}

// atEveryProcs is once at several numbers of processors.
func atEveryProcs(f func(t *testing.T, l Lock)) func(t *testing.T, create func() Lock) {
	return func(t *testing.T, create func() Lock) {
		t.Helper()
		locktest.AtEveryProcs(t, func(t *testing.T) { once(f)(t, create) })
	}
}

var bg = context.Background()

// What somebody can hold.
type state int

const (
	asNobody state = iota
	asReader
	asWriter
)

func (s state) String() string { return [...]string{"unlocked", "read-locked", "write-locked"}[s] }

// holds are the states of a lock that is held.
var holds = []state{asReader, asWriter}

func (s state) lock(l Lock) {
	switch s {
	case asReader:
		l.RLock()
	case asWriter:
		l.Lock()
	default:
	}
}

func (s state) unlock(l Lock) {
	switch s {
	case asReader:
		l.RUnlock()
	case asWriter:
		l.Unlock()
	default:
	}
}

func (s state) lockContext(ctx context.Context, l Lock) error {
	if s == asReader {
		return l.RLockContext(ctx)
	}
	return l.LockContext(ctx)
}

func (s state) lockTimeout(l Lock, d time.Duration) bool {
	if s == asReader {
		return l.RLockTimeout(d)
	}
	return l.LockTimeout(d)
}

func (s state) try(l Lock) bool {
	if s == asReader {
		return l.TryRLock()
	}
	return l.TryLock()
}

// requireState checks that l is held as s says, and nobody waits.
func requireState(t *testing.T, l Lock, s state) {
	t.Helper()
	require.Zero(t, l.Waiting(), "somebody waits")
	for _, as := range holds {
		ok := as.try(l)
		if ok {
			as.unlock(l)
		}
		require.Equal(t, s == asNobody || s == asReader && as == asReader, ok, "a try of what is to be %v", s)
	}
}

// Queued calls lock in a goroutine of its own, and returns when that waits. What it returns has the
// result when lock has returned.
func Queued[T any](t *testing.T, l Lock, lock func() T) <-chan T {
	t.Helper()
	before := l.Waiting()
	c := make(chan T, 1)
	go func() { c <- lock() }()
	locktest.AwaitWaiting(t, l, before+1)
	return c
}

// returned makes a function with a result of one without.
func returned(f func()) func() struct{} {
	return func() struct{} { f(); return struct{}{} }
}
