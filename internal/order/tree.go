package order

// A Level is a tenant that a request is of, or that is within.
type Level struct {
	Tenant any
	Weight int
	Most   int64 // how many permits it may hold, with those within it; negative: any number
}

// A group is what a ledger has of a tenant that others are within, besides its account: the family
// of these. Where there are groups, the accounts are a tree. Its leaves are the lines.
//
// Invariants, besides those of ledger, which hold for each family:
//
//  1. A group is ready if the request that would come next in its family fits under its cap. So a
//     tenant at its cap takes all that is within it out of the heap that it is in.
//     (TestTreeAgainstModel, TestACapOfAGroupHoldsUpNobody)
//  2. The start of a group moves by what is granted within it, even if its tag is before the
//     virtual time. That is so when a small request has come before a large one within it. If the
//     start became the virtual time, as that of a line does, the group would lose turns for each.
//     (TestTreeOvertakingIsBounded)
//  3. What a group holds, was granted and has used is that of all within it. So in each family the
//     bound of shares holds, with what a member gets in place of what a tenant gets.
//     (TestTreeAgainstModel, TestTreeOvertakingIsBounded)
//  4. A tenant is within what its parent was when its account began. So the accounts are a tree,
//     whatever the paths of later requests say. (TestParentsThatChange)
//  5. The requests of a tenant that others are within are those of one more member of its group.
//     (TestTreeAgainstModel)
//  6. A group is kept while one within it waits or holds, or its start is after the virtual time of
//     its family. It keeps the debts of those within it as long as one of them waits or holds.
//     (TestTreeAgainstModel, TestTreesLeaveNothingBehind)
//
// A grant and a release go from the line up to the top, so they take O(depth) times what they take
// where tenants are flat.
type group struct {
	family
	own  *lane // the line of the tenant itself, nil if it has none
	live int   // how many in the family are active
}

// close forgets what a group has, when nobody within it is active.
func (gr *group) close(g *ledger) {
	for len(gr.debts.lanes) > 0 {
		g.forgive(&gr.family)
	}
	gr.now, gr.looked = 0, 0
}

// within returns the group for a new line: that of its tenant, if others are within it, or else its
// parent's. It is nil if the tenant has no parent.
func (g *ledger) within() *lane {
	if len(g.path) == 0 {
		return nil
	}
	if in, i := g.above(nil); i < 2 && in != nil {
		return in
	}
	return g.groupOf(g.path[1:])
}

// groupOf returns the group of the first tenant of a path, nil if the path is empty. It makes those
// that there are not.
func (g *ledger) groupOf(path []Level) *lane {
	if len(path) == 0 {
		return nil
	}
	v := &path[0]
	if l := g.group(v.Tenant); l != nil {
		return l
	}
	line := g.look(v.Tenant).line()
	in := (*lane)(nil)
	if line == nil || !line.active { // A line that only owes is where the path says, too.
		in = g.groupOf(path[1:])
	} else {
		in = line.account.parent
	}
	l := g.begun(1, v.Tenant, v.Weight, v.Most, in)
	if line != nil {
		g.move(line, in)
		g.adopt(l, line)
	}
	return l
}

// move has a line that only owes be in another group, and owe there.
func (g *ledger) move(l, in *lane) {
	if l.account.parent == in {
		return
	}
	g.unready(l)
	owed := l.share.start - g.home(l).now
	l.account.parent = in
	l.share.start = g.home(l).now + owed
}

// adopt puts the line of a tenant into its group, which is new, and takes the line's place. A line
// that only owes may know an old weight and an old cap: those of the path are right.
func (g *ledger) adopt(l, line *lane) {
	a, b := l.account, line.account
	ready := line.share.place > 0 && !line.owes
	g.unready(line)
	weight, most := l.share.weight, a.most
	l.share = share{weight: line.share.weight, start: line.share.start, rest: line.share.rest}
	a.most, a.held, a.charged, a.used, a.at, a.mean = b.most, b.held, b.charged, b.used, b.at, b.mean
	l.active = line.active
	b.parent, b.most, a.group.own = l, -1, line
	line.share.start, line.share.rest = 0, 0
	if !line.active { // It owes. The group does so from now on, and is about to be active.
		l.share.reweigh(int(weight))
		a.most = most
		g.forget(line)
		return
	}
	a.group.live = 1
	g.place(line, false)
	g.place(l, ready)
}

// above returns the group that a request of the path is in, and which of the path that is: l is the
// line of its tenant, if it has one. If others of the path have no group yet, it is the first one
// that has. A tenant that has had requests of its own until now gets its group here, as what it
// holds counts.
func (g *ledger) above(l *lane) (in *lane, i int) {
	if l != nil {
		if in = l.account.parent; in != nil && in.tenant != l.tenant {
			i = 1
		}
		return in, i
	}
	if len(g.path) == 0 {
		return nil, 0
	}
	if g.known && same(g.path[0].Tenant, g.knownOf) {
		return g.knownIn, g.knownAt
	}
	hint := (*lane)(nil)
	for i = range g.path {
		if hint != nil && same(hint.tenant, g.path[i].Tenant) {
			in = hint
			break
		}
		x := g.look(g.path[i].Tenant)
		if hint = nil; x == nil {
			continue
		}
		if x.account.spare { // Most often its tenant's parent is what it was.
			hint = x.account.parent
			continue
		}
		if x.account.group != nil {
			in = x
			break
		}
		if x.active {
			in = g.groupOf(g.path[i:])
			break
		}
	}
	if in == nil {
		i = len(g.path)
	}
	if i > 0 { // what is not in it yet
		g.known, g.knownOf, g.knownIn, g.knownAt = true, g.path[0].Tenant, in, i
	}
	return in, i
}

// allow reports whether all that a request of n permits is within allow it to be granted at once.
// They do not if anybody within them is ready, or if what the path says of them is new.
func (g *ledger) allow(l *lane, n int64) bool {
	in, i := g.above(l)
	for ; in != nil; i, in = i+1, in.account.parent {
		a := in.account
		if len(a.group.heap.lanes) > 0 || a.most >= 0 && a.held+n > a.most {
			return false
		}
		if i < len(g.path) && g.path[i].Tenant == in.tenant &&
			(in.share.weight != int64(g.path[i].Weight) || a.most != g.path[i].Most) {
			return false
		}
	}
	return true
}

// forbid reports whether a request of n permits is for more than the cap of anything that it would
// be within. That need not be what its path says: invariant 4.
func (g *ledger) forbid(l *lane, n int64) bool {
	in, _ := g.above(l)
	for ; in != nil; in = in.account.parent {
		if most := in.account.most; most >= 0 && n > most {
			return true
		}
	}
	return false
}

// isWithin reports whether l is within a group.
func (l *lane) isWithin(in *lane) bool {
	for ; l != nil; l = l.account.parent {
		if l == in {
			return true
		}
	}
	return false
}
