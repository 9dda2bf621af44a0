//go:build !js

package main

import (
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// startChart draws a bar for each goroutine of c on w, until the function that it returns is
// called, which leaves the bars in their final state. The longest bar grows with the time; the
// others are in proportion to it.
func startChart(w io.Writer, c *contest) (stop func()) {
	fmt.Fprintf(w, "\n%s\n", c.kind.name) // A terminal's write errors are ignored here and below.
	begun := time.Now()
	p := mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithRefreshRate(100*time.Millisecond), mpb.WithWidth(80))
	bars := make([]*mpb.Bar, len(c.runners))
	for i := range bars {
		turns := c.runners[i].turns.Load
		style := mpb.BarStyle().Lbound("").Filler("█").Tip("█").Padding(" ").Rbound("").Build()
		// The library reads the state when it draws, so the runners do nothing for it.
		filler := mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error {
			s.Current, s.Total = turns(), c.scale(time.Since(begun))
			return style.Fill(w, s)
		})
		count := decor.Any(func(decor.Statistics) string { return humanize.Comma(turns()) }, decor.WCSyncSpace)
		bars[i] = p.MustAdd(0, filler,
			mpb.PrependDecorators(decor.Name(fmt.Sprint(i+1), decor.WCSyncWidth)),
			mpb.AppendDecorators(count))
	}
	return func() {
		for _, b := range bars {
			b.Abort(false)
		}
		p.Wait()
	}
}
