package order

import (
	"maps"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// A forest is the model of an Order with a tree of accounts, in lists and exact fractions: each
// decision looks at everybody.
type forest struct {
	debit         Debit
	mean          int64
	top           *plot // the parent of those without one; not in the maps
	lines, groups map[int]*plot
	arrivals      int
	began         int // accounts
}

// A plot is a line or a group.
type plot struct {
	tenant              int
	parent              *plot
	weight, most        int64
	held, charged, used int64
	at, mean            int64
	start               *big.Rat
	ready               bool
	line                []*ask
	group               bool
	now                 int64 // of a group
	seq                 int   // how many accounts began before
}

func newForest(debit Debit) *forest {
	return &forest{
		debit: debit, top: &plot{group: true, most: -1}, lines: map[int]*plot{}, groups: map[int]*plot{},
	}
}

func (f *forest) all() (all []*plot) {
	for _, m := range []map[int]*plot{f.lines, f.groups} {
		for _, p := range m {
			all = append(all, p)
		}
	}
	return all
}

func (f *forest) in(parent *plot) (in []*plot) {
	for _, p := range f.all() {
		if p.parent == parent {
			in = append(in, p)
		}
	}
	return in
}

func (f *forest) active(p *plot) bool {
	return len(p.line) > 0 || p.held > 0 || slices.ContainsFunc(f.in(p), f.active)
}

func (f *forest) cost(p *plot, n int64) int64 {
	if f.debit == DebitGrants {
		return n * unit
	}
	return max(1, n*p.mean)
}

func (f *forest) end(p *plot, n int64) *big.Rat {
	return new(big.Rat).Add(p.start, big.NewRat(f.cost(p, n), p.weight))
}

// next returns the request that would come next in p.
func (f *forest) next(p *plot) (first *ask) {
	if !p.group {
		if len(p.line) > 0 {
			first = p.line[0]
		}
		return first
	}
	tag := int64(0)
	for _, q := range f.in(p) {
		if !q.ready {
			continue
		}
		a := f.next(q)
		t := ceil(f.end(q, a.w.N))
		if first == nil || t < tag || t == tag && a.seq < first.seq {
			first, tag = a, t
		}
	}
	return first
}

// settle finds out whether p, and what it is within, is ready.
func (f *forest) settle(p *plot) {
	for ; p != f.top; p = p.parent {
		was, a := p.ready, f.next(p)
		p.ready = a != nil && (p.most < 0 || p.held+a.w.N <= p.most)
		if p.ready && !was {
			f.begin(p)
		}
	}
}

func (f *forest) begin(p *plot) {
	if now := big.NewRat(p.parent.now, 1); f.debit == DebitGrants || p.start.Cmp(now) < 0 {
		p.start = now
	}
}

// sweep forgets those of whom nothing is left.
func (f *forest) sweep() {
	idle := !f.active(f.top)
	for gone := true; gone; {
		gone = false
		for _, p := range f.all() {
			if f.active(p) {
				continue
			}
			p.now = 0
			if idle || p.parent != f.top && !f.active(p.parent) || ceil(p.start) <= p.parent.now {
				gone = true
				if p.group {
					delete(f.groups, p.tenant)
				} else {
					delete(f.lines, p.tenant)
				}
			}
		}
	}
	if idle {
		f.top.now = 0
	}
}

func (f *forest) open(c *Claim, clock int64) *plot {
	tenant := c.Tenant.(int)
	if p := f.lines[tenant]; p != nil {
		return p
	}
	p := &plot{
		tenant: tenant, weight: int64(c.Weight), most: c.Most, at: clock, mean: f.mean, parent: f.top,
	}
	if own := f.groups[tenant]; own != nil {
		p.parent, p.most = own, -1
	} else if len(c.Path) > 0 {
		p.parent = f.groupOf(c.Path[1:], clock)
	}
	p.start = big.NewRat(p.parent.now, 1)
	f.lines[tenant] = p
	p.seq = f.began
	f.began++
	return p
}

func (f *forest) groupOf(path []Level, clock int64) *plot {
	if len(path) == 0 {
		return f.top
	}
	v := path[0]
	tenant := v.Tenant.(int)
	if p := f.groups[tenant]; p != nil {
		return p
	}
	p := &plot{group: true, tenant: tenant, weight: int64(v.Weight), most: v.Most, at: clock, mean: f.mean}
	line := f.lines[tenant]
	if line == nil {
		p.parent = f.groupOf(path[1:], clock)
		p.start = big.NewRat(p.parent.now, 1)
		f.groups[tenant] = p
		return p
	}
	if in := line.parent; !f.active(line) {
		line.parent = f.groupOf(path[1:], clock)
		line.start = new(big.Rat).Add(line.start, big.NewRat(line.parent.now-in.now, 1))
	}
	p.parent, p.start, p.ready = line.parent, line.start, line.ready
	p.held, p.charged, p.used, p.at, p.mean = line.held, line.charged, line.used, line.at, line.mean
	f.groups[tenant] = p
	if f.active(line) {
		p.weight, p.most = line.weight, line.most
		line.parent, line.most, line.start, line.ready = p, -1, new(big.Rat), false
		f.settle(line)
	} else {
		if p.weight != line.weight {
			p.start = big.NewRat(ceil(p.start), 1)
		}
		delete(f.lines, tenant)
	}
	return p
}

func (f *forest) accrue(p *plot, clock int64) {
	if f.debit == DebitTime {
		p.used += p.held * (clock - p.at)
		p.at = clock
	}
}

func (f *forest) grant(p *plot, n, clock int64) {
	for ; p != f.top; p = p.parent {
		end := f.end(p, n)
		f.accrue(p, clock)
		p.held += n
		if f.debit != DebitGrants {
			p.charged += f.cost(p, n)
		}
		switch tag := ceil(end); {
		case p.group || f.debit != DebitGrants || tag >= p.parent.now:
			p.parent.now, p.start = max(p.parent.now, tag), end
		default:
			p.start = big.NewRat(p.parent.now, 1)
		}
	}
}

// within returns where a request of c would be, and the part of its path from there on.
func (f *forest) within(c *Claim, clock int64) (*plot, []Level) {
	if p := f.lines[c.Tenant.(int)]; p != nil {
		if p.parent.group && p.parent != f.top && p.parent.tenant == p.tenant {
			return p.parent, c.Path
		}
		return p.parent, c.Path[min(1, len(c.Path)):]
	}
	for i, v := range c.Path {
		if p := f.groups[v.Tenant.(int)]; p != nil {
			return p, c.Path[i:]
		}
		if line := f.lines[v.Tenant.(int)]; line != nil && f.active(line) {
			return f.groupOf(c.Path[i:], clock), c.Path[i:]
		}
	}
	return f.top, nil
}

func (f *forest) take(c *Claim, n, clock int64) bool {
	p := f.lines[c.Tenant.(int)]
	if p != nil && len(p.line) > 0 || c.Most >= 0 && n > c.Most || p != nil && c.Most >= 0 && p.held+n > c.Most {
		return false
	}
	in, path := f.within(c, clock)
	for {
		if f.next(in) != nil || in.most >= 0 && in.held+n > in.most {
			return false
		}
		if in == f.top {
			break
		}
		if len(path) > 0 {
			if v := path[0]; v.Tenant == in.tenant && (int64(v.Weight) != in.weight || v.Most != in.most) {
				return false
			}
			path = path[1:]
		}
		in = in.parent
	}
	p = f.open(c, clock)
	if p.weight != int64(c.Weight) {
		p.start = big.NewRat(ceil(p.start), 1)
	}
	p.weight = int64(c.Weight)
	if p.parent == f.top || p.parent.tenant != p.tenant {
		p.most = c.Most
	}
	for q := p; q != f.top; q = q.parent {
		f.begin(q)
	}
	f.grant(p, n, clock)
	f.sweep()
	return true
}

// push reports whether a waits.
func (f *forest) push(a *ask, c *Claim, clock int64) bool {
	for in, _ := f.within(c, clock); in != f.top; in = in.parent {
		if in.most >= 0 && a.w.N > in.most {
			return false
		}
	}
	p := f.open(c, clock)
	a.seq = f.arrivals
	f.arrivals++
	p.line = append(p.line, a)
	f.settle(p)
	return true
}

func (f *forest) pop(free, clock int64) *ask {
	a := f.next(f.top)
	if a == nil || a.w.N > free {
		return nil
	}
	p := f.lines[a.tenant]
	f.grant(p, a.w.N, clock)
	p.line = p.line[1:]
	f.settle(p)
	f.sweep()
	return a
}

func (f *forest) drop(a *ask) {
	p := f.lines[a.tenant]
	p.line = slices.DeleteFunc(slices.Clone(p.line), func(x *ask) bool { return x == a })
	f.settle(p)
	f.sweep()
}

func (f *forest) giveBack(tenant int, n, cost, clock int64) bool {
	line := f.lines[tenant]
	if line == nil || line.held < n {
		return false
	}
	for p := line; p != f.top; p = p.parent {
		if f.debit != DebitGrants {
			f.accrue(p, clock)
			paid, cost := p.charged*n/p.held, cost
			known := cost >= 0 || f.debit == DebitTime
			if f.debit == DebitTime {
				cost, p.used = p.used, 0
			} else if !known {
				cost = paid
			}
			p.charged -= paid
			p.start = new(big.Rat).Add(p.start, big.NewRat(cost-paid, p.weight))
			if known {
				move(&p.mean, cost/n, 8)
				if p == line {
					move(&f.mean, cost/n, 32)
				}
			}
		}
		p.held -= n
	}
	f.settle(line)
	f.sweep()
	return true
}

func move(mean *int64, sample, part int64) {
	if *mean == 0 {
		*mean = sample
	} else {
		*mean += (sample - *mean) / part
	}
}

func (f *forest) amend(c *Claim, clock int64) (ended []*ask) {
	f.within(c, clock)
	for _, v := range c.Path {
		p := f.groups[v.Tenant.(int)]
		if p == nil && v.Tenant == c.Tenant {
			p = f.lines[v.Tenant.(int)]
		}
		if p != nil {
			ended = append(ended, f.change(p, v.Weight, v.Most)...)
		}
	}
	return ended
}

func (f *forest) change(p *plot, weight int, most int64) (ended []*ask) {
	if p.weight != int64(weight) {
		p.start = big.NewRat(ceil(p.start), 1)
		if own := f.lines[p.tenant]; p.group && own != nil && own.parent == p {
			f.change(own, weight, -1)
		}
	}
	smaller := most >= 0 && (p.most < 0 || most < p.most)
	p.weight, p.most = int64(weight), most
	f.settle(p)
	lines := slices.SortedFunc(maps.Values(f.lines), func(p, q *plot) int { return p.seq - q.seq })
	for _, q := range lines { // in the order of the Order: whom one lets be ready meanwhile begins anew
		for in := q; in != nil && smaller; in = in.parent {
			if in == p {
				small := func(a *ask) bool { return a.w.N <= most }
				ended = append(ended, slices.DeleteFunc(slices.Clone(q.line), small)...)
			}
		}
	}
	for _, a := range ended {
		f.drop(a)
	}
	f.sweep()
	return ended
}

// A garden runs an Order with a tree of accounts beside its model, and has permits.
type garden struct {
	t       testing.TB
	order   *Order
	model   *forest
	free    int64
	clock   int64
	parents [9]int // a larger number, or 0 for none
	weights [9]int
	most    [9]int64
	waiting []*ask
	held    []*ask
}

func newGarden(t testing.TB, debit Debit) *garden {
	k := &garden{t: t, free: 8, model: newForest(debit), parents: [9]int{5, 5, 6, 6, 7, 7, 7, 8}}
	k.order = New(Config{Shares: true, Accounts: true, Debit: debit})
	for i := range k.weights {
		k.weights[i], k.most[i] = 1+i%4*i, -1
	}
	return k
}

// claim returns who asks, and the least cap of its path.
func (k *garden) claim(tenant int) (c *Claim, most int64) {
	c = &Claim{By: By{Tenant: tenant, Weight: k.weights[tenant]}, Most: k.most[tenant]}
	most = -1
	for i := tenant; ; i = k.parents[i] {
		c.Path = append(c.Path, Level{i, k.weights[i], k.most[i]})
		if m := k.most[i]; m >= 0 && (most < 0 || m < most) {
			most = m
		}
		if k.parents[i] == 0 {
			return c, most
		}
	}
}

func (k *garden) ended(wake *waiting.WakeList, asks []*ask, outcome waiting.Outcome) {
	wake.Wake()
	for _, a := range asks {
		require.Equal(k.t, waiting.StatusComplete, a.w.Status())
		require.Equal(k.t, outcome, a.w.Outcome())
		k.waiting = slices.DeleteFunc(k.waiting, func(x *ask) bool { return x == a })
	}
	for _, a := range k.waiting {
		require.Equal(k.t, waiting.StatusWaiting, a.w.Status())
	}
}

func (k *garden) amend(tenant int) {
	var wake waiting.WakeList
	c, _ := k.claim(tenant)
	k.order.Amend(c, &wake)
	k.ended(&wake, k.model.amend(c, k.clock), waiting.TooLarge)
}

func (k *garden) ask(tenant int, n int64, news bool) {
	c, most := k.claim(tenant)
	a := &ask{tenant: tenant}
	a.w.N = n
	if most >= 0 && n > most {
		return
	}
	if news {
		k.amend(tenant)
	}
	if n <= k.free {
		took := k.order.Take(c, n, k.clock)
		require.Equal(k.t, k.model.take(c, n, k.clock), took)
		if took {
			k.granted(a)
			return
		}
	}
	if !news {
		k.amend(tenant)
	}
	a.w.Arm(nil)
	var wake waiting.WakeList
	ticket, outcome := k.order.PushCapped(&a.w, c, k.clock, &wake)
	if !k.model.push(a, c, k.clock) {
		require.Equal(k.t, waiting.TooLarge, outcome)
		return
	}
	require.Equal(k.t, waiting.Pending, outcome)
	a.ticket = ticket
	k.waiting = append(k.waiting, a)
}

func (k *garden) serve() {
	var wake waiting.WakeList
	for {
		w, tenant := k.order.PopFit(k.free, k.clock, &wake)
		a := k.model.pop(k.free, k.clock)
		if a == nil {
			require.Nil(k.t, w)
			return
		}
		require.Same(k.t, &a.w, w)
		require.Equal(k.t, a.tenant, tenant)
		k.waiting = slices.DeleteFunc(k.waiting, func(x *ask) bool { return x == a })
		k.granted(a)
	}
}

// granted checks that all caps have allowed a.
func (k *garden) granted(a *ask) {
	k.free -= a.w.N
	k.held = append(k.held, a)
	for p := k.model.lines[a.tenant]; p != k.model.top; p = p.parent {
		require.True(k.t, p.most < 0 || p.held <= p.most, "tenant %d holds %d of %d", p.tenant, p.held, p.most)
	}
}

func (k *garden) giveBack(i int, cost int64) {
	a := k.held[i]
	k.held = slices.Delete(k.held, i, i+1)
	require.True(k.t, k.order.Return(a.tenant, a.w.N, cost, k.clock))
	require.True(k.t, k.model.giveBack(a.tenant, a.w.N, cost, k.clock))
	k.free += a.w.N
}

func (k *garden) check() {
	require.Empty(k.t, unsound(k.order))
	g := k.order.ledger
	lines, groups := 0, 0
	for a := g.inUse.first; a != nil; a = a.next {
		if a.group != nil {
			groups++
		} else {
			lines++
		}
	}
	require.Equal(k.t, len(k.model.lines), lines, "lines")
	require.Equal(k.t, len(k.model.groups), groups, "groups")
	require.Equal(k.t, k.model.top.now, int64(g.now))
	require.Equal(k.t, len(k.waiting), k.order.Len())
	for _, p := range k.model.all() {
		find := g.lineOf
		if p.group {
			find = g.group
		}
		l := find(p.tenant)
		require.True(k.t, l != nil)
		a := l.account
		if p.group {
			require.Equal(k.t, p.now, int64(a.group.now))
		}
		if p.parent == k.model.top {
			require.Nil(k.t, a.parent)
		} else {
			require.Same(k.t, g.group(p.parent.tenant), a.parent)
		}
		require.Equal(k.t, p.held, a.held)
		require.Equal(k.t, p.most, a.most)
		require.Equal(k.t, p.ready, l.share.place > 0 && !l.owes, "tenant %d is ready", p.tenant)
		require.Equal(k.t, p.mean, a.mean)
		if p.ready || k.model.debit != DebitGrants {
			start := new(big.Rat).SetFrac64(int64(l.share.start)*p.weight+l.share.rest, p.weight)
			require.Zero(k.t, p.start.Cmp(start), "tenant %d starts at %v, not %v", p.tenant, start, p.start)
		}
	}
}

// run does what the bytes say.
func (k *garden) run(data []byte) {
	next := func() int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b)
	}
	for len(data) > 0 {
		switch op := next(); op % 12 {
		case 0, 1, 2, 3, 4:
			k.ask(next()%len(k.most), 1+int64(next()%4), op < 128)
		case 5, 6, 7, 8:
			if len(k.held) > 0 {
				k.giveBack(next()%len(k.held), int64(next()%64)-8)
			}
		case 9:
			if len(k.waiting) > 0 {
				a := k.waiting[next()%len(k.waiting)]
				require.True(k.t, k.order.Remove(a.ticket, &a.w))
				require.False(k.t, k.order.Remove(a.ticket, &a.w))
				k.model.drop(a)
				k.waiting = slices.DeleteFunc(k.waiting, func(x *ask) bool { return x == a })
			}
		case 10:
			tenant := next() % len(k.most)
			switch k.most[tenant] = int64(next()%8) - 1; {
			case op > 160:
				k.weights[tenant] = 1 + next()%9
			case op > 80: // the next request brings the news
				continue
			case op > 60:
				if parent := tenant + 1 + next()%4; parent < len(k.parents) {
					k.parents[tenant] = parent
				} else {
					k.parents[tenant] = 0
				}
			}
			k.amend(tenant)
		case 11:
			k.clock += int64(next()) << (op / 16)
			require.False(k.t, k.order.Return(9, 1, -1, k.clock), "it holds nothing")
		}
		k.serve()
		k.check()
	}
	for len(k.held) > 0 {
		k.giveBack(0, 1)
		k.serve()
		k.check()
	}
	var wake waiting.WakeList
	k.order.Drain(waiting.Closed, &wake)
	k.model = newForest(k.model.debit)
	k.ended(&wake, slices.Clone(k.waiting), waiting.Closed)
	k.model.mean = k.order.ledger.mean
	k.check()
}

func TestTreeAgainstModel(t *testing.T) {
	for name, debit := range debits {
		t.Run(name, func(t *testing.T) {
			random(20, 400, func(data []byte) { newGarden(t, debit).run(data) })
		})
	}
}

func FuzzTree(f *testing.F) {
	f.Add(uint8(0), []byte{0, 0, 3, 0, 1, 3, 0, 0, 3, 5, 0, 9})
	f.Fuzz(func(t *testing.T, debit uint8, data []byte) {
		newGarden(t, Debit(debit%3)).run(data[:min(len(data), 2000)])
	})
}

// A spot is a request in a tree, whose overtakers are counted at each level.
type spot struct {
	w      waiting.Waiter
	ticket *Ticket
	tenant int
	levels []*passing
}

// A member is a line or a group in its family. A line that becomes a group stays the same one.
type member struct{ family, tenant any }

func memberOf(l *lane) member {
	if in := l.account.parent; in != nil {
		return member{in.tenant, l.tenant}
	}
	return member{nil, l.tenant}
}

// A passing is what happens at one level while a request waits.
type passing struct {
	member
	weight int64
	own    int64          // permits of all that were next in it while the request waits
	seen   map[*spot]bool // what these were
	others map[any]*overtaker
}

// A yard runs an Order with a tree of tenants, and checks the bound of shares in each family: while
// a request waits within a node, another node of the same family gets at most
//
//	own × w/w' + m + 2 × w/2^20
//
// permits. own are those of all requests that are next within the node while the request waits,
// with its own. w and w' are the weights of the other and of the node, and m is the largest request
// within the other, or 0 if nothing waited there when the request came.
type yard struct {
	t       testing.TB
	order   *Order
	parents []int // -1: none
	weights []int
	largest int64
	returns bool
	waiting []*spot
	tight   float64
}

func (b *yard) claim(tenant int) *Claim {
	c := &Claim{By: By{Tenant: tenant, Weight: b.weights[tenant]}, Most: -1}
	for i := tenant; i >= 0; i = b.parents[i] {
		c.Path = append(c.Path, Level{i, b.weights[i], -1})
	}
	return c
}

func (b *yard) push(tenant int, n int64) {
	s := &spot{tenant: tenant}
	s.w.N = n
	s.w.Arm(nil)
	var wake waiting.WakeList
	ticket, outcome := b.order.PushCapped(&s.w, b.claim(tenant), 0, &wake)
	require.Equal(b.t, waiting.Pending, outcome)
	s.ticket = ticket
	for l := ticket.lane; l != nil; l = l.account.parent {
		p := &passing{
			member: memberOf(l), weight: l.share.weight, seen: map[*spot]bool{}, others: map[any]*overtaker{},
		}
		for other := b.order.ledger.inUse.first; other != nil; other = other.next {
			if other.parent == l.account.parent {
				p.others[other.lane.tenant] = &overtaker{waited: other.lane.descend() != nil}
			}
		}
		s.levels = append(s.levels, p)
	}
	b.waiting = append(b.waiting, s)
	b.mark()
}

// mark notes which requests are next in a node.
func (b *yard) mark() {
	next := map[member]*spot{}
	for _, s := range b.waiting {
		for l := s.ticket.lane; l != nil && l.descend() == s.ticket; l = l.account.parent {
			next[memberOf(l)] = s
		}
	}
	for _, s := range b.waiting {
		for _, p := range s.levels {
			if first := next[p.member]; first != nil && !p.seen[first] {
				p.seen[first] = true
				p.own += first.w.N
			}
		}
	}
	require.Empty(b.t, unsound(b.order))
}

func (b *yard) find(w *waiting.Waiter) (s *spot) {
	b.waiting = slices.DeleteFunc(b.waiting, func(x *spot) bool {
		if &x.w == w {
			s = x
		}
		return &x.w == w
	})
	require.True(b.t, s != nil)
	return s
}

func (b *yard) remove(s *spot) {
	require.True(b.t, b.order.Remove(s.ticket, &s.w))
	b.find(&s.w)
	b.mark()
}

func (b *yard) pop() {
	path := map[any]*lane{} // by family, what the request is within
	for l := b.order.ledger.next(); l != nil; l = l.account.parent {
		path[memberOf(l).family] = l
	}
	var wake waiting.WakeList
	s := b.find(b.order.Pop(0, &wake))
	for _, other := range append(b.waiting, s) {
		for _, p := range other.levels {
			l := path[p.family]
			if l == nil || l.tenant == p.tenant {
				continue
			}
			o := p.others[l.tenant]
			if o == nil {
				o = &overtaker{}
				p.others[l.tenant] = o
			}
			o.got += s.w.N
			o.weight = l.share.weight
		}
	}
	for _, p := range s.levels {
		for _, o := range p.others {
			b.judge(p, o)
		}
	}
	if b.returns {
		require.True(b.t, b.order.Return(s.tenant, s.w.N, -1, 0))
	}
	b.mark()
}

func (b *yard) judge(p *passing, o *overtaker) {
	if o.got == 0 {
		return
	}
	w, m := p.weight, int64(0)
	if o.waited {
		m = b.largest
	}
	// Both sides times w × 2^20.
	got := (o.got - m) * w * unit
	bound := p.own*o.weight*unit + 2*o.weight*w
	require.LessOrEqual(b.t, got, bound, "by %d with weight %d, at most %d at a time; own %d, weight %d",
		o.got, o.weight, m, p.own, w)
	b.tight = max(b.tight, float64(got)/float64(bound))
}

// In each family of a tree the bound of shares holds, whatever happens within its members.
func TestTreeOvertakingIsBounded(t *testing.T) {
	rounds := uint64(60)
	if locktest.Stress() {
		rounds = 600
	}
	tight := 0.0
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(seed, 3))
		weights := [][]int{{1}, {1, 2, 3, 7}, {1, 1 << 20}}[rng.IntN(3)]
		b := &yard{t: t, order: New(Config{Shares: true, Accounts: true}), returns: rng.IntN(2) == 0}
		b.largest = []int64{1, 3, 9, 100}[rng.IntN(4)]
		tenants := 4 + rng.IntN(10)
		for i := range tenants {
			parent := -1
			if i > 1 {
				parent = rng.IntN(i) - 1
			}
			b.parents = append(b.parents, parent)
			b.weights = append(b.weights, weights[rng.IntN(len(weights))])
		}
		fill, cancels := 4+rng.IntN(30), rng.IntN(30)
		for range 300 {
			tenant := rng.IntN(tenants)
			switch {
			case rng.IntN(100) < cancels && len(b.waiting) > 0:
				victim := b.waiting[rng.IntN(len(b.waiting))]
				for _, s := range b.waiting { // often the largest, as in TestSharesOvertakingIsBounded
					if rng.IntN(2) == 0 && s.w.N > victim.w.N {
						victim = s
					}
				}
				b.remove(victim)
			case rng.IntN(2*fill) >= len(b.waiting):
				n := 1 + rng.Int64N(b.largest)
				if rng.IntN(2) == 0 { // A small one may come before a large one of the same group.
					n = 1
				}
				b.push(tenant, n)
			default:
				b.pop()
			}
		}
		for len(b.waiting) > 0 {
			b.pop()
		}
		tight = max(tight, b.tight)
	}
	t.Logf("up to %.3f of a bound", tight)
	require.Greater(t, tight, 0.9, "the schedules do not try hard")
}

// grove is an Order with a tree of tenants, which are named by their paths.
func grove(debit Debit) *Order { return New(Config{Shares: true, Accounts: true, Debit: debit}) }

// claimOf returns the claim of the first of these, each within the next one, of weight 1.
func claimOf(most int64, tenants ...any) *Claim {
	c := &Claim{By: By{Tenant: tenants[0], Weight: 1}, Most: -1}
	for i, tenant := range tenants {
		v := Level{tenant, 1, -1}
		if i == len(tenants)-1 {
			v.Most = most
		}
		c.Path = append(c.Path, v)
	}
	c.Most = c.Path[0].Most
	return c
}

// A group at its cap leaves the rest to others, though those within it wait and are below theirs.
func TestACapOfAGroupHoldsUpNobody(t *testing.T) {
	o := grove(DebitGrants)
	require.True(t, o.Take(claimOf(1, "a/1", "a"), 1, 0))
	require.False(t, o.Take(claimOf(1, "a/2", "a"), 1, 0))
	var wake waiting.WakeList
	var w [3]waiting.Waiter
	for i, c := range []*Claim{claimOf(1, "a/2", "a"), claimOf(1, "a"), claimOf(-1, "b/1", "b")} {
		w[i].N = 1
		w[i].Arm(nil)
		_, outcome := o.PushCapped(&w[i], c, 0, &wake)
		require.Equal(t, waiting.Pending, outcome)
	}
	got, tenant := o.PopFit(9, 0, &wake)
	require.Same(t, &w[2], got)
	require.Equal(t, "b/1", tenant)
	got, _ = o.PopFit(9, 0, &wake)
	require.Nil(t, got)
	for i := range 2 {
		require.True(t, o.Return([]string{"a/1", "a/2"}[i], 1, -1, 0))
		got, _ = o.PopFit(9, 0, &wake)
		require.Same(t, &w[i], got)
	}
	require.Empty(t, unsound(o))
}

// A tenant moves when nothing of it waits or is held. Until then the caps of where it is hold.
func TestParentsThatChange(t *testing.T) {
	o := grove(DebitGrants)
	require.True(t, o.Take(claimOf(3, "user", "a"), 1, 0))
	moved := claimOf(-1, "user", "b")
	require.True(t, o.Take(moved, 2, 0))
	require.False(t, o.Take(moved, 1, 0), "the cap of a")
	var wake waiting.WakeList
	w := waiting.Waiter{N: 4}
	_, outcome := o.PushCapped(&w, moved, 0, &wake)
	require.Equal(t, waiting.TooLarge, outcome, "it would wait for ever")
	require.Nil(t, o.ledger.group("b"))
	require.True(t, o.Return("user", 3, -1, 0))
	require.True(t, o.Take(moved, 4, 0))
	require.Nil(t, o.ledger.group("a"))
	require.True(t, o.ledger.group("b") != nil)
	// Who is within whom may turn round: an account stays where it is, and no circle is closed.
	require.True(t, o.Take(claimOf(-1, "b", "user"), 1, 0))
	require.Equal(t, "b", o.ledger.lineOf("b").account.parent.tenant)
	require.True(t, o.Take(claimOf(-1, "x", "user", "b"), 1, 0))
	require.Equal(t, "b", o.ledger.group("user").account.parent.tenant)
	require.Empty(t, unsound(o))
	for tenant, n := range map[string]int64{"user": 4, "b": 1, "x": 1} {
		require.True(t, o.Return(tenant, n, -1, 0))
	}
	require.Nil(t, o.ledger.inUse.first)
}

// What a path says anew of a cap or a weight, at any level, holds for the request that brings it.
func TestNewsOfAPath(t *testing.T) {
	for name, tenants := range map[string][]any{"within": {"a/1", "a", "top"}, "own": {"a", "top"}} {
		for level := range tenants {
			for _, again := range []bool{true, false} { // its line is there already, or not
				o := grove(DebitGrants)
				require.True(t, o.Take(claimOf(-1, "a/2", "a", "top"), 1, 0))
				c := claimOf(-1, tenants...)
				if again {
					require.True(t, o.Take(c, 1, 0))
				}
				for _, change := range []func(v *Level){
					func(v *Level) { v.Most = 9 }, func(v *Level) { v.Weight = 2 },
				} {
					change(&c.Path[level])
					if name == "within" && level == 0 { // It has no group.
						continue
					}
					require.False(t, o.Take(c, 1, 0), "%s, level %d, %t", name, level, again)
					var wake waiting.WakeList
					o.Amend(c, &wake)
				}
				require.True(t, o.Take(c, 1, 0))
				require.Empty(t, unsound(o))
			}
		}
	}
}

// A tenant with requests of its own counts what it holds when others come to be within it.
func TestAParentsOwnPermitsCount(t *testing.T) {
	o := grove(DebitGrants)
	require.True(t, o.Take(claimOf(2, "a"), 1, 0))
	require.True(t, o.Take(claimOf(2, "a/1", "a"), 1, 0))
	require.False(t, o.Take(claimOf(2, "a/2", "a"), 1, 0))
	require.False(t, o.Take(claimOf(2, "a"), 1, 0))
	require.True(t, o.Return("a", 1, -1, 0))
	require.True(t, o.Take(claimOf(2, "a/2", "a"), 1, 0))
	require.Empty(t, unsound(o))
}

// What is predicted in a tree is what each level leaves: a half of the top, and a third of that.
func TestPredictionsInATree(t *testing.T) {
	o := grove(DebitGrants)
	var wake waiting.WakeList
	push := func(c *Claim) { o.PushCapped(&waiting.Waiter{N: 1}, c, 0, &wake) }
	push(claimOf(-1, "a/1", "a"))
	push(claimOf(-1, "a/2", "a"))
	push(claimOf(-1, "b"))
	needed := func(c *Claim, total float64) float64 {
		g := o.ledger
		g.path = c.Path
		defer func() { g.path = nil }()
		return g.needed(g.find(c.Tenant), c.Tenant, 1, 1, total)
	}
	require.InDelta(t, 1*3*2, needed(claimOf(-1, "a/3", "a"), 99), 1e-9, "a new one")
	require.InDelta(t, 2*2*2, needed(claimOf(-1, "a/1", "a"), 99), 1e-9, "one that waits")
	require.InDelta(t, 2*2, needed(claimOf(-1, "b"), 99), 1e-9)
	require.InDelta(t, 1*3, needed(claimOf(-1, "c/1", "c"), 99), 1e-9, "alone in a new group")
	heavy := claimOf(-1, "c/2", "c")
	heavy.Path[1].Weight = 4
	require.InDelta(t, 1*6.0/4, needed(heavy, 99), 1e-9, "which has its weight")
	require.InDelta(t, 1*3, needed(claimOf(-1, "d"), 99), 1e-9)
	require.InDelta(t, 1*2*2, needed(claimOf(-1, "b/1", "b"), 99), 1e-9, "one more within b")
	require.InDelta(t, 4, needed(claimOf(-1, "a/3", "a"), 3), 1e-9, "all that waits, and its own")
	require.Empty(t, unsound(o))
}

// Trees take no memory in the steady state, and leave nothing behind but spare groups.
func TestTreesLeaveNothingBehind(t *testing.T) {
	locktest.SkipUnderRace(t)
	for name, debit := range debits {
		o := grove(debit)
		leavesNothingBehind(t, name, o, 192<<10, func(i int, now int64) bool {
			return o.Take(claimOf(-1, i, -1-i/10, -100_000-i/100), 1, now)
		})
		require.Empty(t, unsound(o))
		runtime.KeepAlive(o)
	}
}

func TestTreesAllocateNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	for name, debit := range debits {
		o := grove(debit)
		claims := []*Claim{
			claimOf(4, 1, "a", "top"), claimOf(4, 2, "a", "top"), claimOf(4, 3, "b", "top"), claimOf(4, "a", "top"),
		}
		waiters := make([]waiting.Waiter, 8)
		now := int64(0)
		var wake waiting.WakeList
		require.Zero(t, testing.AllocsPerRun(100, func() {
			for i := range waiters {
				now += int64(i)
				w := &waiters[i]
				if w.N = 1; i == 0 {
					o.Take(claims[0], 1, now)
					continue
				}
				o.Amend(claims[i%4], &wake)
				o.PushCapped(w, claims[i%4], now, &wake)
			}
			for i := 1; i < len(waiters); i++ {
				w, tenant := o.PopFit(1, now, &wake)
				if w == nil {
					t.Fatal("nothing comes")
				}
				o.Return(tenant, 1, int64(i), now)
			}
			o.Return(1, 1, 1, now)
		}), name)
		require.Nil(t, o.ledger.inUse.first)
	}
}

// A cap that grows and shrinks with each request costs no look at all accounts, as long as nothing
// waits for more.
func TestACapThatFlapsCostsNoLookAtAll(t *testing.T) {
	locktest.SkipUnderRace(t)
	o := grove(DebitGrants)
	var wake waiting.WakeList
	waiters := make([]waiting.Waiter, 100)
	require.True(t, o.Take(claimOf(-1, "holds", "top"), 5, 0))
	for i := range waiters {
		waiters[i].N = 1 + int64(i)%2
		_, outcome := o.PushCapped(&waiters[i], claimOf(-1, i, "top"), 0, &wake)
		require.Equal(t, waiting.Pending, outcome)
	}
	claim := claimOf(-1, 0, "top")
	top := &claim.Path[1].Most
	require.Zero(t, testing.AllocsPerRun(100, func() {
		*top = 2 + (*top+1)%2
		o.Amend(claim, &wake)
	}))
	require.Len(t, waiters, o.Len())
	*top = 1
	o.Amend(claim, &wake)
	require.Equal(t, 50, o.Len(), "whatever is for more ends")
	require.Empty(t, unsound(o))
}
