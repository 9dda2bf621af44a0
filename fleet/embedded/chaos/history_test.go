//go:build linux

package chaos

import (
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/farad-go/farad/fleet/fence"
)

// A step is one operation of a history: an acquire, or a release if n is negative.
type step struct {
	n     int64
	token fence.Token
}

// A sum is the state of a lock: how much is held, and the newest token.
type sum struct {
	held     int64
	rev, seq int64
}

// linearizable reports whether the acquires and releases can have happened one after the other so
// that never more than the size was held, each between its call and its return. The tokens of one
// permit must grow with every acquire.
//
// An acquire that never returned is left out: it could only keep others from acquiring. The release
// of who was killed, or has lost its permits, is an operation that is called when they were valid
// for the last time and never returns.
func (g *guarded) linearizable(size int64) porcupine.CheckResult {
	var history []porcupine.Operation
	for _, op := range g.ops {
		history = append(history,
			porcupine.Operation{
				ClientId: op.Worker, Input: step{op.N, op.Token}, Call: int64(op.Called), Return: int64(op.Returned),
			},
			porcupine.Operation{
				ClientId: op.Worker, Input: step{n: -op.N}, Call: int64(op.valid), Return: op.returned(),
			})
	}
	return porcupine.CheckOperationsTimeout(porcupine.Model{
		Init: func() any { return sum{} },
		Step: func(from, input, _ any) (bool, any) {
			s, in := from.(sum), input.(step)
			s.held += in.n
			switch {
			case in.n < 0 || size > 1:
				return s.held <= size, s
			case in.token.Compare(fence.Token{Rev: s.rev, Seq: s.seq}) <= 0:
				return false, s
			}
			s.rev, s.seq = in.token.Rev, in.token.Seq
			return s.held <= size, s
		},
	}, history, patience)
}

// returned returns when the release of op returned.
func (op *operation) returned() int64 {
	if op.Lost || op.released == 0 {
		return math.MaxInt64
	}
	return int64(op.released)
}

// kill says that a worker was killed at a time.
func (r *Resource) kill(worker int, at time.Duration) {
	r.look(func() {
		for _, g := range r.locks {
			for _, op := range g.ops {
				if op.Worker == worker && !op.left {
					op.left, op.valid, op.Lost = true, at, true
				}
			}
		}
	})
}
