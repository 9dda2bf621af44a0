package order

// MaxClasses is the largest number of classes.
const MaxClasses = 256

// Classes are priorities that age. A line without shares and priorities is one class.
//
// Invariants:
//
//  1. A request of class c that has waited while k permits were popped counts as one of class
//     c - k/aging, but at least 0. The least class is popped first, and of equal ones the request
//     that arrived first. (FuzzAgainstModel)
//  2. Of those in one lane the head counts as the least class, because it is the oldest one.
//     (FuzzAgainstModel) This is not so where adaptive LIFO serves the newest one first.
//  3. A request of class c is overtaken by those that came later for at most c × aging - 1 permits
//     and one request more. In class 0 it is not. (TestAgeingBoundsOvertaking,
//     TestAgeingBoundIsReached) It follows from the others: docs/design/sharing.md.
type classes struct {
	lanes  []lane
	aging  uint64
	served uint64 // permits that were popped so far; it may wrap around
}

func newClasses(n, aging int) *classes {
	return &classes{lanes: make([]lane, n), aging: uint64(aging)}
}

// class returns the index of a tenant's lane. There is but one if there are no priorities.
func (c *classes) class(tenant any) int {
	if len(c.lanes) == 1 {
		return 0
	}
	return tenant.(int)
}

func (c *classes) find(tenant any) *lane {
	if l := &c.lanes[c.class(tenant)]; l.size > 0 {
		return l
	}
	return nil
}

func (c *classes) join(_ *lane, t *Ticket, tenant any, _ int) {
	l := &c.lanes[c.class(tenant)]
	l.tenant = tenant
	t.served = c.served
	l.push(t)
}

func (c *classes) changed(*lane) {}

func (c *classes) leave(t *Ticket, served bool) {
	if served {
		c.served += uint64(t.n)
	}
	l := t.lane
	l.unlink(t)
	if l.size == 0 {
		*l = lane{}
	}
}

func (c *classes) idle() { c.served = 0 }

func (c *classes) next() *lane {
	var first *lane
	least := len(c.lanes)
	for i := range c.lanes {
		l := &c.lanes[i]
		if l.size == 0 {
			continue
		}
		h := l.head()
		class := 0
		if aged := (c.served - h.served) / c.aging; aged < uint64(i) {
			class = i - int(aged)
		}
		if class < least || class == least && h.seq < first.head().seq {
			first, least = l, class
		}
	}
	return first
}

func (c *classes) all() []*lane {
	var all []*lane
	for i := range c.lanes {
		if l := &c.lanes[i]; l.size > 0 {
			all = append(all, l)
		}
	}
	return all
}

// needed: the more urgent classes and those ahead in the own one come first. Ageing, and who comes
// later, are left out.
func (c *classes) needed(l *lane, tenant any, _ int, n, _ float64) float64 {
	for i := range c.class(tenant) {
		n += float64(c.lanes[i].permits)
	}
	return n + l.ahead()
}
