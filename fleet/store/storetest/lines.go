package storetest

import (
	"slices"
	"sync"

	"github.com/farad-go/farad/fleet/store"
)

// revisions: each transaction has the next revision, in whatever line.
func revisions(l *lab) {
	a, b := l.join("a"), l.join("b")
	last := int64(0)
	for i := range int64(20) {
		m, kind := a, "mutex"
		if i%2 == 1 {
			m = b
		}
		if i%3 == 1 {
			kind = "semaphore"
		}
		st := m.puts(m.Line(kind, "x"), m.put(i+1, 0, 1))
		e := find(&st, m.key(i+1))
		l.check(e.Mod > last, "a transaction has revision %d, and an earlier one had %d", e.Mod, last)
		l.check(st.Rev >= e.Mod, "a line at revision %d has an entry of revision %d", st.Rev, e.Mod)
		last = e.Mod
	}
	var mu sync.Mutex
	used := map[int64]int{}
	members := []*member{a, b, l.join("c"), l.join("d")}
	l.together(len(members), func(i int) {
		m := members[i]
		for seq := range int64(20) {
			st := m.puts(m.Line("mutex", string(rune('a'+seq%3))), m.put(100+seq, 0, 1))
			rev := find(&st, m.key(100+seq)).Mod
			mu.Lock()
			used[rev]++
			n := used[rev]
			mu.Unlock()
			l.check(n == 1, "two transactions have revision %d", rev)
		}
	})
}

// lines: a line has what was put there, in order.
func lines(l *lab) {
	a, b := l.join("a"), l.join("b")
	x := a.Line("semaphore", "x")
	st := l.read(x)
	l.check(st.Size == 0 && st.SizeMod == 0 && len(st.Entries) == 0, "a new line is %+v", st)
	st = a.puts(x, a.put(2, 0, 3), a.put(1, 0, 2))
	rev := st.Rev
	want := []store.Entry{
		{Key: a.key(1), Create: rev, Mod: rev, Weight: 2}, {Key: a.key(2), Create: rev, Mod: rev, Weight: 3},
	}
	l.check(slices.Equal(st.Entries, want), "the line is %+v, and should be %+v", st.Entries, want)
	st = b.puts(b.Line("semaphore", "x"), b.put(1, 0, store.MaxWeight))
	want = append(want, store.Entry{Key: b.key(1), Create: st.Rev, Mod: st.Rev, Weight: store.MaxWeight})
	l.check(slices.Equal(st.Entries, want), "the line is %+v, and should be %+v", st.Entries, want)

	st = a.puts(x, a.put(1, rev, 1)) // it keeps its place
	want[0].Mod, want[0].Weight = st.Rev, 1
	l.check(slices.Equal(st.Entries, want), "the line is %+v, and should be %+v", st.Entries, want)
	read := l.read(b.Line("semaphore", "x"))
	l.check(same(&st, &read), "%+v was written, and %+v is read", st, read)

	st = a.puts(x, a.put(1, want[0].Mod, 0), a.put(3, 0, 1))
	want = append(want[1:], store.Entry{Key: a.key(3), Create: st.Rev, Mod: st.Rev, Weight: 1})
	l.check(slices.Equal(st.Entries, want), "the line is %+v, and should be %+v", st.Entries, want)
	st = a.puts(x, a.put(1, 0, 1)) // another entry of the same key
	want = append(want, store.Entry{Key: a.key(1), Create: st.Rev, Mod: st.Rev, Weight: 1})
	l.check(slices.Equal(st.Entries, want), "the line is %+v, and should be %+v", st.Entries, want)
}

// sizes: a size is written only by who knows the one that there is.
func sizes(l *lab) {
	a := l.join("a")
	set := func(on store.Line, size, mod int64, unused, done bool) store.State {
		st, was, err := on.SetSize(l.ctx, size, mod, unused)
		l.done(err, "set size")
		l.check(was == done, "a size of %d over that of revision %d: done is %v", size, mod, was)
		if done {
			l.check(st.Size == size && st.SizeMod == st.Rev, "a size of %d was written, and the line is %+v", size, st)
		}
		read := l.read(l.Connect().Line("semaphore", "x"))
		if on.ID() == a.Line("semaphore", "x").ID() {
			l.check(same(&st, &read), "%+v was written, and %+v is read", st, read)
		}
		return st
	}
	x, y := a.Line("semaphore", "x"), a.Line("semaphore", "y")
	first := set(x, 5, 0, true, true)
	st := set(x, 6, 0, true, false)
	l.check(st.Size == 5 && st.SizeMod == first.SizeMod, "the size changes without right: %+v", st)
	st = set(x, 0, first.SizeMod, false, true)
	set(x, 7, first.SizeMod, false, false)
	set(x, 7, 0, false, false) // a size of 0 is one
	a.puts(x, a.put(1, 0, 1))
	st = set(x, store.MaxWeight, st.SizeMod, false, true)
	l.check(len(st.Entries) == 1, "the size has taken the entries")

	a.puts(y, a.put(1, 0, 1))
	st = set(y, 3, 0, true, false) // it is in use, and somebody has deleted its size
	l.check(st.SizeMod == 0 && st.Size == 0, "a line without a size is %+v", st)
	set(y, 3, 0, false, true)
}

// names: no two lines are the same.
func names(l *lab) {
	a := l.join("a")
	ids := map[string]bool{}
	n := int64(0)
	each := func(do func(on store.Line, n int64)) {
		n = 0
		for _, kind := range []string{"mutex", "semaphore", "rwmutex"} {
			for _, name := range []string{
				"a", "A", "a/b", "a%2Fb", "b", "a\n", "a b", "a+b", ".", "..", "../mutex/a", "/", "size", "q", "ä",
				"a\u0308", "%", "'", "\"", "\\",
			} {
				n++
				do(a.Line(kind, name), n)
			}
		}
	}
	each(func(on store.Line, n int64) {
		l.check(!ids[on.ID()], "two lines have the ID %q", on.ID())
		ids[on.ID()] = true
		a.puts(on, a.put(n, 0, n))
	})
	each(func(on store.Line, n int64) {
		st := l.read(on)
		l.check(len(st.Entries) == 1 && find(&st, a.key(n)).Weight == n, "line %q has %+v", on.ID(), st.Entries)
	})
}

// guards: a transaction is carried out as a whole or not at all, and its answer is the line.
func guards(l *lab) {
	a := l.join("a")
	x := a.Line("semaphore", "x")
	var ops []store.Op
	for i := range int64(store.MostOps) {
		ops = append(ops, a.put(i+1, 0, 10))
	}
	st := a.puts(x, ops...)
	l.check(len(st.Entries) == store.MostOps, "%d entries were made of %d", len(st.Entries), store.MostOps)
	mod := st.Rev
	nothing := func(what string, t *store.Txn) {
		after := a.commit(x, t)
		l.check(same(&st, &after), "%s: the answer is another line", what)
		read := l.read(l.Connect().Line("semaphore", "x"))
		l.check(same(&st, &read), "%s, and something was done", what)
	}
	for at := range []int{0, store.MostOps / 2, store.MostOps - 1} {
		ops = nil
		for i := range int64(store.MostOps) {
			ops = append(ops, a.put(i+1, mod, 5))
		}
		ops[at].Mod--
		nothing("one entry was not changed then", &store.Txn{Ops: ops})
		ops[at].Mod = 0
		nothing("one entry is there", &store.Txn{Ops: ops})
		ops[at] = a.put(1000, mod, 5)
		nothing("one entry is not there", &store.Txn{Ops: ops})
	}
	nothing("what is to be deleted was changed", &store.Txn{Ops: []store.Op{a.put(1, mod-1, 0), a.put(2000, 0, 1)}})

	st = a.commit(x, &store.Txn{Merges: true, Ops: []store.Op{a.put(3, mod, 20), a.put(4, mod, 0)}})
	merged := find(&st, a.key(3)).Weight == 20 && find(&st, a.key(4)).Weight == 0
	l.check(merged, "a merge in a line without a size was not carried out")

	sized, _, err := x.SetSize(l.ctx, 1000, 0, false)
	l.done(err, "set size")
	st = sized
	merge := store.Txn{Merges: true, SizeMod: st.SizeMod - 1, Ops: []store.Op{a.put(1, mod, 20), a.put(2, mod, 0)}}
	nothing("the size has changed", &merge)
	merge.SizeMod = st.SizeMod
	st = a.commit(x, &merge)
	l.check(find(&st, a.key(1)).Weight == 20 && find(&st, a.key(2)).Weight == 0, "a merge was not carried out")
}

// races: what many write at a time has an order, and each answer is a state of it.
func races(l *lab) {
	const writers, rounds = 4, 8
	a := l.join("a")
	a.puts(a.Line("mutex", "x"), a.put(1, 0, 1))
	var lines []store.Line
	for range writers {
		lines = append(lines, l.Connect().Line("mutex", "x"))
	}
	l.together(writers, func(i int) {
		on := lines[i]
		st := l.read(on)
		for n := range int64(rounds) {
			own := int64(1000*(i+1)) + n
			for find(&st, a.key(own)).Weight == 0 { // A retry follows only another's success.
				counter := find(&st, a.key(1))
				st = a.puts(on, a.put(1, counter.Mod, counter.Weight+1), a.put(own, 0, 1))
				l.check(find(&st, a.key(1)).Weight == int64(len(st.Entries)), "an answer shows a part of a transaction")
			}
		}
	})
	st := l.read(a.Line("mutex", "x"))
	l.check(len(st.Entries) == writers*rounds+1, "of %d writes %d are there", writers*rounds+1, len(st.Entries))
}

// reads: what was answered to one process, others read.
func reads(l *lab) {
	a, b, c := l.join("a"), l.Connect().Line("mutex", "x"), l.Connect()
	for i := range int64(20) {
		wrote := a.puts(a.Line("mutex", "x"), a.put(i+1, 0, 1))
		read := l.read(b)
		l.check(read.Rev >= wrote.Rev && find(&read, a.key(i+1)).Weight == 1,
			"revision %d was answered, and %d is read afterwards: %+v", wrote.Rev, read.Rev, read.Entries)
		for _, s := range []store.Source{c, c.Line("mutex", "x"), c.Line("mutex", "y")} {
			rev, err := s.Revision(l.ctx)
			l.done(err, "revision")
			l.check(rev >= read.Rev, "revision %d was read, and then %d is the newest", read.Rev, rev)
		}
		probed, err := b.Probe(l.ctx)
		l.done(err, "probe")
		l.check(same(&read, &probed) && probed.Rev >= read.Rev, "a probe shows %+v, a read %+v", probed, read)
	}
}
