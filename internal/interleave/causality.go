package interleave

import "math/bits"

// threadSet is a set of threads.
type threadSet uint8

func (s threadSet) has(t uint8) bool { return s&(1<<t) != 0 }

func (s threadSet) size() int { return bits.OnesCount8(uint8(s)) }

// clock is a vector clock: how many steps of each thread are known to have happened before.
type clock [maxThreads]uint16

func (c *clock) join(d *clock) {
	for i, v := range d {
		if v > c[i] {
			c[i] = v
		}
	}
}

// An access is what one operation does to one object.
type access struct {
	object int32
	node   int32 // index of the step
	prev   int32 // the object's access before this one; 0: none
	kind   accessKind
	ready  bool // the object was ready before: an operation that blocks on it would not have
}

type accessKind uint8

const (
	accRead accessKind = iota
	accWrite
	accBlocking // a write that waits for the object to be ready
	accInvoke
	accRespond
)

// dependent reports whether two accesses to one object, by different threads, do not commute. Of a
// history only the order of calls and returns matters.
func dependent(a, b accessKind) bool {
	if a >= accInvoke {
		return a != b
	}
	return a != accRead || b != accRead
}

// A footprint is what is remembered of an operation that a thread did next, in another
// continuation.
type footprint struct {
	objects [2]int32
	kinds   [2]accessKind
	many    bool // too much to remember: taken to depend on everything
}

// A node is one step of the execution under way, and what a depth-first search keeps about it.
type node struct {
	clock      clock
	accesses   int32 // first index in causality.accesses
	naccesses  int32
	idx        uint16 // it is the thread's idx-th step, from 1
	thread     uint8
	value      uint8 // of values that there are to choose from
	values     uint8
	last       uint8 // the thread that made the step before; noThread at the first
	free       bool  // a switch here costs no preemption
	enabled    threadSet
	moved      threadSet // those that have done more than start
	kind       kind
	tried      threadSet // whose continuations have been explored
	wanted     threadSet // reduction: whose have to be
	sleep      threadSet // reduction: whose have been explored elsewhere
	top        bool      // sharding: every candidate is tried
	footprints [maxThreads]footprint
	hash       uint64 // of the steps before, up to the order of independent ones
	cost       int    // preemptions before this step
}

const noThread = 0xff

// causality follows what happens before what in the execution under way.
//
// A step happens before another if it is earlier and both are of one thread, or access one object
// dependently, or by transitivity. Executions with the same relation differ in the order of
// independent steps only, and reach the same states: they form a (Mazurkiewicz) trace.
type causality struct {
	nodes     []node
	depth     int
	unchanged int  // steps that are as they were in the execution before
	decided   int  // steps whose thread the search has decided
	tops      int  // steps in the top of a sharded search
	astray    bool // the body does not do again what it did
	accesses  []access
	latest    []int32 // by object: index of the latest access
	lastNode  [maxThreads]int32
	races     []int32 // found by the last step: nodes that it could be exchanged with
	scratch   []access
}

// begin prepares for an execution.
func (c *causality) begin() {
	if c.nodes == nil {
		c.nodes = make([]node, 256)
		c.accesses = make([]access, 1, 512)
		c.latest = make([]int32, 64)
	}
	c.depth, c.tops = 0, 0
	clear(c.latest)
	for i := range c.lastNode {
		c.lastNode[i] = -1
	}
}

// push adds a node for the step that has just been decided, and returns it.
//
//go:norace
func (c *causality) push(thread, value uint8) *node {
	if c.depth == len(c.nodes) {
		c.nodes = append(c.nodes, make([]node, len(c.nodes))...)
	}
	n := &c.nodes[c.depth]
	n.thread, n.value = thread, value
	c.depth++
	return n
}

// known returns the clock of a thread before its next step.
//
//go:norace
func (c *causality) known(x *Run, thread uint8) clock {
	if l := c.lastNode[thread]; l >= 0 {
		return c.nodes[l].clock
	}
	if s := x.threads[thread].spawnedAt; s >= 0 {
		return c.nodes[s].clock
	}
	return clock{}
}

// footing lists the accesses of an operation.
//
//go:norace
func (c *causality) footing(x *Run, o *op) []access {
	l := c.scratch[:0]
	switch o.kind {
	case opStart, opChoose, opJoin, opCede:
	case opYield:
		t := x.threads[o.thread]
		n := max(t.nseen, t.yielded)
	seen:
		for i := max(0, n-seenSize); i < n; i++ {
			id := t.seen[i%seenSize].o.ID
			for _, a := range l {
				if a.object == id {
					continue seen
				}
			}
			l = append(l, access{object: id, kind: accRead})
		}
	case opRead:
		l = append(l, access{object: o.o.ID, kind: accRead, ready: o.ready})
	case opWrite:
		l = append(l, access{object: o.o.ID, kind: accWrite, ready: o.ready})
	case opLock, opReceive, opTimed:
		l = append(l, access{object: o.o.ID, kind: accBlocking, ready: o.ready})
	case opReceiveOr:
		l = append(l, access{object: o.o.ID, kind: accWrite, ready: o.ready}, access{object: o.o2.ID, kind: accRead})
	case opReadBoth:
		l = append(l, access{object: o.o.ID, kind: accRead, ready: o.ready}, access{object: o.o2.ID, kind: accRead})
	case opInvoke:
		l = append(l, access{object: o.o.ID, kind: accInvoke})
	case opRespond:
		l = append(l, access{object: o.o.ID, kind: accRespond})
	}
	c.scratch = l
	return l
}

// executed accounts for the step on top. It reports false if that step was accounted for in an
// execution before.
//
//go:norace
func (c *causality) executed(x *Run, o *op) bool {
	d := c.depth - 1
	n := &c.nodes[d]
	if d < c.unchanged {
		if o.kind != n.kind || o.o != nil && o.o.ID != c.accesses[n.accesses].object {
			c.astray = true
		}
		for i := n.accesses; i < n.accesses+n.naccesses; i++ {
			*c.of(c.accesses[i].object) = i
		}
		c.lastNode[o.thread] = int32(d)
		return false
	}
	c.place(x, o, n, d)
	for i := n.accesses; i < n.accesses+n.naccesses; i++ {
		*c.of(c.accesses[i].object) = i
	}
	c.lastNode[o.thread] = int32(d)
	return true
}

// place computes clock, accesses and races of step n, at depth d.
//
//go:norace
func (c *causality) place(x *Run, o *op, n *node, d int) {
	before := c.known(x, o.thread)
	n.clock = before
	n.idx = before[o.thread] + 1
	n.thread, n.kind = o.thread, o.kind
	n.accesses, n.naccesses = 1, 0
	if d > 0 {
		n.accesses = c.nodes[d-1].accesses + c.nodes[d-1].naccesses
	}
	c.accesses = c.accesses[:n.accesses]
	c.races = c.races[:0]
	for _, a := range c.footing(x, o) {
		a.node, a.prev = int32(d), *c.of(a.object)
		c.order(&a, &before, &n.clock)
		c.accesses = append(c.accesses, a)
		n.naccesses++
	}
	if o.kind == opJoin {
		if l := c.lastNode[o.target.id]; l >= 0 {
			n.clock.join(&c.nodes[l].clock)
		}
	}
	n.clock[o.thread] = n.idx
}

//go:norace
func (c *causality) of(object int32) *int32 {
	if int(object) >= len(c.latest) {
		c.latest = append(c.latest, make([]int32, int(object)+1)...)
	}
	return &c.latest[object]
}

// order adds to clock what access a comes after, and to races the steps that could as well have
// come later: those that a depends on, that did not happen before it anyway, and that have nothing
// between them and a.
//
//go:norace
func (c *causality) order(a *access, before, clk *clock) {
	overRead := false
	for i := a.prev; i != 0; i = c.accesses[i].prev {
		b := &c.accesses[i]
		if !dependent(b.kind, a.kind) {
			continue
		}
		m := &c.nodes[b.node]
		clk.join(&m.clock)
		// Everything earlier happened before a write. (Calls and returns order nothing among
		// themselves.)
		last := b.kind == accWrite || b.kind == accBlocking
		if before[m.thread] < m.idx {
			if a.kind == accBlocking && !b.ready {
				continue // a had to wait for b, or for what came after it
			}
			if !last || !overRead {
				c.races = append(c.races, b.node)
			}
			overRead = true
		}
		if last {
			return
		}
	}
}

// digest hashes step n, at depth d, such that sums over the steps of two executions are equal if
// these are of one trace.
func (n *node) digest() uint64 {
	h := uint64(n.thread)<<8 | uint64(n.value)<<16 | 1
	for i := 0; i < maxThreads; i += 4 {
		h ^= uint64(n.clock[i]) | uint64(n.clock[i+1])<<16 | uint64(n.clock[i+2])<<32 | uint64(n.clock[i+3])<<48
		h = mix(h)
	}
	return h
}

// mix is the finalizer of SplitMix64.
func mix(h uint64) uint64 {
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	return h ^ h>>31
}
