package fleet

import (
	"context"
	"time"
)

// Permits is what a Semaphore and one of package sync/semaphore have in common. Code that takes
// Permits works in one process and in a fleet, as the constructor decides.
type Permits interface {
	Acquire(ctx context.Context, n int64) error
	AcquireTimeout(t time.Duration, n int64) error
	TryAcquire(n int64) bool
	Release(n int64)
	Size() int64
	Available() int64
	Waiting() int
	Close()
}

// A Semaphore is a counting semaphore that all processes of a fleet share. Its methods are those of
// the semaphore of package sync/semaphore, with the same promises, and those that ask the fleet
// take a context. The differences:
//
//   - The order is FIFO in this process, and among the blocks that processes ask for; see the
//     package documentation.
//   - Permits that are held may be lost, and only a [Permit] knows that. So all other locks of a
//     fleet are held by Permits. A Semaphore also counts without one, because it stands where a
//     semaphore of one process does: see [Permits]. A holder that uses Acquire and Release does not
//     learn of a loss. Use AcquirePermit unless the work is harmless when done twice.
//   - TryAcquire and Available know only what this process has. TryAcquirePermit asks the fleet.
type Semaphore struct{ d *driver }

// Semaphore returns the semaphore of the fleet that has that name. If there is none it is made,
// with size permits. Otherwise it keeps the size that it has: Resize changes it. Semaphore panics
// if size is negative.
func (f *Fleet) Semaphore(ctx context.Context, name string, size int64) (*Semaphore, error) {
	if size < 0 {
		panic("fleet: negative size")
	}
	d, err := f.open(ctx, kindSemaphore, name, min(size, MaxPermits))
	if err != nil {
		return nil, err
	}
	return &Semaphore{d}, nil
}

// Acquire takes n permits. It waits for them until ctx is done or the semaphore is closed. It
// returns nil if and only if the caller holds the permits. While the fleet's servers cannot be
// reached, Acquire waits. If they refuse this process what it needs, Acquire returns their error.
// It fails at once with ErrTooLarge if the fleet has fewer permits, after it has asked. Acquire
// panics if n is negative or ctx is nil.
func (s *Semaphore) Acquire(ctx context.Context, n int64) error { return s.d.acquireLoose(ctx, n) }

// AcquireTimeout is Acquire, but gives up when t has passed and returns [context.DeadlineExceeded].
// If t <= 0 it acquires nothing.
func (s *Semaphore) AcquireTimeout(t time.Duration, n int64) error { return s.d.acquireLooseFor(t, n) }

// TryAcquire takes n permits if this process has that many to spare and no request of it waits. It
// never uses the network.
func (s *Semaphore) TryAcquire(n int64) bool { return loosen(s.d.tryOnce(n), n) }

// Release returns n permits that were acquired without a Permit. They go to the goroutines of this
// process that wait, unless another process's turn has come. A goroutine may release what another
// one of this process has acquired. Release panics if n is negative or more than this process
// holds.
func (s *Semaphore) Release(n int64) { s.d.release(n) }

// AcquirePermit is Acquire and returns a handle. With an error the handle is nil and holds nothing.
func (s *Semaphore) AcquirePermit(ctx context.Context, n int64) (*Permit, error) {
	return s.d.acquirePermit(ctx, n)
}

// TryAcquirePermit takes n permits if they are free in the fleet and nobody waits for them.
// Otherwise it returns ErrBusy. It does not wait for a holder. It asks the fleet unless this
// process has the permits idle: that takes a round trip, and a second one if they are not free. If
// another process has them idle, TryAcquirePermit asks for them, and waits for them: for four round
// trips and 50 ms. While the fleet's servers cannot be reached, it waits until ctx is done. Its
// other errors are those of Acquire. With an error the handle is nil and holds nothing.
// TryAcquirePermit panics if n is negative or ctx is nil.
func (s *Semaphore) TryAcquirePermit(ctx context.Context, n int64) (*Permit, error) {
	return s.d.tryPermit(ctx, n)
}

// Resize changes the number of permits of the fleet, by one write. If more are held their holders
// keep them, and none is granted until enough have come back. It asks again while no server answers
// in time, until ctx is done. With an error the size may have been changed, or be changed later
// unless somebody else changes it before. Resize panics if n is negative.
func (s *Semaphore) Resize(ctx context.Context, n int64) error {
	if n < 0 {
		panic("fleet: negative size")
	}
	return s.d.resize(ctx, min(n, MaxPermits))
}

// resize writes the size. A write that had no answer may arrive at any time. So each is for the
// size as it was written last, and one that comes late finds another.
func (d *driver) resize(ctx context.Context, n int64) error {
	d.seen.Lock()
	mod := d.state.SizeMod
	d.seen.Unlock()
	return d.fleet.resize(ctx, d.remote, n, mod)
}

// Size returns the number of permits of the fleet, as far as this process knows.
func (s *Semaphore) Size() int64 { return s.d.size.Load() }

// Available returns how many permits this process has to spare. It is negative while it holds more
// than it may keep.
func (s *Semaphore) Available() int64 { return s.d.current.Load().Available() }

// Waiting returns how many requests of this process wait.
func (s *Semaphore) Waiting() int { return s.d.current.Load().Waiting() }

// Close ends all waiting and all later requests of this process with ErrClosed, and returns what is
// idle. Permits that are held stay held until they are released. Other processes are not concerned.
// Closing twice is harmless. Fleet.Semaphore opens the semaphore again, at any time. What the
// closed one still has counts then, as what another process has does.
func (s *Semaphore) Close() { s.d.close() }

func (s *Semaphore) observable() (kind string, d *driver) { return kindSemaphore, s.behind() }

// behind returns the driver of a façade, nil if that is nil.
func (s *Semaphore) behind() *driver {
	if s == nil {
		return nil
	}
	return s.d
}
