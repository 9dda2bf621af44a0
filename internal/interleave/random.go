package interleave

import "math/rand/v2"

// free is what the schedulers have in common that keep no tree.
type free struct {
	left int // executions to come
}

func (f *free) begin()              {}
func (f *free) executed(*Run, *op)  {}
func (f *free) stuck(*Run)          {}
func (f *free) finish() (more bool) { f.left--; return f.left > 0 }

// random is a walk that takes every step at random.
type random struct {
	free
	rng *rand.Rand
}

//go:norace
func (s *random) pick(x *Run, enabled threadSet) (int, uint8) {
	k := s.rng.IntN(enabled.size())
	for t := range x.threads {
		if enabled.has(uint8(t)) {
			if k == 0 {
				return t, anyValue(s.rng, x, t)
			}
			k--
		}
	}
	panic("unreachable")
}

//go:norace
func anyValue(rng *rand.Rand, x *Run, t int) uint8 {
	if o := &x.threads[t].op; o.kind == opChoose {
		return uint8(rng.IntN(int(o.n)))
	}
	return 0
}

// pct gives every thread a random priority, always runs the highest, and at depth-1 random steps
// makes the running thread the lowest. A bug that needs depth ordering constraints among n threads
// and k steps is found with probability at least 1/(n·k^(depth-1)) in each execution.
//
// Source: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A Randomized Scheduler with Probabilistic
// Guarantees of Finding Bugs", ASPLOS 2010.
type pct struct {
	free
	rng        *rand.Rand
	depth      int
	length     int // steps of the longest execution so far
	priorities [maxThreads]int
	changes    []int // steps, from 1, after which the running thread becomes the lowest
	lowest     int
}

func (s *pct) begin() {
	copy(s.priorities[:], s.rng.Perm(maxThreads))
	s.lowest = 0
	s.changes = s.changes[:0]
	for range s.depth - 1 {
		s.changes = append(s.changes, 1+s.rng.IntN(max(s.length, 1)))
	}
}

//go:norace
func (s *pct) pick(x *Run, enabled threadSet) (int, uint8) {
	s.length = max(s.length, x.steps)
	for _, c := range s.changes {
		if c == x.steps {
			s.lower(x.running.id)
		}
	}
	best := -1
	for t := range x.threads {
		if enabled.has(uint8(t)) && (best < 0 || s.priorities[t] > s.priorities[best]) {
			best = t
		}
	}
	if x.threads[best].op.kind == opYield { // it waits for others, so let them
		s.lower(best)
	}
	return best, anyValue(s.rng, x, best)
}

func (s *pct) lower(t int) {
	s.lowest--
	s.priorities[t] = s.lowest
}

// script follows a given schedule, once. What a script cannot follow literally, because it was cut,
// it bends: a thread that cannot go on is passed over, and at its end the thread that ran last goes
// on.
type script struct {
	free
	steps []choice
	at    int
}

//go:norace
func (s *script) pick(x *Run, enabled threadSet) (int, uint8) {
	for s.at < len(s.steps) {
		c := s.steps[s.at]
		s.at++
		if enabled.has(c.thread) {
			return int(c.thread), s.value(x, c.thread, c.value)
		}
	}
	last := uint8(noThread)
	if x.running != nil {
		last = uint8(x.running.id)
	}
	t := prefer(enabled, last)
	return int(t), s.value(x, t, 0)
}

//go:norace
func (s *script) value(x *Run, t, want uint8) uint8 {
	if o := &x.threads[t].op; o.kind == opChoose && want < o.n {
		return want
	}
	return 0
}
