package interleave

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/xsync/model"
)

// round has round figures, so that the time of a sequence shows what it consists of.
func round() Machine {
	return Machine{
		Socket: 2,
		Hit:    1, Own: 10,
		Dirty: Route{1000, 5000}, Clean: Route{400, 2000}, Take: Route{1100, 6000},
		Serve: 100, Invalidate: 7,
		Spins: 2, SpinFor: 30, Yield: 50,
		Sleep: 20_000, Notify: 3_000, Wake: 100_000, MutexSpin: 30_000,
	}
}

// simulate runs one function on each core, and returns when each was done.
func simulate(t *testing.T, m Machine, cores ...func(x *Run)) ([]int64, Simulated) {
	t.Helper()
	skipUnderRace(t)
	ended := make([]int64, len(cores))
	r := Simulate(m, func(x *Run) {
		for i, f := range cores {
			x.Go("core", func() {
				f(x)
				ended[i] = Now()
			})
		}
		x.Wait()
	})
	require.Nil(t, r.Failure)
	return ended, r
}

// skipUnderRace skips what the race detector's coroutines are too slow for.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if RaceEnabled {
		t.Skip("a simulation is one goroutine at a time")
	}
}

func TestSimulatedCosts(t *testing.T) {
	var a Int64
	at := func(ns int64, f func()) func(x *Run) {
		return func(x *Run) {
			x.Work(ns)
			f()
		}
	}
	load, add := func() { a.Load() }, func() { a.Add(1) }
	nothing := func(*Run) {}
	for name, c := range map[string]struct {
		cores []func(x *Run)
		ends  []int64
	}{
		"own line":        {[]func(x *Run){func(*Run) { add(); add(); load() }}, []int64{1100 + 10 + 1}},
		"load, then take": {[]func(x *Run){func(*Run) { load(); add(); add() }}, []int64{400 + 10 + 10}},
		"dirty, near":     {[]func(x *Run){at(0, add), at(9000, load)}, []int64{1100, 10_000}},
		"dirty, far":      {[]func(x *Run){at(0, add), nothing, at(9000, load)}, []int64{1100, 0, 14_000}},
		"take, near":      {[]func(x *Run){at(0, add), at(9000, add)}, []int64{1100, 10_100}},
		"take, far":       {[]func(x *Run){at(0, add), nothing, at(9000, add)}, []int64{1100, 0, 15_000}},
		"clean from the nearest": {
			[]func(x *Run){at(0, load), at(9000, load), at(20_000, load), at(30_000, load)},
			[]int64{400, 9400, 22_000, 30_400},
		},
		"take from the farthest, and invalidate": {
			[]func(x *Run){at(0, load), at(9000, load), at(20_000, load), at(30_000, add)},
			[]int64{400, 9400, 22_000, 30_000 + 6000 + 2*7},
		},
		"failed compare and swap": {
			[]func(x *Run){at(0, add), at(9000, func() { a.CompareAndSwap(5, 6) })},
			[]int64{1100, 10_100},
		},
		"take of a line that both have": {
			[]func(x *Run){func(x *Run) { load(); x.Work(9000); add() }, at(2000, load)},
			[]int64{400 + 9000 + 1100, 2400},
		},
		"clean when it has been loaded": {
			[]func(x *Run){at(0, add), at(9000, load), at(20_000, load)},
			[]int64{1100, 10_000, 22_000},
		},
		"queue of takes": {[]func(x *Run){at(0, add), at(1, add)}, []int64{1100, 2200}},
		"queue of loads": {[]func(x *Run){at(0, load), at(10, load)}, []int64{400, 100 + 400}},
		"hits do not queue": {
			[]func(x *Run){func(x *Run) { load(); x.Work(100); load() }, at(490, load)},
			[]int64{501, 890},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ends, _ := simulate(t, round(), c.cores...)
			require.Equal(t, c.ends, ends)
		})
	}
}

// The first in a queue is the first to be served, whichever thread runs first.
func TestSimulatedQueueIsFIFO(t *testing.T) {
	var a Int64
	var order []int
	take := func(i int, at int64) func(x *Run) {
		return func(x *Run) {
			x.Work(at)
			a.Add(1)
			order = append(order, i)
		}
	}
	ends, r := simulate(t, round(), take(0, 30), take(1, 20), take(2, 0), take(3, 10))
	require.Equal(t, []int{2, 3, 1, 0}, order)
	require.Equal(t, []int64{1100 + 1100 + 6000 + 1100, 1100 + 1100 + 6000, 1100, 2200}, ends)
	require.EqualValues(t, (1100-10)+(2200-20)+(8200-30), r.Queued)
	require.EqualValues(t, 3, r.Near)
	require.EqualValues(t, 1, r.Far)
}

// A thread that waits in Yield sees a change at the end of a look, and its load is a transfer then.
// Looks cost nothing to others.
func TestSimulatedYield(t *testing.T) {
	var a Int64
	ends, r := simulate(t, round(),
		func(x *Run) {
			x.Work(5000)
			a.Store(1)
		},
		func(*Run) {
			for a.Load() == 0 {
				Yield()
			}
		})
	// The load ends at 400, the store at 5000+1100, and looks are at 450, 500, ...
	require.Equal(t, []int64{6100, 6100 + 1000}, ends)
	require.EqualValues(t, 3, r.Near)
}

func TestSimulatedSpin(t *testing.T) {
	for name, spins := range map[string]int{"some": 2, "for ever": -1} {
		t.Run(name, func(t *testing.T) {
			m := round()
			m.Spins = spins
			var a Int64
			said := 0
			ends, _ := simulate(t, m,
				func(x *Run) {
					x.Work(5000)
					a.Store(1)
				},
				func(*Run) {
					for i := 0; model.Spin(i) && a.Load() == 0; i++ {
						said++
					}
				})
			if spins > 0 {
				require.Equal(t, spins, said)
				require.EqualValues(t, 30+400+30+1, ends[1])
			} else {
				require.Equal(t, 1, said)
				require.EqualValues(t, 430+189*30+1000, ends[1], "the first look after 6100")
			}
			require.False(t, model.Spin(0), "not outside of simulations")
		})
	}
}

func TestSimulatedSleep(t *testing.T) {
	for name, c := range map[string]struct{ sends, comes, wakes, next int64 }{
		"asleep":         {50_000, 0, 51_100 + 3000 + 100_000 + 1100, 51_100 + 3000 + 10},
		"falling asleep": {10_000, 0, 20_000 + 100_000 + 1100, 11_100 + 3000 + 10},
		"it is there":    {400, 2000, 2000 + 1100, 1500 + 10},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewSignal(1)
			var a Int64
			ends, _ := simulate(t, round(),
				func(x *Run) {
					a.Load()
					x.Work(c.sends - 400)
					s.Send()
					a.Store(1)
				},
				func(x *Run) {
					x.Work(c.comes)
					s.Receive()
				})
			require.Equal(t, []int64{c.next, c.wakes}, ends)
		})
	}
}

// A thread that falls asleep leaves its core, and what is in its cache, to the thread it has woken.
func TestSimulatedHandOver(t *testing.T) {
	s, other := NewSignal(1), NewSignal(1)
	var a Int64
	ends, r := simulate(t, round(),
		func(*Run) {
			s.Receive() // sleeps at 0
			a.Load()
			other.Send()
		},
		func(x *Run) {
			x.Work(50_000)
			a.Store(1)      // 51_100
			s.Send()        // 52_200, and 3000 for the wake
			other.Receive() // at 55_200
		})
	woken := int64(55_200 + 20_000 + 10 + 1 + 1100)
	require.Equal(t, woken, ends[0])
	require.Equal(t, woken+3000+100_000+1100, ends[1], "the other core is asleep")
	require.EqualValues(t, 4, r.Near)
	require.EqualValues(t, 2, r.Sleeps)
}

// Only to the thread it has woken last, and only if that is sooner.
func TestSimulatedHandOverIsInTime(t *testing.T) {
	for name, c := range map[string]struct{ sleeps, begins int64 }{
		"at once":        {0, 55_200 + 20_000},
		"just before it": {99_000, 55_200 + 100_000},
		"long after it":  {150_000, 55_200 + 100_000},
		"pinned":         {0, 55_200 + 100_000},
	} {
		t.Run(name, func(t *testing.T) {
			m := round()
			m.Pinned = name == "pinned"
			s, other := NewSignal(1), NewSignal(1)
			var a Int64
			ends, _ := simulate(t, m,
				func(x *Run) {
					s.Receive()
					x.Work(200_000)
					other.Send()
				},
				func(x *Run) {
					x.Work(50_000)
					a.Store(1)
					s.Send()
					x.Work(c.sleeps)
					other.Receive()
				})
			receives := int64(1100) // from the other core
			if name == "at once" {
				receives = 10
			}
			require.Equal(t, c.begins+receives+200_000+1100, ends[0])
		})
	}
}

func TestSimulatedMutex(t *testing.T) {
	for name, c := range map[string]struct{ held, gets int64 }{
		"short": {5000, 1100 + 5000 + 10 + 1100},
		"long":  {50_000, 1100 + 50_000 + 10 + 3000 + 100_000 + 1100},
	} {
		t.Run(name, func(t *testing.T) {
			var m Mutex
			ends, r := simulate(t, round(),
				func(x *Run) { m.Lock(); x.Work(c.held); m.Unlock() },
				func(x *Run) { x.Work(500); m.Lock() })
			require.Equal(t, c.gets, ends[1])
			require.Equal(t, c.held > 30_000, r.Sleeps == 1)
		})
	}
}

func TestSimulatedMutexIsFIFO(t *testing.T) {
	var m Mutex
	var order []int
	after := func(i int, at int64) func(x *Run) {
		return func(x *Run) {
			x.Work(at)
			m.Lock()
			order = append(order, i)
			x.Work(8000)
			m.Unlock()
		}
	}
	simulate(t, round(), after(0, 0), after(1, 5000), after(2, 4000), after(3, 3000))
	require.Equal(t, []int{0, 3, 2, 1}, order)
}

// What has been looked at before an earlier Yield wakes none.
func TestSimulatedYieldForgets(t *testing.T) {
	var a, b Int64
	_, r := simulate(t, round(),
		func(x *Run) {
			x.Work(5000)
			a.Store(1)
			x.Work(5000)
			b.Store(1)
			x.Work(5000)
			a.Store(2)
		},
		func(*Run) {
			b.Load()
			for a.Load() < 2 {
				Yield()
			}
		})
	// Two starts, three stores, the load of b, three of a, two yields.
	require.Equal(t, 11, r.Steps)
}

// It is the code that decides, 256 times over, and every time in the same way.
func TestSimulationsRepeat(t *testing.T) {
	run := func(seed uint64) (Simulated, int64) {
		m := Xeon()
		m.Seed = seed
		var mu Mutex
		var sum Int64
		cores := make([]func(x *Run), 256)
		for i := range cores {
			cores[i] = func(x *Run) {
				for range 5 {
					x.Work(x.Jitter(300))
					mu.Lock()
					sum.Add(1)
					mu.Unlock()
				}
			}
		}
		_, r := simulate(t, m, cores...)
		return r, sum.Load()
	}
	a, sum := run(1)
	require.EqualValues(t, 5*256, sum)
	b, _ := run(1)
	require.Equal(t, a, b)
	c, _ := run(2)
	require.NotEqual(t, a, c)
	require.EqualValues(t, 0, Now(), "no simulation is under way")
}

func TestSimulatedDeadlockIsFound(t *testing.T) {
	skipUnderRace(t)
	s := NewSignal(1)
	r := Simulate(round(), func(x *Run) {
		x.Go("sleeper", s.Receive)
		x.Wait()
	})
	require.NotNil(t, r.Failure)
	require.Equal(t, Deadlock, r.Failure.Kind)
}

func TestSimulatedJoin(t *testing.T) {
	ends, _ := simulate(t, round(), func(x *Run) {
		x.Go("other", func() { x.Work(7000) }).Join()
	})
	require.EqualValues(t, 1100+7000, ends[0], "a start is a write")
}
