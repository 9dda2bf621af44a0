package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/farad-go/farad/fleet/store"
)

// over ends the test unless nothing can be done with a lease that has ended.
func (m *member) over() {
	l := m.lab
	for _, kind := range []string{"mutex", "semaphore"} {
		on := m.Line(kind, "x")
		l.until(func() bool {
			st := l.read(on)
			for _, e := range st.Entries {
				if e.Lease == m.Lease {
					return false
				}
			}
			return true
		}, "the entries of a lease vanish with it")
		_, _, err := on.Commit(l.ctx, m.Session, m.epoch, &store.Txn{Ops: []store.Op{m.put(77, 0, 1)}})
		l.fails(err, store.ErrEnded, "commit with a lease that has ended")
		_, _, err = on.Fence(l.ctx, m.Session)
		l.fails(err, store.ErrEnded, "fence of a lease that has ended")
		st := l.read(on)
		l.check(find(&st, m.key(77)).Weight == 0, "a lease that has ended has an entry")
	}
	_, err := m.Begin(l.ctx, m.Session)
	l.fails(err, store.ErrEnded, "begin of a lease that has ended")
	_, _, err = m.Renew(l.ctx, m.Lease)
	l.fails(err, store.ErrEnded, "renewal of a lease that has ended")
	for _, name := range m.Ways() {
		w := m.Way(name)
		_, _, err = w.Renew(l.ctx, m.Lease)
		w.Close()
		l.fails(err, store.ErrEnded, "renewal on a way of a lease that has ended")
	}
	l.fails(m.Revoke(l.ctx, m.Lease), store.ErrEnded, "revocation of a lease that has ended")
}

// revoked: a lease that is given up ends with all that it has, and its number is nobody's again.
func revoked(l *lab) {
	a, b := l.join("a"), l.join("b")
	for _, m := range []*member{a, b} {
		m.puts(m.Line("mutex", "x"), m.put(1, 0, 1), m.put(2, 0, 1))
		m.puts(m.Line("semaphore", "x"), m.put(1, 0, 1))
	}
	l.done(b.Revoke(l.ctx, a.Lease), "revocation")
	a.over()
	for kind, n := range map[string]int{"mutex": 2, "semaphore": 1} {
		st := l.read(b.Line(kind, "x"))
		l.check(len(st.Entries) == n, "of %d entries of a lease that lasts there are %d", n, len(st.Entries))
	}
	used := map[int64]bool{a.Lease: true, b.Lease: true}
	for range 10 {
		m := l.join("c")
		l.check(!used[m.Lease], "two leases have the number %d", m.Lease)
		used[m.Lease] = true
		l.done(m.Revoke(l.ctx, m.Lease), "revocation")
	}
}

// expired: a lease lasts for its time from when the store got its renewal, or longer; and ends.
func expired(l *lab) {
	for done := false; !done; { // A retry follows only a renewal that came too late.
		done = l.expires()
	}
}

// expires is expired, and reports false if the machine has stopped for too long.
func (l *lab) expires() bool {
	sent, lasts := time.Now(), l.TTL
	m, err := l.tryBegin("a", l.TTL)
	x := m.Line("mutex", "x")
	for _, on := range []store.Line{x, m.Line("semaphore", "x")} {
		if err == nil {
			_, _, err = on.Commit(l.ctx, m.Session, m.epoch, &store.Txn{Ops: []store.Op{m.put(1, 0, 1)}})
		}
	}
	if errors.Is(err, store.ErrEnded) && time.Since(sent) >= lasts {
		return false
	}
	l.done(err, "begin and commit")
	ways := m.Ways()
	l.check(len(ways) > 0, "there is no way to renew")
	w := m.Way(ways[0])
	defer w.Close()
	w.Prepare()
	for i := range 6 {
		l.pause(l.TTL / 3)
		var rev int64
		var err error
		began := time.Now()
		if i%2 == 0 {
			lasts, rev, err = w.Renew(l.ctx, m.Lease)
		} else {
			lasts, rev, err = m.Renew(l.ctx, m.Lease)
		}
		if errors.Is(err, store.ErrEnded) && time.Since(sent) >= lasts {
			return false
		}
		l.done(err, "renewal")
		sent = began
		l.check(lasts >= l.TTL, "a renewal makes a lease last %v, and %v was asked for", lasts, l.TTL)
		now, err := m.Revision(l.ctx)
		l.done(err, "revision")
		l.check(rev <= now, "a renewal knows revision %d, and the newest is %d", rev, now)
	}
	for {
		st := l.read(x)
		lasted := time.Since(sent)
		if find(&st, m.key(1)).Weight == 0 {
			l.check(lasted >= lasts, "a lease has ended %v after its renewal, which was for %v", lasted, lasts)
			break
		}
		l.check(l.ctx.Err() == nil, "a lease does not end")
		l.pause(10 * time.Millisecond)
	}
	m.over()
	return true
}

// sessions: who has begun one is listed for as long as its lease lasts.
func sessions(l *lab) {
	a, b := l.join(`{"a": 1}`), l.join("b\n'\"ä")
	lease, _, err := l.Grant(l.ctx, l.TTL)
	l.done(err, "grant")
	listed := func() map[int64]string {
		all, err := l.Sessions(l.ctx)
		l.done(err, "sessions")
		who := map[int64]string{}
		for _, s := range all {
			who[s.Lease] = s.Who
		}
		l.check(len(who) == len(all), "a session is listed twice")
		return who
	}
	who := listed()
	l.check(who[a.Lease] == a.Who && who[b.Lease] == b.Who, "the sessions are %v", who)
	_, is := who[lease]
	l.check(!is, "a lease without a session is listed")
	l.done(a.Revoke(l.ctx, a.Lease), "revocation")
	l.until(func() bool { _, is := listed()[a.Lease]; return !is }, "who has gone is listed no more")
	l.check(listed()[b.Lease] == b.Who, "who stays is listed no more")
	_ = l.Revoke(l.ctx, lease)
}

// epochs: once a later one has begun, nothing of an earlier one is carried out, in any line.
func epochs(l *lab) {
	a, b := l.join("a"), l.join("b")
	x, y := a.Line("mutex", "x"), a.Line("semaphore", "y")
	a.puts(x, a.put(1, 0, 1))
	early := a.epoch
	st, epoch, err := x.Fence(l.ctx, a.Session)
	l.done(err, "fence")
	l.check(epoch > early, "epoch %d follows epoch %d", epoch, early)
	l.check(find(&st, a.key(1)).Weight == 1, "a fence does not show the line: %+v", st)
	mod := find(&st, a.key(1)).Mod
	for _, on := range []store.Line{x, y, l.Connect().Line("rwmutex", "z")} {
		ops := []store.Op{a.put(2, 0, 1)}
		if on == x {
			ops = append(ops, a.put(1, mod, 0))
		}
		before := l.read(on)
		st, now, err := on.Commit(l.ctx, a.Session, early, &store.Txn{Ops: ops})
		l.done(err, "commit in an earlier epoch")
		l.check(same(&before, &st), "something of an earlier epoch was carried out: %+v", st)
		l.check(now == epoch, "the epoch is %d, and the answer says %d", epoch, now)
		b.puts(b.Line("mutex", "x"), b.put(now+int64(len(ops)), 0, 1)) // another session's goes on
	}
	a.epoch = epoch
	st = a.puts(x, a.put(2, 0, 1), a.put(1, mod, 0))
	l.check(find(&st, a.key(2)).Weight == 1 && find(&st, a.key(1)).Weight == 0, "the new epoch does nothing: %+v", st)
	if _, epoch, err = y.Fence(l.ctx, a.Session); err == nil {
		l.check(epoch > a.epoch, "epoch %d follows epoch %d", epoch, a.epoch)
	}
	l.done(err, "fence")
}

// once: what was given up is carried out once or never, and not after a fence.
func once(l *lab) {
	a := l.join("a")
	x := a.Line("mutex", "x")
	r := rand.New(rand.NewPCG(1, 2))
	for seq := range int64(30) {
		ctx, cancel := context.WithTimeout(l.ctx, time.Duration(r.IntN(3000))*time.Microsecond)
		_, _, _ = x.Commit(ctx, a.Session, a.epoch, &store.Txn{Ops: []store.Op{a.put(seq+1, 0, 1)}})
		cancel()
		st, epoch, err := x.Fence(l.ctx, a.Session)
		l.done(err, "fence")
		a.epoch = epoch
		if e := find(&st, a.key(seq+1)); e.Weight > 0 {
			st = a.puts(x, a.put(seq+1, e.Mod, 0))
		}
		l.check(len(st.Entries) == 0, "what was sent before a fence was carried out after it: %+v", st.Entries)
	}
	l.pause(l.TTL / 4)
	st := l.read(x)
	l.check(len(st.Entries) == 0, "what was sent before a fence was carried out after it: %+v", st.Entries)
}

// refusals: what is refused is not done.
func refusals(l *lab) {
	a := l.join("a")
	x := a.Line("semaphore", "x")
	before := a.puts(x, a.put(1, 0, 1))
	allow, err := l.Forbid(a.Store)
	l.done(err, "forbid")
	_, _, err = x.Commit(l.ctx, a.Session, a.epoch, &store.Txn{Ops: []store.Op{a.put(2, 0, 1)}})
	l.fails(err, store.ErrRefused, "commit")
	_, _, err = x.Fence(l.ctx, a.Session)
	l.fails(err, store.ErrRefused, "fence")
	_, _, err = x.SetSize(l.ctx, 7, 0, false)
	l.fails(err, store.ErrRefused, "set size")
	_, err = x.Probe(l.ctx)
	l.fails(err, store.ErrRefused, "probe")
	st := l.read(l.Connect().Line("semaphore", "x"))
	l.check(same(&before, &st), "what was refused was done: %+v", st)
	l.done(allow(), "allow")
	l.until(func() bool { _, err := x.Probe(l.ctx); return err == nil }, "the process may write again")
	st = a.puts(x, a.put(2, 0, 1))
	l.check(find(&st, a.key(2)).Weight == 1, "the process may write, and does not")
}

// space: without it what is held comes back all the same.
func space(l *lab) {
	a, b := l.join("a"), l.join("b")
	x := a.Line("mutex", "x")
	mod := a.puts(x, a.put(1, 0, 1), a.put(2, 0, 1)).Rev
	b.puts(b.Line("mutex", "x"), b.put(1, 0, 1))
	drain, err := l.Fill()
	l.done(err, "fill")
	_, _, err = x.Commit(l.ctx, a.Session, a.epoch, &store.Txn{Ops: []store.Op{a.put(3, 0, 1)}})
	l.fails(err, store.ErrNoSpace, "commit without space")
	st := a.puts(x, a.put(1, mod, 0), a.put(2, mod, 0))
	l.check(find(&st, a.key(1)).Weight+find(&st, a.key(2)).Weight == 0, "without space nothing is deleted")
	l.done(b.Revoke(l.ctx, b.Lease), "revocation without space")
	l.until(func() bool {
		st := l.read(x)
		return find(&st, b.key(1)).Weight == 0
	}, "the entries of a lease vanish with it")
	l.done(drain(), "drain")
	l.until(func() bool {
		_, _, err := x.Commit(l.ctx, a.Session, a.epoch, &store.Txn{Ops: []store.Op{a.put(4, 0, 1)}})
		return err == nil
	}, "there is space again")
}
