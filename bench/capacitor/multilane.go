package capacitor

import (
	"fmt"
	"sync"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/papers/innerlocks"
	multilane "github.com/farad-go/farad/bench/papers/lanes"
	"github.com/farad-go/farad/bench/table"
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

// LaneSizes are how many goroutines there are.
var LaneSizes = []int{8, 64}

func laneName(goroutines int) string { return fmt.Sprintf("%s%d", locks.LanesPrefix, goroutines) }

// lanebench is mutexbench with all of them.
func lanebench(goroutines int) locks.Bench {
	return wrappedLocks(laneName(goroutines), goroutines, laneLocks, laneGates)
}

const laneNote = "MutexBench with unfair locks: alone, behind the capacitor's gate with platoons of eight, behind" +
	" a gate with four lanes, and behind four gates with platoons of two, one for each lane. The" +
	" figures are ns per acquisition with T goroutines, and the fairness in brackets: medians over" +
	" the rounds. A goroutine takes the lane of its hash, or a random one each time. Four gates do" +
	" not bound overtaking, the others do."

// LaneTable has a line for each gate round each lock.
func LaneTable(rs locks.Results) *table.Table {
	t := &table.Table{Title: "Gates in lanes", Note: laneNote, Head: []string{"lock", "gate"}, Left: 2}
	return fillWrapped(t, rs, laneLocks, laneGates, LaneSizes, laneName)
}
