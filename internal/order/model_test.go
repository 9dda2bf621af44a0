package order

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// The model is an Order in a slice: each decision looks at all requests, and sums are exact.
type model struct {
	Config
	requests []*request // in the order of arrival
	lanes    map[any]*modelLane
	virtual  int64 // shares: the virtual time
	served   int64 // permits popped
	popped   any   // the tenant of the last one
	samples  []sample
	told     int64   // the time that was told last
	last     *sample // the last pop, if no permit has been free ever since
	undated  bool
}

type sample struct {
	at, took, n int64
	window      float64
}

type modelLane struct {
	weight              int64
	start               *big.Rat
	since               int64
	newest, shedding    bool
	above, next         int64
	count, countAtStart int
}

type request struct {
	w            waiting.Waiter
	ticket       *Ticket
	id           int
	tenant       any
	at, served   int64
	gone, popped bool
}

func (m *model) of(tenant any) (own []*request) {
	for _, r := range m.requests {
		if r.tenant == tenant {
			own = append(own, r)
		}
	}
	return own
}

// head returns the request of a tenant that comes next, nil if it has none.
func (m *model) head(tenant any) *request {
	own := m.of(tenant)
	switch {
	case own == nil:
		return nil
	case m.lanes[tenant].newest:
		return own[len(own)-1]
	default:
		return own[0]
	}
}

// end is where the share of r ends if it is served next.
func (m *model) end(r *request) *big.Rat {
	l := m.lanes[r.tenant]
	return new(big.Rat).Add(l.start, big.NewRat(r.w.N*unit, l.weight))
}

func ceil(x *big.Rat) int64 {
	q, rest := new(big.Int).QuoRem(x.Num(), x.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		return q.Int64() + 1
	}
	return q.Int64()
}

func (m *model) key(r *request) int64 {
	switch {
	case m.Shares:
		return ceil(m.end(r))
	case m.Classes == 0:
		return 0
	default:
		return max(0, int64(r.tenant.(int))-(m.served-r.served)/int64(m.Aging))
	}
}

func (m *model) first() (first *request) {
	for tenant := range m.lanes {
		r := m.head(tenant)
		if first == nil || m.key(r) < m.key(first) || m.key(r) == m.key(first) && r.id < first.id {
			first = r
		}
	}
	return first
}

func (m *model) leave(r *request) {
	m.requests = slices.DeleteFunc(m.requests, func(q *request) bool { return q == r })
	r.gone = true
	if m.of(r.tenant) == nil {
		delete(m.lanes, r.tenant)
	}
	if len(m.requests) == 0 {
		m.virtual, m.served = 0, 0
	}
}

func (m *model) date(now int64) {
	if m.undated {
		for _, r := range m.requests {
			r.at = now
			m.lanes[r.tenant].since = now
		}
	}
	m.undated = false
}

// limits as the documentation says.
func (m *model) limits() (target, interval int64) {
	target, interval = int64(5*time.Millisecond), int64(100*time.Millisecond)
	if m.Target != 0 {
		target = int64(m.Target)
	}
	if m.Interval != 0 {
		interval = int64(m.Interval)
	}
	return target, interval
}

func (m *model) adapt(tenant any, now int64) (shed []*request) {
	target, interval := m.limits()
	l, limit := m.lanes[tenant], interval
	if now-l.since >= interval {
		l.newest, limit = true, target
	}
	for _, r := range m.of(tenant) {
		most := limit
		if len(m.of(tenant)) == 1 {
			most = max(limit, interval)
		}
		if now-r.at > most && len(m.requests) > 1 {
			shed = append(shed, r)
			m.leave(r)
		}
	}
	return shed
}

// control follows the pseudo-code of RFC 8289 to the letter, where a packet that was taken out of
// the queue is r here.
func (m *model) control(tenant any, now int64) (shed []*request) {
	target, interval := m.limits()
	l := m.lanes[tenant]
	law := func(t int64) int64 { return t + int64(float64(interval)/math.Sqrt(float64(l.count))) }
	var r *request
	dequeue := func() bool {
		own := m.of(tenant)
		r = own[0]
		if now-r.at <= target || len(own) == 1 {
			l.above = 0
		} else if l.above == 0 {
			l.above = now + interval
		} else if now >= l.above {
			return true
		}
		return false
	}
	drop := func() {
		shed = append(shed, r)
		m.leave(r)
	}
	ok := dequeue()
	if l.shedding {
		if !ok {
			l.shedding = false
		}
		for now >= l.next && l.shedding {
			drop()
			l.count++
			if !dequeue() {
				l.shedding = false
			} else {
				l.next = law(l.next)
			}
		}
	} else if ok {
		drop()
		dequeue()
		l.shedding = true
		delta := l.count - l.countAtStart
		l.count = 1
		if delta > 1 && now-l.next < 16*interval {
			l.count = delta
		}
		l.next = law(now)
		l.countAtStart = l.count
	}
	return shed
}

func (m *model) settle(tenant any, now int64) []*request {
	switch m.Shed {
	case ShedCoDel:
		return m.control(tenant, now)
	case ShedAdaptiveLIFO:
		return m.adapt(tenant, now)
	default:
		return nil
	}
}

// pace returns how many ns a permit takes by the samples, 0 if they are too few.
func (m *model) pace() float64 {
	if len(m.samples) < 16 {
		return 0
	}
	average := func(samples []sample) float64 { // ns per permit
		permits, ns, weight := 0.0, 0.0, 1.0
		for _, s := range slices.Backward(samples) {
			permits, ns = permits+weight*float64(s.n), ns+weight*float64(s.took)
			weight *= 1 - 1/s.window
		}
		return ns / permits
	}
	pace := average(m.samples)
	if m.last != nil {
		due := sample{took: m.told - m.last.at, n: m.last.n, window: float64(max(32, len(m.requests)))}
		pace = max(pace, average(append(m.samples, due)))
	}
	return pace
}

// predicted returns how long a request would wait by the samples, 0 if they are too few.
func (m *model) predicted(tenant any, weight int, n int64) float64 {
	pace, rest := m.pace(), 0.0
	if m.last != nil {
		rest = max(0, pace*float64(m.last.n)-float64(m.told-m.last.at))
	}
	var own, all, urgent, weights float64
	for _, r := range m.requests {
		all += float64(r.w.N)
		if r.tenant == tenant {
			own += float64(r.w.N)
		}
		if c, ok := r.tenant.(int); m.Classes > 0 && ok && c < tenant.(int) {
			urgent += float64(r.w.N)
		}
	}
	for t, l := range m.lanes {
		if t != tenant {
			weights += float64(l.weight)
		} else if l.newest {
			own = 0
		}
	}
	need := urgent + own + float64(n)
	if m.Shares {
		need = min((own+float64(n))*(weights+float64(weight))/float64(weight), all+float64(n))
	}
	return need*pace + rest
}

func (m *model) push(
	r *request, weight int, now, deadline, permits int64, staged bool,
) (shed []*request, _ waiting.Outcome) {
	m.date(now)
	if m.head(r.tenant) != nil && m.Shed == ShedAdaptiveLIFO {
		shed = m.adapt(r.tenant, now)
	}
	m.told = now
	if len(m.requests) == 0 && !staged {
		m.last = nil
	}
	all, own := len(m.requests), len(m.of(r.tenant))
	if staged {
		all++
		if m.popped == r.tenant {
			own++
		}
	}
	if m.MaxWaiting > 0 && all >= m.MaxWaiting || m.MaxWaitingPerTenant > 0 && own >= m.MaxWaitingPerTenant {
		return shed, waiting.QueueFull
	}
	if m.RefuseLate && deadline != 0 && len(m.requests) >= 2 &&
		float64(now)+m.predicted(r.tenant, weight, r.w.N)+float64(permits)*m.pace() > float64(deadline) {
		return shed, waiting.WouldExpire
	}
	l := m.lanes[r.tenant]
	if l == nil {
		l = &modelLane{weight: int64(weight), start: big.NewRat(m.virtual, 1), since: now}
		m.lanes[r.tenant] = l
	}
	if l.weight != int64(weight) {
		l.weight = int64(weight)
		l.start = big.NewRat(ceil(l.start), 1)
	}
	r.at, r.served = now, m.served
	m.requests = append(m.requests, r)
	return shed, waiting.Pending
}

func (m *model) pop(now int64) (shed []*request, r *request) {
	m.date(now)
	for r = m.first(); r != nil; {
		shed = append(shed, m.settle(r.tenant, now)...)
		before := r.tenant
		if r = m.first(); r.tenant == before {
			break
		}
	}
	if r == nil {
		return shed, nil
	}
	if m.timed() {
		m.measure(now, r.w.N)
	}
	if m.Shares {
		l, end := m.lanes[r.tenant], m.end(r)
		if ceil(end) >= m.virtual {
			m.virtual, l.start = ceil(end), end
		} else {
			l.start = big.NewRat(m.virtual, 1)
		}
	}
	m.served += r.w.N
	r.popped = true
	m.popped = r.tenant
	m.leave(r)
	return shed, r
}

// measure notes that n permits are next.
func (m *model) measure(now, n int64) {
	if m.last != nil {
		w := float64(max(32, len(m.requests)))
		m.samples = append(m.samples, sample{took: now - m.last.at, n: m.last.n, window: w})
	}
	m.last, m.told = &sample{at: now, n: n}, now
}

func (m *model) stage(tenant any, n, now int64, held bool) {
	m.popped = tenant
	switch {
	case !m.timed():
	case held:
		m.measure(now, n)
	default:
		m.last = nil
	}
}

func (m *model) set(q Queue) {
	was := m.Queue
	m.Queue = q
	if !m.timed() {
		m.samples, m.last = nil, nil
	}
	m.undated = m.timed() && (m.undated || !was.timed())
	if q.Shed != was.Shed {
		for _, l := range m.lanes {
			*l = modelLane{weight: l.weight, start: l.start, since: l.since}
		}
	}
}

// A world runs an Order beside its model.
type world struct {
	t     testing.TB
	order *Order
	model *model
	all   []*request
	now   int64
	log   []string

	tenants int // the requests' are from 0 to tenants-1
}

func newWorld(t testing.TB, c Config) *world {
	tenants := 5 // as many as there are classes
	if c.Shares {
		tenants = 2 * few // so that they are found in both ways
	}
	return &world{t: t, order: New(c), model: &model{Config: c, lanes: map[any]*modelLane{}}, tenants: tenants}
}

func (w *world) logf(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

// must fails the test with the log. It formats nothing before: require would take most of the time.
func (w *world) must(ok bool, format string, args ...any) {
	if !ok {
		w.t.Helper()
		require.Fail(w.t, fmt.Sprintf(format, args...), "%v", w.log)
		w.t.FailNow()
	}
}

// told requires that exactly these were told this outcome, in any order between lanes.
func (w *world) told(wake *waiting.WakeList, shed []*request, outcome waiting.Outcome) {
	wake.Wake()
	for _, r := range shed {
		w.must(r.w.Status() == waiting.StatusComplete, "request %d is not told", r.id)
		w.must(r.w.Outcome() == outcome, "request %d is told %v", r.id, r.w.Outcome())
	}
	w.check()
}

// push returns the request if it waits.
func (w *world) push(tenant any, n, deadline, permits int64, staged bool) *request {
	r := &request{id: len(w.all), tenant: tenant}
	if !w.model.Shares && w.model.Classes == 0 {
		r.tenant = nil // one lane
	}
	w.all = append(w.all, r)
	r.w.N = n
	r.w.Arm(nil)
	weight := w.order.Weigh(tenant)
	wanted := w.model.predicted(r.tenant, weight, n)
	w.logf("%d: push %d, %v for %d", w.now, r.id, tenant, n)
	var wake waiting.WakeList
	if !w.model.undated && w.model.Shed != ShedAdaptiveLIFO {
		delay := w.order.Delay(tenant, weight, n)
		w.must(math.Abs(float64(delay)-wanted) <= 1+1e-3*wanted, "delay %d, not %f", delay, wanted)
	}
	t, outcome := w.order.Push(&r.w, &By{tenant, weight, deadline, permits}, w.now, staged, &wake)
	shed, want := w.model.push(r, weight, w.now, deadline, permits, staged)
	w.must(outcome == want, "%v, not %v", outcome.Err(), want.Err())
	w.told(&wake, shed, waiting.Shed)
	if outcome != waiting.Pending {
		w.must(t == nil, "a ticket for who does not wait")
		r.gone = true
		r.w.Reset()
		return nil
	}
	r.ticket = t
	return r
}

func (w *world) pop() *request {
	var wake waiting.WakeList
	got := w.order.Pop(w.now, &wake)
	shed, want := w.model.pop(w.now)
	w.logf("%d: pop", w.now)
	if want == nil {
		w.must(got == nil, "something is popped")
	} else {
		w.must(got == &want.w, "not %d", want.id)
	}
	w.told(&wake, shed, waiting.Shed)
	return want
}

// stage has a request of a tenant be next at once, if nothing waits.
func (w *world) stage(tenant any, n int64, held bool) {
	if w.order.Len() > 0 {
		return
	}
	w.logf("%d: stage %d of %v, %t", w.now, n, tenant, held)
	w.order.Stage(tenant, n, w.now, held)
	if !w.order.Divided() {
		tenant = nil
	}
	w.model.stage(tenant, n, w.now, held)
}

func (w *world) remove(r *request) {
	w.logf("%d: remove %d", w.now, r.id)
	w.must(w.order.Remove(r.ticket, &r.w) != r.gone, "removed, or not")
	if !r.gone {
		w.model.leave(r)
	}
	w.check()
}

func (w *world) end(largest int64, drain bool) {
	var wake waiting.WakeList
	outcome := waiting.TooLarge
	if drain {
		outcome, largest = waiting.Closed, 0
		w.order.Drain(outcome, &wake)
	} else {
		w.order.Reject(largest, &wake)
	}
	w.logf("%d: all for more than %d end with %v", w.now, largest, outcome.Err())
	var ended []*request
	for _, r := range slices.Clone(w.model.requests) {
		if r.w.N > largest {
			w.model.leave(r)
			ended = append(ended, r)
		}
	}
	w.told(&wake, ended, outcome)
}

func (w *world) set(q Queue) {
	w.logf("%d: set %+v", w.now, q)
	w.order.Set(q)
	w.model.set(q)
	w.must(w.model.Queue == w.order.config.Queue, "another queue")
	w.check()
}

// check requires that who waits is the same here and there, and the structure sound.
func (w *world) check() {
	w.t.Helper()
	w.must(w.order.Len() == len(w.model.requests), "%d wait, not %d", w.order.Len(), len(w.model.requests))
	for _, r := range w.all {
		if r.ticket != nil {
			w.must(r.gone != (r.ticket.w == &r.w), "request %d has a ticket, or has none", r.id)
		}
		if !r.gone || r.popped {
			w.must(r.w.Status() == waiting.StatusWaiting, "request %d was told", r.id)
		}
	}
	w.must(unsound(w.order) == "", "%s", unsound(w.order))
}

// unsound returns what is wrong with the structure of an Order.
func unsound(o *Order) string {
	size, permits := 0, int64(0)
	for _, l := range o.policy.all() {
		n, sum := 0, int64(0)
		var last *Ticket
		for tk := l.front; tk != nil; last, tk = tk, tk.next {
			if tk.w == nil || tk.lane != l || tk.prev != last || last != nil && last.seq >= tk.seq {
				return "a ticket is not in its place"
			}
			n, sum = n+1, sum+tk.n
		}
		if l.back != last || l.size != n || l.permits != sum || n == 0 {
			return "a lane does not know what it has"
		}
		size, permits = size+n, permits+sum
	}
	if o.size != size || o.permits != permits {
		return "the order does not know what waits"
	}
	spares := 0
	for t := o.spare; t != nil; t = t.next {
		if *t != (Ticket{next: t.next}) {
			return "a spare ticket remembers something"
		}
		spares++
	}
	if spares != o.spares || spares > size+minSpares {
		return "too many spare tickets"
	}
	switch p := o.policy.(type) {
	case *ledger:
		return p.unsound()
	case *shares:
		return p.unsound()
	case *classes:
		for i := range p.lanes {
			if l := &p.lanes[i]; l.size == 0 && *l != (lane{}) {
				return "an empty lane remembers something"
			}
		}
	}
	return ""
}

func (s *shares) unsound() string {
	weights := int64(0)
	for i, l := range s.heap.lanes {
		if l.share.place != i+1 || i > 0 && l.before(s.heap.lanes[(i-1)/2]) {
			return "the heap is out of order"
		}
		if s.find(l.tenant) != l {
			return "a tenant does not find its lane"
		}
		if int64(l.share.start-s.now) > 0 {
			return "a lane starts after the virtual time"
		}
		weights += l.share.weight
	}
	mapped := len(s.tenants.lanes) + len(s.tenants.old)
	switch {
	case s.mapped && mapped != len(s.heap.lanes) || !s.mapped && mapped > 0:
		return "a tenant that does not wait has a lane"
	case !s.mapped && len(s.heap.lanes) > few:
		return "many tenants are looked for one by one"
	case weights != s.weights:
		return "the weights do not add up"
	}
	return s.heap.unsound()
}

// descend returns the request that comes next in l.
func (l *lane) descend() *Ticket {
	for ; l.account.group != nil; l = l.account.group.heap.lanes[0] {
		if len(l.account.group.heap.lanes) == 0 {
			return nil
		}
	}
	if l.size == 0 {
		return nil
	}
	return l.head()
}

// lineOf is line, and remembers nothing.
func (g *ledger) lineOf(tenant any) *lane { return g.tenants.find(tenant).line() }

func (g *ledger) unsound() string {
	held, n, used := int64(0), 0, 0
	if why := g.family.unsound(g, nil); why != "" {
		return why
	}
	for a := g.inUse.first; a != nil; a = a.next {
		used++
		l := &a.lane
		x, f := &l.share, g.home(l)
		if in := a.parent; a.group != nil || in == nil || in.tenant != l.tenant {
			n++ // The others are found by their groups.
		}
		switch h := l.descend(); {
		case l.account != a || h != l.first() || (a.head != nil) != (x.place > 0 && !l.owes):
			return "a lane does not know its first request"
		case a.group == nil && g.lineOf(l.tenant) != l || a.group != nil && g.group(l.tenant) != l:
			return "a tenant does not find its lane"
		case h != nil && (a.most < 0 || a.held+h.w.N <= a.most):
			if l.owes || x.place == 0 || f.heap.lanes[x.place-1] != l || a.head != h || x.seq != h.seq || !l.active {
				return "a lane is ready, and not in the heap"
			}
		case h == nil && a.held == 0 && (a.group == nil || a.group.live == 0):
			if !l.owes || f.debts.lanes[x.place-1] != l || int64(x.tag-f.now) <= 0 || l.active {
				return "an account is kept for nothing"
			}
		case x.place != 0 || !l.active:
			return "a lane is in a heap, and not ready"
		}
		if a.group == nil {
			held += a.held
		} else if why := a.group.unsound(g, l); why != "" {
			return why
		}
	}
	switch {
	case held != g.held:
		return "the sums are wrong"
	case g.path != nil:
		return "a call left its path behind"
	case g.answer != nil && g.answer != g.tenants.find(g.asked):
		return "the lane that was found last is another one"
	case g.granted != nil && g.granted != g.lineOf(g.granted.tenant):
		return "the line that was granted last is another one"
	}
	if used != g.inUse.n {
		return "not all accounts in use are counted"
	}
	named := 0
	for kind, s := range g.spare {
		spares := 0
		for a := s.first; a != nil; a = a.next {
			clean := *a == account{
				lane: lane{account: a, tenant: a.lane.tenant}, prev: a.prev, next: a.next, group: a.group,
				spare: a.spare, parent: a.parent,
			}
			switch {
			case a.spare && g.tenants.find(a.lane.tenant) != &a.lane:
				return "a spare lane is not found"
			case a.spare:
				named++
			case a.lane.tenant != nil || a.parent != nil:
				return "a spare lane remembers a tenant in vain"
			}
			if !clean || (a.group != nil) != (kind == 1) {
				return "a spare lane remembers something"
			}
			if gr := a.group; gr != nil && (gr.live != 0 || gr.own != nil || gr.now != 0 || gr.looked != 0 ||
				gr.weights != 0 || len(gr.heap.lanes) > 0 || len(gr.debts.lanes) > 0) {
				return "a spare group remembers something"
			}
			spares++
		}
		if spares != s.n || spares > minLanes {
			return "too many spare lanes"
		}
	}
	if n+named != len(g.tenants.lanes)+len(g.tenants.old) {
		return "an account is not in the list"
	}
	return ""
}

// unsound returns what is wrong with the family within a lane, or at the top if that is nil.
func (f *family) unsound(g *ledger, in *lane) string {
	for _, h := range []heap{f.heap, f.debts} {
		for i, l := range h.lanes {
			if l.share.place != i+1 || i > 0 && l.before(h.lanes[(i-1)/2]) || l.account.parent != in {
				return "a heap is out of order"
			}
		}
		for _, l := range h.lanes[len(h.lanes):cap(h.lanes)] {
			if l != nil {
				return "a heap keeps a lane that it does not have"
			}
		}
	}
	weights, held, live := int64(0), int64(0), 0
	for a := g.inUse.first; a != nil; a = a.next {
		l := &a.lane
		if a.parent != in {
			continue
		}
		if l.share.place > 0 && !l.owes {
			weights += l.share.weight
		}
		if l.active {
			live++
		}
		held += a.held
		if g.debit == DebitGrants && int64(l.share.start-f.now) > 0 {
			return "a lane starts after the virtual time"
		}
	}
	switch {
	case weights != f.weights:
		return "the weights do not add up"
	case in != nil && (held != in.account.held || live != in.account.group.live):
		return "a group does not know what is within it"
	}
	return ""
}

func (h *heap) unsound() string {
	if cap(h.lanes) > max(minLanes, 4*(len(h.lanes)+1)) {
		return "too many spare lanes"
	}
	for _, l := range h.lanes[len(h.lanes):cap(h.lanes)] {
		if l != nil && *l != (lane{}) {
			return "a spare lane remembers something"
		}
	}
	return ""
}

// configs are what the model is compared for.
func configs() map[string]Config {
	weight := func(tenant any) int { return []int{1, 2, 3, 7, 1 << 20}[tenant.(int)%5] }
	all := map[string]Config{}
	for name, c := range map[string]Config{
		"line":       {},
		"shares":     {Shares: true},
		"weights":    {Shares: true, Weight: weight},
		"priorities": {Classes: 5, Aging: 3},
	} {
		all[name] = c
		c.Shed = ShedCoDel
		all[name+", CoDel"] = c
		c.Shed = ShedAdaptiveLIFO
		all[name+", LIFO"] = c
		c.Shed, c.Queue = ShedNone, Queue{MaxWaiting: 12, MaxWaitingPerTenant: 4, RefuseLate: true}
		all[name+", bounds"] = c
	}
	return all
}

// run does what the bytes say.
func (w *world) run(data []byte) {
	next := func() int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b)
	}
	for len(data) > 0 {
		switch op := next(); op % 16 {
		case 0, 1, 2, 3, 4, 5:
			deadline := int64(0)
			if d := int64(next()); d > 64 {
				deadline = w.now + d<<18
			}
			w.push(next()%w.tenants, 1+int64(next()%8), deadline, int64(op/16%4), op >= 16)
		case 6, 7, 8, 9, 10:
			w.pop()
		case 11, 12:
			w.now += int64(next()) << (op / 16)
		case 13:
			if len(w.all) > 0 {
				if r := w.all[next()*len(w.all)/256]; r.ticket != nil {
					w.remove(r)
				}
			}
		case 14:
			w.now += int64(next()) << 18
		case 15:
			switch op / 16 {
			case 0:
				w.end(int64(1+next()%8), false)
			case 1:
				w.end(0, true)
			case 2, 3:
				w.set(Queue{
					MaxWaiting: next() % 4 * 4, MaxWaitingPerTenant: next() % 3 * 2, RefuseLate: next()%2 == 0,
					Shed: Shed(next() % 3), Target: time.Duration(next()) << 15, Interval: time.Duration(next()) << 18,
				})
			default:
				w.stage(next()%5, 1+int64(next()%8), next()%4 > 0)
			}
		}
	}
	w.drain()
}

// drain pops the rest: everything leaves.
func (w *world) drain() {
	for w.order.Len() > 0 {
		w.must(w.pop() != nil, "something waits, and nothing comes")
	}
	w.must(w.pop() == nil, "something comes, and nothing waits")
	for _, r := range w.all {
		w.must(r.gone, "request %d is still there", r.id)
	}
}

// random calls run with the operations of a few random worlds, or of many under stress.
func random(few, many int, run func(data []byte)) {
	worlds := few
	if locktest.Stress() {
		worlds = many
	}
	for seed := range worlds {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		data := make([]byte, 600)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		run(data)
	}
}

func TestAgainstModel(t *testing.T) {
	for name, c := range configs() {
		t.Run(name, func(t *testing.T) {
			random(20, 100, func(data []byte) { newWorld(t, c).run(data) })
		})
	}
}

func FuzzAgainstModel(f *testing.F) {
	f.Add(uint8(0), []byte{0, 0, 0, 0, 6})
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		all := configs()
		names := make([]string, 0, len(all))
		for name := range all {
			names = append(names, name)
		}
		slices.Sort(names)
		if len(data) > 2000 {
			data = data[:2000]
		}
		newWorld(t, all[names[int(which)%len(names)]]).run(data)
	})
}

// CoDel that starts again soon after it has helped goes on at the rate that helped. After 16
// intervals it starts from the beginning. The model says which, for all times around that.
func TestCoDelStartsAgain(t *testing.T) {
	const interval = 10
	anew := 0
	for turn := range 160 {
		calm := 10*interval + turn/2 // and both ways to end
		w := newWorld(t, Config{Queue: Queue{Shed: ShedCoDel, Target: 5, Interval: interval}})
		push := func() { w.push(0, 1, 0, 0, true) }
		overload := func() { // twice the load
			w.now += 2
			push()
			push()
			w.pop()
		}
		for range 50 {
			overload()
		}
		c := &w.order.policy.(*classes).lanes[0].codel
		if turn%2 == 0 { // What it sheds leaves only new ones.
			w.now += 5 * interval
			push()
			push()
		}
		for c.shedding {
			w.pop()
		}
		for w.order.Len() > 1 {
			w.pop()
		}
		require.Greater(t, c.count, c.last+1)
		w.now += int64(calm)
		push()
		w.pop()
		require.False(t, c.shedding)
		for !c.shedding {
			overload()
		}
		if c.count == 1 {
			anew++
		}
		overload()
		w.drain()
	}
	require.Greater(t, anew, 0)
	require.Less(t, anew, 160)
}
