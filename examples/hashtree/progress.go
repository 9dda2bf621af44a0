package main

import (
	"context"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/farad-go/farad/examples/internal/cli"
)

// startProgress draws the progress of t on w until it is stopped. For the total it walks the tree a
// second time: the walk that feeds the workers cannot tell, as it is never far ahead of them.
func startProgress(t *tree, w io.Writer) (bar *cli.Bar, stop func()) {
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
		}, nil, nil)
	})
	bar = cli.StartBar(w, func() cli.Progress {
		done, files := t.bytes.Load(), english.Plural(int(t.files.Load()), "file", "")
		return cli.Progress{Done: done, Total: total.Load(), Text: []string{files, humanize.IBytes(uint64(done))}}
	})
	return bar, func() {
		cancel()
		wg.Wait()
		bar.Stop()
	}
}
