package fleet

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/fleet/internal/clock"
	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/fleet/internal/share"
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/internal/observed"
)

// lookEvery is how often the goroutines of a process can have the driver look. What they report
// between two looks is looked at together.
const lookEvery = 200 * time.Microsecond

// A driver runs the agents of one line over a store: one for the current tenancy, and while an
// earlier tenancy of the same session has something to return, one for that.
//
// Its goroutine, run, is the only one that calls the agents. There is one while the inbox has
// something, and none at rest. It commits one transaction at a time for each agent. A transaction
// whose answer is lost may have been applied or not, or may be applied later. So the driver reads
// the line before it goes on; the guards of the next one do the rest.
//
// A driver that is closed stays until everything is returned, and nothing that it has sent can be
// applied any more, or until its session is over. The line may be opened again before that: by
// another driver, whose agent has other numbers. Neither touches what the other one has made.
type driver struct {
	fleet  *Fleet
	kind   string
	name   string
	remote *remote

	wanted int64 // the size if the line has none
	key    *key  // of a Keyed; otherwise nil

	current atomic.Pointer[tenancy] // written under mu
	closed  atomic.Bool             // written under mu

	mu       sync.Mutex  // nothing is called under it but shares, and nobody is woken
	old      []*tenancy  // of which something is held; guarded by mu
	aged     atomic.Bool // there are some; set before the current tenancy is another
	observed bool        // the bit O of all tenancies; guarded by mu

	bell     share.Bell         // rung by goroutines of the process
	in       inbox              // what run is to look at
	loop     loop               // what run knows
	reads    reads              // of the line
	prev     *driver            // that had the line before; nil: none
	ended    chan struct{}      // closed when the agents make no entries any more, after close
	returned chan struct{}      // closed when everything is returned, after close
	ctx      context.Context    //nolint:containedctx // of all that run starts
	stop     context.CancelFunc // ends run: wake has to be called
	done     chan struct{}      // closed when run has ended for good, and all that it has started

	refusal atomic.Pointer[refusal] // the last one; set before the requests that it ends look for it

	size   atomic.Int64 // as far as is known
	losses atomic.Int64

	mirror
}

func newDriver(f *Fleet, kind, name string, size int64, r *remote, first store.State) *driver {
	d := &driver{
		fleet: f, kind: kind, name: name, wanted: size, remote: r,
		ended: make(chan struct{}), returned: make(chan struct{}), done: make(chan struct{}),
	}
	d.ctx, d.stop = context.WithCancel(f.ctx)
	d.loop.driver = d
	d.in.run = d.run
	d.bell.Init(d.ring)
	d.size.Store(first.Size)
	d.learn(revision{rev: first.Rev, whole: &first})
	d.current.Store(newTenancy(d))
	if observed.Everything() != observed.Off {
		observedLines.Join(d)
	}
	return d
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// turn ends the current tenancy if end says so, and begins another one.
func (d *driver) turn(end func(*tenancy) bool) {
	d.mu.Lock()
	t := d.current.Load()
	if !end(t) {
		d.mu.Unlock()
		return
	}
	next := newTenancy(d)
	next.Observe(d.observed)
	if d.closed.Load() {
		next.Close()
	}
	d.old = append(d.old, t)
	d.aged.Store(true)
	d.current.Store(next) // before the waiters of t look for it
	d.mu.Unlock()
	t.end() // wakes the waiters of t
	d.forget()
	if t.Had() { // otherwise nothing is lost: the lease of one that was just lost has ended
		d.losses.Add(1)
	}
	d.wake()
}

// close ends all requests, and has everything returned.
func (d *driver) close() {
	d.mu.Lock()
	d.closed.Store(true)
	t := d.current.Load() // one that follows it is closed
	d.mu.Unlock()
	t.Close()
	d.wake()
}

// forget drops the old tenancies of which nothing is held.
func (d *driver) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.old = slices.DeleteFunc(d.old, func(t *tenancy) bool { return t.Held() == 0 })
	d.aged.Store(len(d.old) > 0)
}

// A seat is an agent, its tenancy and its session.
type seat struct {
	agent   *line.Agent
	t       *tenancy
	session *session
	doubted int64           // the epoch of the last transaction that had no answer
	rounds  []chan struct{} // to be closed with its answer
}

// An answer is the line after a seat's transaction, or after a read if that was not answered.
type answer struct {
	seat  *seat
	state store.State
	asked known
	epoch int64 // of the transaction
	err   error // of the transaction; nil if it was committed, or found its guards untrue
}

// A loop is what the driver's goroutine knows.
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

// run is the driver's goroutine. It ends when there is nothing to do, and for good when everything
// was returned after close, and nothing can come later.
func (d *driver) run() {
	l := &d.loop
	for {
		if d.ctx.Err() != nil {
			l.end()
			return
		}
		todo, ok := d.in.take()
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
		d.bell.Clear()
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
	if todo.readable {
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
			l.tellRefusal(denial{err, true})
			pause(l.ctx, retryAfter(err, l.fleet.askRefusedAfter()))
		}
		l.post(func(in *inbox) { in.reread = true })
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
		l.timer = time.AfterFunc(d, l.wake)
	default:
		l.timer.Reset(d)
	}
}

// end ends the driver for good.
func (l *loop) end() {
	l.sleepFor(never)
	l.fleet.feed.leave(l.driver)
	l.stop()
	l.reads.end()
	l.calls.Wait()
	l.endRounds(&l.rounds)
	for _, s := range l.seats {
		l.endRounds(&s.rounds)
	}
	close(l.done)
	l.fleet.ended(l.driver)
}

// isClosed reports whether c is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
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
		l.fleet.wakeNext(l.driver)
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
	if !session.valid() { // it was lost before it was ours to be told of
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
		if txn.Fence && epoch > doubted {
			return d.remote.read(ctx) // another line's doubt has ended this one's
		}
		return d.remote.commit(ctx, txn, s.session, epoch)
	})
	a := answer{seat: s, asked: asked, epoch: epoch, err: err}
	for read := false; err != nil && d.ctx.Err() == nil; read = true {
		if errors.Is(err, store.ErrEnded) {
			d.fleet.lost(s.session)
		}
		d.tellRefusal(denial{err, read})
		pause(d.ctx, retryAfter(err, d.fleet.askRefusedAfter()))
		st, err = d.remote.readWithin(d.ctx)
	}
	a.state = st
	d.post(func(in *inbox) { in.answers = append(in.answers, a) })
}

// pause waits for d, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
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
