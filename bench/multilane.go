package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/farad-go/farad/bench/papers/innerlocks"
	multilane "github.com/farad-go/farad/bench/papers/lanes"
	"github.com/farad-go/farad/sync/capacitor"
)

// The capacitor's gate in lanes, which its paper proposes: whether it is of any use in front of a
// lock on Go.

// laneLocks are those behind the gates: the two that are unfair.
var laneLocks = []newLock{
	{"TTS", func() sync.Locker { return new(innerlocks.TTS) }},
	{nameLIFO, func() sync.Locker { return new(innerlocks.LIFO) }},
}

// laneGates are the gates, all with room for eight.
var laneGates = []wrapping{
	{"bare", func(l sync.Locker) sync.Locker { return l }},
	{"B=8", func(l sync.Locker) sync.Locker { return capacitor.Wrap(l, 8) }},
	{"4 lanes of 2, hashed", func(l sync.Locker) sync.Locker {
		return multilane.Wrap(l, multilane.New(4, 2), multilane.ByGoroutine)
	}},
	{"4 lanes of 2, random", func(l sync.Locker) sync.Locker {
		return multilane.Wrap(l, multilane.New(4, 2), multilane.AtRandom)
	}},
	{"4 gates of 2, hashed", func(l sync.Locker) sync.Locker {
		return multilane.Wrap(l, multilane.NewSeparate(4, 2), multilane.ByGoroutine)
	}},
	{"4 gates of 2, random", func(l sync.Locker) sync.Locker {
		return multilane.Wrap(l, multilane.NewSeparate(4, 2), multilane.AtRandom)
	}},
}

// laneSizes are how many goroutines there are.
var laneSizes = []int{8, 64}

func laneName(goroutines int) string { return fmt.Sprintf("lanes-%d", goroutines) }

// lanebench is mutexbench with all of them.
func lanebench(goroutines int) lockWorkload {
	return wrappedLocks(laneName(goroutines), goroutines, laneLocks, laneGates)
}

const laneNote = "MutexBench with unfair locks, alone, behind the capacitor's gate with platoons of eight, behind a gate with four lanes, and behind four gates with" +
	" platoons of two, one for each lane: ns per acquisition with so many goroutines, and in brackets the fairness. Medians over the rounds. The lane is" +
	" that of the goroutine's hash, or one at random each time. Four gates bound no overtaking, the others do."

// laneTable has a line for each gate round each lock.
func (r *report) laneTable() *table {
	t := &table{title: "Gates in lanes", note: laneNote, head: []string{"lock", "gate"}, left: 2}
	return r.fillWrapped(t, laneLocks, laneGates, laneSizes, laneName)
}

// inLanes reports whether the line is one of that table.
func (r *lockResult) inLanes() bool { return strings.HasPrefix(r.Workload, "lanes-") }
