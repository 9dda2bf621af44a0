package observe

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"hash/fnv"
	"html/template"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/farad-go/farad/internal/observed/text"
)

// The page: what page.tmpl shows of a view. It is put together here, so that the template has no
// decisions to make; everything that others have named is escaped by the template.

var (
	//go:embed page.tmpl
	pageSource string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"blank":    blank,
	"calls":    newCallsView,
	"clean":    func(s string) string { return clean(s, maxName) },
	"clock":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"count":    func(n uint64) string { return count(n) },
	"haveBeen": func(n int, what string) string { return haveBeen(n, what) },
	"labels":   func(a Agent) string { return a.labels() },
	"name":     func(f runtime.Frame) string { return clean(text.Function(f), maxText) },
	"p99":      func(h Histogram) string { return quantile(&h) },
	"path":     func(f runtime.Frame) string { return fmt.Sprintf("%s:%d", clean(f.File, maxText), f.Line) },
	"place":    func(f runtime.Frame) string { return fmt.Sprintf("%s:%d", fileName(f), f.Line) },
	"plural":   func(n int64, what string) string { return plural(n, what) },
	"px":       func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) },
	"share":    share,
	"span":     span,
	"text":     func(s string) string { return clean(s, maxText) },
	"taskName": func(t Task) string { return Agent{Task: t.ID, Name: t.Name}.String() },
	"ago":      func(t time.Time, p *page) string { return span(since(p.At, t)) },
}).Parse(pageSource))

// A page is what the template shows.
type page struct {
	*view
	Style   template.CSS
	Script  template.JS
	Formats []link
	Mood    string // "bad", "warn" or empty
	Verdict string
	Summary string
	Missing string

	LeakedWaits string // where they are found

	Deadlocks      []deadlockRow
	MoreDeadlocks  int
	LeakRows       []leakRow
	MoreLeaks      int
	SuspicionRows  []suspicionRow
	MoreSuspicions int
	Columns        []heading
	Rows           []lockRow
	MoreLocks      int
	Window         string // how far the sparklines go back
	Picture        *picture
	TaskRows       []Task
	MoreTasks      int
	PanicRows      []panicRow

	lockPage // zero on the page of all locks
}

// A lockPage is what the page of one lock has besides.
type lockPage struct {
	Lock                     *lockView
	About                    string
	Numbers                  []number
	LoadChart, RateChart     chart
	WaitBars, HoldBars       *bars
	HolderRows, WaiterRows   []groupRow
	MoreHolders, MoreWaiters int
	NoHolders                string // why there are none
	Fleet                    string // empty: the lock is this process's
	BlockRows                []blockView
	MoreBlocks               int
}

type (
	link    struct{ Name, Link string }
	number  struct{ Name, Value string }
	heading struct{ Text, Hint, Link, Class, Sort string }
)

// A lockRow is a lock in the table.
type lockRow struct {
	*lockView
	Spark chart
}

// A personRow is one who holds or waits.
type personRow struct {
	ID     string
	Agent  string
	Labels string
	Age    time.Duration
	Stack  Stack
}

// A deadlockRow is a deadlock with its picture.
type deadlockRow struct {
	deadlockView
	ID, Title string
	Picture   *picture
	Narrow    *picture // for a phone
	Rows      []blockedRow
	More      int
	Suspected []suspicionRow
}

// A blockedRow is one wait of a deadlock.
type blockedRow struct {
	personRow
	LockID  uint64
	Lock    string
	Holders []personRow
	More    int
}

type leakRow struct {
	leakView
	ID, Sentence, By string
}

type suspicionRow struct {
	suspicionView
	ID, What, When, Line string
	First                Stack
	Shown                []shownStack
}

// A shownStack is one of a suspicion, and says who is there if there are several.
type shownStack struct {
	Alike string
	Stack Stack
}

// A groupRow is the holders or waiters with one stack.
type groupRow struct {
	*group
	ID, Who, Sentence string
	Others            int
}

type panicRow struct {
	ID, Task, Value, Stack string
	Age                    time.Duration
}

// A callsView is a stack, cut.
type callsView struct {
	Calls []runtime.Frame
	More  int
}

func newCallsView(s Stack) *callsView {
	calls := s.essential()
	if len(calls) == 0 {
		return nil
	}
	n := min(len(calls), maxCalls)
	return &callsView{calls[:n], len(calls) - n}
}

// Class names the box for the style.
func (b box) Class() string {
	class := "agent"
	if b.Lock != nil {
		class = "lock"
	}
	if b.Deadlock {
		class += " dead"
	}
	return class
}

// TitleY is the base line of the title.
func (b box) TitleY() float64 {
	if b.ShortSub == "" {
		return b.CY() + 4
	}
	return b.CY() - 3
}

// SubY is the base line of the text below the title.
func (b box) SubY() float64 { return b.CY() + 14 }

// Class names the arrow for the style.
func (a arrow) Class() string {
	switch {
	case a.Deadlock:
		return "dead"
	case a.CanEnd:
		return "may-end"
	}
	return "arrow"
}

// upper begins a text with a capital.
func upper(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// rowID returns a name for a part of the page, which stays the same while its part is the same.
func rowID(prefix string, parts ...any) string {
	h := fnv.New64a()
	for _, x := range parts {
		if s, ok := x.(Stack); ok {
			x = stackKey(s)
		}
		fmt.Fprintf(h, "%v\x00", x)
	}
	return prefix + strconv.FormatUint(h.Sum64(), 36)
}

// newPage makes the page of all locks, in an order, or of the one lock of the view.
func newPage(v *view, lock *lockView, sortBy string, past *history) *page {
	p := &page{
		view: v, Style: template.CSS(pageStyle), Script: template.JS(pageScript), // both are our own
		Verdict: v.verdict(), Summary: v.summary(), Missing: v.dropped(), LeakedWaits: v.leakedWaits(),
		PanicRows: v.panicRows(),
	}
	switch {
	case len(v.Deadlocks) > 0 || len(v.Leaks) > 0:
		p.Mood = "bad"
	case len(v.Suspicions) > 0:
		p.Mood = "warn"
	}
	p.addReports()
	query := url.Values{}
	if lock != nil {
		query.Set("lock", strconv.FormatUint(lock.ID, 10))
	}
	names := []link{{"text", "text"}, {"JSON", "json"}, {"DOT", "dot"}}
	for _, f := range names {
		query.Set("format", f.Link)
		p.Formats = append(p.Formats, link{f.Name, "?" + query.Encode()})
	}
	if lock != nil {
		p.lockPage = newLockPage(lock, past)
		p.addGraph()
		return p
	}
	for _, name := range []string{"farad_held", "farad_wait"} {
		p.Formats = append(p.Formats, link{name, "?profile=" + name})
	}
	p.addLocks(sortBy, past)
	p.TaskRows = v.Tasks[:min(len(v.Tasks), maxTasks)]
	p.MoreTasks = len(v.Tasks) - len(p.TaskRows)
	p.addGraph()
	return p
}

// addGraph draws who waits for whom, unless that is what the deadlocks show.
func (p *page) addGraph() {
	g := p.newWaitGraph(maxDrawn)
	if slices.ContainsFunc(g.vertices, func(v vertex) bool { return !v.Deadlock }) {
		p.Picture = g.draw(false)
	}
}

func (p *page) addLocks(sortBy string, past *history) {
	locks, sortBy := p.sorted(sortBy)
	p.MoreLocks = max(len(locks)-maxLocks, 0)
	var window time.Duration
	for _, l := range locks[:len(locks)-p.MoreLocks] {
		samples := past.of(l.ID)
		if n := len(samples); n > 0 {
			window = max(window, samples[n-1].at.Sub(samples[0].at))
		}
		p.Rows = append(p.Rows, lockRow{l, sparkline(samples, l.Size, 90, 24)})
	}
	p.Window = span(max(window.Round(time.Second), historyStep))
	head := func(key, class string) {
		o := orders[slices.IndexFunc(orders, func(o order) bool { return o.Key == key })]
		c := heading{Text: o.Text, Hint: "sort: " + o.Hint, Link: "?sort=" + key + "#locks", Class: class}
		if key == sortBy {
			c.Sort = "descending"
			if key == "name" {
				c.Sort = "ascending"
			}
		}
		p.Columns = append(p.Columns, c)
	}
	head("name", "")
	head("trouble", "")
	head("held", "n on-wide")
	head("waiting", "n")
	head("longest", "n on-wide")
	p.Columns = append(p.Columns, heading{Text: "Load"})
	head("acquired", "n on-wide")
	head("contended", "n at-desk")
	head("wait", "n at-desk")
	head("hold", "n at-desk")
}

func (p *page) addReports() {
	v := p.view
	for _, d := range v.Deadlocks[:min(len(v.Deadlocks), maxReports)] {
		p.Deadlocks = append(p.Deadlocks, v.deadlockRow(d))
	}
	p.MoreDeadlocks = len(v.Deadlocks) - len(p.Deadlocks)
	for _, l := range v.Leaks[:min(len(v.Leaks), maxReports)] {
		p.LeakRows = append(p.LeakRows, leakRow{l, rowID("leak-", l.LockID, l.Kind, l.Stack), l.sentence(), l.by()})
	}
	p.MoreLeaks = len(v.Leaks) - len(p.LeakRows)
	p.SuspicionRows = suspicionRows(v.Suspicions)
	p.MoreSuspicions = len(v.Suspicions) - len(p.SuspicionRows)
}

// suspicionRows makes rows of suspicions, as many as a page shows.
func suspicionRows(all []suspicionView) (rows []suspicionRow) {
	for _, s := range all[:min(len(all), maxReports)] {
		r := suspicionRow{
			suspicionView: s, What: upper(s.what()), When: s.when(), Line: s.line(),
		}
		for i, stack := range s.Stacks[:min(len(s.Stacks), maxShown)] {
			r.Shown = append(r.Shown, shownStack{s.alike(i), stack})
		}
		if len(s.Stacks) > 0 {
			r.First = s.Stacks[0]
		}
		r.ID = rowID("suspicion-", s.LockID, s.inner, s.Why, r.First)
		rows = append(rows, r)
	}
	return rows
}

// deadlockRow makes a row of a deadlock, with a picture of nothing else.
func (v *view) deadlockRow(d deadlockView) deadlockRow {
	r := deadlockRow{
		deadlockView: d, Title: "Nothing can end " + plural(len(d.Waits), "wait"),
		Suspected: suspicionRows(d.Suspicions),
	}
	if len(d.Waits) > 1 {
		r.Title = fmt.Sprintf("Nothing can end these %d waits", len(d.Waits))
	}
	var units []*unit
	for i, b := range d.Waits {
		if i == 0 {
			r.ID = fmt.Sprintf("deadlock-%d", b.Waiter.ID)
		}
		at := slices.IndexFunc(units, func(u *unit) bool { return u.ID == b.LockID && u.Key == b.Waiter.Key })
		if at < 0 {
			at = len(units)
			units = append(units, &unit{lockView: v.blockedLock(b), Key: b.Waiter.Key})
		}
		u := units[at]
		u.Waiters = append(u.Waiters, b.Waiter)
		for _, h := range b.Holders {
			if !slices.ContainsFunc(u.Holders, func(x Holder) bool { return x.ID == h.ID }) {
				u.Holders = append(u.Holders, h)
			}
		}
		if i < maxWaits {
			r.Rows = append(r.Rows, v.blockedRow(b))
		}
	}
	r.More = len(d.Waits) - len(r.Rows)
	if g := v.graphOf(units); len(g.vertices) <= maxDrawn {
		r.Picture, r.Narrow = g.draw(false), g.draw(true)
	}
	return r
}

// blockedLock returns the lock of a wait, which may be gone.
func (v *view) blockedLock(b Blocked) *lockView {
	l := &Lock{ID: b.LockID, Kind: b.Kind, Size: 1}
	if known := v.byID[b.LockID]; known != nil {
		l.Size, l.Held = known.Size, known.Held
	}
	return &lockView{Lock: l, Title: v.name(b.LockID, b.Lock, b.Kind), State: stateDeadlock}
}

func (v *view) blockedRow(b Blocked) blockedRow {
	r := blockedRow{
		personRow: personRow{
			fmt.Sprintf("wait-%d", b.Waiter.ID), b.Waiter.Agent.String(), b.Waiter.Agent.labels(), since(v.At,
				b.Waiter.Since), b.Waiter.Stack,
		},
		LockID: b.LockID, Lock: withKey(v.name(b.LockID, b.Lock, b.Kind), b.Waiter.Key),
	}
	for _, h := range b.Holders[:min(len(b.Holders), maxShown)] {
		r.Holders = append(r.Holders, personRow{
			fmt.Sprintf("hold-%d", h.ID), h.Agent.String(),
			h.Agent.labels(), since(v.At, h.Since), h.Stack,
		})
	}
	r.More = len(b.Holders) - len(r.Holders)
	return r
}

func (v *view) panicRows() (rows []panicRow) {
	for _, x := range slices.Backward(v.Panics) {
		if len(rows) == maxReports {
			break
		}
		r := panicRow{
			ID: rowID("panic-", x.At.UnixNano(), x.Task), Task: cmp.Or(clean(x.Task, maxName), "a task"),
			Value: clean(x.Value, maxText), Age: since(v.At, x.At),
		}
		var stack strings.Builder
		for i, l := range strings.Split(strings.TrimSpace(x.Stack), "\n") {
			if i == 2*maxCalls {
				break
			}
			fmt.Fprintln(&stack, clean(strings.ReplaceAll(l, "\t", "    "), 2*textWidth))
		}
		r.Stack = stack.String()
		rows = append(rows, r)
	}
	return rows
}

func newLockPage(l *lockView, past *history) lockPage {
	const width, height = 360, 72
	p := lockPage{Lock: l, WaitBars: l.Wait.draw(width, height+18), HoldBars: l.Hold.draw(width, height+18)}
	p.About = fmt.Sprintf("%s. %s, lock %d, observed at level %s for %s. %s.", upper(l.State.meaning()),
		clean(l.Kind, maxName), l.ID, l.Level, span(since(l.Now, l.Since)), l.Outcomes())
	p.Numbers = []number{{"state", l.State.String()}, {"held", l.HeldOf()}, {"waiting", count(l.Waiting)}}
	if l.Longest > 0 {
		p.Numbers = append(p.Numbers, number{"longest wait", span(l.Longest)})
	}
	p.Numbers = append(p.Numbers, number{"most waiting", count(l.Peak)})
	if w := share(l.Counts.Contended, l.Counts.Acquired); w != "" {
		p.Numbers = append(p.Numbers, number{"had to wait", w})
	}
	samples := past.of(l.ID)
	p.LoadChart = sparkline(samples, l.Size, width, height)
	var most float64
	p.RateChart, most = rates(samples, width, height)
	p.RateChart.Text = fmt.Sprintf("at most %s", count(int64(most)))
	groups, more := l.holders()
	p.HolderRows, p.MoreHolders = groupRows("holders-", l.ID, groups), more
	groups, more = l.waiters()
	p.WaiterRows, p.MoreWaiters = groupRows("waiters-", l.ID, groups), more
	if l.Fleet != nil {
		p.Fleet = upper(l.fleetSentence()) + "."
		p.BlockRows, p.MoreBlocks = l.fleetView()
	}
	if l.Level < LevelHolders && (l.Held > 0 || l.Waiting > 0) {
		p.NoHolders = "Who holds and who waits is known after observe.Watch(lock, name, observe.LevelHolders)."
	}
	return p
}

func groupRows(prefix string, lock uint64, groups []*group) (rows []groupRow) {
	for _, g := range groups {
		r := groupRow{group: g, ID: rowID(prefix, lock, g.Stack), Others: g.Count - len(g.Agents)}
		r.Who, r.Sentence, _ = strings.Cut(g.sentence(), " for ")
		r.Sentence = "for " + r.Sentence
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b groupRow) int { return cmp.Compare(b.Oldest, a.Oldest) })
	return rows
}

// write fills the template, or only the part of it that changes.
func (p *page) write(part string) ([]byte, error) {
	var b bytes.Buffer
	err := pageTemplate.ExecuteTemplate(&b, part, p)
	return b.Bytes(), err
}
