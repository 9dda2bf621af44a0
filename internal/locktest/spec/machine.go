package spec

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// A Machine judges histories of something that is simpler than a semaphore: whose every call is one
// step, from state to state. It begins with the zero S. It remembers its verdicts, as a [Judge]
// does.
type Machine[S comparable] struct{ judged map[string]bool }

// NewMachine returns one.
func NewMachine[S comparable]() *Machine[S] { return &Machine[S]{map[string]bool{}} }

// A Call is an operation in a history of a Machine.
type Call[S comparable] struct {
	Client       int           // for descriptions only
	Name         string        // what was called, and what came of it; calls of one name do the same
	Call, Return int64         // event numbers
	Step         func(*S) bool // what it does to the state; false: it cannot happen then
}

// String returns the call as one would write it.
func (c Call[S]) String() string {
	return fmt.Sprintf("%d: %s [%d, %d]", c.Client, c.Name, c.Call, c.Return)
}

// Linearizable reports whether there is an order of the calls, each within its time, in which every
// one can happen. Those of perhaps, each a list, may have happened or not, all of a list or none.
func (m *Machine[S]) Linearizable(calls []Call[S], perhaps ...[]Call[S]) bool {
	if len(perhaps) > 0 {
		return m.Linearizable(calls, perhaps[1:]...) || m.Linearizable(slices.Concat(calls, perhaps[0]), perhaps[1:]...)
	}
	key := machineKey(calls)
	ok, known := m.judged[key]
	if !known {
		ok = check(calls)
		m.judged[key] = ok
	}
	return ok
}

// Judged returns how many different histories there were, counted with and without what may have
// happened.
func (m *Machine[S]) Judged() int { return len(m.judged) }

func check[S comparable](calls []Call[S]) bool {
	ops := make([]operation, len(calls))
	for i, c := range calls {
		ops[i] = operation{c.Call, c.Return, func(from any) (any, bool) {
			s := from.(S)
			ok := c.Step(&s)
			return s, ok
		}}
	}
	var zero S
	return orderExists(zero, ops)
}

// machineKey is the same for histories that differ in the length of waits only.
func machineKey[S comparable](calls []Call[S]) string {
	times := make([]int64, 0, 2*len(calls))
	for _, c := range calls {
		times = append(times, c.Call, c.Return)
	}
	slices.Sort(times)
	var b []byte
	for _, c := range calls {
		call, _ := slices.BinarySearch(times, c.Call)
		ret, _ := slices.BinarySearch(times, c.Return)
		b = append(b, c.Name...)
		b = binary.AppendVarint(binary.AppendVarint(append(b, 0), int64(call)), int64(ret))
	}
	return string(b)
}

// DescribeCalls returns the history with a line for each call.
func DescribeCalls[S comparable](calls []Call[S]) string {
	var lines []string
	for _, c := range calls {
		lines = append(lines, c.String())
	}
	return strings.Join(lines, "\n")
}
