package observe

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// What the sparklines show: so many samples of so many locks, at least so far apart.
const (
	historyLength = 90
	historyLocks  = 1000
	historyStep   = time.Second
)

// A sample is a lock at one time.
type sample struct {
	at       time.Time
	held     int64
	waiting  int
	acquired uint64
}

// past is what the locks were lately.
var past history

// A history is what the locks were in the last minute or two. Each reader of a snapshot feeds it:
// the monitor, and every page that is shown.
type history struct {
	mu    sync.Mutex
	last  time.Time           // guarded by mu
	locks map[uint64][]sample // the oldest first; guarded by mu
}

// add takes a sample of every lock, unless the last one is fresh, and forgets those that are gone.
func (h *history) add(s *Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if age := s.At.Sub(h.last); age < historyStep*9/10 && age > -time.Minute { // or the clock was set back
		return
	}
	h.last = s.At
	locks := make(map[uint64][]sample, len(s.Locks))
	for i := range s.Locks {
		l := &s.Locks[i]
		of, known := h.locks[l.ID]
		if !known && len(locks) >= historyLocks {
			continue
		}
		if len(of) == historyLength {
			copy(of, of[1:])
			of = of[:historyLength-1]
		}
		locks[l.ID] = append(of, sample{s.At, l.Held, l.Waiting, l.Counts.Acquired})
	}
	h.locks = locks
}

// of returns a copy of the samples of a lock.
func (h *history) of(id uint64) []sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]sample(nil), h.locks[id]...)
}

// A chart is one or two curves over the last minutes, in a box of some pixels.
type chart struct {
	Width, Height float64
	Area, Line    string // points of what is filled, and of what is a line; empty: nothing but zeros
	Text          string // for those who do not see it
}

// sparkline draws how many permits were held, filled, and how many requests waited, as a line.
func sparkline(samples []sample, size int64, width, height float64) chart {
	c := chart{Width: width, Height: height}
	if len(samples) == 0 {
		return c
	}
	var held, waiting []float64
	var mostHeld, mostWaiting int64
	for _, s := range samples {
		held = append(held, float64(s.held))
		waiting = append(waiting, float64(s.waiting))
		mostHeld, mostWaiting = max(mostHeld, s.held), max(mostWaiting, int64(s.waiting))
	}
	top := float64(mostHeld)
	if size < 1<<20 {
		top = float64(size)
	}
	c.Area = area(points(held, top, c))
	if mostWaiting > 0 {
		c.Line = strings.Join(points(waiting, float64(mostWaiting), c), " ")
	}
	c.Text = fmt.Sprintf("in %s at most %s held and %s waiting",
		span(samples[len(samples)-1].at.Sub(samples[0].at)), count(mostHeld), count(mostWaiting))
	return c
}

// rates draws how many requests were granted in a second.
func rates(samples []sample, width, height float64) (c chart, most float64) {
	c = chart{Width: width, Height: height}
	var rate []float64
	for i := 1; i < len(samples); i++ {
		a, b := samples[i-1], samples[i]
		if seconds := b.at.Sub(a.at).Seconds(); seconds > 0 && b.acquired >= a.acquired {
			rate = append(rate, float64(b.acquired-a.acquired)/seconds)
			most = max(most, rate[len(rate)-1])
		}
	}
	if most > 0 {
		c.Area = area(points(rate, most, c))
	}
	return c, most
}

// points places values from right to left, the last one at the right edge.
func points(values []float64, top float64, c chart) (p []string) {
	const line = 1.5 // half of a line is not cut off
	step := c.Width / (historyLength - 1)
	left := c.Width - step*float64(len(values)-1)
	if len(values) == 1 { // a line needs two
		values = append(values, values[0])
		left -= step
	}
	for i, v := range values {
		y := c.Height - line
		if top > 0 {
			y -= min(v/top, 1) * (c.Height - 2*line)
		}
		p = append(p, fmt.Sprintf("%.1f,%.1f", left+step*float64(i), y))
	}
	return p
}

// area closes a line at the bottom.
func area(p []string) string {
	if len(p) == 0 {
		return ""
	}
	x := func(point string) string { return point[:strings.IndexByte(point, ',')] }
	return strings.Join(p, " ") + " " + x(p[len(p)-1]) + ",100 " + x(p[0]) + ",100"
}

// A bar of a histogram.
type bar struct {
	X, Y, W, H float64
	Text       string
}

// A bars is a histogram as a picture: its axis is logarithmic, as its buckets are.
type bars struct {
	Width, Height float64
	Bars          []bar
	Marks         []mark
	Count         string
	P50, P99      string
}

// A mark stands below the bars.
type mark struct {
	X    float64
	Text string
}

// draw makes a picture of a histogram, four buckets to a bar: from one power of two to the next.
func (h *Histogram) draw(width, height float64) *bars {
	if h.Count == 0 {
		return nil
	}
	b := &bars{
		Width: width, Height: height, Count: count(h.Count), P50: span(h.Quantile(0.5)),
		P99: span(h.Quantile(0.99)),
	}
	first, last := 0, -1
	for i, n := range h.Buckets {
		if n > 0 {
			if last < 0 {
				first = i
			}
			last = i
		}
	}
	if last < 0 {
		return nil
	}
	from := floorDiv(h.First+first-1, 4) // bar k holds the buckets of (2^k, 2^(k+1)] seconds
	n := floorDiv(h.First+last-1, 4) - from + 1
	sums, most := make([]uint64, n), uint64(0)
	for i, c := range h.Buckets {
		if c > 0 {
			k := floorDiv(h.First+i-1, 4) - from
			sums[k] += c
			most = max(most, sums[k])
		}
	}
	const axis, widest = 18.0, 40.0
	w := min(width/float64(n), widest)
	for k, c := range sums {
		high := (height - axis) * float64(c) / float64(most)
		if c > 0 {
			high = max(high, 1)
		}
		b.Bars = append(b.Bars, bar{
			X: float64(k)*w + 1, W: max(w-2, 1), Y: height - axis - high, H: high,
			Text: fmt.Sprintf("%s to %s: %s", span(bound(4*(from+k))), span(bound(4*(from+k+1))), count(c)),
		})
	}
	const char, room = 7.3, 64.0 // of a mark
	b.Width = max(float64(n)*w, room)
	every := int(room/w) + 1
	for k := 0; k <= n; k += every {
		text := span(bound(4 * (from + k)))
		if x := float64(k) * w; k == 0 || x+room <= width {
			b.Marks = append(b.Marks, mark{x, text})
			b.Width = max(b.Width, x+math.Ceil(char*float64(utf8.RuneCountInString(text))))
		}
	}
	return b
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}
