package spec

import (
	"cmp"
	"math"
	"slices"
)

// An operation happens at one moment, not before its call and not after its return. Its step is
// from a state to the next, and false if it cannot happen there.
type operation struct {
	call, ret int64
	step      func(state any) (any, bool)
}

// orderExists reports whether the operations, each within its time, can happen in some order, from
// a state on. Equal states are equal values. Tests of this package replace it, to ask porcupine as
// well. Here porcupine would be in the go.sum of each program with a lock.
var orderExists = linearizable

// linearizable is the search of Wing and Gong with the memory of Lowe: it tries what can come next,
// and goes on nowhere twice.
func linearizable(state any, ops []operation) bool {
	if len(ops) > maxOperations {
		panic("spec: too many operations")
	}
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, func(a, b operation) int { return cmp.Compare(a.call, b.call) })
	s := attempts{ops, map[point]bool{}}
	return s.from(point{state: state}, len(ops))
}

const maxOperations = 256

// A point is how far an order has come.
type point struct {
	done  [maxOperations / 64]uint64 // a bit for each operation
	state any
}

func (p *point) has(i int) bool { return p.done[i/64]>>(i%64)&1 != 0 }

type attempts struct {
	ops  []operation // by their calls
	seen map[point]bool
}

// from reports whether the operations that are left can follow.
func (s *attempts) from(p point, left int) bool {
	if left == 0 {
		return true
	}
	if s.seen[p] {
		return false // it did not lead to the end
	}
	s.seen[p] = true
	first := int64(math.MaxInt64) // return of what is left
	for i, o := range s.ops {
		if !p.has(i) {
			first = min(first, o.ret)
		}
	}
	for i, o := range s.ops {
		if o.call > first {
			break
		}
		if p.has(i) {
			continue
		}
		if after, ok := o.step(p.state); ok {
			next := point{p.done, after}
			next.done[i/64] |= 1 << (i % 64)
			if s.from(next, left-1) {
				return true
			}
		}
	}
	return false
}
