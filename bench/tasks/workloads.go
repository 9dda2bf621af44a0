package tasks

import (
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
)

// A workload is something that tasks do, and who does it otherwise.
type workload struct {
	name    string
	workers []int // a line each; of a pool: its goroutines
	farad   func(*measure.Lap) error
	peer    measure.LapImpl
}

// The names of peers that only tasks have.
const (
	NameGoStatement = "go statement"
	NameGoroutine   = "no await" // the same loop in a goroutine
	NameCoroutine   = "iter.Pull"
	NameAfterFunc   = "time.AfterFunc"
)

// The workloads, in the order of the table.
var workloads = []workload{
	handOff(8, 2),
	handOff(1000, 2),
	{"yield", []int{1}, pollYields, measure.LapImpl{Name: peers.NameFloor, Run: floorPairs}},
	{"spawn", []int{1, 2}, spawnTasks, measure.LapImpl{Name: NameGoStatement, Run: spawnGoroutines}},
	{"await-ready", []int{1}, awaitReady, measure.LapImpl{Name: NameGoroutine, Run: pollReady}},
	{"await-yield", []int{1}, awaitYield, measure.LapImpl{Name: NameCoroutine, Run: coroutineSwitches}},
	{"await-hand-off", []int{1}, awaitHandOff, measure.LapImpl{Name: NameCoroutine, Run: coroutineSwitches}},
	{"timers", []int{1, 2}, taskTimers, measure.LapImpl{Name: NameAfterFunc, Run: afterFuncs}},
	{"ants-submit", []int{antsGoroutines}, gateBeforeAnts, measure.LapImpl{Name: peers.NameAnts, Run: blockingAnts}},
}
