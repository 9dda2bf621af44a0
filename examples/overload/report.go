package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// heading stands above the figures of a tenant, as [result.String] writes them.
const heading = "in time    p50    p99  refused"

// rowName returns the name of a tenant's line.
func rowName(t *trial, who tenant) string { return fmt.Sprintf("%-8s%-7s ", t.name, who.name) }

// writeLines writes what the chart shows. Errors are left to the table.
func writeLines(w io.Writer, p policy, trials []*trial) {
	fmt.Fprintf(w, "%-17s%s\n", p.name, heading)
	for _, t := range trials {
		for i, who := range t.tenants {
			fmt.Fprintf(w, "%s %s\n", rowName(t, who), t.tallies[i].result())
		}
	}
	fmt.Fprintln(w)
}

// A row is the line of a policy in the table.
type row struct {
	policy policy
	trials []*trial
}

// writeTable compares the policies.
func writeTable(w io.Writer, rows []row) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\tflood of bulk\t\t\t2x load\t\t\tslow reports\t\t\t")
	fmt.Fprintln(tw, "policy\tmodest\tuseful\tp99\tweb\tuseful\tp99\tquick\tuseful\tp99\tgood for")
	for _, r := range rows {
		fmt.Fprint(tw, r.policy.name)
		for _, t := range r.trials {
			urgent, all := t.result()
			fmt.Fprintf(tw, "\t%.0f %%\t%.0f %%\t%v", 100*urgent.inTime(), 100*all.rate/capacity, all.quantile(0.99))
		}
		fmt.Fprintf(tw, "\t%s\n", r.policy.gain)
	}
	fmt.Fprintln(tw, "\nmodest, web, quick: the part of their requests that was answered in time")
	fmt.Fprintln(tw, "useful: what was answered in time, as a part of what the database can do")
	return tw.Flush()
}

// result returns that of the urgent tenant, and that of all.
func (t *trial) result() (urgent, all result) {
	for i, who := range t.tenants {
		r := t.tallies[i].result()
		if who.urgent {
			urgent = r
		}
		all.rate += r.rate * who.work()
		all.took = append(all.took, r.took...)
	}
	slices.Sort(all.took)
	return urgent, all
}
