package keyed_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/sync/keyed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

// A mutex is one key of a Mutex, for the tests of all mutexes.
type mutex struct {
	m *keyed.Mutex[int]
	k int
}

func (m mutex) Lock()                                 { m.m.Lock(m.k) }
func (m mutex) TryLock() bool                         { return m.m.TryLock(m.k) }
func (m mutex) LockContext(ctx context.Context) error { return m.m.LockContext(ctx, m.k) }
func (m mutex) LockTimeout(d time.Duration) bool      { return m.m.LockTimeout(d, m.k) }
func (m mutex) Unlock()                               { m.m.Unlock(m.k) }
func (m mutex) Waiting() int                          { return m.m.Waiting(m.k) }

func newMutex() mutextest.Mutex { return mutex{new(keyed.Mutex[int]), 3} }

// A twoKeys is two keys, which are locked together.
type twoKeys struct{ mutex }

func (m twoKeys) Lock()                                 { m.m.Lock(m.k, m.k+1) }
func (m twoKeys) TryLock() bool                         { return m.m.TryLock(m.k+1, m.k) }
func (m twoKeys) LockContext(ctx context.Context) error { return m.m.LockContext(ctx, m.k+1, m.k) }
func (m twoKeys) LockTimeout(d time.Duration) bool      { return m.m.LockTimeout(d, m.k, m.k+1) }
func (m twoKeys) Unlock()                               { m.m.Unlock(m.k, m.k+1) }

func newTwoKeys() mutextest.Mutex { return twoKeys{mutex{new(keyed.Mutex[int]), 3}} }

// An rwMutex is one key of an RWMutex.
type rwMutex struct {
	m *keyed.RWMutex[string]
	k string
}

func (m rwMutex) Lock()                                  { m.m.Lock(m.k) }
func (m rwMutex) TryLock() bool                          { return m.m.TryLock(m.k) }
func (m rwMutex) LockContext(ctx context.Context) error  { return m.m.LockContext(ctx, m.k) }
func (m rwMutex) LockTimeout(d time.Duration) bool       { return m.m.LockTimeout(d, m.k) }
func (m rwMutex) Unlock()                                { m.m.Unlock(m.k) }
func (m rwMutex) RLock()                                 { m.m.RLock(m.k) }
func (m rwMutex) TryRLock() bool                         { return m.m.TryRLock(m.k) }
func (m rwMutex) RLockContext(ctx context.Context) error { return m.m.RLockContext(ctx, m.k) }
func (m rwMutex) RLockTimeout(d time.Duration) bool      { return m.m.RLockTimeout(d, m.k) }
func (m rwMutex) RUnlock()                               { m.m.RUnlock(m.k) }
func (m rwMutex) Waiting() int                           { return m.m.Waiting(m.k) }
func (m rwMutex) RLocker() sync.Locker                   { return rlocker{m} }

type rlocker struct{ m rwMutex }

func (r rlocker) Lock()   { r.m.RLock() }
func (r rlocker) Unlock() { r.m.RUnlock() }

func rwKind() rwtest.Kind {
	return rwtest.Kind{
		Package: "keyed",
		New:     func() rwtest.Lock { return rwMutex{new(keyed.RWMutex[string]), "key"} },
		FIFO:    true,
	}
}

// A semaphore is one key of a Semaphore. What it only embeds is not called.
type semaphore struct {
	semtest.Semaphore
	s *keyed.Semaphore[int]
	k int
}

func (s semaphore) Acquire(ctx context.Context, n int64) error { return s.s.Acquire(ctx, s.k, n) }
func (s semaphore) AcquireTimeout(d time.Duration, n int64) error {
	return s.s.AcquireTimeout(d, s.k, n)
}
func (s semaphore) TryAcquire(n int64) bool { return s.s.TryAcquire(s.k, n) }
func (s semaphore) Release(n int64)         { s.s.Release(s.k, n) }
func (s semaphore) Size() int64             { return s.s.Size() }
func (s semaphore) Available() int64        { return s.s.Size() - s.s.Held(s.k) }
func (s semaphore) Waiting() int            { return s.s.Waiting(s.k) }

func semKind() semtest.Kind {
	return semtest.Kind{New: func(n int64) semtest.Semaphore { return semaphore{s: keyed.NewSemaphore[int](n), k: 3} }}
}

// tableOf returns what m is a key of.
func tableOf(m mutextest.Small) *keyed.Mutex[int] {
	switch m := m.(type) {
	case mutex:
		return m.m
	case twoKeys:
		return m.m
	default:
		panic("not of this package")
	}
}
