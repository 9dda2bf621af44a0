//go:build !interleave

package spec_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/spec"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// A recorder runs operations on a semaphore, and writes down what they were.
type recorder struct {
	sem   *semaphore.Semaphore
	clock atomic.Int64
	mu    sync.Mutex
	ops   []spec.Op
}

func (r *recorder) do(client int, kind spec.Kind, n int64, f func() spec.Result) spec.Result {
	o := spec.Op{Client: client, Kind: kind, N: n, Call: r.clock.Add(1)}
	o.Result = f()
	o.Return = r.clock.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, o)
	return o.Result
}

func resultOf(err error) spec.Result {
	switch {
	case err == nil:
		return spec.Granted
	case errors.Is(err, semaphore.ErrClosed):
		return spec.Closed
	case errors.Is(err, semaphore.ErrTooLarge):
		return spec.TooLarge
	default:
		return spec.Cancelled
	}
}

func (r *recorder) acquire(ctx context.Context, client int, n int64) bool {
	return spec.Granted == r.do(client, spec.Acquire, n, func() spec.Result { return resultOf(r.sem.Acquire(ctx, n)) })
}

func (r *recorder) acquireTimeout(d time.Duration, client int, n int64) bool {
	return spec.Granted == r.do(client, spec.Acquire, n, func() spec.Result {
		return resultOf(r.sem.AcquireTimeout(d, n))
	})
}

func (r *recorder) acquireFuture(patience, client int, n int64) bool {
	return spec.Granted == r.do(client, spec.Acquire, n, func() spec.Result {
		var f waiter.Future
		r.sem.Bind(&f, n)
		defer f.Release()
		f.Done()
		for range patience {
			if f.Poll(nil) {
				return resultOf(f.Take())
			}
			runtime.Gosched()
		}
		return spec.Abandoned
	})
}

func (r *recorder) try(client int, n int64) bool {
	return spec.Granted == r.do(client, spec.TryAcquire, n, func() spec.Result {
		if r.sem.TryAcquire(n) {
			return spec.Granted
		}
		return spec.Refused
	})
}

func (r *recorder) release(client int, n int64) {
	r.do(client, spec.Release, n, func() (result spec.Result) {
		defer func() {
			if recover() != nil {
				result = spec.Panicked
			}
		}()
		r.sem.Release(n)
		return spec.Done
	})
}

// What the semaphore of this module does is in the specification: a specification that is too
// strict would be no use.
func TestSemaphoreIsInTheSpecification(t *testing.T) {
	rounds := 600
	if locktest.Stress() {
		rounds = 3000
	}
	seen := map[spec.Result]int{}
	for round := range rounds {
		rng := rand.New(rand.NewPCG(5, uint64(round)))
		size := 1 + rng.Int64N(maxSize)
		r := &recorder{sem: semaphore.New(size)}
		ctx, cancel := context.WithCancel(context.Background())
		resizes, closes := round%3 == 0, round%4 == 0
		var wg sync.WaitGroup
		for client := range 4 {
			rng := rand.New(rand.NewPCG(uint64(client), uint64(round)))
			wg.Go(func() { r.client(ctx, client, rng, resizes, closes) })
		}
		time.AfterFunc(time.Duration(rng.IntN(300))*time.Microsecond, cancel)
		wg.Wait()
		cancel()
		slices.SortFunc(r.ops, func(a, b spec.Op) int { return int(a.Call - b.Call) })
		require.True(t, spec.Check(size, r.ops), "round %d, %d permits: %v", round, size, r.ops)
		for _, o := range r.ops {
			seen[o.Result]++
		}
	}
	t.Log(seen)
	for result := spec.Granted; result <= spec.Panicked; result++ {
		require.Positive(t, seen[result], result)
	}
}

const maxSize = 3

// client does a few operations. It releases its own permits, or more than any goroutine can have. A
// release of what others hold would make their releases illegal, and those of a request that is
// granted and cancelled cannot panic quietly.
func (r *recorder) client(ctx context.Context, client int, rng *rand.Rand, resizes, closes bool) {
	var held []int64
	for range 4 {
		n := 1 + rng.Int64N(2)
		got := false
		switch k := rng.IntN(16); {
		case len(held) > 0 && k < 10:
			r.release(client, held[0])
			held = held[1:]
		case k < 4:
			got = r.acquire(ctx, client, n)
		case k < 6:
			got = r.acquireTimeout(time.Duration(1+rng.IntN(50))*time.Microsecond, client, n)
		case k < 11:
			got = r.acquireFuture(rng.IntN(20), client, n)
		case k < 13:
			got = r.try(client, n)
		case resizes:
			size := rng.Int64N(maxSize + 1)
			r.do(client, spec.Resize, size, func() spec.Result { r.sem.Resize(size); return spec.Done })
		case closes && k == 13:
			r.do(client, spec.Close, 0, func() spec.Result { r.sem.Close(); return spec.Done })
		default:
			r.release(client, maxSize+n)
		}
		if got {
			held = append(held, n)
		}
	}
}
