package interleave

// A scheduler decides which thread makes the next step, and learns what each step was. A search
// tries different decisions in each execution; a simulation would follow virtual clocks.
type scheduler interface {
	// begin prepares for another execution.
	begin()
	// pick returns which of the enabled threads is next, and the value if its operation chooses
	// one; a negative thread ends the execution: it would show nothing new.
	pick(x *Run, enabled threadSet) (thread int, value uint8)
	// executed gets the step after it was made: its kind may have changed.
	executed(x *Run, o *op)
	// stuck is called if threads are still blocked when the execution ends, before they are
	// unwound.
	stuck(x *Run)
	// finish is called when the execution has ended, and reports whether to run another.
	finish() bool
}

// shard selects a part of a depth-first search: every candidate is tried at the first few steps
// that offer more than one, and of the subtrees below them each process searches its share.
type shard struct {
	index, count int
	seen         int // subtrees met
}

// topSteps is how many steps the top of a sharded search has: with three threads and more that
// makes dozens of subtrees.
const topSteps = 5

// A portion is how much of what follows a node the search covers.
type portion uint8

const (
	asUsual portion = iota
	everything
	nothing
)

// split returns how this shard goes on at a new node.
func (c *causality) split(s *shard, n *node, candidates threadSet) portion {
	if s.count <= 1 || c.tops > topSteps || candidates&(candidates-1) == 0 {
		return asUsual
	}
	if c.tops == topSteps {
		s.seen++
		if (s.seen-1)%s.count != s.index {
			return nothing
		}
	}
	n.top = true
	c.tops++
	if c.tops > topSteps {
		return asUsual
	}
	return everything
}

// canon returns the thread that stands for t at node n, where threads of one group that have not
// moved are alike: the first of them that can go on.
//
//go:norace
func (n *node) canon(x *Run, t uint8) uint8 {
	g := x.threads[t].group
	if g == 0 || n.moved.has(t) {
		return t
	}
	for u := range t {
		if x.threads[u].group == g && !n.moved.has(u) && n.enabled.has(u) {
			return u
		}
	}
	return t
}

// distinct returns the threads that can go on, without those that others stand for.
//
//go:norace
func (n *node) distinct(x *Run) threadSet {
	if x.groups == 0 {
		return n.enabled
	}
	var r threadSet
	for t := range uint8(len(x.threads)) {
		if n.enabled.has(t) && n.canon(x, t) == t {
			r |= 1 << t
		}
	}
	return r
}

// prefer returns the thread of set that ran last, or else the first.
func prefer(set threadSet, last uint8) uint8 {
	if last != noThread && set.has(last) {
		return last
	}
	for t := uint8(0); ; t++ {
		if set.has(t) {
			return t
		}
	}
}

// replay returns the next step if that has been decided by the search, and false otherwise. Where
// others are enabled than were, or the last step was not what it was, it ends the execution.
//
//go:norace
func (c *causality) replay(x *Run, enabled threadSet) (int, uint8, bool) {
	if c.depth < c.decided && c.nodes[c.depth].enabled != enabled {
		c.astray = true
	}
	if c.astray {
		return -1, 0, true
	}
	if c.depth >= c.decided {
		return 0, 0, false
	}
	n := &c.nodes[c.depth]
	if n.values == 0 {
		n.choose(x, n.thread)
	}
	if n.top {
		c.tops++
	}
	c.depth++
	return int(n.thread), n.value, true
}

// checkReplay panics if the execution that has ended is not a continuation of what had been
// decided: then the search is worth nothing.
func (c *causality) checkReplay() {
	if c.astray || c.depth < c.decided {
		panic("interleave: the body is not deterministic: in the same schedule it does something else")
	}
}

// backtrack makes the next execution differ at the deepest node where something is left to try, and
// reports whether there is one. wanted returns the threads whose continuations of a node must be
// explored, after one of them has been.
func (c *causality) backtrack(wanted func(n *node) threadSet) bool {
	c.checkReplay()
	for d := c.depth - 1; d >= 0; d-- {
		n := &c.nodes[d]
		if c.nextValue(n, d) {
			return true
		}
		n.tried |= 1 << n.thread
		if left := wanted(n) &^ n.tried; left != 0 {
			c.retry(n, d, prefer(left, noThread))
			return true
		}
	}
	return false
}

// nextValue has the next execution choose another value at node n, at depth d, if there is one
// left.
func (c *causality) nextValue(n *node, d int) bool {
	if n.value+1 >= n.values {
		return false
	}
	n.value++
	c.unchanged, c.decided = d, d+1
	return true
}

// retry makes the next execution go on with thread t at node n, at depth d.
func (c *causality) retry(n *node, d int, t uint8) {
	n.thread, n.values = t, 0
	c.unchanged, c.decided = d, d+1
}

// open fills in a new node at the current depth. The thread is still to be decided.
//
//go:norace
func (c *causality) open(x *Run, enabled threadSet) *node {
	n := c.push(0, 0)
	d := c.depth - 1
	n.enabled, n.tried, n.wanted, n.sleep, n.values, n.top = enabled, 0, 0, 0, 1, false
	n.last, n.moved, n.hash, n.cost, n.free = noThread, 0, 0, 0, true
	if d > 0 {
		p := &c.nodes[d-1]
		n.last = p.thread
		n.moved = p.moved
		if p.kind != opStart {
			n.moved |= 1 << p.thread
		}
		n.hash = p.hash + p.digest()
		n.cost = p.cost
		if p.preempts() {
			n.cost++
		}
		n.free = !enabled.has(p.thread) || x.threads[p.thread].op.kind == opYield
	}
	return n
}

// preempts reports whether the step preempts the one before.
func (n *node) preempts() bool { return !n.free && n.thread != n.last }

// choose decides for thread t.
//
//go:norace
func (n *node) choose(x *Run, t uint8) (int, uint8) {
	n.thread, n.value, n.values = t, 0, 1
	if o := &x.threads[t].op; o.kind == opChoose {
		n.values = o.n
	}
	return int(t), 0
}

// Partial-order reduction.

// reduction is the search that executes each trace at least once, and few of them twice: dynamic
// partial-order reduction with source sets and sleep sets.
//
// Source: Abdulla, Aronis, Jonsson, Sagonas, "Source Sets: A Foundation for Optimal Dynamic Partial
// Order Reduction", JACM 64(4), 2017, Algorithm 1. To it are added: operations that block (a thread
// that is blocked at the end has its races looked at, too; only a race whose later step could have
// come first counts), choices of values, and threads that are alike.
type reduction struct {
	causality
	shard shard
}

func (s *reduction) begin() { s.causality.begin() }

//go:norace
func (s *reduction) pick(x *Run, enabled threadSet) (int, uint8) {
	if t, v, ok := s.replay(x, enabled); ok {
		return t, v
	}
	n := s.open(x, enabled)
	if s.depth > 1 {
		s.inherit(n, &s.nodes[s.depth-2])
	}
	candidates := n.distinct(x) &^ n.sleep
	if candidates == 0 {
		s.depth--
		return -1, 0
	}
	n.wanted = 1 << prefer(candidates, n.last)
	switch s.split(&s.shard, n, candidates) {
	case everything:
		n.wanted = candidates
	case nothing:
		s.depth--
		return -1, 0
	default:
	}
	return n.choose(x, prefer(n.wanted, n.last))
}

// inherit keeps asleep the threads that sleep at p, or have been explored there, and are
// independent of the step made there.
func (s *reduction) inherit(n, p *node) {
	for t := range uint8(maxThreads) {
		if (p.sleep | p.tried).has(t) && t != p.thread && !s.disturbs(p, &p.footprints[t]) {
			n.sleep |= 1 << t
			n.footprints[t] = p.footprints[t]
		}
	}
}

// disturbs reports whether step n and an operation are dependent.
func (s *reduction) disturbs(n *node, f *footprint) bool {
	if f.many {
		return true
	}
	for _, a := range s.accesses[n.accesses : n.accesses+n.naccesses] {
		for i, o := range f.objects {
			if o == a.object && dependent(a.kind, f.kinds[i]) {
				return true
			}
		}
	}
	return false
}

func (s *reduction) executed(x *Run, o *op) {
	if s.causality.executed(x, o) {
		for _, r := range s.races {
			s.reverse(x, int(r), s.depth-1)
		}
	}
}

// reverse makes sure that the step at d, which is on top, is also explored without the step at i
// before it. With v the steps after i that do not need i, and then the one at d: some thread that
// can begin v must be explored instead of i's.
func (s *reduction) reverse(x *Run, i, d int) {
	e := &s.nodes[i]
	var first [maxThreads]int
	for j := i + 1; j <= d; j++ {
		m := &s.nodes[j]
		if m.kind == opStart && x.threads[m.thread].group != 0 {
			continue // it does not tell threads that are alike apart
		}
		if first[m.thread] == 0 && (j == d || m.clock[e.thread] < e.idx) {
			first[m.thread] = j
		}
	}
	var initials threadSet
begin:
	for t, j := range first {
		if j == 0 {
			continue
		}
		for u, k := range first {
			if k != 0 && u != t && s.nodes[j].clock[u] >= s.nodes[k].idx {
				continue begin
			}
		}
		initials |= 1 << e.canon(x, uint8(t))
	}
	if initials&(e.wanted|e.sleep) != 0 {
		return
	}
	if initials &= e.enabled; initials != 0 {
		e.wanted |= 1 << prefer(initials, s.nodes[d].thread)
	}
}

func (s *reduction) finish() bool {
	return s.backtrack(func(n *node) threadSet {
		s.remember(n)
		return n.wanted &^ n.sleep
	})
}

// remember keeps what the node's thread did there, for the sleep sets of the other threads'
// continuations.
func (s *reduction) remember(n *node) {
	f := footprint{many: n.naccesses > 2}
	for i, a := range s.accesses[n.accesses:min(n.accesses+n.naccesses, n.accesses+2)] {
		f.objects[i], f.kinds[i] = a.object, a.kind
	}
	n.footprints[n.thread] = f
}

// stuck looks for races of threads that are blocked at the end: another order may have let them
// pass.
//
//go:norace
func (s *reduction) stuck(x *Run) {
	for _, t := range x.threads {
		if t.live {
			o := t.op
			n := s.push(o.thread, 0)
			s.place(x, &o, n, s.depth-1)
			for _, r := range s.races {
				s.reverse(x, int(r), s.depth-1)
			}
			s.depth--
		}
	}
}

// Bounded search.

// bounded is depth-first search over all schedules with at most bound preemptions: a switch away
// from a thread that could go on, other than at a Yield, is one.
//
// With a cache it gives up where another execution has been, with no more preemptions: the steps up
// to there were the same but for the order of independent ones, so the state is the same, and so is
// what follows. (Musuvathi and Qadeer do this in CHESS. Backtracking only at races, as the
// reduction does, is unsound under a bound.)
type bounded struct {
	causality
	shard shard
	bound int // negative: none
	cache *cache
}

func (s *bounded) begin() { s.causality.begin() }

//go:norace
func (s *bounded) pick(x *Run, enabled threadSet) (int, uint8) {
	if t, v, ok := s.replay(x, enabled); ok {
		return t, v
	}
	n := s.open(x, enabled)
	n.wanted = n.distinct(x)
	known := s.cache != nil && !s.cache.enter(mix(n.hash^uint64(n.last)), n.cost)
	if known || s.split(&s.shard, n, n.wanted) == nothing {
		s.depth--
		return -1, 0
	}
	return n.choose(x, prefer(n.wanted, n.last))
}

func (s *bounded) executed(x *Run, o *op) { s.causality.executed(x, o) }

//go:norace
func (s *bounded) stuck(*Run) {}

func (s *bounded) finish() bool {
	return s.backtrack(func(n *node) threadSet {
		if s.bound >= 0 && !n.free && n.cost >= s.bound {
			return n.wanted & (1 << n.last)
		}
		return n.wanted
	})
}

// cache is a set of states with the fewest preemptions that each was reached with: an open hash
// table.
type cache struct {
	keys  []uint64 // 0: empty
	costs []uint8
	used  int
}

// enter reports whether the state is new, or reached with fewer preemptions than before.
func (c *cache) enter(key uint64, cost int) bool {
	if c.used*4 >= len(c.keys)*3 {
		c.grow()
	}
	key |= 1
	i := c.find(key)
	if c.keys[i] == 0 {
		c.keys[i], c.costs[i] = key, uint8(min(cost, 255))
		c.used++
		return true
	}
	if cost >= int(c.costs[i]) {
		return false
	}
	c.costs[i] = uint8(cost)
	return true
}

func (c *cache) find(key uint64) uint64 {
	mask := uint64(len(c.keys) - 1)
	i := key >> 7 & mask
	for c.keys[i] != 0 && c.keys[i] != key {
		i = (i + 1) & mask
	}
	return i
}

func (c *cache) grow() {
	keys, costs := c.keys, c.costs
	n := max(1<<12, 2*len(keys))
	c.keys, c.costs = make([]uint64, n), make([]uint8, n)
	for i, k := range keys {
		if k != 0 {
			j := c.find(k)
			c.keys[j], c.costs[j] = k, costs[i]
		}
	}
}
