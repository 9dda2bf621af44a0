package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A meter shows how far a run is: on a terminal a bar with the time left, elsewhere a line a round.
type meter struct {
	w     io.Writer
	bar   *progressbar.ProgressBar // nil: w is no terminal
	began time.Time                // of the round
}

// newMeter shows on w the progress of a run.
func newMeter(w io.Writer, measurements int) *meter {
	m := &meter{w: w, began: time.Now()}
	if isTerminal(w) {
		m.bar = newBar(w, measurements)
	}
	return m
}

func newBar(w io.Writer, measurements int) *progressbar.ProgressBar {
	return progressbar.NewOptions(measurements,
		progressbar.OptionSetWriter(w),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetWidth(20),
		progressbar.OptionClearOnFinish(),
	)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// measured notes that one more measurement is done. The bar is drawn by this call alone, and never
// while anything is measured.
func (m *meter) measured(name string) {
	if m.bar != nil {
		m.bar.Describe(fmt.Sprintf("%-40.40s", name)) // of one width, for the bar not to jump
		_ = m.bar.Add(1)                              // a terminal's write errors are ignored
	}
}

// round notes that a round is done.
func (m *meter) round(round, rounds int) {
	if m.bar == nil {
		fmt.Fprintf(m.w, "round %d of %d: %v\n", round+1, rounds, time.Since(m.began).Round(time.Millisecond))
	}
	m.began = time.Now()
}

// finish removes the bar.
func (m *meter) finish() {
	if m.bar != nil {
		_ = m.bar.Finish()
		m.bar = nil
	}
}
