package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// A jobResult is one line of the table of jobs: work that comes in laps with a beginning and an
// end, as that of the executor does, by whoever bounds how much of it is done at a time.
type jobResult struct {
	Workload string             `json:"workload"`
	Samples  samples[jobSample] `json:"samples"`

	jobWorkload
}

// A jobSample is one measurement.
type jobSample struct {
	taskSample

	Waits *waitSummary `json:"waits,omitempty"` // of workloads that time them
}

// A jobWorkload is work of which at most so much is done at a time.
type jobWorkload struct {
	name  string
	bound int
	impls []jobImpl
}

// A jobImpl is somebody who bounds it.
type jobImpl struct {
	taskImpl

	waits *waitLog // where a lap notes the waits; nil: it does not
}

// The workloads, in the order of the table.
var jobWorkloads = []jobWorkload{
	burstbench(64, 2), burstbench(1000, 2),
	hashbench(),
}

func (r *jobResult) String() string { return "jobs/" + r.Workload }

func jobNs(s jobSample) float64     { return s.NsPerOp }
func jobAllocs(s jobSample) float64 { return s.AllocsPerOp }

func jobWaits(s jobSample) *waitSummary { return s.Waits }

// planJobs returns the lines, with those implementations that match picks by names such as
// jobs/burst-64x2/farad.
func planJobs(match func(string) bool) []*jobResult {
	var rs []*jobResult
	for _, w := range jobWorkloads {
		r := &jobResult{Workload: w.name, Samples: make(samples[jobSample]), jobWorkload: w}
		r.impls = slices.DeleteFunc(
			slices.Clone(w.impls),
			func(im jobImpl) bool { return !match(r.String() + "/" + im.name) },
		)
		if len(r.impls) > 0 {
			rs = append(rs, r)
		}
	}
	return rs
}

// runJobRound measures each line once.
func runJobRound(round int, rs []*jobResult, t timing, measured func(string)) error {
	rng := rand.New(rand.NewPCG(6, uint64(round)))
	for _, r := range rs {
		for _, im := range shuffled(rng, r.impls) {
			s, err := measureTask(im.taskImpl, r.bound, t)
			if err != nil {
				return fmt.Errorf("%s/%s: %w", r, im.name, err)
			}
			job := jobSample{taskSample: s}
			if im.waits != nil {
				job.Waits = im.waits.summary() // of the last lap
			}
			r.Samples[im.name] = append(r.Samples[im.name], job)
			measured(r.String() + "/" + im.name)
		}
	}
	return nil
}

const jobNote = "In burst-NxP, N goroutines want one of P permits at once, hold it for a microsecond and a yield, and are silent again: the time from the beginning of a burst to its end," +
	" for each of them, and the waits of all. In hash-N one goroutine" +
	" submits blocks of 4 kB, of which N are hashed at a time, and waits for all; farad is a semaphore and go statements. The floor of bursts lets everybody in; that of" +
	" hash has a goroutine for each processor, and nothing is submitted. The quotient is farad's time divided by the line's: the median of the quotients inside the rounds."

// jobTable has a line for each implementation of a workload.
func (r *report) jobTable(sum *tally) *table {
	t := &table{
		title: "Bursts and worker pools", note: jobNote,
		head: []string{"workload", "by", "ns/op", "farad ÷ it", "allocs/op", "p50 of waits", "p99", "longest"}, left: 2,
	}
	for _, l := range r.Jobs {
		for _, im := range l.impls {
			theirs := l.Samples.column(im.name, jobNs)
			if len(theirs) == 0 {
				continue
			}
			row := []string{
				l.Workload, im.name, fmt.Sprintf("%.1f", median(theirs)), sum.entry(ratioTo, nil, l.Samples.beside(im.name, jobNs)),
				fmt.Sprintf("%.2f", median(l.Samples.column(im.name, jobAllocs))),
			}
			t.add(append(row, waitCells(l.Samples[im.name], jobWaits, waitP50, waitP99, waitMax)...)...)
		}
	}
	return t
}
