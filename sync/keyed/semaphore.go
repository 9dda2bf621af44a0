package keyed

import (
	"context"
	"fmt"
	"time"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/waiter"
)

// MaxPermits is the largest size of a semaphore. Larger sizes are reduced to it.
const MaxPermits int64 = 1 << 60

// ErrTooLarge is the error of an acquire of more permits than a key has in all.
var ErrTooLarge = waiter.ErrTooLarge

// A Semaphore is a counting semaphore for each key, all of the same size. Of a key at most Size
// permits are held at any time. NewSemaphore makes one; the zero Semaphore has no permits. A
// Semaphore must not be copied after first use.
//
// A call panics, and has changed nothing, if a key is not equal to itself or cannot be compared.
//
// Order: FIFO for each key. A request waits until all older ones for its key have been granted or
// have given up, even if enough permits are free for it. Cost: as that of a [Mutex].
//
// Memory model: a Release of a key synchronizes before the return of each acquire that its permits
// serve.
type Semaphore[K comparable] struct {
	size  int64 // constant
	lines lines[K]
}

// NewSemaphore returns a semaphore of n permits for each key, all free. It panics if n is negative.
func NewSemaphore[K comparable](n int64) *Semaphore[K] {
	if n < 0 {
		panic("keyed: negative size")
	}
	s := &Semaphore[K]{size: min(n, MaxPermits), lines: lines[K]{ofSemaphore: true}}
	if observed.Everything() != observed.Off {
		s.observable().record()
	}
	return s
}

func (s *Semaphore[K]) table() *table[K] { return s.lines.table(s.size) }

// Acquire takes n permits of k. It waits for them until ctx is done.
//
// A request for more permits than Size fails at once with ErrTooLarge, and a request for 0 permits
// does not wait. Acquire panics if n is negative.
func (s *Semaphore[K]) Acquire(ctx context.Context, k K, n int64) error {
	if 0 < n && n <= s.size {
		return s.table().acquireContext(ctx, n, s.size, k)
	}
	s.table().hash(k)
	requireNumber(n)
	if err := usable(ctx); err != nil {
		return err
	}
	return s.atOnce(n)
}

// requireNumber panics if an acquire of n permits is none.
func requireNumber(n int64) {
	if n < 0 {
		panic("keyed: acquire of a negative number of permits")
	}
}

// atOnce returns the outcome of a request for n permits that need not wait, because they are none
// or too many.
func (s *Semaphore[K]) atOnce(n int64) error {
	if n > s.size {
		err := waiter.Oversized("keyed", n, s.size)
		if h := s.observable(); h.observed.Load() {
			_ = h.record().AtOnce(observed.Request{N: n}, err)
		}
		return err
	}
	return nil
}

// AcquireTimeout is Acquire, but gives up when d has passed and returns [context.DeadlineExceeded].
// If d <= 0 it acquires nothing; TryAcquire acquires without waiting.
func (s *Semaphore[K]) AcquireTimeout(d time.Duration, k K, n int64) error {
	s.table().hash(k)
	requireNumber(n)
	switch {
	case d <= 0:
		return context.DeadlineExceeded
	case n == 0 || n > s.size:
		return s.atOnce(n)
	case !s.table().acquireTimeout(d, n, s.size, k):
		return context.DeadlineExceeded
	}
	return nil
}

// TryAcquire takes n permits of k if that many are free and no request waits for k, and reports
// whether it did. It panics if n is negative.
func (s *Semaphore[K]) TryAcquire(k K, n int64) bool {
	s.table().hash(k)
	requireNumber(n)
	if n == 0 || n > s.size {
		return s.atOnce(n) == nil
	}
	return s.table().tryAcquire(n, s.size, k)
}

// Release returns n permits of k. They go to the waiting requests, in order, and the rest becomes
// free. A goroutine may release what another has acquired. Releasing 0 permits does nothing.
//
// Release panics if n is negative or more than is held of k. It then has changed nothing.
func (s *Semaphore[K]) Release(k K, n int64) {
	if n < 0 {
		panic("keyed: release of a negative number of permits")
	}
	if n == 0 {
		return
	}
	if _, ok := s.lines.release(s.size, n, s.size, k); !ok {
		s.panicOverReleased(k, n)
	}
}

// panicOverReleased panics because fewer permits are held than were to be released. The number is
// read afterwards and may have changed, but the text never says that as many are held.
//
//go:noinline
func (s *Semaphore[K]) panicOverReleased(k K, n int64) {
	held, _ := s.lines.look(s.size, k)
	panic(fmt.Sprintf("keyed: released %d of key %s, but %d are held (size %d)", n, name(k), min(held, n-1), s.size))
}

// Size returns the number of permits that each key has, free or held.
func (s *Semaphore[K]) Size() int64 { return s.size }

// Len returns the number of keys of which permits are held. (Of a key that is waited for some are.)
// It looks at one shard after the other, so while keys come and go it may be a number that never
// was.
func (s *Semaphore[K]) Len() int { return s.lines.len() }

// Waiting returns the number of requests that wait for permits of k. It is meant for tests and
// statistics.
func (s *Semaphore[K]) Waiting(k K) int {
	_, n := s.lines.look(s.size, k)
	return n
}
