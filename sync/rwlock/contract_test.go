package rwlock_test

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/waiter"
)

// The contract of a read-write lock, in first-in-first-out order, with futures and upgradable
// readers. The tests beside this one are of the bias, guards, texts and machine code.
func TestContract(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { rwtest.Run(t, contractOf(k.make)) })
	}
}

// contractOf returns what the locks that create returns promise.
func contractOf(create func() *rwlock.RWLock) rwtest.Kind {
	return rwtest.Kind{
		Package: "rwlock",
		New:     func() rwtest.Lock { return create() },
		FIFO:    true,
		Bind: func(f *waiter.Future, l rwtest.Lock, s rwtest.State) {
			lock, _ := l.(*rwlock.RWLock)
			bindAs(f, lock, s)
		},
	}
}

// bindAs has f request l as s.
func bindAs(f *waiter.Future, l *rwlock.RWLock, s rwtest.State) {
	switch s {
	case rwtest.Read:
		l.BindRead(f)
	case rwtest.Upgradable:
		l.BindUpgradable(f)
	case rwtest.Write:
		l.Bind(f)
	default:
		panic("a lock cannot be requested as unlocked")
	}
}
