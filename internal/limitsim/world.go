// Package limitsim is a service in virtual time: requests arrive, a limiter admits or refuses them,
// and servers work on those that are admitted, in the order of their arrival. It shows how much of
// the work a limiter lets the service do in time, and how soon it follows a change.
//
// Time is the clock of a testing/synctest bubble, in which [World.Run] must be called. So it drives
// limiters as they are shipped, those of others too, which read the clock themselves. One goroutine
// does everything, and chance has a seed: two runs are the same.
//
// Read World first, then run.go for the loop, and worlds.go for the worlds that are measured.
package limitsim

import (
	"math/rand/v2"
	"time"
)

// A World is a service and its load.
type World struct {
	Name     string
	Lasts    time.Duration
	Deadline time.Duration // after its arrival a client no longer waits, and its request is abandoned

	// Arrivals returns the next request that arrives after a time. With false there is none.
	Arrivals func(r *rand.Rand, after time.Duration) (Request, bool)

	// Servers returns how many requests are worked on at a time. A server that is taken away
	// finishes its request first.
	Servers func(at time.Duration) int

	// Capacity returns how many requests a second the servers can answer.
	Capacity func(at time.Duration) float64

	// Steps are the times at which the capacity changes, in order.
	Steps []time.Duration

	// Slower stretches the work of the requests that begin at a time. Nil stands for 1.
	Slower func(at time.Duration) float64

	// All servers stand still for the last Pause of each Every, as those of one process do while
	// its garbage is collected.
	Every, Pause time.Duration
}

// ends returns when work is done that a server begins at a time.
func (w *World) ends(begun, work time.Duration) time.Duration {
	if w.Pause == 0 {
		return begun + work
	}
	runs := w.Every - w.Pause
	work += begun/w.Every*runs + min(begun%w.Every, runs) // all that could have been done
	return work/runs*w.Every + work%runs
}

// A Request arrives at a time and is work for a server.
type Request struct {
	At   time.Duration // since the world began
	Work time.Duration
}

// A Limiter is what is measured.
type Limiter interface {
	TryAcquire() (Permit, bool)
	Limit() int64
}

// A Permit is ended by one of its methods: Success if the request was answered, Dropped if it was
// abandoned.
type Permit interface {
	Success()
	Dropped()
}

// Poisson returns arrivals at random times, at a rate per second that may change and is at most the
// highest one. The work of each is drawn.
func Poisson(highest float64, rate func(at time.Duration) float64, work func(*rand.Rand) time.Duration,
) func(*rand.Rand, time.Duration) (Request, bool) {
	return func(r *rand.Rand, after time.Duration) (Request, bool) {
		for { // Thinning: of the arrivals at the highest rate some are left out.
			after += time.Duration(r.ExpFloat64() / highest * float64(time.Second))
			if r.Float64()*highest < rate(after) {
				return Request{At: after, Work: work(r)}, true
			}
		}
	}
}
