package fleet

import "context"

// A Mutex is a lock that all processes of a fleet share. It can be lost, and only the [Permit] of
// its holder knows that. So Lock and TryLock return one, and its Release unlocks the Mutex.
//
// Order: that of a [Semaphore] of one permit.
type Mutex struct{ d *driver }

// Mutex returns the mutex of the fleet that has that name.
func (f *Fleet) Mutex(ctx context.Context, name string) (*Mutex, error) {
	d, err := f.open(ctx, kindMutex, name, 1)
	if err != nil {
		return nil, err
	}
	return &Mutex{d}, nil
}

// Lock locks m. It waits until ctx is done or m is closed. While the fleet's servers cannot be
// reached, Lock waits. If they refuse this process what it needs, Lock returns their error. With an
// error the permit is nil. Lock panics if ctx is nil.
func (m *Mutex) Lock(ctx context.Context) (*Permit, error) { return m.d.acquirePermit(ctx, 1) }

// TryLock locks m if it is free in the fleet and nobody waits for it. Otherwise it returns ErrBusy.
// It asks the fleet, and ends with another error, as [Semaphore.TryAcquirePermit] does. With an
// error the permit is nil.
func (m *Mutex) TryLock(ctx context.Context) (*Permit, error) { return m.d.tryPermit(ctx, 1) }

func (m *Mutex) observable() (kind string, d *driver) { return kindMutex, (*Semaphore)(m).behind() }

// Close ends all waiting and all later requests of this process with ErrClosed. A permit that is
// held stays held until it is released.
func (m *Mutex) Close() { m.d.close() }
