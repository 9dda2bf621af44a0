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
func (r *report) taskTable(sum *tally, spreads bool) *table {
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
			vs := l.column(impl, taskNs)
			if len(vs) == 0 {
				return ""
			}
			return fmt.Sprintf("%.1f", median(vs))
		}
		compared, allocs := "", ""
		if vs := l.compare(); len(vs) > 0 {
			m, v := l.comparison(), median(vs)
			bound := taskTargetFor(l.key(), m, l.peer())
			words := []string{bound.figure(v)}
			if m == nsBeyond {
				words = append(words, "ns more")
			}
			if spreads && len(vs) > 1 {
				words = append(words, "("+spread("%.2f", vs)+")")
			}
			compared = strings.TrimSpace(strings.Join(append(words, sum.judge(bound, v)), " "))
		}
		if vs := l.column(nameFarad, taskAllocs); len(vs) > 0 {
			bound, v := taskTargetFor(l.key(), allocations, ""), median(vs)
			allocs = strings.TrimSpace(bound.figure(v) + " " + sum.judge(bound, v))
		}
		t.add(l.Workload, fmt.Sprint(l.Workers), l.peer(), ns(nameFarad), ns(l.peer()), compared, allocs)
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
			v := m.Bytes / task
			bound := taskTargetFor("", m.metric, "")
			times = strings.TrimSpace(bound.figure(v) + " " + sum.judge(bound, v))
		}
		t.add(m.Waiter, m.Impl, fmt.Sprint(m.Number), bytes, times)
	}
	return t
}
