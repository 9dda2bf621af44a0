package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// load reads a run from the JSON file that it has left.
func load(file string) (*report, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := new(report)
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r.link()
	return r, nil
}

// link finds what the lines of a report that was read belong to. What the program no longer has is
// kept under the names that it had.
func (r *report) link() {
	for _, c := range r.Cells {
		name, f := c.Name, ""
		if i := strings.LastIndexByte(c.Name, '/'); i >= 0 {
			name, f = c.Name[:i], c.Name[i+1:]
		}
		c.cell = cell{workload{name: name}, form(f)}
		c.impls = present(
			implementations,
			c.Samples,
			func(im implementation) string { return im.name },
			func(name string) implementation { return implementation{name: name} },
		)
	}
	for _, l := range r.Locks {
		i := slices.IndexFunc(lockWorkloads, func(w lockWorkload) bool { return w.name == l.Workload })
		if l.name = l.Workload; i >= 0 {
			l.lockWorkload = lockWorkloads[i]
		}
		l.impls = present(
			l.impls,
			l.Samples,
			func(im lockImpl) string { return im.name },
			func(name string) lockImpl { return lockImpl{name: name} },
		)
	}
	for _, l := range r.Tasks {
		var known []taskImpl
		if i := slices.IndexFunc(taskWorkloads, func(w taskWorkload) bool { return w.name == l.Workload }); i >= 0 {
			known = []taskImpl{{nameFarad, nil}, taskWorkloads[i].peer}
		}
		l.impls = present(
			known,
			l.Samples,
			func(im taskImpl) string { return im.name },
			func(name string) taskImpl { return taskImpl{name: name} },
		)
	}
	for _, l := range r.Jobs {
		i := slices.IndexFunc(jobWorkloads, func(w jobWorkload) bool { return w.name == l.Workload })
		if l.name = l.Workload; i >= 0 {
			l.jobWorkload = jobWorkloads[i]
		}
		l.impls = present(
			l.impls,
			l.Samples,
			func(im jobImpl) string { return im.name },
			func(name string) jobImpl { return jobImpl{taskImpl: taskImpl{name: name}} },
		)
	}
	for i := range r.Memory {
		m := &r.Memory[i]
		switch {
		case strings.HasPrefix(m.Waiter, "future"):
			m.metric = futureBytes
		case m.Impl == nameArray:
			m.metric = arrayBytes
		default:
			m.metric = goroutineBytes
		}
	}
	for i := range r.TaskMemory {
		switch m := &r.TaskMemory[i]; m.Waiter {
		case waiterPollTask:
			m.metric = taskBytes
		case waiterGoroutine:
			m.metric = goroutineTimes
		}
	}
}

// present returns those of known who have samples, and after them the others who have, by name.
func present[I, S any](known []I, all samples[S], name func(I) string, unknown func(string) I) []I {
	is := func(n string) func(I) bool { return func(im I) bool { return name(im) == n } }
	var some []I
	for _, im := range known {
		if len(all[name(im)]) > 0 {
			some = append(some, im)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(all)) {
		if !slices.ContainsFunc(known, is(n)) {
			some = append(some, unknown(n))
		}
	}
	return some
}
