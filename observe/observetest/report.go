package observetest

import (
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/farad-go/farad/internal/observed/text"
	"github.com/farad-go/farad/observe"
)

// A report is one fault.
type report struct {
	id     string // the places in the code: two reports of one fault have the same
	key    string // what suppresses it: the kind, and the functions
	text   string
	stacks [][]runtime.Frame
}

// functions returns the functions that r is about.
func (r report) functions() string {
	_, names, _ := strings.Cut(r.key, " ")
	return names
}

// of reports whether the function of a test is in a stack of r, or a function inside of it.
func (r report) of(c *check) bool {
	return slices.ContainsFunc(r.stacks, func(s []runtime.Frame) bool {
		return slices.ContainsFunc(s, func(f runtime.Frame) bool {
			_, name, _ := strings.Cut(text.Function(f), ".")
			rest, ok := strings.CutPrefix(name, c.name)
			return ok && (rest == "" || rest[0] == '.')
		})
	})
}

// A part of a report is a sentence, and the stack that it is about.
type part struct {
	text  string
	stack observe.Stack
}

// newReport returns a report. The stacks at which the locks are wanted come first in the sentence
// and give the key; id names all.
func newReport(kind, title string, wanted []observe.Stack, parts []part) report {
	var places, names []string
	for _, s := range wanted {
		f := top(s)
		places, names = append(places, place(f)), append(names, text.Function(f))
	}
	first := places[0]
	slices.Sort(names)
	r := report{key: kind + " " + strings.Join(slices.Compact(names), " ")}
	var all []string
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", first, title)
	for _, p := range parts {
		frames := users(p.stack)
		r.stacks = append(r.stacks, frames)
		all = append(all, place(top(p.stack)))
		fmt.Fprintf(&b, "    %s\n", p.text)
		for _, f := range frames {
			fmt.Fprintf(&b, "        %s  %s:%d\n", text.Function(f), f.File, f.Line)
		}
	}
	fmt.Fprintf(&b, "    If this is right, say why in %s, after a tab:\n        %s\n", reasonsName, r.key)
	slices.Sort(all)
	r.id = kind + " " + strings.Join(slices.Compact(all), " ")
	r.text = b.String()
	return r
}

// inverted is the report of two locks that were taken in both orders.
func inverted(s *observe.Suspicion) report {
	held, wanted, held2, wanted2 := s.Stacks[0], s.Stacks[1], s.Stacks[2], s.Stacks[3]
	title := "lock order inversion: here and at " + place(top(wanted2)) +
		" each may wait for what the other holds"
	return newReport("inversion", title, []observe.Stack{wanted, wanted2}, []part{
		{"one goroutine locks", wanted},
		{"and holds what it has locked before", held},
		{"another locks that", wanted2},
		{"and holds the first", held2},
	})
}

func deadlocked(d *observe.Deadlock) report {
	var parts []part
	var wanted []observe.Stack
	for i := range d.Waits {
		w := &d.Waits[i]
		wanted = append(wanted, w.Waiter.Stack)
		parts = append(parts, part{w.Waiter.Agent.String() + " waits for a " + w.Kind, w.Waiter.Stack})
		for _, h := range w.Holders {
			parts = append(parts, part{"which " + h.Agent.String() + " has held since", h.Stack})
		}
	}
	waits := fmt.Sprintf("%d waits", len(d.Waits))
	if len(d.Waits) == 1 {
		waits = "a wait"
	}
	return newReport("deadlock", "deadlock: nothing can end "+waits, wanted, parts)
}

// suspected is the text about what may be a deadlock, at the end of all time.
func suspected(s *observe.Suspicion) string {
	var parts []part
	for i, stack := range s.Stacks {
		parts = append(parts, part{[...]string{"a goroutine waits", "for what was acquired"}[i%2], stack})
	}
	text := newReport("", "possible deadlock, when the time is up", s.Stacks[:1], parts).text
	return text[:strings.LastIndex(text, "    If this")]
}

// leaked returns the leaks that are faults. Of a semaphore that was collected with all of it held
// somebody has waited for all others.
func leaked(leaks []observe.Leak) (all []report) {
	of := map[uint64]int64{}
	for i := range leaks {
		of[leaks[i].LockID] += leaks[i].Permits
	}
	for i := range leaks {
		l := &leaks[i]
		if l.Kind == "lock" && l.Size > 0 && of[l.LockID] >= l.Size && !l.Owned {
			continue
		}
		title := "leak: a " + l.Kind + " was collected that is held"
		all = append(all, newReport("leak", title, []observe.Stack{l.Stack},
			[]part{{l.Agent.String() + " has acquired it", l.Stack}}))
	}
	return all
}

// stillHeld returns the holds of a snapshot that goroutines have left behind that have ended, or
// that end now, as me does. As for a deadlock, it must be certain that they are not another's now.
func stillHeld(s *observe.Snapshot, me uint64) (all []report) {
	var alive map[uint64]bool
	for i := range s.Locks {
		l := &s.Locks[i]
		for k := range l.Holders {
			h := &l.Holders[k]
			if h.Agent.Task != 0 || h.Agent.Goroutine == 0 || l.Fleet != nil || !certain(l, h) {
				continue
			}
			if alive == nil {
				alive = goroutines()
			}
			if alive[h.Agent.Goroutine] && h.Agent.Goroutine != me {
				continue
			}
			all = append(all, newReport("held", "still held at the end", []observe.Stack{h.Stack},
				[]part{{h.Agent.String() + " has acquired a " + l.Kind + ", and ended", h.Stack}}))
		}
	}
	return all
}

// certain reports whether nobody but its agent may release h, as far as use has shown.
func certain(l *observe.Lock, h *observe.Holder) bool {
	if h.Approximate || l.Counts.Handed > 0 {
		return false
	}
	if l.Owned {
		return true
	}
	i := slices.IndexFunc(l.Sites, func(s observe.Site) bool { return slices.Equal(s.Stack, h.Stack) })
	return l.Held < l.Size && i >= 0 && l.Sites[i].Holds > 0 && l.Sites[i].Handed == 0
}

// goroutines returns the numbers of all goroutines.
func goroutines() map[uint64]bool {
	text := make([]byte, 1<<16)
	for n := len(text); n == len(text); {
		text = make([]byte, 2*len(text))
		n = runtime.Stack(text, true)
	}
	ids := map[uint64]bool{}
	for line := range strings.Lines(string(text)) {
		var id uint64
		if n, _ := fmt.Sscanf(line, "goroutine %d [", &id); n == 1 {
			ids[id] = true
		}
	}
	return ids
}

// users returns the frames of a stack down to the test that has called them.
func users(s observe.Stack) []runtime.Frame {
	all := s.Frames()
	end := slices.IndexFunc(all, func(f runtime.Frame) bool { return strings.HasPrefix(f.Function, "testing.") })
	if end > 0 {
		all = all[:end]
	}
	return all
}

func top(s observe.Stack) runtime.Frame {
	if all := s.Frames(); len(all) > 0 {
		return all[0]
	}
	return runtime.Frame{Function: "unknown", File: "unknown"}
}

func place(f runtime.Frame) string {
	return fmt.Sprintf("%s:%d", path.Base(filepath.ToSlash(f.File)), f.Line)
}
