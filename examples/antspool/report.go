package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/farad-go/farad/examples/internal/cli"
)

// A reporter writes what the user sees. Its methods may be called from any goroutine until the bar
// is stopped.
type reporter struct {
	bar *cli.Bar // nil if there is none

	mu     sync.Mutex // guards what is written to stderr, and failed
	stderr io.Writer
	failed int
}

func newReporter(stderr io.Writer) *reporter { return &reporter{stderr: stderr} }

// draw shows a bar with the progress of s.
func (r *reporter) draw(files []file, s *squeezer) {
	var total int64
	for _, f := range files {
		total += f.size
	}
	r.bar = cli.StartBar(r.stderr, func() cli.Progress {
		done := s.done.Load()
		return cli.Progress{Done: done, Total: total, Text: []string{
			humanize.IBytes(uint64(done)),
			english.Plural(s.pool.Ants().Running(), "goroutine", ""),
		}}
	})
}

// stop ends the bar.
func (r *reporter) stop() {
	r.bar.Stop()
	r.bar = nil
}

// fail reports a file that could not be read.
func (r *reporter) fail(path string, err error) {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	r.mu.Lock()
	r.failed++
	r.mu.Unlock()
	r.warn(fmt.Sprintf("%s: %v", path, err))
}

func (r *reporter) failures() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *reporter) warn(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bar.Above(func() { fmt.Fprintln(r.stderr, "antspool:", s) })
}

// finish prints the table and the summary. Its error is that of writing the table.
func (r *reporter) finish(stdout io.Writer, s *squeezer, stopped error, elapsed time.Duration) error {
	var all totals
	kinds := make([]string, 0, len(s.byKind))
	for k, t := range s.byKind {
		kinds = append(kinds, k)
		all.add(t)
	}
	slices.SortFunc(kinds, func(a, b string) int { // what takes most space first
		return cmp.Or(cmp.Compare(s.byKind[b].squeezed, s.byKind[a].squeezed), cmp.Compare(a, b))
	})
	tw := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "files\tbytes\tgzip\tratio\t  kind\n")
	for _, k := range kinds {
		row(tw, s.byKind[k], k)
	}
	row(tw, all, "all")
	err := tw.Flush()
	if err != nil {
		r.warn("cannot write the table: " + err.Error())
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	elapsed = max(elapsed, 1) // so that it can be divided by
	fmt.Fprintf(r.stderr, "%s, %s to %s in %v: %s/s\n", english.Plural(int(all.files), "file", ""),
		humanize.IBytes(uint64(all.bytes)), humanize.IBytes(uint64(all.squeezed)), elapsed.Round(10*time.Microsecond),
		humanize.IBytes(uint64(float64(s.done.Load())/elapsed.Seconds())))
	fmt.Fprintf(r.stderr, "memory: at most %s of %s at a time; %s failed\n", humanize.IBytes(uint64(s.peak)),
		humanize.IBytes(uint64(s.mem)), english.Plural(r.failed, "file", ""))
	cli.Stopped(r.stderr, stopped)
	return err
}

func row(w io.Writer, t totals, kind string) {
	ratio := "-"
	if t.bytes > 0 {
		ratio = fmt.Sprintf("%.1f%%", 100*float64(t.squeezed)/float64(t.bytes))
	}
	fmt.Fprintf(w, "%d\t%d\t%d\t%s\t  %s\n", t.files, t.bytes, t.squeezed, ratio, kind)
}
