package overload

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/sync/semaphore"
)

// holdSteps are the steps of a PRNG while permits are held, besides a yield: about a microsecond.
const holdSteps = 400

// tenants are those who share a semaphore: how many goroutines each has, and its weight.
type tenants struct {
	goroutines, weights []int
	permits             int64
	most                int // permits of a request, from 1 on
}

// A thousand goroutines of one tenant and ten of another want two permits.
var twoTenants = tenants{[]int{1000, 10}, []int{1, 1}, 2, 1}.bench("tenants-1000-10")

// Three tenants of different weights have as many goroutines each. Requests are for 1 to 8 of 16
// permits.
var threeWeights = tenants{[]int{64, 64, 64}, []int{1, 2, 4}, 16, 8}.bench("weights-1-2-4")

func (w tenants) bench(name string) Bench {
	weight := func(tenant any) int { return w.weights[tenant.(int)] }
	return Bench{name, w.weights, []Impl{
		{measure.NameFarad, func(round int, t measure.Timing) (Sample, error) {
			return w.measure(semaphore.New(w.permits, semaphore.WithShares(weight)), round, t)
		}},
		{namePlain, func(round int, t measure.Timing) (Sample, error) {
			return w.measure(semaphore.New(w.permits), round, t)
		}},
	}}
}

// measure makes the goroutines of all tenants take permits, hold them and release them again and
// again. Their counters count the permits' time, in nanoseconds.
func (w tenants) measure(s *semaphore.Semaphore, round int, t measure.Timing) (Sample, error) {
	var owner []int
	for tenant, n := range w.goroutines {
		for range n {
			owner = append(owner, tenant)
		}
	}
	runtime.GC()
	g := measure.NewGang(len(owner))
	granted := make([]atomic.Int64, len(owner))
	for i, tenant := range owner {
		rng := rand.New(rand.NewPCG(uint64(round), uint64(i)))
		g.Spawn(i, func(had *measure.Counter) error {
			var key any = tenant
			var sum int64
			x := uint64(i + 1)
			for !g.Stop.Load() {
				n := 1 + rng.Int64N(int64(w.most))
				if err := s.As(key).Acquire(context.Background(), n); err != nil {
					return err
				}
				start := time.Now()
				for range holdSteps {
					x = measure.Xorshift(x)
				}
				runtime.Gosched()
				sum += n * time.Since(start).Nanoseconds()
				s.Release(n)
				had.Count.Store(sum)
				granted[i].Add(n)
			}
			had.Publish(sum, x)
			return nil
		})
	}
	counts := func() [2][]int64 {
		held, permits := make([]int64, len(owner)), make([]int64, len(owner))
		g.Snapshot(held)
		for i := range permits {
			permits[i] = granted[i].Load()
		}
		return [2][]int64{held, permits}
	}
	close(g.Gate)
	time.Sleep(slowness * t.Warmup)
	before := counts()
	time.Sleep(slowness * t.Window)
	after := counts()
	g.Stop.Store(true)
	if err := g.Wait(t.Limit); err != nil {
		return Sample{}, err
	}
	var parts [2][]float64
	for f := range parts {
		parts[f] = make([]float64, len(w.goroutines))
		all := 0.0
		for i, tenant := range owner {
			had := float64(after[f][i] - before[f][i])
			parts[f][tenant] += had
			all += had
		}
		if all == 0 {
			return Sample{}, fmt.Errorf("no turn in %v", slowness*t.Window)
		}
		for i := range parts[f] {
			parts[f][i] /= all
		}
	}
	return Sample{Shares: parts[0], Granted: parts[1]}, nil
}

// Unfairness is a figure of samples: the largest difference between the share that a tenant had and
// the one that is its due, as a part of its due.
func (w *Bench) Unfairness(s Sample) float64 {
	all, most := 0, 0.0
	for _, weight := range w.weights {
		all += weight
	}
	for i, share := range s.Shares[:min(len(s.Shares), len(w.weights))] {
		due := float64(w.weights[i]) / float64(all)
		most = max(most, math.Abs(share/due-1))
	}
	return most
}
