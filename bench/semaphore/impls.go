package semaphore

import (
	"runtime"
	"sync/atomic"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
)

// An Implementation is something to measure. Either it is a locker, or it starts goroutines of its
// own.
type Implementation struct {
	Name string
	// serves reports whether it takes part in a workload; nil means in all.
	serves func(Workload) bool
	// make returns a locker with free permits. It is nil if start is not.
	make func(permits int64) peers.Locker
	// start is for what is no locker: it spawns the cell's goroutines in the gang.
	start func(*measure.Gang, Cell)
}

// Implementations are all that take part, in the order of the tables.
var Implementations = []Implementation{
	{
		Name:   peers.NameFloor,
		serves: func(w Workload) bool { return w.goroutines == 1 },
		make:   peers.NewFloor,
	},
	waits(peers.NameXSync),
	waits(peers.NameChannel),
	{
		Name:   peers.NameRing,
		serves: func(w Workload) bool { return w.yield },
		start:  startRing,
	},
	waits(measure.NameFarad),
	{Name: peers.NameFifomu, serves: Workload.excludes, make: peers.NewFifomu},
	{
		Name:   peers.NameMinimal,
		serves: func(w Workload) bool { return peers.HasMinimalLock && w.excludes() },
		make:   func(int64) peers.Locker { return peers.NewMinimal() },
	},
}

// waits is a locker that can make a goroutine wait.
func waits(name string) Implementation {
	return Implementation{Name: name, make: peers.LockerOf(name).Make}
}

// startRing spawns a ring of goroutines that pass the cell's permits around as tokens, with a yield
// a hop. A hop is the least that a first-come-first-served hand-off can do: one goroutine readies
// the next, and is switched away from. It is even less, because the tokens catch up with each other
// (BenchmarkRing). The context form makes no difference.
func startRing(g *measure.Gang, c Cell) {
	links := make([]chan struct{}, c.goroutines)
	for i := range links {
		links[i] = make(chan struct{}, c.permits) // never full: sending does not block
	}
	for token := range c.permits {
		links[token*c.goroutines/c.permits] <- struct{}{}
	}
	for i := range links {
		in, out := links[i], links[(i+1)%len(links)]
		g.Spawn(i, func(n *measure.Counter) error {
			return pass(in, out, measure.Batch(c.goroutines), uint64(i+1), &g.Stop, n)
		})
	}
}

// pass is one goroutine of the ring. After the stop each hands on the first token that arrives
// and leaves; no token can overtake another, so the one behind a goroutine reaches it before it
// reaches one that has left.
func pass(
	in <-chan struct{},
	out chan<- struct{},
	batch int64,
	x uint64,
	stop *atomic.Bool,
	n *measure.Counter,
) error {
	for done := int64(0); ; {
		<-in
		if stop.Load() {
			n.Publish(done, x)
			out <- struct{}{}
			return nil
		}
		x = measure.Xorshift(x)
		runtime.Gosched()
		out <- struct{}{}
		done++
		if done == 1 || done%batch == 0 {
			n.Count.Store(done)
		}
	}
}
