package measure

import (
	"errors"
	"runtime"
	"time"
)

// A LapSample is one measurement.
type LapSample struct {
	NsPerOp     float64 `json:"ns_per_op"`
	AllocsPerOp float64 `json:"allocs_per_op"` // of the whole process
	Ops         int     `json:"ops"`
}

// A LapImpl does the work.
type LapImpl struct {
	Name string
	Run  func(*Lap) error
}

// Laps runs im until the warm-up is over, with more to do each time, and then for about the
// window.
func Laps(im LapImpl, workers int, t Timing) (LapSample, error) {
	limit := t.Warmup + t.Window + t.Limit
	todo := 1
	for start := time.Now(); ; todo *= 2 {
		l := &Lap{Todo: todo, Workers: workers}
		if err := l.Run(im, limit); err != nil {
			return LapSample{}, err
		}
		if time.Since(start) >= t.Warmup {
			todo = max(1, int(float64(l.Ops)*float64(t.Window)/float64(max(1, l.Elapsed))))
			break
		}
	}
	runtime.GC() // the garbage of the warm-up is not to be collected on the clock
	l := &Lap{Todo: todo, Workers: workers}
	if err := l.Run(im, limit); err != nil {
		return LapSample{}, err
	}
	return LapSample{
		NsPerOp:     float64(l.Elapsed) / float64(l.Ops),
		AllocsPerOp: float64(l.Mallocs) / float64(l.Ops),
		Ops:         l.Ops,
	}, nil
}

// A Lap is one run of a taskImpl: what it is to do, and what it took.
type Lap struct {
	Todo    int // operations, about
	Workers int

	Ops     int
	Elapsed time.Duration
	Mallocs uint64
}

// Run runs im. If that takes too long, the caller is expected to give up the whole run.
func (l *Lap) Run(im LapImpl, limit time.Duration) error {
	ended := make(chan error, 1)
	go func() { ended <- im.Run(l) }()
	select {
	case err := <-ended:
		if err == nil && l.Ops == 0 {
			err = errors.New("no operation")
		}
		return err
	case <-time.After(limit):
		return ErrStuck
	}
}

// Clock measures f, which does ops operations. A lap's preparation and cleanup are not measured.
func (l *Lap) Clock(ops int, f func() error) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	err := f()
	l.Elapsed += time.Since(start)
	runtime.ReadMemStats(&after)
	l.Mallocs += after.Mallocs - before.Mallocs
	l.Ops += ops
	return err
}

// Share returns how many turns each of n takes, so that it comes to about todo, and how many that
// are.
func (l *Lap) Share(n int) (each, all int) {
	each = (l.Todo + n - 1) / n
	return each, each * n
}

// Passes calls do with numbers up to most, until their sum is l.Todo.
func (l *Lap) Passes(most int, do func(n int) error) error {
	for left := l.Todo; left > 0; left -= most {
		if err := do(min(left, most)); err != nil {
			return err
		}
	}
	return nil
}
