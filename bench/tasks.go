package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	rt "github.com/farad-go/farad/runtime"
)

// A taskResult is one line of the executor's table: what tasks do, beside somebody else who does
// the same. Here farad means the executor.
type taskResult struct {
	Workload string              `json:"workload"`
	Workers  int                 `json:"workers"` // of the executor; what goroutines run on is GOMAXPROCS
	Samples  samples[taskSample] `json:"samples"`

	impls []taskImpl // ours and one peer
}

// A taskSample is one measurement.
type taskSample struct {
	NsPerOp     float64 `json:"ns_per_op"`
	AllocsPerOp float64 `json:"allocs_per_op"` // of the whole process
	Ops         int     `json:"ops"`
}

// A taskImpl is somebody who does the work.
type taskImpl struct {
	name string
	run  func(*lap) error
}

func (r *taskResult) String() string { return fmt.Sprintf("tasks/%s/%d", r.Workload, r.Workers) }

// peer returns the name of the other one, empty if it is not measured.
func (r *taskResult) peer() string {
	for _, im := range r.impls {
		if im.name != nameFarad {
			return im.name
		}
	}
	return ""
}

func taskNs(s taskSample) float64     { return s.NsPerOp }
func taskAllocs(s taskSample) float64 { return s.AllocsPerOp }

// planTasks returns the lines, with those implementations that match picks by names such as
// tasks/yield/1/farad.
func planTasks(match func(string) bool) []*taskResult {
	var rs []*taskResult
	for _, w := range taskWorkloads {
		for _, workers := range w.workers {
			r := &taskResult{Workload: w.name, Workers: workers, Samples: make(samples[taskSample])}
			for _, im := range []taskImpl{{nameFarad, w.farad}, w.peer} {
				if match(r.String() + "/" + im.name) {
					r.impls = append(r.impls, im)
				}
			}
			if r.impls != nil {
				rs = append(rs, r)
			}
		}
	}
	return rs
}

// runTaskRound measures each line once.
func runTaskRound(round int, rs []*taskResult, t timing, measured func(string)) error {
	rng := rand.New(rand.NewPCG(3, uint64(round)))
	for _, r := range rs {
		for _, im := range shuffled(rng, r.impls) {
			s, err := measureTask(im, r.Workers, t)
			if err != nil {
				return fmt.Errorf("%s/%s: %w", r, im.name, err)
			}
			r.Samples[im.name] = append(r.Samples[im.name], s)
			measured(r.String() + "/" + im.name)
		}
	}
	return nil
}

// measureTask runs im until the warm-up is over, with more to do each time, and then for about the
// window.
func measureTask(im taskImpl, workers int, t timing) (taskSample, error) {
	limit := t.warmup + t.window + t.limit
	todo := 1
	for start := time.Now(); ; todo *= 2 {
		l := &lap{todo: todo, workers: workers}
		if err := l.run(im, limit); err != nil {
			return taskSample{}, err
		}
		if time.Since(start) >= t.warmup {
			todo = max(1, int(float64(l.ops)*float64(t.window)/float64(max(1, l.elapsed))))
			break
		}
	}
	runtime.GC() // the garbage of the warm-up is not to be collected on the clock
	l := &lap{todo: todo, workers: workers}
	if err := l.run(im, limit); err != nil {
		return taskSample{}, err
	}
	return taskSample{
		NsPerOp:     float64(l.elapsed) / float64(l.ops),
		AllocsPerOp: float64(l.mallocs) / float64(l.ops),
		Ops:         l.ops,
	}, nil
}

// A lap is one run of a taskImpl: what it is to do, and what it took.
type lap struct {
	todo    int // operations, about
	workers int

	ops     int
	elapsed time.Duration
	mallocs uint64
}

// run runs im. If that takes too long, the caller is expected to give up the whole run.
func (l *lap) run(im taskImpl, limit time.Duration) error {
	ended := make(chan error, 1)
	go func() { ended <- im.run(l) }()
	select {
	case err := <-ended:
		if err == nil && l.ops == 0 {
			err = errors.New("no operation")
		}
		return err
	case <-time.After(limit):
		return errStuck
	}
}

// clock runs f, which does so many operations, on the clock. What a lap prepares and clears away is
// not on it.
func (l *lap) clock(ops int, f func() error) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	err := f()
	l.elapsed += time.Since(start)
	runtime.ReadMemStats(&after)
	l.mallocs += after.Mallocs - before.Mallocs
	l.ops += ops
	return err
}

// executor starts one.
func (l *lap) executor() *rt.Executor { return rt.New(rt.WithWorkers(l.workers)) }

// shutdown waits until all tasks have ended, and ends ex.
func shutdown(ex *rt.Executor) error { return ex.Shutdown(context.Background()) }

// rest waits until ex has no task, so that all of them may be spawned again.
func rest(ex *rt.Executor) {
	for ex.Stats().Tasks > 0 {
		runtime.Gosched()
	}
}
