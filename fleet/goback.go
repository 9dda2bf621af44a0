package fleet

import (
	"context"
	"time"

	"github.com/farad-go/farad/fleet/store"
)

// The servers' revision may fall: a snapshot was restored, or their disks are empty. A read says so
// if its revision is less than one that was known before it was sent: reads and transactions are
// linearizable. One that is only late is not: it was sent before.
//
// Then nothing that the process has can be relied on: others may have been granted it, and may be
// granted it from now on. So the session is lost, and all lines of the process are opened anew: one
// that is not there any more gets the size that it was opened with. Earlier questions are ignored:
// ages distinguish them from later ones.

// startAgain begins anew after the servers have gone back.
func (l *loop) startAgain() {
	age := l.fleet.age.Load()
	if age == l.age {
		return
	}
	l.seen.Lock()
	l.age = age
	l.seen.Unlock()
	l.blind = true
	l.calls.Go(func() {
		for l.ctx.Err() == nil {
			st, err := l.remote.within(l.ctx, l.remote.writes, func(ctx context.Context) (store.State, error) {
				return l.remote.restore(ctx, l.wanted) // others may have asked before they have noticed
			})
			if err == nil {
				l.in.deliver(revision{rev: st.Rev, whole: &st, asked: known{age: age}})
				return
			}
			l.in.refuse(denial{err, false})
			pause(l.ctx, l.fleet.retryAfter(err))
		}
	})
}

// isOurs reports whether what was read is of the history that the driver knows.
func (l *loop) isOurs(r revision) bool {
	switch {
	case r.asked.age != l.age:
		return false
	case l.blind:
		l.forgetHistory(r.whole)
	case r.rev < r.asked.rev:
		l.fleet.wentBack(l.age)
		return false
	}
	if r.writes {
		l.deny(denial{})
	}
	l.allow()
	return true
}

// forgetHistory begins anew with what is there.
func (l *loop) forgetHistory(st *store.State) {
	l.seen.Lock()
	defer l.seen.Unlock()
	l.blind = false
	if st.Rev < l.state.Rev {
		l.back = &Back{From: l.state.Rev, To: st.Rev, At: time.Now()}
	}
	l.state = st.Clone()
}
