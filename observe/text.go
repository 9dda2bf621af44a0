package observe

import (
	"bytes"
	"fmt"
	"path"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/farad-go/farad/internal/observed/text"
)

// textWidth is the width of the text, in characters.
const textWidth = 100

// String returns the page as plain text: what is wrong, then the locks, those with the most trouble
// first, then who holds them and who waits. Lines have at most 100 columns.
func (s *Snapshot) String() string { return newView(s).text("") }

// A printer writes lines of a bounded width.
type printer struct{ bytes.Buffer }

// line writes a line, which is cut where the page ends.
func (p *printer) line(format string, args ...any) {
	s := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	if utf8.RuneCountInString(s) > textWidth {
		s = string([]rune(s)[:textWidth-1]) + "…"
	}
	p.WriteString(s)
	p.WriteByte('\n')
}

// wrap writes a text that may be longer than a line. The first line is indented, and the others by
// another indent.
func (p *printer) wrap(first, indent, s string) {
	line := first
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == first:
			line += word
		case utf8.RuneCountInString(indent+line+" "+word) > textWidth:
			p.line("%s", line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	p.line("%s", line)
}

func (p *printer) gap() { p.WriteByte('\n') }

// more says how many there was no room for.
func (p *printer) more(indent string, n int, what string) {
	if n > 0 {
		p.line("%s… and %s", indent, plural(n, what))
	}
}

// text writes the page of all locks, or of those in the view, in an order.
func (v *view) text(sortBy string) string {
	var p printer
	p.line("%s, pid %d, %s", clean(v.Program, maxName), v.PID, v.At.UTC().Format("2006-01-02 15:04:05.000 UTC"))
	p.line("%s %s", v.verdict(), v.summary())
	v.textDeadlocks(&p)
	v.textLeaks(&p)
	v.textSuspicions(&p)
	locks, _ := v.sorted(sortBy)
	v.textTable(&p, locks)
	v.textDetails(&p, locks)
	v.textTasks(&p)
	for _, note := range []string{v.dropped(), v.leakedWaits()} {
		if note != "" {
			p.gap()
			p.wrap("", "", note)
		}
	}
	return p.String()
}

// hasLeakProfile reports whether the runtime has the profile: Go 1.26 has none.
var hasLeakProfile = func() bool { return pprof.Lookup("goroutineleak") != nil }

// leakedWaits says where to look for goroutines that will wait for ever though nobody holds what
// they wait for. It is empty if nobody waits for a lock that is observed so that they are found
// there.
func (v *view) leakedWaits() string {
	waited := func(l *lockView) bool { return l.Level == LevelHolders && l.Waiting > 0 }
	if !slices.ContainsFunc(v.Locks, waited) || !hasLeakProfile() {
		return ""
	}
	return "The profile goroutineleak has the goroutines that wait for a lock which nothing else refers to. " +
		"It misses those that wait for a sync.Mutex or a sync.RWMutex."
}

// verdict says in one sentence what is wrong.
func (v *view) verdict() string {
	var found []string
	if n := len(v.Deadlocks); n > 0 {
		found = append(found, plural(n, "deadlock"))
	}
	if n := v.leaked(); n > 0 {
		found = append(found, plural(n, "leak"))
	}
	if n := v.suspected(); n > 0 {
		found = append(found, plural(n, "suspicion"))
	}
	if len(found) == 0 {
		return "No deadlock, leak or suspicion."
	}
	return strings.Join(found, ", ") + "."
}

func (v *view) leaked() (n int) {
	for i := range v.Leaks {
		n += v.Leaks[i].Count
	}
	return n
}

func (v *view) suspected() (n int) {
	for i := range v.Suspicions {
		n += v.Suspicions[i].Count
	}
	return n
}

// summary says in one sentence how much there is.
func (v *view) summary() string {
	s := plural(len(v.Locks), "lock")
	if v.Waiting > 0 {
		s += ", " + plural(v.Waiting, "request") + " waiting"
	}
	if n := len(v.Tasks); n > 0 {
		s += ", " + plural(n, "task")
	}
	return s + "."
}

// dropped says what is missing, or nothing.
func (v *view) dropped() string {
	var missing []string
	for _, d := range []struct {
		n    uint64
		what string
	}{
		{v.Dropped.Locks, "lock"},
		{v.Dropped.Holders, "holder"},
		{v.Dropped.Waiters, "waiter"},
		{v.Dropped.Tasks, "task"},
		{v.Dropped.Reports, "report"},
	} {
		if d.n > 0 {
			missing = append(missing, plural(d.n, d.what))
		}
	}
	if missing == nil {
		return ""
	}
	return "There was no room for " + strings.Join(missing, ", ") + "."
}

// textStack writes the calls of a stack, the innermost first.
func (p *printer) textStack(indent string, s Stack) { p.textCalls(indent, s, maxCalls) }

// textCalls writes so many calls of a stack.
func (p *printer) textCalls(indent string, s Stack, most int) {
	calls := s.essential()
	if len(calls) == 0 {
		p.line("%s(no stack)", indent)
	}
	for _, f := range calls[:min(len(calls), most)] {
		p.call(indent, f)
	}
	p.more(indent, len(calls)-most, "call")
}

// call writes one call; of a long path the end is kept, which has the file and the line.
func (p *printer) call(indent string, f runtime.Frame) {
	name := clean(text.Function(f), textWidth/2)
	file := fmt.Sprintf("%s:%d", clean(f.File, 2*textWidth), f.Line)
	if room := textWidth - utf8.RuneCountInString(indent+name) - 2; utf8.RuneCountInString(file) > room {
		file = fmt.Sprintf("%s:%d", fileName(f), f.Line)
	}
	p.line("%s%s  %s", indent, name, file)
}

// fileName returns a file with the folder that it is in.
func fileName(f runtime.Frame) string {
	dir, file := path.Split(f.File)
	return clean(path.Join(path.Base(dir), file), maxName)
}

func (v *view) textDeadlocks(p *printer) {
	for _, d := range v.Deadlocks[:min(len(v.Deadlocks), maxReports)] {
		p.gap()
		p.line("DEADLOCK, found %s ago: nothing can end %s", span(d.Age), plural(len(d.Waits), "wait"))
		for _, b := range d.Waits[:min(len(d.Waits), maxWaits)] {
			p.line("  %s has waited %s for %q, at", b.Waiter.Agent, span(since(v.At, b.Waiter.Since)),
				withKey(v.name(b.LockID, b.Lock, b.Kind), b.Waiter.Key))
			p.textStack("      ", b.Waiter.Stack)
			for _, h := range b.Holders[:min(len(b.Holders), maxShown)] {
				p.line("    which %s has held for %s, since", h.Agent, span(since(v.At, h.Since)))
				p.textStack("      ", h.Stack)
			}
			p.more("    ", len(b.Holders)-maxShown, "holder")
		}
		p.more("  ", len(d.Waits)-maxWaits, "wait")
		for _, s := range d.Suspicions[:min(len(d.Suspicions), maxReports)] {
			p.suspicion("  ", "suspected, and part of it: ", s)
		}
		p.more("  ", len(d.Suspicions)-maxReports, "suspicion")
	}
	p.more("", len(v.Deadlocks)-maxReports, "deadlock")
	if v.Over > 0 {
		p.gap()
		p.line("%s ended.", haveBeen(v.Over, "earlier deadlock"))
	}
}

func haveBeen[N int | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing + " has"
	}
	return plural(n, thing) + " have"
}

func (v *view) textLeaks(p *printer) {
	for _, l := range v.Leaks[:min(len(v.Leaks), maxReports)] {
		p.gap()
		p.wrap("", "  ", "LEAK: "+l.sentence())
		p.line("  acquired by %s", l.by())
		p.textStack("    ", l.Stack)
	}
	p.more("", len(v.Leaks)-maxReports, "leak")
}

// sentence says what has leaked, and when.
func (l leakView) sentence() string {
	what, were, when := plural(l.Count, clean(l.Kind,
		maxLabel))+" of "+strconv.Quote(l.Name), "they were", span(l.LastAge)
	if l.Kind == "lock" {
		what = strconv.Quote(l.Name)
	}
	if l.Count == 1 {
		were = "it was"
	} else {
		when = span(l.FirstAge) + " to " + when
	}
	s := fmt.Sprintf("%s, collected %s ago while %s held", what, when, were)
	switch {
	case l.All > 0 && l.Kind != "lock":
		return s + fmt.Sprintf(": %s lost.", plural(l.All, "permit"))
	case l.Returned:
		return s + ", and given back."
	}
	return s + "."
}

// by returns the agent that has acquired what has leaked; the last one, if there were several.
func (l leakView) by() string {
	s := l.Agent.String()
	if age := l.At.Sub(l.Since); !l.Since.IsZero() && age > 0 {
		s += fmt.Sprintf(", %s before", span(age))
	}
	if l.Count > 1 {
		s += " (the last one)"
	}
	if labels := l.Agent.labels(); labels != "" {
		s += ", " + labels
	}
	return s
}

func (v *view) textSuspicions(p *printer) {
	for _, s := range v.Suspicions[:min(len(v.Suspicions), maxReports)] {
		p.gap()
		p.suspicion("", "SUSPICION: ", s)
	}
	p.more("", len(v.Suspicions)-maxReports, "suspicion")
}

// suspicion writes one, under a title.
func (p *printer) suspicion(indent, title string, s suspicionView) {
	const brief = 4 // calls: there may be many suspicions, and the locks come below them
	p.wrap(indent, indent+"  ", fmt.Sprintf("%s%s, %s: %s", title, s.what(), s.when(), s.line()))
	indent += "    "
	for i, stack := range s.Stacks[:min(len(s.Stacks), maxShown)] {
		if i > 0 {
			p.line("%s--", indent)
		}
		if who := s.alike(i); who != "" {
			p.line("%s%s:", indent, who)
		}
		p.textCalls(indent, stack, brief)
	}
}

// what says the kind of a suspicion, and its lock.
func (s suspicionView) what() string {
	text := clean(string(s.Why), maxLabel)
	if s.Name != "" {
		return text + " of " + strconv.Quote(s.Name)
	}
	return text
}

// alike says how many are at one of the stacks, if that is more than one.
func (s suspicionView) alike(i int) string {
	switch {
	case i >= len(s.Alike) || s.Alike[i] < 2:
		return ""
	case s.Why == LongHold:
		return plural(s.Alike[i], "hold") + " from here"
	default:
		return count(s.Alike[i]) + " wait here"
	}
}

// line is the text of a suspicion, which need not say its kind again.
func (s suspicionView) line() string {
	return clean(strings.TrimPrefix(s.Text, string(s.Why)+": "), maxText)
}

// when says how often and when a suspicion came up.
func (s suspicionView) when() string {
	if s.Count > 1 {
		return fmt.Sprintf("%d times, last %s ago", s.Count, span(s.Age))
	}
	return span(s.Age) + " ago"
}

const textRow = "%-10s %-24s %11s %8s %8s %8s %7s %8s %8s"

func (v *view) textTable(p *printer, locks []*lockView) {
	p.gap()
	if len(locks) == 0 {
		p.line("No lock is observed: observe.Watch(&mu, \"name\", observe.LevelHolders)")
		return
	}
	p.line(textRow, "STATE", "LOCK", "HELD", "WAITING", "LONGEST", "ACQUIRED", "WAITED", "WAIT P99", "HOLD P99")
	for _, l := range locks[:min(len(locks), maxLocks)] {
		p.line(textRow, l.State, cut(l.Title, 24), l.HeldOf(), blank(l.Waiting), l.LongestText(),
			count(l.Counts.Acquired),
			share(l.Counts.Contended, l.Counts.Acquired), quantile(&l.Wait), quantile(&l.Hold))
	}
	p.more("", len(locks)-maxLocks, "lock")
}

// cut shortens a text to n characters: of a place, the end is what matters least.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

func blank(n int) string {
	if n == 0 {
		return ""
	}
	return count(n)
}

// HeldOf says how many permits are held, and of how many if that is a number to remember.
func (l *lockView) HeldOf() string {
	switch {
	case l.Size == 0 && l.Held == 0: // a cond or a wait group
		return ""
	case !l.limits() || l.Held > l.Size: // a keyed lock has its permits for each key
		return count(l.Held)
	}
	return count(l.Held) + "/" + count(l.Size)
}

// LongestText is the longest wait now, if it is known.
func (l *lockView) LongestText() string {
	if l.Longest == 0 {
		return ""
	}
	return span(l.Longest)
}

func quantile(h *Histogram) string {
	if h.Count == 0 {
		return ""
	}
	return span(h.Quantile(0.99))
}

// textDetails writes who holds and who waits; of all locks only for those in trouble.
func (v *view) textDetails(p *printer, locks []*lockView) {
	shown := 0
	for _, l := range locks {
		if len(l.Holders) == 0 && len(l.Waiters) == 0 && l.Fleet == nil && len(v.Locks) > 1 {
			continue
		}
		if shown++; shown > maxDetails {
			continue
		}
		p.gap()
		p.line("%q, %s, lock %d: %s", l.Title, clean(l.Kind, maxLabel), l.ID, l.numbers())
		if len(v.Locks) == 1 {
			p.line("  %s", l.Outcomes())
		}
		groups, more := l.holders()
		for _, g := range groups {
			p.textGroup("  held by", g)
		}
		p.more("  ", more, "holder")
		if l.Unknown > 0 {
			p.line("  held by unknown: %s, taken before the lock was observed", plural(l.Unknown, "permit"))
		}
		groups, more = l.waiters()
		for _, g := range groups {
			p.textGroup("  waited for by", g)
		}
		p.more("  ", more, "waiter")
		l.textFleet(p)
	}
	if shown > maxDetails {
		p.gap()
		p.line("… and the holders and waiters of %s: ?format=text&lock=ID", plural(shown-maxDetails, "lock"))
	}
}

// numbers says how a lock is now.
func (l *lockView) numbers() string {
	s := fmt.Sprintf("%s held", l.HeldOf())
	if l.Free > 0 && l.limits() && l.Fleet == nil {
		s += fmt.Sprintf(", %s free", count(l.Free))
	}
	return s + fmt.Sprintf(", %s waiting, at most %s", count(l.Waiting), count(l.Peak))
}

// Outcomes says how the requests have ended so far.
func (l *lockView) Outcomes() string {
	c := &l.Counts
	all := []string{count(c.Acquired) + " acquired", count(c.Contended) + " contended"}
	for _, o := range []struct {
		n    uint64
		what string
	}{
		{c.Tried, "tried in vain"},
		{c.TooLarge, "too large"},
		{c.QueueFull, "met a full queue"},
		{c.Cancelled, "cancelled"},
		{c.TimedOut, "timed out"},
		{c.Closed, "closed"},
		{c.Shed, "shed"},
		{c.Expiring, "too late before they began"},
	} {
		if o.n > 0 {
			all = append(all, count(o.n)+" "+o.what)
		}
	}
	return strings.Join(all, ", ")
}

func (p *printer) textGroup(what string, g *group) {
	p.line("%s %s", what, g.sentence())
	p.textStack("      ", g.Stack)
	const most = 3 // the page in a browser has more
	for _, m := range g.Agents[:min(len(g.Agents), most)] {
		notes := strings.TrimSpace(m.Agent.labels() + " " + m.Notes)
		if g.Count > 1 {
			p.line("    %-24s %7s  %s", cut(m.Agent.String(), 24), span(m.Age), notes)
		} else if notes != "" {
			p.line("    %s", notes)
		}
	}
	p.more("    ", g.Count-most, "other")
}

// sentence says who a group is, and how long they have held or waited.
func (g *group) sentence() string {
	var s string
	if g.Count == 1 {
		s = fmt.Sprintf("%s for %s", g.Agents[0].Agent, span(g.Oldest))
	} else {
		s = fmt.Sprintf("%s goroutines for up to %s", count(g.Count), span(g.Oldest))
	}
	if g.Permits > int64(g.Count) {
		s += ", " + plural(g.Permits, "permit")
	}
	return s + g.notes()
}

// notes returns what else there is to know of a group.
func (g *group) notes() (s string) {
	if g.Shared {
		s += ", shared"
	}
	if g.CanEnd {
		s += ", may give up"
	}
	if g.Granted > 0 {
		s += fmt.Sprintf(", %d granted and not yet asked for", g.Granted)
	}
	if g.Approximate > 0 {
		s += fmt.Sprintf(", %d approximate", g.Approximate)
	}
	if g.Blame > time.Millisecond {
		s += fmt.Sprintf(", others have waited %s for it", span(g.Blame))
	}
	return s
}

// textTasks writes the tasks and the last panics.
func (v *view) textTasks(p *printer) {
	if len(v.Tasks) > 0 {
		const row = "%-7s %-20s %-9s %8s %8s %9s %8s %8s  %s"
		p.gap()
		p.line(row, "TASK", "NAME", "STATE", "SINCE", "AGE", "POLLS", "BUSY", "IDLE", "WAITS FOR")
		for _, t := range v.Tasks[:min(len(v.Tasks), maxTasks)] {
			p.line(row, fmt.Sprint(t.ID), cut(clean(t.Name, maxName), 20), cut(clean(t.State, maxName), 9),
				span(since(v.At, t.Since)), span(t.Age),
				count(t.Polls), span(t.Busy), span(t.Idle), clean(t.WaitsFor, maxName))
		}
		p.more("", len(v.Tasks)-maxTasks, "task")
	}
	for _, x := range v.Panics[max(len(v.Panics)-maxReports, 0):] {
		p.gap()
		ago := span(since(v.At, x.At))
		task, value := clean(x.Task, maxName), clean(x.Value, maxText)
		p.wrap("", "  ", fmt.Sprintf("PANIC of task %q, %s ago: %s", task, ago, value))
		for i, l := range strings.Split(strings.TrimSpace(x.Stack), "\n") {
			if i == 2*maxCalls {
				break
			}
			p.line("    %s", clean(l, 2*textWidth))
		}
	}
}
