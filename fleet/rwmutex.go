package fleet

import (
	"context"

	"github.com/farad-go/farad/fleet/internal/line"
)

// A RWMutex is a read-write lock that all processes of a fleet share. Any number of readers, in any
// number of processes, or one writer hold it at a time. Each has a [Permit] of its own, whose
// Release unlocks.
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

// Lock locks m for writing. It waits, and ends with an error, as [Mutex.Lock] does.
func (m *RWMutex) Lock(ctx context.Context) (*Permit, error) { return m.d.acquirePermit(ctx, writer) }

// RLock locks m for reading. It waits, and ends with an error, as [Mutex.Lock] does.
func (m *RWMutex) RLock(ctx context.Context) (*Permit, error) { return m.d.acquirePermit(ctx, reader) }

func (m *RWMutex) observable() (kind string, d *driver) { return kindRWMutex, (*Semaphore)(m).behind() }

// Close ends all waiting and all later requests of this process with ErrClosed. Permits that are
// held stay held until they are released.
func (m *RWMutex) Close() { m.d.close() }
