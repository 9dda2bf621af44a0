package main

import (
	"io"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/farad-go/farad/examples/internal/cli"
)

// startProgress draws a bar for the turns of j, which began at start.
func startProgress(w io.Writer, name string, j *job, start time.Time) *cli.Bar {
	return cli.StartBar(w, func() cli.Progress {
		p := cli.Progress{Done: j.done.Load(), Total: j.turns(), Text: []string{name}}
		rate := float64(p.Done) / max(time.Since(start).Seconds(), 1e-3)
		if rate >= 1 { // not before the first turns
			p.Text = append(p.Text, humanize.Comma(int64(rate))+" turns/s")
		}
		return p
	})
}
