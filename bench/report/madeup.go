package report

import (
	"regexp"
	"strings"
	"time"

	"github.com/farad-go/farad/bench/array"
	"github.com/farad-go/farad/bench/jobs"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/overload"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/semaphore"
	"github.com/farad-go/farad/bench/table"
	"github.com/farad-go/farad/bench/tasks"
	"github.com/farad-go/farad/bench/waiters"
)

// What the tests tell of.

// madeUp is a report of two rounds in one cell.
func madeUp() *Report {
	rs := semaphore.Plan(semaphore.Implementations, regexp.MustCompile("^contended-8x1/background/").MatchString)
	rs[0].Samples = map[string][]measure.Sample{
		measure.NameFarad: {{NsPerOp: 50, Fairness: 0.95}, {NsPerOp: 70, Fairness: 0.97}},
		peers.NameXSync: {
			{NsPerOp: 200, Fairness: 0.5, AllocsPerOp: 2},
			{NsPerOp: 200, Fairness: 0.5, AllocsPerOp: 2, Idle: 3},
		},
		peers.NameChannel: {{NsPerOp: 25, Fairness: 1}, {NsPerOp: 35, Fairness: 1}},
	}
	return &Report{
		Machine: measure.Machine{CPU: "a | b", Command: "go run ."},
		Rounds:  2,
		Cells:   rs,
		Cancel: []*waiters.CancelResult{
			{Waiter: "future", Impl: measure.NameFarad, Waiters: 1000, NsPerCancel: []float64{30, 50}},
		},
		Memory: []waiters.MemoryResult{
			{Waiter: "future", Impl: measure.NameFarad, Bytes: 128, Metric: table.FutureBytes},
			{Waiter: "goroutine", Impl: peers.NameXSync, Bytes: 300, Metric: table.GoroutineBytes},
		},
	}
}

// MadeUpAll is a report of everything, in three rounds. What stands further behind in a line needs
// longer.
func MadeUpAll() *Report {
	r := &Report{
		Machine: measure.Machine{
			CPU:        "a <b> & c",
			Cores:      2,
			GOMAXPROCS: 2,
			System:     "linux/amd64, kernel 6",
			Go:         "go1.26",
			Commit:     "abc",
			Command:    "go run .",
		},
		Rounds: 3, Window: "1s", Warmup: "1s",
		Cells:  semaphore.Plan(semaphore.Implementations, measure.Everything),
		Cancel: waiters.PlanCancel(measure.Everything),
		Locks:  locks.Plan(LockWorkloads, measure.Everything),
		Tasks:  tasks.Plan(measure.Everything),
		Memory: []waiters.MemoryResult{
			{Waiter: "future, heap", Impl: measure.NameFarad, Bytes: 88, Metric: table.FutureBytes},
			{Waiter: "goroutine, context own", Impl: peers.NameXSync, Bytes: 288, Metric: table.GoroutineBytes},
		},
		Wake:     waiters.PlanWake(measure.Everything, false),
		Jobs:     jobs.Plan(measure.Everything),
		Overload: overload.Plan(measure.Everything),
		Variants: array.Plan(func(s string) bool { return strings.HasPrefix(s, "variants/Mix32A/") }),
	}
	r.TaskMemory = madeUpTasks().TaskMemory
	for round := range r.Rounds {
		needs := func(i int) measure.Sample {
			return measure.Sample{
				NsPerOp:  float64(100+50*i) * float64(10+round),
				Fairness: 1 / float64(i+1),
				Ops:      1000,
			}
		}
		for _, c := range r.Cells {
			for i, im := range c.Impls {
				c.Samples[im.Name] = append(c.Samples[im.Name], needs(i))
			}
		}
		for _, l := range r.Locks {
			for i, im := range l.Impls {
				s := locks.Sample{Sample: needs(i), LongestNs: int64(100_000 * (1 + 10*i))}
				if im.Waits != nil {
					s.Waits = &measure.WaitSummary{
						Count:       1,
						P50:         int64(50 * (i + 1)),
						P99:         int64(100 * (i + 1)),
						Arrivals999: int64(1000 * (i + 1)),
					}
				}
				l.Samples[im.Name] = append(l.Samples[im.Name], s)
			}
		}
		for _, l := range r.Tasks {
			for i, im := range l.Impls {
				l.Samples[im.Name] = append(
					l.Samples[im.Name],
					measure.LapSample{NsPerOp: needs(i).NsPerOp, Ops: 1000},
				)
			}
		}
		for _, l := range r.Jobs {
			for i, im := range l.Impls {
				s := jobs.Sample{LapSample: measure.LapSample{NsPerOp: needs(i).NsPerOp, Ops: 1000}}
				if im.Waits != nil {
					s.Waits = &measure.WaitSummary{Count: 1, P99: int64(100 * (i + 1))}
				}
				l.Samples[im.Name] = append(l.Samples[im.Name], s)
			}
		}
		for _, l := range r.Overload {
			for i, im := range l.Impls {
				s := overload.Sample{Shares: []float64{0.5, 0.5}}
				if strings.HasPrefix(l.Workload, "http-") {
					s = overload.Sample{Goodput: 1 / float64(i+1), P99Ns: int64(1_000_000 * (i + 1)), Requests: 1000}
				}
				l.Samples[im.Name] = append(l.Samples[im.Name], s)
			}
		}
		for _, c := range r.Cancel {
			c.NsPerCancel = append(c.NsPerCancel, float64(40+round))
		}
		for i, w := range r.Wake {
			w.NsPerWake = append(w.NsPerWake, float64(100*(i+1)+round))
		}
	}
	return r
}

// madeUpTasks is a report of two rounds in two lines; the second round was ten times slower.
func madeUpTasks() *Report {
	rs := tasks.Plan(func(name string) bool {
		return strings.HasPrefix(name, "tasks/spawn/1/") || strings.HasPrefix(name, "tasks/await-ready/")
	})
	rs[0].Samples = map[string][]measure.LapSample{
		measure.NameFarad:     {{NsPerOp: 50, AllocsPerOp: 0.02}, {NsPerOp: 500, AllocsPerOp: 0.02}},
		tasks.NameGoStatement: {{NsPerOp: 100}, {NsPerOp: 1000}},
	}
	rs[1].Samples = map[string][]measure.LapSample{
		measure.NameFarad:   {{NsPerOp: 60}, {NsPerOp: 90}},
		tasks.NameGoroutine: {{NsPerOp: 40}, {NsPerOp: 65}},
	}
	return &Report{Rounds: 2, Tasks: rs, TaskMemory: []waiters.TaskMemoryResult{
		{
			MemoryResult: waiters.MemoryResult{
				Waiter: "poll task",
				Impl:   measure.NameFarad,
				Bytes:  184,
				Metric: table.TaskBytes,
			},
			Number: 1000,
		},
		{
			MemoryResult: waiters.MemoryResult{
				Waiter: "straight-line task",
				Impl:   measure.NameFarad,
				Bytes:  2760,
				Metric: "",
			},
			Number: 100,
		},
		{
			MemoryResult: waiters.MemoryResult{
				Waiter: "goroutine",
				Impl:   peers.NameXSync,
				Bytes:  2300,
				Metric: table.GoroutineTimes,
			},
			Number: 100,
		},
	}}
}

// MadeUpWithTargets is a report of everything that has a target.
func MadeUpWithTargets() *Report {
	r := MadeUpAll()
	r.Window = measure.UsualWindow.String()
	r.Machine.Date = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.Machine.Sleep = measure.SleepChannels
	if peers.HasMinimalLock {
		r.Machine.Sleep = measure.SleepGopark
	}
	r.Memory = []waiters.MemoryResult{
		{Waiter: waiters.WaiterFuture, Impl: measure.NameFarad, Bytes: 88, Metric: table.FutureBytes},
		{Waiter: waiters.WaiterFutureHeap, Impl: measure.NameFarad, Bytes: 129, Metric: table.FutureBytes},
	}
	for _, f := range measure.AllForms {
		r.Memory = append(
			r.Memory,
			waiters.MemoryResult{
				Waiter: waiters.WaiterWith(f),
				Impl:   measure.NameFarad,
				Bytes:  256,
				Metric: table.GoroutineBytes,
			},
			waiters.MemoryResult{
				Waiter: waiters.WaiterWith(f),
				Impl:   peers.NameArray,
				Bytes:  303,
				Metric: table.ArrayBytes,
			},
		)
	}
	r.Variants = array.Plan(func(s string) bool { return strings.HasPrefix(s, "variants/golden") })
	r.TaskMemory = []waiters.TaskMemoryResult{
		{
			MemoryResult: waiters.MemoryResult{
				Waiter: waiters.WaiterPollTask,
				Impl:   measure.NameFarad,
				Bytes:  184,
				Metric: table.TaskBytes,
			},
			Number: 1,
		},
	}
	for _, im := range peers.Lockers() {
		r.TaskMemory = append(
			r.TaskMemory,
			waiters.TaskMemoryResult{
				MemoryResult: waiters.MemoryResult{
					Waiter: waiters.WaiterGoroutine,
					Impl:   im.Name,
					Bytes:  1840,
					Metric: table.GoroutineTimes,
				},
				Number: 1,
			},
		)
	}
	for _, l := range r.Locks {
		for _, im := range l.Impls {
			for i := range l.Samples[im.Name] {
				if s := &l.Samples[im.Name][i]; s.Waits != nil {
					s.Waits.P999 = 777
				}
			}
		}
	}
	return r
}

// MadeUpCapacitor is a report of two rounds.
func MadeUpCapacitor() *Report {
	picks := regexp.MustCompile("^locks/(figure-|plane-|mutexbench-waits-64)").MatchString
	r := &Report{Rounds: 2, Locks: locks.Plan(LockWorkloads, picks)}
	for i, l := range r.Locks {
		for j, im := range l.Impls {
			for round := range 2 {
				s := locks.Sample{Sample: measure.Sample{NsPerOp: float64(20 + i + 10*j + round), Fairness: 0.5}}
				if im.Waits != nil {
					s.Waits = &measure.WaitSummary{
						Count:       9,
						P50:         40,
						P99:         5000,
						P999:        777_777,
						Max:         9_999_999,
						Arrivals999: int64(1_000_000 * (j + 1)),
					}
				}
				l.Samples[im.Name] = append(l.Samples[im.Name], s)
			}
		}
	}
	return r
}
