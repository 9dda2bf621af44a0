package spec

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// All tests of this package ask porcupine as well, which shares nothing with our search.
func init() { orderExists = askBoth }

// compared has how many verdicts there were: wrong histories, right ones.
var compared [2]atomic.Int64

// askBoth is linearizable. It panics if porcupine disagrees.
func askBoth(state any, ops []operation) bool {
	ok := linearizable(state, ops)
	if porcupineSays(state, ops) != ok {
		panic(fmt.Sprintf("spec: our search says %t, and porcupine does not", ok))
	}
	if ok {
		compared[1].Add(1)
	} else {
		compared[0].Add(1)
	}
	return ok
}

// Compared returns how many verdicts were compared.
func Compared() int64 { return compared[0].Load() + compared[1].Load() }

func porcupineSays(state any, ops []operation) bool {
	history := make([]porcupine.Operation, len(ops))
	for i, o := range ops {
		history[i] = porcupine.Operation{ClientId: i, Input: o.step, Call: o.call, Return: o.ret}
	}
	return porcupine.CheckOperations(porcupine.Model{
		Init: func() any { return state },
		Step: func(from, input, _ any) (bool, any) {
			after, ok := input.(func(any) (any, bool))(from)
			return ok, after
		},
	}, history)
}

// Histories of a register that are right, or in which any read may be wrong. From many operations
// at once to one after the other, from few to as many as there are bits.
func TestTheSearchAgreesWithPorcupine(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	wrong, right := compared[0].Load(), compared[1].Load()
	for i := range 6000 {
		askBoth(0, registerHistory(rng, 1+rng.IntN(12), 1+rng.IntN(6), i%4 != 0))
	}
	for i := range 100 {
		askBoth(0, registerHistory(rng, maxOperations-rng.IntN(200), 1+rng.IntN(3), i%2 == 0))
	}
	wrong, right = compared[0].Load()-wrong, compared[1].Load()-right
	t.Logf("%d are linearizable, %d are not", right, wrong)
	require.Greater(t, min(wrong, right), int64(1000))
}

// registerHistory returns a run of n reads and writes with times around them: about width overlap.
func registerHistory(rng *rand.Rand, n, width int, lies bool) (ops []operation) {
	value := 0
	for i := range n {
		at, around := int64(4*i), int64(4*width)
		call, ret := at-rng.Int64N(around), at+rng.Int64N(around)
		v := rng.IntN(3)
		if rng.IntN(2) == 0 {
			value = v
			ops = append(ops, operation{call, ret, func(any) (any, bool) { return v, true }})
			continue
		}
		if !lies || rng.IntN(max(2, n/2)) > 0 {
			v = value
		}
		ops = append(ops, operation{call, ret, func(s any) (any, bool) { return s, s == any(v) }})
	}
	rng.Shuffle(n, func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	return ops
}

func TestMoreOperationsThanBits(t *testing.T) {
	require.Panics(t, func() { linearizable(0, make([]operation, maxOperations+1)) })
}
