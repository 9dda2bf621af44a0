package spec

import (
	"encoding/binary"
	"slices"
	"strings"
)

// A Judge checks histories of semaphores of one size, and remembers its verdicts: of the millions
// of executions that an explorer makes, few differ in their history.
type Judge struct {
	size   int64
	judged map[string]bool
}

// NewJudge returns a judge of histories of semaphores of that size.
func NewJudge(size int64) *Judge { return &Judge{size: size, judged: map[string]bool{}} }

// Linearizable is [Check], called once for all histories that have the same operations in the same
// order.
func (j *Judge) Linearizable(history []Op) bool {
	history = ranked(history)
	key := keyOf(history)
	ok, known := j.judged[key]
	if !known {
		ok = Check(j.size, history)
		j.judged[key] = ok
	}
	return ok
}

// Judged returns how many different histories there were.
func (j *Judge) Judged() int { return len(j.judged) }

// ranked returns the history with times that are as small as their order allows, so that histories
// that differ in the length of waits only are one.
func ranked(history []Op) []Op {
	var times []int64
	for _, o := range history {
		times = append(times, o.Call, o.Return)
	}
	slices.Sort(times)
	history = slices.Clone(history)
	for i := range history {
		o := &history[i]
		call, _ := slices.BinarySearch(times, o.Call)
		o.Call = int64(call)
		if o.Return != Never {
			ret, _ := slices.BinarySearch(times, o.Return)
			o.Return = int64(ret)
		}
	}
	return history
}

func keyOf(history []Op) string {
	var b []byte
	for _, o := range history {
		b = append(b, byte(o.Client), byte(o.Kind), byte(o.Result), 0)
		if o.Context {
			b[len(b)-1] = 1
		}
		for _, v := range []int64{o.N, o.Call, o.Return} {
			b = binary.AppendVarint(b, v)
		}
	}
	return string(b)
}

// Describe returns the history with a line for each operation.
func Describe(history []Op) string {
	var lines []string
	for _, o := range ranked(history) {
		lines = append(lines, o.String())
	}
	return strings.Join(lines, "\n")
}
