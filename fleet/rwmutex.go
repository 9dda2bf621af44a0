package fleet

import (
	"context"
	"time"

	"github.com/farad-go/farad/fleet/internal/line"
)

// A RWMutex is a read-write lock that all processes of a fleet share. Any number of readers, in any
// number of processes, or one writer hold it at a time.
//
// Order: a process's readers share one block, which new readers may use as long as no writer waits,
// in this process; and, if one waits in another process, for the tenure. A writer's block becomes a
// readers' block if readers have followed the writer and others wait. So neither kind starves.
type RWMutex struct{ d *driver }

// RWMutex returns the read-write lock of the fleet that has that name.
func (f *Fleet) RWMutex(ctx context.Context, name string) (*RWMutex, error) {
	d, err := f.open(ctx, kindRWMutex, name, line.Everyone)
	if err != nil {
		return nil, err
	}
	return &RWMutex{d}, nil
}

// LockContext locks m for writing. It waits until ctx is done or m is closed.
func (m *RWMutex) LockContext(ctx context.Context) error { return m.d.acquireLoose(ctx, writer) }

// RLockContext locks m for reading.
func (m *RWMutex) RLockContext(ctx context.Context) error { return m.d.acquireLoose(ctx, reader) }

// LockTimeout is LockContext, but gives up when t has passed and returns
// [context.DeadlineExceeded].
func (m *RWMutex) LockTimeout(t time.Duration) error { return m.d.acquireLooseFor(t, writer) }

// RLockTimeout is RLockContext, but gives up when t has passed and returns
// [context.DeadlineExceeded].
func (m *RWMutex) RLockTimeout(t time.Duration) error { return m.d.acquireLooseFor(t, reader) }

// TryLock locks m for writing if this process may at once. It never uses the network.
func (m *RWMutex) TryLock() bool { return loosen(m.d.tryOnce(writer), writer) }

// TryRLock locks m for reading if this process may at once. It never uses the network.
func (m *RWMutex) TryRLock() bool { return loosen(m.d.tryOnce(reader), reader) }

// LockPermit is LockContext and returns a handle, whose Release unlocks m.
func (m *RWMutex) LockPermit(ctx context.Context) (*Permit, error) {
	return m.d.acquirePermit(ctx, writer)
}

// RLockPermit is RLockContext and returns a handle, whose Release unlocks m.
func (m *RWMutex) RLockPermit(ctx context.Context) (*Permit, error) {
	return m.d.acquirePermit(ctx, reader)
}

// Unlock ends a LockContext. It panics if this process has not locked m for writing, other than by
// a Permit.
func (m *RWMutex) Unlock() { m.d.release(writer, writer) }

// RUnlock ends a RLockContext. It panics if this process has not locked m for reading, other than
// by a Permit.
func (m *RWMutex) RUnlock() { m.d.release(reader, writer-1) }

func (m *RWMutex) observable() (kind string, d *driver) { return kindRWMutex, (*Semaphore)(m).behind() }

// Close ends all waiting and all later requests of this process with ErrClosed.
func (m *RWMutex) Close() { m.d.close() }
