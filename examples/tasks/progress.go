package main

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// startProgress draws a bar for the turns of j on w, until the function that it returns is called: that removes it.
func startProgress(w io.Writer, name string, j *job) (stop func()) {
	bar := progressbar.NewOptions64(j.turns(),
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(name),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("turns"),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(20),
	)
	_ = bar.RenderBlank() // An error of writing to the terminal is of no interest here nor below.
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-end:
				return
			case <-ticker.C:
				_ = bar.Set64(j.done.Load())
			}
		}
	})
	return func() {
		close(end)
		wg.Wait()
		_ = bar.Finish()
	}
}
