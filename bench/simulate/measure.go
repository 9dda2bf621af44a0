//go:build !interleave

package main

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/farad-go/farad/internal/interleave"
)

// present are the cores of this machine. They work by counting.
type present struct {
	start time.Time
	perNs float64
}

func newPresent() *present {
	const turns = 100_000
	fastest := time.Hour
	for range 20 { // in some of them nothing else runs
		start := time.Now()
		count(turns)
		fastest = min(fastest, time.Since(start))
	}
	return &present{time.Now(), turns / float64(fastest)}
}

func (p *present) Now() int64    { return int64(time.Since(p.start)) }
func (p *present) Work(ns int64) { count(int64(float64(ns) * p.perNs)) }

//go:noinline
func count(turns int64) {
	for range turns {
	}
}

// measure runs the workload with n goroutines, each on its own core if nothing else runs. It
// ignores the simulated machine.
func measure(_ interleave.Machine, w workload, k kind, n int) (point, error) {
	if n > runtime.NumCPU() {
		return point{}, errors.New("there are not so many cores; simulate them: -tags interleave,simulate")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	c := newPresent()
	l := k.new(c)
	counts := make([]int, n)
	shared := 0
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			mine := 0
			for c.Now() < w.lasts {
				for range 10 { // reading the clock takes as long as the rest
					l.Lock()
					shared++
					c.Work(w.hold)
					l.Unlock()
					mine++
					c.Work(rand.Int64N(2*w.outside + 1))
				}
			}
			counts[i] = mine
		})
	}
	done.Wait()
	if shared != sum(counts) {
		return point{}, errors.New(k.name + ": two inside")
	}
	return k.point(counts, c.Now()), nil
}
