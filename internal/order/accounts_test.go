package order

import (
	"math/big"
	"slices"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// A book is the model of an Order with accounts, in maps and exact fractions: each decision looks
// at everybody.
type book struct {
	debit    Debit
	now      int64 // the virtual time
	mean     int64
	entries  map[int]*entry
	arrivals int
}

type entry struct {
	weight, most        int64
	held, charged, used int64
	at, mean            int64
	start               *big.Rat
	line                []*ask
	ready               bool
}

// An ask is a request.
type ask struct {
	w      waiting.Waiter
	ticket *Ticket
	tenant int
	seq    int
}

func (b *book) cost(e *entry, n int64) int64 {
	if b.debit == DebitGrants {
		return n * unit
	}
	return max(1, n*e.mean)
}

func (b *book) end(e *entry, n int64) *big.Rat {
	return new(big.Rat).Add(e.start, big.NewRat(b.cost(e, n), e.weight))
}

// open returns the account of a tenant.
func (b *book) open(tenant, weight int, most, clock int64) *entry {
	e := b.entries[tenant]
	if e == nil {
		e = &entry{weight: int64(weight), most: most, at: clock, mean: b.mean, start: big.NewRat(b.now, 1)}
		b.entries[tenant] = e
	}
	return e
}

func (b *book) begin(e *entry) {
	if now := big.NewRat(b.now, 1); e.start.Cmp(now) < 0 {
		e.start = now
	}
}

// settle finds out whether a tenant is ready.
func (b *book) settle(e *entry) {
	was := e.ready
	e.ready = len(e.line) > 0 && (e.most < 0 || e.held+e.line[0].w.N <= e.most)
	if e.ready && !was {
		b.begin(e)
	}
}

// sweep forgets those of whom nothing is left.
func (b *book) sweep() {
	waits, held := 0, int64(0)
	for _, e := range b.entries {
		waits, held = waits+len(e.line), held+e.held
	}
	for tenant, e := range b.entries {
		if len(e.line) == 0 && e.held == 0 && (ceil(e.start) <= b.now || waits == 0 && held == 0) {
			delete(b.entries, tenant)
		}
	}
	if waits == 0 && held == 0 {
		b.now = 0
	}
}

func (b *book) accrue(e *entry, clock int64) {
	if b.debit == DebitTime {
		e.used += e.held * (clock - e.at)
		e.at = clock
	}
}

func (b *book) grant(e *entry, n, clock int64) {
	end := b.end(e, n)
	b.accrue(e, clock)
	e.held += n
	if b.debit != DebitGrants {
		e.charged += b.cost(e, n)
	}
	if tag := ceil(end); tag >= b.now || b.debit != DebitGrants {
		b.now, e.start = max(b.now, tag), end
	} else {
		e.start = big.NewRat(b.now, 1)
	}
}

func (b *book) take(tenant, weight int, most, n, clock int64) bool {
	for _, e := range b.entries {
		if e.ready {
			return false
		}
	}
	if e := b.entries[tenant]; most >= 0 && n > most || e != nil && (len(e.line) > 0 || most >= 0 && e.held+n > most) {
		return false
	}
	e := b.open(tenant, weight, most, clock)
	b.begin(e)
	b.grant(e, n, clock)
	b.sweep()
	return true
}

func (b *book) push(a *ask, weight int, most, clock int64) {
	e := b.open(a.tenant, weight, most, clock)
	a.seq = b.arrivals
	b.arrivals++
	e.line = append(e.line, a)
	b.settle(e)
}

// pop returns the request that comes next, nil if there is none for at most free permits.
func (b *book) pop(free, clock int64) *ask {
	var first *ask
	for _, e := range b.entries {
		if !e.ready {
			continue
		}
		a := e.line[0]
		if first == nil {
			first = a
			continue
		}
		other := b.entries[first.tenant]
		d := ceil(b.end(e, a.w.N)) - ceil(b.end(other, first.w.N))
		if d < 0 || d == 0 && a.seq < first.seq {
			first = a
		}
	}
	if first == nil || first.w.N > free {
		return nil
	}
	e := b.entries[first.tenant]
	b.grant(e, first.w.N, clock)
	e.line = e.line[1:]
	b.settle(e)
	b.sweep()
	return first
}

func (b *book) drop(a *ask) {
	e := b.entries[a.tenant]
	e.line = slices.DeleteFunc(slices.Clone(e.line), func(x *ask) bool { return x == a })
	b.settle(e)
	b.sweep()
}

func (b *book) giveBack(tenant int, n, cost, clock int64) bool {
	e := b.entries[tenant]
	if e == nil || e.held < n {
		return false
	}
	if b.debit != DebitGrants {
		b.accrue(e, clock)
		paid := e.charged * n / e.held
		known := cost >= 0 || b.debit == DebitTime
		if b.debit == DebitTime {
			cost, e.used = e.used, 0
		} else if !known {
			cost = paid
		}
		e.charged -= paid
		e.start = new(big.Rat).Add(e.start, big.NewRat(cost-paid, e.weight))
		if known {
			for mean, part := range map[*int64]int64{&e.mean: 8, &b.mean: 32} {
				if *mean == 0 {
					*mean = cost / n
				} else {
					*mean += (cost/n - *mean) / part
				}
			}
		}
	}
	e.held -= n
	b.settle(e)
	b.sweep()
	return true
}

func (b *book) amend(tenant, weight int, most int64) (ended []*ask) {
	e := b.entries[tenant]
	if e == nil {
		return nil
	}
	if e.weight != int64(weight) {
		e.start = big.NewRat(ceil(e.start), 1)
	}
	e.weight, e.most = int64(weight), most
	b.settle(e)
	for _, a := range slices.Clone(e.line) {
		if most >= 0 && a.w.N > most {
			ended = append(ended, a)
			b.drop(a)
		}
	}
	return ended
}

// A bank runs an Order with accounts beside its model, and has permits.
type bank struct {
	t       testing.TB
	order   *Order
	book    *book
	free    int64
	clock   int64
	weights [5]int
	most    [5]int64
	waiting []*ask
	held    []*ask // granted and not returned
}

func newBank(t testing.TB, debit Debit) *bank {
	k := &bank{t: t, free: 8, book: &book{debit: debit, entries: map[int]*entry{}}}
	k.order = New(Config{Shares: true, Accounts: true, Debit: debit})
	for i := range k.weights {
		k.weights[i], k.most[i] = 1+i*i, -1
	}
	return k
}

func (k *bank) by(tenant int) *By { return &By{Tenant: tenant, Weight: k.weights[tenant]} }

// ended requires that exactly these have ended, with that outcome.
func (k *bank) ended(wake *waiting.WakeList, asks []*ask, outcome waiting.Outcome) {
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

func (k *bank) amend(tenant int) {
	var wake waiting.WakeList
	k.order.amendBy(k.by(tenant), k.most[tenant], &wake)
	k.ended(&wake, k.book.amend(tenant, k.weights[tenant], k.most[tenant]), waiting.TooLarge)
}

func (k *bank) ask(tenant int, n int64) {
	k.amend(tenant)
	a := &ask{tenant: tenant}
	a.w.N = n
	most := k.most[tenant]
	if most >= 0 && n > most {
		return
	}
	if n <= k.free {
		took := k.order.takeBy(k.by(tenant), most, n, k.clock)
		require.Equal(k.t, k.book.take(tenant, k.weights[tenant], most, n, k.clock), took)
		if took {
			k.free -= n
			k.held = append(k.held, a)
			return
		}
	}
	a.w.Arm(nil)
	var wake waiting.WakeList
	ticket, outcome := k.order.pushBy(&a.w, k.by(tenant), most, k.clock, &wake)
	require.Equal(k.t, waiting.Pending, outcome)
	a.ticket = ticket
	k.book.push(a, k.weights[tenant], most, k.clock)
	k.waiting = append(k.waiting, a)
}

func (k *bank) serve() {
	var wake waiting.WakeList
	for {
		w, tenant := k.order.PopFit(k.free, k.clock, &wake)
		a := k.book.pop(k.free, k.clock)
		if a == nil {
			require.Nil(k.t, w)
			return
		}
		require.Same(k.t, &a.w, w)
		require.Equal(k.t, a.tenant, tenant)
		k.free -= a.w.N
		k.waiting = slices.DeleteFunc(k.waiting, func(x *ask) bool { return x == a })
		k.held = append(k.held, a)
	}
}

func (k *bank) giveBack(i int, cost int64) {
	a := k.held[i]
	k.held = slices.Delete(k.held, i, i+1)
	require.True(k.t, k.order.Return(a.tenant, a.w.N, cost, k.clock))
	require.True(k.t, k.book.giveBack(a.tenant, a.w.N, cost, k.clock))
	k.free += a.w.N
}

func (k *bank) check() {
	require.Empty(k.t, unsound(k.order))
	g := k.order.ledger
	n := 0
	for a := g.inUse.first; a != nil; a = a.next {
		n++
	}
	require.Equal(k.t, len(k.book.entries), n, "accounts")
	require.Equal(k.t, k.book.now, int64(g.now))
	require.Equal(k.t, len(k.waiting), k.order.Len())
	for tenant, e := range k.book.entries {
		l := g.lineOf(tenant)
		require.True(k.t, l != nil)
		require.Equal(k.t, e.held, k.order.Held(tenant))
		require.Equal(k.t, e.ready, l.size > 0 && l.share.place > 0, "tenant %d is ready", tenant)
		require.Equal(k.t, e.mean, l.account.mean)
		if e.ready {
			start := new(big.Rat).SetFrac64(int64(l.share.start)*e.weight+l.share.rest, e.weight)
			require.Zero(k.t, e.start.Cmp(start), "tenant %d starts at %v, not %v", tenant, start, e.start)
		}
		if e.most >= 0 && e.ready {
			require.LessOrEqual(k.t, e.held+e.line[0].w.N, e.most)
		}
	}
}

// run does what the bytes say.
func (k *bank) run(data []byte) {
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
			k.ask(next()%len(k.most), 1+int64(next()%4))
		case 5, 6, 7, 8:
			if len(k.held) > 0 {
				k.giveBack(next()%len(k.held), int64(next()%64)-8)
			}
		case 9:
			if len(k.waiting) > 0 {
				a := k.waiting[next()%len(k.waiting)]
				require.True(k.t, k.order.Remove(a.ticket, &a.w))
				require.False(k.t, k.order.Remove(a.ticket, &a.w))
				k.book.drop(a)
				k.waiting = slices.DeleteFunc(k.waiting, func(x *ask) bool { return x == a })
			}
		case 10:
			tenant := next() % len(k.most)
			switch k.most[tenant] = int64(next()%8) - 1; {
			case op > 128:
				k.weights[tenant] = 1 + next()%9
			case op > 64: // the next request brings the news
				continue
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
	for _, a := range k.waiting { // those whose cap has become too small
		require.GreaterOrEqual(k.t, k.book.entries[a.tenant].most, int64(0))
	}
	var wake waiting.WakeList
	k.order.Drain(waiting.Closed, &wake)
	k.book.entries = map[int]*entry{}
	k.book.now = 0
	k.ended(&wake, slices.Clone(k.waiting), waiting.Closed)
	k.check()
}

var debits = map[string]Debit{"grants": DebitGrants, "time": DebitTime, "cost": DebitCost}

func TestAccountsAgainstModel(t *testing.T) {
	for name, debit := range debits {
		t.Run(name, func(t *testing.T) {
			random(60, 1000, func(data []byte) { newBank(t, debit).run(data) })
		})
	}
}

func FuzzAccounts(f *testing.F) {
	f.Add(uint8(0), []byte{0, 0, 3, 0, 1, 3, 0, 0, 3, 5, 0, 9})
	f.Fuzz(func(t *testing.T, debit uint8, data []byte) {
		newBank(t, Debit(debit%3)).run(data[:min(len(data), 2000)])
	})
}

func (o *Order) takeBy(by *By, most, n, now int64) bool {
	return o.Take(&Claim{By: *by, Most: most}, n, now)
}

func (o *Order) pushBy(w *waiting.Waiter, by *By, most, now int64, wake *waiting.WakeList) (*Ticket, waiting.Outcome) {
	return o.PushCapped(w, &Claim{By: *by, Most: most}, now, wake)
}

func (o *Order) amendBy(by *By, most int64, wake *waiting.WakeList) {
	o.Amend(&Claim{By: *by, Most: most}, wake)
}
