package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/farad-go/farad/bench/array"
	"github.com/farad-go/farad/bench/capacitor"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/overload"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/semaphore"
	"github.com/farad-go/farad/bench/table"
	"github.com/farad-go/farad/bench/tasks"
	"github.com/farad-go/farad/bench/waiters"
)

// A TargetLine is one target on one line of a report.
type TargetLine struct {
	family  string
	line    string // as the report calls it
	run     string // what -run takes to measure it
	Target  *table.Target
	figures func(*Report) []float64 // an entry a round; nil if it was not measured
}

// familyVariants are the hash functions, which have a table of their own.
const familyVariants = "hash functions"

// TargetLines returns all of them, in the order of the reports.
func TargetLines() []TargetLine {
	return slices.Concat(
		cellTargetLines(),
		memoryTargetLines(),
		wakeTargetLines(),
		lockTargetLines(),
		handOffTargetLines(),
		variantTargetLines(),
		overloadTargetLines(),
		taskTargetLines(),
		taskMemoryTargetLines(),
	)
}

// from is the regular expression for what begins with name.
func from(name string) string { return "^" + regexp.QuoteMeta(name) }

// keep adds l, unless it has no target, and a line of its own for what is aimed at besides.
func keep(all *[]TargetLine, l TargetLine) {
	for t := l.Target; t != nil; t = t.Aimed() {
		alone := *t
		alone.AimBound = 0
		l.Target = &alone
		*all = append(*all, l)
	}
}

func cellTargetLines() (all []TargetLine) {
	for _, c := range semaphore.Cells() {
		column := func(r *Report, impl string, f func(measure.Sample) float64) []float64 {
			for _, l := range r.Cells {
				if l.Name == c.String() {
					return l.Samples.Column(impl, f)
				}
			}
			return nil
		}
		add := func(m table.Metric, peer string, figures func(*Report) []float64) {
			keep(
				&all,
				TargetLine{
					FamilySemaphore,
					c.String(),
					from(c.String() + "/"),
					semaphore.TargetFor(c, m, peer),
					figures,
				},
			)
		}
		for _, peer := range semaphore.PeerNames {
			add(table.RatioTo, peer, func(r *Report) []float64 {
				return measure.Ratios(column(r, measure.NameFarad, measure.NsPerOp), column(r, peer, measure.NsPerOp))
			})
		}
		add(
			table.MinFairness,
			"",
			func(r *Report) []float64 { return column(r, measure.NameFarad, measure.FairnessOf) },
		)
		add(
			table.Allocations,
			"",
			func(r *Report) []float64 { return column(r, measure.NameFarad, measure.AllocsPerOp) },
		)
	}
	return all
}

func memoryTargetLines() (all []TargetLine) {
	add := func(m table.Metric, f measure.Form, waiter, impl, run string) {
		keep(
			&all,
			TargetLine{
				FamilySemaphore,
				waiter,
				from(run) + "$",
				waiters.MemoryTargetFor(m, f),
				func(r *Report) []float64 { return bytesOf(r.Memory, waiter, impl) },
			},
		)
	}
	for _, waiter := range []string{waiters.WaiterFuture, waiters.WaiterFutureHeap} {
		add(table.FutureBytes, "", waiter, measure.NameFarad, "memory/future/farad")
	}
	for _, impl := range []struct {
		name string
		table.Metric
	}{{measure.NameFarad, table.GoroutineBytes}, {peers.NameArray, table.ArrayBytes}} {
		for _, f := range measure.AllForms {
			add(impl.Metric, f, waiters.WaiterWith(f), impl.name, fmt.Sprintf("memory/goroutine/%s/%s", f, impl.name))
		}
	}
	return all
}

// bytesOf returns the bytes of one waiter, nil if it was not measured.
func bytesOf(memory []waiters.MemoryResult, waiter, impl string) []float64 {
	for _, m := range memory {
		if m.Waiter == waiter && m.Impl == impl {
			return []float64{m.Bytes}
		}
	}
	return nil
}

func lockTargetLines() (all []TargetLine) {
	for _, w := range LockWorkloads {
		run := from("locks/" + w.Name + "/")
		add := func(m table.Metric, peer string, figures func(*Report) []float64) {
			keep(&all, TargetLine{FamilyLocks, w.Name, run, locks.TargetFor(w.Name, m, peer), figures})
		}
		for _, im := range w.Impls {
			add(table.RatioTo, im.Name, func(r *Report) []float64 {
				return measure.Ratios(
					r.Locks.Column(w.Name, measure.NameFarad, locks.NsPerOp),
					r.Locks.Column(w.Name, im.Name, locks.NsPerOp),
				)
			})
			for _, m := range []table.Metric{table.TailOfAllTo, table.TailTo} {
				add(m, im.Name, func(r *Report) []float64 {
					i := slices.IndexFunc(r.Locks, func(l *locks.Result) bool { return l.Workload == w.Name })
					if i < 0 {
						return nil
					}
					return r.Locks[i].Tails(m, im.Name)
				})
			}
		}
		add(
			table.MinFairness,
			"",
			func(r *Report) []float64 { return r.Locks.Column(w.Name, measure.NameFarad, locks.Fairness) },
		)
		if t := locks.TargetFor(w.Name, table.GrowthFrom, ""); t != nil {
			run := from(
				"locks/"+strings.TrimRight(w.Name, "0123456789"),
			) + ".*/farad$" // and others: what is between bars would end the table's cell
			keep(
				&all,
				TargetLine{
					FamilyLocks,
					w.Name,
					run,
					t,
					func(r *Report) []float64 { return r.Locks.Growth(w.Name, t) },
				},
			)
		}
		if slices.ContainsFunc(w.Impls, func(im locks.Impl) bool { return im.Name == measure.NameFarad }) {
			add(
				table.Allocations,
				"",
				func(r *Report) []float64 { return r.Locks.Column(w.Name, measure.NameFarad, locks.AllocsPerOp) },
			)
		}
	}
	return all
}

func wakeTargetLines() (all []TargetLine) {
	for i := range waiters.WakeTargets {
		t := &waiters.WakeTargets[i]
		for _, line := range t.Workloads {
			at := strings.LastIndexByte(line, '/')
			run := from(line[:at+1]) + ".*" + regexp.QuoteMeta(line[at:]) + "$"
			figures := func(r *Report) []float64 { return waiters.WakeRates(r.Wake, line, t.Peer) }
			keep(&all, TargetLine{FamilySemaphore, line, run, t, figures})
		}
	}
	return all
}

func handOffTargetLines() (all []TargetLine) {
	for i := range capacitor.Targets {
		t := &capacitor.Targets[i]
		for _, line := range t.Workloads {
			figures := func(r *Report) []float64 {
				i := slices.IndexFunc(r.Locks, func(l *locks.Result) bool { return l.Workload == line })
				if i < 0 {
					return nil
				}
				return r.Locks[i].HandOffs(t.Metric, t.Ours, t.Peer)
			}
			keep(&all, TargetLine{FamilyLocks, line, from("locks/" + line + "/"), t, figures})
		}
	}
	return all
}

func variantTargetLines() (all []TargetLine) {
	for _, name := range array.OurVariants {
		keep(
			&all,
			TargetLine{
				familyVariants,
				name,
				from("variants/" + name),
				table.Find(array.Targets, name, "", table.FutileWakes, ""),
				func(r *Report) []float64 {
					for _, v := range r.Variants {
						if v.Name() == name && v.Woken > 0 {
							return []float64{v.FutileWakes()}
						}
					}
					return nil
				},
			},
		)
	}
	return all
}

func taskTargetLines() (all []TargetLine) {
	for _, l := range tasks.Plan(measure.Everything) {
		measured := func(r *Report) *tasks.Result {
			for _, is := range r.Tasks {
				if is.Key() == l.Key() {
					return is
				}
			}
			return new(tasks.Result)
		}
		run := from(l.String() + "/")
		keep(
			&all,
			TargetLine{
				FamilyTasks,
				l.Key(),
				run,
				tasks.TargetFor(l.Key(), l.Comparison(), l.Peer()),
				func(r *Report) []float64 { return measured(r).Compare() },
			},
		)
		keep(
			&all,
			TargetLine{
				FamilyTasks,
				l.Key(),
				run,
				tasks.TargetFor(l.Key(), table.Allocations, ""),
				func(r *Report) []float64 {
					return measured(r).Samples.Column(measure.NameFarad, tasks.AllocsPerOp)
				},
			},
		)
	}
	return all
}

func taskMemoryTargetLines() []TargetLine {
	all := []TargetLine{
		{
			FamilyTasks,
			waiters.WaiterPollTask,
			from("tasks/memory/poll/"),
			waiters.MemoryTargetFor(table.TaskBytes, ""),
			func(r *Report) []float64 {
				return positive(waiters.TaskBytesOf(r.TaskMemory, waiters.WaiterPollTask, measure.NameFarad))
			},
		},
	}
	for _, im := range peers.Lockers() {
		// All of them are measured: a crowd of goroutines that goes first sees to it that stacks
		// are the same for all.
		all = append(
			all,
			TargetLine{
				FamilyTasks,
				waiters.WaiterGoroutine + ", " + im.Name,
				from("tasks/memory/"),
				waiters.MemoryTargetFor(table.GoroutineTimes, ""),
				func(r *Report) []float64 {
					task := waiters.TaskBytesOf(r.TaskMemory, waiters.WaiterPollTask, measure.NameFarad)
					theirs := waiters.TaskBytesOf(r.TaskMemory, waiters.WaiterGoroutine, im.Name)
					if task == 0 {
						return nil
					}
					return positive(theirs / task)
				},
			},
		)
	}
	return all
}

// familyOverload is who gets the permits when there are too few.
const familyOverload = "overload"

func overloadTargetLines() (all []TargetLine) {
	for i := range overload.Targets {
		t := &overload.Targets[i]
		for _, line := range t.Workloads {
			figures := func(r *Report) []float64 {
				i := slices.IndexFunc(r.Overload, func(l *overload.Result) bool { return l.Workload == line })
				if i < 0 {
					return nil
				}
				return r.Overload[i].Figures(t)
			}
			keep(&all, TargetLine{familyOverload, line, from("overload/" + line + "/"), t, figures})
		}
	}
	return all
}

// positive is v as the only round, nil if it is 0.
func positive(v float64) []float64 {
	if v == 0 {
		return nil
	}
	return []float64{v}
}
