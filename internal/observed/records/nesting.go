package records

import (
	"github.com/farad-go/farad/internal/observed/agents"
	"github.com/farad-go/farad/internal/xsync"
)

// A Nesting says that an agent has acquired a lock while it held another, at Holders. From
// nestings the order is learned in which locks are taken.
type Nesting struct {
	Agent        agents.Agent
	Held, Wanted Grip
	Together     bool   // one call has acquired both, which it had asked for at one instant
	Gates        []Grip // what it held besides
}

// A Grip is what an agent has of a lock.
type Grip struct {
	LockID  uint64
	Key     string
	Permits int64
	call    uint64 // as a hold has it
	Stack   *Stack
}

const (
	chains       = 1 << 8
	maxNested    = 16     // how many holds of an agent are looked at
	maxLearned   = 1 << 8 // how many nestings are kept until they are taken
	familiarBits = 12     // how many are known not to be new
)

// hands has what each agent holds, and what was learned from it.
//
// A hold is in the chain of its agent as long as it is in the list of its record. The chain's lock
// is taken under that of the record, and mu under that of the chain.
var hands struct {
	chains   [chains]chain
	familiar [1 << familiarBits]xsync.Int64 // hashes of nestings that are known, each where it says itself
	mu       mutex
	learned  []Nesting // guarded by mu
	takes    int       // how often they were taken; guarded by mu
}

// A chain has the hands of some of the agents.
type chain struct {
	mu     mutex
	newest *hand // guarded by mu, and so are the hands
	_      [48]byte
}

// A hand is a hold as its agent's chain has it: a copy, because the hold is guarded by its record.
type hand struct {
	in           *chain // nil: none; written under the lock of the record
	agent        agents.Agent
	grip         Grip
	newer, older *hand
}

// join enters a hold of r, which is locked, in the chain of its agent.
//
//go:norace
func (h *hand) join(r *Record, e *entry) {
	h.agent = agents.Agent{Goroutine: e.Agent.Goroutine, Task: e.Agent.Task}
	h.grip = Grip{r.id, e.Key, e.Permits, e.Call, e.Stack}
	at := h.agent.Goroutine
	if h.agent.Task != 0 {
		at = h.agent.Task
	}
	h.in = &hands.chains[at%chains]
	h.in.mu.enter()
	left := maxNested
	for o := h.in.newest; o != nil && left > 0; o = o.older {
		left--
		if o.agent.Is(&h.agent) && (o.grip.LockID != r.id || o.grip.Key != e.Key) {
			h.learn(o)
		}
	}
	if h.older = h.in.newest; h.older != nil {
		h.older.newer = h
	}
	h.in.newest = h
	h.in.mu.leave()
}

// leave undoes join.
//
//go:norace
func (h *hand) leave() {
	c := h.in
	c.mu.enter()
	if h.older != nil {
		h.older.newer = h.newer
	}
	if h.newer != nil {
		h.newer.older = h.older
	} else {
		c.newest = h.older
	}
	*h = hand{}
	c.mu.leave()
}

// learn keeps that h was acquired while its agent held o. That is not new if it was seen lately of
// this agent, or of one that stands for it: so many agents do the same, and two are enough.
//
//go:norace
func (h *hand) learn(o *hand) {
	sum := h.agent.Goroutine % 4
	add := func(x uint64) { sum = (sum ^ x) * golden }
	for _, g := range [...]*Grip{&o.grip, &h.grip} {
		add(g.LockID)
		add(uint64(g.Permits))
		for i := range len(g.Key) {
			add(uint64(g.Key[i]))
		}
	}
	together := h.grip.call != 0 && h.grip.call == o.grip.call
	if together {
		add(1)
	}
	familiar := &hands.familiar[sum>>(64-familiarBits)]
	if familiar.Load() == int64(sum) {
		return
	}
	hands.mu.enter()
	defer hands.mu.leave()
	if len(hands.learned) == maxLearned { // while nobody takes them the oldest go
		hands.learned = hands.learned[1:]
	}
	familiar.Store(int64(sum))
	n := Nesting{Agent: h.agent, Held: o.grip, Wanted: h.grip, Together: together}
	left := maxNested
	for g := h.in.newest; g != nil && left > 0; g = g.older {
		left--
		if g != o && g.agent.Is(&h.agent) {
			n.Gates = append(n.Gates, g.grip)
		}
	}
	hands.learned = append(hands.learned, n)
}

// TakeNestings returns what was learned since the last call. Now and then it forgets what is known,
// so that it finds other agents that do the same.
func TakeNestings() []Nesting {
	const often = 64
	hands.mu.Lock()
	defer hands.mu.Unlock()
	if hands.takes++; hands.takes%often == 0 {
		for i := range hands.familiar {
			hands.familiar[i].Store(0)
		}
	}
	all := hands.learned
	hands.learned = nil
	return all
}
