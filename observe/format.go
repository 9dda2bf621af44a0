package observe

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The longest texts that pages show of what others have named, in characters.
const (
	maxName  = 64
	maxLabel = 48
	maxText  = 400
)

// clean returns a text that does nothing but show: without line breaks, without what a terminal
// obeys, without what turns the direction of writing, and of a bounded length.
func clean(s string, longest int) string {
	if most := utf8.UTFMax * (longest + 1); len(s) > most { // one more, which shows that there is more
		s = s[:most]
	}
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > longest {
			return b.String() + "…"
		}
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// span writes a duration with three digits: "850ns", "12.3µs", "48.2s", "2m03s", "3h12m", "2d03h".
func span(d time.Duration) string {
	const day = 24 * time.Hour
	three := func(unit time.Duration, name string) string {
		v := float64(d) / float64(unit)
		digits := 2
		switch {
		case v >= 99.95:
			digits = 0
		case v >= 9.995:
			digits = 1
		}
		return strconv.FormatFloat(v, 'f', digits, 64) + name
	}
	switch {
	case d <= 0:
		return "0s"
	case d < time.Microsecond:
		return fmt.Sprintf("%dns", d)
	case d < time.Millisecond:
		return three(time.Microsecond, "µs")
	case d < time.Second:
		return three(time.Millisecond, "ms")
	case d < time.Minute:
		return three(time.Second, "s")
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

// since returns the time from t to now; 0 if t is not known.
func since(now, t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return max(now.Sub(t), 0)
}

// count writes a number with three digits if it is large: "9999", "12.3k", "4.56M".
func count[N int | int64 | uint64](n N) string {
	if n < 10_000 {
		return strconv.FormatInt(int64(n), 10)
	}
	v, units := float64(n)/1000, "kMGTPE"
	for v >= 999.5 {
		v, units = v/1000, units[1:]
	}
	digits := 2
	switch {
	case v >= 99.95:
		digits = 0
	case v >= 9.995:
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + units[:1]
}

// plural writes a number of things, whose name takes an s if there are several.
func plural[N int | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return count(n) + " " + thing + "s"
}

// share writes a part of a whole in percent.
func share(part, whole uint64) string {
	switch {
	case whole == 0:
		return ""
	case part == 0:
		return "0%"
	case 100*part < whole:
		return "<1%"
	}
	return fmt.Sprintf("%d%%", 100*min(part, whole)/whole)
}

// String names who it is: "goroutine 18", or `task 7 "fetch"`.
func (a Agent) String() string {
	switch {
	case a.Task != 0 && a.Name != "":
		return fmt.Sprintf("task %d %q", a.Task, clean(a.Name, maxName))
	case a.Task != 0:
		return fmt.Sprintf("task %d", a.Task)
	case a.Goroutine != 0:
		return fmt.Sprintf("goroutine %d", a.Goroutine)
	}
	return "unknown"
}

// labels writes the labels of an agent by their names: "path=/pay user=7".
func (a Agent) labels() string {
	if len(a.Labels) == 0 {
		return ""
	}
	var all []string
	for name, value := range a.Labels {
		all = append(all, clean(name, maxLabel)+"="+clean(value, maxLabel))
	}
	slices.Sort(all)
	const most = 8
	if len(all) > most {
		all = append(all[:most], "…")
	}
	return strings.Join(all, " ")
}

// lockName names a lock on a page: by its name, or by its type if it has none.
func lockName(id uint64, name, kind string) string {
	return clean(cmp.Or(name, fmt.Sprintf("%s %d", cmp.Or(kind, "lock"), id)), maxName)
}
