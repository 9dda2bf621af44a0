package sim

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/farad-go/farad/fleet/fence"
	"github.com/farad-go/farad/fleet/internal/line"
)

// A world is a run: virtual time, and everything that happens in it.
type world struct {
	Config
	rng       *rand.Rand
	now       int64 // ns
	events    events
	nth       int64 // event
	store     store
	procs     []*process
	flights   []*flight
	outage    bool // until the store answers again
	full      bool // the server takes nothing but what deletes
	ended     bool // goroutines ask for nothing more
	resizes   int
	tenure    int64              // the longest so far
	allowed   int64              // the size, or what was held when it fell
	allowedAt map[int64]int64    // the same, by revision
	sessions  map[int64]*session // by their leases
	restored  bool               // the store went back a short time ago
	gate      *fence.Gate
	last      fence.Token // the greatest that was seen
	failure   string
	trace     bool
	result    Result
}

// A Result is what a run has shown.
type Result struct {
	Failure  string   // the property that was violated, empty if none was
	Schedule []string // what happened, if it was asked for

	Served   []int         // requests, of each process
	Writes   int           // transactions that changed something, while goroutines asked
	Losses   int           // tenancies lost
	Overlaps int           // steps in which more were inside than the size, with tokens ignored
	Refused  int           // tokens that the resource refused
	Wait     time.Duration // the longest of a request
	WaitUsed float64       // the longest wait of an entry, as a share of its bound
	Steps    int64
	Turns    int // the most blocks that a process got while one request was its oldest
	Restores int // of an older revision
	Merges   int // transactions that merged entries
	Entries  int // the most of one lease at a time, if a transaction has as many operations as usual
}

// Run makes one run. With trace it records the schedule.
func Run(c Config, trace bool) Result { return newWorld(c, trace).run() }

func newWorld(c Config, trace bool) *world {
	w := &world{
		Config: c, rng: rand.New(rand.NewPCG(c.Seed, 7)), trace: trace,
		store: store{
			rev: 10, size: c.Size, leases: map[int64]int64{}, epochs: map[int64]int64{},
			most: cmp.Or(c.TxnOps, defaultTxnOps),
		},
		sessions: map[int64]*session{},
		allowed:  c.Size, allowedAt: map[int64]int64{}, gate: fence.NewGate(c.Size),
	}
	w.result.Served = make([]int, c.Processes+1) // the newcomer's too
	for i := range c.Processes {
		w.start(i, c.Goroutines)
	}
	w.inject()
	w.after(int64(c.Length), w.finish)
	return w
}

func (w *world) run() Result {
	for w.failure == "" && len(w.events) > 0 {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		w.result.Steps++
		e.do()
		w.check()
	}
	w.result.Failure = w.failure
	return w.result
}

type event struct {
	at, nth int64
	do      func()
}

type events []event

func (h events) Len() int { return len(h) }
func (h events) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].nth < h[j].nth
}
func (h events) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *events) Push(x any)   { *h = append(*h, x.(event)) }
func (h *events) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}

// after lets do happen d ns from now.
func (w *world) after(d int64, do func()) {
	w.nth++
	heap.Push(&w.events, event{w.now + max(d, 0), w.nth, do})
}

func (w *world) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
		w.log("%s", w.failure)
	}
}

func (w *world) log(format string, args ...any) {
	if w.trace {
		s := fmt.Sprintf(format, args...)
		w.result.Schedule = append(w.result.Schedule, fmt.Sprintf("%10.3fms  %s", float64(w.now)/1e6, s))
	}
}

func (w *world) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

// upTo returns a random time of at most d.
func (w *world) upTo(d time.Duration) int64 { return w.rng.Int64N(int64(d) + 1) }

// takes returns how long a goroutine does something that takes at most d.
func (w *world) takes(d time.Duration) int64 {
	if w.Steady {
		return int64(d)
	}
	return w.upTo(d)
}

// A flight is a transaction that may still be applied.
type flight struct {
	txn    *line.Txn
	epoch  int64
	by     *tenancy
	copies int
}

// timeout is how long a client waits for an answer.
func (w *world) timeout() int64 { return int64(4*w.Delay + 20*time.Millisecond) }

// call sends a request. apply runs where it arrives, if it does, and returns what the answer does
// at the client. The client gives up after the timeout: then it does unanswered.
func (p *process) call(f *flight, apply func() (answer func()), unanswered func()) {
	p.callWithin(p.w.timeout(), f, apply, unanswered)
}

func (p *process) callWithin(timeout int64, f *flight, apply func() (answer func()), unanswered func()) {
	w, over := p.w, false
	p.at(timeout, func() {
		if !over {
			over = true
			unanswered()
		}
	})
	copies := 1
	if w.chance(w.Twice) {
		copies = 2
	}
	if f != nil {
		w.flights = append(w.flights, f)
		f.copies = copies
	}
	arrive := func() {
		if f != nil {
			f.copies--
		}
		answer := apply()
		if p.cut || w.chance(w.Loss) {
			return
		}
		p.at(w.travels(), func() {
			if !over {
				over = true
				answer()
			}
		})
	}
	for range copies {
		lost := p.cut || w.chance(w.Loss)
		w.after(w.travels(), func() {
			switch {
			case lost || w.outage && w.chance(0.5):
				if f != nil {
					f.copies--
				}
			case w.outage:
				w.whenUp(arrive)
			default:
				arrive()
			}
		})
	}
}

// travels returns how long a message is under way.
func (w *world) travels() int64 {
	if w.chance(w.Late) {
		return w.upTo(w.TTL)
	}
	return w.upTo(w.Delay)
}

func (w *world) whenUp(do func()) {
	if w.outage {
		w.after(int64(10*time.Millisecond), func() { w.whenUp(do) })
		return
	}
	do()
}

// changed follows a change of the store: it is seen by all, later.
func (w *world) changed() {
	st := w.store.state()
	w.tenure = max(w.tenure, line.Tenure(&st, int64(w.Tenure)))
	w.store.settle(w.turn)
	w.checkLine()
	w.checkFits()
	w.checkOwners()
	w.checkRung()
	if w.trace {
		w.log("      line at %d, size %d: %s", w.store.rev, w.store.size, w.store.draw())
	}
	for _, p := range w.procs {
		p.watch()
	}
}

func (s *store) draw() string {
	var b []byte
	for i := range s.entries {
		e := &s.entries[i]
		b = fmt.Appendf(b, " %d/%d:%d", e.Lease, e.Seq, e.Weight)
		if e.held {
			b = append(b, '*')
		}
	}
	return string(b)
}

// expire ends a lease when its time has come.
func (w *world) expire(lease int64) {
	switch end, ok := w.store.leases[lease]; {
	case !ok:
	case w.outage:
		w.after(int64(w.TTL)/10, func() { w.expire(lease) })
	case w.now < end:
		w.after(end-w.now, func() { w.expire(lease) })
	default:
		w.log("lease %d ends", lease)
		w.store.end(lease)
		w.changed()
	}
}

// inject chooses when faults happen.
func (w *world) inject() {
	some := func(on bool, most int, do func()) {
		if !on {
			return
		}
		for range 1 + w.rng.IntN(most) {
			w.after(w.upTo(w.Length*3/4), do)
		}
	}
	one := func(do func(p *process)) func() {
		return func() {
			if p := w.procs[w.rng.IntN(len(w.procs))]; p.alive && !p.paused {
				do(p)
			}
		}
	}
	some(w.Crash, 3, one(func(p *process) { p.crash() }))
	some(w.Cut, 3, one(func(p *process) { p.cutFor(w.upTo(2 * w.TTL)) }))
	some(w.Loss > 0, 5, one(func(p *process) { p.reconnect() }))
	some(w.Pause, 3, one(func(p *process) { p.pauseFor(w.upTo(2 * w.TTL)) }))
	some(w.Jump, 3, one(func(p *process) {
		back := w.upTo(2 * w.TTL)
		if w.chance(0.3) {
			p.wall += back
		} else {
			p.mono -= back
			p.wall -= back
		}
		w.log("process %d: clock jumps", p.id)
	}))
	some(w.Outage, 1, func() {
		w.log("no quorum")
		w.outage = true
		w.after(w.upTo(2*w.TTL), func() {
			w.log("quorum")
			w.outage = false
			if w.chance(0.5) { // a new leader
				for lease := range w.store.leases {
					w.store.leases[lease] = max(w.store.leases[lease], w.now+int64(w.TTL))
				}
			}
		})
	})
	some(w.Lag, 20, one(func(p *process) {
		p.arrival = max(p.arrival, w.now+w.upTo(w.lag()))
		w.log("process %d: its watch stands still until %.3fms", p.id, float64(p.arrival)/1e6)
	}))
	some(w.Resize, 8, w.resize)
	some(w.Revoke, 2, one(func(p *process) {
		if p.cur != nil {
			w.log("an operator revokes lease %d", p.cur.lease)
			w.store.end(p.cur.lease)
			w.changed()
		}
	}))
	some(w.Tamper, 4, w.tamper)
	some(w.Full, 1, w.fill)
	some(w.Reopen, 12, one(func(p *process) { p.reopen() }))
	some(w.Deny, 3, one(func(p *process) { p.deny(w.TTL) }))
	some(w.Restore, 1, func() {
		disk := w.store.copy()
		w.after(w.upTo(w.TTL/2), func() { w.restore(disk) })
	})
}

// restore has the server go back to what it had. Leases last as if they had just been renewed, and
// new ones have other numbers than those that are forgotten. Who watches notices after a time.
func (w *world) restore(disk *store) {
	w.log("the server goes back from revision %d to %d", w.store.rev, disk.rev)
	disk.last, disk.commits = w.store.last, w.store.commits
	w.store = *disk
	w.restored = true
	w.result.Restores++
	for _, lease := range slices.Sorted(maps.Keys(w.store.leases)) {
		w.store.leases[lease] = w.now + int64(w.TTL)
		w.after(int64(w.TTL), func() { w.expire(lease) })
	}
	for _, p := range w.procs {
		p.at(w.upTo(w.TTL/2), p.reconnect)
	}
	w.after(int64(3*w.TTL), func() { w.restored = false })
	w.changed()
}

// fill leaves the server without space for a time. Who is in the line then is served all the same:
// for each entry there, no later than what it may take with two refusals.
func (w *world) fill() {
	w.log("no space")
	w.full = true
	w.after(w.upTo(2*w.TTL), func() {
		w.log("space")
		w.full = false
	})
	if !w.timely() {
		return
	}
	var waiting []line.Key
	for _, e := range w.store.entries {
		if !e.held {
			waiting = append(waiting, e.Key)
		}
	}
	refusal := int64(afterError)*102/100 + int64(4*w.Delay)
	w.after(int64(len(w.store.entries))*(w.perEntry()+2*refusal), func() {
		for _, k := range waiting {
			if i := w.store.find(k); w.full && i >= 0 && !w.store.entries[i].held {
				w.fail("%d/%d is not served while there is no space", k.Lease, k.Seq)
			}
		}
	})
}

// resize changes the size. Nothing is a size, too, for a while.
func (w *world) resize() {
	size := w.rng.Int64N(2*w.Size + 1)
	if w.store.size == 0 {
		size = max(1, size)
	}
	w.resizes++
	w.store.rev++
	w.store.size, w.store.sizeMod = size, w.store.rev
	w.store.logged([]line.Change{{Key: line.SizeKey, Weight: size}})
	w.log("the size is %d", size)
	w.changed()
	if size == 0 {
		w.after(w.upTo(w.Length/8), w.resize)
	}
	if n := w.resizes; w.Loss == 0 {
		w.after(int64(w.Hold+w.lag()+10*w.Delay), func() {
			if held := w.store.held(all); w.resizes == n && held > size {
				w.fail("%d are still held of %d", held, size)
			}
		})
	}
}

// lag is for how long a watch stands still at most.
func (w *world) lag() time.Duration {
	if w.Lag {
		return 200 * time.Millisecond
	}
	return 0
}

func (w *world) tamper() {
	if len(w.store.entries) == 0 {
		return
	}
	e := w.store.entries[w.rng.IntN(len(w.store.entries))]
	if w.chance(0.3) {
		w.log("an operator writes an entry of lease %d on none", e.Lease)
		w.store.stray(e.Lease)
		w.changed()
		return
	}
	w.store.rev++
	weight := w.rng.Int64N(2 * e.Weight)
	w.log("an operator changes %d/%d to %d", e.Lease, e.Seq, weight)
	w.store.logged([]line.Change{w.store.put(w.now, e.Key, weight)})
	for _, p := range w.procs {
		p.tenancies(func(t *tenancy) { t.tampered = t.tampered || t.lease == e.Lease })
	}
	w.changed()
}

// finish lets goroutines finish, then asks for everything at once, then has everybody leave.
func (w *world) finish() {
	w.log("nobody asks any more")
	w.ended = true
	w.result.Writes = w.store.commits
	w.wait("a request is not served", w.limit(), w.quiet, func() { w.rest(w.newcomer) })
}

// rest waits until nothing is left that nobody uses, if agents are lean.
func (w *world) rest(then func()) {
	w.wait("something idle is left", w.limit(), func() bool { return !w.Lean || len(w.store.entries) == 0 }, then)
}

// newcomer has a new process ask for the whole size.
func (w *world) newcomer() {
	w.log("a newcomer asks for everything")
	p := w.start(len(w.procs), 0)
	g := &worker{p: p}
	p.request(&request{by: g, n: w.store.size, since: w.now})
	w.wait("permits are lost", w.limit(), func() bool { return g.served > 0 && g.holding == nil }, func() {
		w.wait("a line that is closed is not forgotten", w.limit(), w.forgotten, w.part)
	})
}

// part has everybody leave.
func (w *world) part() {
	w.log("all leave")
	for _, p := range w.procs {
		p.leave()
	}
	w.wait("entries are left", w.limit(), func() bool { return len(w.store.entries) == 0 }, func() { w.events = nil })
}

// forgotten reports whether the processes have nothing left of tenancies that are over. Those of
// which requests may arrive twice stay until their session ends.
func (w *world) forgotten() bool {
	return w.Twice > 0 || !slices.ContainsFunc(w.procs, func(p *process) bool { return p.alive && len(p.old) > 0 })
}

// limit is a time in which everything should be done, with late messages, dead leases and all.
func (w *world) limit() int64 {
	return int64(4*w.TTL) + int64(w.Processes*w.Goroutines+2)*2*(w.tenure+int64(w.Hold+10*w.Delay)) + 20*w.timeout()
}

func (w *world) quiet() bool {
	for _, p := range w.procs {
		if !p.quiet() {
			return false
		}
	}
	return true
}

func (w *world) wait(what string, limit int64, until func() bool, then func()) {
	switch {
	case until():
		then()
	case limit < 0:
		w.fail("%s", what)
	default:
		step := int64(5 * time.Millisecond)
		w.after(step, func() { w.wait(what, limit-step, until, then) })
	}
}
