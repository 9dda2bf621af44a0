package order

import (
	"slices"
	"unsafe"
)

// MaxWeight is the largest weight of a tenant.
const MaxWeight = 1 << 20

// unit is what a permit costs a tenant of weight 1, in the units of tags. It is as large as the
// largest weight, so a permit costs every tenant at least 1.
const unit = 1 << 20

// Shares is self-clocked fair queueing (Golestani 1994) over the tenants that wait. A tenant is
// served when the virtual time reaches the tag of its oldest request.
//
// Invariants:
//
//  1. The virtual time does not fall while anything waits. It is the tag of the last request that
//     was popped or, after a cancel, a later one. (TestSharesOvertakingIsBounded)
//  2. The tag of a lane is its start, plus unit / weight for each permit of its head, rounded up.
//     Its start is the virtual time at which its lane came to be or had its last pop. A head that
//     is not popped leaves the start to the next one. (FuzzAgainstModel)
//  3. The least tag is popped first, and of equal ones the request that arrived first.
//     (FuzzAgainstModel)
//  4. A tenant that does not wait has no lane. Its tag could not matter: the virtual time has
//     passed it. (TestATenantThatComesBackStartsWhereOthersAre)
//  5. A request for which, with those of its tenant ahead of it, k permits are wanted is overtaken
//     by at most one request of each other tenant that waited when it came, and by k permits times
//     that one's weight divided by its own. Rounding adds less than 2 × weight / unit permits.
//     (TestSharesOvertakingIsBounded, TestSharesBoundIsReached)
//
// The fifth follows from the others where lanes are first-in-first-out: docs/design/sharing.md. Of
// several weights of a tenant meanwhile, the worst one counts.
//
// All tags lie within 1<<61 of the virtual time, so they may wrap around.
type shares struct {
	now     uint64 // the virtual time
	heap    heap
	tenants tenants
	mapped  bool  // tenants has the lanes; otherwise there are few
	weights int64 // of the tenants that wait
}

// A share is what a lane has as a tenant's.
type share struct {
	weight int64

	// The lane starts at start + rest/weight and ends, with its head, at end + over/weight. The tag
	// is the end, rounded up. The parts keep the sum of a tenant's requests exact, so that it does
	// not matter how a tenant divides its permits into requests.
	start, end uint64
	rest, over int64
	tag        uint64
	seq        uint64 // of the head

	place int // in the heap, from 1; 0: not there
}

// before reports whether the head of l comes before that of m.
func (l *lane) before(m *lane) bool {
	if d := int64(l.share.tag - m.share.tag); d != 0 {
		return d < 0
	}
	return l.share.seq < m.share.seq
}

func (s *shares) find(tenant any) *lane {
	if s.mapped {
		return s.tenants.find(tenant)
	}
	for _, l := range s.heap.lanes {
		if same(l.tenant, tenant) {
			return l
		}
	}
	for _, l := range s.heap.lanes {
		if l.tenant == tenant {
			return l
		}
	}
	return nil
}

// same reports whether two tenants are the same value at the same place. Most are: a tenant's name
// is turned into an interface once. To compare names costs three times as much.
func same(a, b any) bool {
	// An interface is the address of its type and that of its value, or a value that is an address.
	// Equal words are equal tenants, because a tenant equals itself. The words are only compared.
	type words struct{ of, value unsafe.Pointer }
	x, y := (*words)(unsafe.Pointer(&a)), (*words)(unsafe.Pointer(&b))
	return x.value == y.value && x.of == y.of
}

// few lanes are found by a look at all: a wait then takes a tenth less.
const few = 8

// enter has find find l, which has no head yet.
func (s *shares) enter(l *lane) {
	if !s.mapped && len(s.heap.lanes) >= few {
		s.mapped = true
		for _, other := range s.heap.lanes {
			s.tenants.add(other)
		}
	}
	if s.mapped {
		s.tenants.add(l)
	}
}

// forget has find find l, which is not in the heap any more, no longer.
func (s *shares) forget(l *lane) {
	if !s.mapped {
		return
	}
	s.tenants.remove(l)
	if len(s.heap.lanes) <= few/2 {
		s.mapped, s.tenants = false, tenants{}
	}
}

func (s *shares) add(l *lane, tenant any, weight int) *lane {
	switch {
	case l == nil:
		l = s.heap.spare()
		l.tenant, l.share.weight, l.share.start = tenant, int64(weight), s.now
		s.enter(l)
		s.weights += int64(weight)
	case l.share.weight != int64(weight): // from now on
		s.weights += int64(weight) - l.share.weight
		if l.share.rest > 0 { // a part of the old weight
			l.share.start++
			l.share.rest = 0
		}
		l.share.weight = int64(weight)
		s.changed(l)
	}
	return l
}

func (s *shares) join(l *lane, t *Ticket, tenant any, weight int) {
	l = s.add(l, tenant, weight)
	l.push(t)
	if l.head() == t {
		s.changed(l)
	}
}

func (s *shares) changed(l *lane) {
	h, x := l.head(), &l.share
	cost := x.rest + h.n*unit
	if x.weight == 1 { // a division takes as long as all else here
		x.end, x.over = x.start+uint64(cost), 0
	} else {
		x.end, x.over = x.start+uint64(cost/x.weight), cost%x.weight
	}
	x.tag, x.seq = x.end, h.seq
	if x.over > 0 {
		x.tag++
	}
	s.heap.fix(l)
}

// serve lets the virtual time follow a lane whose head is about to leave, to be served.
func (s *shares) serve(x *share) {
	if int64(x.tag-s.now) >= 0 {
		s.now, x.start, x.rest = x.tag, x.end, x.over
	} else { // A larger head was cancelled, and the virtual time has gone past this one's tag.
		x.start, x.rest = s.now, 0
	}
}

func (s *shares) leave(t *Ticket, served bool) {
	l := t.lane
	if served {
		s.serve(&l.share)
	}
	head := l.head() == t
	l.unlink(t)
	switch {
	case l.size == 0:
		s.heap.remove(l)
		s.forget(l)
		s.weights -= l.share.weight
		*l = lane{}
	case head:
		s.changed(l)
	}
}

func (s *shares) idle() { s.now = 0 }

func (s *shares) next() *lane {
	if len(s.heap.lanes) == 0 {
		return nil
	}
	return s.heap.lanes[0]
}

func (s *shares) all() []*lane { return slices.Clone(s.heap.lanes) }

// needed: of each permit that is popped, the tenant gets its weight's part, until it has the rest.
// Later requests are left out, so it may be more.
func (s *shares) needed(l *lane, _ any, weight int, n, total float64) float64 {
	weights := float64(s.weights) + float64(weight)
	if l != nil {
		weights -= float64(l.share.weight)
	}
	return min((l.ahead()+n)*weights/float64(weight), total+n)
}
