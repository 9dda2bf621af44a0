package main

// A taskWorkload is something that tasks do, and who does it otherwise.
type taskWorkload struct {
	name    string
	workers []int // a line each; of a pool: its goroutines
	farad   func(*lap) error
	peer    taskImpl
}

// The names of peers that only tasks have.
const (
	nameGoStatement = "go statement"
	nameGoroutine   = "no await" // the same loop in a goroutine
	nameCoroutine   = "iter.Pull"
	nameAfterFunc   = "time.AfterFunc"
	nameAnts        = "ants"
)

// The workloads, in the order of the table.
var taskWorkloads = []taskWorkload{
	handOff(8, 2),
	handOff(1000, 2),
	{"yield", []int{1}, pollYields, taskImpl{nameFloor, floorPairs}},
	{"spawn", []int{1, 2}, spawnTasks, taskImpl{nameGoStatement, spawnGoroutines}},
	{"await-ready", []int{1}, awaitReady, taskImpl{nameGoroutine, pollReady}},
	{"await-yield", []int{1}, awaitYield, taskImpl{nameCoroutine, coroutineSwitches}},
	{"await-hand-off", []int{1}, awaitHandOff, taskImpl{nameCoroutine, coroutineSwitches}},
	{"timers", []int{1, 2}, taskTimers, taskImpl{nameAfterFunc, afterFuncs}},
	{"ants-submit", []int{antsGoroutines}, gateBeforeAnts, taskImpl{nameAnts, blockingAnts}},
}
