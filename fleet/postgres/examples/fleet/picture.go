//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// A sample is who held what at some time.
type sample struct {
	at      time.Duration
	up      bool // the server; the rest is unknown if it is not
	done    int  // jobs
	tenants [3]tenantNow
}

type tenantNow struct {
	size, waiting int64
	held          [workers]int64
}

// look takes a sample of the fleet's lines. An operator may read them in a view.
func look(ctx context.Context, tx pgx.Tx) (s sample, err error) {
	var sizes []int64
	err = tx.QueryRow(ctx, "SELECT (SELECT count(*) FROM job WHERE done), array(SELECT cap FROM tenant ORDER BY name)").
		Scan(&s.done, &sizes)
	if err != nil {
		return s, err
	}
	for i, size := range sizes {
		s.tenants[i].size = size
	}
	rows, err := tx.Query(ctx, `SELECT array_position($1::text[], split_part(line, '%2F', 2)) - 1,
			split_part(who::json->>'name', '/', 1)::int, weight, weight_up_to_here <= size
		FROM farad.entries WHERE line LIKE 'keyed/%' AND who::json->>'name' IS NOT NULL`, tenants)
	if err != nil {
		return s, err
	}
	var tenant, worker int
	var n int64
	var holds bool
	_, err = pgx.ForEachRow(rows, []any{&tenant, &worker, &n, &holds}, func() error {
		if t := &s.tenants[tenant]; holds {
			t.held[worker] += n
		} else {
			t.waiting += n
		}
		return nil
	})
	return s, err
}

// cell shows how many permits a worker holds.
func cell(n int64) string {
	if n == 0 {
		return "·"
	}
	return fmt.Sprint(n)
}

// lines shows a sample: a line for each tenant.
func (s *sample) lines() (all []string) {
	if !s.up {
		return nil
	}
	for i, t := range s.tenants {
		var cells strings.Builder
		var held int64
		for _, n := range t.held {
			cells.WriteString(cell(n))
			held += n
		}
		all = append(all, fmt.Sprintf("%-7s %s  %d of %d, %2d wait", tenants[i], &cells, held, t.size, t.waiting))
	}
	return all
}

// draw shows who held what over time: a column for a sample, as long as they are few.
func draw(samples []sample) string {
	const width = 80
	var columns []sample
	for i := 0; i < len(samples); i += (len(samples) + width - 1) / width {
		columns = append(columns, samples[i])
	}
	var b strings.Builder
	row := func(name string, of func(s sample) string) {
		fmt.Fprintf(&b, "%-12s", name)
		for _, s := range columns {
			if s.up {
				b.WriteString(of(s))
			} else {
				b.WriteString(" ") // nobody knows
			}
		}
		b.WriteString("\n")
	}
	for i, tenant := range tenants {
		row(tenant, func(s sample) string { return fmt.Sprint(s.tenants[i].size) })
		for w := range workers {
			row(fmt.Sprint("  worker ", w), func(s sample) string { return cell(s.tenants[i].held[w]) })
		}
	}
	if n := len(columns); n > 0 {
		fmt.Fprintf(&b, "%-12s0s%*.1fs\n", "", max(0, n-3), columns[n-1].at.Seconds())
	}
	return b.String()
}

// A screen shows what happens. Write errors are ignored: the report matters.
type screen struct {
	w        io.Writer
	begun    time.Time
	terminal bool

	mu    sync.Mutex
	drawn int       // lines of a terminal that the next sample replaces
	next  time.Time // when a sample is written that replaces nothing
}

func newScreen(w io.Writer, begun time.Time) *screen {
	s := &screen{w: w, begun: begun, next: begun}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		s.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return s
}

// say tells that something has happened.
func (s *screen) say(format string, a ...any) { s.write(0, fmt.Sprintf(format, a...)) }

// show shows a sample: as the last lines of a terminal, or once a second as a line.
func (s *screen) show(now *sample) {
	status := fmt.Sprintf("%d jobs done", now.done)
	if !now.up {
		status = "the server is down"
	}
	switch {
	case s.terminal:
		all := append([]string{status}, now.lines()...)
		s.write(len(all), strings.Join(all, "\n"))
	case time.Now().After(s.next):
		s.next = time.Now().Add(time.Second)
		s.write(0, strings.Join(append(now.lines(), status), "; "))
	}
}

// write writes a text in the place of the last one that has had lines to be replaced.
func (s *screen) write(lines int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drawn > 0 {
		fmt.Fprintf(s.w, "\033[%dA\033[J", s.drawn)
	}
	s.drawn = lines
	fmt.Fprintf(s.w, "%5.1fs  %s\n", time.Since(s.begun).Seconds(), text)
}
