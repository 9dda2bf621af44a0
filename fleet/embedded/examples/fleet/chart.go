package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// draw shows on w what happens, until the function that it returns is called: as a chart if w is a
// terminal, or else as lines. Write errors are ignored here and below: the counts matter.
func (s *show) draw(w io.Writer, quiet bool) (end func()) {
	f, ok := w.(*os.File)
	switch {
	case quiet:
		s.say = func(string, ...any) {}
		return func() {}
	case ok && term.IsTerminal(int(f.Fd())):
		return s.drawChart(w)
	default:
		return s.drawLines(w)
	}
}

// line returns a line about what has happened.
func (s *show) line(format string, a ...any) string {
	return fmt.Sprintf("%5.1fs  %s\n", time.Since(s.begun).Seconds(), fmt.Sprintf(format, a...))
}

// drawLines writes what happens, and once a second who holds how many permits.
func (s *show) drawLines(w io.Writer) (end func()) {
	var mu sync.Mutex
	s.say = func(format string, a ...any) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.WriteString(w, s.line(format, a...))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.say("%s", s.summary())
			case <-stop:
				return
			}
		}
	})
	return func() {
		close(stop)
		wg.Wait()
	}
}

// summary says in a line who holds how many permits.
func (s *show) summary() string {
	held := s.ledger.held(len(s.crew))
	var sum int64
	var each []string
	for _, n := range held {
		sum += n
		each = append(each, fmt.Sprint(n))
	}
	jobs := s.ledger.count().jobs
	return fmt.Sprintf("%s permits = %d of %d; %d jobs done", strings.Join(each, "+"), sum, permits, jobs)
}

// drawChart draws a bar for each worker, a cell for each permit, and a line for the members. What
// happens is written above them.
func (s *show) drawChart(w io.Writer) (end func()) {
	p := mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithRefreshRate(100*time.Millisecond), mpb.WithWidth(80))
	s.say = func(format string, a ...any) { _, _ = io.WriteString(p, s.line(format, a...)) }
	var bars []*mpb.Bar
	for i := range s.crew {
		held := func() int64 { return s.ledger.held(len(s.crew))[i] }
		// The library asks for the state when it draws: so nobody has to pass it on.
		style := mpb.BarStyle().Lbound("").Filler("█").Tip("█").Padding("·").Rbound("").Build()
		filler := mpb.BarFillerFunc(func(w io.Writer, d decor.Statistics) error {
			d.Current, d.Total = held(), permits
			d.RequestedWidth = permits
			return style.Fill(w, d)
		})
		bars = append(bars, p.MustAdd(0, filler,
			mpb.PrependDecorators(decor.Name(fmt.Sprintf("worker %d", i), decor.WCSyncSpaceR)),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
				return fmt.Sprintf(" %2d %s", held(), s.doing(i))
			}))))
	}
	for _, text := range []func() string{s.doingMembers, s.summary} {
		bars = append(bars, p.MustAdd(0, mpb.BarFillerFunc(func(io.Writer, decor.Statistics) error { return nil }),
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return text() }))))
	}
	return func() {
		for _, b := range bars {
			b.Abort(false)
		}
		p.Wait()
	}
}

// doing says what worker i does, if it does not work.
func (s *show) doing(i int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crew[i].does
}

// doingMembers says what the members do.
func (s *show) doingMembers() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := []string{"members "}
	for i, does := range s.members {
		if does == works {
			does = "works"
		}
		text = append(text, fmt.Sprint(i), does)
	}
	return strings.Join(text, " ")
}
