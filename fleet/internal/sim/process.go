package sim

import (
	"slices"
	"time"

	"github.com/farad-go/farad/fleet/internal/line"
)

// A process has goroutines that want permits, clocks, and a tenancy, or remains of older ones.
type process struct {
	w       *world
	id      int
	alive   bool
	leaving bool
	paused  bool
	backlog []func() // what happens after the pause
	cut     bool     // from the network

	rate       float64 // of its clocks
	mono, wall int64   // what its clocks are ahead

	cur     *tenancy
	old     []*tenancy // that are lost, or end
	workers []*worker
	pending []*request // for the next tenancy

	numbers int64 // of entries
	denied  bool  // the server refuses what it asks

	opened   bool // there has been a watch
	watching bool
	stream   int   // number of the watch
	next     int   // index in the store's log of what the watch delivers next
	sent     int   // up to where deliveries are under way
	arrival  int64 // of the newest delivery
}

func (w *world) start(id, goroutines int) *process {
	p := &process{w: w, id: id, alive: true, rate: 1, mono: w.upTo(time.Hour)}
	p.wall = w.upTo(time.Hour)
	if w.Drift {
		p.rate += 0.02*w.rng.Float64() - 0.01
	}
	w.procs = append(w.procs, p)
	for i := range goroutines {
		g := &worker{p: p, id: i}
		p.workers = append(p.workers, g)
		g.think()
	}
	p.open()
	return p
}

func (p *process) clock() int64     { return p.mono + int64(float64(p.w.now)*p.rate) }
func (p *process) wallClock() int64 { return p.wall + int64(float64(p.w.now)*p.rate) }

// at lets do happen d ns of true time from now, if the process lives then, and runs.
func (p *process) at(d int64, do func()) { p.w.after(d, func() { p.run(do) }) }

// in lets do happen d ns from now, by the process's clock.
func (p *process) in(d int64, do func()) { p.at(int64(float64(d)/p.rate)+1, do) }

func (p *process) run(do func()) {
	switch {
	case !p.alive:
	case p.paused:
		p.backlog = append(p.backlog, do)
	default:
		do()
	}
}

func (p *process) pauseFor(d int64) {
	p.w.log("process %d: pause", p.id)
	p.paused = true
	suspend := p.w.chance(0.5)
	p.w.after(d, func() {
		p.w.log("process %d: goes on", p.id)
		if suspend {
			p.mono -= d
		}
		p.paused = false
		todo := p.backlog
		p.backlog = nil
		for _, do := range todo {
			p.run(do)
			p.w.check()
		}
	})
}

func (p *process) crash() {
	p.w.log("process %d: crash", p.id)
	p.alive, p.cut = false, true
	p.w.after(p.w.upTo(p.w.TTL), func() {
		if !p.w.ended {
			p.w.start(p.id, p.w.Goroutines)
		}
	})
}

func (p *process) cutFor(d int64) {
	if p.cut {
		return
	}
	p.w.log("process %d: cut off", p.id)
	p.cut = true
	p.stream++
	p.w.after(d, func() {
		if p.alive {
			p.w.log("process %d: connected", p.id)
			p.cut = false
			p.run(p.reconnect)
		}
	})
}

func (p *process) quiet() bool {
	if !p.alive {
		return true
	}
	for _, g := range p.workers {
		if g.holding != nil || g.waits != nil {
			return false
		}
	}
	return !p.paused
}

func (p *process) leave() {
	p.leaving = true
	if t := p.cur; t != nil {
		p.cur = nil
		p.old = append(p.old, t)
		t.agent.End()
		t.drive()
	}
}

// done reports whether nothing is held, and everything was returned.
func (p *process) done() bool {
	done := true
	p.tenancies(func(t *tenancy) { done = done && t.agent.Returned() && t.engine.held == 0 })
	return done
}

// number returns the number of an entry. None is returned twice.
func (p *process) number() int64 {
	p.numbers++
	return p.numbers
}

// reopen closes the line and opens it again after a time. Who waits gets an error. What is held
// stays held.
func (p *process) reopen() {
	t := p.cur
	if t == nil || p.leaving {
		return
	}
	p.w.log("process %d: closes", p.id)
	if p.w.Deny && p.w.chance(0.5) {
		p.deny(300 * time.Millisecond)
	}
	p.cur = nil
	p.old = append(p.old, t)
	t.agent.End()
	for _, r := range t.engine.queue {
		r.by.fail()
	}
	t.engine.queue = nil
	t.drive()
	p.at(p.w.upTo(100*time.Millisecond), func() {
		p.w.log("process %d: opens again", p.id)
		if p.cur == nil && t.session.valid() && !p.leaving {
			p.begin(t.session)
		} else {
			p.open()
		}
	})
}

// deny has the server refuse the process for a time of at most d.
func (p *process) deny(d time.Duration) {
	p.w.log("process %d: the server refuses it", p.id)
	p.denied = true
	p.w.after(p.w.upTo(d), func() {
		p.w.log("process %d: the server refuses it no more", p.id)
		p.denied = false
	})
}

// forget drops the tenancies of which nothing is left, and nothing can come later, or whose session
// is over.
func (p *process) forget() {
	p.old = slices.DeleteFunc(p.old, func(t *tenancy) bool {
		return (t.agent.Done() && p.w.Twice == 0 || t.over) && t.engine.held == 0
	})
}

// tenancies calls f for all of them.
func (p *process) tenancies(f func(t *tenancy)) {
	for _, t := range slices.Clone(p.old) {
		f(t)
	}
	if p.cur != nil {
		f(p.cur)
	}
}

// watch sends what is new in the log.
func (p *process) watch() {
	w := p.w
	if !p.watching || p.cut || !p.alive {
		return
	}
	stream := p.stream
	for ; p.sent < len(w.store.log); p.sent++ {
		i := p.sent
		p.arrival = max(p.arrival, w.now+w.upTo(w.Delay))
		r := w.store.log[i]
		p.at(p.arrival-w.now, func() {
			if p.stream != stream {
				return
			}
			p.next = i + 1
			p.tenancies(func(t *tenancy) {
				t.act(func() { t.agent.See(r.rev, p.clock(), r.changes...) })
			})
		})
	}
}

// reconnect begins a new watch: where the last one ended, or after reading everything anew, as
// after a compaction.
func (p *process) reconnect() {
	p.stream++
	if !p.opened {
		return // the next to open it reads first
	}
	if p.watching && !p.w.restored && p.w.chance(0.5) {
		p.sent = p.next
		p.watch()
		return
	}
	p.watching = false
	stream := p.stream
	p.read(func(s line.State, next int) {
		if p.stream == stream {
			p.watching, p.next, p.sent = true, next, next
			p.tenancies(func(t *tenancy) { t.act(func() { t.agent.Learn(s, p.clock()) }) })
			p.watch()
		}
	})
}

// read gets the line, and where a watch begins that continues it.
func (p *process) read(then func(s line.State, next int)) {
	asked := p.known()
	p.call(nil, func() func() {
		if p.denied {
			return func() { p.in(int64(afterRefusal), func() { p.read(then) }) }
		}
		s, next := p.w.store.state(), len(p.w.store.log)
		return func() {
			p.goBack(s, asked)
			then(s, next)
		}
	}, func() { p.read(then) })
}

// known returns the newest revision that the process knows of.
func (p *process) known() (rev int64) {
	p.tenancies(func(t *tenancy) {
		if t.valid() {
			rev = max(rev, t.agent.State().Rev)
		}
	})
	return rev
}

// goBack is called with each state that the server answers, and with what was known when it was
// asked. If that was more, the server has gone back: whatever the process has is not what it was.
func (p *process) goBack(s line.State, asked int64) {
	if s.Rev >= asked {
		return
	}
	p.w.log("process %d: the server went back from %d to %d", p.id, asked, s.Rev)
	if !p.w.restored {
		p.w.fail("a late answer is taken for one of a server that went back")
	}
	p.watching, p.opened = false, false
	p.stream++
	p.tenancies(func(t *tenancy) { t.over = true })
	p.tenancies(func(t *tenancy) { t.act(func() {}) })
}

// A session is a lease, and until when its process may rely on it.
type session struct {
	p        *process
	lease    int64
	deadline int64 // by the monotonic clock, and by the other
	wall     int64
	over     bool // it is lost, or was revoked because nothing is left
	epoch    int64
}

// A tenancy is an epoch in which the process keeps what it has: of one session, and until somebody
// else changes its entries.
type tenancy struct {
	*session
	engine   engine
	agent    *line.Agent
	first    int64 // number of its first entry, and of the next tenancy's
	end      int64
	lost     bool
	tampered bool
	wake     int64 // when it is to plan
	rung     bool  // it will look
	busy     bool  // a transaction is under way
	granted  int64 // when the newest block was seen
}

// open gets a lease and begins a tenancy.
func (p *process) open() {
	if p.cur != nil || p.leaving {
		return
	}
	w, sent, sentWall := p.w, p.clock(), p.wallClock()
	p.call(nil, func() func() {
		if w.full {
			return func() { p.in(int64(afterError), p.open) }
		}
		w.store.last++
		lease := w.store.last
		w.store.leases[lease] = w.now + int64(w.TTL)
		w.after(int64(w.TTL), func() { w.expire(lease) })
		return func() {
			s := &session{p: p, lease: lease}
			w.sessions[lease] = s
			s.validFrom(sent, sentWall)
			s.renew()
			p.begin(s)
		}
	}, p.open)
}

// begin begins a tenancy. Its agent continues where the watch is: a state that is older than what
// the watch has delivered would leave a gap.
func (p *process) begin(s *session) {
	w := p.w
	t := &tenancy{session: s, wake: line.Never, end: line.Never}
	t.engine.valid = t.valid
	t.engine.served = func(r *request) {
		r.token = t.stamp()
		r.by.serve(r)
	}
	t.engine.failed = func(r *request) { r.by.fail() }
	t.agent = line.NewAgent(t.lease, p.number, int64(w.Tenure), w.rw(), &t.engine)
	if w.Lean {
		t.agent.Lean()
	}
	t.first = p.numbers
	var last *line.Agent
	for _, o := range p.old {
		o.end = min(o.end, t.first)
		last = o.agent
	}
	if w.TxnOps > 0 {
		t.agent.Limit(w.TxnOps - 2) // and two guards
	}
	w.log("process %d: lease %d, from %d", p.id, t.lease, t.first)
	p.cur = t
	learn := func(s line.State) {
		t.act(func() {
			t.agent.Learn(s, p.clock())
			todo := p.pending
			p.pending = nil
			for _, r := range todo {
				p.request(r)
			}
		})
	}
	if p.watching && last != nil {
		learn(*last.State())
		return
	}
	if w.Unread && !w.Resize { // what it asks for may arrive before what it reads
		learn(line.State{Rev: line.Unread, Size: w.Size})
	}
	p.stream++
	p.watching = false
	p.read(func(s line.State, next int) {
		if p.cur == t {
			p.opened, p.watching, p.next, p.sent = true, true, next, next
			for _, o := range slices.Clone(p.old) { // of which the watch passed nothing meanwhile
				o.act(func() { o.agent.Learn(s, p.clock()) })
			}
			if p.cur == t {
				learn(s)
			}
			p.watch()
		}
	})
}

func (s *session) valid() bool {
	return !s.over && s.p.clock() < s.deadline && s.p.wallClock() < s.wall
}

func (t *tenancy) valid() bool { return !t.lost && t.session.valid() }

// validFrom sets until when the session is valid if the lease began, or was renewed, by a request
// that was sent at the given times.
func (s *session) validFrom(sent, sentWall int64) {
	ttl := int64(s.p.w.TTL)
	s.deadline, s.wall = sent+ttl-ttl/5, sentWall+ttl-ttl/5
	s.p.in(s.deadline-s.p.clock(), s.examine)
}

// examine has the tenancies see whether the session is still valid.
func (s *session) examine() {
	s.p.tenancies(func(t *tenancy) {
		if t.session == s {
			t.act(func() {})
		}
	})
}

func (s *session) renew() {
	p, w := s.p, s.p.w
	if s.over {
		return
	}
	p.in(int64(w.TTL)/3, s.renew)
	sent, sentWall := p.clock(), p.wallClock()
	p.callWithin(int64(w.TTL), nil, func() func() {
		_, ok := w.store.leases[s.lease]
		if ok {
			w.store.leases[s.lease] = w.now + int64(w.TTL)
		}
		return func() {
			switch {
			case !ok:
				s.over = true
				s.examine()
			case s.valid():
				s.validFrom(sent, sentWall)
			}
		}
	}, func() {})
}

// lose ends the tenancy. Those that wait do so in the next one.
func (t *tenancy) lose() {
	p, w := t.p, t.p.w
	if t.lost {
		return
	}
	w.log("process %d: lease %d is lost", p.id, t.lease)
	if !p.leaving {
		w.result.Losses++
	}
	if t.session.valid() && !t.tampered && !w.fenced() && !w.restored {
		w.fail("lease %d loses what nobody has taken", t.lease)
	}
	t.lost = true
	t.agent.Lose()
	p.pending = append(p.pending, t.engine.queue...)
	t.engine.queue = nil
	if !w.Deaf {
		for _, g := range p.workers {
			if r := g.holding; r != nil && r.engine == &t.engine {
				g.release()
			}
		}
	}
	t.drive()
	if p.cur == t {
		p.cur = nil
		p.old = append(p.old, t)
		if t.session.valid() {
			p.begin(t.session)
		} else {
			p.open()
		}
	}
}

// act does something with the agent, and what follows from it.
func (t *tenancy) act(do func()) {
	if !t.session.valid() {
		t.over = true
		t.lose()
	}
	rev := t.engine.rev
	do()
	if t.engine.rev != rev {
		t.granted = t.p.clock()
	}
	t.drive()
}

// drive does what the agent plans.
func (t *tenancy) drive() {
	p := t.p
	if t.agent.Lost() && !t.lost {
		t.lose()
		return
	}
	now := p.clock()
	txn, wake := t.agent.Plan(now)
	if wake != line.Never && (t.wake <= now || wake < t.wake) {
		t.wake = wake
		p.in(wake-now, func() {
			if t.wake == wake {
				t.wake = line.Never
			}
			t.act(func() {})
		})
	}
	if txn != nil {
		t.send(txn)
	}
	p.w.checkPlanned(t)
	p.forget()
	if p.leaving && p.done() {
		t.revoke()
	}
}

func (t *tenancy) send(txn *line.Txn) {
	p, w := t.p, t.p.w
	t.busy = true
	f := &flight{txn: txn, epoch: t.epoch, by: t}
	asked := t.agent.State().Rev
	p.w.log("process %d: sends %+v", p.id, *txn)
	for i, op := range txn.Ops {
		if slices.ContainsFunc(txn.Ops[:i], func(o line.Op) bool { return o.Key == op.Key }) {
			w.fail("lease %d changes %d/%d twice in a transaction", t.lease, op.Lease, op.Seq)
		}
	}
	p.call(f, func() func() {
		full := w.full && writes(txn)
		switch {
		case p.denied:
			return func() { t.refused(afterRefusal, asked, func() { t.agent.Answered(false) }) }
		case !w.store.takes(txn):
			w.fail("lease %d sends a transaction of %d operations", t.lease, len(txn.Ops))
		case full && !w.chance(0.1): // the one that finds it full is refused, and carried out
		case txn.Fence && w.store.fence(t.lease), !txn.Fence && w.store.commit(w.now, f):
			if txn.Merges {
				w.result.Merges++
			}
			w.changed()
		}
		if full {
			return func() { t.refused(afterError, asked, t.agent.NoSpace) }
		}
		s, epoch := w.store.state(), w.store.epochs[t.lease]
		return func() {
			t.epoch = max(t.epoch, epoch)
			t.answered(s, asked, func() { t.agent.Answered(true) })
		}
	}, func() {
		p.w.log("process %d: no answer", p.id)
		if w.Reopen && !w.ended && w.chance(0.2) {
			p.at(w.upTo(w.Delay), p.reopen)
		}
		p.read(func(s line.State, _ int) { t.answered(s, asked, t.agent.Unanswered) })
	})
}

// How long a driver waits before it asks the server again: after an error, and after it was
// refused.
const (
	afterError   = 50 * time.Millisecond
	afterRefusal = 100 * time.Millisecond
)

// refused is called when the server says no to the transaction. The agent notes it after a read.
func (t *tenancy) refused(wait time.Duration, asked int64, note func()) {
	p := t.p
	p.w.log("process %d: refused", p.id)
	p.in(int64(wait), func() {
		p.read(func(s line.State, _ int) { t.answered(s, asked, note) })
	})
}

func (t *tenancy) answered(s line.State, asked int64, note func()) {
	if t.valid() {
		t.p.goBack(s, asked)
	}
	t.act(func() {
		t.agent.Learn(s, t.p.clock())
		note()
		t.busy = false
	})
}

// revoke ends the lease of a process that leaves, once nothing is left on it: a late request would
// leave something there otherwise.
func (s *session) revoke() {
	if s.over {
		return
	}
	s.over = true
	w := s.p.w
	var send func()
	send = func() {
		s.p.call(nil, func() func() {
			s.p.tenancies(func(t *tenancy) {
				if t.session == s && t.engine.held > 0 {
					w.fail("lease %d is revoked while permits of it are held", s.lease)
				}
			})
			if w.store.end(s.lease) {
				w.changed()
			}
			return func() {}
		}, send)
	}
	send()
}

// request has a goroutine's request wait, or be served.
func (p *process) request(r *request) {
	t := p.cur
	if t != nil && !t.valid() {
		t.act(func() {})
		t = p.cur
	}
	if t == nil || t.agent.State().Rev == 0 {
		p.pending = append(p.pending, r)
		return
	}
	if t.engine.acquire(r) {
		p.ring(&t.engine)
	}
}

// ring wakes the driver because a request begins or ceases to wait, if it wants to know.
func (p *process) ring(e *engine) {
	if t := p.of(e); t != nil {
		if waits, _, _ := t.agent.Attention(); waits {
			t.look()
		}
	}
}

// ringForRelease wakes the driver after a release, if it wants to know.
func (p *process) ringForRelease(e *engine) {
	if t := p.of(e); t != nil {
		if _, idle, debt := t.agent.Attention(); debt || idle && e.size > e.held {
			t.look()
		}
	}
}

func (p *process) of(e *engine) (of *tenancy) {
	p.tenancies(func(t *tenancy) {
		if &t.engine == e {
			of = t
		}
	})
	return of
}

// look has the driver look soon. What happens until then is looked at together.
func (t *tenancy) look() {
	if !t.rung {
		t.rung = true
		t.p.at(t.p.w.upTo(t.p.w.Look), func() {
			t.rung = false
			t.act(func() {})
		})
	}
}
