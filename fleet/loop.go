package fleet

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/farad-go/farad/fleet/internal/clock"
	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/fleet/store"
)

// A loop is what the driver's goroutine alone knows.
type loop struct {
	*driver
	calls   sync.WaitGroup  // transactions and reads
	seats   []*seat         // of tenancies that have or may get something
	rounds  []chan struct{} // that wait for a transaction
	named   time.Time       // when names were asked for
	probed  time.Time       // when the server was asked last whether it still refuses
	looked  time.Time       // when the agents decided last
	reading bool            // the line is read because changes are missing
	unread  bool            // nobody has read the line yet
	blind   bool            // the servers have gone back, and the line was not read since
	timer   *time.Timer     // wakes the driver; nil until a time is waited for
}

// newLoop returns the loop of d, which nothing runs yet.
func newLoop(d *driver) *loop { return &loop{driver: d, unread: d.kind == kindKeyed} }

// run is the driver's goroutine. It ends when there is nothing to do, and for good when everything
// was returned after close, and nothing can come later.
func (l *loop) run() {
	for {
		if l.ctx.Err() != nil {
			l.end()
			return
		}
		todo, ok := l.in.take()
		if !ok {
			return
		}
		if todo.rung {
			time.Sleep(lookEvery - time.Since(l.looked))
		}
		l.handle(&todo)
		l.startAgain()
		if l.reseat(); l.isReturned() && len(l.seats) == 0 && l.prev == nil {
			l.end()
			return
		}
		l.bell.Clear()
		l.looked = time.Now()
		l.sleepFor(l.plan())
	}
}

// handle does what was asked of the driver.
func (l *loop) handle(todo *todo) {
	l.rounds = append(l.rounds, todo.rounds...)
	if todo.strangers {
		l.askNames()
	}
	for _, a := range todo.answers {
		l.answered(a)
	}
	for _, r := range todo.reads {
		l.see(r)
	}
	l.reading = l.reading && !todo.reread
	if todo.refusal.err != nil {
		l.refused(todo.refusal)
	}
	if todo.allowed {
		l.allow()
	}
	l.follow()
}

// follow takes what was changed. If changes before that are missing, the line is read first.
func (l *loop) follow() {
	if l.blind {
		return
	}
	all, missed := l.in.follow(l.known())
	for _, r := range all {
		l.see(r)
	}
	if missed == 0 || l.reading || l.unread { // the first transaction returns the line
		return
	}
	l.reading = true
	age := l.age
	l.calls.Go(func() {
		st, err := l.read(l.ctx)
		switch {
		case err == nil && st.Rev < missed: // that was known before
			l.fleet.wentBack(age)
		case err != nil:
			l.in.refuse(denial{err, true})
			pause(l.ctx, l.fleet.retryAfter(err))
		}
		l.in.post(func(in *inbox) { in.reread = true })
	})
}

// never is longer than anything lasts.
const never time.Duration = math.MaxInt64

// sleepFor has the driver wake after a time, if nothing else wakes it before.
func (l *loop) sleepFor(d time.Duration) {
	switch {
	case d == never && l.timer != nil:
		l.timer.Stop()
	case d == never:
	case l.timer == nil:
		l.timer = time.AfterFunc(d, l.in.wake)
	default:
		l.timer.Reset(d)
	}
}

// end ends the driver for good.
func (l *loop) end() {
	l.sleepFor(never)
	l.feed.leave(&l.in)
	l.stop()
	l.reads.end()
	l.calls.Wait()
	l.endRounds(&l.rounds)
	for _, s := range l.seats {
		l.endRounds(&s.rounds)
	}
	close(l.done)
	l.registry.ended(l.driver)
}

// isReturned reports whether everything was returned after close, and closes d.returned then. While
// the server refuses it, what nobody holds counts as returned: it goes when the lease does.
func (l *loop) isReturned() bool {
	left := func(s *seat) bool { return !s.agent.Returned() && (l.denied == nil || s.t.Held() > 0) }
	if !l.closed.Load() || slices.ContainsFunc(l.seats, left) {
		return false
	}
	if !isClosed(l.returned) {
		close(l.returned)
	}
	return true
}

// reseat drops the seats that are over, and gives the current tenancy one if there is a session.
func (l *loop) reseat() {
	now, closed := clock.Now().Mono, l.closed.Load()
	seats := l.seats
	l.seats = nil
	for _, s := range seats {
		if closed && !s.agent.Lost() {
			s.agent.End()
		}
		if s.agent.Lost() || s.session.ends.Load() == nil { // the latter before d may leave f.drivers
			l.turn(func(t *tenancy) bool { return t == s.t })
		}
		if s.session.ends.Load() != nil && !s.agent.Done() {
			l.seats = append(l.seats, s)
		} else {
			l.endRounds(&s.rounds)
		}
	}
	if l.prev != nil && !isClosed(l.prev.ended) && !isClosed(l.prev.done) {
		return // its agents may take numbers yet
	}
	l.prev = nil
	if closed && !isClosed(l.ended) {
		close(l.ended)
		l.registry.wakeNext(l.driver)
	}
	t, session := l.current.Load(), l.fleet.session.Load()
	if l.age != l.fleet.age.Load() { // after the session: one that is newer may not begin with this history
		return
	}
	if closed || l.blind || t.session.Load() != nil || session == nil || session.ends.Load() == nil {
		return
	}
	t.session.Store(session)
	s := &seat{t: t, session: session}
	rw := l.remote.size == line.Everyone
	s.agent = line.NewAgent(session.lease, l.fleet.number, int64(l.fleet.tenure), rw, &t.Share)
	if l.kind == kindElection { // the line says who leads
		s.agent.Lean()
	}
	s.agent.Learn(l.state, now)
	l.seats = append(l.seats, s)
	l.deny(denial{})
	if !session.valid() { // it was lost before it was ours
		l.fleet.lost(session)
	}
}

// plan has the agents decide, and returns after which time they want to again.
func (l *loop) plan() time.Duration {
	wake := line.Never
	for _, s := range l.seats {
		wake = min(wake, l.planSeat(s))
	}
	for _, s := range l.seats {
		if s.t == l.current.Load() && !s.agent.Busy() {
			l.endRounds(&l.rounds) // there was nothing to ask for
		}
	}
	if l.closed.Load() {
		l.endRounds(&l.rounds)
	}
	if wake != line.Never {
		return min(l.probe(), time.Duration(max(0, wake-clock.Now().Mono)))
	}
	return l.probe()
}

// planSeat has the agent of a seat decide, and commits what is due. A session that is over commits
// nothing: an entry of its lease would only keep its place until the lease ends, and serve nobody.
func (l *loop) planSeat(s *seat) (wake int64) {
	if !s.session.valid() {
		l.fleet.lost(s.session)
		return line.Never
	}
	txn, wake := s.t.Plan(s.agent, clock.Now().Mono)
	if txn != nil {
		if s.t == l.current.Load() && !txn.Only { // otherwise the server is asked later
			s.rounds, l.rounds = l.rounds, nil
		}
		asked, doubted := l.known(), s.doubted
		l.calls.Go(func() { l.commit(s, txn, asked, doubted) })
	}
	return wake
}

// commit commits a transaction and puts its answer into the inbox.
func (d *driver) commit(s *seat, txn *line.Txn, asked known, doubted int64) {
	epoch := s.session.epoch.Load()
	st, err := d.remote.within(d.ctx, d.remote.writes, func(ctx context.Context) (store.State, error) {
		switch {
		case !s.session.valid(): // it was a long time until its turn
			return store.State{}, store.ErrEnded
		case txn.Fence && epoch > doubted:
			return d.remote.read(ctx) // another line's doubt has ended this one's
		}
		return d.remote.commit(ctx, txn, s.session, epoch)
	})
	a := answer{seat: s, asked: asked, epoch: epoch, err: err}
	for read := false; err != nil && d.ctx.Err() == nil; read = true {
		if errors.Is(err, store.ErrEnded) {
			d.fleet.lost(s.session)
		}
		d.in.refuse(denial{err, read})
		pause(d.ctx, d.fleet.retryAfter(err))
		st, err = d.remote.within(d.ctx, d.remote.reads, d.remote.read)
	}
	a.state = st
	d.in.post(func(in *inbox) { in.answers = append(in.answers, a) })
}

func (l *loop) answered(a answer) {
	switch agent := a.seat.agent; {
	case a.err == nil:
		l.deny(denial{})
		agent.Answered(true)
	case isRefusal(a.err):
		agent.Answered(false)
	case errors.Is(a.err, store.ErrNoSpace):
		a.seat.doubted = a.epoch
		agent.NoSpace()
	default:
		a.seat.doubted = a.epoch
		agent.Unanswered()
		l.rounds = append(l.rounds, a.seat.rounds...) // nobody has said what is free
		a.seat.rounds = nil
	}
	l.see(revision{rev: a.state.Rev, whole: &a.state, asked: a.asked})
	l.endRounds(&a.seat.rounds)
}

// see passes to the agents what has happened in the line.
func (l *loop) see(r revision) {
	if r.whole != nil && !l.isOurs(r) {
		return
	}
	l.unread = l.unread && r.whole == nil
	now := clock.Now().Mono
	l.learn(r)
	l.size.Store(l.state.Size)
	for _, s := range l.seats {
		if r.whole == nil {
			s.agent.See(r.rev, now, r.changes...)
		} else {
			s.agent.Learn(*r.whole, now)
		}
	}
}

func (l *loop) endRounds(rounds *[]chan struct{}) {
	for _, r := range *rounds {
		close(r)
	}
	*rounds = nil
}

// askNames asks for the names of processes, unless that was done a short time ago.
func (l *loop) askNames() {
	if time.Since(l.named) < l.fleet.patience.limit() {
		return
	}
	l.named = time.Now()
	l.calls.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, l.fleet.patience.limit())
		defer cancel()
		_, _ = l.fleet.members(ctx) // who looks again has it asked again
	})
}
