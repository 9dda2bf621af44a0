package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A sample is what one lock did in a window.
type sample struct {
	PerOp      float64 // nanoseconds
	Processors float64 // that were kept busy
	Share      float64 // operations of the goroutine with least ÷ of that with most
}

// A tally is a goroutine's, and on cache lines of its own.
type tally struct {
	_    [64]byte
	done atomic.Int64
	_    [56]byte
}

// sampleOf makes the goroutines of a cell use a lock, and measures a window of that.
func sampleOf(u use, c cell, window time.Duration) sample {
	var stop atomic.Bool
	var all sync.WaitGroup
	c.startOthers(&all, &stop)
	tallies := make([]tally, c.Goroutines)
	for i := range tallies {
		all.Go(func() {
			random := uint64(i) + 1
			for !stop.Load() {
				random = random*6364136223846793005 + 1442695040888963407
				write := c.Writes > 0 && random>>33%uint64(c.Writes) == 0 //nolint:gosec // not negative
				u.enter(write)
				if c.Section == asleep {
					time.Sleep(-asleep)
				} else {
					work(c.Section)
				}
				u.leave(write)
				work(c.Outside)
				tallies[i].done.Add(1)
			}
		})
	}
	window *= time.Duration(c.windows())
	time.Sleep(window / 2)
	before, used, start := sum(tallies), processorTime(), time.Now()
	time.Sleep(window)
	after, usedThen, took := sum(tallies), processorTime(), time.Since(start)
	stop.Store(true)
	all.Wait()
	return sample{
		PerOp:      float64(took) / float64(max(1, after-before)),
		Processors: float64(usedThen-used) / float64(took),
		Share:      share(tallies),
	}
}

// startOthers starts goroutines that keep the processors busy.
func (c cell) startOthers(all *sync.WaitGroup, stop *atomic.Bool) {
	for range c.Busy * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for !stop.Load() {
				work(1000)
			}
		})
	}
}

func sum(tallies []tally) (n int64) {
	for i := range tallies {
		n += tallies[i].done.Load()
	}
	return n
}

// processorTime returns how long this process has kept processors busy.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perNs is how many turns of spin a nanosecond takes.
var perNs = sync.OnceValue(func() float64 {
	const turns = 100_000
	least := time.Hour
	for range 50 {
		start := time.Now()
		spin(turns)
		least = min(least, time.Since(start))
	}
	return turns / float64(least)
})

// work uses a processor for ns nanoseconds.
func work(ns int) {
	if ns > 0 {
		spin(int(float64(ns) * perNs()))
	}
}

// spent keeps the compiler from leaving the work out.
var spent atomic.Uint64

//go:noinline
func spin(turns int) {
	x := uint64(1)
	for range turns {
		x = x*6364136223846793005 + 1442695040888963407
	}
	if x == 0 {
		spent.Store(x)
	}
}
