package main

import (
	"cmp"
	"context"
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
	"github.com/schollz/progressbar/v3"
)

// A reporter writes what the user sees. Its methods may be called from any goroutine until stop.
type reporter struct {
	stderr io.Writer
	stop   func() // ends the bar

	mu     sync.Mutex // guards the bar, what else is written to its terminal, and failed
	bar    *progressbar.ProgressBar
	failed int
}

func newReporter(stderr io.Writer) *reporter { return &reporter{stderr: stderr, stop: func() {}} }

// draw shows a bar with the progress of s until stop is called.
func (r *reporter) draw(files []file, s *squeezer) {
	var total int64
	for _, f := range files {
		total += f.size
	}
	r.bar = progressbar.NewOptions64(total+1, // The bar ends for good when it reaches its maximum.
		progressbar.OptionSetWriter(r.stderr),
		progressbar.OptionShowBytes(true),
		progressbar.OptionUseIECUnits(true),
		progressbar.OptionThrottle(50*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(20),
	)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			r.mu.Lock()
			r.bar.Describe(fmt.Sprintf("%d running", s.pool.Ants().Running()))
			_ = r.bar.Set64(min(s.done.Load(), total)) // An error of writing to the terminal is of no interest here.
			r.mu.Unlock()
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
	r.stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		_ = r.bar.Finish()
		r.bar = nil
	})
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
	if r.bar != nil {
		_ = r.bar.Clear()
	}
	fmt.Fprintln(r.stderr, "antspool:", s)
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
	fmt.Fprintf(r.stderr, "memory: peak %s of %s; %s failed\n", humanize.IBytes(uint64(s.peak)),
		humanize.IBytes(uint64(s.mem)), english.Plural(r.failed, "file", ""))
	if stopped != nil {
		fmt.Fprintln(r.stderr, "stopped early:", stopped)
	}
	return err
}

func row(w io.Writer, t totals, kind string) {
	ratio := "-"
	if t.bytes > 0 {
		ratio = fmt.Sprintf("%.1f%%", 100*float64(t.squeezed)/float64(t.bytes))
	}
	fmt.Fprintf(w, "%d\t%d\t%d\t%s\t  %s\n", t.files, t.bytes, t.squeezed, ratio, kind)
}
