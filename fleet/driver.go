package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/farad-go/farad/fleet/internal/clock"
	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/fleet/internal/share"
	"github.com/farad-go/farad/internal/observed"
)

// lookEvery is how often the goroutines of a process can have the driver look. What they tell
// between two looks is looked at together.
const lookEvery = 200 * time.Microsecond

// A driver runs the agents of one line over etcd: one for the current tenancy, and while an earlier
// tenancy of the same session has something to return, one for that.
//
// Its goroutine, run, is the only one that calls the agents. It commits one transaction at a time
// for each. A transaction whose answer is lost may have been applied or not, or may be applied
// later. So the driver reads the line before it goes on; the guards of the next one do the rest.
type driver struct {
	fleet *Fleet
	kind  string
	name  string
	store *store

	current atomic.Pointer[tenancy] // written under mu
	closed  atomic.Bool             // written under mu

	mu       sync.Mutex  // nothing is called under it but shares, and nobody is woken
	old      []*tenancy  // of which something is held; guarded by mu
	aged     atomic.Bool // there are some; set before the current tenancy is another
	observed bool        // the bit O of all tenancies; guarded by mu

	bell      share.Bell         // rung by goroutines of the process
	changed   chan struct{}      // the session or the tenancy is another, or closed is set
	revisions chan revision      // from the watch, and from who has read the line
	answers   chan answer        // of transactions
	refusals  chan error         // of transactions, of reads and of a new session
	rounds    chan chan struct{} // closed when the driver has asked the server once
	strangers chan struct{}      // somebody wants names that are not known
	returned  chan struct{}      // closed when everything is returned, after close
	stop      context.CancelFunc // ends run
	done      chan struct{}      // closed when run has ended, and all that it has started

	refusal atomic.Pointer[refusal] // the last one; set before the requests that it ends look for it

	size   atomic.Int64 // as far as is known
	losses atomic.Int64

	mirror
}

func newDriver(f *Fleet, kind, name string, s *store, first line.State) *driver {
	d := &driver{
		fleet: f, kind: kind, name: name, store: s,
		changed: make(chan struct{}, 1), revisions: make(chan revision),
		answers: make(chan answer), refusals: make(chan error),
		rounds: make(chan chan struct{}), strangers: make(chan struct{}, 1),
		returned: make(chan struct{}), done: make(chan struct{}),
	}
	d.bell.Init()
	d.size.Store(first.Size)
	d.learn(revision{rev: first.Rev, whole: &first})
	d.current.Store(newTenancy(d))
	if observed.Everything() != observed.Off {
		watched.Join(d)
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
	d.losses.Add(1)
	signal(d.changed)
}

// close ends all requests, and has everything returned.
func (d *driver) close() {
	d.mu.Lock()
	d.closed.Store(true)
	t := d.current.Load() // one that follows it is closed
	d.mu.Unlock()
	t.Close()
	signal(d.changed)
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
	doubt   bool            // one had no answer, and may be applied at any time until the session ends
	rounds  []chan struct{} // to be closed with its answer
}

// An answer is the line after a seat's transaction, or after a read if that was not answered.
type answer struct {
	seat  *seat
	state line.State
	doubt bool
	done  bool // the transaction was committed, or found its guards untrue
	full  bool // it was refused because there is no space
}

// A loop is what the driver's goroutine knows.
type loop struct {
	*driver
	ctx    context.Context
	calls  sync.WaitGroup  // the watch, and transactions
	seats  []*seat         // of tenancies that have or may get something
	next   int64           // number of the next agent's first entry
	rounds []chan struct{} // that wait for a transaction
	named  time.Time       // when names were asked for
}

// run is the driver's goroutine. It ends when everything was returned after close. If a transaction
// has had no answer, run goes on, and returns what that one may yet bring.
func (d *driver) run(ctx context.Context) {
	defer close(d.done)
	ctx, cancel := context.WithCancel(ctx)
	l := &loop{driver: d, ctx: ctx}
	first := l.state.Rev
	defer l.calls.Wait()
	defer cancel()
	l.calls.Go(func() { d.store.watch(ctx, first, d.revisions, func(err error) { d.tellRefusal(ctx, err) }) })
	defer l.endRounds(&l.rounds)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if l.reseat(); l.isReturned() && len(l.seats) == 0 {
			return
		}
		d.bell.Clear()
		looked := time.Now()
		timer.Reset(l.plan())
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-d.changed:
		case r := <-d.rounds:
			l.rounds = append(l.rounds, r)
		case <-d.strangers:
			l.askNames()
		case r := <-d.revisions:
			l.see(r)
		case a := <-d.answers:
			l.answered(a)
		case err := <-d.refusals:
			l.refused(err)
		case <-d.bell.C():
			pause(ctx, lookEvery-time.Since(looked))
		}
	}
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
	left := func(s *seat) bool { return !s.agent.Done() && (l.denied == nil || s.t.Held() > 0) }
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
	now := clock.Now().Mono
	seats := l.seats
	l.seats = nil
	for _, s := range seats {
		l.next = max(l.next, s.agent.Next())
		if l.closed.Load() && !s.agent.Lost() {
			s.agent.End()
		}
		if s.agent.Lost() || s.session.ends.Load() == nil { // the latter before d may leave f.drivers
			l.turn(func(t *tenancy) bool { return t == s.t })
		}
		if s.session.ends.Load() != nil && (s.doubt || !s.agent.Done()) {
			l.seats = append(l.seats, s)
		} else {
			l.endRounds(&s.rounds)
		}
	}
	t, session := l.current.Load(), l.fleet.session.Load()
	if l.closed.Load() || t.session.Load() != nil || session == nil || session.ends.Load() == nil {
		return
	}
	t.session.Store(session)
	s := &seat{t: t, session: session}
	rw := l.store.size == line.Everyone
	s.agent = line.NewAgent(int64(session.lease), l.next, int64(l.fleet.tenure), rw, &t.Share)
	s.agent.Learn(l.state, now)
	l.seats = append(l.seats, s)
	l.deny(nil)
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
	return time.Duration(min(max(0, wake-clock.Now().Mono), int64(time.Hour)))
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
		l.calls.Go(func() { l.commit(l.ctx, s, txn) })
	}
	return wake
}

// commit commits a transaction and sends its answer.
func (d *driver) commit(ctx context.Context, s *seat, txn *line.Txn) {
	st, err := d.store.within(ctx, func(ctx context.Context) (line.State, error) {
		return d.store.commit(ctx, txn, s.session.lease)
	})
	done, doubt := err == nil, err != nil && !isRefusal(err)
	full := errors.Is(err, rpctypes.ErrNoSpace) // and may have been applied: it may be what filled it
	for err != nil && ctx.Err() == nil {
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			d.fleet.lost(s.session)
		}
		d.tellRefusal(ctx, err)
		pause(ctx, retryAfter(err, d.store.limit))
		st, err = d.store.within(ctx, d.store.read)
	}
	select {
	case d.answers <- answer{s, st, doubt, done, full}:
	case <-ctx.Done():
	}
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
	a.seat.doubt = a.seat.doubt || a.doubt
	if a.done {
		l.deny(nil)
	}
	if a.full {
		a.seat.agent.NoSpace()
	} else {
		a.seat.agent.Answered()
	}
	l.see(revision{rev: a.state.Rev, whole: &a.state})
	l.endRounds(&a.seat.rounds)
}

// see tells the agents what has happened in the line.
func (l *loop) see(r revision) {
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
