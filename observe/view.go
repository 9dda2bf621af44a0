package observe

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The most that a page shows, whatever a snapshot holds. The rest is counted.
const (
	maxLocks   = 200 // rows of the table
	maxDetails = 8   // locks whose holders and waiters stand below the table of the text
	maxGroups  = 40  // different stacks of one lock
	maxAgents  = 12  // goroutines of one stack
	maxCalls   = 24  // of a stack
	maxTasks   = 200
	maxReports = 20 // deadlocks, and different leaks and suspicions
	maxWaits   = 12 // of one deadlock
	maxShown   = 4  // holders of one wait, stacks of one suspicion
	maxBlocks  = 20 // of a fleet's lock
)

// A state says what a lock is about, the worst first.
type state int

const (
	stateDeadlock  state = iota // its waits are in a deadlock
	stateLeak                   // what was held of it has been collected
	stateSaturated              // none of several permits is free, and requests wait
	stateSuspect                // a suspicion names it
	stateWaiting                // requests wait
	stateHeld
	stateFree
)

func (s state) String() string {
	return [...]string{"deadlock", "leak", "saturated", "suspect", "waiting", "held", "free"}[s]
}

// meaning explains a state to a reader who sees it for the first time.
func (s state) meaning() string {
	return [...]string{
		"it is part of a deadlock: nothing can end its waits",
		"what was held of it has been collected, so nobody can release it",
		"no permit is free, and requests wait", "something about it may be a fault",
		"requests wait", "it is held, and nobody waits", "nobody holds it",
	}[s]
}

// A view is a snapshot as the pages show it: put in order, folded and cut.
type view struct {
	Program    string
	PID        int
	At         time.Time
	Locks      []*lockView // all of them, by trouble
	Deadlocks  []deadlockView
	Over       int // deadlocks that have ended since
	Leaks      []leakView
	Suspicions []suspicionView
	Tasks      []Task // those that have been in their state the longest first
	Panics     []Panic
	Panicked   uint64
	Dropped    Dropped
	Waiting    int // requests, on all locks
	byID       map[uint64]*lockView
	whole      *view // of a view of one lock: that of all
}

// A lockView is a lock as the pages show it.
type lockView struct {
	*Lock
	Now     time.Time
	Title   string
	State   state
	Longest time.Duration // of the waits now; 0 if it is not known
}

// A deadlockView is a deadlock as the pages show it.
type deadlockView struct {
	Deadlock
	Age        time.Duration
	Suspicions []suspicionView // that are part of it
}

// A leakView is all leaks with the same stack.
type leakView struct {
	Leak     // the last
	Count    int
	All      int64 // permits that have not come back
	Name     string
	FirstAge time.Duration
	LastAge  time.Duration
}

// A suspicionView is all suspicions of one kind, place and lock.
type suspicionView struct {
	Suspicion // the last
	Count     int
	Name      string
	Age       time.Duration
}

// newView makes a view of a snapshot, which it does not change.
func newView(s *Snapshot) *view {
	v := &view{
		Program: filepath.Base(os.Args[0]), PID: os.Getpid(),
		At: s.At, Panics: s.Panics, Panicked: s.Panicked, Dropped: s.Dropped, byID: make(map[uint64]*lockView,
			len(s.Locks)),
	}
	waits := make(map[uint64]bool)
	for i := range s.Locks {
		l := &s.Locks[i]
		lv := &lockView{Lock: l, Now: s.At, Title: lockName(l.ID, l.Name, l.Kind), State: stateFree}
		for j := range l.Waiters {
			waits[l.Waiters[j].ID] = true
			lv.Longest = max(lv.Longest, since(s.At, l.Waiters[j].Since))
		}
		switch {
		case l.Waiting > 0 && l.Free == 0 && lv.limits():
			lv.State = stateSaturated
		case l.Waiting > 0:
			lv.State = stateWaiting
		case l.Held > 0:
			lv.State = stateHeld
		}
		v.Locks = append(v.Locks, lv)
		v.byID[l.ID] = lv
		v.Waiting += l.Waiting
	}
	v.addReports(s, waits)
	slices.SortStableFunc(v.Locks, byTrouble)
	v.Tasks = slices.Clone(s.Tasks)
	slices.SortStableFunc(v.Tasks, func(a, b Task) int { return a.Since.Compare(b.Since) })
	return v
}

// limits says whether the size of a lock is a limit that somebody has chosen.
func (l *lockView) limits() bool {
	const readers = 1 << 20 // what read-write locks have, or more
	return l.Size > 1 && l.Size < readers
}

// addReports folds the reports, and marks the locks that they name. waits are those that last.
func (v *view) addReports(s *Snapshot, waits map[uint64]bool) {
	mark := func(id uint64, to state) {
		if l := v.byID[id]; l != nil {
			l.State = min(l.State, to)
		}
	}
	for _, d := range s.Deadlocks {
		if slices.ContainsFunc(d.Waits, func(b Blocked) bool { return !waits[b.Waiter.ID] && v.complete(b.LockID) }) {
			v.Over++
			continue
		}
		v.Deadlocks = append(v.Deadlocks, deadlockView{Deadlock: d, Age: since(v.At, d.At)})
		for _, b := range d.Waits {
			mark(b.LockID, stateDeadlock)
		}
	}
	type key struct {
		lock, inner uint64
		what, where string
	}
	leaks := make(map[key]int)
	for _, l := range slices.Backward(s.Leaks) { // the last first
		k := key{lock: l.LockID, what: l.Kind, where: stackKey(l.Stack)}
		i, known := leaks[k]
		if !known {
			i = len(v.Leaks)
			leaks[k] = i
			v.Leaks = append(v.Leaks, leakView{
				Leak: l, Name: v.name(l.LockID, l.Lock, l.Kind),
				LastAge: since(v.At, l.At),
			})
		}
		of := &v.Leaks[i]
		of.Count++
		of.FirstAge = since(v.At, l.At)
		if !l.Returned {
			of.All += l.Permits
			mark(l.LockID, stateLeak)
		}
	}
	suspicions := make(map[key]int)
	for _, x := range slices.Backward(s.Suspicions) {
		k := key{lock: x.LockID, inner: x.inner, what: string(x.Why)}
		if len(x.Stacks) > 0 {
			k.where = stackKey(x.Stacks[0])
		}
		i, known := suspicions[k]
		if !known {
			i = len(v.Suspicions)
			suspicions[k] = i
			x.Stacks = distinct(x.Stacks)
			v.Suspicions = append(v.Suspicions, suspicionView{Suspicion: x, Name: v.name(x.LockID, x.Lock,
				"lock"), Age: since(v.At, x.At)})
		}
		v.Suspicions[i].Count++
		mark(x.LockID, stateSuspect)
	}
	v.Suspicions = slices.DeleteFunc(v.Suspicions, v.isOfDeadlock)
}

// isOfDeadlock puts a suspicion under the deadlock that its locks are in, if there is one: the wait
// that is too long, or the order that has led there, is no fault besides.
func (v *view) isOfDeadlock(s suspicionView) bool {
	for i := range v.Deadlocks {
		d := &v.Deadlocks[i]
		if d.has(s.LockID) && (s.inner == 0 || d.has(s.inner)) {
			d.Suspicions = append(d.Suspicions, s)
			return true
		}
	}
	return false
}

// has reports whether one of the waits is for a lock.
func (d *Deadlock) has(lock uint64) bool {
	return slices.ContainsFunc(d.Waits, func(b Blocked) bool { return b.LockID == lock })
}

// distinct returns the stacks that differ.
func distinct(all []Stack) (some []Stack) {
	known := make(map[string]bool)
	for _, s := range all {
		if key := stackKey(s); !known[key] {
			known[key] = true
			some = append(some, s)
		}
	}
	return some
}

// complete reports whether the waiters of a lock are in the snapshot: a missing one is gone then.
func (v *view) complete(id uint64) bool {
	l := v.byID[id]
	return l == nil || (l.Level == LevelHolders && len(l.Waiters) >= l.Waiting)
}

// name names a lock that may be gone.
func (v *view) name(id uint64, name, kind string) string {
	if l := v.byID[id]; l != nil {
		return l.Title
	}
	if id == 0 && name == "" {
		return ""
	}
	return lockName(id, name, kind)
}

// only returns a view of one lock, with the reports that name it; nil if there is no such lock.
func (v *view) only(id uint64) *view {
	l := v.byID[id]
	if l == nil {
		return nil
	}
	one := *v
	one.whole = v
	one.Locks = []*lockView{l}
	one.Tasks, one.Panics, one.Panicked, one.Over, one.Waiting = nil, nil, 0, 0, l.Waiting
	one.Deadlocks = keep(v.Deadlocks, func(d deadlockView) bool { return d.has(id) })
	one.Leaks = keep(v.Leaks, func(x leakView) bool { return x.LockID == id })
	one.Suspicions = keep(v.Suspicions, func(x suspicionView) bool { return x.LockID == id })
	return &one
}

func keep[T any](all []T, which func(T) bool) (some []T) {
	for _, x := range all {
		if which(x) {
			some = append(some, x)
		}
	}
	return some
}

// byTrouble puts the locks first that a reader wants to see.
func byTrouble(a, b *lockView) int {
	return cmp.Or(
		cmp.Compare(a.State, b.State),
		cmp.Compare(b.Longest, a.Longest),
		cmp.Compare(b.Waiting, a.Waiting),
		cmp.Compare(b.Wait.Sum, a.Wait.Sum),
		cmp.Compare(b.Held, a.Held),
		cmp.Compare(b.Counts.Acquired, a.Counts.Acquired),
		cmp.Compare(a.ID, b.ID))
}

// An order of the table of locks.
type order struct {
	Key, Text, Hint string
	compare         func(a, b *lockView) int
}

// orders are those that the table can have, by its columns; the first is the usual one.
var orders = []order{
	{"trouble", "State", "the worst first", byTrouble},
	{"name", "Lock", "by name", func(a, b *lockView) int { return cmp.Compare(a.Title, b.Title) }},
	{"held", "Held", "permits held, of all", func(a, b *lockView) int { return cmp.Compare(b.Held, a.Held) }},
	{"waiting", "Waiting", "requests in line", func(a, b *lockView) int { return cmp.Compare(b.Waiting, a.Waiting) }},
	{"longest", "Longest", "the longest wait", func(a, b *lockView) int { return cmp.Compare(b.Longest, a.Longest) }},
	{"acquired", "Acquired", "requests granted so far", func(a, b *lockView) int {
		return cmp.Compare(b.Counts.Acquired, a.Counts.Acquired)
	}},
	{"contended", "Contended", "requests that had to wait", func(a, b *lockView) int {
		return cmp.Compare(contended(b), contended(a))
	}},
	{"wait", "Wait p99", "99 of 100 waits were shorter", func(a, b *lockView) int {
		return cmp.Compare(b.Wait.Quantile(0.99), a.Wait.Quantile(0.99))
	}},
	{"hold", "Hold p99", "99 of 100 holds were shorter", func(a, b *lockView) int {
		return cmp.Compare(b.Hold.Quantile(0.99), a.Hold.Quantile(0.99))
	}},
}

func contended(l *lockView) float64 {
	return float64(l.Counts.Contended) / float64(max(l.Counts.Acquired, l.Counts.Contended, 1))
}

// sorted returns the locks in an order, which is usual if there is none of that name.
func (v *view) sorted(key string) ([]*lockView, string) {
	i := slices.IndexFunc(orders, func(o order) bool { return o.Key == key })
	if i <= 0 {
		return v.Locks, orders[0].Key
	}
	locks := slices.Clone(v.Locks)
	slices.SortStableFunc(locks, orders[i].compare)
	return locks, key
}

// A group is all holders or all waiters of a lock that have the same stack.
type group struct {
	Stack       Stack
	Count       int
	Permits     int64
	Oldest      time.Duration
	Blame       time.Duration
	Shared      bool // all of them
	CanEnd      bool // all of them
	Granted     int
	Approximate int
	Agents      []member // the oldest first, not all
}

// A member of a group.
type member struct {
	Agent   Agent
	Key     string // or tenant
	Age     time.Duration
	Permits int64
	Notes   string
}

// add counts one more.
func (g *group) add(m member, blame time.Duration, shared, canEnd, granted, approximate bool) {
	g.Count++
	g.Permits += m.Permits
	g.Oldest = max(g.Oldest, m.Age)
	g.Blame += blame
	g.Shared = g.Shared && shared
	g.CanEnd = g.CanEnd && canEnd
	if granted {
		g.Granted++
		m.Notes = "granted, not yet asked for"
	}
	if approximate {
		g.Approximate++
		m.Notes = "approximate: another may have released these"
	}
	if m.Key != "" {
		m.Notes = strings.TrimSpace("[" + clean(m.Key, maxLabel) + "] " + m.Notes)
	}
	if len(g.Agents) < maxAgents {
		g.Agents = append(g.Agents, m)
	}
}

// A grouping collects groups by their stacks.
type grouping struct {
	groups []*group
	by     map[string]*group
	more   int // holders or waiters for whose stacks there was no room
}

func (g *grouping) of(s Stack) *group {
	key := stackKey(s)
	if x := g.by[key]; x != nil {
		return x
	}
	if len(g.groups) == maxGroups {
		g.more++
		return nil
	}
	x := &group{Stack: s, Shared: true, CanEnd: true}
	if g.by == nil {
		g.by = make(map[string]*group)
	}
	g.by[key] = x
	g.groups = append(g.groups, x)
	return x
}

// holders folds the holders of the lock; the oldest are first.
func (l *lockView) holders() (groups []*group, more int) {
	var all grouping
	for i := range l.Holders {
		h := &l.Holders[i]
		if g := all.of(h.Stack); g != nil {
			m := member{Agent: h.Agent, Key: cmp.Or(h.Key, h.Tenant), Age: since(l.Now, h.Since), Permits: h.Permits}
			g.add(m, h.Blame, h.Shared, false, false, h.Approximate)
		}
	}
	return all.groups, all.more
}

// waiters folds the waiters; the oldest are first.
func (l *lockView) waiters() (groups []*group, more int) {
	var all grouping
	for i := range l.Waiters {
		w := &l.Waiters[i]
		if g := all.of(w.Stack); g != nil {
			m := member{Agent: w.Agent, Key: cmp.Or(w.Key, w.Tenant), Age: since(l.Now, w.Since), Permits: w.Permits}
			g.add(m, 0, w.Shared, w.CanEnd, w.Granted, false)
		}
	}
	return all.groups, all.more
}
