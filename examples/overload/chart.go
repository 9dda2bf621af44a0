//go:build !js

package main

import (
	"fmt"
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// startChart draws a bar for each tenant on w, until the function that it returns is called, which
// leaves the bars in their final state. A whole bar is all that the database can do.
func startChart(w io.Writer, p policy, trials []*trial) (stop func()) {
	const width = 16
	// A terminal's write errors are ignored here and below.
	fmt.Fprintf(w, "\n%-*s%s\n", 17+width, p.name, heading)
	chart := mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithRefreshRate(100*time.Millisecond),
		mpb.WithWidth(80))
	var bars []*mpb.Bar
	for _, t := range trials {
		for i, who := range t.tenants {
			style := mpb.BarStyle().Lbound("").Filler("█").Tip("█").Padding("·").Rbound("").Build()
			// The library reads the state when it draws.
			filler := mpb.BarFillerFunc(func(w io.Writer, d decor.Statistics) error {
				d.Current, d.Total, d.RequestedWidth = int64(t.tallies[i].result().rate), int64(capacity), width
				return style.Fill(w, d)
			})
			text := func(decor.Statistics) string { return t.tallies[i].result().String() }
			bars = append(bars, chart.MustAdd(0, filler,
				mpb.PrependDecorators(decor.Name(rowName(t, who))),
				mpb.AppendDecorators(decor.Any(text))))
		}
	}
	return func() {
		for _, b := range bars {
			b.Abort(false)
		}
		chart.Wait()
	}
}
