// Package lanes has the capacitor's gate with its line spread over several lanes, which its paper
// proposes "if scalability of the semaphore becomes a concern", for comparison: bench/ and
// bench/simulate measure it in front of unfair locks, beside the gate of sync/capacitor. On Go that
// gate's line is not what limits a lock, the switch of goroutines behind it is; so there is no
// public one.
//
//	gate       a lane is chosen   overtaking
//	Gate       by the caller      bounded, whatever the choice: one tally of departures, and permits that go where somebody waits
//	Separate   by the caller      not bounded: a gate for each lane, which is the paper's words taken literally
//
// The caller chooses by a key: [ByGoroutine] is the hashed lanes, [AtRandom] the random ones. The
// paper says that hashed lanes keep the bound and random ones give it up for fairness in the long
// run. It is the tally, and not the choice, that decides (TestModelSeparateGatesBoundNothing,
// TestModelBypass).
package lanes
