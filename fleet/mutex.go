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

// TryLock locks m if it is free in the fleet and nobody waits for it. Otherwise it returns
// ErrLocked. It does not wait for a holder. It asks the fleet unless this process has m idle: that
// takes a round trip, and a second one if m is not free. If another process has m idle, TryLock
// asks for it, and waits for it: for four round trips and 50 ms. While the fleet's servers cannot
// be reached, TryLock waits until ctx is done. Its other errors are those of Lock. With an error
// the permit is nil. TryLock panics if ctx is nil.
func (m *Mutex) TryLock(ctx context.Context) (*Permit, error) {
	t, err := m.d.tryAsking(ctx, 1)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, ErrLocked
	}
	return newPermit(m.d, t, 1), nil
}

func (m *Mutex) observable() (kind string, d *driver) { return kindMutex, (*Semaphore)(m).behind() }

// Close ends all waiting and all later requests of this process with ErrClosed. A permit that is
// held stays held until it is released.
func (m *Mutex) Close() { m.d.close() }
