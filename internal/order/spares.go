package order

// A tenant is found by its node: its group, or else its line. The line of a tenant that others are
// within is found by its group.
//
// A line's account that has ended is spare, and found by its tenant until another one gets it. So
// nothing changes in a map when a tenant comes back soon, as one does that acquires in a loop.
//
// Invariants, each with a test that fails without it:
//
//  1. A spare account has nothing but its tenant, and the parent that this had.
//     (TestATenantThatComesBackFindsItsAccount, FuzzTree)
//  2. What a spare account says of the parent is used only if the path names the tenant of that
//     group. So it may have become another's. (TestATenantThatComesBackIsWithinItsParent)
//  3. There are at most 64, and none is in the old map. (TestSparesKeepNoMapOfMany)
//  4. Spares, and what was found last, change nothing but the work. (TestSparesChangeNothing)

// A chain is a list of accounts, by next and prev. An account is in one of them: of those in use,
// or of the spare ones, of which the first gets used again next.
type chain struct {
	first, last *account
	n           int
}

// take takes a out, which is one of them, and returns it.
func (c *chain) take(a *account) *account {
	if a.prev != nil {
		a.prev.next = a.next
	} else {
		c.first = a.next
	}
	if a.next != nil {
		a.next.prev = a.prev
	} else {
		c.last = a.prev
	}
	a.prev, a.next = nil, nil
	c.n--
	return a
}

// put puts a in, as the last one.
func (c *chain) put(a *account) {
	if a.prev = c.last; a.prev != nil {
		a.prev.next = a
	} else {
		c.first = a
	}
	c.last = a
	c.n++
}

// look returns the node of a tenant, which may be spare, or nil.
func (g *ledger) look(tenant any) *lane {
	if same(g.asked, tenant) {
		return g.answer
	}
	return g.tenants.find(tenant)
}

// line returns the line of a tenant, nil if it has none. A call looks for the same one several
// times.
func (g *ledger) line(tenant any) *lane {
	if !same(g.asked, tenant) {
		g.asked, g.answer = tenant, g.tenants.find(tenant)
	}
	return g.answer.line()
}

// line returns the line of the tenant whose node is l, nil if there is none.
func (l *lane) line() *lane {
	switch {
	case l == nil || l.account.spare:
		return nil
	case l.account.group != nil:
		return l.account.group.own
	}
	return l
}

// group returns the group of a tenant, nil if it has none.
func (g *ledger) group(tenant any) *lane {
	if l := g.look(tenant); l != nil && l.account.group != nil {
		return l
	}
	return nil
}

// add has the tenant of l find it.
func (g *ledger) add(l *lane) {
	g.tenants.add(l)
	if same(g.asked, l.tenant) {
		g.answer = l
	}
}

// remove has the tenant of l not find it any more.
func (g *ledger) remove(l *lane) {
	whole := g.tenants.old == nil
	g.tenants.remove(l)
	if whole && g.tenants.old != nil { // Spares must not keep that.
		for a := g.spare[0].first; a != nil; a = a.next {
			g.unname(a)
		}
	}
	if g.answer == l {
		g.answer = nil
	}
}

// unname has the tenant of a spare account not find it any more.
func (g *ledger) unname(a *account) {
	if a.spare {
		g.remove(&a.lane)
		a.clear()
	}
}

// clear has an account that is not in use remember nothing.
func (a *account) clear() {
	*a = account{lane: lane{account: a}, group: a.group, prev: a.prev, next: a.next}
}

// begun returns the lane of a new account: of a line if kind is 0, of a group if it is 1.
func (g *ledger) begun(kind int, tenant any, weight int, most int64, in *lane) *lane {
	g.known = false
	l := g.look(tenant)
	switch mine := l != nil && l.account.spare; {
	case mine && kind == 0:
		g.spare[0].take(l.account).spare = false
	case mine:
		g.unname(l.account)
		fallthrough
	default:
		l = g.unused(kind)
		if l.tenant = tenant; in != nil && in.tenant == tenant {
			in.account.group.own = l
		} else {
			g.add(l)
		}
	}
	a := l.account
	a.most, a.mean, a.at, a.parent = most, g.mean, g.clock, in
	g.inUse.put(a)
	l.share.weight, l.share.start = int64(weight), g.home(l).now
	return l
}

// unused returns a lane that has been that of another tenant, or is new.
func (g *ledger) unused(kind int) *lane {
	s := &g.spare[kind]
	if a := s.first; a != nil {
		g.unname(a)
		return &s.take(a).lane
	}
	a := &account{}
	a.lane.account = a
	if kind == 1 {
		a.group = &group{}
	}
	return &a.lane
}

// forget ends the account of l, which is in no heap.
func (g *ledger) forget(l *lane) {
	a, kind := l.account, 0
	g.known = false
	g.inUse.take(a)
	if g.granted == l {
		g.granted = nil
	}
	tenant, in, spare := l.tenant, a.parent, false
	switch {
	case a.group != nil:
		kind = 1
		g.remove(l)
	case in != nil && in.account.group.own == l:
		in.account.group.own = nil
	default:
		spare = true
		if g.tenants.old != nil {
			g.tenants.find(tenant) // It is not in the old map then.
		}
	}
	a.clear()
	if spare {
		a.spare, l.tenant, a.parent = true, tenant, in
	}
	s := &g.spare[kind]
	s.put(a)
	if s.n > minLanes {
		g.unname(s.first)
		s.take(s.first)
	}
}

// forgetNames is unname of all spares, when the maps are empty.
func (g *ledger) forgetNames() {
	for a := g.spare[0].first; a != nil; a = a.next {
		a.clear()
	}
}
