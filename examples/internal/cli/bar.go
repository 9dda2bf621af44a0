package cli

import (
	"context"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
)

// Progress is what a bar shows.
type Progress struct {
	Done, Total int64
	// Text is what stands beside the bar: as much of it as there is room for, but always the first.
	Text []string
}

// A Bar is a progress bar on a terminal. A nil one draws nothing.
type Bar struct {
	mu   sync.Mutex // guards the bar, and what else is written to its terminal
	bar  *progressbar.ProgressBar
	w    io.Writer
	stop func()
}

// The widths of a bar, in columns.
const (
	barWidth    = 20
	barLeast    = 5
	barOverhead = len(" 100% ||   ") // what is drawn besides, with the spaces at both ends of the text
)

// StartBar draws on w what look returns, ten times a second, until Stop is called.
func StartBar(w io.Writer, look func() Progress) *Bar {
	b := &Bar{w: w, bar: progressbar.NewOptions64(1,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(barWidth), // less if there is no room
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionClearOnFinish(),
	)}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for { // Each turn is a frame.
			b.draw(look())
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
	b.stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		_ = b.bar.Finish() // a terminal's write errors are ignored
	})
	return b
}

func (b *Bar) draw(p Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := ""
	for i, t := range p.Text {
		if i > 0 {
			t = text + ", " + t
		}
		if i > 0 && barOverhead+barLeast+utf8.RuneCountInString(t) > width(b.w) {
			break
		}
		text = t
	}
	// The bar ends for good when it reaches its maximum, even if more is found or done later. So it
	// never does.
	b.bar.ChangeMax64(p.Total + 1)
	_ = b.bar.Set64(min(p.Done, p.Total))
	b.bar.Describe(text)
}

// Above calls write, which may write to the terminal, while the bar is not there.
func (b *Bar) Above(write func()) {
	if b == nil {
		write()
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.bar.Clear()
	write()
}

// Stop removes the bar.
func (b *Bar) Stop() {
	if b != nil {
		b.stop()
	}
}
