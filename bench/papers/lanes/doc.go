// Package lanes implements the capacitor's gate with its line spread over several lanes, for
// comparison. The paper proposes it "if scalability of the semaphore becomes a concern". bench/ and
// bench/simulate measure it in front of unfair locks, and compare it with the gate of
// sync/capacitor. In Go the line of that gate does not limit a lock; the switch of goroutines
// behind it does. So there is no public type. Read gate.go first. The package may import
// internal/engine and internal/xsync.
//
//	gate       lane chosen by   overtaking
//	Gate       the caller       bounded for any choice: one tally of departures, and permits
//	                            move to lanes with waiters
//	Separate   the caller       unbounded: one gate per lane, the paper's words taken literally
//
// The caller chooses by a key: [ByGoroutine] gives hashed lanes, [AtRandom] random ones. The paper
// says that hashed lanes keep the bound, and that random ones give it up for long-term fairness. In
// fact the tally decides, not the choice (TestModelSeparateGatesBoundNothing, TestModelBypass).
package lanes
