package rwtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

// A Lock is a read-write lock.
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

// An UpgradableLock is a [Lock] that also has upgradable readers.
type UpgradableLock interface {
	Lock
	ULock()
	TryULock() bool
	UUnlock()
	ULockContext(ctx context.Context) error
	ULockTimeout(d time.Duration) bool
	Upgrade()
	TryUpgrade() bool
	UpgradeContext(ctx context.Context) error
	UpgradeTimeout(d time.Duration) bool
	Downgrade()
	DowngradeToUpgradable()
	ForgoUpgrade()
}

// A Kind says how to make locks, and what they promise. If New returns an [UpgradableLock], the
// tests of upgradable readers run, too.
type Kind struct {
	Package string      // the name that begins the text of a panic
	New     func() Lock // a free lock
	FIFO    bool        // of two requests that exclude each other the older one is served first

	// Bind makes f a request for l, which may be nil, as s. Nil: the package has no futures.
	Bind func(f *waiter.Future, l Lock, s State)
}

// future returns a request for l.
func (k Kind) future(l Lock, s State) *waiter.Future {
	f := new(waiter.Future)
	k.Bind(f, l, s)
	return f
}

// Run runs all tests that apply to locks of a kind. Each test must leave its locks free.
func Run(t *testing.T, k Kind) {
	t.Helper()
	lists := [][]test{basics, waits, exclusion, bubbles}
	if k.FIFO {
		lists = append(lists, order)
	}
	_, upgrades := k.New().(UpgradableLock)
	if upgrades {
		require.True(t, k.FIFO, "the tests of upgradable readers expect that order")
		lists = append(lists, upgrade, upgradeBubbles)
	}
	if k.Bind != nil {
		lists = append(lists, futures)
	}
	if upgrades && k.Bind != nil {
		lists = append(lists, allTogether)
	}
	for _, list := range lists {
		for _, test := range list {
			t.Run(test.name, func(t *testing.T) {
				defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
				test.run(t, k)
			})
		}
	}
}

// A test makes the locks that it needs.
type test struct {
	name string
	run  func(t *testing.T, k Kind)
}

// once makes a test of a function that needs one lock.
func once(f func(t *testing.T, k Kind, l Lock)) func(t *testing.T, k Kind) {
	return func(t *testing.T, k Kind) {
		t.Helper()
		l := k.New()
		f(t, k, l)
		RequireState(t, l, Unlocked)
	}
}

// atEveryProcs is once at several numbers of processors.
func atEveryProcs(f func(t *testing.T, k Kind, l Lock)) func(t *testing.T, k Kind) {
	return func(t *testing.T, k Kind) {
		t.Helper()
		locktest.AtEveryProcs(t, func(t *testing.T) { once(f)(t, k) })
	}
}

var bg = context.Background()

// A State is how a lock is held.
type State int

// The states.
const (
	Unlocked State = iota
	Read
	Upgradable
	Write
)

// String implements [fmt.Stringer].
func (s State) String() string {
	return [...]string{"unlocked", "read-locked", "upgradable", "write-locked"}[s]
}

// Holds returns the states in which l can be held.
func Holds(l Lock) []State {
	if _, ok := l.(UpgradableLock); ok {
		return []State{Read, Upgradable, Write}
	}
	return []State{Read, Write}
}

// excludes reports whether no goroutine can hold a lock as one state while another holds it as the
// other.
func (s State) excludes(other State) bool {
	return s == Write || other == Write || s == Upgradable && other == Upgradable
}

// conflicts calls f with each pair of states of l that exclude each other.
func conflicts(l Lock, f func(held, wanted State)) {
	for _, held := range Holds(l) {
		for _, wanted := range Holds(l) {
			if held.excludes(wanted) {
				f(held, wanted)
			}
		}
	}
}

// Lock locks l as s. It does nothing if s is Unlocked. These methods do not allocate.
func (s State) Lock(l Lock) {
	switch s {
	case Read:
		l.RLock()
	case Upgradable:
		l.(UpgradableLock).ULock()
	case Write:
		l.Lock()
	default:
	}
}

// Unlock ends what Lock has begun.
func (s State) Unlock(l Lock) {
	switch s {
	case Read:
		l.RUnlock()
	case Upgradable:
		l.(UpgradableLock).UUnlock()
	case Write:
		l.Unlock()
	default:
	}
}

// TryLock is Lock without waiting.
func (s State) TryLock(l Lock) bool {
	switch s {
	case Read:
		return l.TryRLock()
	case Upgradable:
		return l.(UpgradableLock).TryULock()
	case Write:
		return l.TryLock()
	default:
		panic("a lock cannot be locked as unlocked")
	}
}

// LockContext is Lock with a context.
func (s State) LockContext(ctx context.Context, l Lock) error {
	switch s {
	case Read:
		return l.RLockContext(ctx)
	case Upgradable:
		return l.(UpgradableLock).ULockContext(ctx)
	case Write:
		return l.LockContext(ctx)
	default:
		panic("a lock cannot be locked as unlocked")
	}
}

// LockTimeout is Lock with a timeout.
func (s State) LockTimeout(l Lock, d time.Duration) bool {
	switch s {
	case Read:
		return l.RLockTimeout(d)
	case Upgradable:
		return l.(UpgradableLock).ULockTimeout(d)
	case Write:
		return l.LockTimeout(d)
	default:
		panic("a lock cannot be locked as unlocked")
	}
}

// RequireState checks that one goroutine holds l as s, that no other one does, and that no
// goroutine waits.
func RequireState(t *testing.T, l Lock, s State) {
	t.Helper()
	require.Zero(t, l.Waiting(), "a goroutine waits")
	for _, as := range Holds(l) {
		ok := as.TryLock(l)
		if ok {
			as.Unlock(l)
		}
		require.Equal(t, s == Unlocked || !s.excludes(as), ok, "a try of %v where the lock must be %v", as, s)
	}
}

// Queued calls lock in a goroutine of its own, and returns when that goroutine waits. The channel
// gets a value when lock has returned.
func Queued(t *testing.T, l Lock, lock func()) <-chan struct{} {
	t.Helper()
	return QueuedFor(t, l, func() struct{} { lock(); return struct{}{} })
}

// QueuedFor is Queued for a function with a result, which the channel gets.
func QueuedFor[T any](t *testing.T, l Lock, lock func() T) <-chan T {
	t.Helper()
	before := l.Waiting()
	c := make(chan T, 1)
	go func() { c <- lock() }()
	locktest.AwaitWaiting(t, l, before+1)
	return c
}

// requireMisuse checks that f panics, and that the text names the package and says that the lock is
// not locked so.
func (k Kind) requireMisuse(t *testing.T, f func()) {
	t.Helper()
	text := require.PanicOf(f)
	require.Contains(t, text, k.Package+": ")
	require.Contains(t, text, "unlocked")
}
