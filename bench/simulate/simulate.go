//go:build interleave

package main

import (
	"errors"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/xsync"
)

// simulated are the cores of a simulation.
type simulated struct{ *interleave.Run }

func (simulated) Now() int64 { return interleave.Now() }

// measure runs the workload on n cores of m.
func measure(m interleave.Machine, w workload, k kind, n int) (point, error) {
	counts := make([]int, n)
	if k.paper {
		m = m.Spinning()
	}
	r := interleave.Simulate(m, func(x *interleave.Run) {
		c := simulated{x}
		l := k.new(c)
		x.Layout(l)
		var shared xsync.Int64
		for i := range n {
			x.Go("core", func() {
				c.Work(x.Jitter(w.outside))
				for c.Now() < w.lasts {
					l.Lock()
					shared.Store(shared.Load() + 1)
					c.Work(w.hold)
					l.Unlock()
					counts[i]++
					c.Work(x.Jitter(w.outside))
				}
			})
		}
		x.Wait()
		x.Assert(int64(sum(counts)) == shared.Load(), "two inside")
	})
	if r.Failure != nil {
		return point{}, errors.New(k.name + ": " + r.Failure.Message)
	}
	p := k.point(counts, r.Elapsed)
	per := func(n int64) float64 { return float64(n) / float64(sum(counts)) }
	p.transfers, p.far, p.sleeps = per(r.Near+r.Far), per(r.Far), per(r.Sleeps)
	return p, nil
}
