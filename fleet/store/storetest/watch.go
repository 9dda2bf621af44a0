package storetest

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/farad-go/farad/fleet/store"
)

// A watcher is a watch, and what it has yielded.
type watcher struct {
	lab   *lab
	line  string // only its events are expected; "": all
	signs chan struct{}
	stop  context.CancelFunc
	ended chan struct{}

	mu     sync.Mutex
	err    error
	rev    int64
	begun  bool
	idle   int // updates without events
	fault  string
	states map[string]*store.State
	events map[int64]int // how many there were at each revision
	order  []int64       // of these
}

// watch begins a watch after a revision at which there were no lines.
func (l *lab) watch(source store.Source, line string, after int64) *watcher {
	w := &watcher{
		lab: l, line: line, signs: make(chan struct{}, 1), ended: make(chan struct{}), rev: after,
		states: make(map[string]*store.State), events: make(map[int64]int),
	}
	ctx, stop := context.WithCancel(l.ctx)
	w.stop = stop
	go func() {
		defer close(w.ended)
		err := source.Watch(ctx, after, w.signs, w.take)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.err = err
	}()
	return w
}

// take takes an update.
func (w *watcher) take(u store.Update) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.begun
	w.begun = true
	switch {
	case w.fault != "":
	case len(u.Events) > 0 && u.Rev <= w.rev:
		w.fault = "a change comes after a later one, or twice"
	case len(u.Events) == 0 && !first && u.Rev < w.rev:
		w.fault = "a sign of life is older than a change"
	}
	w.rev = max(w.rev, u.Rev)
	if len(u.Events) == 0 {
		w.idle++
		return true
	}
	w.order = append(w.order, u.Rev)
	w.events[u.Rev] = len(u.Events)
	byLine := map[string][]store.Change{}
	for _, e := range u.Events {
		byLine[e.Line] = append(byLine[e.Line], e.Change)
		switch {
		case w.line != "" && e.Line != w.line:
			w.fault = "a watch of one line has a change of another"
		case e.Weight > 0 && e.Key != store.SizeKey && e.Mod != u.Rev:
			w.fault = "a change was made at another revision than its update's"
		}
	}
	for id, changes := range byLine {
		if w.states[id] == nil {
			w.states[id] = &store.State{}
		}
		w.states[id].Apply(u.Rev, changes...)
	}
	return true
}

// reach waits until the watch has all up to a revision, with signs of life.
func (w *watcher) reach(rev int64) {
	w.lab.until(func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lab.check(w.fault == "", "%s, by revision %d", w.fault, w.rev)
		select {
		case <-w.ended:
			w.lab.check(false, "a watch has ended at revision %d: %v", w.rev, w.err)
		case w.signs <- struct{}{}:
		default:
		}
		return w.rev >= rev
	}, "a watch arrives where others were")
}

// end ends the watch.
func (w *watcher) end() {
	w.stop()
	<-w.ended
}

// shows ends the test unless the watch has shown the line as it is.
func (w *watcher) shows(on store.Line) {
	st := w.lab.read(on)
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.states[on.ID()]
	if seen == nil {
		seen = &store.State{}
	}
	w.lab.check(same(&st, seen), "the line %q is %+v, and a watch has shown %+v", on.ID(), st, *seen)
}

// watches: whatever is written while a watch runs, or was before it began, it yields in order, each
// revision at once.
func watches(l *lab) {
	from, err := l.Revision(l.ctx)
	l.done(err, "revision")
	members := []*member{l.join("a"), l.join("b"), l.join("c")}
	on := func(s store.Store, i int) store.Line {
		return s.Line([]string{"semaphore", "mutex", "semaphore"}[i], []string{"x", "x", "y/z"}[i])
	}
	whole := l.watch(l.Connect(), "", from)
	defer whole.end()
	one := l.watch(on(l.Connect(), 0), on(l, 0).ID(), from)
	defer one.end()
	var mu sync.Mutex
	wrote := map[int64]int{} // how many events each revision has
	middle := int64(0)
	l.together(len(members), func(i int) {
		m, r := members[i], rand.New(rand.NewPCG(3, uint64(i)))
		for n := range int64(20) {
			x := on(m, r.IntN(3))
			if r.IntN(5) == 0 {
				st := l.read(x)
				_, _, err := x.SetSize(l.ctx, n+1, st.SizeMod, false)
				l.done(err, "set size")
				continue
			}
			st := l.read(x)
			var ops []store.Op
			for k := range 1 + r.Int64N(4) {
				e := find(&st, m.key(k+1))
				op := m.put(k+1, e.Mod, r.Int64N(3))
				if e.Weight == 0 && op.Weight == 0 || e.Weight == op.Weight {
					op.Weight = e.Weight + 1
				}
				ops = append(ops, op)
			}
			st = m.puts(x, ops...)
			e := find(&st, ops[0].Key)
			mu.Lock()
			if e.Weight > 0 {
				wrote[e.Mod] = len(ops)
				middle = max(middle, e.Mod)
			}
			mu.Unlock()
		}
	})
	l.done(l.Revoke(l.ctx, members[0].Lease), "revocation")
	l.check(len(wrote) > 5, "nothing was written")
	now, err := l.Revision(l.ctx)
	l.done(err, "revision")
	late := l.watch(l.Connect(), "", from)
	defer late.end()
	half := slices.Sorted(func(yield func(int64) bool) {
		for rev := range wrote {
			if !yield(rev) {
				return
			}
		}
	})[len(wrote)/2]
	rest := l.watch(l.Connect(), "", half)
	defer rest.end()
	for _, w := range []*watcher{whole, one, late, rest} {
		w.reach(now)
	}
	for i := range 3 {
		whole.shows(on(l, i))
		late.shows(on(l, i))
	}
	one.shows(on(l, 0))
	for rev, n := range wrote {
		l.check(whole.events[rev] == n && late.events[rev] == n,
			"of %d changes at revision %d a watch has yielded %d, and a later one %d",
			n, rev, whole.events[rev], late.events[rev])
	}
	l.check(slices.Equal(whole.order, late.order), "two watches yield %v and %v", whole.order, late.order)
	i, _ := slices.BinarySearch(whole.order, half+1)
	l.check(slices.Equal(whole.order[i:], rest.order),
		"after revision %d are %v, and a watch yields %v", half, whole.order[i:], rest.order)
}

// signs: a watch says when it has begun, and that it is there, though nothing changes.
func signs(l *lab) {
	rev, err := l.Revision(l.ctx)
	l.done(err, "revision")
	a := l.join("a")
	for _, source := range []store.Source{l.Connect(), l.Connect().Line("mutex", "x")} {
		w := l.watch(source, "", rev)
		begun := func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.begun
		}
		l.until(begun, "a watch that has begun yields an update")
		for range 3 {
			idle := func() int {
				w.mu.Lock()
				defer w.mu.Unlock()
				return w.idle + len(w.order)
			}
			before := idle()
			l.until(func() bool {
				select {
				case w.signs <- struct{}{}: // one may be lost while the watch catches up
				default:
				}
				return idle() > before
			}, "a sign of life comes when it is asked for")
		}
		elsewhere := a.puts(a.Line("mutex", "y"), a.put(l.next(), 0, 1)).Rev
		w.reach(elsewhere)
		w.end()
	}
	ended := make(chan error, 1)
	go func() { ended <- l.Watch(l.ctx, rev, nil, func(store.Update) bool { return false }) }()
	select {
	case err := <-ended:
		l.done(err, "a watch of which nobody wants more")
	case <-l.ctx.Done():
		l.check(false, "a watch goes on although nobody wants more")
	}
}

// forgets: a watch that cannot yield all says so.
func forgets(l *lab) {
	from, err := l.Revision(l.ctx)
	l.done(err, "revision")
	a := l.join("a")
	x := a.Line("mutex", "x")
	for i := range int64(5) {
		a.puts(x, a.put(i+1, 0, 1))
	}
	l.done(l.Forget(), "forget")
	for _, source := range []store.Source{l.Connect(), l.Connect().Line("mutex", "x")} {
		w := l.watch(source, "", from)
		select {
		case <-w.ended:
		case <-l.ctx.Done():
			l.check(false, "a watch goes on although changes are missing")
		}
		l.fails(w.err, store.ErrCompacted, "a watch of what is forgotten")
		l.check(len(w.order) == 0, "a watch yields changes although earlier ones are missing")
	}
	now, err := l.Revision(l.ctx)
	l.done(err, "revision")
	w := l.watch(l.Connect(), "", now)
	defer w.end()
	rev := a.puts(x, a.put(100, 0, 1)).Rev
	w.reach(rev)
	l.check(len(w.order) == 1, "of one change a watch has yielded %d", len(w.order))
}
