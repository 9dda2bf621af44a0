package tasks

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/panjf2000/ants/v2"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/runtime/antspool"
)

const (
	antsGoroutines = 8  // of the pool
	antsSubmitters = 64 // goroutines that submit, so that there is a queue
)

// AntsRelease is how long a pool may take to end.
const AntsRelease = 5 * time.Second

// gateBeforeAnts measures jobs that wait for a permit of our gate, in order and with a context, and
// then find a goroutine of the pool.
func gateBeforeAnts(l *measure.Lap) error {
	p, err := ants.NewPool(l.Workers, ants.WithNonblocking(true))
	if err != nil {
		return err
	}
	gate := antspool.New(p)
	ctx := context.Background()
	err = submissions(l, func(job func()) error { return gate.Submit(ctx, 1, job) })
	return errors.Join(err, gate.ReleaseTimeout(AntsRelease))
}

// blockingAnts measures jobs that wait inside ants.
func blockingAnts(l *measure.Lap) error {
	p, err := ants.NewPool(l.Workers)
	if err != nil {
		return err
	}
	return errors.Join(submissions(l, p.Submit), p.ReleaseTimeout(AntsRelease))
}

// submissions measures small jobs from the first that is submitted to the last that has ended. A
// job yields once, so that all of the pool is in use.
func submissions(l *measure.Lap, submit func(job func()) error) error {
	each, all := l.Share(antsSubmitters)
	var ended sync.WaitGroup
	var done atomic.Int64
	ended.Add(all)
	job := func() {
		runtime.Gosched()
		done.Add(1)
		ended.Done()
	}
	g := measure.NewGang(antsSubmitters)
	for i := range antsSubmitters {
		g.Spawn(i, func(*measure.Counter) error {
			for range each {
				if err := submit(job); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := l.Clock(all, func() error {
		close(g.Gate)
		g.WG.Wait()
		if g.Err == nil {
			ended.Wait()
		}
		return g.Err
	})
	if n := done.Load(); err == nil && n != int64(all) {
		err = fmt.Errorf("%d jobs of %d were run", n, all)
	}
	return err
}
