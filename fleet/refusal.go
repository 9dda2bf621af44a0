package fleet

import (
	"fmt"
	"time"

	"github.com/farad-go/farad/fleet/store"
)

// A store may refuse this process what it asks for, because a role, a user or a password is not
// what it was. It answers otherwise only when somebody has changed that. So all that wait get it,
// and the process goes on asking, but seldom. What is held stays held: it depends on the lease
// alone, and is handed on in the process.

// newRefusal wraps the error of a refusal, for users.
func (d *driver) newRefusal(err error) error {
	return fmt.Errorf("fleet: %s %s: refused: %w", d.kind, d.name, err)
}

// refused ends the requests that wait. They see that they are too large, and ask refusedSince why.
// Requests that come later wait again, until the server answers or refuses once more.
func (l *loop) refused(r denial) {
	if l.denied == nil || !r.read {
		l.deny(r)
	}
	l.probed = time.Now()
	err := l.newRefusal(r.err)
	l.refusal.Store(&err)
	t, most := l.current.Load(), int64(store.MaxWeight)
	for _, s := range l.seats {
		if s.t == t {
			most = l.state.Size
		}
		l.endRounds(&s.rounds)
	}
	t.Bound(0)
	t.Bound(most)
	l.endRounds(&l.rounds)
}

// allow notes that a read was not refused.
func (l *loop) allow() {
	if l.denied != nil && l.deniedRead {
		l.deny(denial{})
	}
}

// probe has the server asked, now and then, whether it still refuses what it has refused. Otherwise
// a process that needs nothing would never learn it. It returns after which time to ask next.
func (l *loop) probe() time.Duration {
	if l.denied == nil || l.deniedRead || l.current.Load().session.Load() == nil {
		return never
	}
	every := l.fleet.askRefusedAfter()
	if next := every - time.Since(l.probed); next > 0 {
		return next
	}
	l.probed = time.Now()
	asked := l.known()
	l.calls.Go(func() {
		st, err := l.remote.within(l.ctx, l.remote.writes, l.remote.probe)
		if err == nil {
			l.in.deliver(revision{rev: st.Rev, whole: &st, asked: asked, writes: true})
		}
	})
	return every
}

// refusedSince returns the error of a refusal after the given one, nil if there was none.
func (d *driver) refusedSince(before *error) error {
	if r := d.refusal.Load(); r != before {
		return *r
	}
	return nil
}
