package main

import (
	"context"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/schollz/progressbar/v3"
)

// progress draws a progress bar while a tree is hashed.
type progress struct {
	mu   sync.Mutex // guards the bar, and what else is written to its terminal
	bar  *progressbar.ProgressBar
	stop func()
}

// startProgress draws the progress of t on w until stop is called. For the total it walks the tree a second time: the
// walk that feeds the workers cannot tell, as it is never far ahead of them.
func startProgress(t *tree, w io.Writer) *progress {
	p := &progress{bar: progressbar.NewOptions64(1,
		progressbar.OptionSetWriter(w),
		progressbar.OptionShowBytes(true),
		progressbar.OptionShowCount(),
		progressbar.OptionUseIECUnits(true),
		progressbar.OptionThrottle(50*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(20),
	)}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var total atomic.Int64
	wg.Go(func() {
		t.walk(ctx, func(_ string, d fs.DirEntry, err error) {
			if err != nil {
				return
			}
			if info, err := d.Info(); err == nil {
				total.Add(info.Size())
			}
		}, func() {})
	})
	wg.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				p.draw(t.files.Load(), t.bytes.Load(), total.Load())
			}
		}
	})
	p.stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		_ = p.bar.Finish() // An error of writing to the terminal is of no interest here nor below.
	})
	return p
}

func (p *progress) draw(files, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// The bar ends for good when it reaches its maximum, even if more is found or written later. So it never does.
	p.bar.ChangeMax64(total + 1)
	_ = p.bar.Set64(min(done, total))
	p.bar.Describe(english.Plural(int(files), "file", ""))
}

// suspend removes the bar from the terminal and keeps it away until the function it returns is called.
func (p *progress) suspend() func() {
	p.mu.Lock()
	_ = p.bar.Clear()
	return p.mu.Unlock
}
