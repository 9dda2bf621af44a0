package locks

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
)

// A Result is one line of the table of mutexes and read-write locks: what goroutines do, and
// with whose lock.
type Result struct {
	Workload string                  `json:"workload"`
	Samples  measure.Samples[Sample] `json:"samples"`

	Bench `json:"-"`
}

// A Sample is one measurement.
type Sample struct {
	measure.Sample

	LongestNs int64                `json:"longest_wait_ns,omitempty"` // that a writer has had, of those that were timed
	Waits     *measure.WaitSummary `json:"waits,omitempty"`           // of workloads that time them
	TimedOut  float64              `json:"timed_out,omitempty"`       // of a storm: the part of the attempts that did
}

// A Bench is something that goroutines do with a lock.
type Bench struct {
	Name       string
	Goroutines int
	Impls      []Impl
}

// A Impl is a lock to measure. Each has loops of its own, written out with its type: a call
// through an interface is never inlined, and that of a free lock costs as much as the lock.
type Impl struct {
	Name string
	Make func() Loop // nil: this build does not have it

	form    measure.Form     // of the contexts; empty: all goroutines share one
	Waits   *measure.WaitLog // where its loops note how long they have waited; nil: they do not
	storm   *storm           // what its loops count; nil: they are none
	Starves bool             // some goroutines hardly ever get the lock, and are not waited for
}

// A Loop does n operations as goroutine number g, and returns what the PRNG came to.
type Loop func(ctx context.Context, g, n int, x uint64) (uint64, error)

// Results are the lines of a run.
type Results []*Result

func (r *Result) String() string { return "locks/" + r.Workload }

// NsPerOp is a figure of samples: the time of an operation.
func NsPerOp(s Sample) float64 { return s.NsPerOp }

// Fairness is a figure of samples: the smallest count divided by the largest.
func Fairness(s Sample) float64 { return s.Fairness }

// AllocsPerOp is a figure of samples: the allocations of an operation.
func AllocsPerOp(s Sample) float64 { return s.AllocsPerOp }

// Longest is a figure of samples: the longest wait of a writer, in nanoseconds.
func Longest(s Sample) float64 { return float64(s.LongestNs) }

// Plan returns the lines, with those implementations that match picks by names such as
// locks/mutex-8/farad.
func Plan(workloads []Bench, match func(string) bool) Results {
	var rs Results
	for _, w := range workloads {
		r := &Result{Workload: w.Name, Samples: make(measure.Samples[Sample]), Bench: w}
		r.Impls = slices.DeleteFunc(
			slices.Clone(w.Impls),
			func(im Impl) bool { return im.Make == nil || !match(r.String()+"/"+im.Name) },
		)
		if len(r.Impls) > 0 {
			rs = append(rs, r)
		}
	}
	return rs
}

// RunRound measures each line once.
func RunRound(round int, rs Results, t measure.Timing, measured func(string)) error {
	rng := rand.New(rand.NewPCG(4, uint64(round)))
	for _, r := range rs {
		for _, im := range measure.Shuffled(rng, r.Impls) {
			s, err := Measure(r.Goroutines, im, t)
			if err != nil {
				return fmt.Errorf("%s/%s: %w", r, im.Name, err)
			}
			r.Samples[im.Name] = append(r.Samples[im.Name], s)
			measured(r.String() + "/" + im.Name)
		}
	}
	return nil
}

// Measure measures one lock once. All goroutines share one context that can be cancelled and is
// not, unless each has its own.
func Measure(goroutines int, im Impl, t measure.Timing) (Sample, error) {
	ctxs, cancels := cmp.Or(im.form, measure.Shared).Contexts(goroutines)
	defer func() {
		for _, cancel := range cancels {
			cancel()
		}
	}()
	longestWait.Store(0)
	if im.Starves {
		t.Patience = t.Warmup
	}
	batch := int(measure.Batch(goroutines))
	s, err := measure.Loops(goroutines, t, func(g *measure.Gang) {
		loop := im.Make()
		if im.Waits != nil {
			im.Waits.Reset(goroutines)
			g.Window = im.Waits.Open.Store
		}
		for i := range goroutines {
			g.Spawn(i, func(n *measure.Counter) error { return repeat(ctxs[i], loop, i, batch, &g.Stop, n) })
		}
	})
	if err != nil {
		return Sample{}, err
	}
	l := Sample{Sample: s, LongestNs: longestWait.Load()}
	if im.Waits != nil {
		l.Waits = im.Waits.Summary()
	}
	if im.storm != nil {
		if l.TimedOut, err = im.storm.outcome(); err != nil {
			return Sample{}, err
		}
	}
	return l, nil
}

// repeat makes one goroutine do batch after batch. The first operation is published at once, for
// the warm-up to see.
func repeat(ctx context.Context, loop Loop, g, batch int, stop *atomic.Bool, n *measure.Counter) (err error) {
	x := uint64(g + 1)
	for done, todo := 0, 1; ; todo = batch {
		x, err = loop(ctx, g, todo, x)
		done += todo
		if err != nil || stop.Load() {
			n.Publish(int64(done), x)
			return err
		}
		n.Count.Store(int64(done))
	}
}

// What the names of workloads begin with that have tables of their own.
const (
	WaitsPrefix   = "mutexbench-waits-"
	HandOffPrefix = "hand-off-"
	stormPrefix   = "storm-"
	EveryPrefix   = "every-"
	FigurePrefix  = "figure-"
	LanesPrefix   = "lanes-"
	PlaneName     = "plane-64" // the whole name
)

// hasOwnTable reports whether the line is not one of the table of all locks.
func (r *Result) hasOwnTable() bool {
	return slices.ContainsFunc(
		[]string{FigurePrefix, PlaneName, LanesPrefix, WaitsPrefix, HandOffPrefix, stormPrefix, EveryPrefix},
		func(prefix string) bool {
			return strings.HasPrefix(r.Workload, prefix)
		},
	)
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

// Link finds what the lines that were read belong to.
func Link(rs Results, workloads []Bench) {
	for _, l := range rs {
		i := slices.IndexFunc(workloads, func(w Bench) bool { return w.Name == l.Workload })
		if l.Name = l.Workload; i >= 0 {
			l.Bench = workloads[i]
		}
		l.Impls = measure.Present(
			l.Impls,
			l.Samples,
			func(im Impl) string { return im.Name },
			func(name string) Impl { return Impl{Name: name} },
		)
	}
}

// UncontendedTake is one goroutine that takes a permit and posts it, in the call form that the
// semaphore's tables use, too: no acquire is inlined anyway.
func UncontendedTake(name string, create func() peers.Locker) Impl {
	return Impl{Name: name, Make: func() Loop {
		s := create()
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				if err := s.Acquire(context.Background(), 1); err != nil {
					return x, err
				}
				x = measure.Xorshift(x)
				s.Release(1)
			}
			return x, nil
		}
	}}
}
