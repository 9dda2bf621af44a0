package semaphore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// Several tenants ask in all ways while the queue, the size and the observation change. In the end
// the semaphore closes. No more is held than there ever was, everything ends as it may, and all
// permits come back.
func TestEverythingChangesAtOnce(t *testing.T) {
	for name, opts := range map[string][]semaphore.Option{
		"queue":      {semaphore.WithQueue(semaphore.Queue{})},
		"shares":     {semaphore.WithShares(func(tenant any) int { return 1 + tenant.(int) })},
		"priorities": {semaphore.WithPriorities(3, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			locktest.AtEveryProcs(t, func(t *testing.T) {
				for seed := range uint64(locktest.Scaled(400)) {
					changeEverything(t, seed, name != "queue", opts)
				}
			})
		})
	}
}

// largestSize is the largest size of a semaphore whose size changes.
const largestSize = 5

func changeEverything(t *testing.T, seed uint64, divided bool, opts []semaphore.Option) {
	t.Helper()
	s := semaphore.New(largestSize, opts...)
	var held atomic.Int64
	var users, changers sync.WaitGroup
	use := func(n int64) {
		if h := held.Add(n); h > largestSize {
			t.Errorf("%d permits are held of %d", h, largestSize)
		}
		held.Add(-n)
		s.Release(n)
	}
	for u := range 6 {
		users.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(u)))
			var f waiter.Future
			for range 60 {
				tenant, n := rng.IntN(3), 1+rng.Int64N(3)
				err := askSomehow(s, &f, rng, tenant, n)
				switch {
				case err == nil:
					use(n)
				case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
					errors.Is(err, semaphore.ErrClosed), errors.Is(err, semaphore.ErrTooLarge),
					errors.Is(err, semaphore.ErrQueueFull), errors.Is(err, semaphore.ErrShed),
					errors.Is(err, semaphore.ErrWouldExpire), errors.Is(err, errNotNow):
				default:
					t.Errorf("%v", err)
				}
			}
		})
	}
	stop := make(chan struct{})
	for c, change := range []func(rng *rand.Rand){
		func(rng *rand.Rand) { s.SetQueue(randomQueue(rng, divided)) },
		func(rng *rand.Rand) { s.Resize(rng.Int64N(largestSize + 1)) },
		func(rng *rand.Rand) {
			if level := observed.Level(rng.IntN(3)); level == observed.Off {
				records.Unwatch(s)
			} else {
				records.Watch(s, "changes", level)
			}
		},
		func(*rand.Rand) { s.Waiting(); s.Available(); s.Size() },
	} {
		changers.Go(func() {
			for rng := rand.New(rand.NewPCG(seed, uint64(100+c))); ; change(rng) {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(rng.IntN(50)) * time.Microsecond):
				}
			}
		})
	}
	if seed%2 == 0 { // Otherwise the users come to their ends while it is open.
		after := time.Duration(rand.New(rand.NewPCG(seed, 99)).IntN(10)) * time.Millisecond
		defer time.AfterFunc(after, s.Close).Stop() // which would otherwise reach into another test
	}
	ended := make(chan struct{})
	go func() { users.Wait(); close(ended) }()
	locktest.Receive(t, ended)
	close(stop)
	changers.Wait()
	records.Unwatch(s)
	s.Resize(largestSize)
	require.Zero(t, s.Waiting())
	require.EqualValues(t, largestSize, s.Available())
	if s.Close(); !s.TryAcquire(1) {
		return
	}
	t.Error("acquired what is closed")
}

var errNotNow = errors.New("a try has failed")

// askSomehow asks for n permits of a tenant, in one of all ways, each of which ends.
func askSomehow(s *semaphore.Semaphore, f *waiter.Future, rng *rand.Rand, tenant int, n int64) error {
	patience := time.Duration(rng.IntN(300)) * time.Microsecond
	switch rng.IntN(5) {
	case 0:
		ctx, cancel := context.WithTimeout(bg, patience)
		defer cancel()
		return s.As(tenant).Acquire(ctx, n)
	case 1:
		ctx, cancel := context.WithCancel(bg)
		defer time.AfterFunc(patience, cancel).Stop()
		return s.As(tenant).Acquire(locktest.NewTrapContext(ctx, "Err", 1+rng.Int64N(4), cancel), n)
	case 2:
		return s.As(tenant).AcquireTimeout(patience, n)
	case 3:
		if !s.TryAcquire(n) {
			return errNotNow
		}
		return nil
	}
	s.As(tenant).Bind(f, n)
	select {
	case <-f.Done():
		return f.Take()
	case <-time.After(patience):
		f.Release()
		return errNotNow
	}
}

func randomQueue(rng *rand.Rand, divided bool) semaphore.Queue {
	q := semaphore.Queue{
		RefuseLate: rng.IntN(3) == 0,
		Shed:       []semaphore.Shed{semaphore.ShedNone, semaphore.ShedCoDel, semaphore.ShedAdaptiveLIFO}[rng.IntN(3)],
		Target:     time.Duration(rng.IntN(200)) * time.Microsecond,
		Interval:   time.Duration(rng.IntN(500)) * time.Microsecond,
		MaxWaiting: rng.IntN(6),
	}
	if divided {
		q.MaxWaitingPerTenant = rng.IntN(4)
	}
	return q
}
