package main

import (
	"fmt"
	"strings"
)

const (
	taskNote = "Here farad is the executor with so many workers, and its tasks exist before. The comparison is the" +
		" quotient of the times, or where it says ns their difference: the median over the rounds of the comparisons" +
		" inside a round. Goroutines run on GOMAXPROCS processors in every line."
	taskMemoryNote = "Heap and stacks, after collection, of so many that wait for one permit, with the objects that they" +
		" are. The descriptors of goroutines, which the runtime keeps for ever, are not in it."
)

// taskTable has a line for each workload and number of workers.
func (r *report) taskTable(sum *tally) *table {
	t := &table{
		title: "Tasks",
		note:  taskNote,
		head: []string{
			"workload", "workers", "peer", "farad, ns/op", "peer, ns/op", "farad ÷ peer", "farad, allocs/op",
		},
		left: 3,
	}
	for _, l := range r.Tasks {
		ns := func(impl string) string {
			vs := l.Samples.column(impl, taskNs)
			if len(vs) == 0 {
				return ""
			}
			return fmt.Sprintf("%.1f", median(vs))
		}
		entry := func(m metric, peer string, vs []float64) string {
			return sum.entry(m, taskTargetFor(l.key(), m, peer), vs)
		}
		t.add(l.Workload, fmt.Sprint(l.Workers), l.peer(), ns(nameFarad), ns(l.peer()),
			entry(l.comparison(), l.peer(), l.compare()),
			entry(allocations, "", l.Samples.column(nameFarad, taskAllocs)))
	}
	return t
}

// taskMemoryTable compares what waits with a poll task.
func (r *report) taskMemoryTable(sum *tally) *table {
	t := &table{
		title: "Memory of one task that waits",
		note:  taskMemoryNote,
		head:  []string{"waiter", "semaphore", "number", "bytes", "÷ a poll task's"},
		left:  2,
	}
	var task float64
	for _, m := range r.TaskMemory {
		if m.metric == taskBytes {
			task = m.Bytes
		}
	}
	for _, m := range r.TaskMemory {
		bytes, times := fmt.Sprintf("%.0f", m.Bytes), ""
		if m.metric == taskBytes {
			bytes = strings.TrimSpace(bytes + " " + sum.judge(taskTargetFor("", taskBytes, ""), m.Bytes))
		}
		if task > 0 && m.metric != taskBytes {
			times = sum.entry(m.metric, taskTargetFor("", m.metric, ""), []float64{m.Bytes / task})
		}
		t.add(m.Waiter, m.Impl, fmt.Sprint(m.Number), bytes, times)
	}
	return t
}
