package sim

import (
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
	p.tenancies(func(t *tenancy) { done = done && t.agent.Done() && t.engine.held == 0 })
	return done
}

// tenancies calls f for all of them.
func (p *process) tenancies(f func(t *tenancy)) {
	for i := 0; i < len(p.old); i++ {
		f(p.old[i])
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
		p.at(p.arrival-w.now, func() {
			if p.stream != stream {
				return
			}
			p.next = i + 1
			r := w.store.log[i]
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
		return // whoever opens it reads first
	}
	if p.watching && p.w.chance(0.5) {
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
	p.call(nil, func() func() {
		s, next := p.w.store.state(), len(p.w.store.log)
		return func() { then(s, next) }
	}, func() { p.read(then) })
}

// A session is a lease, and until when its process may rely on it.
type session struct {
	p        *process
	lease    int64
	deadline int64 // by the monotonic clock, and by the other
	wall     int64
	over     bool // it is lost, or was revoked because nothing is left
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
	told     bool  // it will look
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
	var last *line.Agent
	if n := len(p.old); n > 0 {
		last = p.old[n-1].agent
		t.first = last.Next()
		p.old[n-1].end = t.first
	}
	t.agent = line.NewAgent(t.lease, t.first, int64(w.Tenure), w.rw(), &t.engine)
	if w.TxnOps > 0 {
		t.agent.Limit(w.TxnOps - 1) // and the read
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
	p.stream++
	p.read(func(s line.State, next int) {
		if p.cur == t {
			p.opened, p.watching, p.next, p.sent = true, true, next, next
			learn(s)
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
	if p.leaving && p.done() {
		t.revoke()
	}
}

func (t *tenancy) send(txn *line.Txn) {
	p, w := t.p, t.p.w
	t.busy = true
	p.w.log("process %d: sends %v", p.id, txn.Ops)
	p.call(&flight{ops: txn.Ops, by: t}, func() func() {
		full := w.full && writes(txn.Ops)
		switch {
		case !w.store.takes(txn.Ops):
			return func() { t.refused(t.agent.Answered) }
		case full && !w.chance(0.1): // the one that finds it full is refused, and carried out
		case w.store.commit(w.now, txn.Ops):
			w.changed()
		}
		if full {
			return func() { t.refused(t.agent.NoSpace) }
		}
		s := w.store.state()
		return func() { t.answered(s, t.agent.Answered) }
	}, func() {
		p.w.log("process %d: no answer", p.id)
		p.read(func(s line.State, _ int) { t.answered(s, t.agent.Answered) })
	})
}

// afterError is how long a driver waits after an error of the server before it asks again.
const afterError = 50 * time.Millisecond

// refused is told that the server says no to the transaction. tell tells the agent, after a read.
func (t *tenancy) refused(tell func()) {
	p := t.p
	p.w.log("process %d: refused", p.id)
	p.in(int64(afterError), func() {
		p.read(func(s line.State, _ int) { t.answered(s, tell) })
	})
}

func (t *tenancy) answered(s line.State, tell func()) {
	t.act(func() {
		t.agent.Learn(s, t.p.clock())
		tell()
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
		p.tell(&t.engine)
	}
}

// tell tells the driver that a request begins or ceases to wait, if it wants to know.
func (p *process) tell(e *engine) {
	if t := p.of(e); t != nil {
		if waits, _, _ := t.agent.Attention(); waits {
			t.look()
		}
	}
}

// tellOfRelease tells the driver of a release, if it wants to know.
func (p *process) tellOfRelease(e *engine) {
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

// look has the driver look soon. What it is told until then is looked at together.
func (t *tenancy) look() {
	if !t.told {
		t.told = true
		t.p.at(t.p.w.upTo(t.p.w.Look), func() {
			t.told = false
			t.act(func() {})
		})
	}
}
