package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A targetLine is one target on one line of a report.
type targetLine struct {
	family  string
	line    string // as the report calls it
	run     string // what -run takes to measure it
	target  *target
	figures func(*report) []float64 // an entry a round; nil if it was not measured
}

// familyVariants are the hash functions, which have a table of their own.
const familyVariants = "hash functions"

// targetLines returns all of them, in the order of the reports.
func targetLines() []targetLine {
	return slices.Concat(
		cellTargetLines(),
		memoryTargetLines(),
		lockTargetLines(),
		variantTargetLines(),
		taskTargetLines(),
		taskMemoryTargetLines(),
	)
}

// from is the regular expression for what begins with name.
func from(name string) string { return "^" + regexp.QuoteMeta(name) }

// keep adds l, unless it has no target.
func keep(all *[]targetLine, l targetLine) {
	if l.target != nil {
		*all = append(*all, l)
	}
}

func cellTargetLines() (all []targetLine) {
	for _, c := range cells() {
		column := func(r *report, impl string, f func(sample) float64) []float64 {
			for _, l := range r.Cells {
				if l.Name == c.String() {
					return l.Samples.column(impl, f)
				}
			}
			return nil
		}
		add := func(m metric, peer string, figures func(*report) []float64) {
			keep(&all, targetLine{familySemaphore, c.String(), from(c.String() + "/"), targetFor(c, m, peer), figures})
		}
		for _, peer := range peerNames {
			add(ratioTo, peer, func(r *report) []float64 {
				return ratios(column(r, nameFarad, nsPerOp), column(r, peer, nsPerOp))
			})
		}
		add(minFairness, "", func(r *report) []float64 { return column(r, nameFarad, fairnessOf) })
		add(allocations, "", func(r *report) []float64 { return column(r, nameFarad, allocsPerOp) })
	}
	return all
}

func memoryTargetLines() (all []targetLine) {
	add := func(m metric, waiter, impl, run string) {
		keep(
			&all,
			targetLine{
				familySemaphore,
				waiter,
				from(run) + "$",
				targetFor(cell{}, m, ""),
				func(r *report) []float64 { return bytesOf(r.Memory, waiter, impl) },
			},
		)
	}
	for _, waiter := range []string{waiterFuture, waiterFutureHeap} {
		add(futureBytes, waiter, nameFarad, "memory/future/farad")
	}
	for _, impl := range []struct {
		name string
		metric
	}{{nameFarad, goroutineBytes}, {nameArray, arrayBytes}} {
		for _, f := range allForms {
			add(impl.metric, waiterWith(f), impl.name, fmt.Sprintf("memory/goroutine/%s/%s", f, impl.name))
		}
	}
	return all
}

// bytesOf returns what one who waits needs, nil if it was not measured.
func bytesOf(memory []memoryResult, waiter, impl string) []float64 {
	for _, m := range memory {
		if m.Waiter == waiter && m.Impl == impl {
			return []float64{m.Bytes}
		}
	}
	return nil
}

func lockTargetLines() (all []targetLine) {
	for _, w := range lockWorkloads {
		run := from("locks/" + w.name + "/")
		add := func(m metric, peer string, figures func(*report) []float64) {
			keep(&all, targetLine{familyLocks, w.name, run, lockTargetFor(w.name, m, peer), figures})
		}
		for _, im := range w.impls {
			add(ratioTo, im.name, func(r *report) []float64 {
				return ratios(r.lockColumn(w.name, nameFarad, lockNs), r.lockColumn(w.name, im.name, lockNs))
			})
			for _, m := range []metric{tailOfAllTo, tailTo} {
				add(m, im.name, func(r *report) []float64 {
					i := slices.IndexFunc(r.Locks, func(l *lockResult) bool { return l.Workload == w.name })
					if i < 0 {
						return nil
					}
					return r.Locks[i].tails(m, im.name)
				})
			}
		}
		add(minFairness, "", func(r *report) []float64 { return r.lockColumn(w.name, nameFarad, lockFairness) })
		if t := lockTargetFor(w.name, growthFrom, ""); t != nil {
			run := from(
				"locks/"+strings.TrimRight(w.name, "0123456789"),
			) + ".*/farad$" // and others: what is between bars would end the table's cell
			keep(
				&all,
				targetLine{familyLocks, w.name, run, t, func(r *report) []float64 { return r.growth(w.name, t) }},
			)
		}
		if slices.ContainsFunc(w.impls, func(im lockImpl) bool { return im.name == nameFarad }) {
			add(allocations, "", func(r *report) []float64 { return r.lockColumn(w.name, nameFarad, lockAllocs) })
		}
	}
	return all
}

func variantTargetLines() (all []targetLine) {
	for _, name := range ourVariants {
		keep(
			&all,
			targetLine{
				familyVariants,
				name,
				from("variants/" + name),
				find(variantTargets, name, "", futileWakes, ""),
				func(r *report) []float64 {
					for _, v := range r.Variants {
						if v.name() == name && v.Woken > 0 {
							return []float64{v.futileWakes()}
						}
					}
					return nil
				},
			},
		)
	}
	return all
}

func taskTargetLines() (all []targetLine) {
	for _, l := range planTasks(func(string) bool { return true }) {
		measured := func(r *report) *taskResult {
			for _, is := range r.Tasks {
				if is.key() == l.key() {
					return is
				}
			}
			return new(taskResult)
		}
		run := from(l.String() + "/")
		keep(
			&all,
			targetLine{
				familyTasks,
				l.key(),
				run,
				taskTargetFor(l.key(), l.comparison(), l.peer()),
				func(r *report) []float64 { return measured(r).compare() },
			},
		)
		keep(
			&all,
			targetLine{familyTasks, l.key(), run, taskTargetFor(l.key(), allocations, ""), func(r *report) []float64 {
				return measured(r).Samples.column(nameFarad, taskAllocs)
			}},
		)
	}
	return all
}

func taskMemoryTargetLines() []targetLine {
	all := []targetLine{
		{
			familyTasks,
			waiterPollTask,
			from("tasks/memory/poll/"),
			taskTargetFor("", taskBytes, ""),
			func(r *report) []float64 {
				return positive(r.taskMemory(waiterPollTask, nameFarad))
			},
		},
	}
	for _, im := range lockers() {
		// All of them are measured: a crowd of goroutines that goes first sees to it that stacks
		// are the same for all.
		all = append(
			all,
			targetLine{
				familyTasks,
				waiterGoroutine + ", " + im.name,
				from("tasks/memory/"),
				taskTargetFor("", goroutineTimes, ""),
				func(r *report) []float64 {
					task, theirs := r.taskMemory(waiterPollTask, nameFarad), r.taskMemory(waiterGoroutine, im.name)
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

// positive is v as the only round, nil if it is 0.
func positive(v float64) []float64 {
	if v == 0 {
		return nil
	}
	return []float64{v}
}
