package main

import (
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// A locker is the call form that everything is measured through, so that all pay for the same
// interface calls.
type locker interface {
	Acquire(ctx context.Context, n int64) error
	Release(n int64)
}

// An implementation is something to measure. Either it is a locker, or it starts goroutines of its
// own.
type implementation struct {
	name string
	// serves says in which workloads it takes part; nil means all.
	serves func(workload) bool
	// make returns a locker with so many free permits. It is nil if start is not.
	make func(permits int64) locker
	// start is for what is no locker: it spawns the cell's goroutines in the gang.
	start func(*gang, cell)
}

// The names that targets and tables refer to.
const (
	nameFloor   = "floor"
	nameXSync   = "x/sync"
	nameChannel = "channel"
	nameRing    = "ring"
	nameFarad   = "farad"
	nameArray   = "farad, array" // for memory only
)

// peerNames are what farad is divided by, in the order of the columns.
var peerNames = []string{nameFloor, nameXSync, nameChannel, nameRing}

// The implementations. Ours stands in farad.go.
var implementations = []implementation{
	{
		name:   nameFloor,
		serves: func(w workload) bool { return w.goroutines == 1 },
		make:   newFloor,
	},
	{name: nameXSync, make: func(permits int64) locker { return semaphore.NewWeighted(permits) }},
	{name: nameChannel, make: func(permits int64) locker { return make(channel, permits) }},
	{
		name:   nameRing,
		serves: func(w workload) bool { return w.yield },
		start:  startRing,
	},
	farad,
}

// lockers returns the implementations that can make a goroutine wait.
func lockers() []implementation {
	var some []implementation
	for _, im := range implementations {
		if im.make != nil && im.serves == nil {
			some = append(some, im)
		}
	}
	return some
}

// floor is what an uncontended semaphore cannot beat: one compare-and-swap each way. It does not
// wait: permits would become negative under contention.
type floor struct{ permits atomic.Int64 }

func newFloor(permits int64) locker {
	f := new(floor)
	f.permits.Store(permits)
	return f
}

// Acquire takes n permits, whether they are there or not.
func (f *floor) Acquire(_ context.Context, n int64) error {
	for {
		o := f.permits.Load()
		if f.permits.CompareAndSwap(o, o-n) {
			return nil
		}
	}
}

// Release gives n permits back.
func (f *floor) Release(n int64) {
	for {
		o := f.permits.Load()
		if f.permits.CompareAndSwap(o, o+n) {
			return
		}
	}
}

// channel is the semaphore that Go programs make themselves: a buffered channel whose elements are
// the permits taken.
type channel chan struct{}

// Acquire takes one permit. It selects only if the context can end, as a careful program would.
func (c channel) Acquire(ctx context.Context, _ int64) error {
	done := ctx.Done()
	if done == nil {
		c <- struct{}{}
		return nil
	}
	select {
	case c <- struct{}{}:
		return nil
	case <-done:
		return ctx.Err()
	}
}

// Release gives one permit back.
func (c channel) Release(int64) { <-c }

// startRing spawns a ring of goroutines that pass the cell's permits around as tokens, with a yield
// a hop. A hop is the least that a first-come-first-served hand-off can do: one goroutine readies
// the next, and is switched away from. It is even less, because the tokens catch up with each other
// (BenchmarkRing). The context form makes no difference.
func startRing(g *gang, c cell) {
	links := make([]chan struct{}, c.goroutines)
	for i := range links {
		links[i] = make(chan struct{}, c.permits) // never full: sending does not block
	}
	for token := range c.permits {
		links[token*c.goroutines/c.permits] <- struct{}{}
	}
	for i := range links {
		in, out := links[i], links[(i+1)%len(links)]
		g.spawn(i, func(n *counter) error { return pass(in, out, c.batch(), uint64(i+1), &g.stop, n) })
	}
}

// pass is one goroutine of the ring. After the stop everybody hands on the first token that arrives
// and leaves; no token can overtake another, so the one behind a goroutine reaches it before it
// reaches one that has left.
func pass(in <-chan struct{}, out chan<- struct{}, batch int64, x uint64, stop *atomic.Bool, n *counter) error {
	for done := int64(0); ; {
		<-in
		if stop.Load() {
			n.publish(done, x)
			out <- struct{}{}
			return nil
		}
		x = xorshift(x)
		runtime.Gosched()
		out <- struct{}{}
		done++
		if done == 1 || done%batch == 0 {
			n.count.Store(done)
		}
	}
}
