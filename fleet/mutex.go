package fleet

import (
	"context"
	"time"
)

// A Mutex is a lock that all processes of a fleet share: a [Semaphore] of one permit.
type Mutex struct{ d *driver }

// Mutex returns the mutex of the fleet that has that name.
func (f *Fleet) Mutex(ctx context.Context, name string) (*Mutex, error) {
	d, err := f.open(ctx, kindMutex, name, 1)
	if err != nil {
		return nil, err
	}
	return &Mutex{d}, nil
}

// LockContext locks m. It waits until ctx is done or m is closed.
func (m *Mutex) LockContext(ctx context.Context) error { return m.d.acquireLoose(ctx, 1) }

// LockTimeout is LockContext, but gives up when t has passed and returns
// [context.DeadlineExceeded].
func (m *Mutex) LockTimeout(t time.Duration) error { return m.d.acquireLooseFor(t, 1) }

// TryLock locks m if this process has it to spare. It never uses the network.
func (m *Mutex) TryLock() bool { return loosen(m.d.tryOnce(1), 1) }

// TryLockContext locks m if it is free in the fleet and nobody waits for it, and reports whether it
// did. If another process has it idle, TryLockContext asks for it, and waits for it: for four round
// trips and 50 ms.
func (m *Mutex) TryLockContext(ctx context.Context) (bool, error) {
	t, err := m.d.tryAsking(ctx, 1)
	return loosen(t, 1), err
}

// LockPermit is LockContext and returns a handle, whose Release unlocks m.
func (m *Mutex) LockPermit(ctx context.Context) (*Permit, error) { return m.d.acquirePermit(ctx, 1) }

// Unlock unlocks m. It panics if m is not locked in this process, other than by a Permit.
func (m *Mutex) Unlock() { m.d.release(1, 1) }

func (m *Mutex) observable() (kind string, d *driver) { return kindMutex, (*Semaphore)(m).behind() }

// Close ends all waiting and all later requests of this process with ErrClosed.
func (m *Mutex) Close() { m.d.close() }
