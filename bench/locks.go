package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// A lockResult is one line of the table of mutexes and read-write locks: what goroutines do, and
// with whose lock.
type lockResult struct {
	Workload string              `json:"workload"`
	Samples  samples[lockSample] `json:"samples"`

	lockWorkload
}

// A lockSample is one measurement.
type lockSample struct {
	sample

	LongestNs int64        `json:"longest_wait_ns,omitempty"` // that a writer has had, of those that were timed
	Waits     *waitSummary `json:"waits,omitempty"`           // of workloads that time them
	TimedOut  float64      `json:"timed_out,omitempty"`       // of a storm: the part of the attempts that did
}

// A lockWorkload is something that goroutines do with a lock.
type lockWorkload struct {
	name       string
	goroutines int
	impls      []lockImpl
}

// A lockImpl is somebody's lock. Each has loops of its own, written out with its type: a call
// through an interface is never inlined, and that of a free lock costs as much as the lock.
type lockImpl struct {
	name string
	make func() lockLoop

	waits   *waitLog // where its loops note how long they have waited; nil: they do not
	storm   *storm   // what its loops count; nil: they are none
	starves bool     // some goroutines hardly ever get the lock, and are not waited for
}

// A lockLoop does n operations as goroutine number g, and returns what the PRNG came to.
type lockLoop func(ctx context.Context, g, n int, x uint64) (uint64, error)

func (r *lockResult) String() string { return "locks/" + r.Workload }

func lockNs(s lockSample) float64       { return s.NsPerOp }
func lockFairness(s lockSample) float64 { return s.Fairness }
func lockAllocs(s lockSample) float64   { return s.AllocsPerOp }
func lockLongest(s lockSample) float64  { return float64(s.LongestNs) }

// planLocks returns the lines, with those implementations that match picks by names such as
// locks/mutex-8/farad.
func planLocks(match func(string) bool) []*lockResult {
	var rs []*lockResult
	for _, w := range lockWorkloads {
		r := &lockResult{Workload: w.name, Samples: make(samples[lockSample]), lockWorkload: w}
		r.impls = slices.DeleteFunc(
			slices.Clone(w.impls),
			func(im lockImpl) bool { return !match(r.String() + "/" + im.name) },
		)
		if len(r.impls) > 0 {
			rs = append(rs, r)
		}
	}
	return rs
}

// runLockRound measures each line once.
func runLockRound(round int, rs []*lockResult, t timing, measured func(string)) error {
	rng := rand.New(rand.NewPCG(4, uint64(round)))
	for _, r := range rs {
		for _, im := range shuffled(rng, r.impls) {
			s, err := measureLock(r.goroutines, im, t)
			if err != nil {
				return fmt.Errorf("%s/%s: %w", r, im.name, err)
			}
			r.Samples[im.name] = append(r.Samples[im.name], s)
			measured(r.String() + "/" + im.name)
		}
	}
	return nil
}

// measureLock measures one lock once. All goroutines share one context that can be cancelled and is
// not.
func measureLock(goroutines int, im lockImpl, t timing) (lockSample, error) {
	ctxs, cancels := shared.contexts(goroutines)
	defer cancels[0]()
	longestWait.Store(0)
	if im.starves {
		t.patience = t.warmup
	}
	batch := int(workload{goroutines: goroutines}.batch())
	s, err := measureGang(goroutines, t, func(g *gang) {
		loop := im.make()
		if im.waits != nil {
			im.waits.reset(goroutines)
			g.window = im.waits.open.Store
		}
		for i := range goroutines {
			g.spawn(i, func(n *counter) error { return repeat(ctxs[i], loop, i, batch, &g.stop, n) })
		}
	})
	if err != nil {
		return lockSample{}, err
	}
	l := lockSample{sample: s, LongestNs: longestWait.Load()}
	if im.waits != nil {
		l.Waits = im.waits.summary()
	}
	if im.storm != nil {
		if l.TimedOut, err = im.storm.settle(); err != nil {
			return lockSample{}, err
		}
	}
	return l, nil
}

// repeat has one goroutine do batch after batch. The first operation is published at once, for the
// warm-up to see.
func repeat(ctx context.Context, loop lockLoop, g, batch int, stop *atomic.Bool, n *counter) (err error) {
	x := uint64(g + 1)
	for done, todo := 0, 1; ; todo = batch {
		x, err = loop(ctx, g, todo, x)
		done += todo
		if err != nil || stop.Load() {
			n.publish(int64(done), x)
			return err
		}
		n.count.Store(int64(done))
	}
}

// longestWait is the longest time that a writer of the present measurement has waited, in
// nanoseconds.
var longestWait atomic.Int64

// timed calls lock, and takes the time of one call in 8: the clock costs more than most locks.
func timed(x uint64, lock func()) {
	if x%8 != 0 {
		lock()
		return
	}
	start := time.Now()
	lock()
	d := time.Since(start).Nanoseconds()
	for most := longestWait.Load(); d > most && !longestWait.CompareAndSwap(most, d); most = longestWait.Load() {
		continue
	}
}
