// Package interleave runs a piece of concurrent code in many interleavings, up to all that there
// are, and reports the first that fails. Only tests import it. It may import the standard library,
// internal/xsync/signal, and internal/xsync/model, which has the modelled types. Read check.go
// first, then explore.go; the table of files is below.
//
// A scenario is a function that sets up, names threads, lets them run, and says what must hold at
// the end. The code under test takes its atomics, mutexes, signals and pools from internal/xsync.
// Under the build tag interleave these are the types of internal/xsync/model, which have names
// here, too. Each of their operations is a step, before which another thread may run.
//
//	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
//		s := semaphore.New(1)
//		var inside interleave.Int64
//		x.Same(2, "user", func(int) {
//			s.Acquire(ctx, 1)
//			x.Assert(inside.Add(1) == 1, "two inside")
//			inside.Add(-1)
//			s.Release(1)
//		})
//		x.Wait()
//		x.Assert(s.TryAcquire(1), "a permit is lost")
//	})
//
// What the scenario itself shares to check something must be modelled, too: between two steps a
// thread is alone, so that a plain counter in the place of inside would go up and down unseen.
//
// An execution fails if an assertion or an invariant ([Run.Always]) does not hold, if anything
// panics, if threads wait that none will wake, and if it does not end. It is shortened to few
// switches and printed step by step, with a schedule that replays it:
//
//	INTERLEAVE_SCHEDULE=a7.b3.a1 go test -tags interleave -run ...
//
// # What a search guarantees
//
//	Reduced   Every trace is executed: every schedule, up to the order of steps that commute.
//	Bounded   Every schedule with at most Bound preemptions is, or another of its trace.
//	Plain     Likewise, each and every one. Tests validate the other two against it.
//	Random    Nothing: but it knows no limit of size.
//	PCT       Each execution finds a bug that needs Depth orderings among n threads and k steps
//	          with a probability of at least 1/(n·k^(Depth-1)).
//
// Without the race detector the search looks at modelled operations only: what threads share
// otherwise is taken to be protected. Under -race the same searches check just that. The explorer
// hides itself from the race detector, which sees only the order that the code under test has made.
// Then a race is a failure, too, but invariants are not checked and nothing is shortened.
//
// # Simulation
//
// [Simulate] runs a scenario once, on as many simulated cores as it has threads, 256 at most. The
// cost of an operation depends on the state of its cache line, and the thread with the least
// virtual time runs next. docs/design/simulator.md has the model.
//
// # Limits
//
//   - Eight threads in a search: a set of threads is the bits of a byte.
//   - Atomics are sequentially consistent, as those of Go are. What is reordered by the compiler or
//     the machine in plain memory is left to the race detector.
//   - The body must be deterministic: in the same schedule it must do the same. No time, no random
//     numbers, no iteration over a map, no goroutines, no state kept from one execution to the
//     next. Modelled variables begin every execution as zero, wherever they are. An exhaustive
//     search panics when it notices.
//   - A loop that waits must have a [Yield] in it, which goes on when one of the last 16 modelled
//     variables that the loop has looked at changes. It must look by loads, or by writes that
//     change nothing: two threads that wake each other by what they do while they wait never end.
//   - The time of a timeout is chosen. It may pass before anything, and it passes rather than that
//     there is a deadlock. A clock that a thread reads stands still, unless the scenario has its
//     own ([Run.Clock]).
//   - runtime.Goexit in a thread, and so FailNow of package testing, ends the whole exploration,
//     without a trace.
//
// # Files
//
//	file            what                               read it for
//	explore.go      Explore, Options, Result, Failure  what a search is asked and answers
//	check.go        Check                              tests, the environment, processes that
//	                                                   share a search
//	run.go          Run, Thread, Choose, Yield         executions, threads, steps, deadlocks
//	atomics.go      Bool, ..., Mutex, Signal, Yield    names of what internal/xsync/model has, and
//	                                                   what its atomics ask
//	follow.go       Run.Last, Run.Blocked              tests that follow every step of the code
//	blocking.go     Receive                            what its other types ask
//	context.go      Context                            modelled contexts
//	coro.go         (internal)                         threads as coroutines
//	coro_race.go    (internal)                         threads as goroutines that the race
//	                                                   detector does not see through
//	causality.go    (internal)                         what happens before what; traces
//	search.go       (internal)                         Reduced, Bounded, Plain
//	random.go       (internal)                         Random, PCT; replay
//	simulate.go     Simulate, Simulated, Now, Spin     virtual time: which thread is next, the
//	                                                   cost of sleeping and looking
//	line.go         Machine                            the cost of accesses to cache lines
//	layout.go       Run.Layout                         which words share a line
//	schedule.go     (internal)                         schedules as text
//	trace.go        (internal)                         shortening; describing what happened
package interleave
