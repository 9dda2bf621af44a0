package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A report is what the program tells at its end.
type report struct {
	counts counts
	faults faults
}

func (s *show) report() report {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.faults
	f.back, f.backWithMember = slices.Clone(f.back), slices.Clone(f.backWithMember)
	return report{s.ledger.count(), f}
}

// sound reports whether the ledger has seen nothing that must not be.
func (r report) sound() bool {
	return r.counts.twice == 0 && r.counts.overfull == 0 && r.counts.wrong == 0
}

func (r report) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, a ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, a...)) }
	c, f := r.counts, r.faults
	row("workers killed, paused", "%d, %d", f.workersKilled, f.workersPaused)
	row("members killed", "%d", f.membersKilled)
	row("jobs done", "%d", c.jobs)
	row("jobs done twice", "%d", c.twice)
	row("... without fencing", "%d", c.avoided)
	row("stale tokens refused", "%d", c.refused)
	row("more permits used than there are", "%d times", c.overfull)
	if c.wrong > 0 {
		row("wrong requests", "%d", c.wrong)
	}
	for _, l := range []struct {
		name string
		wait wait
	}{
		{"longest wait", c.longest},
		{"... of a worker that was paused", c.paused},
	} {
		if l.wait.took > 0 {
			row(l.name, "%s, for %d permits", short(l.wait.took), l.wait.permits)
		}
	}
	for _, b := range []struct {
		name string
		took []time.Duration
	}{
		{"permits back after a kill", f.back},
		{"... and of a member, too", f.backWithMember},
	} {
		var each []string
		for _, d := range b.took {
			each = append(each, short(d))
		}
		if len(each) > 0 {
			row(b.name, "%s; a lease lasts %s", strings.Join(each, ", "), ttl)
		}
	}
	return t.Flush()
}

// short returns a time in tenths of a second.
func short(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
